"""What somebody gave stands in a refusal as one short printable line, whichever refusal it is."""

from collections.abc import Callable

import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.server import _decoded
from memd_daemon.service.text import quoted, told_back
from tests.boundaries.source import modules
from tests.service.desk import Desk

HOSTILE = "47\x1b[2J\r\n\u202e\u200b\x00" + "x" * 500

ASKED: dict[str, Callable[[Desk], object]] = {
    "note": lambda desk: desk.ask(api.Show(ref=HOSTILE)),
    "log": lambda desk: desk.ask(api.Log(ref=HOSTILE)),
    "act": lambda desk: desk.act(HOSTILE, 1),
    "kind": lambda desk: desk.remember("Deploys are on Tuesdays.", kind=HOSTILE),
    "scope": lambda desk: desk.remember("Deploys are on Tuesdays.", scope=HOSTILE),
    "provenance": lambda desk: desk.remember("Deploys are on Tuesdays.", provenance=HOSTILE),
    "level": lambda desk: desk.remember("Deploys are on Tuesdays.", level=HOSTILE),
    "source": lambda desk: desk.remember("Deploys are on Tuesdays.", source=HOSTILE),
    "anchor": lambda desk: desk.remember("Deploys are on Tuesdays.", anchors=[HOSTILE[:100].replace("\x00", "")]),
    "folder": lambda desk: desk.remember("Deploys are on Tuesdays.", under="/" + HOSTILE.replace("\x00", "")),
    "recall": lambda desk: desk.recall("deploys", kind=HOSTILE),
    "setting": lambda desk: desk.ask(api.Settings(key=HOSTILE)),
    "value": lambda desk: desk.ask(api.ChangeSetting(key="pause", how="set", values=[HOSTILE])),
    "session": lambda desk: desk.ask(api.Why(ref=str(desk.remember("Deploys are on Tuesdays.").id), session=HOSTILE)),
}


@pytest.mark.parametrize("what", ASKED)
def test_nothing_that_was_given_moves_a_terminal(desk: Desk, what: str) -> None:
    """No line break, no escape, nothing invisible, and no more of it than a line has room for."""
    with pytest.raises(errors.MemdError) as refusal:
        ASKED[what](desk)
    assert refusal.value.message.isprintable(), ascii(refusal.value.message)
    assert "x" * (limits.LINE_MAX_CHARS + 1) not in refusal.value.message


def test_a_request_that_does_not_fit_is_told_in_one_line() -> None:
    """The decoder's words hold what the sender called a field."""
    with pytest.raises(errors.BadRequest) as refusal:
        _decoded([b"\x81\xa3ref\xc3"], api.Show)
    assert refusal.value.message.isprintable()


@pytest.mark.parametrize(
    ("given", "bare", "between"),
    [
        ("47", "47", "'47'"),
        ("", "", "''"),
        ("a\nb\x1b[0m", "a?b?[0m", r"'a\nb\x1b[0m'"),
        ("\u202eü", "?ü", "'\\u202eü'"),
        ("x" * 41, "x" * 40, f"'{'x' * 40}'"),
    ],
)
def test_both_forms(given: str, bare: str, between: str) -> None:
    """Bare in a sentence of its own, between quotes where it stands for a word."""
    assert (told_back(given), quoted(given)) == (bare, between)


def test_what_was_given_is_cut_in_one_place() -> None:
    """Whoever repeats somebody's words in a refusal calls these two."""
    users = {module.name for module in modules() if "QUOTED_INPUT_MAX_CHARS" in module.text}
    assert users == {"memd_daemon.limits", "memd_daemon.service.text"}
