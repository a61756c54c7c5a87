"""A note that was looked at and holds: what finds its anchors again, taken anew (staleness.md, `confirm`)."""

import os

import msgspec

from memd_daemon import errors
from memd_daemon.frames import told
from memd_daemon.frames.words import aside, target
from memd_daemon.ground.contents import Unreadable
from memd_daemon.ground.judged import is_absence, judged, taken
from memd_daemon.ground.repository import head_of
from memd_daemon.ground.source import Source
from memd_daemon.ground.spelling import located
from memd_daemon.model import event as ev
from memd_daemon.model.note import Note
from memd_daemon.model.view import GroundStatus
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Place
from memd_daemon.service.views import stands_in


class Retaken(msgspec.Struct, frozen=True):
    """A note's anchors and mentions as they stand now, and what is told of those that were left."""

    anchors: tuple[ev.Anchor, ...] = ()
    mentions: tuple[ev.Anchor, ...] = ()
    told: tuple[str, ...] = ()


def retaken(parts: Parts, note: Note, place: Place) -> Retaken:
    """The note's anchors with what finds them again as they stand where the asker is; none from another repository.

    A symbol or file that is gone and a claim that does not hold are left as they were, and told.
    """
    if not stands_in(note, place):
        return Retaken()
    again = _Again(parts, place)
    anchors = tuple(again.anchor(one) for one in note.anchors)
    return Retaken(anchors, tuple(again.mention(one) for one in note.mentions), tuple(dict.fromkeys(again.told)))


class _Again:
    def __init__(self, parts: Parts, place: Place) -> None:
        self.told: list[str] = []
        self._parts, self._place = parts, place
        self._commit = head_of(place.checkout)

    def anchor(self, old: ev.Anchor) -> ev.Anchor:
        new = self._broken(old) if old.form == "claim" else self._taken(old)
        if new is None:
            self.told.append(told.hash_left(target(old, self._parts.tags)))
            return old
        return new

    def mention(self, old: ev.Anchor) -> ev.Anchor:
        return self._of_file(old) or old

    def _now(self, anchor: ev.Anchor) -> ev.Anchor:
        return msgspec.structs.replace(anchor, checkout_branch=self._place.checkout.branch, commit=self._commit)

    def _of_file(self, old: ev.Anchor) -> ev.Anchor | None:
        digest = self._parts.ground.digest(self._place.checkout.root, old.path)
        return self._now(msgspec.structs.replace(old, digest=digest)) if digest else None

    def _source(self, old: ev.Anchor) -> Source | None:
        try:
            return self._parts.ground.source(self._place.checkout.root, old.path)
        except Unreadable:
            return None

    def _taken(self, old: ev.Anchor) -> ev.Anchor | None:
        if old.form == "file":
            return self._of_file(old)
        source = self._source(old)
        try:
            block = source.block(old) if source else None
        except errors.NoGrammar:
            return None
        return self._now(taken(old, source, block)) if source and block else None

    def _broken(self, old: ev.Anchor) -> ev.Anchor | None:
        """A claim has nothing that could be taken anew: it holds, or it is told that it does not."""
        if is_absence(old):
            holds, now = not os.path.lexists(located(self._place.checkout.root, old.path)), "exists"
        else:
            source = self._source(old)
            if source is None:
                return None
            answer = judged(old, source)
            holds, now = not answer.signal, answer.detail
        if not holds:
            said = aside(GroundStatus(path=old.path, signal="claim_broken", detail=now), self._parts.tags)
            self.told.append(told.broken_left(target(old, self._parts.tags), said))
            return old
        return self._now(old)
