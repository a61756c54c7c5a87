"""Recording a note: what is refused, what memd adds, and the one commit that it becomes (model.md, sections 2, 4 and 5)."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.frames.told import framed_no_higher, stands_already, stands_for_others
from memd_daemon.frames.words import tombstone
from memd_daemon.model import event as ev
from memd_daemon.model.ids import uid_text
from memd_daemon.model.note import Note
from memd_daemon.model.words import Actor, Belief, Currency, Kind, Provenance
from memd_daemon.service import again, copied, ladder, lineage, quarantine, same, shown
from memd_daemon.service.asker import UNKNOWN_AGENT, Asker, asker_of
from memd_daemon.service.binding import Binding, Bound, binding_of, settled
from memd_daemon.service.claim import Claim
from memd_daemon.service.fall import fall_drafts, fallen_above, supersede_drafts
from memd_daemon.service.near import near_to
from memd_daemon.service.parts import Parts
from memd_daemon.service.people import PlanBook, SignedAct, key_in_use
from memd_daemon.service.refs import held_by, note_at
from memd_daemon.service.repos import GLOBAL, Place, place_of
from memd_daemon.service.room import told_of_room
from memd_daemon.service.views import stated_turn, view_of
from memd_daemon.service.wanted import Wanted, check
from memd_daemon.store.port import Draft, Snapshot, Txn

if TYPE_CHECKING:
    from memd_daemon.index.pending import Told


class Others(msgspec.Struct, frozen=True, kw_only=True):
    """The notes that a write names."""

    contradicts: Note | None = None
    supersedes: Note | None = None
    despite: Note | None = None
    same_as: Note | None = None
    echo: str = ""  # why a write with ``same_as`` counts nothing for that note; "" where it does
    derived_from: tuple[Note, ...] = ()  # by the writer's word, the sources of a principle among them
    told: tuple[str, ...] = ()  # where a reference led to another note than the one named

    @property
    def corrected(self) -> frozenset[bytes]:
        """Notes that the new one corrects rather than builds on."""
        return frozenset(n.uid for n in (self.contradicts, self.supersedes, self.despite) if n)

    @property
    def apart(self) -> frozenset[bytes]:
        """Notes that the new one is not built on, though it may have their words."""
        return self.corrected | frozenset(n.uid for n in (self.same_as,) if n)


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """The new note's own events, final to the byte, and the texts they name: (salt, text)."""

    recorded: bytes
    texts: tuple[tuple[bytes, str], ...]
    digest: bytes  # of the content
    salt: bytes
    promoted: bytes = b""
    key_id: bytes = b""  # of the key that is to sign `promoted`
    derived_from: tuple[bytes, ...] = ()


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """A note that nothing speaks against: what is written, and what the writer is told."""

    asker: Asker
    wanted: Wanted
    others: Others
    built: Built
    claim: Claim
    tombstones: list[shown.Row]
    told: list[str]
    given: str  # the content as it came
    likely: tuple[bytes, ...] | None = None  # notes that may say this already; None where it is recorded in any case
    evidence: tuple[ev.Evidence, ...] = ()
    fallen: frozenset[bytes] = frozenset()  # events by which what it is derived from had fallen by then


def remember(parts: Parts, plans: PlanBook, request: api.Remember) -> api.Remembered:
    """Records the note; with ``endorse`` gives the plan that a person has to sign first.

    Raises the refusals of model.md, section 4; then nothing is stored. What only informs is found out while the commit is on its
    way to the disk.
    """
    parts.search.wait_for_words()
    asker = asker_of(parts.ledger, request.env, request.surface)
    place = place_of(parts, request.cwd)
    wanted = ladder.placed(parts, request, check(parts, request, asker, place))
    binding = binding_of(parts, request, asker, wanted)
    wanted = copied.captured(parts, request, asker, wanted)
    binding, wanted = settled(binding, request, wanted)
    try:
        with parts.store.read() as snapshot:
            ready = _ready(parts, snapshot, request, asker, wanted, binding)
            answer = _answer(parts, snapshot, ready) if request.endorse else None
    except errors.KnownMistake as refusal:
        if request.same_as:
            same.note_rederived(parts, request.same_as, wanted, asker)
        shown.refused_with(parts, asker, "remember", place, refusal)
        raise
    shown.showed(parts, asker, "remember", place, ready.tombstones)
    if answer is not None:
        return _as_plan(parts, plans, ready, place, answer)
    (id_, more, uid), (answer, words) = parts.store.write_beside(
        partial(_write_once, parts, ready), partial(_answer_and_words, parts, ready)
    )
    if uid != wanted.uid:
        near = [one for one in answer.near if one != id_]
        return msgspec.structs.replace(answer, id=id_, uid=uid_text(uid), kept=True, near=near, told=more)
    quarantine.recorded(parts, uid, wanted.content)
    if ready.others.same_as is not None and not ready.others.echo:
        quarantine.looked(parts, asker, [ready.others.same_as.uid], "same_as")
    _indexed(parts, id_, ready, words)
    told = ready.told + more + told_of_room(parts, wanted, place)
    stated = _stated(parts, uid) if wanted.kind is Kind.DIRECTIVE else 0
    return msgspec.structs.replace(answer, id=id_, told=told, stated=stated, **_befell(parts, ready.others))


def _stated(parts: Parts, uid: bytes) -> int:
    """The user's turn behind the new note, where it is framed as their own words; 0 where it is not (yet)."""
    with parts.store.read() as snapshot:
        note = snapshot.note(uid)
        return stated_turn(parts, snapshot, note) if note is not None else 0


def _ready(
    parts: Parts, snapshot: Snapshot, request: api.Remember, asker: Asker, wanted: Wanted, binding: Binding
) -> Ready:
    claim = Claim.of(wanted.content)
    others = _others(parts, snapshot, request, wanted, asker)
    tombstones = _mistake_told(parts, snapshot, claim, wanted.scope, others)
    same.refuse_other(parts, snapshot, request, wanted, others.same_as)
    ladder.refuse_taken(snapshot, wanted.slug)
    ladder.refuse_near(parts, snapshot, wanted, distinct=request.distinct)
    kin = lineage.kin_of(parts, snapshot, wanted.content, asker, others.apart)
    key_id = key_in_use(parts, snapshot) if request.endorse else b""
    built = _build(parts, asker, wanted, others, kin, binding.found, key_id, snapshot.head())
    return Ready(
        asker=asker,
        wanted=wanted,
        others=others,
        built=built,
        likely=None if again.adds_something(request, wanted) else again.likely(parts.search, snapshot, wanted),
        evidence=tuple(one.evidence(b"", b"") for one in binding.found),
        fallen=frozenset(fallen_above(snapshot, built.derived_from)),
        claim=claim,
        tombstones=tombstones,
        told=[*wanted.told, *others.told, *binding.told, *_lowered(snapshot, wanted, kin)],
        given=request.content,
    )


def _answer_and_words(parts: Parts, ready: Ready) -> "tuple[api.Remembered, Told | None]":
    """What is done while the disk syncs."""
    with parts.store.read() as snapshot:
        answer = _answer(parts, snapshot, ready)
    return answer, parts.search.told(ready.wanted.scope, ready.wanted.content)


def _answer(parts: Parts, snapshot: Snapshot, ready: Ready) -> api.Remembered:
    """What is said of the new note, its number aside."""
    found = near_to(parts.search, snapshot, ready.wanted, ready.claim, ready.others.apart)
    return api.Remembered(
        id=0,
        uid=uid_text(ready.wanted.uid),
        near=found.near,
        conflicts=found.conflicts,
        tombstones=[line for _, _, line in ready.tombstones],
        told=ready.told,
        redacted=parts.redact(ready.given) != ready.given,
    )


def _befell(parts: Parts, others: Others) -> dict[str, int]:
    """How the notes stand that the write corrects, by their ids; nothing of one on which it could only propose something."""
    named = [(others.contradicts, Belief.REVOKED), (others.supersedes, Currency.SUPERSEDED)]
    stand: dict[str, int] = {}
    if others.contradicts is None and others.supersedes is None:
        return stand
    with parts.store.read() as snapshot:
        for one, how in named:
            note = snapshot.note(one.uid) if one else None
            if note is not None and how in (note.belief, note.currency):
                stand[how] = snapshot.id_of(note.uid) or 0
    return stand


def _others(parts: Parts, snapshot: Snapshot, request: api.Remember, wanted: Wanted, asker: Asker) -> Others:
    def at(ref: str) -> Note | None:
        return note_at(snapshot, ref) if ref else None

    told: list[str] = []
    same_as = held_by(snapshot, request.same_as, told) if request.same_as else None
    named = [held_by(snapshot, ref, told) for ref in request.derived_from]
    return Others(
        contradicts=at(request.contradicts),
        supersedes=at(request.supersedes),
        despite=at(request.despite),
        same_as=same_as,
        echo=same.why_an_echo(parts, snapshot, wanted, same_as, asker) if same_as is not None else "",
        derived_from=(*named, *ladder.sources_of(snapshot, request, told)),
        told=tuple(dict.fromkeys(told)),
    )


def _mistake_told(parts: Parts, snapshot: Snapshot, claim: Claim, scope: str, others: Others) -> list[shown.Row]:
    """Tombstones to answer with: of what the content says again, and of what it contradicts though it was revoked before.

    Raises KnownMistake where the content is a revoked belief and `despite` does not name it.
    """
    told: dict[bytes, shown.Row] = {}
    named = [others.same_as] if others.same_as is not None and others.same_as.revoked else []
    for note in (*named, *parts.struck.again(parts.store, snapshot, claim, (scope, GLOBAL))):
        told[note.uid] = _tombstone_row(parts, snapshot, note)
        if note.uid not in others.corrected:
            _, id_, line = told[note.uid]
            raise errors.KnownMistake(line, id_, id_)
    fallen = others.contradicts
    if fallen is not None and fallen.revoked:
        told[fallen.uid] = _tombstone_row(parts, snapshot, fallen)
    return list(told.values())


def _tombstone_row(parts: Parts, snapshot: Snapshot, note: Note) -> shown.Row:
    view = view_of(parts, snapshot, note, None)
    return shown.row(view, tombstone(view, parts.tags))


def _lowered(snapshot: Snapshot, wanted: Wanted, kin: lineage.Kin) -> list[str]:
    """A word to the writer where what it built on is weaker than what it claims."""
    sources = [n for n in (snapshot.note(uid) for uid in kin.derived_from) if n]
    weaker = [n for n in sources if Provenance(n.provenance).rank < wanted.provenance.rank]
    if not weaker:
        return []
    return [framed_no_higher(snapshot.id_of(n.uid) for n in weaker)]


def _turn_of(parts: Parts, asker: Asker) -> int:
    """The number of the user's turn in which the asker stands; 0 where there is none, or one cannot tell in which it does."""
    if not asker.turn or asker.agent == UNKNOWN_AGENT:
        return 0
    with parts.store.read() as snapshot:
        return snapshot.turn_of_prompt(asker.session, asker.turn) or 0


def _build(
    parts: Parts,
    asker: Asker,
    wanted: Wanted,
    others: Others,
    kin: lineage.Kin,
    bound: Sequence[Bound],
    key_id: bytes,
    head: bytes = b"",
) -> Built:
    salt = parts.chance(limits.SALT_BYTES)
    digest = ev.blob_digest(salt, wanted.content.encode())
    is_short = wanted.summary == wanted.content  # of one sentence: one blob is both
    summary_salt = salt if is_short else parts.chance(limits.SALT_BYTES)
    derived_from = tuple(sorted({n.uid for n in others.derived_from} | set(kin.derived_from)))
    evidence = [_named(parts, one) for one in bound]
    why_salt = parts.chance(limits.SALT_BYTES) if wanted.why else b""
    recorded = parts.event(
        "recorded",
        wanted.uid,
        ev.Recorded(
            content=digest,
            summary=ev.blob_digest(summary_salt, wanted.summary.encode()),
            kind=wanted.kind,
            priority=wanted.priority,
            provenance=wanted.provenance,
            source=wanted.source,
            scope=wanted.scope,
            under=wanted.under,
            tags=wanted.tags,
            anchors=wanted.anchors,
            mentions=wanted.mentions,
            evidence=tuple(one for one, _ in evidence),
            derived_from=derived_from,
            informed_by=kin.informed_by,
            corrects=tuple(sorted(others.corrected)),
            process=wanted.process,
            level=wanted.level,
            slug=wanted.slug,
            reason=ev.blob_digest(why_salt, wanted.why.encode()) if wanted.why else b"",
            turn=_turn_of(parts, asker),
            harness=asker.harness,
        ),
        asker=asker,
    )
    promoted = b""
    if key_id:
        act = ev.Promoted(to=Provenance.HUMAN, revision=1, content=digest)
        promoted = ev.encode_event(
            parts.event("promoted", wanted.uid, act, asker=asker, parents=(recorded.uid,), key_id=key_id, head=head)
        )
    texts = ((salt, wanted.content), *(() if is_short else ((summary_salt, wanted.summary),)))
    texts += (*(text for _, texts in evidence for text in texts), *(((why_salt, wanted.why),) if wanted.why else ()))
    return Built(
        recorded=ev.encode_event(recorded),
        texts=texts,
        digest=digest,
        salt=salt,
        promoted=promoted,
        key_id=key_id,
        derived_from=derived_from,
    )


def _named(parts: Parts, bound: Bound) -> tuple[ev.Evidence, list[tuple[bytes, str]]]:
    """The evidence of a new note, and the texts that it names: (salt, text)."""
    texts = [(parts.chance(limits.SALT_BYTES), words) for words in (bound.excerpt, bound.sentence) if words]
    excerpt, *sentence = (ev.blob_digest(salt, words.encode()) for salt, words in texts)
    return bound.evidence(excerpt, sentence[0] if sentence else b""), texts


def _write_once(parts: Parts, ready: Ready, txn: Txn) -> tuple[int, list[str], bytes]:
    """(number, what the writer is told, uid) of the new note, or of the one that says the same and stands (service/again.py)."""
    wanted, asker = ready.wanted, ready.asker
    if ready.likely is not None:
        note = again.standing(txn, (*parts.said.at(wanted), *ready.likely), wanted, ready.evidence)
        if note is not None:
            id_ = txn.id_of(note.uid) or 0
            is_other = bool(asker.session) and asker.session != note.session
            return id_, [stands_already(id_)] + [stands_for_others(id_)] * is_other, note.uid
    id_, more = _write(parts, ready, [], txn)
    parts.said.add(wanted)
    return id_, more, wanted.uid


def _write(parts: Parts, ready: Ready, signed: list[Draft], txn: Txn) -> tuple[int, list[str]]:
    """One commit: the new note, and what it does to the notes it corrects. Both or neither."""
    wanted, others, asker = ready.wanted, ready.others, ready.asker
    for salt, words in ready.built.texts:
        txn.put_text(words, salt)
    drafts: list[Draft] = [Draft(body=ready.built.recorded), *signed]
    told: list[str] = []
    ladder.refuse_taken(txn, wanted.slug)
    if others.same_as:
        recorded = ev.decode_event(ready.built.recorded).uid
        more, told = same.folded_drafts(parts, txn, wanted, recorded, others.same_as, others.echo, asker)
        drafts += more
    if others.contradicts:
        more, told = fall_drafts(parts, txn, others.contradicts.uid, wanted, asker)
        drafts += more
    if others.supersedes:
        more, said = supersede_drafts(parts, txn, others.supersedes.uid, wanted.uid, wanted.reason, asker)
        drafts, told = drafts + more, told + said
    txn.append(drafts + _flags(parts, txn, ready), at=parts.now_ms())
    if wanted.provenance is Provenance.AUTO and asker.actor is Actor.SYSTEM:
        txn.no_vector(wanted.uid)
    id_ = txn.id_of(wanted.uid)
    if id_ is None:
        raise errors.StoreDamaged(f"note {uid_text(wanted.uid)} was appended and has no number")
    return id_, told


def _flags(parts: Parts, txn: Txn, ready: Ready) -> list[Draft]:
    """The new note flagged for what fell since it was looked at: who took that back could flag no note that was not there yet."""
    recorded = ev.decode_event(ready.built.recorded).uid
    fallen = fallen_above(txn, ready.built.derived_from)
    return [
        parts.draft(
            "review_flagged", ready.wanted.uid, flag, asker=ready.asker, actor=Actor.SYSTEM, parents=(recorded,)
        )
        for cause, flag in fallen.items()
        if cause not in ready.fallen
    ]


def _as_plan(parts: Parts, plans: PlanBook, ready: Ready, place: Place, answer: api.Remembered) -> api.Remembered:
    wanted, built = ready.wanted, ready.built

    def finish(signatures: list[bytes]) -> api.Sealed:
        signed = [Draft(body=built.promoted, sig=signatures[0])]
        id_, told = parts.store.write(partial(_write, parts, ready, signed))
        _indexed(parts, id_, ready)
        told += told_of_room(parts, wanted, place)
        return api.Sealed(id=id_, uid=uid_text(wanted.uid), told=told, **_befell(parts, ready.others))

    act = SignedAct(
        body=built.promoted,
        content=wanted.content,
        salt=built.salt,
        digest=built.digest,
        revision=1,
        act="record and endorse",
        id=0,
        change=f"{wanted.provenance} -> {Provenance.HUMAN}",
        kind=wanted.kind,
        scope=wanted.scope,
        priority=wanted.priority,
    )
    plan = plans.open(parts, [act], built.key_id, finish)
    return msgspec.structs.replace(answer, plan=plan)


def _indexed(parts: Parts, id_: int, ready: Ready, words: "Told | None" = None) -> None:
    """The new note is findable at once; what was superseded or folded into another note lies in the cold index."""
    parts.search.add(id_, ready.wanted.scope, ready.wanted.content, words)
    moved = [ready.others.supersedes.uid] if ready.others.supersedes is not None else []
    moved += [ready.wanted.uid] if ready.others.same_as is not None else []
    for uid in moved:
        with parts.store.read() as snapshot:
            note, at = snapshot.note(uid), snapshot.id_of(uid)
            if note is not None and at is not None:
                parts.search.move(at, note)


def commit_note(parts: Parts, wanted: Wanted, asker: Asker, *, once: str, amended: str = "") -> int | None:
    """Records a commit's note: `auto`, not embedded until it is first recalled (hooks.md, section 4).

    ``once`` names the setting that remembers it, written in the same transaction: None where it is set already. ``amended`` names
    that of the commit in whose place this one came: its note is superseded, if it still is what memd made of it.
    """
    with parts.store.read() as snapshot:
        others = Others(supersedes=_replaced(snapshot, amended))
    built = _build(parts, asker, wanted, others, lineage.Kin(), (), b"")
    claim = Claim.of(wanted.content)
    ready = Ready(asker=asker, wanted=wanted, others=others, built=built, claim=claim, tombstones=[], told=[], given="")

    def work(txn: Txn) -> int | None:
        if txn.setting(once) is not None:
            return None
        txn.put_setting(once, wanted.uid)
        return _write(parts, ready, [], txn)[0]

    id_ = parts.store.write(work)
    if id_ is not None:
        _indexed(parts, id_, ready)
    return id_


def _replaced(snapshot: Snapshot, amended: str) -> Note | None:
    """The note of the commit that was amended, where nobody has made another thing of it."""
    uid = snapshot.setting(amended) if amended else None
    note = snapshot.note(uid) if uid else None
    if note is None or note.provenance != Provenance.AUTO or note.revoked or note.currency != Currency.CURRENT:
        return None
    return None if note.forgotten else note
