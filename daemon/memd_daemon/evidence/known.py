"""Outlines of turns that were read lately: a turn does not change, and one write or recall reads the same few again and again."""

from functools import lru_cache

from memd_daemon import limits
from memd_daemon.evidence.outline import Sentence, outline


def turn_outline(text: str) -> tuple[Sentence, ...]:
    """The sentences of a turn in order, as `outline` has them; of one that is long they are found anew each time."""
    return tuple(outline(text)) if len(text) > limits.EVIDENCE_OUTLINE_KNOWN_MAX_CHARS else _of_short(text)


@lru_cache(limits.EVIDENCE_OUTLINES_KNOWN_MAX)
def _of_short(text: str) -> tuple[Sentence, ...]:
    return tuple(outline(text))
