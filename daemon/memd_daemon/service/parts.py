"""What every use case works with: the store, the ledger, the indexes, the ground, and the world's clock and chance."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Required, TypedDict, TypeVar, Unpack, cast

import msgspec

from memd_daemon import limits
from memd_daemon.ground.checkouts import Checkouts
from memd_daemon.ground.files import FileGround
from memd_daemon.ground.tracked import Tracked
from memd_daemon.model import event as ev
from memd_daemon.model.ids import uuid7
from memd_daemon.model.note import Note
from memd_daemon.model.settings import Settings
from memd_daemon.model.words import Actor
from memd_daemon.service.again import Said
from memd_daemon.service.asker import Asker
from memd_daemon.service.behind import Behind, Underway
from memd_daemon.service.bursts import Bursts
from memd_daemon.service.calls import Calls
from memd_daemon.service.findings import Findings
from memd_daemon.service.flags import Flags
from memd_daemon.service.known import Known, KnownViews, NotKnown, Still
from memd_daemon.service.policy import Policies
from memd_daemon.service.readings import Readings
from memd_daemon.service.search import Search
from memd_daemon.service.standing import KnownSettings
from memd_daemon.service.struck import Struck
from memd_daemon.service.tally import Tally
from memd_daemon.service.unsettled import Unsettled
from memd_daemon.store.ledger_port import Ledger
from memd_daemon.store.port import Draft, Snapshot, Store

if TYPE_CHECKING:
    from memd_daemon.service.repos import Place

T = TypeVar("T")


class Placing(TypedDict, total=False):
    """Who makes an event, and what it comes after: all that ``after`` has seen, or the events ``parents``."""

    asker: Required[Asker]
    after: Note | None
    actor: Actor | None  # where it is not the asker's own
    parents: tuple[bytes, ...]
    key_id: bytes  # of a signed event: a person's
    head: bytes  # of a signed event: `Snapshot.head` as it stands when the event is shown


@dataclass(frozen=True, eq=False, repr=False)  # neither is asked for, and each is made at every start
class Parts:
    """One daemon's working set. ``now_ms`` is the wall clock (Unix ms); ``chance(n)`` gives n random bytes."""

    home: Path
    store: Store
    ledger: Ledger
    search: Search
    redact: Callable[[str], str]
    cost: Callable[[str], int]  # a text's cost against a budget, in tokens (delivery.md)
    chance: Callable[[int], bytes]
    tags: tuple[str, ...] = ()  # of every supported client: content must not pass for them
    now_ms: Callable[[], int] = field(default=lambda: time.time_ns() // limits.NS_PER_MS)
    ground: FileGround = field(default_factory=FileGround)
    checkouts: Checkouts = field(default_factory=Checkouts)
    views: KnownViews = field(default_factory=KnownViews)
    known_settings: KnownSettings = field(default_factory=KnownSettings)
    policies: Policies = field(default_factory=Policies)
    tally: Tally = field(default_factory=Tally)
    underway: Underway = field(default_factory=Underway)
    behind: Behind = field(default_factory=Behind)
    reading: Behind = field(default_factory=Behind)  # what tools gave, taken apart one after the other
    tracked: Tracked = field(default_factory=Tracked)
    flags: Flags = field(default_factory=Flags)
    bursts: Bursts = field(default_factory=Bursts)
    findings: Findings = field(default_factory=Findings)
    readings: Readings = field(default_factory=Readings)
    said: Said = field(default_factory=Said)
    struck: Struck = field(default_factory=Struck)
    calls: Calls = field(default_factory=Calls)
    unsettled: Unsettled = field(default_factory=Unsettled)
    places: "dict[str, Place]" = field(default_factory=dict)  # of directories that were looked at before (repos.py)
    looks: dict[str, int] = field(
        default_factory=dict
    )  # when files that are gone from a checkout were looked for (moved.py)
    unsure: set[str] = field(default_factory=set)  # sessions that were shown notes of which the ledger knows nothing

    def settings(self, snapshot: Snapshot | None = None) -> Settings:
        """The settings as they stand, at this snapshot or now."""
        if (still := Still.of(snapshot)) is not None:
            return still.settings
        if snapshot is not None:
            return self.known_settings.at(snapshot, self.store.info.store)
        known = self.known_settings.still(self.store.additions)
        if known is not None:
            return known
        with self.store.read() as now:
            return self.known_settings.at(now, self.store.info.store)

    def catch_up(self) -> None:
        """Brings what is known of the log up to it: behind a write, so that no hook does it first."""
        with self.store.read() as snapshot:
            self.settings(snapshot)
            self.known_at(snapshot)

    def sift(self) -> None:
        """Learns which contents no anchor has (`Known.lacks`)."""
        with self.store.read() as snapshot:
            if not self.store.doubt.is_set():
                self.views.sift(snapshot, self.behind.give_way)

    def forget(self) -> None:
        """What was made of the log before is not known any more, nor becomes so late: rows of the store were made anew, or mean
        something else, without a word in the log."""
        with self.store.read() as snapshot:
            since = snapshot.moment()
        self.views.forget(since)
        self.known_settings.forget(since)

    def known_at(self, snapshot: Snapshot) -> Known:
        """What was made of the log before and holds at this snapshot."""
        if (still := Still.of(snapshot)) is not None:
            return still.known
        return self.views.at(snapshot, in_doubt=self.store.doubt.is_set())

    def look(self, work: Callable[[Snapshot], T]) -> T:
        """What ``work`` makes of the log as it stands now: of what is known of it, and where that is not all that it asks for, of a
        snapshot. It may be done twice, so it changes nothing."""
        still = self._still()
        if still is not None:
            try:
                return work(cast("Snapshot", still))
            except NotKnown:
                pass
        with self.store.read() as snapshot:
            return work(snapshot)

    def _still(self) -> Still | None:
        """The log, where it is known as it stands."""
        additions = self.store.additions
        known, settings = self.views.still(additions), self.known_settings.still(additions)
        if known is None or settings is None or self.store.doubt.is_set():
            return None
        return Still(known, settings)

    def new_uid(self) -> bytes:
        return uuid7(self.now_ms(), self.chance(limits.UID_RANDOM_BYTES))

    def draft(self, type_: str, note: bytes, payload: msgspec.Struct, **placing: Unpack[Placing]) -> Draft:
        """`event`, ready to be appended."""
        return Draft(body=ev.encode_event(self.event(type_, note, payload, **placing)))

    def event(self, type_: str, note: bytes, payload: msgspec.Struct, **placing: Unpack[Placing]) -> ev.Event:
        """An event about ``note`` under a new uid, now."""
        asker, after, key_id = placing["asker"], placing.get("after"), placing.get("key_id", b"")
        return ev.Event(
            uid=self.new_uid(),
            note=note,
            type=type_,
            v=ev.VERSIONS[type_],
            at=self.now_ms(),
            actor=placing.get("actor") or (Actor.HUMAN if key_id else asker.actor),
            surface=asker.surface,
            session=asker.session,
            agent=asker.agent,
            key_id=key_id,
            head=placing.get("head", b""),
            parents=after.heads if after else placing.get("parents", ()),
            payload=ev.make_payload(payload),
        )
