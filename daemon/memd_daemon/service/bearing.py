"""Which of the notes that a search brings up bear on the question (docs/delivery.md, "A recall").

A search ranks whatever there is: among notes that all say nothing of a question, one is nearest. So a note comes where it has a
word in common with the question, or where its cosine is at a floor. Where no note has a word in common, one of them has to be
nearer than texts that have nothing to do with each other mostly are, or none comes. What does not come is told with the reason,
and where nothing comes the nearest are named to who asked: in other words, or by its number, each is still there.

Pure.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from memd_daemon import limits
from memd_daemon.service.lookup import Hit


class Floors(NamedTuple):
    """Cosines: of a note without a common word, and of the nearest where none has one."""

    note: float
    nearest: float


FULL: Final = Floors(*limits.RECALL_FLOORS["full"])
TABLE: Final = Floors(*limits.RECALL_FLOORS["table"])
"""For a question that only the token table has a vector of, whose cosines are lower."""


class Far(NamedTuple):
    """A note that does not bear on the question: its cosine, and the floor that this is under."""

    id: int
    cosine: float
    floor: float
    rule: str  # `below-floor`, or `none-near` where that is so of every note


def far_of(hits: Sequence[Hit], floors: Floors) -> list[Far]:
    """Those of the hits that do not bear on the question, the nearest first. ``hits``: all that may come."""
    without = [(hit.cosine or 0.0, hit.id) for hit in hits if not hit.lexical]
    nearest = max(without, default=(0.0, 0))[0]
    if len(without) == len(hits) and nearest < floors.nearest:
        found = [Far(id_, cosine, floors.nearest, "none-near") for cosine, id_ in without]
    else:
        found = [Far(id_, cosine, floors.note, "below-floor") for cosine, id_ in without if cosine < floors.note]
    return sorted(found, key=lambda far: (-far.cosine, far.id))
