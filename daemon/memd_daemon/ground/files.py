"""What can be said of a note's anchors in the checkout that asks (staleness.md, "Signals").

A file anchor is compared by its file's digest (contents.py). A symbol, a stretch of lines or a claim is looked for in the content
of its file (judged.py), and what was found stays with that content: nothing is taken apart twice. The files that a content names by
path (`Note.mentions`) are compared like file anchors; one that is gone says nothing, nor does one that an anchor of the note names.

**Precision.** That a file has changed is not told where a block or claim anchor of the same note in that file stands as it was. A
proxy is apart from this: it stands for the whole file, whatever the note's content is about.

**Gone files** are asked for in the repository's history (renames.py). Where one was renamed, its blocks and claims are looked for
at its new path: what has changed there is told rather than that it was renamed, since it says more, and where to is told with it.

**Known.** What was said of a note's anchors in a checkout is said again while each of their files is there and holds the very
content that it held. Where one was gone, or written to between two looks, and where something could not be looked at, all is found
anew.

What cannot be looked at (no permission, no repository any more, no grammar, too large to be taken apart, no time) is `unknown`, and
told as such, never as a change that was seen.
"""

import contextlib
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from memd_daemon import limits
from memd_daemon.ground.bare import is_bare
from memd_daemon.ground.contents import RACY_NS, Answer, Content, Contents, Read, Unreadable, bounded
from memd_daemon.ground.deadline import OutOfTime, in_time
from memd_daemon.ground.judged import is_absence, is_parsed, judged
from memd_daemon.ground.renames import Renames
from memd_daemon.ground.source import Source
from memd_daemon.ground.spelling import located
from memd_daemon.model.event import Anchor
from memd_daemon.model.view import GroundStatus

_STANDS = Answer()
_UNKNOWN = Answer(unknown=True)


class Glance:
    """What one answer has looked at: each file once, however many of its notes are about it. For one thread."""

    def __init__(self) -> None:
        self.reads: dict[str, Read | None] = {}
        self.changed: set[str] = set()  # files that were written to, or came back, between two looks
        self._sources: dict[str, tuple[Content, Source]] = {}
        self._held_bytes = 0

    def source(self, path: str, name: str, read: Read) -> Source:
        """The content taken apart; ``name`` is the path that says its language. Raises Unreadable for one that is too large."""
        known = self._sources.get(path)
        if known is not None and known[0] is read.content:
            return known[1]
        if read.text is None:
            raise Unreadable
        made = Source(name, read.text)
        self._held_bytes += len(read.text)
        if self._held_bytes <= limits.GROUND_HELD_MAX_BYTES:
            self._sources[path] = read.content, made
        return made

    def read_again(self, path: str, read: Read) -> None:
        """A file was looked at a second time: what was said of it before may be of another content."""
        before = self.reads.get(path)
        if before is None or before.content is not read.content:
            self.changed.add(path)
        self.reads[path] = read

    def holds(self, path: str, content: Content) -> bool:
        """Whether the content was taken apart already."""
        known = self._sources.get(path)
        return known is not None and known[0] is content


class _Asking(msgspec.Struct, frozen=True):
    """Where the anchors are looked at, by when, and by which answer."""

    root: Path
    branch: str
    until_ns: int | None
    glance: Glance


_About = tuple[str, tuple[Anchor, ...], tuple[Anchor, ...]]
"""A checkout's root, a note's anchors, and the files that it mentions."""

_Held = tuple[tuple[str, Content], ...]
"""Files, named as their anchors name them, and what they held."""


class FileGround:
    """Looks at anchors. Safe to call from any thread."""

    def __init__(self, renames: Renames | None = None) -> None:
        self._contents = Contents()
        self._known: dict[_About, tuple[_Held, tuple[GroundStatus, ...]]] = {}
        self._renames = renames or Renames()

    def digest(
        self,
        root: str,
        path: str,
        deadline_ns: int | None = None,
        sizes: range | None = None,
        glance: Glance | None = None,
    ) -> bytes | None:
        """The digest of a regular file by its path from ``root``, or None where there is none that can be read, or none of these
        ``sizes`` (bytes).

        ``glance``: that of the answer, which has looked at the file then. Raises OutOfTime where the deadline (monotonic ns)
        passes before that.
        """
        with contextlib.suppress(Unreadable):
            file = located(root, path)
            read = self._contents.at(file, deadline_ns, root, sizes)
            if read is None:
                return None
            if glance is not None:
                glance.reads[file] = read
            return read.content.digest
        return None

    def source(self, root: str, path: str) -> Source | None:
        """A file's content taken apart, by its path from ``root``; None where no regular file is there.

        Raises Unreadable where it cannot be read, or is too large.
        """
        read = self._contents.read(located(root, path), None, root)
        return Glance().source(path, path, read) if read else None

    def seen_at(self, digest: bytes) -> tuple[str, ...]:
        """Where files of this content were seen, the latest last."""
        return self._contents.seen_at(digest)

    def learn(self, root: Path, branch: str, anchors: Iterable[Anchor], mentions: Iterable[Anchor] = ()) -> None:
        """Looks at anchors for which there was no time, so that the next look at them finds all known.

        Takes as long as it takes, and up to RACY_MTIME_MS for a file that was written just now: before that nothing is known of it.
        """
        anchors, mentions = tuple(anchors), tuple(mentions)
        for path in dict.fromkeys(located(str(root), anchor.path) for anchor in (*anchors, *mentions)):
            with contextlib.suppress(OSError):
                written_ns = os.stat(path).st_mtime_ns
                early_ns = min(written_ns + RACY_NS - time.time_ns(), RACY_NS)
                time.sleep(max(0, early_ns // limits.NS_PER_MS + 1) / limits.MS_PER_S)
        self.statuses(root, branch, anchors, mentions=mentions)

    def statuses(
        self,
        root: Path | None,
        branch: str,
        anchors: Sequence[Anchor],
        deadline_ns: int | None = None,
        *,
        mentions: Sequence[Anchor] = (),
        glance: Glance | None = None,
    ) -> tuple[GroundStatus, ...]:
        """What is known of each anchor in the checkout at ``root``, then of mentioned files that have changed.

        Past the deadline (monotonic ns) `unknown`, save for what is known. ``glance``: that of the answer for which others were
        looked at already.
        """
        if root is None:
            return ()
        asking = _Asking(root, branch, deadline_ns, glance or Glance())
        about = (str(root), tuple(anchors), tuple(mentions))
        known = self._known.get(about)
        if known is not None and self._hold_still(asking, known[0]):
            return known[1]
        found = _precise([self._status(asking, anchor) for anchor in anchors])
        named = {anchor.path for anchor in anchors}
        seen = (self._mention(asking, one) for one in mentions if one.path not in named)
        statuses = (*found, *(status for status in seen if status.drifted))
        self._keep(asking, about, statuses)
        return statuses

    def _hold_still(self, asking: _Asking, held: _Held) -> bool:
        """Whether these files hold what they held."""
        root = str(asking.root)
        try:
            reads = ((self._at(asking, located(root, path)), content) for path, content in held)
            return all(read is not None and read.content is content for read, content in reads)
        except (OutOfTime, Unreadable):
            return False

    def _keep(self, asking: _Asking, about: _About, statuses: tuple[GroundStatus, ...]) -> None:
        """Where all was seen, and follows from what the files hold: a file that is not there may have gone anywhere."""
        anchors = (*about[1], *about[2])
        if any(is_absence(anchor) for anchor in anchors) or any(status.unknown for status in statuses):
            return
        held: dict[str, Content] = {}
        for path in dict.fromkeys(anchor.path for anchor in anchors):
            at = located(about[0], path)
            read = asking.glance.reads.get(at)
            if read is None or at in asking.glance.changed:
                return
            held[path] = read.content
        bounded(self._known, limits.GROUND_STATUSES_KNOWN_MAX)[about] = (tuple(held.items()), statuses)

    def _status(self, asking: _Asking, anchor: Anchor) -> GroundStatus:
        try:
            in_time(asking.until_ns)
            answer = self._answer(asking, anchor)
        except (OutOfTime, Unreadable):
            answer = _UNKNOWN
        return GroundStatus(
            form=anchor.form, path=anchor.path, part=anchor.part, proxy=anchor.proxy, **answer._asdict()
        )

    def _mention(self, asking: _Asking, anchor: Anchor) -> GroundStatus:
        """Of a file that the content names: whether it has changed. Nothing where it is gone, since that says nothing of it."""
        signal, unknown = "", False
        try:
            in_time(asking.until_ns)
            read = self._at(asking, _path(asking.root, anchor.path))
            signal = "mtime_newer" if read is not None and read.content.digest != anchor.digest else ""
        except OutOfTime:
            unknown = True
        except Unreadable:
            pass
        return GroundStatus(path=anchor.path, signal=signal, unknown=unknown, mention=True)

    def _answer(self, asking: _Asking, anchor: Anchor) -> Answer:
        path = _path(asking.root, anchor.path)
        if is_absence(anchor):
            return Answer("claim_broken", "exists") if _is_there(path) else _STANDS
        read = self._at(asking, path)
        if read is not None:
            return self._compared(asking, anchor, path, read)
        gone = self._gone(asking, anchor)
        back = None if gone.to or gone.detail else self._contents.at(path, asking.until_ns, str(asking.root))
        if back is None:
            return gone
        asking.glance.read_again(path, back)  # it was being replaced: by git, or by an editor that saves so
        return self._compared(asking, anchor, path, back)

    def _at(self, asking: _Asking, path: str) -> Read | None:
        reads = asking.glance.reads
        if path not in reads:
            reads[path] = self._contents.at(path, asking.until_ns, str(asking.root))
        return reads[path]

    def _compared(self, asking: _Asking, anchor: Anchor, path: str, read: Read) -> Answer:
        if anchor.form == "file":
            return _STANDS if read.content.digest == anchor.digest else Answer("anchor_changed")
        known = read.content.answers.get(anchor)
        if known is None:
            read = self._to_take_apart(asking, anchor, path, read)
            known = read.content.answers[anchor] = judged(anchor, asking.glance.source(path, anchor.path, read))
        return known

    def _to_take_apart(self, asking: _Asking, anchor: Anchor, path: str, read: Read) -> Read:
        """The content with its bytes. Raises OutOfTime where taking it apart would take longer than a hook may."""
        if asking.glance.holds(path, read.content):
            return read
        if is_parsed(anchor):
            in_time(asking.until_ns, read.content.size * limits.NS_PER_MS // limits.PARSED_BYTES_PER_MS)
        if read.text is not None or read.content.size > limits.SOURCE_MAX_BYTES:
            return read
        again = self._contents.read(path, asking.until_ns, str(asking.root))
        if again is None:
            raise Unreadable  # it went just now
        asking.glance.read_again(path, again)
        return again

    def _gone(self, asking: _Asking, anchor: Anchor) -> Answer:
        if not os.path.isdir(asking.root):
            raise Unreadable
        gone = self._renames.look(asking.root, asking.branch, anchor, asking.until_ns)
        if not is_bare(gone.to):
            return Answer("anchor_missing")  # its new name is nothing to tell, nor to keep
        renamed = Answer(gone.signal, gone.to)
        if gone.signal != "anchor_renamed" or anchor.form == "file":
            return renamed
        path = _path(asking.root, gone.to)
        read = self._at(asking, path)
        if read is None:
            return renamed
        there = self._compared(asking, msgspec.structs.replace(anchor, path=gone.to), path, read)
        return there._replace(to=gone.to) if there.signal or there.unknown else renamed


def _precise(found: Sequence[GroundStatus]) -> list[GroundStatus]:
    """Without what is said of a whole file in which a block or claim of the note stands as it was."""
    stand = {one.path for one in found if one.form != "file" and not one.signal and not one.unknown}
    return [_quiet(one) if one.path in stand and one.form == "file" and not one.proxy else one for one in found]


def _quiet(one: GroundStatus) -> GroundStatus:
    return msgspec.structs.replace(one, signal="", unknown=False) if one.drifted else one


def _path(root: Path, relative: str) -> str:
    """Where an anchored file lies. Raises Unreadable for a path that leads out of the checkout: no anchor is written so."""
    if relative.startswith("/") or (".." in relative and ".." in relative.split("/")):
        raise Unreadable
    return located(str(root), relative)


def _is_there(path: str) -> bool:
    """Whether anything stands at a path. Raises Unreadable where that cannot be said."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise Unreadable from error
    return True
