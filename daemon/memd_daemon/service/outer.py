"""Files of a repository that lies in others: what those know of them.

A note may have been anchored from the outer repository, above all before anybody worked in the inner one by itself: a submodule
that was only ever looked at from outside is no repository that memd knows. Its anchor is a path of the outer one.
"""

from collections.abc import Sequence

from memd_daemon.model.settings import Settings
from memd_daemon.rules import Candidate
from memd_daemon.service.candidates import on_paths
from memd_daemon.service.names import is_safe
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Files, Place, enclosing
from memd_daemon.service.terms import silence_at
from memd_daemon.store.port import Snapshot


def around(parts: Parts, at: Place, paths: tuple[str, ...]) -> tuple[Files, ...]:
    """The same files in the known repositories that their checkout lies in, nearest first."""
    if not paths:
        return ()
    found: dict[str, Files] = {}
    for outer in enclosing(parts, at):
        if outer.scope != at.scope:
            kept = tuple(path for one in paths if is_safe(path := f"{outer.inside}/{one}"))
            found.setdefault(outer.scope, Files(at=outer, paths=kept))
    return tuple(found.values())


def brought(
    parts: Parts, snapshot: Snapshot, settings: Settings, files: Sequence[Files], sessions: Sequence[str]
) -> list[Candidate]:
    """The gotchas that those repositories have about the files, save for one that memd is kept out of."""
    found: list[Candidate] = []
    for one in files:
        silent = silence_at(settings, parts.now_ms(), one.at)
        own = (
            gotcha
            for gotcha in on_paths(parts, snapshot, one.at, sessions, one.paths, moved={})
            if gotcha.view.note.scope == one.at.scope
        )
        found += [gotcha for gotcha in own if not silent.everything and (gotcha.endorsed or not silent.rest)]
    return found
