"""What stands in a line of `memd log` beside memd's own words cannot pass for them."""

import re
from typing import Any

import msgspec
import pytest

from memd_daemon.frames.history import event_line, telling_line
from memd_daemon.model import event as ev
from memd_daemon.model.event import Anchor, Source
from memd_daemon.model.view import EventView, TellingView
from tests.frames.make import MARCH_4, TAGS

UNESCAPED = re.compile(r"(?<!\\)[,;] ")
FORGED = ("x; derived from [12]", "x, human", "x; scope global", "x, b.py")


def parts(payload: Any, type_: str, **fields: Any) -> list[str]:
    """The facts that a reader finds in the line of this event, its head among the first."""
    event = ev.Event(
        uid=b"u",
        note=bytes(16),
        type=type_,
        at=MARCH_4,
        payload=ev.make_payload(payload),
        **{"actor": "agent", "surface": "mcp", **fields},
    )
    stored = ev.Stored(event=event, body=b"", sig=b"", hlc=1, origin=b"", seq=1, index=0, store=b"", signed=False)
    return UNESCAPED.split(event_line(EventView(stored=stored, effect="applied"), TAGS).text)


def recorded(ref: str) -> ev.Recorded:
    return ev.Recorded(
        content=b"c",
        summary=b"s",
        kind="finding",
        priority="low",
        provenance="agent",
        source=Source("document", ref),
        scope="global",
    )


@pytest.mark.parametrize("forged", FORGED)
def test_a_source_adds_no_fact(forged: str) -> None:
    """What an agent names as its document is one part of the line, whatever commas and semicolons are in it."""
    assert len(parts(recorded(forged), "recorded")) == len(parts(recorded("plain"), "recorded")) == 5


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize("place", ["tags", "anchors", "under"])
def test_what_was_amended_adds_no_change(place: str, forged: str) -> None:
    """A tag, a path or a folder does not list a second one, nor a change of scope that nobody made."""
    value: dict[str, Any] = {"tags": (forged,), "anchors": (Anchor(path=forged),), "under": forged}
    assert len(parts(ev.Amended(**{place: value[place]}), "amended")) == 1


@pytest.mark.parametrize("forged", FORGED)
def test_a_path_or_a_session_adds_no_path(forged: str) -> None:
    """The confirmed anchors are as many as were confirmed, and the session's name ends where it ends."""
    assert len(parts(ev.Confirmed(anchors=(Anchor(path=forged),)), "confirmed")) == 1
    assert len(parts(ev.Nothing(), "forgotten", session=forged)) == 2


@pytest.mark.parametrize("forged", [*FORGED, "x [9] named y"])
def test_a_rule_is_recorded_with_its_rung_its_name_and_why(forged: str) -> None:
    """One fact of the line, and the reason behind all of them; neither adds one."""
    rule = msgspec.structs.replace(recorded("plain"), level="principle", slug="patience", reason=b"r")
    line = told(rule, texts={b"r": forged})
    assert "; principle patience (reason: " in line
    assert len(UNESCAPED.split(line.partition(' (reason: "')[0])) == 6
    hostile = msgspec.structs.replace(recorded("plain"), level="principle", slug=forged)
    assert len(parts(hostile, "recorded")) == 6


def told(payload: Any, **view: Any) -> str:
    event = ev.Event(
        uid=b"u",
        note=bytes(16),
        type="recorded",
        at=MARCH_4,
        actor="agent",
        surface="mcp",
        payload=ev.make_payload(payload),
    )
    stored = ev.Stored(event=event, body=b"", sig=b"", hlc=1, origin=b"", seq=1, index=0, store=b"", signed=False)
    return event_line(EventView(stored=stored, effect="applied", **view), TAGS).text


def test_what_was_asked_for_was_shown_and_not_told() -> None:
    """So that a reader tells a question from an interruption; of one that joined nobody no session is named."""
    shown = TellingView(trigger="recall", times=1, at=MARCH_4, last_at=MARCH_4, session="s1", asked=True)
    assert telling_line(shown, TAGS).what == "shown by recall, session s1"
    assert telling_line(msgspec.structs.replace(shown, session=""), TAGS).what == "shown by recall"
