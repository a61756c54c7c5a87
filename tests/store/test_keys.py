"""Keys sort as what they stand for does, come back as they went, and fit."""

from hypothesis import given
from hypothesis import strategies as st

from memd_daemon.store import keys

u64 = st.integers(0, 2**64 - 1)
u16 = st.integers(0, 2**16 - 1)
uid = st.binary(min_size=16, max_size=16)
places = st.tuples(u64, uid, u64, u16)


@given(places, places)
def test_places_sort_as_bytes(one: keys.Place, two: keys.Place) -> None:
    """So that a scan of a subject gives its events by place."""
    assert (keys.place_bytes(one) < keys.place_bytes(two)) == (one < two)
    assert keys.of_place(keys.place_bytes(one)) == one


@given(uid, u64, u16)
def test_commits_and_events_come_back(origin: bytes, seq: int, index: int) -> None:
    """An event's key begins with its commit's."""
    assert keys.of_commit_key(keys.commit_key(origin, seq)) == (origin, seq)
    assert keys.of_event_key(keys.event_key(origin, seq, index)) == (origin, seq, index)
    assert keys.event_key(origin, seq, index).startswith(keys.commit_key(origin, seq))


@given(u64)
def test_numbers_come_back_from_the_end_of_any_key(value: int) -> None:
    """Whatever stands before them."""
    assert keys.of_number(keys.kind_prefix("repo:r", "gotcha") + keys.number(value)) == value


@given(st.binary(max_size=6), st.binary(max_size=6))
def test_what_comes_after_a_prefix(prefix: bytes, key: bytes) -> None:
    """Nothing with the prefix sorts behind `after`, and nothing without it sorts between."""
    beyond = keys.after(prefix)
    if key.startswith(prefix):
        assert not beyond or key < beyond
    elif key > prefix:
        assert beyond
        assert key >= beyond


@given(st.text(max_size=300), st.text(max_size=300), st.integers(0, 2**32 - 1))
def test_every_key_fits(one: str, two: str, number: int) -> None:
    """LMDB takes 511 bytes, whatever a session, path, scope or model is called."""
    made = (
        keys.kind_prefix(one, "directive") + bytes(8),
        keys.path_prefix(one, two) + bytes(8),
        keys.epoch_prefix(one, two, number) + bytes(16),
        keys.turn_prefix(one, two, one) + bytes(16),
        keys.vector_key(one, bytes(16)),
        keys.place_bytes((1, bytes(16), 1, 1)) + bytes(16),
    )
    assert all(len(key) <= keys.KEY_MAX_BYTES for key in made)


def test_every_table_is_truth_or_made_anew() -> None:
    """No table is both, and the layout that is drawn names each of them."""
    assert len(set(keys.STORE_TABLES)) == len(keys.STORE_TABLES)
    assert set(keys.STORE_TABLES) == set(keys.TRUTH) | set(keys.REBUILT) | {keys.VECTORS}
    drawn = {line.split()[0] for line in (keys.__doc__ or "").splitlines() if line.startswith("    ")}
    assert set(keys.STORE_TABLES) | set(keys.LEDGER_TABLES) <= drawn
