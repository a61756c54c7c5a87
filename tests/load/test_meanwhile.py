"""AT13: what is asked while the store is being written or made anew. No clock: the long work is held where it stands."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon.store.check import verify
from memd_daemon.store.port import Txn
from tests.service.desk import Desk, desk_at

GOTCHA = "flush_journal() in app.py must not run inside a transaction"
PROMPT = "why does flush_journal() in app.py hang inside a transaction?"
NOTES = 5
PATIENCE_S = 60.0


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A session that has begun, in a repository with a gotcha on a file and some other notes."""
    with desk_at(tmp_path) as one:
        (one.repo / "app.py").write_text("a = 1\n")
        one.remember(GOTCHA, kind="gotcha", anchors=["app.py"])
        for number in range(NOTES):
            one.remember(f"ticket_{number}() drains queue_{number} before the commit")
        yield one


class Held:
    """A long work that stops in its middle until it is let go."""

    def __init__(self) -> None:
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def __call__(self, *_: Any) -> None:
        self.begun.set()
        self.goes_on.wait(PATIENCE_S)


@pytest.fixture
def held() -> Iterator[Held]:
    made = Held()
    yield made
    made.goes_on.set()


def on_thread(work: Callable[[], Any]) -> Future[Any]:
    """The work on a thread of its own."""
    threads = ThreadPoolExecutor(1)
    done = threads.submit(work)
    threads.shutdown(wait=False)
    return done


def turns(desk: Desk) -> list[str]:
    return [turn.text for turn in desk.ask(api.Turns()).turns]


def test_a_prompt_is_kept_and_answered_while_everything_is_made_anew(desk: Desk, held: Held) -> None:
    """AT13. The rebuild stands between two notes; a prompt is durable and answered, a note recorded, before it goes on."""
    rebuilt = on_thread(lambda: desk.daemon.parts.store.rebuild(held))
    assert held.begun.wait(PATIENCE_S)
    desk.start()
    desk.prompt(PROMPT)
    assert turns(desk) == [PROMPT]
    assert GOTCHA in desk.edit("app.py")
    recorded = desk.remember("a note that was written in the middle of it")
    assert desk.recall("written in the middle").found
    assert not rebuilt.done()
    held.goes_on.set()
    assert rebuilt.result(PATIENCE_S) >= NOTES + 1
    assert verify(desk.daemon.parts.store) == []
    assert desk.ask(api.Show(ref=str(recorded.id), cwd=str(desk.repo))).note.id == recorded.id
    assert turns(desk) == [PROMPT]


def test_what_is_written_between_two_slices_of_a_rebuild_stays(desk: Desk) -> None:
    """AT13. After each subject something is written: a note, an act on an old one, a turn; all of it is there, and all agrees."""
    said: list[str] = []

    def writes(done: int, _: int) -> None:
        if done <= NOTES:
            said.append(f"said after subject number {done}")
            desk.remember(said[-1])
            desk.act("revoke", done, reason=f"it was number {done}")
            desk.prompt(f"prompt number {done}", prompt_id=f"p{done}")

    desk.start()
    desk.daemon.parts.store.rebuild(writes)
    assert len(said) == NOTES
    assert verify(desk.daemon.parts.store) == []
    contents = [note.content for note in desk.ask(api.ListNotes(limit=0, cwd=str(desk.repo))).notes]
    assert all(contents.count(one) == 1 for one in said)
    assert sorted(turns(desk)) == sorted(f"prompt number {done}" for done in range(1, NOTES + 1))


def test_who_reads_waits_for_no_writer(desk: Desk, held: Held) -> None:
    """AT13. While a write stands open, a start, an edit, a read, a recall and a list are answered; only a prompt, which is to be
    durable, waits for its turn."""
    desk.start()

    def open_write(_: Txn) -> None:
        held()

    writing = desk.daemon.parts.store.submit(open_write)
    assert held.begun.wait(PATIENCE_S)
    prompt = on_thread(lambda: desk.prompt(PROMPT))
    assert GOTCHA in desk.edit("app.py")
    assert GOTCHA in desk.read("app.py", session="s2")
    assert desk.recall("flush_journal transaction").found
    assert len(desk.ask(api.ListNotes(cwd=str(desk.repo))).notes) == NOTES + 1
    desk.start("s3")
    assert not writing.done()
    assert not prompt.done()
    held.goes_on.set()
    prompt.result(PATIENCE_S)
    assert turns(desk) == [PROMPT]
