"""What a session is told of memd itself at its start: stops, unsigned settings, new keys. The words stand in frames/notices.py.

- A **stop** is marked in `run/stopped` with who asked for it; the next daemon takes the mark in and tells of it once it runs. Those
  that are told still are told together: a second stop, of a second, is no way to hide the days of the first.
- An unsigned **pause** or **list** that keeps memd silent at the place is told for as long as it does, and when it is over, since
  what was said in that time was not kept. Any other place is told of a list for a day, unless it is what it was a day before. The
  other unsigned settings are told while they stand.
- **What is over** (a pause, what a list did here, a stop) is told for a day to every main context whose start bundle falls into
  it, and after that for as long as no person's start was told of it (`is_a_persons`), be it a month. Told is what a receipt came
  for. Of a pause one start is told for all repositories, of a list one in each that it kept memd out of.
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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from memd_daemon import errors, limits
from memd_daemon.frames import notices as words
from memd_daemon.frames import policy as policy_words
from memd_daemon.ground.repository import unfollowed
from memd_daemon.model.delivery import NOTICES_UID, Context, DeliveredNote
from memd_daemon.model.ids import hybrid_ms
from memd_daemon.model.setting_keys import HOLD, IGNORE, LISTS, PAUSE, covers
from memd_daemon.model.settings import Change, Settings
from memd_daemon.service.clients import process
from memd_daemon.service.names import id_kept
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Place
from memd_daemon.service.terms import directory_of, is_headless
from memd_daemon.store.ledger_port import LedgerSnapshot
from memd_daemon.store.port import Snapshot, Txn

if TYPE_CHECKING:
    from memd_daemon.service.enrolments import Enrolled

log: Final = logging.getLogger("memd.notices")

_STOPS: Final = "notice/stops"
"""Setting: the deliberate stops that daemons have found marked, as far as they are told; `_Stops` by who asked for them."""

_TOLD: Final = "notice/told"
"""Setting: what is over and a person's start was told of; a list of `Line.over`. Local, and only this daemon's word."""


class Line(NamedTuple):
    """``over``: what it tells of that is over, a pause, what a list did here or stops, each by what it is known by in `_TOLD`."""

    text: str
    over: tuple[bytes, ...] = ()


class Notices(msgspec.Struct, frozen=True, kw_only=True):
    """The lines as they go out."""

    text: str
    digest: bytes
    tokens: int
    over: tuple[bytes, ...] = ()  # `Line.over` of them all, where it is a person's start

    def delivered(self) -> DeliveredNote:
        """The ledger's row."""
        return DeliveredNote(uid=NOTICES_UID, id=0, digest=self.digest, tokens=self.tokens)


class Board:
    """Where the notices of one store hang. Under the delivery lock."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._of: Settings | None = None
        self._keys: list[Enrolled] = []

    def at_start(self, snapshot: Snapshot, place: Place, is_persons: Callable[[], bool]) -> Notices | None:
        """What a main context that starts at this place is told; None for nothing. ``is_persons``: `is_a_persons`, asked only where
        it matters."""
        settings = self._parts.settings(snapshot)
        if settings is not self._of:  # a new value whenever a commit has touched the store's own subject
            from memd_daemon.service.enrolments import enrolments  # later.py says why

            self._of, self._keys = settings, enrolments(snapshot, self._parts.store.info.store)
        now_ms = self._parts.now_ms()
        telling = _Telling(snapshot, now_ms)
        lines = [
            *_of_silences(settings, place, telling),
            *_of_stop(snapshot, telling),
            *map(Line, _of_others(settings, now_ms)),
            *map(Line, _of_keys(self._keys, now_ms, self._parts.tags)),
            *map(Line, _of_policies(self._parts, now_ms)),
        ]
        if not lines:
            return None
        lines = _fitting(lines, self._parts.cost)
        text = "\n".join(line.text for line in lines)
        digest = hashlib.sha256(text.encode()).digest()[: limits.RENDERING_DIGEST_BYTES]
        over = tuple(one for line in lines for one in line.over)
        over = over if over and is_persons() else ()
        return Notices(text=text, digest=digest, tokens=self._parts.cost(text), over=over)


def _fitting(lines: list[Line], cost: Callable[[str], int]) -> list[Line]:
    """The lines that find room, each whole and in their order, then how many more there are."""
    costs = [cost(line.text) + 1 for line in lines]
    if sum(costs) <= limits.NOTICES_MAX_TOKENS:
        return lines
    room = limits.NOTICES_MAX_TOKENS - cost(words.more(len(lines))) - 1
    kept: list[Line] = []
    for line, tokens in zip(lines, costs, strict=True):
        if tokens <= room:
            kept.append(line)
            room -= tokens
    return [*kept, Line(words.more(len(lines) - len(kept)))]


# --- what is over


class _Telling:
    """What is told, at a moment, of what is over."""

    def __init__(self, snapshot: Snapshot, now_ms: int) -> None:
        self._snapshot = snapshot
        self.now_ms = now_ms

    def tells_of(self, one: bytes, ended_ms: int) -> bool:
        """``one``: as in `Line.over`."""
        return self.now_ms < ended_ms + limits.NOTICE_TOLD_MS or one not in self._told

    @cached_property
    def _told(self) -> frozenset[bytes]:
        return _known_told(self._snapshot)


def _known_told(snapshot: Snapshot) -> frozenset[bytes]:
    try:
        return frozenset(msgspec.msgpack.decode(snapshot.setting(_TOLD) or b"", type=list[bytes]))
    except msgspec.MsgspecError:
        return frozenset()


def keep_told(parts: Parts, over: Collection[bytes]) -> None:
    """A person's start was told of these. Raises nothing: where that cannot be kept, the next one is told again."""

    def work(txn: Txn) -> None:
        txn.put_setting(_TOLD, msgspec.msgpack.encode(sorted(_known_told(txn).union(over))))

    with parts.store.read() as snapshot:
        if _known_told(snapshot).issuperset(over):
            return
    try:
        parts.store.write(work)
    except errors.MemdError as refusal:  # it was told all the same
        log.warning("what a session was told of could not be kept: %s", refusal.code)


def is_a_persons(ledger: LedgerSnapshot, context: Context, pid: int, person_entries: Collection[str]) -> bool:
    """Whether a start tells a person, as far as the system knows: what no start of his was told of is told to the next one.

    It does where its client is one at which somebody types, was started from no other one, and was not heard of before: who is in
    a client's shell can hand memd a start of any session. A start of no client is a hook that was cut loose from one. Where the
    system tells nothing of processes, what the client says has to do.

    ``pid``: the hook's process, 0 where the system does not say; ``person_entries``: as for `is_headless`.
    """
    if is_headless(context, person_entries) or context.above:
        return False
    if not pid or process(os.getpid()) is None:
        return True
    return bool(context.client_pid) and not ledger.session_in(context.client_pid, context.client_started)


# --- policy files


def _of_policies(parts: Parts, now_ms: int) -> Iterator[str]:
    for file in parts.policies.lost(now_ms):
        if file.counted is not None:
            kept = file.counted
            yield policy_words.lost(file.name, file.why, kept.lost, kept.rules, kept.locks)


# --- settings


def _of_silences(settings: Settings, place: Place, telling: _Telling) -> Iterator[Line]:
    if not settings.is_default:
        yield from _of_pause(settings, telling)
        yield from _of_lists(settings, place, telling)


def _of_others(settings: Settings, now_ms: int) -> Iterator[str]:
    if settings.is_default:
        return
    others = [c for c in settings.unsigned(now_ms) if c.key not in (PAUSE, *LISTS) and bears(c.key)]
    if others:
        yield words.changed(others)


def bears(key: str) -> bool:
    """Whether a setting that is neither pause nor list bears on what is told."""
    return key.startswith(("budget.", "gate.")) or key == HOLD


def _of_pause(settings: Settings, telling: _Telling) -> Iterator[Line]:
    silences = _silences((pause.begun, pause.end) for pause in settings.pauses)
    standing = settings.change(PAUSE, telling.now_ms)
    if standing is not None and not standing.signed:
        yield Line(words.paused(silences[-1][0]))
        return
    for by, over in _over(silences, telling).items():
        yield Line(words.pause_over(over.times, by), tuple(over.known_by))


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


class _Over(NamedTuple):
    """Silences of one kind, by whom one knows of: when each was, and what it is known by in `_TOLD`."""

    times: list[tuple[int, int]]
    known_by: list[bytes]


def _over(silences: Iterable[_Silence], telling: _Telling, scope: str = "") -> dict[str, _Over]:
    """Those that are over and told still, by who began them. ``scope``: of the repository, where it is told in each.

    One is known by its end too: the next change, of that very millisecond, would make a longer one of it.
    """
    found: dict[str, _Over] = {}
    for begun, end_ms in silences:
        one = b"%b/%d/%b" % (begun.event, end_ms, scope.encode())
        if 0 < end_ms <= telling.now_ms and telling.tells_of(one, end_ms):
            over = found.setdefault(words.who(begun.session), _Over([], []))
            over.times.append((begun.at, end_ms))
            over.known_by.append(one)
    return found


def _of_lists(settings: Settings, place: Place, telling: _Telling) -> Iterator[Line]:
    now_ms = telling.now_ms
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
            yield Line(words.ignored(silences[-1][0]))
            continue
        kept_out = _over(silences, telling, place.scope)
        for by, over in kept_out.items():
            yield Line(words.ignored_over(key, over.times, by), tuple(over.known_by))
        said = {end_ms for over in kept_out.values() for _, end_ms in over.times}
        if change is not None and change.at not in said and is_list_told(settings, change, now_ms):
            yield Line(words.list_changed(change))


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
        known = _known_stops(txn, _Telling(txn, stop.started))
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


def _known_stops(snapshot: Snapshot, telling: _Telling) -> dict[str, _Stops]:
    """Those that are told still, by who asked for them."""
    try:
        known = msgspec.msgpack.decode(snapshot.setting(_STOPS) or b"", type=dict[str, _Stops])
    except msgspec.MsgspecError:
        return {}
    return {by: stops for by, stops in known.items() if telling.tells_of(_known_by(by, stops), stops.started)}


def _known_by(by: str, stops: _Stops) -> bytes:
    return f"stop/{by}/{stops.started}".encode()


def _marked(home: Path) -> Stop | None:
    """What stands in the mark; its own time where that cannot be read, None where there is none."""
    try:
        with open(home / "run" / "stopped", "rb", opener=unfollowed) as file:
            seen, told = os.fstat(file.fileno()), file.read(limits.STOP_MARK_MAX_BYTES)
    except OSError:
        return None
    try:
        stop = msgspec.json.decode(told, type=Stop)
    except msgspec.MsgspecError:
        stop = Stop(at=0)
    return stop if _is_time(stop.at) else Stop(at=seen.st_mtime_ns // limits.NS_PER_MS)


def _is_time(unix_ms: int) -> bool:
    return 0 < unix_ms <= hybrid_ms(limits.HYBRID_TIME_MAX)


def _of_stop(snapshot: Snapshot, telling: _Telling) -> Iterator[Line]:
    for by, stops in _known_stops(snapshot, telling).items():
        yield Line(words.stopped([(stops.since, stops.started)] * stops.times, by), (_known_by(by, stops),))
