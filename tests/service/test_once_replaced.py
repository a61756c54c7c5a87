"""One turn whose daemon is replaced between its hooks: each is told what it would have been told by one that stayed (delivery.md,
"Once")."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memd_daemon.daemon import Daemon
from tests.service.desk import Desk, desk_at

QUESTION = "where does the cache of the importer live?"
AGENT = {"agent_id": "a1", "agent_type": "x", "prompt_id": "p1"}


def replaced(desk: Desk) -> None:
    """The next daemon of the same home; its clock goes on."""
    desk.daemon.close()
    desk.daemon = Daemon.open(desk.home)
    desk.daemon.parts.store.await_look()
    object.__setattr__(desk.daemon.parts, "now_ms", desk.clock)
    desk.daemon.parts.search.load_words()
    desk.daemon.parts.search.load_vectors()
    desk._verbs = desk.daemon.handlers(lambda: None)


def hooks(desk: Desk) -> Iterator[Callable[[], str]]:
    """A turn, a compaction in it and the next turn; what a client says twice, it says twice."""
    yield desk.start
    yield lambda: desk.start(source="resume")
    yield from [lambda: desk.prompt(QUESTION)] * 2
    yield from [lambda: desk.edit("app.py", use="t1")] * 2
    yield from [lambda: desk.edit("app.py", use="t2")] * 2
    yield lambda: desk.read("app.py")
    yield from [lambda: desk.hook("subagent-start", desk.payload("SubagentStart", "s1", **AGENT))] * 2
    yield lambda: desk.start(source="compact")
    yield lambda: desk.read("app.py", prompt_id="p2")
    yield lambda: desk.prompt(QUESTION, prompt_id="p2")
    yield lambda: desk.edit("app.py", prompt_id="p2")
    yield lambda: desk.hook("stop", desk.payload("Stop", "s1", prompt_id="p2"))
    yield lambda: desk.hook("session-end", desk.payload("SessionEnd", "s1", reason="other"))
    yield lambda: desk.start(source="resume")


def told(folder: Path, gaps: slice) -> list[str]:
    """The answers of all hooks, the daemon being replaced before those of ``gaps``."""
    folder.mkdir()
    with desk_at(folder) as desk:
        desk.remember("Never push to main on Fridays.", kind="directive")
        desk.remember("The release job depends on app.py.", kind="gotcha", anchors=["app.py"], priority="high")
        desk.remember("The cache of the importer lives in tmpfs.", kind="finding")
        desk.daemon.parts.search.load_vectors()
        all_ = list(hooks(desk))
        before = set(range(1, len(all_))[gaps])
        answers = []
        for number, hook in enumerate(all_):
            if number in before:
                replaced(desk)
            desk.clock.ms += 1
            answers.append(hook())
    return answers


@pytest.mark.parametrize("gaps", [slice(0, None, 2), slice(1, None, 2), slice(None)], ids=["odd", "even", "every"])
def test_a_daemon_that_is_replaced_between_two_hooks_is_not_noticed(tmp_path: Path, gaps: slice) -> None:
    """Neither what was told comes again, nor is anything missed; an edit is held once."""
    stayed = told(tmp_path / "stayed", slice(0))
    assert [bool(one) for one in stayed] == [
        True, False, True, False, True, False, False, False, False, True, False, True, True, True, False, False, False, False,
    ]  # fmt: skip
    assert told(tmp_path / "replaced", gaps) == stayed
