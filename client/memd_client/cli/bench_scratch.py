"""A scratch home for a measurement: its own repository, settings' command lines and daemon, and all gone at the end.

Nothing of the user's is read or written: hooks run with a scratch HOME, and the daemon with the scratch MEMD_HOME.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from memd_client import address, api
from memd_client.cli.bench_notes import FILES, Said
from memd_client.memd import Memd, MemdError
from memd_hooks.launcher import ensure_launchers

WRITERS = 8  # threads that fill the store
RULES_REPOSITORY = "rules"  # the repository that has nothing but rules
STATUS_PATIENCE_S = 60.0  # status looks at every note, and the machine is busy embedding
LOOK_S = 2.0  # between two looks at the queue of vectors
STUCK_S = 120.0  # without one more vector nobody is waited for
LOADED_S = 900.0  # the indexes of a large store come in, and all of it is looked through
KILLED_WAIT_S = 5.0

Tell = Callable[[str], None]
"""Shows how far something is."""


class Stuck(MemdError):
    """The queue of vectors does not move."""

    def __init__(self, waiting: int) -> None:
        super().__init__(
            "bench-stuck", f"{waiting} notes have waited {STUCK_S:.0f} s for a vector; `memd logs` may say why."
        )


class Scratch:
    """One scratch home with a repository. Make it with `scratch`."""

    def __init__(self, folder: Path, repository: str = "repository") -> None:
        self.folder = folder
        self.home = folder / "home"
        self.repository = folder / repository
        self.environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder / "user"),
            "LANG": "C.UTF-8",
            "CLAUDECODE": "1",
            "CLAUDE_CODE_ENTRYPOINT": "cli",
            "CLAUDE_PROJECT_DIR": str(self.repository),
        }

    def within(self, repository: str) -> "Scratch":
        """The same home, seen from another repository."""
        return Scratch(self.folder, repository)

    def memd(self) -> Memd:
        """A client of this home that stands in the repository and in no session."""
        return Memd(self.home, cwd=self.repository, environ={})

    def pid(self) -> int:
        """The daemon's pid, 0 where none runs."""
        found = address.read(os.fsencode(self.home))
        return found.pid if found else 0

    def stop(self) -> None:
        """Ends the daemon and waits for it."""
        with self.memd() as memd, contextlib.suppress(MemdError):
            memd.stop(announced=False)

    def end(self) -> None:
        """Ends the daemon whatever it does."""
        known = address.read(os.fsencode(self.home))
        self.stop()
        if known is not None and address.is_alive(known):
            os.kill(known.pid, signal.SIGKILL)
            until = time.monotonic() + KILLED_WAIT_S
            while address.is_alive(known) and time.monotonic() < until:
                time.sleep(0.01)


@contextlib.contextmanager
def scratch(at: Path) -> Iterator[Scratch]:
    """A scratch home below ``at`` (a short path: a socket lies in it), its repository and launchers; no daemon runs yet."""
    made = Scratch(Path(tempfile.mkdtemp(prefix="memd-bench-", dir=at)).resolve())
    try:
        _make_repository(made)
        _make_repository(made.within(RULES_REPOSITORY))
        made.home.mkdir(mode=0o700)
        ensure_launchers(made.home, made.environ)
        yield made
    finally:
        made.end()
        shutil.rmtree(made.folder, ignore_errors=True)


def _make_repository(made: Scratch) -> None:
    (made.folder / "user").mkdir(exist_ok=True)
    for number, name in enumerate(FILES):
        file = made.repository / name
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"def step_{number}_{line}(queue):\n    return queue.pop({line})\n\n\n" for line in range(100)]
        file.write_text("".join(lines))
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    person = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for words in (("init", "-q"), ("add", "."), (*person, "commit", "-q", "-m", "begin")):
        subprocess.run(["git", *words], cwd=made.repository, env={**made.environ, **quiet}, check=True)


def fill(made: Scratch, notes: Sequence[Said], tell: Tell) -> float:
    """Records every note through the wire, WRITERS at once; gives the seconds it took. Raises MemdError."""
    began = time.monotonic()
    done: list[None] = []  # appended to by every thread
    is_over = threading.Event()

    def write_all(share: Sequence[Said]) -> None:
        with made.memd() as memd:
            for note in share:
                if is_over.is_set():
                    return
                record(memd, note)
                done.append(None)
                tell(f"recording: {len(done):,} of {len(notes):,}{left(began, len(done), len(notes))}")

    with ThreadPoolExecutor(WRITERS) as threads:
        try:
            for finished in as_completed([threads.submit(write_all, notes[one::WRITERS]) for one in range(WRITERS)]):
                finished.result()
        finally:
            is_over.set()  # interrupted, or one has failed: the others need not write on
    return time.monotonic() - began


def record(memd: Memd, note: Said) -> None:
    """One note. Raises MemdError."""
    memd.remember(note.content, kind=note.kind, priority=note.priority, anchors=note.anchors)


def settle(made: Scratch, tell: Tell) -> int:
    """Waits until the model is in, no note waits for its vector and the daemon has looked through its store.

    Gives the number of vectors then. Raises MemdError.
    """
    with made.memd() as memd:
        memd.ping()  # starts the daemon where none runs
        began = moved = time.monotonic()
        first = least = None
        while True:
            status = memd.ask(api.Status(), api.StatusReply, wait_s=STATUS_PATIENCE_S)
            index = status.index
            waiting = int(index["waiting"])
            if index["ready"] and not waiting and not status.daemon["looking"]:
                return int(index["vectors"])
            now = time.monotonic()
            if first is None or least is None or waiting < least:
                first, least, moved = waiting if first is None else first, waiting, now
            if now - moved > (STUCK_S if waiting else LOADED_S):
                raise Stuck(waiting)
            tell(
                f"embedding: {waiting:,} to go{left(began, first - waiting, first)}"
                if waiting
                else "loading: the daemon looks through its store"
            )
            time.sleep(LOOK_S if waiting > WRITERS else 0.1)


def left(began: float, done: int, of: int) -> str:
    """An estimate in words, once there is something to go by."""
    took = time.monotonic() - began
    if done <= 0 or took < LOOK_S:
        return ""
    return f", about {took / done * (of - done) / 60:.1f} min left"
