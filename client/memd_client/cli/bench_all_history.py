"""A repository whose history is made, the same at every run: what `memd bench all` looks for staleness in where none is named.

Files of functions are written, and at each commit one thing happens to one file: a body changes, or only its layout or a comment;
functions change places, one comes, goes or is renamed; the file moves. Git's importer writes it in a second, with fixed times and
names, so that its newest commit is the same everywhere and runs can be compared.
"""

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

COMMITS: Final = 160  # the longest distance at which notes are looked at is 100
FILES: Final = 12
FUNCTIONS: Final = 8  # of a file, at first
LINES: Final = 4  # of a function, beside its last
SEED: Final = 7
BEGAN_S: Final = 1_767_225_600  # 2026-01-01
STEP_S: Final = 3_600
_VERBS: Final = ("read", "write", "merge", "split", "check", "count", "order", "drop", "join", "pick")
_NOUNS: Final = ("page", "block", "entry", "lease", "queue", "shard", "token", "ticket", "window", "record")

_File = list[str]  # functions, each a text that begins with its def


def make(folder: Path) -> Path:
    """Makes the repository, bare, in a new folder. Raises OSError, subprocess.CalledProcessError."""
    environ = {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for words, stdin in (
        (["init", "-q", "--bare", "-b", "main", str(folder)], b""),
        (["fast-import", "--quiet"], _stream()),
    ):
        cwd = folder if folder.exists() else folder.parent
        subprocess.run(["git", *words], input=stdin, cwd=cwd, env=environ, check=True, stdout=subprocess.DEVNULL)
    return folder


def _stream() -> bytes:
    """The history as git's importer reads it."""
    chance = random.Random(SEED)  # noqa: S311 -- nothing secret: the same history at every run
    files = {f"src/part{number}.py": _functions(chance) for number in range(FILES)}
    parts = [_commit(0, dict.fromkeys(files, ""), files)]
    for number in range(1, COMMITS):
        path = chance.choice(sorted(files))
        to = _step(chance, files, path, number)
        parts.append(_commit(number, {path: to}, files))
    return b"".join(parts)


def _commit(number: int, touched: dict[str, str], files: dict[str, _File]) -> bytes:
    """``touched``: each file that is written, and the name it gets, "" where it keeps its own."""
    when, said = BEGAN_S + number * STEP_S, f"step {number}"
    lines = [
        f"commit refs/heads/main\nmark :{number + 1}\ncommitter bench <bench@localhost> {when} +0000\ndata {len(said)}\n{said}\n"
    ]
    lines += [f"from :{number}\n"] if number else []
    for path, to in touched.items():
        lines += [f"R {path} {to}\n"] if to else []
        text = "\n\n".join(files[to or path])
        lines.append(f"M 100644 inline {to or path}\ndata {len(text.encode())}\n{text}\n")
    return "".join(lines).encode()


def _functions(chance: random.Random) -> _File:
    names: list[str] = []
    while len(names) < FUNCTIONS:
        name = _name(chance)
        if name not in names:
            names.append(name)
    return [_function(chance, name) for name in names]


def _name(chance: random.Random) -> str:
    return f"{chance.choice(_VERBS)}_{chance.choice(_NOUNS)}_{chance.choice(_NOUNS)}"


def _function(chance: random.Random, name: str) -> str:
    takes = ", ".join(f"{noun}s" for noun in _NOUNS)
    rows = "".join(f"    {_call(chance)}\n" for _ in range(LINES))
    return f'def {name}({takes}):\n    """Does what it is called."""\n{rows}    return {chance.randrange(999)}\n'


def _call(chance: random.Random) -> str:
    return f"{chance.choice(_NOUNS)} = {chance.choice(_NOUNS)}s.{chance.choice(_VERBS)}({chance.randrange(99)})"


# --- what can happen to a file


def _step(chance: random.Random, files: dict[str, _File], path: str, number: int) -> str:
    """One thing; the file's new name, where that is it."""
    if chance.random() < _MOVED:
        to = f"src/moved{number}.py"
        files[to] = files.pop(path)
        return to
    chance.choice(_THINGS)(chance, files[path], number)
    return ""


def _rewrite(chance: random.Random, functions: _File, number: int) -> None:
    at = chance.randrange(len(functions))
    functions[at] = functions[at].replace("    return ", f"    checked({number})\n    return ", 1)


def _comment(chance: random.Random, functions: _File, number: int) -> None:
    at = chance.randrange(len(functions))
    functions[at] = functions[at].replace("    return ", f"    # seen in step {number}\n    return ", 1)


def _shuffle(chance: random.Random, functions: _File, number: int) -> None:
    chance.shuffle(functions)
    functions[0] = functions[0].rstrip("\n") + f"  # first since step {number}\n"


def _add(chance: random.Random, functions: _File, number: int) -> None:
    functions.insert(chance.randrange(len(functions)), _function(chance, f"{_name(chance)}_{number}"))


def _drop(chance: random.Random, functions: _File, number: int) -> None:
    if len(functions) > FUNCTIONS // 2:
        functions.pop(chance.randrange(len(functions)))
    else:
        _add(chance, functions, number)


def _rename(chance: random.Random, functions: _File, number: int) -> None:
    at = chance.randrange(len(functions))
    name = functions[at].removeprefix("def ").partition("(")[0]
    functions[at] = functions[at].replace(f"def {name}(", f"def {name}_{number}(", 1)


_MOVED: Final = 0.1  # of the commits move a file
_THINGS: Final[tuple[Callable[[random.Random, _File, int], None], ...]] = (
    _rewrite, _rewrite, _rewrite, _comment, _shuffle, _add, _drop, _rename,
)  # fmt: skip
