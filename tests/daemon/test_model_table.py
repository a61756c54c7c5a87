"""Every state of a note, every event on it, every actor, signed and not: the fold says what the table says and changes no more.

The states are the product of the axes (class and wordings, belief, currency, shelf, task, kind, level, and a full or an empty
rest); the events are every type with every payload that the table tells apart. The oracle (tests/daemon/model_oracle.py) computes a
whole note, so that a field which nobody mentioned and which moved is a disagreement too. ``MEMD_LONG=1`` takes every level with
every kind; without it most kinds have one.
"""

import itertools
import os
from collections.abc import Iterator

import msgspec
import pytest

from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.model.note import Note, Proposal, Reinstatement, ReviewFlag, Revision, Revocation
from tests.daemon import model_oracle as oracle
from tests.daemon import model_replay as replay
from tests.store.making import NOON, digest_of, event, recorded, stored

LONG = bool(os.environ.get("MEMD_LONG"))

NOTE, OTHER, THIRD, FOURTH = (name * 16 for name in (b"n", b"o", b"t", b"f"))
HEAD, DEED = b"h" * 16, b"d" * 16
CAUSE, SECOND_CAUSE, NEW_CAUSE = (name * 16 for name in (b"1", b"2", b"3"))
PROPOSED_EVENT = b"p" * 16
KEY = b"k" * 16
LATER = NOON + 5_000

FILE = ev.Anchor(path="pkg/x", digest=b"a" * 16)
SYMBOL = ev.Anchor(form="symbol", path="pkg/x", part="f", digest=b"b" * 16)
BOUND = ev.Evidence(turn=1, turn_uid=b"u" * 16, excerpt=digest_of("said"), start=0, end=4, attestation="typed")
BOUND_TOO = ev.Evidence(turn=2, turn_uid=b"v" * 16, excerpt=digest_of("said so"), start=0, end=7, attestation="typed")

WHO = tuple(itertools.product(("system", "agent", "human") if LONG else ("agent", "human"), (False, True)))
WHO = WHO if LONG else (("system", False), *WHO)


def wording(number: int, provenance: str) -> Revision:
    return Revision(
        content=digest_of(f"content {number}"),
        summary=digest_of(f"summary {number}"),
        provenance=provenance,
        at=NOON + number,
        event=bytes([number]) * 16,
        key_id=KEY if provenance == "human" else b"",
    )


WORDINGS: dict[str, tuple[Revision, ...]] = {
    "auto": (wording(1, "auto"),),
    "agent": (wording(1, "agent"),),
    "human": (wording(1, "human"),),
    "human then agent": (wording(1, "human"), wording(2, "agent")),
    "human then auto": (wording(1, "human"), wording(2, "auto")),
}

BY_AGENT = Revocation(event=b"5" * 16, at=NOON + 50, reason=digest_of("wrong"), by=OTHER, actor="agent")
BY_PERSON = Revocation(event=b"6" * 16, at=NOON + 60, reason=digest_of("not so"), actor="human", signed=True)

BELIEFS: dict[str, dict[str, object]] = {
    "held": {},
    "held again": {
        "past_revocations": (BY_PERSON,),
        "reinstated": Reinstatement(at=NOON + 70, actor="agent", revoked_by_person_at=NOON + 60),
    },
    "revoked": {"belief": "revoked", "revocations": (BY_AGENT,)},
    "revoked twice": {"belief": "revoked", "revocations": (BY_AGENT, BY_PERSON)},
    "revoked again": {
        "belief": "revoked",
        "revocations": (BY_AGENT,),
        "past_revocations": (BY_PERSON,),
        "reinstated": Reinstatement(at=NOON + 70, actor="agent", revoked_by_person_at=NOON + 60),
    },
}

CURRENCIES: dict[str, dict[str, object]] = {
    "current": {},
    "superseded": {"currency": "superseded", "superseded_by": OTHER, "valid_until": NOON + 80},
    "absorbed": {"currency": "absorbed", "absorbed_by": OTHER},
}

RESTS: dict[str, dict[str, object]] = {
    "bare": {},
    "full": {
        "tags": ("locking",),
        "anchors": (FILE, SYMBOL),
        "evidence": (BOUND,),
        "corroborations": (OTHER,),
        "conflicts": (OTHER, THIRD),
        "demoted": (FOURTH,),
        "flags": (
            ReviewFlag(ancestor=OTHER, cause=CAUSE, what="revoked", at=NOON + 1),
            ReviewFlag(ancestor=THIRD, cause=SECOND_CAUSE, what="superseded", at=NOON + 2),
        ),
        "proposals": (
            Proposal(event=PROPOSED_EVENT, act="revoke", at=NOON + 3, reason=digest_of("hm")),
            Proposal(event=b"q" * 16, act="change", at=NOON + 4),
        ),
        "last_confirmed_at": NOON + 9,
        "person_confirmed_at": NOON + 8,
        "derived_from": (OTHER,),
        "slug": "locks",
        "session": "s",
    },
}

SORTS = ("directive", "gotcha", "finding", "decision", "task", "closed task")
LEVELS_OF: dict[str, tuple[str, ...]] = {
    "directive": ("doctrine",),
    "gotcha": ("",),
    "finding": ("atom", "principle"),
    "decision": ("",),
    "task": ("principle",),
    "closed task": ("doctrine",),
}


def states(sort: str) -> Iterator[tuple[str, Note]]:
    """Every note of one sort that the table lets be, with a name."""
    axes = (
        oracle.LEVELS if LONG else LEVELS_OF[sort],
        WORDINGS,
        BELIEFS,
        CURRENCIES,
        ("active", "archived"),
        RESTS,
        (False, True),
    )
    for level, words, belief, currency, shelf, rest, gone in itertools.product(*axes):
        fields = {"level": level, "shelf": shelf, "forgotten": gone} | RESTS[rest] | BELIEFS[belief]
        note = Note(
            uid=NOTE,
            kind="task" if sort == "closed task" else sort,
            task={"task": "open", "closed task": "closed"}.get(sort, ""),
            priority="medium",
            source=ev.Source("inference"),
            scope="repo:r",
            created_at=NOON,
            revisions=WORDINGS[words],
            heads=(HEAD,),
            events=3,
            **(fields | CURRENCIES[currency]),  # type: ignore[arg-type]  # fields by name
        )
        if note.revoked:
            note = msgspec.structs.replace(note, conflicts=())
        if note.provenance != "human":
            note = msgspec.structs.replace(note, proposals=())
        never = shelf == "archived" and (note.revoked or sort in ("directive", "task"))
        if not never and (not gone or (rest, currency) == ("full", "superseded")):
            yield f"{sort}/{level}/{words}/{belief}/{currency}/{shelf}/{rest}{'/forgotten' if gone else ''}", note


WHY = digest_of("because")
_NEW = {"content": digest_of("content 2"), "summary": digest_of("summary 2")}
_CONTENTS = (digest_of("content 1"), digest_of("content 2"))

PAYLOADS: dict[str, tuple[msgspec.Struct, ...]] = {
    "recorded": (
        recorded(content=_CONTENTS[0], summary=digest_of("summary 1")),
        recorded(content=digest_of("something else")),
    ),
    "promoted": tuple(
        ev.Promoted(to=to, revision=revision, content=content)
        for to in ("auto", "agent", "human", "system")
        for revision in (1, 2)
        for content in _CONTENTS
    ),
    "revoked": (
        ev.Reasoned(),
        ev.Reasoned(reason=WHY),
        ev.Reasoned(by=THIRD),
        ev.Reasoned(reason=WHY, by=THIRD),
    ),
    "reinstated": (ev.Reasoned(), ev.Reasoned(reason=WHY)),
    "superseded": (ev.ByNote(), ev.ByNote(by=NOTE), ev.ByNote(by=OTHER), ev.ByNote(by=THIRD, reason=WHY)),
    "unsuperseded": (ev.ByNote(), ev.ByNote(by=OTHER)),
    "absorbed": (ev.ByNote(), ev.ByNote(by=NOTE), ev.ByNote(by=OTHER), ev.ByNote(by=THIRD, reason=WHY)),
    "released": (ev.ByNote(), ev.ByNote(by=OTHER)),
    "revised": tuple(
        ev.Revised(**_NEW, expected_revision=expected, provenance=provenance, reason=WHY)
        for expected in (1, 2, 3)
        for provenance in ("auto", "agent", "human")
    ),
    "confirmed": (
        ev.Confirmed(),
        ev.Confirmed(anchors=(msgspec.structs.replace(FILE, digest=b"z" * 16),)),
        ev.Confirmed(anchors=(ev.Anchor(path="somewhere/else", digest=b"z" * 16),)),
        ev.Confirmed(anchors=(ev.Anchor(form="claim", path="pkg/x", part="f", digest=b"z" * 16),)),
        ev.Confirmed(anchors=(ev.Anchor(path="pkg/x", proxy=True, digest=b"z" * 16),)),
    ),
    "corroborated": tuple(ev.ByNote(by=by) for by in (bytes(16), NOTE, OTHER, FOURTH)),
    "rederived": (ev.ByNote(by=FOURTH),),
    "conflict_opened": tuple(ev.ConflictOpened(other=other) for other in (bytes(16), NOTE, OTHER, FOURTH)),
    "conflict_resolved": tuple(
        ev.ConflictResolved(other=other, resolution=resolution, reason=WHY)
        for other in (OTHER, FOURTH)
        for resolution in (*oracle.RESOLUTIONS, "whatever")
    ),
    "archived": (ev.Reasoned(), ev.Reasoned(reason=WHY)),
    "restored": (ev.Reasoned(),),
    "amended": (
        ev.Amended(),
        *(ev.Amended(priority=priority) for priority in (*oracle.PRIORITIES, "utmost")),
        *(ev.Amended(tags=tags) for tags in ((), ("a", "b"))),
        *(ev.Amended(anchors=anchors) for anchors in ((), (FILE,))),
        ev.Amended(under="pkg"),
        ev.Amended(scope="global", under=""),
        ev.Amended(scope="repo:other", under=""),
        ev.Amended(scope="global", under="", priority="high"),
    ),
    "closed": (ev.Reasoned(), ev.Reasoned(reason=WHY)),
    "reopened": (ev.Reasoned(),),
    "evidence_bound": (ev.EvidenceBound(evidence=(BOUND,)), ev.EvidenceBound(evidence=(BOUND_TOO,))),
    "review_flagged": tuple(
        ev.ReviewFlagged(ancestor=OTHER, cause=cause, what=what)
        for cause in (CAUSE, NEW_CAUSE)
        for what in (*oracle.FALLS, "archived")
    ),
    "reviewed": tuple(
        ev.Reviewed(causes=causes)
        for causes in ((), (CAUSE,), (NEW_CAUSE,), (CAUSE, SECOND_CAUSE), (SECOND_CAUSE, NEW_CAUSE))
    ),
    "proposed": tuple(ev.Proposed(act=act, reason=WHY, by=THIRD) for act in (*oracle.PROPOSAL_OF.values(), "forget")),
    "forgotten": (ev.Nothing(),),
    "key_enrolled": (ev.KeyEnrolled(key_id=KEY, public=b"x" * 32),),
    "key_rejected": (ev.KeyRejected(key_id=KEY),),
    "setting_changed": (ev.SettingChanged(key="pause", value="on"),),
}


def deeds(type_: str) -> Iterator[tuple[ev.Stored, oracle.Deed]]:
    """Every event of one type by everybody, as stored and as the page speaks of it."""
    for payload, (actor, signed) in itertools.product(PAYLOADS[type_], WHO):
        made = event(
            type_,
            NOTE,
            payload,
            uid=DEED,
            at=LATER,
            actor=actor,
            parents=(HEAD,),
            session="t",
            key_id=KEY if signed else b"",
        )
        lies = stored(made, hlc=9, signed=signed)
        yield lies, replay.deed_of(lies)


def moved(before: Note, after: Note | None) -> dict[str, object]:
    """Which fields an event has changed, and to what."""
    if after is None:
        return {"": None}
    fields = before.__struct_fields__
    return {
        f: getattr(after, f) for f in fields if getattr(before, f) != getattr(after, f) and f not in ("heads", "events")
    }


def disagreements(sort: str, type_: str) -> tuple[int, list[str]]:
    """(cases tried, what fold and table tell differently)."""
    tried, found = 0, []
    acts = list(deeds(type_))
    for name, note in states(sort):
        for lies, deed in acts:
            after, effect = fold.step(note, lies)
            due, names = oracle.expected(note, deed)
            tried += 1
            if replay.normal(after) == replay.normal(due) and effect in names:
                continue
            who = deed.actor + (" signed" if deed.signed else "")
            found.append(
                f"{name}: {type_} {deed.payload} by {who}: {effect} {moved(note, after)}, "
                f"by the table {sorted(names)} {moved(note, due)}"
            )
    return tried, found


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("type_", sorted(PAYLOADS))
def test_every_event_on_every_state_by_everybody(type_: str, sort: str) -> None:
    """One row of the table over all states of one sort of note: what changes, what does not, and what it is called."""
    tried, found = disagreements(sort, type_)
    assert tried > 0
    assert not found, f"{len(found)} of {tried}, the first: " + "\n".join(found[:3])


def test_every_type_is_tried() -> None:
    """No shared type of event is left out of the product."""
    assert set(PAYLOADS) == set(ev.PAYLOADS)


def test_every_row_moves_something() -> None:
    """Each row of the table has a case in the product in which it changes the note: none is tried on its refusals alone."""
    idle = {"recorded", "rederived", "key_enrolled", "key_rejected", "setting_changed"}
    for type_ in set(PAYLOADS) - idle:
        made = (
            oracle.expected(note, deed)[0]
            for sort in SORTS
            for _, note in states(sort)
            for _, deed in deeds(type_)
            if moved(note, oracle.expected(note, deed)[0])
        )
        assert next(made, None) is not None, type_


SCOPES = [
    ("global", "", "repo:r", "", False),
    ("global", "", "session:s1", "", False),
    ("repo:r", "", "global", "", True),
    ("repo:r", "", "repo:other", "", True),
    ("repo:r", "", "repo:r", "pkg", False),
    ("repo:r", "pkg", "repo:r", "pkg", False),
    ("repo:r", "pkg", "repo:r", "pkg/sub", False),
    ("repo:r", "pkg", "repo:r", "pkgs", True),
    ("repo:r", "pkg/sub", "repo:r", "pkg", True),
    ("repo:r", "pkg", "repo:r", "", True),
    ("repo:r", "pkg", "repo:other", "pkg", True),
    ("session:s1", "", "session:s1", "", False),
    ("session:s1", "", "session:s2", "", True),
    ("session:s1", "", "repo:r", "", True),
    ("session:s1", "", "global", "", True),
]
"""(scope, folder, new scope, new folder, whether it holds in more places)"""


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("kind", oracle.KINDS)
@pytest.mark.parametrize(("scope", "under", "to", "to_under", "wider"), SCOPES)
def test_widening_a_directives_scope_is_signed(
    kind: str, scope: str, under: str, to: str, to_under: str, wider: bool, signed: bool
) -> None:
    """And nothing else's is; nor is narrowing one. An act that may not widen changes nothing else either."""
    assert bool(oracle.territory(to, to_under) - oracle.territory(scope, under)) == wider
    made = event("recorded", NOTE, recorded(kind=kind, scope=scope, under=under))
    note, _ = fold.step(None, stored(made))
    amended = ev.Amended(scope=to, under=to_under, priority="high", tags=("t",))
    actor = "human" if signed else "agent"
    after, _ = fold.step(note, stored(event("amended", NOTE, amended, actor=actor), hlc=2, signed=signed))
    assert after is not None
    may = signed or not wider or kind != "directive"
    due = (to, to_under, "high", ("t",)) if may else (scope, under, "medium", ())
    assert (after.scope, after.under, after.priority, after.tags) == due


def test_what_the_user_took_back_is_told_until_a_person_lifts_it() -> None:
    """A session cannot make it forgotten by revoking and reinstating once more; a person's own reinstatement ends it."""
    note, _ = fold.step(None, stored(event("recorded", NOTE, recorded())))
    steps = [("revoked", True), ("reinstated", False), ("revoked", False), ("reinstated", False)]
    for n, (type_, signed) in enumerate(steps):
        actor = "human" if signed else "agent"
        made = event(type_, NOTE, ev.Reasoned(reason=WHY), actor=actor, at=LATER + n)
        note, effect = fold.step(note, stored(made, hlc=2 + n, signed=signed))
        assert effect == "applied"
    assert note is not None
    assert note.reinstated == Reinstatement(at=LATER + 3, actor="agent", revoked_by_person_at=LATER)
    for n, (type_, signed) in enumerate(
        [("revoked", False), ("reinstated", True), ("revoked", False), ("reinstated", False)]
    ):
        actor = "human" if signed else "agent"
        made = event(type_, NOTE, ev.Reasoned(reason=WHY), actor=actor, at=LATER + 10 + n)
        note, _ = fold.step(note, stored(made, hlc=12 + n, signed=signed))
    assert note is not None
    assert note.reinstated == Reinstatement(at=LATER + 13, actor="agent")
