"""Notes in every state that a test of the fold wants to start from, each made by events alone."""

import msgspec

from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.model.event import Stored
from memd_daemon.model.note import Note
from tests.store.making import digest_of, event, fresh_uid, recorded, stored

OTHER = b"B" * 16
REASON = digest_of("reason")
CONTENT = digest_of("content")

Step = tuple[str, msgspec.Struct, str, bool]  # type, payload, actor, signed


class Life:
    """A note and the events that made it; `then` adds one with the heads as parents."""

    def __init__(self, **fields: object) -> None:
        self.uid = fresh_uid()
        self.events: list[Stored] = []
        self.note: Note | None = None
        self.effect = fold.Effect.NONE
        self._add("recorded", recorded(**fields), "agent", False)

    def _add(self, type_: str, payload: msgspec.Struct, actor: str, signed: bool) -> None:
        at = len(self.events) + 1
        parents = self.note.heads if self.note else ()
        made = event(type_, self.uid, payload, actor=actor, parents=parents, at=at, key_id=b"k" if signed else b"")
        placed = stored(made, hlc=at, seq=at, signed=signed)
        self.events.append(placed)
        self.note, self.effect = fold.step(self.note, placed)

    def then(
        self, type_: str, payload: msgspec.Struct | None = None, actor: str = "agent", signed: bool = False
    ) -> "Life":
        self._add(type_, payload if payload is not None else payload_for(type_, self.now), actor, signed)
        return self

    @property
    def now(self) -> Note:
        assert self.note is not None
        return self.note


def payload_for(type_: str, note: Note, to: str = "") -> msgspec.Struct:
    """A payload with which ``type_`` is legal on ``note`` if it can be at all."""
    newest = note.revisions[-1]
    ladder = {"auto": "agent", "agent": "human"}
    payloads: dict[str, msgspec.Struct] = {
        "recorded": recorded(),
        "promoted": ev.Promoted(
            to=to or ladder.get(newest.provenance, "human"), revision=note.revision, content=newest.content
        ),
        "revoked": ev.Reasoned(reason=REASON),
        "reinstated": ev.Reasoned(),
        "superseded": ev.ByNote(by=OTHER),
        "unsuperseded": ev.ByNote(),
        "absorbed": ev.ByNote(by=OTHER),
        "released": ev.ByNote(),
        "revised": ev.Revised(content=digest_of("new"), summary=digest_of("new"), expected_revision=note.revision),
        "confirmed": ev.Confirmed(),
        "corroborated": ev.ByNote(by=OTHER),
        "rederived": ev.ByNote(by=OTHER),
        "conflict_opened": ev.ConflictOpened(other=OTHER),
        "conflict_resolved": ev.ConflictResolved(other=OTHER, resolution="a_wins"),
        "archived": ev.Reasoned(),
        "restored": ev.Reasoned(),
        "amended": ev.Amended(priority="high"),
        "closed": ev.Reasoned(),
        "reopened": ev.Reasoned(),
        "evidence_bound": ev.EvidenceBound(
            evidence=(ev.Evidence(turn=1, turn_uid=OTHER, excerpt=REASON, start=0, end=3, attestation="typed"),)
        ),
        "review_flagged": ev.ReviewFlagged(ancestor=OTHER, cause=b"C" * 16, what="revoked"),
        "reviewed": ev.Reviewed(causes=(b"C" * 16,)),
        "proposed": ev.Proposed(act="revoke"),
        "forgotten": ev.Nothing(),
    }
    return payloads[type_]


def states() -> dict[str, Life]:
    """A life for every state that the axes can stand in, by name."""
    made = {
        "auto": Life(provenance="auto"),
        "agent": Life(),
        "human": Life().then("promoted", actor="human", signed=True),
        "directive": Life(kind="directive"),
        "human directive": Life(kind="directive").then("promoted", actor="human", signed=True),
        "task": Life(kind="task"),
        "principle": Life(level="principle"),
        "human principle": Life(level="principle").then("promoted", actor="human", signed=True),
        "revoked": Life().then("revoked"),
        "human revoked": Life()
        .then("promoted", actor="human", signed=True)
        .then("revoked", actor="human", signed=True),
        "reinstated": Life().then("revoked").then("reinstated"),
        "superseded": Life().then("superseded"),
        "superseded revoked": Life().then("superseded").then("revoked"),
        "absorbed": Life().then("absorbed"),
        "archived": Life().then("archived"),
        "closed": Life(kind="task").then("closed"),
        "human task": Life(kind="task").then("promoted", actor="human", signed=True),
        "in conflict": Life().then("conflict_opened"),
        "human in conflict": Life().then("promoted", actor="human", signed=True).then("conflict_opened"),
        "flagged": Life().then("review_flagged"),
        "proposed": Life().then("promoted", actor="human", signed=True).then("revoked"),
        "revised": Life(level="doctrine").then("revised"),
        "human revised": Life(level="doctrine").then("promoted", actor="human", signed=True).then("revised"),
        "forgotten": Life().then("forgotten", actor="human", signed=True),
    }
    return made


def axes(note: Note) -> dict[str, object]:
    """Where the note stands on each axis."""
    return {
        "provenance": note.provenance,
        "belief": note.belief,
        "currency": note.currency,
        "shelf": note.shelf,
        "task": note.task,
        "forgotten": note.forgotten,
    }
