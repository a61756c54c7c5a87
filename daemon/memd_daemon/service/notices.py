"""What a session is told of memd itself at its start: stops, unsigned settings, new keys. The words stand in frames/notices.py.

- A **stop** is marked in `run/stopped` with who asked for it; the next daemon takes the mark in and tells of it for a day after its
  own start, to every main context whose start bundle falls into that day. Those of one day are told together: a second stop, of a
  second, is no way to hide the days of the first.
- An unsigned **pause** or **list** that keeps memd silent at the place is told for as long as it does, and for a day after, since
  what was said in that time was not kept. Any other place is told of a list for a day, unless it is what it was a day before. The
  other unsigned settings are told while they stand.
- A **policy file** that counts no more is told of until it does again (service/policy.py).
- A key's **enrolment** is told for `limits.ENROLMENT_TOLD_DAYS`.

Notices are part of the start bundle: they stand before its notes, count against its budget and its client's cap, and are told once
in an epoch unless their words have changed. All of them take `limits.NOTICES_MAX_TOKENS` at most, what silences memd first: an
answer over the client's cap is never sent, so whoever could make many lines could silence every rule. They come under a pause and
in an ignored repository too, since that is what they are about. Subagents are not told: nobody reads what they say.
"""

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from memd_daemon import errors, limits
from memd_daemon.frames import notices as words
from memd_daemon.frames import policy as policy_words
from memd_daemon.model.delivery import NOTICES_UID, DeliveredNote
from memd_daemon.model.ids import hybrid_ms
from memd_daemon.model.setting_keys import HOLD, IGNORE, LISTS, PAUSE, covers
from memd_daemon.model.settings import Change, Settings
from memd_daemon.service.names import id_kept
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Place
from memd_daemon.service.terms import directory_of
from memd_daemon.store.port import Snapshot, Txn

if TYPE_CHECKING:
    from memd_daemon.service.enrolments import Enrolled

log: Final = logging.getLogger("memd.notices")

_STOPS: Final = "notice/stops"
"""Setting: the deliberate stops that daemons have found marked, as far as they are told; `_Stops` by who asked for them."""


class Notices(msgspec.Struct, frozen=True, kw_only=True):
    """The lines as they go out."""

    text: str
    digest: bytes
    tokens: int

    def delivered(self) -> DeliveredNote:
        """The ledger's row."""
        return DeliveredNote(uid=NOTICES_UID, id=0, digest=self.digest, tokens=self.tokens)


class Board:
    """Where the notices of one store hang. Under the delivery lock."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._of: Settings | None = None
        self._keys: list[Enrolled] = []

    def at_start(self, snapshot: Snapshot, place: Place) -> Notices | None:
        """What a main context that starts at this place is told; None for nothing."""
        settings = self._parts.settings(snapshot)
        if settings is not self._of:  # a new value whenever a commit has touched the store's own subject
            from memd_daemon.service.enrolments import enrolments  # later.py says why

            self._of, self._keys = settings, enrolments(snapshot, self._parts.store.info.store)
        now_ms = self._parts.now_ms()
        lines = [
            *_of_silences(settings, place, now_ms),
            *_of_stop(snapshot, now_ms),
            *_of_others(settings, now_ms),
            *_of_keys(self._keys, now_ms, self._parts.tags),
            *_of_policies(self._parts, now_ms),
        ]
        if not lines:
            return None
        text = "\n".join(_fitting(lines, self._parts.cost))
        digest = hashlib.sha256(text.encode()).digest()[: limits.RENDERING_DIGEST_BYTES]
        return Notices(text=text, digest=digest, tokens=self._parts.cost(text))


def _fitting(lines: list[str], cost: Callable[[str], int]) -> list[str]:
    """The lines that find room, each whole and in their order, then how many more there are."""
    costs = [cost(line) + 1 for line in lines]
    if sum(costs) <= limits.NOTICES_MAX_TOKENS:
        return lines
    room = limits.NOTICES_MAX_TOKENS - cost(words.more(len(lines))) - 1
    kept: list[str] = []
    for line, tokens in zip(lines, costs, strict=True):
        if tokens <= room:
            kept.append(line)
            room -= tokens
    return [*kept, words.more(len(lines) - len(kept))]


# --- policy files


def _of_policies(parts: Parts, now_ms: int) -> Iterator[str]:
    for file in parts.policies.lost(now_ms):
        if file.counted is not None:
            kept = file.counted
            yield policy_words.lost(file.name, file.why, kept.lost, kept.rules, kept.locks)


# --- settings


def _of_silences(settings: Settings, place: Place, now_ms: int) -> Iterator[str]:
    if not settings.is_default:
        yield from _of_pause(settings, now_ms)
        yield from _of_lists(settings, place, now_ms)


def _of_others(settings: Settings, now_ms: int) -> Iterator[str]:
    if settings.is_default:
        return
    others = [c for c in settings.unsigned(now_ms) if c.key not in (PAUSE, *LISTS) and bears(c.key)]
    if others:
        yield words.changed(others)


def bears(key: str) -> bool:
    """Whether a setting that is neither pause nor list bears on what is told."""
    return key.startswith(("budget.", "gate.")) or key == HOLD


def _of_pause(settings: Settings, now_ms: int) -> Iterator[str]:
    silences = _silences((pause.begun, pause.end) for pause in settings.pauses)
    standing = settings.change(PAUSE, now_ms)
    if standing is not None and not standing.signed:
        yield words.paused(silences[-1][0])
        return
    for by, times in _over(silences, now_ms):
        yield words.pause_over(times, by)


_Silence = tuple[Change, int]
"""What began it, and when it ended (Unix milliseconds); 0: it has not."""


def _silences(stretches: Iterable[_Silence]) -> list[_Silence]:
    """Those that no signature began, oldest first; one that goes on under the next change is one, whoever prolonged it."""
    silences: list[_Silence] = []
    for begun, end_ms in stretches:
        if begun.signed:
            continue
        goes_on = bool(silences) and silences[-1][1] == begun.at
        silences.append((silences.pop()[0] if goes_on else begun, end_ms))
    return silences


def _over(silences: Iterable[_Silence], now_ms: int) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """(who, when from and to) of silences that ended not long ago."""
    times: dict[str, list[tuple[int, int]]] = {}
    for begun, end_ms in silences:
        if 0 < end_ms <= now_ms < end_ms + limits.NOTICE_TOLD_MS:
            times.setdefault(words.who(begun.session), []).append((begun.at, end_ms))
    yield from times.items()


def _of_lists(settings: Settings, place: Place, now_ms: int) -> Iterator[str]:
    is_out = settings.silence(place.scope, directory_of(place), now_ms) != ""
    for key in LISTS:
        stand = settings.stands.get(key)
        change = stand.later if stand is not None else None
        silences = _silences(
            (one.change, one.ended)
            for one in settings.listings
            if one.change.key == key and _is_out_by(one.change, place)
        )
        if change is not None and is_out and _keeps_out(settings, change, place, now_ms):
            yield words.ignored(silences[-1][0])
            continue
        kept_out = list(_over(silences, now_ms))
        for by, times in kept_out:
            yield words.ignored_over(key, times, by)
        if change is not None and not kept_out and is_list_told(settings, change, now_ms):
            yield words.list_changed(change)


def is_list_told(settings: Settings, change: Change, now_ms: int) -> bool:
    """Whether the starts at any place tell of a list's newest unsigned change: for a day, unless the list is what it was before."""
    before = settings.listed_at(change.key, now_ms - limits.NOTICE_TOLD_MS)
    is_new = now_ms < change.at + limits.NOTICE_TOLD_MS
    return is_new and set(before) != set(settings.listed(change.key, now_ms))


def _keeps_out(settings: Settings, change: Change, place: Place, now_ms: int) -> bool:
    """Whether this very change of a list keeps memd out of the place."""
    return settings.change(change.key, now_ms) == change and _is_out_by(change, place)


def _is_out_by(change: Change, place: Place) -> bool:
    """Whether a list keeps memd out of the place as the change makes it."""
    if not isinstance(change.value, tuple):
        return False
    is_listed = covers(change.value, place.scope, directory_of(place))
    return is_listed if change.key == IGNORE else not is_listed


# --- keys


def _of_keys(keys: "Sequence[Enrolled]", now_ms: int, tags: Sequence[str]) -> Iterator[str]:
    since = now_ms - limits.ENROLMENT_TOLD_DAYS * limits.TIME_MS_PER_DAY
    recent = [key for key in keys if key.at_ms >= since and _is_time(key.at_ms)]
    for key in recent[-limits.NOTICE_ENROLMENTS_MAX :]:
        if key.rejected_ms:
            yield words.rejected(key.at_ms, key.fingerprint)
        else:
            yield words.enrolled(key.at_ms, key.terminal, key.fingerprint, tags)
    if len(recent) > limits.NOTICE_ENROLMENTS_MAX:
        yield words.more_enrolled(len(recent) - limits.NOTICE_ENROLMENTS_MAX)


# --- stops


class Stop(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A deliberate stop: when (UTC, Unix ms), by a command of which session ("" for none that is known), when memd ran again."""

    at: int
    session: str = ""
    started: int = 0


class _Stops(msgspec.Struct, frozen=True, kw_only=True):
    """Stops that are told as one: since when (UTC, Unix ms), until memd ran again after the last, and how many they are."""

    since: int
    started: int
    last: int  # when the last of them was
    times: int = 1


def mark_stop(home: Path, stop: Stop) -> None:
    """Marks a deliberate stop, so that no hook starts the next daemon. Raises nothing: a full disk keeps no daemon alive."""
    with contextlib.suppress(OSError):
        mark = home / "run" / "stopped"
        draft = mark.with_name(f".{mark.name}.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_bytes(msgspec.json.encode(stop))
        draft.replace(
            mark
        )  # whatever stands there: opening a FIFO would wait for its reader, and the daemon would never go


def take_in_stop(parts: Parts) -> None:
    """Keeps what the mark of a deliberate stop says, for the sessions that start from now on. The mark stays where it is."""
    marked = _marked(parts.home)
    if marked is None:
        return
    stop = msgspec.structs.replace(marked, session=id_kept(marked.session), started=parts.now_ms())

    def work(txn: Txn) -> None:
        known = _known_stops(txn, stop.started)
        by = words.who(stop.session)
        known[by] = _and_one(known.get(by), stop)
        txn.put_setting(_STOPS, msgspec.msgpack.encode(known))

    try:
        parts.store.write(work)
    except errors.MemdError as refusal:  # a daemon that cannot write still answers
        log.warning("a stop could not be taken in: %s", refusal.code)


def _and_one(before: _Stops | None, stop: Stop) -> _Stops:
    """With one more; the same where a daemon that took it in was killed before it took the mark away."""
    if before is None:
        return _Stops(since=stop.at, started=stop.started, last=stop.at)
    times = before.times + (stop.at != before.last)
    return _Stops(since=min(before.since, stop.at), started=stop.started, last=stop.at, times=times)


def _known_stops(snapshot: Snapshot, now_ms: int) -> dict[str, _Stops]:
    """Those that are told still, by who asked for them."""
    try:
        known = msgspec.msgpack.decode(snapshot.setting(_STOPS) or b"", type=dict[str, _Stops])
    except msgspec.MsgspecError:
        return {}
    return {by: stops for by, stops in known.items() if now_ms < stops.started + limits.NOTICE_TOLD_MS}


def _marked(home: Path) -> Stop | None:
    """What stands in the mark; its own time where that cannot be read, None where there is none."""
    try:
        with os.fdopen(os.open(home / "run" / "stopped", _OPENING), "rb") as file:
            seen, told = os.fstat(file.fileno()), file.read(limits.STOP_MARK_MAX_BYTES)
    except OSError:
        return None
    try:
        stop = msgspec.json.decode(told, type=Stop)
    except msgspec.MsgspecError:
        stop = Stop(at=0)
    return stop if _is_time(stop.at) else Stop(at=seen.st_mtime_ns // limits.NS_PER_MS)


_OPENING: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK | os.O_NOFOLLOW


def _is_time(unix_ms: int) -> bool:
    return 0 < unix_ms <= hybrid_ms(limits.HYBRID_TIME_MAX)


def _of_stop(snapshot: Snapshot, now_ms: int) -> Iterator[str]:
    for by, stops in _known_stops(snapshot, now_ms).items():
        yield words.stopped([(stops.since, stops.started)] * stops.times, by)
