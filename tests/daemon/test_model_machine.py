"""A note's whole life in a real store, drawn by hypothesis: what must hold after each step, and at the end.

After every step the fold in the store's cache equals, byte for byte, the fold of the log, and both equal what the table's oracle
makes of the same events. The laws are told apart from the oracle, so that a mistake in it does not hide one in the fold.
"""

import os
import shutil
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.model.note import Note, encode_note
from memd_daemon.store import keys
from memd_daemon.store.lmdb_log import open_store
from memd_daemon.store.memory_log import MemoryStore
from memd_daemon.store.port import Store
from tests.daemon import model_oracle as oracle
from tests.daemon import model_replay as replay
from tests.daemon.model_deeds import ACTS, SEEDS, WHO, beginnings, perform, slip_in
from tests.store.making import ANNA, Pen, digest_of

LONG = bool(os.environ.get("MEMD_LONG"))
RUNGS = {"auto": 0, "agent": 1, "human": 2}
PERSONS = set(oracle.PROPOSAL_OF)


def fields_moved(before: Note, after: Note) -> set[str]:
    fields = set(before.__struct_fields__) - {"heads", "events"}
    return {field for field in fields if getattr(before, field) != getattr(after, field)}


class Lives(RuleBasedStateMachine):
    """Up to three notes, a person with a key, sessions, and memd itself."""

    def make_store(self) -> Store:
        return MemoryStore()

    def __init__(self) -> None:
        super().__init__()
        self.store = self.make_store()
        self.pen = Pen(self.store)
        self.uids: list[bytes] = []

    @initialize(beginning=beginnings)
    def begin(self, beginning: dict[str, Any]) -> None:
        self.pen.enrol(ANNA)
        self.record(beginning)

    @rule(beginning=beginnings)
    def record(self, beginning: dict[str, Any]) -> None:
        if len(self.uids) < 3:
            words = f"claim {len(self.uids)}"
            self.uids.append(self.pen.record(words, anchors=(ev.Anchor(path="a/b"),), **beginning))

    @rule(at=st.integers(0, 2), type_=ACTS, who=st.sampled_from(WHO), blind=st.booleans(), seed=SEEDS)
    def act(self, at: int, type_: str, who: str, blind: bool, seed: int) -> None:
        uid = self.uids[at % len(self.uids)]
        before = self.pen.note(uid)
        made = perform(Random(seed), self.pen, uid, who, type_, blind=blind)
        if made is not None:
            self.check(before, self.pen.note(uid), made)

    @rule(at=st.integers(0, 2))
    def endorse(self, at: int) -> None:
        """A person endorses a note, rung by rung."""
        uid = self.uids[at % len(self.uids)]
        before = self.pen.note(uid)
        to = "agent" if before.revisions[-1].provenance == "auto" else "human"
        payload = ev.Promoted(to=to, revision=before.revision, content=before.revisions[-1].content)
        made = self.pen.act(uid, "promoted", payload, by=ANNA)
        self.check(before, self.pen.note(uid), made)

    @rule(at=st.integers(0, 2), type_=st.sampled_from(sorted(PERSONS | {"forgotten", "promoted"})))
    def pretend(self, at: int, type_: str) -> None:
        """An event that says `human` and has no signature comes in from elsewhere: it does nothing."""
        uid = self.uids[at % len(self.uids)]
        before = self.pen.note(uid)
        payload: dict[str, Any] = {
            "promoted": ev.Promoted(to="human", revision=before.revision, content=before.revisions[-1].content),
            "forgotten": ev.Nothing(),
            "amended": ev.Amended(priority="low", scope="global"),
            "revised": ev.Revised(content=digest_of("x"), summary=digest_of("x"), expected_revision=before.revision),
            "conflict_resolved": ev.ConflictResolved(other=b"z" * 16, resolution="a_wins"),
        }
        by = ev.ByNote(by=b"z" * 16) if type_ in ("superseded", "absorbed") else ev.Reasoned(reason=digest_of("x"))
        slip_in(self.pen, before, type_, payload.get(type_, by), sig=b"s" * 64, actor="human", key_id=ANNA.key_id)
        assert fields_moved(before, self.pen.note(uid)) == set()

    def check(self, before: Note, after: Note, made: ev.Event) -> None:
        """The laws of one step, in the words of model.md."""
        moved = fields_moved(before, after)
        signed = made.actor == "human"
        if before.forgotten:
            assert moved == set()
        self.check_class(before, after, made)
        if made.type == "reinstated" and not before.forgotten:
            assert (after.belief, after.revocations) == ("held", ())
        if made.type == "revoked" and made.actor == "system":
            assert moved == set()
        if before.revoked and after.revoked:
            assert after.revocations[0] == before.revocations[0], "the tombstone keeps the first date and reason"
        if after.revoked:
            assert (after.shelf, after.conflicts) == ("active", ())
        if made.type == "revoked":
            assert not moved & {"valid_until", "revisions", "currency", "task", "flags", "priority", "evidence"}
        settled = {"proposals"} if signed else set()
        if made.type == "confirmed":
            assert moved <= {"last_confirmed_at", "person_confirmed_at", "anchors"} | settled
        if before.provenance == "human" and not signed and made.type in PERSONS:
            beside = {"revised": {"revisions"}, "revoked": {"revocations"} if before.revoked else set()}
            assert moved <= {"proposals"} | beside.get(made.type, set())
        if before.provenance == "human" and not signed:
            assert before.shown == after.shown, "what a person endorsed goes on rendering"
        self.check_flags(before, after, made)

    def check_class(self, before: Note, after: Note, made: ev.Event) -> None:
        """One rung at a time, never down, and `human` by a signature alone."""
        assert after.revisions[: before.revision - 1] == before.revisions[: before.revision - 1]
        was, now = before.revisions[-1].provenance, after.revisions[before.revision - 1].provenance
        assert 0 <= RUNGS[now] - RUNGS[was] <= 1
        if now == "human" != was:
            assert made.actor == "human"
        if was != now:
            assert (made.type, before.revoked) == ("promoted", False)
        assert before.provenance != "human" or after.provenance == "human"

    def check_flags(self, before: Note, after: Note, made: ev.Event) -> None:
        """Per causing event: what is raised stays until its own cause is reviewed."""
        causes, left = {f.cause for f in before.flags}, {f.cause for f in after.flags}
        payload = ev.payload_of(made)
        if isinstance(payload, ev.Reviewed) and not before.forgotten:
            assert left == causes - set(payload.causes)
        elif isinstance(payload, ev.ReviewFlagged) and not before.forgotten:
            assert left == causes | {payload.cause}
        else:
            assert left == causes

    @invariant()
    def the_cache_is_the_log(self) -> None:
        with self.store.read() as snapshot:
            for uid in self.uids:
                events = snapshot.events_of(uid)
                folded = fold.fold(events)
                assert folded is not None
                assert encode_note(folded) == snapshot.kv.get(keys.FOLDS, uid)  # type: ignore[attr-defined]  # stands on tables
                assert replay.normal(folded) == replay.normal(replay.replayed(events))

    def teardown(self) -> None:
        with self.store.read() as snapshot:
            before = {note.uid: encode_note(note) for _, note in snapshot.notes()}
        self.store.rebuild()
        with self.store.read() as snapshot:
            assert {note.uid: encode_note(note) for _, note in snapshot.notes()} == before
        self.store.close()


class LivesOnDisk(Lives):
    """The same in the store that daemons use."""

    def make_store(self) -> Store:
        self.folder = Path(tempfile.mkdtemp(dir="/tmp"))
        return open_store(self.folder / "home")

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder)


TestLives = Lives.TestCase
TestLives.settings = settings(deadline=None, max_examples=600 if LONG else 60, stateful_step_count=25)
TestLivesOnDisk = LivesOnDisk.TestCase
TestLivesOnDisk.settings = settings(deadline=None, max_examples=60 if LONG else 8, stateful_step_count=20)
