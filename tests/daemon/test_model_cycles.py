"""`superseded` and `absorbed` are legal where there is no cycle: through the service, over any walk of four notes.

A fold sees one note alone, so the table's "no cycle" is the service's: an act is refused exactly where the way on from the note
that is to take its place comes back to it, over supersessions and absorptions alike, and a refused act changes nothing.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd_daemon.errors import Cycle, NoteRevoked, SameNote
from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note
from tests.service.desk import Desk, desk_at

LONG = bool(os.environ.get("MEMD_LONG"))
CLAIMS = ("locks are per process", "parsers keep comments", "colours are in sRGB", "queues have one reader")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One daemon with four notes; every walk starts where the one before it ended."""
    with desk_at(tmp_path_factory.mktemp("cycles")) as one:
        for claim in CLAIMS:
            one.remember(claim)
        yield one


def notes(desk: Desk) -> dict[int, Note]:
    with desk.daemon.parts.store.read() as snapshot:
        return dict(snapshot.notes())


def onward(all_notes: dict[int, Note], id_: int) -> int:
    """The note that took this one's place, or 0."""
    note = all_notes[id_]
    by = note.superseded_by if note.currency == "superseded" else note.absorbed_by
    return next((other for other, n in all_notes.items() if n.uid == by), 0) if by != NO_UID else 0


def leads_to(all_notes: dict[int, Note], start: int, goal: int) -> bool:
    seen: set[int] = set()
    while start and start not in seen:
        if start == goal:
            return True
        seen.add(start)
        start = onward(all_notes, start)
    return False


def resolved(all_notes: dict[int, Note], ref: int) -> int:
    """Old references resolve to the note that absorbed the one they name."""
    while all_notes[ref].currency == "absorbed":
        ref = onward(all_notes, ref)
    return ref


WALK = st.lists(
    st.tuples(
        st.sampled_from(
            ("supersede", "absorb", "supersede", "absorb", "unsupersede", "release", "revoke", "reinstate")
        ),
        st.integers(1, 4),
        st.integers(1, 4),
    ),
    max_size=25,
)


@given(WALK)
@settings(deadline=None, max_examples=150 if LONG else 12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_walk_makes_a_cycle(desk: Desk, walk: list[tuple[str, int, int]]) -> None:
    """Refused is what would make one, and nothing else is: the way from a note to what took its place comes to an end."""
    for act, id_, by in walk:
        before = notes(desk)
        takes_place = act in ("supersede", "absorb")
        circular = takes_place and leads_to(before, resolved(before, by), id_)
        try:
            desk.act(act, id_, reason="because", **({"by": str(by)} if takes_place else {}))
        except (Cycle, SameNote):
            assert circular
            assert notes(desk) == before
        except NoteRevoked:
            assert act == "absorb"
            assert notes(desk) == before
        else:
            assert not circular
        after = notes(desk)
        assert not any(leads_to(after, onward(after, each), each) for each in after)
