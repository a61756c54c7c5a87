"""Lines of memd's own at the top of a context's start bundle: what bears on this session and no person signed, and new keys
(trust-boundary.md, "Policy and settings" and "Proof of a person").

They say what memd knows and no more: a change is "not signed by the user", which a person may have made all the same; a command is
of an AI session where memd joined it to one, else memd says that it could not. Equal facts give equal lines: days, no clock.
"""

from collections.abc import Sequence
from typing import Final

from memd_daemon.frames.escape import escape_line
from memd_daemon.frames.words import date
from memd_daemon.model.settings import Change

IN_SESSION: Final = "a command in an AI session"
UNJOINED: Final = "a command that memd could not join to an AI session"

STILL_TOLD: Final = (
    "What the user endorsed is told as before; nothing else is told unasked, and prompts and commits are not kept."
)

STOPPED: Final = (
    "memd: memd was stopped on {date} by {who}, not signed by the user, and was started again on {started}: "
    "in between nothing was told."
)
PAUSED: Final = (
    "memd: memd has been paused since {date} by {who}, not signed by the user. {still} Ask the user if this was meant."
)
PAUSE_OVER: Final = (
    "memd: memd was paused from {date} to {ended} by {who}, not signed by the user: "
    "prompts and commits of that time were not kept."
)
IGNORED: Final = (
    "memd: memd is kept out of this repository by the list `{key}`, set on {date} by {who}, not signed by the user. "
    "{still} Ask the user if this was meant."
)
LIST_CHANGED: Final = "memd: the list `{key}` of repositories was changed on {date} by {who}, not signed by the user."
CHANGED: Final = (
    "memd: settings that the user did not sign: {changes}. "
    "What the user endorsed is told as if they had not been changed."
)
ENROLLED: Final = (
    "memd: a key that endorses for the user was enrolled on {date}, at {terminal}: fingerprint {fingerprint}. "
    "If the user does not know it, `memd human reject` takes it back with the recovery code."
)
REJECTED: Final = "memd: a key that was enrolled on {date} (fingerprint {fingerprint}) has been rejected since."
MORE_ENROLLED: Final = "memd: {n} more keys were enrolled in these days: `memd human show` has them all."
MORE: Final = (
    "memd: {n} more of these did not fit: `memd status`, `memd config log` and `memd policy list` tell of them."
)
NO_TERMINAL: Final = "a terminal that is not known"


def who(session: str) -> str:
    """Who gave a command, as far as memd can tell."""
    return IN_SESSION if session else UNJOINED


def stopped(at_ms: int, by: str, started_ms: int) -> str:
    """A deliberate stop, once memd runs again. ``by``: as `who` says it."""
    return STOPPED.format(date=date(at_ms), who=by, started=date(started_ms))


def paused(change: Change) -> str:
    """A pause that stands."""
    return PAUSED.format(date=date(change.at), who=who(change.session), still=STILL_TOLD)


def pause_over(change: Change, ended_ms: int) -> str:
    return PAUSE_OVER.format(date=date(change.at), ended=date(ended_ms), who=who(change.session))


def ignored(change: Change) -> str:
    """The list that keeps memd out of where this session works."""
    return IGNORED.format(key=change.key, date=date(change.at), who=who(change.session), still=STILL_TOLD)


def list_changed(change: Change) -> str:
    """A list that was changed, and does not keep memd out of here."""
    return LIST_CHANGED.format(key=change.key, date=date(change.at), who=who(change.session))


def changed(changes: Sequence[Change]) -> str:
    """The other settings."""
    return CHANGED.format(
        changes=", ".join(f"{c.key} = {c.text} since {date(c.at)}, by {who(c.session)}" for c in changes)
    )


def enrolled(at_ms: int, terminal: str, fingerprint: str, tags: Sequence[str]) -> str:
    shown = escape_line(terminal, tags)
    where = f'"{shown}"' if shown else NO_TERMINAL
    return ENROLLED.format(date=date(at_ms), terminal=where, fingerprint=fingerprint)


def rejected(at_ms: int, fingerprint: str) -> str:
    return REJECTED.format(date=date(at_ms), fingerprint=fingerprint)


def more_enrolled(count: int) -> str:
    return MORE_ENROLLED.format(n=count)


def more(count: int) -> str:
    """What stands for the lines that find no room."""
    return MORE.format(n=count)
