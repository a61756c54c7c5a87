"""``bin/hook.pyc``: everything that a hook runs, compiled into one file that the interpreter is started on.

From their sources the hook's modules cost a start 2 ms: each is looked for along the path, opened, checked and read by itself. In
one file they come in with one read, and what they do and import is the very same: they are compiled from those sources, only
without their docstrings, and stand under their own names.

**Fresh or not run.** The program looks at the time and size of each source first; where one is not what it was compiled from, it
ends with STALE, having read nothing of its stdin and written nothing. An interpreter of another version ends with the same status
at the file's first bytes. The launcher then runs the script, which takes the modules as they are. So a program that is missing,
old or unreadable costs time and nothing else. It is written by an install, and anew by a daemon that finds it stale at its start.

The first 16 bytes are those of any compiled file; where others have the source's time and size, which nobody looks at in a program
that is run directly, this one has a digest of what it was made from.
"""

import contextlib
import hashlib
import importlib.util
import marshal
from pathlib import Path
from types import CodeType
from typing import Final

import memd_client
from memd_hooks.events import Moment
from memd_hooks.files import replace_file

PROGRAM: Final = "bin/hook.pyc"
STALE: Final = 1
"""Also what the interpreter itself ends with where it cannot read the file."""

MODULES: Final = (
    "memd_client",
    "memd_client.wire",
    "memd_client.zmtp",
    "memd_client.address",
    "memd_client.link",
    "memd_hooks",
    "memd_hooks.carry",
)
"""Each after those that it imports. memd_client.spawn stays outside: only a hook that found no daemon imports it."""

_FOLDERS: Final = {"memd_client": Path(memd_client.__file__).parent, "memd_hooks": Path(__file__).parent}
_MODE: Final = 0o600
_FLAGS: Final = bytes(4)
_DIGEST_BYTES: Final = 8

_MAIN: Final = f"""
import posix
import sys

try:
    for name, file, folder, mtime_ns, size, code in "<sources>":
        seen = posix.stat(file)
        if seen.st_mtime_ns != mtime_ns or seen.st_size != size:
            posix._exit({STALE})
    for name, file, folder, mtime_ns, size, code in "<sources>":
        module = type(sys)(name)
        module.__file__ = file
        if folder:
            module.__path__ = [folder]
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
        sys.modules[name] = module
        exec(code, module.__dict__)
    sys.path[:0] = "<folders>"
    sys.dont_write_bytecode = True
    module.main((sys.argv[1],), reads_stdin=sys.argv[1] != {Moment.GIT_COMMIT.value!r})
finally:
    posix._exit({STALE})
"""
"""The program itself; texts in angle brackets stand for what `_compiled` puts there. The carrier's `main` never returns."""

_Source = tuple[str, str, str, int, int]
"""Name, file, the package's folder or "", mtime (ns) and size."""


def refresh(home: Path) -> bool:
    """Writes the program of a home unless it is there and fresh; whether it did. Raises OSError."""
    sources = [_source(name) for name in MODULES]
    head, path = _head(sources), home / PROGRAM
    if _beginning(path, len(head)) == head:
        return False
    replace_file(path, head + marshal.dumps(_compiled(sources)), mode=_MODE)
    return True


def renew(home: Path) -> None:
    """Writes the program anew where there is one and it is stale: for a daemon, whose home may have none."""
    with contextlib.suppress(OSError):  # a full or read-only disk: hooks take the modules as they are
        if (home / PROGRAM).exists():
            refresh(home)


def _source(name: str) -> _Source:
    package, _, module = name.partition(".")
    folder = _FOLDERS[package]
    file = folder / f"{module or '__init__'}.py"
    seen = file.stat()
    return name, str(file), "" if module else str(folder), seen.st_mtime_ns, seen.st_size


def _head(sources: list[_Source]) -> bytes:
    digest = hashlib.sha256(repr((sources, _MAIN)).encode("utf-8", "surrogatepass")).digest()
    return importlib.util.MAGIC_NUMBER + _FLAGS + digest[:_DIGEST_BYTES]


def _compiled(sources: list[_Source]) -> CodeType:
    rows = tuple(
        (*source, compile(Path(source[1]).read_bytes(), source[1], "exec", dont_inherit=True, optimize=2))
        for source in sources
    )
    put = {"<sources>": rows, "<folders>": tuple(dict.fromkeys(str(folder.parent) for folder in _FOLDERS.values()))}
    main = compile(_MAIN, PROGRAM, "exec", dont_inherit=True, optimize=2)
    return main.replace(co_consts=tuple(put.get(c, c) if isinstance(c, str) else c for c in main.co_consts))


def _beginning(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""
