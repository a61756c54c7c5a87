"""Lines of memd's own at the top of a context's start bundle: what bears on this session and no person signed, and new keys
(trust-boundary.md, "Policy and settings" and "Proof of a person").

They say what memd knows and no more: a change is "not signed by the user", which a person may have made all the same; a command is
of an AI session where memd joined it to one, else memd knows of none. Equal facts give equal lines: days, no clock.
"""

from collections.abc import Sequence
from typing import Final

from memd_daemon.frames.escape import escape_line
from memd_daemon.frames.words import date
from memd_daemon.model.settings import Change

IN_SESSION: Final = "a command in an AI session"
UNJOINED: Final = "a command of no known AI session"

STILL_TOLD: Final = (
    "What the user endorsed is told as before; nothing else is told unasked, and prompts and commits are not kept."
)

STOPPED: Final = "memd: stopped {span} by {who}, not signed by the user: nothing was told in that time."
PAUSED: Final = "memd: paused since {date} by {who}, not signed by the user. {still} Ask the user if this was meant."
PAUSE_OVER: Final = (
    "memd: paused {span} by {who}, not signed by the user: prompts and commits of that time were not kept."
)
IGNORED: Final = (
    "memd: kept out of this repository by the list `{key}`, set on {date} by {who}, not signed by the user. "
    "{still} Ask the user if this was meant."
)
IGNORED_OVER: Final = (
    "memd: kept out of this repository {span} by the list `{key}`, set by {who}, not signed by the user: "
    "prompts and commits of that time were not kept."
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


def span(times: Sequence[tuple[int, int]]) -> str:
    """When something was so: ``on 2026-03-04``, ``from 2026-03-04 to 2026-03-06``, ``2 times on 2026-03-04``.

    ``times``: when it began and when it ended, each in Unix milliseconds; oldest first, at least one.
    """
    first, last = date(times[0][0]), date(times[-1][1])
    count = f"{len(times)} times " if len(times) > 1 else ""
    if first == last:
        return f"{count}on {first}"
    return f"{count}between {first} and {last}" if count else f"from {first} to {last}"


def stopped(times: Sequence[tuple[int, int]], by: str) -> str:
    """Deliberate stops, once memd runs again. ``times``: as `span` takes them; ``by``: as `who` says it."""
    return STOPPED.format(span=span(times), who=by)


def paused(change: Change) -> str:
    """A pause that stands. ``change``: what began it."""
    return PAUSED.format(date=date(change.at), who=who(change.session), still=STILL_TOLD)


def pause_over(times: Sequence[tuple[int, int]], by: str) -> str:
    """Pauses that are over. ``times``: as `span` takes them."""
    return PAUSE_OVER.format(span=span(times), who=by)


def ignored(change: Change) -> str:
    """The list that keeps memd out of where this session works."""
    return IGNORED.format(key=change.key, date=date(change.at), who=who(change.session), still=STILL_TOLD)


def ignored_over(key: str, times: Sequence[tuple[int, int]], by: str) -> str:
    """A list that kept memd out of where this session works, and does no more."""
    return IGNORED_OVER.format(key=key, span=span(times), who=by)


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
