"""Writes that are one commit of several events, each on a store of its own, and what a store looks like from outside.

Every scene begins with a person's key, a note [1] that two others are built on ([2] on [1], [3] on [2]), a note [4] in open
conflict with [1], and what its act needs beside. An act is one write. `arm` is called right before the request that writes, behind
whatever is only asked.
"""

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from memd_client import api, signing
from memd_daemon.model import event as ev
from memd_daemon.model.note import Note
from memd_daemon.model.words import Surface
from memd_daemon.service.asker import system
from memd_daemon.store import keys
from memd_daemon.store.port import Snapshot, Store, Txn
from tests.crash.steps import Steps, watch
from tests.service.desk import Desk, make_repo
from tests.service.test_people import Person

KEY: Final = "key"
"""Where the person's key lies; no key file of memd's, for it costs a passphrase no second to open it."""

OLD: Final = "lock_workspace() takes a PID-scoped lock."
NEW: Final = "lock_workspace() takes a lock on the file, shared by threads."


class Signer:
    """The person of a scene, in a process that did not enrol the key."""

    def __init__(self, desk: Desk, key: signing.KeyFile) -> None:
        self.desk, self.key = desk, key

    signatures = Person.signatures
    seal = Person.seal


Arm = Callable[[], object]
Prepare = Callable[[Desk, Person], object]
Run = Callable[[Desk, Signer, Arm], Any]


class Act(NamedTuple):
    """``endorsed``: whether [1] is. ``events``: the types of the one commit that it becomes, in their order."""

    run: Run
    events: tuple[str, ...]
    endorsed: bool = False
    prepare: Prepare = lambda desk, person: None


def _corrects(word: str) -> Run:
    def run(desk: Desk, signer: Signer, arm: Arm) -> Any:
        arm()
        return desk.remember(NEW, kind="gotcha", anchors=["app.py"], reason="read the source", **{word: "1"})

    return run


def _sealed(ask: Callable[[Desk], Any]) -> Run:
    def run(desk: Desk, signer: Signer, arm: Arm) -> Any:
        plan = ask(desk).plan
        assert plan is not None
        seal = api.Seal(token=plan.token, signatures=signer.signatures(plan))
        arm()
        return desk.ask(seal)

    return run


def _acts(act: str, **words: str) -> Run:
    def run(desk: Desk, signer: Signer, arm: Arm) -> Any:
        arm()
        return desk.act(act, 1, **words)

    return run


def _fallen(desk: Desk, person: Person) -> None:
    desk.act("revoke", 1, reason="thought to be wrong")


FALL = ("review_flagged", "review_flagged")
DISPUTE = ("proposed", "conflict_opened", "conflict_opened")
ACTS: Final[dict[str, Act]] = {
    "contradicts": Act(_corrects("contradicts"), ("recorded", "revoked", *FALL, "conflict_resolved")),
    "supersedes": Act(_corrects("supersedes"), ("recorded", "superseded", *FALL)),
    "contradicts what a person endorsed": Act(_corrects("contradicts"), ("recorded", *DISPUTE), endorsed=True),
    "supersedes what a person endorsed": Act(_corrects("supersedes"), ("recorded", *DISPUTE), endorsed=True),
    "recorded and endorsed": Act(_sealed(lambda d: d.remember(NEW, endorse=True)), ("recorded", "promoted")),
    "recorded, endorsed, and contradicts": Act(
        _sealed(lambda d: d.remember(NEW, endorse=True, contradicts="1", reason="read")),
        ("recorded", "promoted", "revoked", *FALL, "conflict_resolved"),
    ),
    "promoted by an agent": Act(
        lambda desk, signer, arm: (arm(), desk.act("promote", 5, to="agent"))[1],
        ("promoted",),
        prepare=lambda desk, person: desk.remember("Nobody looked at this.", provenance="auto"),
    ),
    "promoted by a person": Act(_sealed(lambda d: d.act("promote", 1, to="human", sign=True)), ("promoted",)),
    "revoked": Act(_acts("revoke", reason="read the source"), ("revoked", *FALL, "conflict_resolved")),
    "revoked by a person": Act(
        _sealed(lambda d: d.act("revoke", 1, reason="read", sign=True)),
        ("revoked", *FALL, "conflict_resolved"),
        endorsed=True,
    ),
    "reinstated": Act(
        _acts("reinstate"),
        ("reinstated", "reviewed", "reviewed", "conflict_opened", "conflict_opened"),
        prepare=_fallen,
    ),
}


class Scene:
    """A home that an act is to be done in, as often as wanted: each time on a copy of it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name, self.act = folder, name, ACTS[name]
        self.repo, self.first = folder / "repo", folder / "first"
        self._copies = itertools.count(1)

    @classmethod
    def made(cls, folder: Path, name: str) -> "Scene":
        """A new one; another process may then use it too."""
        scene = cls(folder, name)
        make_repo(scene.repo)
        desk = Desk(scene.first, scene.repo)
        scene._prepare(desk, Person(desk))
        desk.close()
        return scene

    def _prepare(self, desk: Desk, person: Person) -> None:
        (self.folder / KEY).write_bytes(msgspec.msgpack.encode(person.key))
        desk.remember(OLD, kind="gotcha", anchors=["app.py"])
        desk.remember("So two workers of one process share it.", derived_from=["1"])
        desk.remember("So the pool may hold it.", derived_from=["2"])
        desk.remember("Locks are taken by address.")
        _open_conflict(desk, 1, 4)
        if self.act.endorsed:
            person.seal(desk.act("promote", 1, to="human", sign=True).plan)
        self.act.prepare(desk, person)

    def copy(self) -> Path:
        """The home as it is before the act, in a place of its own."""
        home = self.folder / f"copy{next(self._copies)}"
        shutil.copytree(self.first, home)
        return home

    @contextmanager
    def opened(self, home: Path) -> Iterator[tuple[Desk, Signer]]:
        desk = Desk(home, self.repo)
        try:
            yield desk, Signer(desk, msgspec.msgpack.decode((self.folder / KEY).read_bytes(), type=signing.KeyFile))
        finally:
            desk.close()

    @cached_property
    def before(self) -> dict[int, Note]:
        """The notes as the act finds them."""
        with self.opened(self.copy()) as (desk, _):
            return picture(desk.daemon.parts.store)

    @cached_property
    def commits(self) -> int:
        """How many there are before the act."""
        with self.opened(self.copy()) as (desk, _), desk.daemon.parts.store.read() as snapshot:
            return snapshot.last_seq()

    @cached_property
    def after(self) -> dict[int, Note]:
        """The notes as the act leaves them, from a run that nobody disturbed."""
        return self._undisturbed[0]

    @cached_property
    def steps(self) -> dict[bool, list[str]]:
        """The steps of the act (steps.py): alone, and in a nested transaction."""
        return {False: self._undisturbed[1], True: self._run(nested=True)[1]}

    @cached_property
    def _undisturbed(self) -> tuple[dict[int, Note], list[str]]:
        return self._run(nested=False)

    def _run(self, *, nested: bool) -> tuple[dict[int, Note], list[str]]:
        steps = Steps()
        with self.opened(self.copy()) as (desk, signer):
            store = desk.daemon.parts.store
            self.act.run(desk, signer, lambda: watch(store, steps, nested=nested))
            with store.read() as snapshot:
                assert last_commit(snapshot) == (self.commits + 1, self.act.events)
            return picture(store), steps.taken


def _open_conflict(desk: Desk, one: int, other: int) -> None:
    """What a detector of conflicts would have written."""
    parts = desk.daemon.parts

    def work(txn: Txn) -> None:
        uids = [txn.uid_of(id_) or b"" for id_ in (one, other)]
        drafts = [
            parts.draft(
                "conflict_opened", uid, ev.ConflictOpened(other=its), asker=system(Surface.SWEEP), after=txn.note(uid)
            )
            for uid, its in (uids, uids[::-1])
        ]
        txn.append(drafts, at=parts.now_ms())

    parts.store.write(work)


# --- what a store looks like


def picture(store: Store) -> dict[int, Note]:
    """Every note by its id, with ids and texts in place of what chance made of them."""
    with store.read() as snapshot:
        return {id_: _plain(snapshot, note) for id_, note in snapshot.notes()}


def _plain(snapshot: Snapshot, note: Note) -> Note:
    """The note as two stores can be compared in which the same was done."""

    def known(value: Any) -> Any:
        if isinstance(value, bytes):
            return _known(snapshot, value)
        if isinstance(value, tuple):  # of uids: in the order of what chance gave them
            plain = tuple(map(known, value))
            return tuple(sorted(plain)) if plain and isinstance(plain[0], bytes) else plain
        if isinstance(value, msgspec.Struct) and not isinstance(value, ev.Anchor):
            return msgspec.structs.replace(value, **{f: known(getattr(value, f)) for f in value.__struct_fields__})
        return value

    plain = known(note)
    assert isinstance(plain, Note)
    return plain


def _known(snapshot: Snapshot, name: bytes) -> bytes:
    """What a uid or a digest stands for."""
    if not name.strip(b"\0"):
        return b""
    id_, text = snapshot.id_of(name), snapshot.text(name)
    return b"[%d]" % id_ if id_ else b"some event" if text is None else text.encode()


def last_commit(snapshot: Any) -> tuple[int, tuple[str, ...]]:
    """(how many commits there are, the types of the newest one's events)."""
    seq, origin = snapshot.last_seq(), snapshot.info.origin
    rows = [row for _, row in snapshot.kv.scan(keys.EVENTS, keys.commit_key(origin, seq))]
    bodies = [msgspec.msgpack.decode(row, type=tuple[bytes, bytes])[0] for row in rows]
    return seq, tuple(ev.decode_event(body).type for body in bodies)


def rows_of(store: Store) -> dict[str, list[tuple[bytes, bytes]]]:
    """Every row of every table of the store."""
    with store.read() as snapshot:
        return {table: list(snapshot.kv.scan(table)) for table in keys.STORE_TABLES}  # type: ignore[attr-defined]
