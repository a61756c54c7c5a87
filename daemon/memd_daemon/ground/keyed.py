"""The keys of settings files, by their path, with their values: JSON, TOML, YAML, INI, `.env`, properties, Makefile, Dockerfile.

A file of none of these, and of no grammar either, is read line by line for ``NAME = value``. The whole of a file that cannot be
read (broken JSON) has no keys. Values of lists are left alone.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from memd_daemon import limits
from memd_daemon.ground.names import Name, Valued, key_parts

_JSON_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_JSON_COMMA: Final = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_YAML: Final = re.compile(
    r"""( *)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#\-"'{\[&*!|>%@`,][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+(.*))?"""
)
_YAML_BLOCK: Final = re.compile(r"[|>][+-]?\d?[+-]?\s*(?:#.*)?")
_YAML_TAG: Final = re.compile(r"(?:[&!]\S*(?:\s+|$))*")
_COMMENT: Final = re.compile(r"\s+[#;].*")
_SECTION: Final = re.compile(r"\s*\[\s*(.+?)\s*\]\s*(?:[#;].*)?")
_PAIR: Final = re.compile(
    r"""\s*(?:export\s+|set\s+|readonly\s+|local\s+|declare\s+(?:-\w+\s+)*)?([^\s=:#;][^=:]*?)\s*(?:[:?+!]{0,3}=|:)\s*(.*)"""
)
_SET: Final = re.compile(
    r"\s*(?:export\s+|readonly\s+|local\s+|declare\s+(?:-\w+\s+)*)?([^\s=#;][^=]*?)\s*[:?+!]{0,3}=\s*(.*)"
)
_DOCKER: Final = re.compile(r"\s*(ENV|ARG)\s+(.*)", re.IGNORECASE | re.DOTALL)
_DOCKER_PAIR: Final = re.compile(r"""([^\s=]+)=("(?:[^"\\]|\\.)*"|'[^']*'|\S*)""")


def keyed(path: str, content: bytes) -> tuple[list[Valued], bool]:
    """The keys of a file in order, and whether its format tells 30 from "30". Never raises."""
    if b"\0" in content or len(content) > limits.SYNTAX_FILE_MAX_BYTES:
        return [], False
    text = content.decode("utf-8", "replace")
    read, is_typed = _reader(path.rpartition("/")[2].lower())
    try:
        return list(read(text)), is_typed
    except (ValueError, RecursionError):  # of json and tomllib: broken, or nested beyond all use
        return [], is_typed


def _reader(name: str) -> tuple[Callable[[str], Iterator[Valued]], bool]:
    extension = name.rpartition(".")[2]
    if extension in ("json", "jsonc", "json5", "code-workspace", "ipynb", "webmanifest") or name in (
        ".babelrc",
        ".eslintrc",
    ):
        return _json, True
    if extension == "toml" or name in ("cargo.lock", "poetry.lock", "pipfile", "uv.lock"):
        return _toml, True
    if extension in ("yaml", "yml") or name in (".clang-format", ".clang-tidy"):
        return _yaml, True
    if name.startswith(("dockerfile", "containerfile")) or extension in ("dockerfile", "containerfile"):
        return _docker, False
    if extension in ("ini", "cfg", "conf", "properties", "desktop", "service") or name in (
        ".editorconfig",
        ".npmrc",
        ".gitconfig",
    ):
        return _ini, False
    if name in ("makefile", "gnumakefile") or extension in ("mk", "mak"):
        return _make, False
    return _assigned, False


def _json(text: str) -> Iterator[Valued]:
    try:
        read = json.loads(text)
    except ValueError:
        bare = _JSON_COMMENT.sub(lambda match: match[1] or "", text)
        read = json.loads(_JSON_COMMA.sub(lambda match: match[1] or "", bare))
    return _walked(read)


def _toml(text: str) -> Iterator[Valued]:
    return _walked(tomllib.loads(text))


def _walked(read: Any) -> Iterator[Valued]:
    """Every key with the value under it; of a table its own value is its JSON."""
    stack: list[tuple[Name, Any]] = [((), read)]
    while stack:
        name, value = stack.pop()
        if name and len(name) <= limits.SYMBOL_DEPTH_MAX:
            yield Valued(name, json.dumps(value, ensure_ascii=False, default=str))
        if isinstance(value, dict):
            stack += [((*name, key), inner) for key, inner in reversed(value.items())]


def _yaml(text: str) -> Iterator[Valued]:
    """Keys of block mappings by their indentation; lists, flow collections and blocks of text are passed over."""
    open_keys: list[tuple[int, str]] = []
    passed = -1  # what is indented by more than this belongs to a list or a text
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        bare = line.strip()
        if not bare or bare.startswith("#") or (passed >= 0 and indent > passed):
            continue
        passed = indent if bare == "-" or bare.startswith("- ") else -1
        match = _YAML.fullmatch(line.rstrip())
        if passed >= 0 or match is None:
            open_keys = [] if bare.startswith("---") else open_keys
            continue
        while open_keys and open_keys[-1][0] >= indent:
            open_keys.pop()
        open_keys.append((indent, _unquoted(match[2])))
        value = _YAML_TAG.sub("", match[3] or "", count=1)
        if _YAML_BLOCK.fullmatch(value):
            passed = indent
        elif (value := _uncommented(value)) and len(open_keys) <= limits.SYMBOL_DEPTH_MAX:
            yield Valued(tuple(key for _, key in open_keys), value)


def _unquoted(key: str) -> str:
    return key[1:-1] if key[:1] in ('"', "'") else key


def _uncommented(value: str) -> str:
    """A value without the comment behind it; in quotes a ``#`` is none."""
    value = value.strip()
    if value[:1] in ('"', "'"):
        end = value.find(value[0], 1)
        while end > 0 and value[end - 1] == "\\":
            end = value.find(value[0], end + 1)
        return value[: end + 1] if end > 0 else value
    return "" if value.startswith(("#", ";")) else _COMMENT.sub("", value)


def _ini(text: str) -> Iterator[Valued]:
    section: Name = ()
    for line in _logical(text):
        if match := _SECTION.fullmatch(line):
            section = key_parts(match[1].replace(" ", "."))
        elif (match := _PAIR.fullmatch(line)) and line.lstrip()[0] not in "#;!":
            yield Valued((*section, *key_parts(match[1])), _uncommented(match[2]))


def _assigned(text: str) -> Iterator[Valued]:
    for line in _logical(text):
        match = _SET.fullmatch(line)
        name = key_parts(match[1].split()[-1]) if match else ()
        if match and name:
            yield Valued(name, _uncommented(match[2]))


def _make(text: str) -> Iterator[Valued]:
    """What a line assigns that is not of a recipe."""
    return _assigned("\n".join(line for line in _logical(text) if not line.startswith("\t")))


def _docker(text: str) -> Iterator[Valued]:
    for line in _logical(text):
        match = _DOCKER.fullmatch(line)
        if not match:
            continue
        pairs: Sequence[tuple[str, str]] = _DOCKER_PAIR.findall(match[2])
        old = match[2].split(None, 1)
        if not pairs and match[1].upper() == "ENV" and len(old) > 1:
            pairs = [(old[0], old[1])]
        yield from (Valued((name,), value) for name, value in pairs)


def _logical(text: str) -> Iterator[str]:
    """Lines, one that ends with a backslash joined with the next."""
    return (line for line in re.sub(r"\s*\\\n\s*", " ", text).split("\n") if line.strip())
