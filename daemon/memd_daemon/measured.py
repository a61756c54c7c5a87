"""What `memd bench writes` measures inside a daemon: a process of its own that answers lines of JSON with lines of JSON.

It is started as ``python -m memd_daemon.measured HOME``, HOME being a copy of a filled one that no daemon serves. A request is
`Wanted`; an answer is {"ms": …} with what else it says. The parts are a daemon's, its indexes and its queue of vectors included;
only the socket is missing. Each thing is measured as often as it is asked for, so that whoever asks can measure others in between.
"""

import contextlib
import itertools
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar, cast

import msgspec

from memd_client import api
from memd_daemon import limits
from memd_daemon.answering import serve
from memd_daemon.daemon import Daemon
from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.model.event import Stored
from memd_daemon.model.ids import UID_BYTES
from memd_daemon.service import remember
from memd_daemon.service.anchoring import anchors_at
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import place_of
from memd_daemon.service.views import Looked, seen
from memd_daemon.store import keys
from memd_daemon.store.kv import Writing
from memd_daemon.store.lmdb_log import Environment
from memd_daemon.store.log_read import LogSnapshot
from memd_daemon.store.log_write import LogTxn
from memd_daemon.store.port import StoreInfo
from memd_daemon.store.trusted import Trusted

T = TypeVar("T")
R = TypeVar("R")

FOLDED_EVENTS: Final = 1_000
SETTLE_LOOK_S: Final = 0.02
GROUND_NOTES: Final = 20
GROUND_CHANGED: Final = 5
GROUND_FILE_FUNCTIONS: Final = 36
FUNCTION: Final = '''\
def f{0}(value):
    """Gives {0} times what it is given."""
    scaled = value * {0}
    return scaled + {0}


'''

Answer = dict[str, float]
Row = tuple[str, bytes, bytes]


class Wanted(msgspec.Struct, frozen=True):
    """A request: what to do, with these notes, by how many threads."""

    do: str  # remember, rows, verify, fold, settle, ground, ground-changed
    notes: list[api.Remember] = []
    writers: int = 1


class Inside:
    """See the module's docstring."""

    def __init__(self, home: Path) -> None:
        shutil.copytree(home / "store" / "log", home / "rows" / "log")
        self._daemon = Daemon.open(home)
        self._daemon.parts.search.begin()
        self._remember: Callable[[api.Remember], Any] = self._daemon.handlers(_never)["remember"]
        self._rows = Rows(self._daemon, home / "rows" / "log")
        self._log = chain(FOLDED_EVENTS)
        self._ground = Grounds(self._daemon.parts, home / "files")

    def close(self) -> None:
        self._rows.close()
        self._daemon.close()

    def answer(self, wanted: Wanted) -> Answer:
        return {
            "remember": self.remember,
            "rows": self.rows,
            "verify": self.verify,
            "fold": self.fold,
            "settle": self.settle,
            "ground": self.ground,
            "ground-changed": self.ground_changed,
        }[wanted.do](wanted)

    def remember(self, wanted: Wanted) -> Answer:
        """All these notes by so many writers: the milliseconds until the last is durable."""
        shares = [wanted.notes[one :: wanted.writers] for one in range(wanted.writers)]
        with ThreadPoolExecutor(wanted.writers) as threads:
            list(threads.map(len, shares))  # they are there
            return _took(lambda: list(threads.map(self._write_all, shares)))

    def _write_all(self, notes: Sequence[api.Remember]) -> None:
        for note in notes:
            self._remember(note)

    def rows(self, wanted: Wanted) -> Answer:
        """The very rows of a note, put into tables of the same size and committed: what LMDB takes for them."""
        return self._rows.commit(wanted.notes[0])

    def verify(self, _: Wanted) -> Answer:
        """`memd verify` of the whole store."""
        found: list[Any] = []
        verify = self._daemon.handlers(_never)["verify"]
        took = _took(lambda: found.append(verify(api.Verify())))
        return {**took, "events": found[0].events, "faults": len(found[0].faults)}

    def fold(self, _: Wanted) -> Answer:
        """A note of FOLDED_EVENTS events, from its events to what they make of it."""
        return _took(lambda: fold.fold(self._log))

    def settle(self, _: Wanted) -> Answer:
        """Waits until the model is in and no note waits for its vector."""
        search, store = self._daemon.parts.search, self._daemon.parts.store

        def waits() -> bool:
            with store.read() as snapshot:
                return not search.ready or bool(snapshot.unembedded(search.model_id, 1))

        def wait() -> None:
            while waits():
                time.sleep(SETTLE_LOOK_S)

        return _took(wait)

    def ground(self, _: Wanted) -> Answer:
        """The ground of GROUND_NOTES notes, where nothing has moved."""
        return self._ground.looked_at()

    def ground_changed(self, _: Wanted) -> Answer:
        """Likewise, after GROUND_CHANGED of their files have changed."""
        return self._ground.changed()


class Grounds:
    """What one answer looks at: GROUND_NOTES notes, each on a symbol, some lines and a file, every one in a file of its own.

    The files are GROUND_FILE_FUNCTIONS small functions long, some 4 KB. GROUND_CHANGED others of them change before a look that is
    to find changes, each by a line at its end.
    """

    def __init__(self, parts: Parts, folder: Path) -> None:
        folder.mkdir()
        self._files = [folder / f"m{number}.py" for number in range(3 * GROUND_NOTES)]
        self._changes = 0
        for file in self._files:
            self._write(file)
        forms = itertools.cycle(("::f3", "#L9-L12", ""))
        anchors = [(f"{file.name}{form}", False) for file, form in zip(self._files, forms, strict=False)]
        place = place_of(parts, str(folder))
        made = anchors_at(parts, anchors[: limits.ANCHORS_MAX], str(folder), place).anchors
        made += anchors_at(parts, anchors[limits.ANCHORS_MAX :], str(folder), place).anchors
        self._notes = [made[at : at + 3] for at in range(0, len(made), 3)]
        self._parts, self._place = parts, place
        self.looked_at()

    def looked_at(self) -> Answer:
        """All of them, for one answer."""
        return _took(self._look)

    def changed(self) -> Answer:
        """Likewise, after some files have changed."""
        for _ in range(GROUND_CHANGED):
            self._changes += 1
            self._write(self._files[self._changes % len(self._files)])
        return _took(self._look)

    def _look(self) -> None:
        looked = Looked()
        for anchors in self._notes:
            seen(self._parts, (anchors, ()), self._place, None, looked)

    def _write(self, file: Path) -> None:
        """As if it had been written a while ago: of what was written just now nothing is kept."""
        text = "".join(FUNCTION.format(number) for number in range(GROUND_FILE_FUNCTIONS))
        file.write_text(f"{text}# {self._changes}\n")
        os.utime(file, ns=(self._changes, self._changes))


class Captured(Exception):
    """The rows of a note, on their way out of the write that would have stored them."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__()
        self.rows = rows


class Rows:
    """Tables of the store's size, and what a note puts into them. To the service it is a store that keeps nothing."""

    def __init__(self, daemon: Daemon, folder: Path) -> None:
        self._tables = Environment(folder, keys.STORE_TABLES, sync=True, map_bytes=limits.MAP_RESERVED_BYTES)
        self._trusted = Trusted()
        self._trusted.complete.set()
        self._plans = daemon.plans
        self.info: StoreInfo = daemon.parts.store.info
        self._parts = replace(daemon.parts, store=self)  # type: ignore[arg-type]  # all of it that recording a note asks for

    def close(self) -> None:
        self._tables.close()

    def commit(self, note: api.Remember) -> Answer:
        rows = self._of(note)

        def put_all(tables: Writing) -> None:
            for row in rows:
                tables.put(*row)

        took = _took(lambda: self._tables.writing(put_all))
        return {**took, "rows": len(rows), "bytes": sum(len(key) + len(value) for _, key, value in rows)}

    def _of(self, note: api.Remember) -> list[Row]:
        try:
            remember.remember(self._parts, self._plans, note)
        except Captured as captured:
            return captured.rows
        raise RuntimeError("a note was recorded and nothing was written")

    # as a store

    @contextlib.contextmanager
    def read(self) -> Iterator[LogSnapshot]:
        with self._tables.reading() as tables:
            yield LogSnapshot(tables, self.info, self._trusted)

    def fallen(self, since: int) -> list[bytes]:
        return []

    def write_beside(self, work: Callable[[LogTxn], T], beside: Callable[[], R]) -> tuple[T, R]:
        def captured(tables: Writing) -> NoReturn:
            noting = _Noting(tables)
            work(LogTxn(cast(Writing, noting), self.info, self._trusted))  # what it has not itself, the tables have
            raise Captured(noting.rows)

        return self._tables.writing(captured)


class _Noting:
    """A keeper of tables that notes what is put."""

    def __init__(self, tables: Writing) -> None:
        self._tables = tables
        self.rows: list[Row] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tables, name)

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self.rows.append((table, key, value))
        self._tables.put(table, key, value)


def chain(events: int) -> list[Stored]:
    """The log of one note: recorded, then changed, revoked and reinstated in turn, each event on top of the one before."""
    kinds = (ev.Amended(priority="low"), ev.Reasoned(reason=bytes(32)), ev.Reasoned(), ev.Amended(priority="high"))
    types = ("amended", "revoked", "reinstated", "amended")
    first = ev.Recorded(
        content=bytes(32),
        summary=bytes(32),
        kind="finding",
        priority="medium",
        provenance="agent",
        source=ev.Source("inference"),
        scope="global",
    )
    log = [_stored(1, "recorded", first)]
    log += [_stored(n, types[n % len(types)], kinds[n % len(kinds)]) for n in range(2, events + 1)]
    return log


def _stored(number: int, type_: str, payload: msgspec.Struct) -> Stored:
    event = ev.Event(
        uid=number.to_bytes(UID_BYTES, "big"),
        note=bytes(UID_BYTES),
        type=type_,
        at=number,
        actor="agent",
        surface="cli",
        parents=((number - 1).to_bytes(UID_BYTES, "big"),) if number > 1 else (),
        payload=ev.make_payload(payload),
    )
    body, origin = ev.encode_event(event), bytes(UID_BYTES)
    return Stored(event=event, body=body, sig=b"", hlc=number, origin=origin, seq=number, index=0, store=origin)


def _took(work: Callable[[], object]) -> Answer:
    began = time.perf_counter_ns()
    work()
    return {"ms": (time.perf_counter_ns() - began) / limits.NS_PER_MS}


def _never() -> None:
    """Nobody stops this daemon but the end of its input."""


if __name__ == "__main__":
    serve(Inside(Path(sys.argv[1])), Wanted)
