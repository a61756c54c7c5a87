"""Why, of a session that has ended, and of one that had no moment at which the note could have been told."""

from typing import Any

import pytest

from memd_client import api
from memd_daemon import limits
from tests.service.desk import Desk
from tests.service.test_why import FINDING, GOTCHA, RULE, a_minute_later, rule_of, why


def end(desk: Desk, session: str = "s1") -> None:
    desk.hook("session-end", desk.payload("SessionEnd", session, reason="exit"))


@pytest.mark.parametrize("how", ["ended", "long ago"])
def test_of_a_session_that_has_ended_now_is_a_new_session_here(desk: Desk, how: str) -> None:
    """No turn of it goes on, nothing stands, and its start is still to come; only its resume is its own."""
    rule = desk.remember(RULE, kind="directive").id
    gotcha = desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"]).id
    desk.start("s1")
    own = desk.remember("Say it in verse.", kind="directive", scope="session", env={"CLAUDE_CODE_SESSION_ID": "s1"}).id
    desk.edit("app.py", "s1", "p1")
    assert rule_of(desk, gotcha, "pre-edit") == "sent-this-turn"
    if how == "ended":
        end(desk)
    else:
        desk.clock.ms += limits.SESSION_LIVE_MS + 1
    answer = why(desk, gotcha)
    assert (answer.session, answer.live) == ("s1", False)
    assert [(one.moment, one.outcome) for one in answer.foreseen if one.path] == [
        ("read", "arrives"),
        ("pre-edit", "holds"),
    ]
    assert rule_of(desk, gotcha, "subagent-start") == "other-file"
    for moment in ("session-start", "prompt-submit", "post-compaction", "subagent-start"):
        assert rule_of(desk, rule, moment) == "arrives"
    assert rule_of(desk, rule, "resume") == "standing"
    assert rule_of(desk, own, "session-start") == "other-session"
    assert desk.read("app.py", "s2", "p9")  # as foretold
    assert len(desk.ask(api.Deliveries(session="s2")).deliveries) == 1


NEVER: list[dict[str, Any]] = [
    {"kind": "decision"},
    {"kind": "finding", "provenance": "auto"},
    {"kind": "task", "priority": "medium"},
    {"kind": "gotcha", "anchors": ["other.py"]},
]


@pytest.mark.parametrize("words", NEVER, ids=str)
def test_that_no_moment_came_is_said_where_none_came(desk: Desk, words: dict[str, Any]) -> None:
    """Of a kind or class that is never told unasked, of a file that the session never touched."""
    (desk.repo / "other.py").write_text("x = 1\n")
    id_ = desk.remember(GOTCHA, **words).id
    desk.start("s1")
    desk.prompt("what colour is the logo?", "s1")
    desk.read("app.py", "s1")
    answer = why(desk, id_, session="s1")
    assert (answer.decided, answer.had_moment) == ([], False)


def test_a_moment_before_the_note_is_none_of_its(desk: Desk) -> None:
    """A rule recorded after the start, a finding after the session; each has one once the moment comes."""
    desk.start("s1")
    a_minute_later(desk)
    rule = desk.remember(RULE, kind="directive").id
    finding = desk.remember(FINDING).id
    assert not why(desk, rule, session="s1").had_moment
    desk.read("app.py", "s1")
    assert not why(desk, rule, session="s1").had_moment
    assert not why(desk, finding, session="s1").had_moment
    desk.prompt("what colour is the logo?", "s1", "p2")
    assert why(desk, finding, session="s1").had_moment
    desk.start("s1", "compact")
    answer = why(desk, rule, session="s1")
    assert answer.decided
    assert answer.had_moment
    end(desk)
    a_minute_later(desk)
    assert not why(desk, desk.remember("The importer is slow.").id, session="s1").had_moment


def test_what_stands_is_no_lack_of_a_moment(desk: Desk) -> None:
    """The session touched the file: what was not recorded then was no news."""
    desk.start("s1")
    desk.read("app.py", "s1")
    id_ = desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"]).id
    assert why(desk, id_, session="s1").had_moment
