"""Acts on notes in real stores, for the machines and exchanges of the model's tests: mostly legal, and not always."""

from random import Random
from typing import Any

import msgspec
from hypothesis import strategies as st

from memd_daemon.errors import NotSigned
from memd_daemon.model import event as ev
from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note
from memd_daemon.model.words import Actor
from tests.store.making import ANNA, Pen, Person, digest_of, event, foreign_commit, fresh_uid

WHO = ("system", "agent", "anna")
CAUSES = tuple(bytes([n]) * 16 for n in range(1, 4))
STRANGERS = tuple(bytes([n]) * 16 for n in range(101, 104))  # notes of elsewhere
WIDER = ev.Amended(scope="global", under="")
TYPES = sorted(set(ev.PAYLOADS) - {"recorded", "key_enrolled", "key_rejected", "setting_changed", "forgotten"})
ACTS = st.sampled_from((*TYPES, *TYPES, "forgotten"))
SEEDS = st.integers(0, 1 << 32)
"""For what depends on a store's state: its uids are new at each run, so hypothesis does not choose among them itself."""

beginnings = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(("directive", "task", "gotcha", "finding", "decision")),
        "level": st.sampled_from(("", "atom", "principle", "doctrine")),
        "provenance": st.sampled_from(("auto", "agent")),
    }
)


def payload_for(chance: Random, type_: str, note: Note) -> msgspec.Struct:
    """Something that an event of this type may carry, about ``note`` as its writer saw it."""
    uid = chance.choice((*STRANGERS, note.uid))
    text = chance.choice((b"", digest_of("one reason"), digest_of("another")))
    newest = note.revisions[-1]
    match type_:
        case "promoted":
            to, revision = chance.choice(("agent", "human")), chance.choice((note.revision, note.revision, 1))
            return ev.Promoted(to=to, revision=revision, content=newest.content)
        case "revoked" | "reinstated" | "archived" | "restored" | "closed" | "reopened":
            return ev.Reasoned(reason=text, by=chance.choice((NO_UID, STRANGERS[0])))
        case "revised":
            content = digest_of(f"wording {chance.randint(1, 9)}")
            expected = chance.choice((note.revision, note.revision, note.revision + 1))
            return ev.Revised(content=content, summary=content, expected_revision=expected)
        case "confirmed":
            return ev.Confirmed(anchors=tuple(msgspec.structs.replace(a, digest=b"n" * 16) for a in note.anchors))
        case "conflict_opened":
            return ev.ConflictOpened(other=uid)
        case "conflict_resolved":
            return ev.ConflictResolved(other=uid, resolution=chance.choice(("a_wins", "merged")))
        case "amended":
            narrower = ev.Amended(scope="session:s", under="")
            return chance.choice((ev.Amended(priority="high"), ev.Amended(tags=("t",)), WIDER, narrower))
        case "evidence_bound":
            excerpt = digest_of("said")
            told = ev.Evidence(turn=1, turn_uid=uid, excerpt=excerpt, start=0, end=4, attestation="captured")
            return ev.EvidenceBound(evidence=(told,))
        case "review_flagged":
            what = chance.choice(("revoked", "superseded", "forgotten"))
            return ev.ReviewFlagged(ancestor=uid, cause=chance.choice(CAUSES), what=what)
        case "reviewed":
            return ev.Reviewed(causes=tuple(chance.sample(CAUSES, chance.randint(0, 3))))
        case "proposed":
            return ev.Proposed(act=chance.choice(("revoke", "change")), reason=text)
        case "forgotten":
            return ev.Nothing()
        case _:
            return ev.ByNote(by=uid, reason=text)


def seen_parents(chance: Random, note: Note, begun: bytes) -> tuple[bytes, ...]:
    """What the writer saw: all of it, a part of it, or the note's beginning alone."""
    some = tuple(chance.sample(note.heads, chance.randint(1, len(note.heads))))
    return chance.choice((note.heads, note.heads, some, (begun,)))


def perform(chance: Random, pen: Pen, uid: bytes, who: str, type_: str, *, blind: bool = False) -> ev.Event | None:
    """One act on one note of a store, if it is there and the store appends the like; gives the event.

    A person sees the whole note that he signs; others may write as somebody who saw less of it. What only a signature can do, and
    has none, is refused and leaves the note as it was.
    """
    with pen.store.read() as snapshot:
        note = snapshot.note(uid)
        begun = next((s.event.uid for s in snapshot.events_of(uid) if s.event.type == "recorded"), None)
        enrolled = snapshot.enrolled(ANNA.key_id) is not None
    person: Person | None = ANNA if who == "anna" and enrolled else None
    if note is None or begun is None or (type_ == "forgotten" and person is None):
        return None
    payload = payload_for(chance, type_, note)
    if isinstance(payload, ev.Promoted) and payload.to == "human" and person is None:
        payload = msgspec.structs.replace(payload, to="agent")
    parents = seen_parents(chance, note, begun) if blind and person is None else note.heads
    actor = Actor.HUMAN if person else "system" if who == "system" else "agent"
    try:
        return pen.act(uid, type_, payload, by=person, actor=actor, parents=parents)
    except NotSigned:
        assert person is None
        assert pen.note(uid) == note
        return None


def slip_in(pen: Pen, note: Note, type_: str, payload: msgspec.Struct, sig: bytes = b"", **fields: Any) -> ev.Event:
    """An event that no store would append, come in as another origin's commit: an act of a person without a signature, say."""
    origin = fresh_uid()
    made = event(type_, note.uid, payload, **({"parents": note.heads, "at": pen.tick()} | fields))
    commit = foreign_commit([(made, sig)], origin=origin, seq=1, hlc=pen.tick() << 16, store=pen.store.info.store)
    pen.store.write(lambda txn: txn.receive(*commit))
    return made
