"""How the daemon before this one ended, where it was by a fault: a page of its map that is not there, an assertion of a library.

No Python code can catch those. So the process has the system write where it was when it ended (faulthandler: names of files and
functions, no word that a user typed) into `logs/fault`, which is empty otherwise. Who starts next finds it, says so in the log, and
looks the store through before it is opened (store/lmdb_state.py): what ended one daemon is refused with a line by the next, and
ends no third. The mark goes when both stores were opened.
"""

import contextlib
import faulthandler
import logging
from pathlib import Path
from typing import IO, Final

log: Final = logging.getLogger("memd.ended")

MARK: Final = "logs/fault"
_KINDS: Final = "Fatal Python error: "

_listening: list[IO[bytes]] = []  # the system writes to its descriptor, so it stays open


def listen(home: Path) -> None:
    """From here on a fault of this process is written down. Without room for the mark's name it is not, and that is all."""
    with contextlib.suppress(OSError):
        mark = (home / MARK).open("ab")
        _listening.append(mark)
        faulthandler.enable(mark, all_threads=False)


def by_fault(home: Path) -> bool:
    """Whether the daemon before this one was ended by a fault that nobody has looked into yet."""
    try:
        told = (home / MARK).read_text(errors="replace")
    except OSError:
        return False
    if told:
        log.error("the daemon before this one was ended by a fault: %s", _kind(told))
    return bool(told)


def _kind(told: str) -> str:
    """The system's word for it, and the innermost place; of what the system did not write, nothing."""
    if not told.startswith(_KINDS):
        return "nobody knows which"
    lines = told.splitlines()
    place = next((line.strip() for line in lines if line.startswith("  File ")), "nobody knows where")
    return f"{lines[0].removeprefix(_KINDS)}, {place}"


def forget(home: Path) -> None:
    """What ended it was looked for, and this one serves."""
    with contextlib.suppress(OSError):
        if (home / MARK).stat().st_size:
            (home / MARK).open("wb").close()
