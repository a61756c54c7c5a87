"""What every adapter of the store's port has to keep; test_memory_log.py and test_lmdb_log.py run it against theirs."""

from collections.abc import Iterator

import msgspec
import pytest
from tests.store.making import (
    ANNA,
    HERE,
    NOON,
    Pen,
    commits_of,
    event,
    fresh_uid,
    recorded,
)

from memd_daemon.errors import BadRequest, Stopping, UsageError
from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.model.event import Anchor
from memd_daemon.model.note import encode_note
from memd_daemon.model.turn import Raised, Turn, Witness
from memd_daemon.store.check import verify
from memd_daemon.store.port import Draft, Store, Txn


class Broken(Exception):
    """What a work of a test raises."""


@pytest.fixture
def pen(store: Store) -> Iterator[Pen]:
    yield Pen(store)
    store.close()


def turn(session: str = "s", **fields: object) -> Turn:
    given: dict[str, object] = {
        "uid": fresh_uid(), "number": 0, "session": session, "n": 1, "harness": "claude", "at": NOON,
        "text": "use tabs", "attestation": "captured", "witness": Witness(),
    }  # fmt: skip
    return Turn(**(given | fields))  # type: ignore[arg-type]  # the struct checks its fields when it is decoded


class StoreContract:
    """Notes, log, turns, vectors and local facts of one store."""

    def test_a_recorded_note_is_there_under_every_name(self, pen: Pen) -> None:
        """What a write returned for can be read at once, by uid, id, slug, kind and path."""
        uid = pen.record(
            kind="gotcha", slug="the-lock", anchors=(Anchor(path="a/b.rs"), Anchor(path="a/b.rs", part="x"))
        )
        with pen.store.read() as snapshot:
            note = snapshot.note(uid)
            assert note is not None
            assert snapshot.text(note.shown.content) == "the lock drops on scope exit"
            assert (snapshot.id_of(uid), snapshot.uid_of(1)) == (1, uid)
            assert snapshot.uid_of_slug("the-lock") == uid
            assert list(snapshot.notes_of_kind(HERE, "gotcha")) == [1]
            assert list(snapshot.notes_on_path(HERE, "a/b.rs")) == [1]
            assert [id_ for id_, _ in snapshot.notes()] == [1]

    def test_what_is_unknown_is_none_or_empty(self, pen: Pen) -> None:
        """Nothing is made up for names that nobody gave."""
        with pen.store.read() as snapshot:
            assert snapshot.note(fresh_uid()) is snapshot.id_of(fresh_uid()) is snapshot.event(fresh_uid()) is None
            assert snapshot.uid_of(7) is snapshot.uid_of(-1) is snapshot.uid_of(1 << 70) is None
            assert (
                snapshot.uid_of_slug("none")
                is snapshot.text(b"d" * 32)
                is snapshot.turn(1)
                is snapshot.turn(-1)
                is None
            )
            assert snapshot.enrolled(b"k") is snapshot.vector("m", fresh_uid()) is snapshot.setting("x") is None
            assert snapshot.events_of(fresh_uid()) == [] == list(snapshot.children_of(fresh_uid()))
            with pytest.raises(KeyError):
                snapshot.salted_text(b"d" * 32)

    def test_ids_are_dense_and_newest_come_first(self, pen: Pen) -> None:
        """Ids count from 1 in the order of recording; iterators give the newest first, or the oldest where asked."""
        uids = [pen.record(f"claim {n}") for n in range(5)]
        with pen.store.read() as snapshot:
            assert [id_ for id_, _ in snapshot.notes()] == [5, 4, 3, 2, 1]
            assert [note.uid for _, note in snapshot.notes(newest_first=False)] == uids
            assert list(snapshot.notes_of_kind(HERE, "finding")) == [5, 4, 3, 2, 1]

    def test_notes_of_a_kind_are_found_by_priority(self, pen: Pen) -> None:
        """Without looking at the others, and by the priority that holds now."""
        high, low = pen.record(priority="high"), pen.record(priority="low")
        pen.act(low, "amended", ev.Amended(priority="high"))
        pen.act(high, "amended", ev.Amended(priority="medium"))
        with pen.store.read() as snapshot:
            assert list(snapshot.notes_of_kind(HERE, "finding", "high")) == [2]
            assert list(snapshot.notes_of_kind(HERE, "finding", "low")) == []
            assert list(snapshot.notes_of_kind(HERE, "finding")) == [2, 1]

    def test_a_version_stands_while_nothing_is_added_to_the_log(self, pen: Pen) -> None:
        """A local fact leaves it as it is, a note does not."""
        versions = []
        for change in (lambda: None, lambda: pen.store.write(lambda t: t.put_setting("x", b"y")), pen.record):
            change()
            with pen.store.read() as snapshot:
                versions.append(snapshot.version())
        assert versions[0] == versions[1] != versions[2]

    def test_what_was_added_is_counted_before_it_is_acknowledged(self, pen: Pen) -> None:
        """Whoever reads the number behind a write to the log reads another one, and a snapshot opened then holds what was written;
        local facts, texts and a write that failed leave it."""
        counted = [pen.store.additions]
        pen.store.write(lambda t: (t.put_setting("x", b"y"), t.put_text("words"), t.add_turn(turn())))
        counted.append(pen.store.additions)
        uid = pen.record()
        counted.append(pen.store.additions)
        with pen.store.read() as snapshot:
            assert snapshot.additions == counted[2]
            assert snapshot.note(uid) is not None
            pen.record()
            assert snapshot.additions == counted[2] != pen.store.additions
        assert counted[0] == counted[1] != counted[2]

    def test_a_moment_is_one_state_of_the_store(self, pen: Pen) -> None:
        """Nobody's look makes another of it, every write does, also one of a local fact."""
        moments = []
        for change in (
            lambda: None,
            lambda: None,
            lambda: pen.store.write(lambda t: t.put_setting("x", b"y")),
            pen.record,
        ):
            change()
            with pen.store.read() as snapshot:
                moments.append(snapshot.moment())
        assert moments[0] == moments[1]
        assert len(set(moments)) == 3

    def test_indexes_hold_live_notes_of_their_exact_scope(self, pen: Pen) -> None:
        """An archived or superseded note leaves kind and path; a revoked one stays as a tombstone; scopes do not mix."""
        gotcha = {"kind": "gotcha", "anchors": (Anchor(path="x"),)}
        archived, superseded, revoked = (pen.record(**gotcha) for _ in range(3))
        pen.record(scope="repo:other", **gotcha)
        pen.record(kind="finding", anchors=(Anchor(path="x"),))
        pen.act(archived, "archived")
        pen.act(superseded, "superseded", ev.ByNote(by=revoked))
        pen.revoke(revoked)
        with pen.store.read() as snapshot:
            assert list(snapshot.notes_of_kind(HERE, "gotcha")) == [3]
            assert list(snapshot.notes_on_path(HERE, "x")) == [3]
            assert list(snapshot.notes_on_path("repo:other", "x")) == [4]
            assert list(snapshot.notes_on_path(HERE, "X")) == []
        pen.act(archived, "restored")
        pen.act(superseded, "amended", ev.Amended(scope="repo:other"))
        pen.act(superseded, "unsuperseded", ev.ByNote())
        with pen.store.read() as snapshot:
            assert list(snapshot.notes_on_path(HERE, "x")) == [3, 1]
            assert list(snapshot.notes_on_path("repo:other", "x")) == [4, 2]
        assert verify(pen.store) == []

    def test_gotchas_are_found_by_what_their_files_held(self, pen: Pen) -> None:
        """Each once, whatever their paths; live gotchas of the exact scope alone, and by no digest that is none."""
        held, other = b"h" * 16, b"o" * 16
        twice = (Anchor(path="x", digest=held), Anchor(path="y", digest=held), Anchor(path="z", digest=other))
        pen.record(kind="gotcha", anchors=twice)
        archived = pen.record(kind="gotcha", anchors=(Anchor(path="x", digest=held),))
        pen.record(scope="repo:other", kind="gotcha", anchors=(Anchor(path="x", digest=held),))
        pen.record(kind="finding", anchors=(Anchor(path="x", digest=held),))
        pen.record(kind="gotcha", anchors=(Anchor(path="x"),))
        pen.act(archived, "archived")
        with pen.store.read() as snapshot:
            assert list(snapshot.notes_anchored_as(HERE, held)) == [1]
            assert list(snapshot.notes_anchored_as(HERE, other)) == [1]
            assert list(snapshot.notes_anchored_as("repo:other", held)) == [3]
            assert list(snapshot.notes_anchored_as(HERE, b"n" * 16)) == []
            assert set(snapshot.anchor_digests()) == {held, other}
        pen.act(archived, "restored")
        with pen.store.read() as snapshot:
            assert list(snapshot.notes_anchored_as(HERE, held)) == [2, 1]
        assert verify(pen.store) == []

    def test_children_are_found_by_their_parent(self, pen: Pen) -> None:
        """Lineage is walked downwards, once for each child."""
        parent = pen.record()
        children = {pen.record(derived_from=(parent, parent)), pen.record(derived_from=(parent,))}
        pen.record(informed_by=(parent,))
        with pen.store.read() as snapshot:
            found = list(snapshot.children_of(parent))
            assert set(found) == children
            assert len(found) == 2

    def test_a_work_that_raises_leaves_nothing(self, pen: Pen) -> None:
        """Neither notes nor ids, texts, turns, settings or vectors of a work that failed are there afterwards."""
        first = pen.record()
        uid = fresh_uid()

        def work(txn: Txn) -> None:
            pen.record_in(txn, uid, "lost", slug="lost")
            txn.put_setting("lost", b"1")
            txn.put_setting("kept", None)
            txn.add_turn(turn())
            txn.put_vector("m", first, b"v")
            raise Broken

        pen.store.write(lambda txn: txn.put_setting("kept", b"1"))
        before = [*commits_of(pen.store)]
        with pytest.raises(Broken):
            pen.store.write(work)
        with pen.store.read() as snapshot:
            assert (
                snapshot.note(uid)
                is snapshot.setting("lost")
                is snapshot.turn(1)
                is snapshot.vector("m", first)
                is None
            )
            assert snapshot.setting("kept") == b"1"
            assert snapshot.unembedded("m", 9) == [1]
        assert commits_of(pen.store) == before
        pen.record()
        with pen.store.read() as snapshot:
            assert [id_ for id_, _ in snapshot.notes()] == [2, 1]
        assert verify(pen.store) == []

    def test_a_snapshot_does_not_move(self, pen: Pen) -> None:
        """What is written while a snapshot is open is not in it."""
        uid = pen.record()
        with pen.store.read() as snapshot:
            future = pen.store.submit(lambda txn: pen.record_in(txn, fresh_uid()))
            future.result()
            assert snapshot.counts().notes == 1
            assert [note.uid for _, note in snapshot.notes()] == [uid]
        with pen.store.read() as snapshot:
            assert snapshot.counts().notes == 2

    def test_a_write_reads_what_it_wrote(self, pen: Pen) -> None:
        """Inside a work the new note, its id and its place in the indexes stand already."""
        uid = fresh_uid()

        def work(txn: Txn) -> tuple[int | None, list[int]]:
            pen.record_in(txn, uid)
            assert txn.note(uid) is not None
            return txn.id_of(uid), list(txn.notes_of_kind(HERE, "finding"))

        assert pen.store.write(work) == (1, [1])

    def test_commits_are_chained_and_placed(self, pen: Pen) -> None:
        """Sequence numbers have no gaps, each commit names the digest of the one before, and time never goes back."""
        pen.record()
        pen.at -= 10_000_000
        uid = pen.record()
        pen.revoke(uid)
        commits = commits_of(pen.store)
        headers = [msgspec.msgpack.decode(head, type=ev.Header) for head, _, _ in commits]
        assert [h.seq for h in headers] == [1, 2, 3]
        assert [h.prev for h in headers[1:]] == [ev.commit_digest(head, digests) for head, digests, _ in commits[:2]]
        assert headers[0].prev == ev.GENESIS
        assert headers[0].hlc < headers[1].hlc < headers[2].hlc
        assert {(h.store, h.origin) for h in headers} == {(pen.store.info.store, pen.store.info.origin)}

    def test_events_come_back_in_their_order_with_their_bytes(self, pen: Pen) -> None:
        """`events_of` gives each event as it was written, by place; `event` finds one by uid."""
        uid = pen.record()
        made = pen.revoke(uid)
        with pen.store.read() as snapshot:
            events = snapshot.events_of(uid)
            assert [s.event.type for s in events] == ["recorded", "revoked"]
            assert [s.place for s in events] == sorted(s.place for s in events)
            assert events[1].body == ev.encode_event(made)
            assert snapshot.event(made.uid) == events[1]

    @pytest.mark.parametrize(
        "draft",
        [
            Draft(body=b""),
            Draft(body=b"\x81\xa3uid\xc0"),
            Draft(body=ev.encode_event(event("delivered", fresh_uid()))),
            Draft(body=ev.encode_event(event("recorded", fresh_uid(), ev.Nothing()))),
            Draft(body=ev.encode_event(event("recorded", fresh_uid(), recorded(), v=2))),
            Draft(body=ev.encode_event(event("recorded", b"short", recorded()))),
            Draft(body=ev.encode_event(event("revoked", fresh_uid(), ev.Reasoned(by=b"b" * 16), parents=(b"p" * 16,)))),
        ],
    )
    def test_an_event_that_cannot_be_understood_is_refused(self, pen: Pen, draft: Draft) -> None:
        """Bytes that are no event, local and unknown types, wrong payloads, newer versions and missing parents."""
        with pytest.raises(BadRequest):
            pen.store.write(lambda txn: txn.append([draft], at=NOON))
        assert commits_of(pen.store) == []

    def test_an_event_is_recorded_once(self, pen: Pen) -> None:
        """The same uid a second time is refused, in a later commit and in the same one; so is an empty commit."""
        draft = Draft(body=ev.encode_event(event("recorded", fresh_uid(), recorded())))
        pen.store.write(lambda txn: txn.append([draft], at=NOON))
        for drafts in ([draft], [Draft(body=ev.encode_event(event("recorded", fresh_uid(), recorded())))] * 2, []):
            with pytest.raises(BadRequest):
                pen.store.write(lambda txn, drafts=drafts: txn.append(drafts, at=NOON))
        assert len(commits_of(pen.store)) == 1

    # --- turns, vectors, local facts

    def test_turns_are_numbered_and_found(self, pen: Pen) -> None:
        """By number, by request, by prompt of a session, and newest first."""
        made = [
            turn("a", request=b"r1", witness=Witness(prompt_id="p")),
            turn("b", request=b"r2", witness=Witness(prompt_id="p")),
            turn("a", text="  verbatim\n"),
        ]
        assert [pen.store.write(lambda txn, t=t: txn.add_turn(t)) for t in made] == [1, 2, 3]
        with pen.store.read() as snapshot:
            third = snapshot.turn(3)
            assert third is not None
            assert (third.number, third.text) == (3, "  verbatim\n")
            assert [t.number for t in snapshot.turns()] == [3, 2, 1]
            assert [t.number for t in snapshot.turns(session="a")] == [3, 1]
            assert (snapshot.turn_of_request(b"r2"), snapshot.turn_of_request(b"r3")) == (2, None)
            assert (snapshot.turn_of_prompt("a", "p"), snapshot.turn_of_prompt("c", "p")) == (1, None)
            assert [snapshot.session_turns(s) for s in ("a", "b", "c")] == [2, 1, 0]

    def test_what_became_of_a_turns_attestation_is_kept_beside_it(self, pen: Pen) -> None:
        """One row a turn, the newest; the turn itself stays as it was stored."""
        number = pen.store.write(lambda txn: txn.add_turn(turn("a")))
        first, second = Raised(turn=b"u" * 16, at=1), Raised(turn=b"u" * 16, at=1, settled=True)
        pen.store.write(lambda txn: txn.put_raised(number, first))
        with pen.store.read() as before:
            stored = before.turn(number)
            assert before.raised(number) == first
            assert before.raised(number + 1) is before.raised(-1) is before.raised(1 << 64) is None
        pen.store.write(lambda txn: txn.put_raised(number, second))
        with pen.store.read() as after:
            assert (after.raised(number), after.turn(number)) == (second, stored)

    def test_notes_wait_for_their_vectors(self, pen: Pen) -> None:
        """Oldest first, until the vector is there or is not wanted; a new model makes all wanted ones wait again."""
        uids = [pen.record(f"claim {n}") for n in range(4)]
        with pen.store.read() as snapshot:
            assert snapshot.unembedded("m", 3) == [1, 2, 3]
        pen.store.write(lambda txn: txn.put_vector("m", uids[0], b"\1\2"))
        pen.store.write(lambda txn: txn.no_vector(uids[1]))
        with pen.store.read() as snapshot:
            assert snapshot.unembedded("m", 9) == [3, 4]
            assert snapshot.unembedded("new", 9) == [1, 3, 4]
            assert snapshot.vector("m", uids[0]) == b"\1\2"
            assert list(snapshot.vectors("m")) == [(1, b"\1\2")]
        pen.store.write(lambda txn: txn.want_vector(uids[1]))
        pen.store.write(lambda txn: txn.put_vector("new", uids[2], b"\3"))
        with pen.store.read() as snapshot:
            assert snapshot.unembedded("new", 9) == [1, 2, 4]
            assert list(snapshot.vectors("m")) == [(1, b"\1\2")]
            assert list(snapshot.vectors("new")) == [(3, b"\3")]

    def test_settings_are_put_listed_and_taken_away(self, pen: Pen) -> None:
        """A local fact by name, and all under a prefix in their order; a name that is no key is refused."""
        for key, value in (("repo/b", b"2"), ("repo/a", b"1"), ("repos", b"3")):
            pen.store.write(lambda txn, key=key, value=value: txn.put_setting(key, value))
        with pen.store.read() as snapshot:
            assert list(snapshot.settings("repo/")) == [("repo/a", b"1"), ("repo/b", b"2")]
        pen.store.write(lambda txn: txn.put_setting("repo/a", None))
        with pen.store.read() as snapshot:
            assert snapshot.setting("repo/a") is None
        for name in ("", "x" * 512):
            with pytest.raises(UsageError):
                pen.store.write(lambda txn, name=name: txn.put_setting(name, b""))

    def test_a_text_keeps_the_salt_that_it_is_given(self, pen: Pen) -> None:
        """A digest that was signed before the write stands for the same bytes; otherwise equal texts have unequal digests."""
        digest = pen.store.write(lambda txn: txn.put_text("Grüße", b"s" * 16))
        assert digest == ev.blob_digest(b"s" * 16, "Grüße".encode())
        assert pen.store.write(lambda txn: txn.put_text("Grüße")) != pen.store.write(lambda txn: txn.put_text("Grüße"))
        with pen.store.read() as snapshot:
            assert snapshot.salted_text(digest) == (b"s" * 16, "Grüße")

    # --- as a whole

    def test_a_rebuild_gives_the_same_store(self, pen: Pen) -> None:
        """Folds, indexes, queue and look-ups made from the log alone equal those that grew."""
        parent = pen.record(kind="gotcha", anchors=(Anchor(path="x"),), slug="s")
        child = pen.record(derived_from=(parent,), kind="task")
        pen.enrol(ANNA)
        pen.endorse(parent, ANNA)
        pen.revoke(parent)
        pen.act(child, "closed", ev.Reasoned())
        pen.store.write(lambda txn: [txn.add_turn(turn(request=b"r")), txn.put_vector("m", parent, b"v")])
        told: list[tuple[int, int]] = []
        before = _all_rows(pen.store)
        assert pen.store.rebuild(lambda done, of: told.append((done, of))) == 2
        assert told == [(1, 3), (2, 3), (3, 3)]
        assert _all_rows(pen.store) == before
        assert verify(pen.store) == []

    def test_counts_are_exact(self, pen: Pen) -> None:
        """Notes, events, commits and turns, and some bytes."""
        pen.revoke(pen.record())
        pen.store.write(lambda txn: txn.add_turn(turn()))
        with pen.store.read() as snapshot:
            counts = snapshot.counts()
        assert (counts.notes, counts.events, counts.commits, counts.turns) == (1, 2, 2, 1)
        assert counts.bytes_on_disk > 0

    def test_the_cached_fold_is_the_fold_of_the_log(self, pen: Pen) -> None:
        """Byte for byte, after every step of a life."""
        uid = pen.record(level="principle")
        pen.enrol(ANNA)
        pen.endorse(uid, ANNA)
        revised = ev.Revised(content=b"c" * 32, summary=b"s" * 32, expected_revision=1)
        for type_, payload in (("revised", revised), ("confirmed", ev.Confirmed()), ("archived", ev.Reasoned())):
            pen.act(uid, type_, payload)
            with pen.store.read() as snapshot:
                folded = fold.fold(snapshot.events_of(uid))
            assert folded is not None
            assert encode_note(pen.note(uid)) == encode_note(folded)

    def test_a_closed_store_takes_and_gives_nothing(self, pen: Pen) -> None:
        """Closing twice is fine; reading and writing afterwards say that memd is stopping."""
        pen.store.close()
        pen.store.close()
        with pytest.raises(Stopping):
            pen.store.read().__enter__()
        with pytest.raises(Stopping):
            pen.store.write(lambda txn: None)


def _all_rows(store: Store) -> dict[str, list[tuple[bytes, bytes]]]:
    from memd_daemon.store import keys

    with store.read() as snapshot:
        return {table: list(snapshot.kv.scan(table)) for table in keys.STORE_TABLES}  # type: ignore[attr-defined]
