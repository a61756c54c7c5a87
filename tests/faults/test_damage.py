"""A store's file that is not as it was written: a bit, a page, its end. What is damaged is named, or the store is refused with a
line; nothing of it ends the process, and nothing passes for what it is not.

MEMD_DAMAGES says how many damages are tried; `scripts/damage` runs the long form.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from memd_daemon.store.lmdb_pages import flaws
from tests.daemon.test_lifecycle import end, spawn
from tests.faults.apart import ROOT
from tests.faults.damage import DATA, PAGE
from tests.faults.place import Place, starts_of, until
from tests.service.desk import Desk, make_repo
from tests.service.test_people import Person

DAMAGES: Final = int(os.environ.get("MEMD_DAMAGES", "96"))
SEED: Final = int(os.environ.get("MEMD_SEED", "20260304"))
TABLES: Final = frozenset({"commits", "events", "blobs"})


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with notes of every class, one of them revoked, a key, and turns; nobody has it open."""
    folder = tmp_path_factory.mktemp("stored")
    make_repo(folder / "repo")
    desk = Desk(folder / "home", folder / "repo")
    person = Person(desk)
    for number in range(12):
        desk.remember(f"Claim {number}: " + "the queue drains in order. " * (10 * number))
    person.seal(desk.act("promote", 1, to="human", sign=True).plan)
    person.seal(desk.remember("Never push by force.", kind="directive", endorse=True).plan)
    desk.act("revoke", 2, reason="it does not")
    for number in range(3):
        desk.prompt(f"prompt {number} " + "and more " * 50)
    desk.close()
    return folder / "home"


def test_no_damage_of_the_file_ends_the_process_or_passes_unnamed(stored: Path) -> None:
    """Bits, pages and ends over the whole file: refused, named by verify, or of no effect at all."""
    command = [sys.executable, "-m", "tests.faults.damage", str(stored), str(DAMAGES), str(SEED)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["bad"] == [], done.stderr[-3_000:]
    assert sum(told["counts"].values()) == DAMAGES
    assert min(told["counts"].get(outcome, 0) for outcome in ("refused", "named", "same")) > 0


@pytest.fixture
def place(stored: Path) -> Iterator[Place]:
    made = Place()
    shutil.copytree(stored, made.home, ignore=shutil.ignore_patterns("run", "lock.mdb"))
    yield made
    made.close()


def _a_page_of(file: Path, kind: int) -> int:
    """The first page of a kind (LMDB's flag) behind the heads."""
    raw = file.read_bytes()
    return next(n for n in range(2, len(raw) // PAGE) if raw[n * PAGE + 10] == kind and _matters(file, n))


def _matters(file: Path, page: int) -> bool:
    """Whether the file cannot be followed without this page."""
    raw = file.read_bytes()
    trial = file.with_name("trial")
    trial.write_bytes(raw[: page * PAGE] + bytes(PAGE) + raw[(page + 1) * PAGE :])
    try:
        return any(flaws(trial, TABLES))
    finally:
        trial.unlink()


@pytest.mark.parametrize("how", ["cut", "page"])
def test_a_damaged_store_is_refused_with_a_line_and_no_daemon_is_started_again_and_again(
    place: Place, how: str
) -> None:
    """Hooks stay silent and start one at most, the command and doctor say what is damaged, and the file is left as it is."""
    file = place.home / DATA
    whole = file.read_bytes()
    if how == "cut":
        os.truncate(file, len(whole) // 2)
    else:
        at = _a_page_of(file, 2) * PAGE
        file.write_bytes(whole[:at] + bytes(PAGE) + whole[at + PAGE :])
    left = file.read_bytes()
    ran = place.memd("list")
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert "data.mdb" in ran.err
    assert "`memd restore` puts a backup in its place" in ran.err
    assert "daemon-refused" in place.codes()
    log = place.logged().count("The store is damaged")
    for number in range(5):
        assert place.prompt(f"said to a damaged store {number}").silent
    assert place.logged().count("The store is damaged") == log, "a hook started a daemon that was refused just now"
    assert place.start().silent
    assert file.read_bytes() == left
    until(lambda: starts_of(place.home) == 0)
    file.write_bytes(whole)
    ran = place.memd("verify")
    assert ran.code == 0, ran.err + ran.out.decode()
    until(lambda: {f"said to a damaged store {number}" for number in range(5)} <= set(place.turns()))  # they waited


def test_a_daemon_that_was_ended_by_a_fault_is_followed_by_one_that_looks_first(place: Place) -> None:
    """A file that is cut under a running daemon ends it: the next one says so, refuses, and a third does not die of it either."""
    process = spawn(place.home)
    try:
        place.notes()
        (place.home / "logs" / "fault").write_bytes(b'Fatal Python error: Bus error\n\n  File "x.py", line 1 in y\n')
        process.kill()
    finally:
        end(process)
    os.truncate(place.home / DATA, 8 * PAGE)
    for _ in range(2):
        assert place.memd("list").code == 3
        until(
            lambda: "ended by a fault: Bus error, File" in place.logged()
        )  # on a busy disk it starts behind the answer
        assert (place.home / "logs" / "fault").stat().st_size > 0


def test_a_fault_of_the_process_is_written_down(place: Place) -> None:
    """What no Python code can catch leaves its place in `logs/fault`, and goes from it once both stores were opened."""
    program = (
        "import ctypes; from pathlib import Path; from memd_daemon import ended; "
        f"home = Path({str(place.home)!r}); ended.listen(home); ctypes.string_at(0)"
    )
    (place.home / "logs").mkdir(exist_ok=True)
    died = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert died.returncode < 0
    assert "Segmentation fault" in (place.home / "logs" / "fault").read_text()
    assert len(place.notes()) == 13
    assert "ended by a fault: Segmentation fault" in place.logged()
    assert (place.home / "logs" / "fault").read_bytes() == b""
