"""Acts on a note that stands: which there are, and how one is carried out (model.md, section 2).

What each act asks and does is in acts_belief.py, acts_currency.py and acts_shelf.py; what becomes of it on a note that a person
endorsed, in sheet.py. Preconditions are checked inside the write transaction; an act that is to be signed is planned first, and
built anew when its signatures come.
"""

from collections.abc import Callable
from typing import Final

from memd_client import api
from memd_daemon import errors
from memd_daemon.frames.told import has_its_place
from memd_daemon.model.ids import uid_text
from memd_daemon.model.note import Note
from memd_daemon.service import acts_belief, acts_currency, acts_shelf, quarantine, shown
from memd_daemon.service.asker import asker_of
from memd_daemon.service.case import Case
from memd_daemon.service.fall import fresh
from memd_daemon.service.parts import Parts
from memd_daemon.service.people import PlanBook, key_in_use
from memd_daemon.service.refs import holder_of, note_at
from memd_daemon.service.repos import place_of
from memd_daemon.service.sheet import Planned, Sheet
from memd_daemon.service.text import quoted
from memd_daemon.service.wanted import checked_reason
from memd_daemon.store.port import Snapshot, Txn

Build = Callable[[Sheet, Note, Case], None]

ACTS: Final[dict[str, Build]] = {
    "promote": acts_belief.promote,
    "revoke": acts_belief.revoke_,
    "reinstate": acts_belief.reinstate,
    "confirm": acts_belief.confirm,
    "review": acts_belief.review,
    "link_evidence": acts_belief.link_evidence,
    "resolve": acts_belief.resolve,
    "supersede": acts_currency.supersede_,
    "unsupersede": acts_currency.unsupersede,
    "absorb": acts_currency.absorb_,
    "release": acts_currency.release,
    "revise": acts_currency.revise,
    "archive": acts_shelf.archive,
    "restore-note": acts_shelf.restore,
    "amend": acts_shelf.amend,
    "done": acts_shelf.done,
    "reopen": acts_shelf.reopen,
}
"""Every act, by its word on the wire."""


def act(parts: Parts, plans: PlanBook, request: api.Act) -> api.Acted:
    """Carries out one act. Raises NoSuchNote, Forgotten and the act's own refusals; then nothing is recorded."""
    if request.act not in ACTS:
        raise errors.UnknownWord("act", quoted(request.act), ", ".join(ACTS))
    case = Case(
        request=request,
        asker=asker_of(parts.ledger, request.env, request.surface),
        place=place_of(parts, request.cwd),
        reason=checked_reason(parts, request.reason),
    )
    try:
        return _carried_out(parts, plans, case)
    except errors.KnownMistake as refusal:
        shown.refused_with(parts, case.asker, request.act, case.place, refusal)
        raise


def _carried_out(parts: Parts, plans: PlanBook, case: Case) -> api.Acted:
    request = case.request
    with parts.store.read() as snapshot:
        note = note_at(snapshot, request.ref)
        told = _absorbed(snapshot, note, case)
        if request.sign:
            sheet = _built(parts, snapshot, note, case)
            if sheet.plan().signed:
                return _planned(parts, plans, snapshot, note, case, sheet, told)

    def work(txn: Txn) -> Sheet:
        sheet = _built(parts, txn, note, case)
        sheet.commit(txn)
        return sheet

    sheet = parts.store.write(work)
    quarantine.looked(parts, case.asker, [note.uid], request.act)
    id_ = _reindexed(parts, note, sheet)
    return api.Acted(id=id_, uid=uid_text(note.uid), effect=sheet.effect, told=told + sheet.told)


def _built(parts: Parts, log: Snapshot, note: Note, case: Case, planned: Planned | None = None) -> Sheet:
    sheet = Sheet(parts, log, case.asker, can_sign=case.request.sign, planned=planned)
    ACTS[case.request.act](sheet, fresh(log, note.uid), case)
    return sheet


def _absorbed(snapshot: Snapshot, note: Note, case: Case) -> list[str]:
    """A word to who acts on a note that stands for itself no more."""
    holder = holder_of(snapshot, note)
    if holder.uid == note.uid or case.request.act == "release":
        return []
    return [has_its_place(snapshot.id_of(note.uid), snapshot.id_of(holder.uid))]


def _planned(
    parts: Parts, plans: PlanBook, snapshot: Snapshot, note: Note, case: Case, sheet: Sheet, told: list[str]
) -> api.Acted:
    """The plan of an act that a person signs. Nothing is recorded by asking for it."""
    planned, id_ = sheet.plan(), sheet.id_of(note)

    def finish(signatures: list[bytes]) -> api.Sealed:
        by_event = {s.event.uid: sig for s, sig in zip(planned.signed, signatures, strict=True)}

        def work(txn: Txn) -> Sheet:
            again = _built(parts, txn, note, case, planned)
            again.commit(txn, by_event)
            return again

        again = parts.store.write(work)
        quarantine.looked(parts, case.asker, [note.uid], case.request.act)
        _reindexed(parts, note, again)
        return api.Sealed(id=id_, uid=uid_text(note.uid), told=again.told)

    plan = plans.open(parts, sheet.to_sign(case.request.act), key_in_use(parts, snapshot), finish)
    return api.Acted(id=id_, uid=uid_text(note.uid), effect="planned", told=told, plan=plan)


def _reindexed(parts: Parts, note: Note, sheet: Sheet) -> int:
    """The indexes follow where the notes of the act now belong; the id of ``note``."""
    seen = {step.note.uid: step.note for step in sheet.steps}
    with parts.store.read() as snapshot:
        for uid, before in seen.items():
            id_ = snapshot.id_of(uid)
            if id_ is not None:
                parts.search.move(id_, before)
        return snapshot.id_of(note.uid) or 0
