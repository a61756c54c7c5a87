"""What every adapter of the ledger's port keeps of stale flags; test_ledger.py runs it."""

import msgspec
from tests.store.ledger_contract import A, B

from memd_daemon.limits import PRUNE_AT_ONCE
from memd_daemon.model.stale_flag import CLEARED, RAISED, Drift, StaleFlag
from memd_daemon.store.ledger_port import Ledger

ROOT, OTHER = "/r", "/r2"
MOVED = (Drift("app.py", "anchor_changed"),)


def raised(note: bytes = A, state: bytes = b"1" * 16, at: int = 10, root: str = ROOT) -> StaleFlag:
    return StaleFlag(note=note, type=RAISED, root=root, state=state, at=at, last_at=at, drifts=MOVED)


def cleared(note: bytes = A, at: int = 20, root: str = ROOT) -> StaleFlag:
    return StaleFlag(note=note, type=CLEARED, root=root, state=b"", at=at, last_at=at)


def never(_: bytes) -> bool:
    return False


def told(ledger: Ledger, note: bytes = A) -> list[tuple[str, int, int, int]]:
    return [(flag.type, flag.at, flag.last_at, flag.times) for flag in ledger.flags_of(note)]


class StaleContract:
    """Each event once a key: note, checkout, state."""

    def test_a_flag_is_raised_once_for_a_state(self, ledger: Ledger) -> None:
        """Another look at the same says nothing; another state is another event."""
        ledger.put_flags([raised(at=10), raised(at=11)])
        ledger.put_flags([raised(at=12)])
        assert told(ledger) == [(RAISED, 10, 10, 1)]
        ledger.put_flags([raised(state=b"2" * 16, at=13)])
        assert told(ledger) == [(RAISED, 10, 10, 1), (RAISED, 13, 13, 1)]
        assert [flag.state for flag in ledger.flags_standing()] == [b"2" * 16]

    def test_what_is_cleared_says_what_stood(self, ledger: Ledger) -> None:
        """And stands no more."""
        ledger.put_flags([raised(), cleared()])
        assert ledger.flags_standing() == []
        down = ledger.flags_of(A)[1]
        assert down == msgspec.structs.replace(cleared(), state=b"1" * 16, drifts=MOVED)

    def test_a_state_that_comes_again_is_counted_where_it_stands(self, ledger: Ledger) -> None:
        """Its first time stays, so that the rows of a file that goes back and forth are two."""
        for at in (10, 30, 50):
            ledger.put_flags([raised(at=at), cleared(at=at + 10)])
        assert told(ledger) == [(RAISED, 10, 50, 3), (CLEARED, 20, 60, 3)]

    def test_what_does_not_stand_is_not_cleared(self, ledger: Ledger) -> None:
        """Nothing is kept of a note that was never flagged there."""
        ledger.put_flags([cleared()])
        ledger.put_flags([])
        assert ledger.flags_of(A) == []

    def test_notes_and_checkouts_are_apart(self, ledger: Ledger) -> None:
        """Two worktrees may disagree."""
        ledger.put_flags([raised(), raised(root=OTHER), raised(note=B), cleared()])
        assert sorted((flag.note, flag.root) for flag in ledger.flags_standing()) == [(A, OTHER), (B, ROOT)]
        assert (len(ledger.flags_of(A)), len(ledger.flags_of(B))) == (3, 1)

    def test_flags_go_in_time_and_with_their_note(self, ledger: Ledger) -> None:
        """By the last time that they came; one that stood is raised anew where it is seen again."""
        notes = [bytes([n]) * 16 for n in range(1, 2 * PRUNE_AT_ONCE)]
        ledger.put_flags([raised(note=note, at=10) for note in notes])
        ledger.put_flags([raised(note=A, at=10), cleared(note=A, at=20), raised(note=A, at=2000)])
        ledger.put_flags([raised(note=B, at=2000)])
        ledger.prune(1000, never, lambda: None)
        assert sorted(flag.note for flag in ledger.flags_standing()) == [A, B]
        assert told(ledger) == [(RAISED, 10, 2000, 2)]
        ledger.prune(1000, lambda uid: uid == A, lambda: None)
        assert [flag.note for flag in ledger.flags_standing()] == [B]
        assert ledger.flags_of(A) == []
