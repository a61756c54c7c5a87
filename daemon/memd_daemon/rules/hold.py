"""Whether a gotcha holds its edit back once (delivery.md, "Before the edit, truly before")."""

from memd_daemon.model.words import Kind, Priority, Provenance
from memd_daemon.rules.situation import Candidate, Situation
from memd_hooks.events import Moment

PLAN_MODE = "plan"


def may_hold(now: Situation) -> bool:
    """Whether this edit can be held at all: one hold a turn, and never in plan mode."""
    return now.trigger == Moment.PRE_EDIT and now.permission_mode != PLAN_MODE and not now.held_this_turn


def holds(now: Situation, one: Candidate) -> bool:
    """Whether this note is worth it: `high`, not revoked, not auto, in no rendering delivered to this context before, nothing held
    for it there, and the setting is on for it."""
    view, note = one.view, one.view.note
    new_here = note.uid not in now.standing and note.uid not in now.sent_this_turn and note.uid not in now.held_for
    worth = note.kind == Kind.GOTCHA and note.priority == Priority.HIGH
    may = may_hold(now) and now.terms(one).hold_enabled
    return may and worth and new_here and not view.revoked and view.frame_class != Provenance.AUTO
