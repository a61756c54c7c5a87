"""Acts on how a note is kept and where it holds: archive, restore-note, done, reopen, amend (model.md, section 2)."""

import msgspec

from memd_client import api
from memd_daemon import errors
from memd_daemon.frames import told
from memd_daemon.model import event as ev
from memd_daemon.model.note import Note
from memd_daemon.model.proof import widens
from memd_daemon.model.words import Kind, Priority, Provenance
from memd_daemon.service.anchoring import anchors_at, written
from memd_daemon.service.case import Case
from memd_daemon.service.repos import GLOBAL
from memd_daemon.service.sheet import Sheet
from memd_daemon.service.wanted import PUSHED_UNASKED, scope_of, tags_kept, under_at, word_of


def archive(sheet: Sheet, note: Note, case: Case) -> None:
    """Out of the working set, told on request only. Raises NotArchivable."""
    id_ = sheet.id_of(note)
    for holds, what, instead in (
        (note.revoked, "revoked", "its tombstone has to come back for the question it answers wrongly"),
        (note.kind == Kind.DIRECTIVE, "a directive", "revoke it, or let a newer one supersede it"),
        (note.task == "open", "an open task", f"close it first with `memd done {id_}`"),
    ):
        if holds:
            raise errors.NotArchivable(id_, what, instead)
    if note.shelf == "archived":
        sheet.kept(told.archived_already(id_))
        return
    sheet.add("archived", note, _reasoned(sheet, note, case), change="active -> archived")


def restore(sheet: Sheet, note: Note, case: Case) -> None:
    """Back into the working set; what a person endorsed and put away, only a person brings back."""
    id_ = sheet.id_of(note)
    if note.shelf != "archived":
        sheet.kept(told.not_archived(id_))
        return
    refuse_bringing_back(sheet, note)
    sheet.add("restored", note, _reasoned(sheet, note, case), change="archived -> active")


def refuse_bringing_back(sheet: Sheet, note: Note) -> None:
    """Raises NotSigner for what a person endorsed, where nobody can sign (model/proof.py)."""
    if note.provenance == Provenance.HUMAN and not sheet.can_sign:
        raise errors.NotSigner("bring back", sheet.id_of(note))


def done(sheet: Sheet, note: Note, case: Case) -> None:
    """The task is done. Raises NotATask."""
    _turn_task(sheet, note, case, "closed")


def reopen(sheet: Sheet, note: Note, case: Case) -> None:
    """The task is open again. Raises NotATask."""
    _turn_task(sheet, note, case, "open")


def _turn_task(sheet: Sheet, note: Note, case: Case, to: str) -> None:
    id_ = sheet.id_of(note)
    if note.kind != Kind.TASK:
        raise errors.NotATask(id_, note.kind)
    if note.task == to:
        sheet.kept(told.task_already(id_, to))
        return
    if to == "open":
        refuse_bringing_back(sheet, note)
    type_ = "closed" if to == "closed" else "reopened"
    sheet.add(type_, note, _reasoned(sheet, note, case), change=f"{note.task} -> {to}")


def _reasoned(sheet: Sheet, note: Note, case: Case) -> ev.Reasoned:
    return ev.Reasoned(reason=sheet.text(note.uid, case.reason))


def amend(sheet: Sheet, note: Note, case: Case) -> None:
    """Priority, tags, anchors and scope; what is not given stays. The anchors given take the place of those it had
    (`_with_proxies`). To let a directive hold in more places is a person's, and so is a global directive or gotcha.
    """
    wanted = _amended(sheet, note, case)
    if wanted == ev.Amended():
        sheet.kept(told.so_already(sheet.id_of(note)))
        return
    by_person = _needs_person(note, wanted)
    if by_person and not sheet.can_sign:
        raise errors.NotSigner("widen the scope of", sheet.id_of(note))
    change = _told(note, wanted)
    wish = f"{change}: {case.reason}" if case.reason else change
    sheet.add("amended", note, wanted, change=change, wish=wish, by_person=by_person)


def _amended(sheet: Sheet, note: Note, case: Case) -> ev.Amended:
    """What the request changes; a field that stays as it is is not named."""
    asked: api.Act = case.request
    if not any((asked.priority, asked.tags, asked.untags, asked.anchors, asked.scope, asked.under)):
        raise errors.NothingToDo(sheet.id_of(note), "name a priority, a tag, an anchor, a scope or a folder")
    priority = word_of(Priority, "priority", asked.priority) if asked.priority else note.priority
    tags, anchors = _tags(sheet, note, asked), _anchors(sheet, note, case)
    scope = scope_of(asked.scope, case.asker, case.place) if asked.scope else note.scope
    under = _under(sheet, note, case, scope)
    return ev.Amended(
        priority=priority if priority != note.priority else "",
        tags=tags if tags != note.tags else None,
        anchors=anchors if anchors != note.anchors else None,
        scope=scope if scope != note.scope else "",
        under=under if under != note.under else None,
    )


def _tags(sheet: Sheet, note: Note, asked: api.Act) -> tuple[str, ...]:
    gone = set(tags_kept(sheet.parts, asked.untags))
    return tags_kept(sheet.parts, [*(t for t in note.tags if t not in gone), *asked.tags])


def _anchors(sheet: Sheet, note: Note, case: Case) -> tuple[ev.Anchor, ...]:
    if not case.request.anchors:
        return note.anchors
    if note.scope.startswith("repo:") and note.scope != case.place.scope:
        raise errors.AnchorElsewhere(sheet.id_of(note))
    new = anchors_at(sheet.parts, [(a, False) for a in case.request.anchors], case.request.cwd, case.place)
    sheet.told += new.told
    return _with_proxies(note.anchors, new.anchors)


def _with_proxies(before: tuple[ev.Anchor, ...], given: tuple[ev.Anchor, ...]) -> tuple[ev.Anchor, ...]:
    """What was given in place of what was there: a proxy stays one, and where there were only proxies the new files are proxies."""
    proxies = {a.path for a in before if a.proxy}
    are_all = len(proxies) == len(before) > 0
    stood = [
        msgspec.structs.replace(a, proxy=True) if a.form == "file" and (are_all or a.path in proxies) else a
        for a in given
    ]
    named = {a.path for a in stood if a.form == "file"}
    return (*stood, *(a for a in before if a.proxy and not are_all and a.path not in named))


def _under(sheet: Sheet, note: Note, case: Case, scope: str) -> str:
    """The folder; one of a repository means nothing in another scope."""
    if not case.request.under:
        return note.under if scope == note.scope else ""
    if scope != case.place.scope:
        raise errors.AnchorElsewhere(sheet.id_of(note))
    return under_at(case.request.under, case.place, case.request.cwd)


def _needs_person(note: Note, wanted: ev.Amended) -> bool:
    scope, under = wanted.scope or note.scope, note.under if wanted.under is None else wanted.under
    if (scope, under) == (note.scope, note.under):
        return False
    if note.kind == Kind.DIRECTIVE and widens(note.scope, note.under, scope, under):
        return True
    return scope == GLOBAL and note.kind in PUSHED_UNASKED


def _told(note: Note, wanted: ev.Amended) -> str:
    """What changes, in a line for a person who signs it."""
    changes = [f"priority {note.priority} -> {wanted.priority}"] if wanted.priority else []
    changes += [f"tags -> {', '.join(wanted.tags) or 'none'}"] if wanted.tags is not None else []
    changes += [f"anchors -> {', '.join(map(written, wanted.anchors)) or 'none'}"] if wanted.anchors is not None else []
    changes += [f"scope {note.scope} -> {wanted.scope}"] if wanted.scope else []
    changes += [f"under {note.under or 'all'} -> {wanted.under or 'all'}"] if wanted.under is not None else []
    return "; ".join(changes)
