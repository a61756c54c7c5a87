"""`memd verify` finds what was removed, edited, reordered or forged, and says where; a sound store has no fault."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.store.making import ANNA, MALLORY, NOON, Pen, event

from memd_daemon.errors import StoreDamaged
from memd_daemon.model import event as ev
from memd_daemon.model.event import Anchor
from memd_daemon.model.note import decode_note, encode_note
from memd_daemon.model.turn import Turn, Witness
from memd_daemon.store import keys
from memd_daemon.store.check import LOOK, REINDEX, RESTORE, Fault, verify
from memd_daemon.store.kv import Writing
from memd_daemon.store.lmdb_log import open_store
from memd_daemon.store.memory_log import MemoryStore
from memd_daemon.store.port import Store

Tamper = Callable[[Writing], None]


class Scene:
    """A store with some life in it: five commits of notes, an endorsement, a turn."""

    def __init__(self, store: Store) -> None:
        self.pen = Pen(store)
        self.store = store
        self.origin = store.info.origin
        self.first = self.pen.record(
            "first", kind="gotcha", anchors=(Anchor(path="p", digest=b"d" * 16),), slug="s"
        )  # commit 1
        self.second = self.pen.record("second", derived_from=(self.first,))  # commit 2
        self.pen.enrol(ANNA)  # commit 3
        self.endorsed = self.pen.endorse(self.first, ANNA)  # commit 4
        self.revoked = self.pen.revoke(self.second, "it was wrong")  # commit 5
        self.last = self.pen.record("last")  # commit 6
        witness = Witness(prompt_id="p")
        turn = Turn(
            uid=b"t" * 16,
            number=0,
            session="s",
            n=1,
            harness="h",
            at=NOON,
            text="x",
            attestation="typed",
            witness=witness,
        )
        store.write(lambda txn: txn.add_turn(turn))

    def tamper(self, work: Tamper) -> list[Fault]:
        self.store.write(lambda txn: work(txn.kv))  # type: ignore[attr-defined]  # both adapters stand on tables
        return verify(self.store)

    def row(self, seq: int, index: int = 0) -> bytes:
        return keys.event_key(self.origin, seq, index)

    def head(self, seq: int) -> bytes:
        return keys.commit_key(self.origin, seq)


@pytest.fixture(params=["memory", "lmdb"])
def scene(request: pytest.FixtureRequest, home: Path) -> Iterator[Scene]:
    store: Store = MemoryStore() if request.param == "memory" else open_store(home)
    yield Scene(store)
    store.close()


def at(faults: list[Fault], scene: Scene) -> set[int]:
    """The commits of this origin at which something was found."""
    return {fault.seq for fault in faults if fault.origin == scene.origin}


def said(faults: list[Fault]) -> set[str]:
    return {fault.what for fault in faults}


def rows(store: Store) -> dict[str, list[tuple[bytes, bytes]]]:
    with store.read() as snapshot:
        return {table: list(snapshot.kv.scan(table)) for table in keys.STORE_TABLES}  # type: ignore[attr-defined]


def edit(kv: Writing, table: str, key: bytes, old: bytes, new: bytes) -> None:
    raw = kv.get(table, key)
    assert raw is not None
    assert old in raw
    kv.put(table, key, raw.replace(old, new))


def test_a_sound_store_has_no_fault(scene: Scene) -> None:
    """Nothing is found where nothing was done, before and after a rebuild."""
    assert verify(scene.store) == []
    scene.store.rebuild()
    assert verify(scene.store) == []


def test_an_edited_event_is_named(scene: Scene) -> None:
    """One byte in the body: its uid, origin and commit are said."""
    faults = scene.tamper(lambda kv: edit(kv, keys.EVENTS, scene.row(5), b"\xa3mcp", b"\xa3cli"))
    assert (scene.revoked.uid, 5, "is not the one that was committed") in {(f.uid, f.seq, f.what) for f in faults}
    assert at(faults, scene) == {5}
    assert "number 0 of commit 5" in faults[0].where


def test_an_edited_event_with_its_digest_made_to_fit_breaks_the_chain(scene: Scene) -> None:
    """Who corrects the commit's list too changes the commit's digest, which the next commit names."""

    def work(kv: Writing) -> None:
        edit(kv, keys.EVENTS, scene.row(5), b"\xa3mcp", b"\xa3cli")
        body, sig = msgspec.msgpack.decode(kv.get(keys.EVENTS, scene.row(5)) or b"")
        head, _ = msgspec.msgpack.decode(kv.get(keys.COMMITS, scene.head(5)) or b"")
        kv.put(keys.COMMITS, scene.head(5), msgspec.msgpack.encode([head, [ev.event_digest(body, sig)]]))

    faults = scene.tamper(work)
    assert at(faults, scene) == {6}
    assert any("does not follow" in what for what in said(faults))


def test_an_edited_last_commit_is_named(scene: Scene) -> None:
    """Nothing follows the last commit, so the store remembers its digest."""

    def work(kv: Writing) -> None:
        edit(kv, keys.EVENTS, scene.row(6), b"\xa3mcp", b"\xa3cli")
        body, sig = msgspec.msgpack.decode(kv.get(keys.EVENTS, scene.row(6)) or b"")
        head, _ = msgspec.msgpack.decode(kv.get(keys.COMMITS, scene.head(6)) or b"")
        kv.put(keys.COMMITS, scene.head(6), msgspec.msgpack.encode([head, [ev.event_digest(body, sig)]]))

    assert at(scene.tamper(work), scene) == {6}


@pytest.mark.parametrize(
    ("seq", "index", "ids"), [(1, 0, (1,)), (5, 0, (2,)), (3, 0, ()), (6, None, (3,)), (3, None, ())]
)
@pytest.mark.parametrize("how", ["removed", "unreadable", "edited"])
def test_a_fault_names_its_notes(scene: Scene, seq: int, index: int | None, ids: tuple[int, ...], how: str) -> None:
    """The event's, or those of the commit's events; of what is gone by the index. The identity log is nobody's note."""

    def work(kv: Writing) -> None:
        table, key = (keys.COMMITS, scene.head(seq)) if index is None else (keys.EVENTS, scene.row(seq, index))
        if how == "removed":
            kv.delete(table, key)
        elif how == "unreadable":
            kv.put(table, key, b"\xc1")
        else:
            raw = kv.get(table, key) or b""
            other_end = raw[:-1] + bytes([raw[-1] ^ 1])  # of a digest: any byte may stand there
            kv.put(table, key, raw.replace(b"\xa3mcp", b"\xa3cli") if index is not None else other_end)

    found = [
        f for f in scene.tamper(work) if f.seq == seq and f.index in (index, 0)
    ]  # what a digest names is at its event
    assert found != []
    assert {f.notes for f in found} == {ids}
    named = ", of note [" if ids else ", of this store's keys and settings"
    assert all(named in f.where for f in found)


def test_an_event_that_is_said_twice_is_named(scene: Scene) -> None:
    """A true one, signature and all, in a commit of its own behind the others: it counts once, and verify says so."""

    def work(kv: Writing) -> None:
        row = kv.get(keys.EVENTS, scene.row(4)) or b""
        header = msgspec.msgpack.decode(msgspec.msgpack.decode(kv.get(keys.COMMITS, scene.head(6)) or b"")[0])
        header |= {"seq": 7, "prev": (kv.get(keys.META, keys.META_HEAD) or b"")[8:], "hlc": header["hlc"] + 5}
        body, sig = msgspec.msgpack.decode(row)
        head, digests = msgspec.msgpack.encode(header), [ev.event_digest(body, sig)]
        kv.put(keys.COMMITS, scene.head(7), msgspec.msgpack.encode([head, digests]))
        kv.put(keys.EVENTS, scene.row(7), row)
        kv.put(keys.META, keys.META_HEAD, keys.number(7) + ev.commit_digest(head, digests))
        kv.put(keys.META, keys.META_HLC, keys.number(header["hlc"]))

    scene.tamper(work)
    scene.store.rebuild()
    (fault,) = verify(scene.store)
    assert (fault.seq, fault.what, fault.notes) == (7, "stands in an earlier commit already", (1,))


def test_no_commit_is_written_over_another(scene: Scene) -> None:
    """A store that forgot its last commit, or was told of an earlier one, refuses to write; verify says what is wrong."""
    whole = scene.store.write(lambda txn: txn.kv.get(keys.META, keys.META_HEAD))  # type: ignore[attr-defined]  # as above
    for head in (None, keys.number(3) + whole[8:]):

        def work(kv: Writing, head: bytes | None = head) -> None:
            kv.delete(keys.META, keys.META_HEAD) if head is None else kv.put(keys.META, keys.META_HEAD, head)

        assert at(scene.tamper(work), scene) == {6}
        before = rows(scene.store)
        with pytest.raises(StoreDamaged, match="stands already"):
            scene.pen.record("would be written over another")
        assert rows(scene.store) == before


@pytest.mark.parametrize("given", [None, 0])
def test_no_turn_is_written_over_another(scene: Scene, given: int | None) -> None:
    """Where the count was lost or set back, the turns themselves say how far it had come."""

    def work(kv: Writing) -> None:
        kv.delete(keys.META, keys.META_TURN) if given is None else kv.put(keys.META, keys.META_TURN, keys.number(given))

    assert [f.where for f in scene.tamper(work)] == ["the count of turns"]
    turn = Turn(uid=b"u" * 16, number=0, session="s", n=2, harness="h", at=NOON, text="y", attestation="typed", witness=Witness())  # fmt: skip  # noqa: E501 - one turn
    assert scene.store.write(lambda txn: txn.add_turn(turn)) == 2
    assert verify(scene.store) == []


@pytest.mark.parametrize("seq", [1, 3, 6])
def test_a_removed_commit_is_named(scene: Scene, seq: int) -> None:
    """At the beginning, in the middle, and at the end of the chain, with its events and without."""

    def work(kv: Writing) -> None:
        kv.delete(keys.COMMITS, scene.head(seq))
        kv.delete(keys.EVENTS, scene.row(seq))

    faults = scene.tamper(work)
    assert (seq, "is missing") in {(f.seq, f.what) for f in faults}
    kept = scene.tamper(lambda kv: kv.put(keys.EVENTS, scene.row(seq), b"\x92\xc4\0\xc4\0"))
    assert "belongs to no commit" in said(kept)


def test_a_log_that_was_emptied_is_named(scene: Scene) -> None:
    """Every commit gone: the head still knows that there were six."""

    def work(kv: Writing) -> None:
        for seq in range(1, 7):
            kv.delete(keys.COMMITS, scene.head(seq))
            kv.delete(keys.EVENTS, scene.row(seq))

    assert (1, "to 6 are missing") in {(f.seq, f.what) for f in scene.tamper(work)}


@pytest.mark.parametrize("seq", [1, 4, 6])
def test_a_removed_event_is_named(scene: Scene, seq: int) -> None:
    """This store withholds nothing from itself."""
    faults = scene.tamper(lambda kv: kv.delete(keys.EVENTS, scene.row(seq)) and None)
    assert (seq, "is missing") in {(f.seq, f.what) for f in faults}


def test_an_event_that_was_added_is_named(scene: Scene) -> None:
    """Beside the ones that the commit names, or under a commit that is none."""
    forged = msgspec.msgpack.encode((ev.encode_event(event("confirmed", scene.first)), b""))
    faults = scene.tamper(lambda kv: kv.put(keys.EVENTS, scene.row(2, 1), forged))
    assert (2, "was added to a commit that does not name it") in {(f.seq, f.what) for f in faults}
    faults = scene.tamper(lambda kv: kv.put(keys.EVENTS, scene.row(9), forged))
    assert (9, "belongs to no commit") in {(f.seq, f.what) for f in faults}


def test_reordered_commits_are_named(scene: Scene) -> None:
    """Two commits that changed places say so, and so does whoever follows them."""

    def work(kv: Writing) -> None:
        for table, one, two in (
            (keys.COMMITS, scene.head(1), scene.head(2)),
            (keys.EVENTS, scene.row(1), scene.row(2)),
        ):
            first, second = kv.get(table, one), kv.get(table, two)
            assert first is not None
            assert second is not None
            kv.put(table, one, second)
            kv.put(table, two, first)

    faults = scene.tamper(work)
    assert {1, 2} <= at(faults, scene)
    assert any("says that it is commit 2" in what for what in said(faults))


@pytest.mark.parametrize("bad", [b"", b"\x00", b"\xc1" * 40])
def test_what_cannot_be_read_is_named(scene: Scene, bad: bytes) -> None:
    """A commit, an event, a fold and a turn of garbage: each is named and none stops the rest."""

    def work(kv: Writing) -> None:
        kv.put(keys.COMMITS, scene.head(5), bad)
        kv.put(keys.EVENTS, scene.row(2), bad)
        kv.put(keys.FOLDS, scene.first, bad)
        kv.put(keys.TURNS, keys.number(1), bad)

    faults = scene.tamper(work)
    assert {(5, "cannot be read"), (2, "cannot be read")} <= {(f.seq, f.what) for f in faults}
    assert ("turn 1", "cannot be read") in {(f.where, f.what) for f in faults}
    assert any(f.uid == scene.first for f in faults)


def test_an_unreadable_identity_log_is_named(scene: Scene) -> None:
    """Then no signature can be checked, and that is what is said."""
    faults = scene.tamper(lambda kv: kv.put(keys.COMMITS, scene.head(3), b"\x00"))
    assert "cannot be read, so no signature can be checked" in said(faults)


@pytest.mark.parametrize("word", ["human", "agent"])
def test_a_forged_signature_is_named_and_endorses_nothing(scene: Scene, word: str) -> None:
    """A chain made anew around an event that claims a person: the fold ignores it, and verify says so."""
    note = scene.pen.note(scene.last)
    payload = ev.Promoted(to="human", revision=1, content=note.shown.content)
    made = event("promoted", scene.last, payload, parents=note.heads, actor=word)
    draft = MALLORY.draft(scene.store.info.store, made, note)
    body, sig = draft.body, draft.sig if word == "human" else b"s" * 64

    def work(kv: Writing) -> None:
        rows = [(body, sig)]
        header = msgspec.msgpack.decode(msgspec.msgpack.decode(kv.get(keys.COMMITS, scene.head(6)) or b"")[0])
        head_row = kv.get(keys.META, keys.META_HEAD) or b""
        header |= {"seq": 7, "prev": head_row[8:], "hlc": header["hlc"] + 5}
        head, digests = msgspec.msgpack.encode(header), [ev.event_digest(*row) for row in rows]
        kv.put(keys.COMMITS, scene.head(7), msgspec.msgpack.encode([head, digests]))
        kv.put(keys.EVENTS, scene.row(7), msgspec.msgpack.encode(rows[0]))
        kv.put(keys.META, keys.META_HEAD, keys.number(7) + ev.commit_digest(head, digests))
        kv.put(keys.META, keys.META_HLC, keys.number(header["hlc"]))

    scene.tamper(work)
    scene.store.rebuild()
    assert scene.pen.note(scene.last).provenance == "agent"
    (fault,) = verify(scene.store)
    assert (fault.uid, fault.seq, fault.remedy) == (made.uid, 7, LOOK)
    assert fault.what == "has a signature that no key enrolled here made"


def test_an_unsigned_claim_of_a_person_is_named(scene: Scene) -> None:
    """The signature taken away from an endorsement: the event is another one, and no person stands behind it."""

    def work(kv: Writing) -> None:
        body, _ = msgspec.msgpack.decode(kv.get(keys.EVENTS, scene.row(4)) or b"")
        kv.put(keys.EVENTS, scene.row(4), msgspec.msgpack.encode((body, b"")))

    faults = scene.tamper(work)
    assert {"is not the one that was committed", "says that a person did it and is not signed"} <= said(faults)
    assert at(faults, scene) == {4}


def test_an_edited_fold_is_named_and_endorses_nothing(scene: Scene, home: Path) -> None:
    """A cached fold that was made human by hand is not believed by the next process, nor by this one."""
    note = scene.pen.note(scene.last)
    human = msgspec.structs.replace(note.revisions[0], provenance="human", key_id=ANNA.key_id)
    forged = encode_note(msgspec.structs.replace(note, revisions=(human,)))
    faults = scene.tamper(lambda kv: kv.put(keys.FOLDS, scene.last, forged))
    assert [(f.uid, f.what, f.remedy) for f in faults] == [
        (scene.last, "stands in the store otherwise than its events make it", REINDEX)
    ]
    assert scene.pen.note(scene.last).provenance == "agent"
    scene.store.rebuild()
    assert verify(scene.store) == []


def test_a_signature_on_one_note_endorses_no_other(scene: Scene) -> None:
    """The index bent so that another note's endorsement stands under this one, and the fold made to fit."""
    note = scene.pen.note(scene.last)
    human = msgspec.structs.replace(note.revisions[0], provenance="human", key_id=ANNA.key_id)
    forged = encode_note(msgspec.structs.replace(note, revisions=(human,)))

    def work(kv: Writing) -> None:
        place = kv.get(keys.EVENT_UIDS, scene.endorsed.uid)
        assert place is not None
        kv.put(keys.SUBJECTS, scene.last + place, b"")
        kv.put(keys.FOLDS, scene.last, forged)

    assert scene.tamper(work) != []
    assert scene.pen.note(scene.last).provenance == "agent"


def test_an_endorsed_fold_is_believed_after_it_was_checked(scene: Scene) -> None:
    """A true one reads the same from the cache and from the log, in a process that did not write it."""
    scene.store.trusted.folds.clear()  # type: ignore[attr-defined]  # what a new process starts with
    assert scene.pen.note(scene.first).provenance == "human"
    with scene.store.read() as snapshot:
        cached = snapshot.kv.get(keys.FOLDS, scene.first)  # type: ignore[attr-defined]
    assert decode_note(cached) == scene.pen.note(scene.first)


@pytest.mark.parametrize("table", [keys.FOLDS, keys.TAILS, keys.KINDS, keys.PATHS, keys.ANCHORED, keys.CHILDREN, keys.SLUGS, keys.SUBJECTS, keys.EVENT_UIDS, keys.TURN_SESSIONS])  # fmt: skip  # noqa: E501 - one list of tables
def test_a_derived_row_that_is_missing_is_named(scene: Scene, table: str) -> None:
    """Whatever the table; a rebuild puts it right."""

    def work(kv: Writing) -> None:
        first = kv.seek(table, b"")
        assert first is not None
        kv.delete(table, first[0])

    assert scene.tamper(work) != []
    scene.store.rebuild()
    assert verify(scene.store) == []


@pytest.mark.parametrize("table", [keys.FOLDS, keys.TAILS, keys.KINDS, keys.PATHS, keys.ANCHORED, keys.CHILDREN, keys.SLUGS, keys.SUBJECTS, keys.TURN_SESSIONS])  # fmt: skip  # noqa: E501 - likewise
def test_a_derived_row_that_nothing_gives_is_named(scene: Scene, table: str) -> None:
    """A copy under another key; a rebuild takes it away."""

    def work(kv: Writing) -> None:
        first = kv.seek(table, b"")
        assert first is not None
        kv.put(table, bytes([first[0][0] ^ 0xFF]) + first[0][1:], first[1])

    faults = scene.tamper(work)
    assert faults != []
    assert all(fault.remedy == REINDEX for fault in faults)
    scene.store.rebuild()
    assert verify(scene.store) == []


def test_a_changed_text_is_named_with_its_event(scene: Scene) -> None:
    """Salt or words: the digest says so, and the event that names the text is told."""
    content = scene.pen.note(scene.last).shown.content
    faults = scene.tamper(lambda kv: edit(kv, keys.BLOBS, content, b"last", b"best"))
    assert [(f.uid, f.seq) for f in faults] == [(scene.pen.note(scene.last).heads[0], 6)]
    assert "names a text that was changed" in faults[0].what


def test_a_missing_text_is_named_with_its_event(scene: Scene) -> None:
    """A text that nobody forgot belongs here."""
    reason = scene.pen.note(scene.second).revocations[0].reason
    faults = scene.tamper(lambda kv: kv.delete(keys.BLOBS, reason) and None)
    assert [(f.uid, f.seq, f.remedy) for f in faults] == [(scene.revoked.uid, 5, RESTORE)]


def test_a_changed_text_that_nobody_names_is_named_by_its_digest(scene: Scene) -> None:
    """No event leads to it, its own key does."""
    (fault,) = scene.tamper(lambda kv: kv.put(keys.BLOBS, b"d" * 32, b"s" * 16 + b"words"))
    assert fault.where == f"text {(b'd' * 8).hex()}…"


@pytest.mark.parametrize(
    "work",
    [
        lambda kv, scene: kv.delete(keys.IDS, keys.number(1)),
        lambda kv, scene: kv.delete(keys.ALIASES, scene.first),
        lambda kv, scene: kv.put(keys.IDS, keys.number(1), scene.second),
        lambda kv, scene: kv.put(keys.ALIASES, scene.first, keys.number(2)),
        lambda kv, scene: kv.put(keys.ALIASES, b"x" * 16, keys.number(9)),
        lambda kv, scene: kv.put(keys.META, keys.META_HLC, keys.number(1)),
    ],
)
def test_ids_that_do_not_stand_for_each_other_are_named(scene: Scene, work: Callable[[Writing, Scene], object]) -> None:
    """A number is one note and a note is one number; the clock of the log stands behind no commit."""
    assert scene.tamper(lambda kv: work(kv, scene) and None) != []
