"""Victims whose n-th write to something derived or local fails (breaking.c): the ledger, an index, the spool.

    python -m tests.crash.broken HOME REPO       a home that `prepare` made; then, line by line on stdin:
    WHAT N HOW                                   on a copy of it, do the act of WHAT; its N-th call fails `once` or from then `on`
                                                 -> one line: how many calls there were, or what is wrong

N 0 is none. While the disk fails a daemon answers: a prompt is stored, a note is acknowledged, questions find; it refuses by errors
of memd's alone. When the disk works again all of it goes on, and a daemon that opens the home after a kill has all of it.
"""

import contextlib
import ctypes
import errno
import json
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from memd_client import api, wire
from memd_daemon import errors, limits
from memd_daemon.index import vectors, words  # noqa: F401 - once for all victims
from memd_daemon.index.embed import QueryTable
from memd_daemon.store.check import verify
from tests.crash.forked import told_by
from tests.service.desk import Desk, make_repo
from tests.service.test_spool import put

ONCE, ON = "once", "on"
SPOOLED: Final = 3
MEANWHILE: Final = "What is said while the disk fails."
LANE: Final = "Lane 3 is drained by worker_3 before the commit."
TEXTS: Final = (
    "The pool waits for the lease, not for the lock.",
    "Retries are counted by the broker alone.",
    "The importer reads Latin-1, whatever its header says.",
)


class What(NamedTuple):
    """``word``: what the path of its files holds. ``act``: what writes to them. ``refuses``: whether nothing can be kept without
    them, so that what is said meanwhile may be refused."""

    word: str
    act: Callable[[Desk], object]
    refuses: bool = False


def _hooks(desk: Desk) -> None:
    """A session's beginning, a prompt, a read and an edit, each with its receipt."""
    asks = (
        lambda: desk.start("told"),
        lambda: desk.prompt("Which lock does the resolver take?", "told", "p7"),
        lambda: desk.read("app.py", "told", "p7"),
        lambda: desk.edit("app.py", "told", "p7"),
    )
    for ask in asks:
        with contextlib.suppress(errors.MemdError):  # the hook is answered by silence
            ask()


def _words(desk: Desk) -> None:
    with contextlib.suppress(OSError):
        desk.daemon.parts.search._flush_words()


def _vectors(desk: Desk) -> None:
    with contextlib.suppress(OSError):
        desk.daemon.parts.search._save_vectors()


def _short(desk: Desk, most: int) -> None:
    """As `_vectors`, with no file larger than ``most``: what libc writes inside itself breaks, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        desk.daemon.parts.search._vectors.save(1)  # type: ignore[union-attr]  # it is loaded
    except (OSError, RuntimeError):  # usearch has no other word for a disk that takes no more
        return
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _spool(desk: Desk) -> None:
    desk.prompt("What comes behind the spool.", "told", "p8")


def _writes(desk: Desk) -> None:
    for text in ("One is one.", "Two is two."):
        with contextlib.suppress(errors.MemdError):
            desk.remember(text)


WHATS: Final[dict[str, What]] = {
    "log": What("/store/log/", _writes, refuses=True),
    "ledger": What("/store/ledger/", _hooks),
    "words": What("/index/words/", _words),
    "vectors": What("/index/vectors", _vectors),
    "spool": What("/spool/", _spool),
}


def prepare(home: Path, repo: Path) -> None:
    """Notes with vectors, some that no index holds yet, and a spool that waits."""
    limits.EXACT_MAX_NOTES = 8  # type: ignore[misc]  # usearch from here on
    make_repo(repo)
    desk = Desk(home, repo)
    for number in range(12):
        desk.remember(
            f"Lane {number} is drained by worker_{number} before the commit.", kind="gotcha", anchors=["app.py"]
        )
    desk.daemon.parts.search.load_model()
    desk.daemon.parts.search.embed_waiting(lambda: False)
    desk.close()
    desk = Desk(home, repo)
    desk.remember("Lane 12 was closed in May.")
    desk.daemon.parts.search.load_model()
    desk.daemon.parts.search.embed_waiting(lambda: False)
    for number in range(SPOOLED):
        put(desk, number, f"spooled {number}")
    desk.daemon.parts.ledger.close()
    desk.daemon.parts.store.close()


def victim(home: Path, repo: Path, what: What, n: int, how: str) -> str:
    """Does the act on a disk that fails, and what else a daemon does; then on one that works. Nothing is closed, as by a kill."""
    limits.EXACT_MAX_NOTES = 8  # type: ignore[misc]  # as in `prepare`
    desk = Desk(home, repo)
    preloaded = ctypes.CDLL(None)
    preloaded.memd_break(what.word.encode(), n, errno.ENOSPC if how == ON else errno.EIO, int(how == ON))
    what.act(desk)
    calls = preloaded.memd_counted()
    assert first_of(desk, LANE) == LANE  # before a write has LMDB opened anew
    said = [text for text in (MEANWHILE, *TEXTS[:2]) if is_kept(desk, text, what)]
    preloaded.memd_break(b"", 0, 0, 0)
    _hooks(desk)
    what.act(desk)
    for text in (MEANWHILE, *TEXTS):
        assert text in said or is_kept(desk, text)
    assert_goes_on(desk)
    return str(calls)


def is_kept(desk: Desk, text: str, what: What | None = None) -> bool:
    """Says it, as a prompt or a note, and whether that was acknowledged. Raises what may not be refused."""
    try:
        if text == MEANWHILE:
            desk.prompt(text, "meanwhile", "p9")
        else:
            desk.remember(text)
    except errors.MemdError:
        if what is None or not what.refuses:
            raise
        return False
    return True


def first_of(desk: Desk, text: str) -> str:
    """What is found first by these words."""
    return desk.recall(text).found[0].note.content


def assert_goes_on(desk: Desk) -> None:
    """All of it is there, is found, and is told; each turn once."""
    assert verify(desk.daemon.parts.store) == []
    assert [first_of(desk, text) for text in TEXTS] == list(TEXTS)
    desk.daemon._spool.before_prompt()
    turns = [turn.text for turn in desk.ask(api.Turns(limit=0)).turns]
    said = [MEANWHILE, *(f"spooled {number}" for number in range(SPOOLED))]
    assert [turns.count(text) for text in said] == [1] * len(said)
    desk.prompt("What now?", "afterwards", "p10")
    assert desk.start("afterwards") or desk.edit("app.py", "afterwards", "p10")


def reopened(home: Path, repo: Path) -> str:
    """A daemon after the victim's end; "" where all is there."""
    desk = Desk(home, repo)
    assert_goes_on(desk)
    assert not list((home / "spool").glob(f"*{wire.SPOOL_SUFFIX.decode()}"))
    return ""


def seen(first: Path, repo: Path, work: Callable[[Path], str]) -> str:
    """What a victim on a copy has told; what the daemon after it, where that finds something wrong."""
    folder = Path(tempfile.mkdtemp(dir=first.parent))
    home = folder / "home"
    shutil.copytree(first, home)
    told = told_by(partial(work, home))
    if told.isdigit():
        told = told_by(partial(reopened, home, repo)) or told
    shutil.rmtree(folder)
    return told


def answer(first: Path, repo: Path, name: str, n: int, how: str) -> str:
    """What is to be printed; see the module's docstring. HOW may also be a number: the largest file there may be."""
    what = WHATS[name]
    if how.isdigit():
        what = what._replace(act=partial(_short, most=int(how)))
    return seen(first, repo, lambda home: victim(home, repo, what, n, how))


def made(first: Path, repo: Path) -> str:
    prepare(first, repo)
    return ""


def main() -> None:
    first, repo = Path(sys.argv[1]), Path(sys.argv[2])
    print(json.dumps(told_by(partial(made, first, repo))), flush=True)
    QueryTable()
    for line in sys.stdin:
        name, n, how = line.split()
        print(json.dumps(answer(first, repo, name, int(n), how)), flush=True)


if __name__ == "__main__":
    main()
