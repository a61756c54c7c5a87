"""The wrapper speaks for the weakest note inside, in every mix of classes."""

from itertools import combinations_with_replacement

import pytest

from memd_daemon.frames.envelope import OPENINGS, OPENINGS_ONE, closing, envelope, opening, weakest
from memd_daemon.model.note import Reinstatement
from memd_daemon.model.view import NoteView, TombstoneView, Weight
from tests.frames.make import make_view

KINDS: dict[str, tuple[Weight, NoteView]] = {
    "human": (Weight.HUMAN, make_view(provenance="human")),
    "tombstone signed by a person": (
        Weight.HUMAN,
        make_view(provenance="auto", tombstone=TombstoneView(revoked_at=1, reason="x", signed=True)),
    ),
    "user-stated": (Weight.USER_STATED, make_view(user_stated=7)),
    "agent": (Weight.AGENT, make_view()),
    "tombstone": (Weight.AGENT, make_view(provenance="human", revoked="x")),
    "human, reinstated by an agent": (
        Weight.AGENT,
        make_view(provenance="human", reinstated=Reinstatement(at=2, actor="agent", revoked_by_person_at=1)),
    ),
    "document": (Weight.UNTRUSTED, make_view(untrusted=True, user_stated=7)),
    "auto": (Weight.AUTO, make_view(provenance="auto", user_stated=7)),
    "derived from an auto note": (Weight.AUTO, make_view(provenance="human", frame_class="auto")),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_note_weighs_what_stands_behind_it(name: str) -> None:
    """A tombstone weighs as who revoked it; user-stated counts only on an agent's trusted note."""
    weight, view = KINDS[name]
    assert view.weight == weight
    assert envelope([view]) == (OPENINGS_ONE[weight], "memd: end.")


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_weakest_speaks_in_every_mix(size: int) -> None:
    """All mixes of all kinds of notes: never a stronger opening than the weakest note has."""
    for mix in combinations_with_replacement(KINDS.values(), size):
        lowest = min(weight for weight, _ in mix)
        views = [view for _, view in mix]
        assert weakest(views) == lowest
        assert opening(weakest(views), size) == OPENINGS[lowest].format(n=size)
        assert envelope(views[::-1])[0] == envelope(views)[0]


@pytest.mark.parametrize(
    ("ids", "line"),
    [
        ([], "memd: end."),
        ([51], "memd: end; 1 more qualified and did not fit: [51] (ask for them with recall or show)."),
        (
            range(1, 11),
            "memd: end; 10 more qualified and did not fit: [1] [2] [3] [4] [5] [6] [7] [8] [9] [10] "
            "(ask for them with recall or show).",
        ),
        (
            range(1, 15),
            "memd: end; 14 more qualified and did not fit: [1] [2] [3] [4] [5] [6] [7] [8] [9] [10] and 4 others "
            "(ask for them with recall or show).",
        ),
    ],
)
def test_the_last_line_names_ten_at_most(ids: list[int], line: str) -> None:
    """What did not fit is counted in full and named in part."""
    assert closing(list(ids)) == line
