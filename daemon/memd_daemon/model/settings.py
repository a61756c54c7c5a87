"""Settings that change by events: the fold (trust-boundary.md, "Policy and settings"). The keys stand in setting_keys.py.

The subject is the store. A `setting_changed` event names a key and a text, "" takes the value back. An event that cannot be read,
of a key that is not in `KEYS`, whose text the key does not take, whose time is none, that was committed in another store, or that
claims a person without a signature has no effect. Events count in fold order (model/fold.py), the latest wins, and two rules stand
above that:

- **What a person signed, only a person changes.** While a signed value stands, an unsigned change of the same key has no effect.
  A value that was taken back by a signature, and a pause that is over, stand no more.
- **An unsigned change keeps nothing from a session that a person endorsed.** Whoever delivers asks for each value twice:
  ``endorsed=True`` is what signed changes alone make of it, and holds for notes of class `human`; the other holds for the rest.

A **lock** stands before both: a value that no event changes (a policy's). Nothing here knows where locks come from.

There is no clock: whether a pause is over is asked with the time of the question.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.model.event import Stored
from memd_daemon.model.fold import Effect
from memd_daemon.model.ids import is_time
from memd_daemon.model.setting_keys import IGNORE, KEYS, LISTS, NOT_PAUSED, ONLY, OPEN_END, PAUSE, Value, covers
from memd_daemon.model.words import Actor

TYPE: Final = "setting_changed"

PAUSED_RULE: Final = "paused"
IGNORED_RULE: Final = "ignored"
"""The names of the rules by which memd is silent (rules/sift.py)."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one setting that is legal: by whom, through which door. ``value`` is None where it was taken back."""

    key: str
    text: str
    value: Value | None
    event: bytes
    at: int  # UTC, Unix milliseconds, by the writer's clock
    actor: str
    surface: str
    session: str
    signed: bool

    def stands(self, now_ms: int) -> bool:
        """Whether this change still makes the value what it is."""
        is_over = self.key == PAUSE and isinstance(self.value, int) and OPEN_END < self.value <= now_ms
        return self.value is not None and not is_over


class Stand(msgspec.Struct, frozen=True, kw_only=True):
    """The newest signed change of a key, and the newest unsigned one after it."""

    signed: Change | None = None
    later: Change | None = None

    def at(self, now_ms: int, *, endorsed: bool = False) -> Change | None:
        """The change that stands; ``endorsed``: among signed ones."""
        if self.signed is not None and self.signed.stands(now_ms):
            return self.signed
        return None if endorsed or self.later is None or not self.later.stands(now_ms) else self.later


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time in which memd was told to be still. ``ended``: when another change ended it; 0: none did."""

    begun: Change
    ended: int = 0

    @property
    def end(self) -> int:
        """Unix milliseconds; 0: it has none yet."""
        ends = [end for end in (int(str(self.begun.value)), self.ended) if end]
        return min(ends, default=0)

    def covers(self, at_ms: int) -> bool:
        return self.begun.at <= at_ms and not 0 < self.end <= at_ms


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time in which a list stood as one change had made it. ``ended``: when the next one came; 0: none did."""

    change: Change
    ended: int = 0

    @property
    def listed(self) -> tuple[str, ...]:
        return self.change.value if isinstance(self.change.value, tuple) else ()


_NO_STAND: Final = Stand()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings as the events of one store made them."""

    stands: dict[str, Stand] = {}
    locks: dict[str, Change] = {}
    pauses: tuple[Pause, ...] = ()
    listings: tuple[Listing, ...] = ()
    heads: tuple[bytes, ...] = ()  # events that no later change of a setting names as parent
    unsigned_at: tuple[int, ...] = ()  # of the newest unsigned changes, in fold order: `limits.SETTINGS_UNSIGNED_MAX`

    @property
    def is_default(self) -> bool:
        """Whether nothing was ever changed: every value is its default, at any time."""
        return not self.stands and not self.locks

    def change(self, key: str, now_ms: int, *, endorsed: bool = False) -> Change | None:
        """The change that makes the value what it is; None where it is the default. A lock counts as signed."""
        return self.locks.get(key) or self.stands.get(key, _NO_STAND).at(now_ms, endorsed=endorsed)

    def value(self, key: str, now_ms: int, *, endorsed: bool = False) -> Value:
        """The value, or the default. ``endorsed``: what it is to what a person endorsed."""
        change = self.change(key, now_ms, endorsed=endorsed)
        return KEYS[key].default if change is None or change.value is None else change.value

    def count(self, key: str, now_ms: int, *, endorsed: bool = False) -> int:
        """The value of a key that is a whole number."""
        return int(str(self.value(key, now_ms, endorsed=endorsed)))

    def share(self, key: str, now_ms: int, *, endorsed: bool = False) -> float:
        return float(str(self.value(key, now_ms, endorsed=endorsed)))

    def word(self, key: str, now_ms: int, *, endorsed: bool = False) -> str:
        return str(self.value(key, now_ms, endorsed=endorsed))

    def listed(self, key: str, now_ms: int, *, endorsed: bool = False) -> tuple[str, ...]:
        value = self.value(key, now_ms, endorsed=endorsed)
        return value if isinstance(value, tuple) else ()

    def listed_at(self, key: str, at_ms: int) -> tuple[str, ...]:
        """What stood on a list at a moment, also one that is over by now, as its changes made it."""
        stood = [one for one in self.listings if one.change.key == key and one.change.at <= at_ms]
        return stood[-1].listed if stood else ()

    def has_room(self, now_ms: int) -> bool:
        """Whether one more unsigned change can come: each is read again with every later one, so a loop of them would slow every
        hook down for good."""
        day_ms, newest = limits.TIME_MS_PER_DAY, self.unsigned_at
        return len(newest) < limits.SETTINGS_UNSIGNED_MAX or abs(now_ms - newest[0]) >= day_ms

    def unsigned(self, now_ms: int) -> list[Change]:
        """The unsigned changes that stand, in the order of `KEYS`."""
        found = (self.change(key, now_ms) for key in KEYS)
        return [change for change in found if change is not None and not change.signed]

    def silence(self, scope: str, directory: str, now_ms: int, *, endorsed: bool = False) -> str:
        """The rule by which memd is silent at a place: `paused`, `ignored`, or "" where it is not.

        ``scope``: "repo:<uid>"; ``directory``: the real path where the session works. ``endorsed``: whether what a person endorsed
        is kept silent too.
        """
        if self.is_default:
            return ""
        if self.is_paused(now_ms, endorsed=endorsed):
            return PAUSED_RULE
        return IGNORED_RULE if self.is_out(scope, directory, now_ms, endorsed=endorsed) else ""

    def is_paused(self, now_ms: int, *, endorsed: bool = False) -> bool:
        return self.value(PAUSE, now_ms, endorsed=endorsed) != NOT_PAUSED

    def is_out(self, scope: str, directory: str, now_ms: int, *, endorsed: bool = False) -> bool:
        """Whether the lists keep memd out of a place."""
        only = self.listed(ONLY, now_ms, endorsed=endorsed)
        ignored = self.listed(IGNORE, now_ms, endorsed=endorsed)
        return (bool(only) and not covers(only, scope, directory)) or covers(ignored, scope, directory)

    def paused_at(self, at_ms: int) -> bool:
        """Whether a moment lies in a pause, also one that is over by now."""
        lock = self.locks.get(PAUSE)
        if lock is not None:
            return lock.value != NOT_PAUSED and lock.stands(at_ms)
        return any(pause.covers(at_ms) for pause in self.pauses)


def folded(events: Iterable[Stored], store: bytes) -> Settings:
    """The settings that the events of the subject ``store`` make, signatures judged."""
    settings = Settings()
    for stored in fold.order(events)[0]:
        settings, _, _ = step(settings, stored, store)
    return settings


def traced(events: Iterable[Stored], store: bytes) -> list[tuple[Stored, Change | None, Effect]]:
    """Every `setting_changed` in fold order with what it is and did; None: it cannot be read, or its key takes no such text."""
    settings = Settings()
    told: list[tuple[Stored, Change | None, Effect]] = []
    for stored in fold.order(events)[0]:
        settings, change, effect = step(settings, stored, store)
        if stored.event.type == TYPE:
            told.append((stored, change, effect))
    return told


def step(settings: Settings, stored: Stored, store: bytes) -> tuple[Settings, Change | None, Effect]:
    """The settings after the event that comes next in fold order, what it changed, and what it did."""
    if stored.event.type != TYPE:
        return settings, None, Effect.NONE
    event = stored.event
    heads = tuple(sorted({*settings.heads, event.uid} - set(event.parents)))
    settings = msgspec.structs.replace(settings, heads=heads)
    if not stored.signed:
        unsigned_at = (*settings.unsigned_at, event.at)[-limits.SETTINGS_UNSIGNED_MAX :]
        settings = msgspec.structs.replace(settings, unsigned_at=unsigned_at)
    change = _change(stored, store)
    if change is None:
        return settings, None, Effect.NONE
    stand = settings.stands.get(change.key, _NO_STAND)
    if change.key in settings.locks or _is_a_persons(stand, change):
        return settings, change, Effect.NONE
    known = stand.at(change.at)
    after = Stand(signed=change) if change.signed else Stand(signed=stand.signed, later=change)
    effect = Effect.KEPT if _same(known, change) else Effect.APPLIED
    pauses = _pauses(settings.pauses, change) if change.key == PAUSE else settings.pauses
    listings = _listings(settings.listings, change) if change.key in LISTS else settings.listings
    stands = {**settings.stands, change.key: after}
    return msgspec.structs.replace(settings, stands=stands, pauses=pauses, listings=listings), change, effect


def _change(stored: Stored, store: bytes) -> Change | None:
    event = stored.event
    if stored.store != store or event.note != store or (event.actor == Actor.HUMAN and not stored.signed):
        return None
    if not is_time(event.at):
        return None
    payload = ev.readable_payload_of(event)
    key = KEYS.get(payload.key) if isinstance(payload, ev.SettingChanged) else None
    if key is None or not isinstance(payload, ev.SettingChanged):
        return None
    try:
        value = key.read(payload.value) if payload.value else None
    except (ValueError, OverflowError, RecursionError):  # of whatever somebody may have written into the store
        return None
    return Change(
        key=key.name,
        text=payload.value,
        value=value,
        event=event.uid,
        at=event.at,
        actor=event.actor,
        surface=event.surface,
        session=event.session,
        signed=stored.signed,
    )


def _is_a_persons(stand: Stand, change: Change) -> bool:
    """Whether an unsigned change meets a value that a person signed and that stands."""
    return not change.signed and stand.signed is not None and stand.signed.stands(change.at)


def _same(known: Change | None, change: Change) -> bool:
    """Whether the change leaves everything as it stood."""
    if known is None:
        return change.value is None
    return known.value == change.value and known.signed >= change.signed


def _pauses(pauses: tuple[Pause, ...], change: Change) -> tuple[Pause, ...]:
    """A change ends the pauses that stood; a signed one is ended by a signature alone.

    Whatever ended one ended all before it that no signature began: behind an unsigned change, of which there may be thousands, only
    those are looked at that come after the last one that has ended.
    """
    first = len(pauses)
    while first and (change.signed or not pauses[first - 1].ended):
        first -= 1
    ended = (
        msgspec.structs.replace(pause, ended=max(change.at, 1))
        if not pause.ended and (change.signed or not pause.begun.signed)
        else pause
        for pause in pauses[first:]
    )
    begun = () if change.value is None else (Pause(begun=change),)
    return (*pauses[:first], *ended, *begun)


def _listings(listings: tuple[Listing, ...], change: Change) -> tuple[Listing, ...]:
    """A change ends the stretch of the one before it, the newest of its key."""
    for at in range(len(listings) - 1, -1, -1):
        if listings[at].change.key == change.key:
            ended = msgspec.structs.replace(listings[at], ended=max(change.at, 1))
            return (*listings[:at], ended, *listings[at + 1 :], Listing(change=change))
    return (*listings, Listing(change=change))


def locked(settings: Settings, locks: Mapping[str, Change]) -> Settings:
    """The settings under these locks, which no event changes."""
    return msgspec.structs.replace(settings, locks=dict(locks))
