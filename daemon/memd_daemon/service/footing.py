"""Where an event happens: the place of its directory, and the files that it names (repos.py, outer.py).

A session works at the same few files. What was found for an event is taken again for the next one that says the same, as long as
all that was looked at on the disk for it is as it was (ground/looks_again.py). That is learned behind the answer, by finding it
all once more between two looks, and only where it is simple: what spans checkouts, follows links or folds case is found anew each
time.
"""

from functools import partial
from typing import NamedTuple

from memd_daemon import limits
from memd_daemon.ground.contents import bounded
from memd_daemon.ground.looks_again import Looks, looks_at
from memd_daemon.service.outer import around
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Files, Place, files_at, place_where
from memd_hooks.events import HookEvent


class Footing(NamedTuple):
    """Where an event happens. ``at``: the checkout that its files lie in, ``paths`` from its root; ``around``: the same files in
    the repositories that this one lies in."""

    place: Place
    at: Place
    paths: tuple[str, ...]
    around: tuple[Files, ...]


class Footings:
    """Those that are known, by what events say. Safe to use from any thread."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[str, ...]], tuple[Looks, Footing] | None] = {}

    def of(self, parts: Parts, event: HookEvent, scope: str) -> Footing:
        """That of an event. ``scope``: the repository that its session was in; "" where none is known."""
        said = (event.cwd, event.paths)
        known = self._known.get(said)
        if known is not None and _stands(parts, *known):
            return known[1]
        found = _found(parts, event.cwd, event.paths, scope)
        if said not in self._known or known is not None:
            parts.behind.add(partial(self._learn, parts, *said, scope, found))
        return found

    def _learn(self, parts: Parts, cwd: str, given: tuple[str, ...], scope: str, told: Footing) -> None:
        looks = looks_at(told.place.checkout, cwd, given)
        known = None
        if looks is not None:  # else the directory may be gone, and is nothing to be found anew
            found = _found(parts, cwd, given, scope)
            if found != told:
                return  # it has changed meanwhile: the next event is learned
            if found.at is found.place and not found.around and _stands(parts, looks, found):
                known = looks, found
        bounded(self._known, limits.FOOTINGS_KNOWN_MAX)[cwd, given] = known


def _found(parts: Parts, cwd: str, given: tuple[str, ...], scope: str) -> Footing:
    place = place_where(parts, cwd, scope)
    at, paths = files_at(parts, place, cwd, given)
    return Footing(place, at, paths, around(parts, at, paths))


def _stands(parts: Parts, looks: Looks, footing: Footing) -> bool:
    """Whether the directory is of the very checkout that it was of, and all else that was looked at is as it was."""
    place = footing.place
    if parts.places.get(looks.directory) is not place:
        return False
    if parts.checkouts.known_at(looks.directory) is not place.checkout:
        return False
    return looks.stand()
