"""One note in full, for `memd show` and the tool of the same name: as recall gives it, then all that is known of it.

A revoked note stays behind its tombstone here too; every reason stands below it, whole, and nothing about its ground. A curated
note's other wordings each stand behind the frame of their own class. Below an absorbed note stands the one that took it in.
"""

from collections.abc import Sequence

from memd_daemon.frames import words
from memd_daemon.frames.escape import escape_content, escape_line
from memd_daemon.frames.recall import recalled
from memd_daemon.frames.words import date
from memd_daemon.model.ids import uid_text
from memd_daemon.model.note import Note
from memd_daemon.model.view import EvidenceView, FullView, GroundStatus, NoteView, ReasonView, RevisionView
from memd_daemon.model.words import Actor, Surface


def shown(full: FullView, now_ms: int, tags: Sequence[str]) -> str:
    """The long form, without a line end. ``now_ms`` in Unix milliseconds."""
    view = full.view
    lines = [recalled(view, now_ms, tags, whole=True), f"  uid: {uid_text(view.note.uid)}", _recorded(view.note, tags)]
    lines.append(f"  state: {', '.join(state(view.note))}")
    lines += ["  held from push: it came in a burst that nobody has looked at yet"] if view.quarantined else []
    lines += [_anchor(g, tags) for g in view.ground if not view.revoked]
    lines += [line for e in full.evidence for line in _evidence(e, tags)]
    lines += [_reason(r, tags) for r in full.reasons]
    lines += [_revision(view, r, tags) for r in full.revisions]
    lines += _links(full)
    lines += [recalled(full.holder, now_ms, tags)] if full.holder is not None else []
    return "\n".join(lines)


def _recorded(note: Note, tags: Sequence[str]) -> str:
    rung = " ".join(escape_line(name, tags, stops=",") for name in (note.level, note.slug) if name)
    facts = _whence(note, tags)
    facts += [f"in {escape_line(note.harness, tags, stops=',')}"] if note.harness else []
    facts += [f"session {escape_line(note.session, tags, stops=',')}"] if note.session else []
    facts += [f"turn {note.turn}"] if note.turn else []
    facts += [rung] if rung else []
    return ", ".join(facts)


def _whence(note: Note, tags: Sequence[str]) -> list[str]:
    """When, by whom and through which door; what came from the command line outside a session was anybody's, no agent's."""
    at = f"  recorded: {date(note.created_at)}"
    if (note.actor, note.surface, note.session) == (Actor.AGENT, Surface.CLI, ""):
        return [f"{at} at the {words.COMMAND_LINE}", words.NO_SESSION]
    facts = [f"{at} by {escape_line(note.actor, tags, stops=',')}"]
    return [*facts, f"through {escape_line(note.surface, tags, stops=',')}"] if note.surface else facts


def state(note: Note) -> list[str]:
    """The axes of the fold as they stand, then what has happened to the wording."""
    facts = [note.belief, note.currency, note.shelf, *([note.task] if note.task else [])]
    facts.append(f"revision {note.revision}, class {note.provenance}")
    if note.last_confirmed_at:
        facts.append(f"last confirmed {date(note.last_confirmed_at)}")
    if note.valid_until:
        facts.append(f"valid until {date(note.valid_until)}")
    return facts


def _anchor(g: GroundStatus, tags: Sequence[str]) -> str:
    state = "not looked at" if g.unknown else escape_line(g.signal, tags) or words.STATUS_MATCHES
    what = "mentions" if g.mention else "anchor (proxy)" if g.proxy else "anchor"
    return f"  {what}: {words.target(g, tags)}: {state}{words.aside(g, tags)}"


def _evidence(e: EvidenceView, tags: Sequence[str]) -> list[str]:
    """``evidence: turn 4417 (typed, 2026-03-04): …`` and, where that is a part of what was said, the sentence that it is part of.

    Of a turn that is not kept here the words are the event's, and so is what it says of them.
    """
    attestation = escape_line(e.attestation, tags)
    when = f"{attestation}, {date(e.at)}" if e.at else f"not kept here, recorded as {attestation}"
    when = when if e.holds else "which has no such words"
    lines = [f"  evidence: turn {e.turn} ({when}): {escape_content(e.excerpt, tags)}"]
    if e.sentence:
        lines.append(f"  evidence: turn {e.turn} said: {escape_content(e.sentence, tags)}")
    return lines


def _reason(r: ReasonView, tags: Sequence[str]) -> str:
    actor = words.COMMAND_LINE if r.at_command_line else escape_line(r.actor, tags)
    who = f"{actor}{', signed' if r.signed else ''}"
    who += f", in one commit with what the user signed on [{r.by}]" if r.with_signed else ""
    by = f" by [{r.by}]" if r.by else ""
    return (
        f"  {escape_line(r.what, tags)} {date(r.at)}{by} ({who}): {escape_content(r.reason or words.NO_REASON, tags)}"
    )


def proposed(act: str, times: int) -> str:
    """What a proposal is called in the line of its reason, which is that of the first time."""
    return f"proposed to {act}" if times == 1 else f"proposed {times} times to {act}, first"


def _revision(view: NoteView, r: RevisionView, tags: Sequence[str]) -> str:
    """``revision 2 (2026-03-04, agent, the one told), why: …``, with the words of one that is not."""
    standing = "the one told" if r.told else "not endorsed, waits for the user" if r.waits else "an earlier one"
    why = escape_content(r.reason or words.NO_REASON, tags)
    line = f"  revision {r.number} ({date(r.at)}, {escape_line(r.provenance, tags)}, {standing}), why: {why}"
    if not r.content:
        return line
    return f"{line}\n  revision {r.number} said: {words.wording_frame(view, r.provenance)}{escape_content(r.content, tags)}"


def _links(full: FullView) -> list[str]:
    view: NoteView = full.view
    links = (
        ("derived from", view.derived_from),
        ("informed by", full.informed_by),
        ("corrects", view.corrects),
        ("corrected by", (view.replaced_by,) if view.replaced_by else ()),
        ("has absorbed", full.absorbed),
        ("demoted with", full.demoted_with),
    )
    lines = [f"  {name}: {words.note_ids(ids)}" for name, ids in links if ids]
    if full.corroborated_by:
        seen = f" (seen in {full.sessions} sessions)" if full.sessions > 1 else ""
        lines.append(f"  corroborated by: {words.note_ids(full.corroborated_by)}{seen}")
    return lines
