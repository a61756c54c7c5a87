"""The keys of settings files, by their path, with their values: JSON, TOML, YAML, INI, `.env`, properties, Makefile, Dockerfile.

A file of none of these, and of no grammar either, is read line by line for ``NAME = value``. The whole of a file that cannot be
read (broken JSON) has no keys. Values of lists are left alone.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from memd_daemon import limits
from memd_daemon.ground.names import Name, Valued, key_parts
from memd_daemon.pattern import pattern

_JSON_COMMENT: Final = pattern(r'("(?:[^"\\]|\\.)*(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_JSON_COMMA: Final = pattern(r'("(?:[^"\\]|\\.)*(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)
_QUOTED: Final = pattern(r"""\"(?:[^"\\]|\\.)*"|'[^']*'""")
_YAML_COLON: Final = pattern(r":(?:\s|$)")
_YAML_BLOCK: Final = pattern(r"[|>][+-]?\d?[+-]?\s*(?:#.*)?")
_YAML_TAG: Final = pattern(r"(?:[&!]\S*(?:\s+|$))*")
_YAML_NO_KEY: Final = tuple("#{[&*!|>%@`,")
_COMMENT: Final = pattern(r"\s[#;]")
_ASSIGNING: Final = pattern(r"=")
_GIVING: Final = pattern(r"[=:]")
_BEFORE_EQUALS: Final = " \t:?+!"  # of := ?= += != ::=
_TOML_APART: Final = pattern(r"[=,{}\[\]\n]")  # what no key goes over
_DOCKER: Final = pattern(r"\s*(ENV|ARG)\s+(.*)", re.IGNORECASE | re.DOTALL)
_DOCKER_PAIR: Final = pattern(r"""(?<!\S)([^\s=]+)=("(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|\S*)""")


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
    """Raises ValueError also for a key of so many parts that reading it would take minutes: time grows with their square."""
    if max(piece.count(".") for piece in _TOML_APART.split(text)) > limits.KEY_DOTS_MAX:
        raise ValueError
    import tomllib  # later.py says why

    return _walked(tomllib.loads(text))


def _walked(read: Any) -> Iterator[Valued]:
    """Every key with the value under it, so deep as names go; of a table its own value is its JSON."""
    stack: list[tuple[Name, Any]] = [((), read)]
    while stack:
        name, value = stack.pop()
        if name:
            yield Valued(name, json.dumps(value, ensure_ascii=False, default=str))
        if isinstance(value, dict) and len(name) < limits.SYMBOL_DEPTH_MAX:
            stack += [((*name, key), inner) for key, inner in reversed(value.items())]


def _yaml(text: str) -> Iterator[Valued]:
    """Keys of block mappings by their indentation; lists, flow collections and blocks of text are passed over."""
    open_keys: list[tuple[int, str]] = []
    passed = -1  # what is indented by more than this belongs to a list or a text
    for line in text.split("\n"):
        indent, bare = len(line) - len(line.lstrip(" ")), line.strip()
        if not bare or bare.startswith("#") or (passed >= 0 and indent > passed):
            continue
        passed = indent if bare == "-" or bare.startswith("- ") else -1
        key, value = _yaml_pair(bare) if passed < 0 else ("", "")
        if not key:
            open_keys = [] if bare.startswith("---") else open_keys
            continue
        while open_keys and open_keys[-1][0] >= indent:
            open_keys.pop()
        open_keys.append((indent, key))
        if _YAML_BLOCK.fullmatch(value):
            passed = indent
        elif (value := _uncommented(value)) and len(open_keys) <= limits.SYMBOL_DEPTH_MAX:
            yield Valued(tuple(key for _, key in open_keys), value)


def _yaml_pair(bare: str) -> tuple[str, str]:
    """The key and what is behind its colon; ("", "") where the line has none."""
    if quoted := _QUOTED.match(bare):
        colon = _YAML_COLON.match(bare, len(bare) - len(bare[quoted.end() :].lstrip()))
        key = quoted[0][1:-1]
    elif bare.startswith(_YAML_NO_KEY):
        return "", ""
    else:
        colon = _YAML_COLON.search(bare)
        key = bare[: colon.start()].rstrip() if colon else ""
    if colon is None or _COMMENT.search(key):
        return "", ""
    return key, _YAML_TAG.sub("", bare[colon.end() :].strip(), count=1)


def _uncommented(value: str) -> str:
    """A value without the comment behind it; in quotes a ``#`` is none."""
    value = value.strip()
    if quoted := _QUOTED.match(value):
        return quoted[0]
    comment = _COMMENT.search(value)
    return "" if value.startswith(("#", ";")) else value[: comment.start()].rstrip() if comment else value


def _ini(text: str) -> Iterator[Valued]:
    section: Name = ()
    for line in _logical(text):
        bare = line.strip()
        if bare.startswith("[") and (end := bare.find("]")) > 0:
            section = key_parts(bare[1:end].strip().replace(" ", "."))
        elif not bare.startswith(("#", ";", "!")):
            yield from _pair(bare, _GIVING, section)


def _assigned(text: str) -> Iterator[Valued]:
    for line in _logical(text):
        if not line.lstrip().startswith(("#", ";")):
            yield from _pair(line, _ASSIGNING, ())


def _pair(line: str, mark: re.Pattern[str], section: Name) -> Iterator[Valued]:
    """What a line gives to the last word before the mark (``export``, ``readonly`` and the like stand before it)."""
    found = mark.search(line)
    words = line[: found.start()].strip(_BEFORE_EQUALS).split() if found else []
    name = key_parts(words[-1]) if words else ()
    if found and name:
        yield Valued((*section, *name), _uncommented(line[found.end() :]))


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
    """Lines that are not blank, one that ends with a backslash joined with the next."""
    parts: list[str] = []
    for line in text.split("\n"):
        parts.append(line.removesuffix("\\").rstrip() if not parts else line.removesuffix("\\").strip())
        if not line.endswith("\\"):
            if any(parts):
                yield " ".join(parts)
            parts = []
    if any(parts):
        yield " ".join(parts)
