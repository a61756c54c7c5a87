"""`memd stale`: the notes of this place that need a look, the most delivered first, with what has changed under them.

A flag means verify: nothing here says that a note is wrong. Whoever looks confirms it or revokes it.

The notes are looked at outside any snapshot, file by file, so that a file with many notes is read and taken apart once. Only the
notes of one page are compared with what they were written about, since that is asked of git.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

import msgspec

from memd_client import api
from memd_daemon import limits
from memd_daemon.frames.lines import ground_lines, verdicts
from memd_daemon.ground.bare import bare_lines
from memd_daemon.ground.differing import differing
from memd_daemon.ground.earlier import Text, Unseen, earlier, present
from memd_daemon.model.delivery import DeliveryState
from memd_daemon.model.event import Anchor
from memd_daemon.model.note import Note
from memd_daemon.model.view import GroundStatus, NoteView
from memd_daemon.service.asker import asker_of
from memd_daemon.service.contexts import sessions_of
from memd_daemon.service.explain import iso, note_out
from memd_daemon.service.flags import noticed
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Place, place_of, scopes_at
from memd_daemon.service.shown import showed
from memd_daemon.service.views import Looked, grounds_of, seen, stands_in, view_of

Grounded = tuple[Note, tuple[GroundStatus, ...]]
_STAYS: Final = frozenset({"anchor_missing", "anchor_renamed", "block_missing", "claim_broken"})


def stale(parts: Parts, request: api.Stale) -> api.StaleReply:
    """One page of the notes that have drifted in the asker's checkout. ``limit`` 0 is all."""
    asker = asker_of(parts.ledger, request.env, request.surface)
    place = place_of(parts, request.cwd)
    notes = _to_look_at(parts, place, sessions_of(parts.ledger, asker.session))
    drifted = list(_drifted(parts, place, notes))
    told = _told(parts, {note.uid for note, _ in drifted})
    drifted.sort(key=lambda one: (-told.times[one[0].uid], one[0].last_confirmed_at or one[0].created_at, one[0].uid))
    end = request.offset + request.limit if request.limit else len(drifted)
    page = drifted[request.offset : end]
    diffs = [[*_diffs(Path(place.checkout.root), note, ground)] for note, ground in page]
    found = _page(parts, place, [note for note, _ in page], diffs, told)
    showed(parts, asker, "stale", place, _rows(page, found))
    return api.StaleReply(notes=found, more=max(0, len(drifted) - end), looked_at=len(notes))


def _to_look_at(parts: Parts, place: Place, sessions: Sequence[str]) -> list[Note]:
    """Notes that hold here and are about files of this place."""
    scopes = scopes_at(place, *sessions)
    with parts.store.read() as snapshot:
        found = (note for _, note in snapshot.notes() if note.live and not note.revoked and note.scope in scopes)
        return [note for note in found if (note.anchors or note.mentions) and stands_in(note, place)]


def _first_path(note: Note) -> str:
    return (note.anchors or note.mentions)[0].path


def _drifted(parts: Parts, place: Place, notes: Iterable[Note]) -> Iterator[Grounded]:
    """Those of the notes whose ground has moved."""
    for _, about in groupby(sorted(notes, key=_first_path), _first_path):
        looked = Looked()
        for note in about:
            ground = seen(parts, grounds_of(note), place, None, looked)
            noticed(parts, note, place, ground)
            if any(one.drifted for one in ground):
                yield note, ground


class _Told(msgspec.Struct):
    """How often hooks told notes, and when last."""

    times: Counter[bytes]
    last: dict[bytes, int]


def _told(parts: Parts, uids: set[bytes]) -> _Told:
    told = _Told(Counter(), {})
    for looked_at, delivery in enumerate(parts.ledger.deliveries() if uids else ()):
        if looked_at >= limits.LOG_DELIVERIES_MAX:
            break
        for one in delivery.notes if delivery.state != DeliveryState.ASKED else ():
            if one.uid in uids:
                told.times[one.uid] += 1
                told.last.setdefault(one.uid, delivery.at)
    return told


def _page(
    parts: Parts, place: Place, notes: Sequence[Note], diffs: Sequence[list[api.GroundDiffOut]], told: _Told
) -> list[api.StaleNoteOut]:
    looked, found = Looked(), []
    with parts.store.read() as snapshot:
        for note, compared in zip(notes, diffs, strict=True):
            view = view_of(parts, snapshot, note, place, looked)
            out = api.StaleNoteOut(
                note=note_out(parts, snapshot, view),
                verdicts=[line.strip() for line in verdicts(view, parts.tags) or ground_lines(view, parts.tags)],
                delivered=told.times[note.uid],
                last_delivered_at=iso(told.last.get(note.uid, 0)),
                confirm=_where_it_holds(view),
                revoke=f"memd revoke {view.id} --reason …",
                diffs=compared,
            )
            found.append(out)
    return found


def _where_it_holds(view: NoteView) -> str:
    """`confirm` takes anew what is there; what is gone, was renamed or is claimed otherwise stays flagged until it is amended."""
    stays = any(one.signal in _STAYS or one.to for one in view.ground)
    return f"memd amend {view.id} --anchor …" if stays else f"memd confirm {view.id}"


def _rows(page: Iterable[Grounded], found: Iterable[api.StaleNoteOut]) -> Iterator[tuple[bytes, int, str]]:
    """What the ledger keeps of an answer: each note with the text that was shown of it."""
    return ((note.uid, out.note.id, out.note.content) for (note, _), out in zip(page, found, strict=True))


def _diffs(root: Path, note: Note, ground: Iterable[GroundStatus]) -> Iterator[api.GroundDiffOut]:
    """One for each anchor that has moved and has a text: a claim says its new value in its verdict."""
    anchors = {(one.path, one.part, one.form): one for one in (*note.mentions, *note.anchors)}
    for status in ground:
        anchor = anchors.get((status.path, status.part, status.form))
        if anchor is not None and status.drifted and anchor.form != "claim":
            to = status.detail if status.signal == "anchor_renamed" else status.to
            yield _diff(root, anchor, to)


def _diff(root: Path, anchor: Anchor, to: str) -> api.GroundDiffOut:
    made = api.GroundDiffOut(path=anchor.path, part=anchor.part, to=to, state="diff", commit="", lines=[])
    old = earlier(root, anchor)
    if old is None:
        return msgspec.structs.replace(made, state="unknown")
    made = msgspec.structs.replace(made, commit=old.commit)
    try:
        new = present(root, anchor, to) or Text("")
    except Unseen:
        return msgspec.structs.replace(made, state="unreadable")
    diff = differing(old.text, new.text, old.first, new.first, shown=bare_lines)
    if diff.too_different:
        return msgspec.structs.replace(made, state="too-different")
    return msgspec.structs.replace(made, lines=list(diff.lines), more=diff.more)
