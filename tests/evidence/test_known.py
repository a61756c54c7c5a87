"""Outlines of turns that are known: the same as a fresh look gives, and no more of them than there may be."""

import pytest

from memd_daemon import limits
from memd_daemon.evidence import known
from memd_daemon.evidence.known import turn_outline
from memd_daemon.evidence.outline import Sentence, outline

TURN = "Never commit to main. Always write a test."


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were looked at anew."""
    texts: list[str] = []

    def look(text: str) -> list[Sentence]:
        texts.append(text)
        return outline(text)

    monkeypatch.setattr(known, "outline", look)
    known._of_short.cache_clear()
    return texts


def test_a_turn_is_looked_at_once(looks: list[str]) -> None:
    """And each time has the outline that it has; one character more is another turn."""
    assert [turn_outline(TURN), turn_outline(TURN)] == [tuple(outline(TURN))] * 2
    assert turn_outline(TURN + "?") == tuple(outline(TURN + "?"))
    assert looks == [TURN, TURN + "?"]


def test_the_turn_that_was_asked_for_longest_ago_goes(looks: list[str]) -> None:
    """What is asked for again stays."""
    texts = [f"Never commit number {n} to main." for n in range(limits.EVIDENCE_OUTLINES_KNOWN_MAX + 1)]
    for text in texts[:-1]:
        turn_outline(text)
    turn_outline(texts[0])
    turn_outline(texts[-1])
    turn_outline(texts[0])
    assert looks == texts
    turn_outline(texts[1])
    assert looks == [*texts, texts[1]]


@pytest.mark.parametrize(("over", "times"), [(0, 1), (1, 2)])
def test_a_long_turn_is_looked_at_each_time(looks: list[str], over: int, times: int) -> None:
    """Its outline is larger than what it saves."""
    text = TURN.ljust(limits.EVIDENCE_OUTLINE_KNOWN_MAX_CHARS + over)
    assert turn_outline(text) == turn_outline(text)
    assert looks == [text] * times


def test_a_text_that_is_no_unicode_has_an_outline(looks: list[str]) -> None:
    """A lone surrogate is a character like others here."""
    assert turn_outline("\ud800 " + TURN) == tuple(outline("\ud800 " + TURN))
