"""The power fails at any moment of memd's life: it opens, `verify` is clean, and what anybody was told before is there.

One run is recorded (recorded.py); the disks that a cut may leave are made from its records (disk.py) and looked at with the real
product (looks.py); `scripts/crash` runs the long form. Which moments, and what is left of them, the seed decides; a failure names
its record and its choice.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from memd_client import Memd, signing, spawn
from tests.crash import tally
from tests.crash.disk import Choice, Disk, Record
from tests.crash.looks import ALL, STORE
from tests.crash.recorded import ROOT, Recording, end, record_run, told_in
from tests.crash.seeds import CUTS, SEED
from tests.daemon.test_lifecycle import reached
from tests.daemon.test_lifecycle import spawn as start

CUTS_OF_A_TEST: Final = 200  # so that a long run tells how far it is
ALL_SHARE: Final = 12  # of so many looks one is at everything; the others are at the store alone
STARTS: Final = 3  # of a real daemon, which takes its time
BIRTH: Final = 45  # records: folders, files and the first commits are made, and each moment is its own
BARE: Final = (Choice(), Choice(names=1, length="new"))  # what is looked at in each of them

CHOICES: Final = (
    Choice(),
    Choice(names=1, writes=1),
    Choice(names=1),
    Choice(names=1, length="new"),
    Choice(writes=1),
    Choice(names=0.5, writes=0.5),
    Choice(names=1, writes=0.5, piece=512, length="new"),
    Choice(names=1, writes=0.9, piece=512, length="old"),
    Choice(names=1, writes=0.5, piece=4096),
    Choice(names=0.8, writes=0.2, piece=4096, length="new"),
)
"""What is left: nothing, all, the names, the names and lengths, the bytes; then by chance, in sectors and in pages."""

Cut = tuple[int, Choice]
"""Behind so many records, and what is there of what was not synced by then."""


@pytest.fixture(scope="module")
def run(folder: Path, library: Path) -> Recording:
    (folder / "run").mkdir()
    recording = Recording(folder / "run", library)
    record_run(recording)
    return recording


class Looker:
    """Has disks looked at by a process that forks for each."""

    def __init__(self, run: Recording) -> None:
        self._said = run.folder / "said"
        self._said.write_text(json.dumps(sorted(run.said)))
        command = [sys.executable, "-m", "tests.crash.looks", str(run.journal), str(self._said)]
        environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, text=True, cwd=ROOT
        )

    def wrong(self, home: Path, records: int, how: str) -> str:
        """What is wrong there; "" for nothing."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(home, records, how, file=self._process.stdin, flush=True)
        said: str = json.loads(self._process.stdout.readline())
        return said

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def looker(run: Recording) -> Iterator[Looker]:
    made = Looker(run)
    yield made
    made.close()


def cuts(records: int, group: int) -> list[Cut]:
    """The cuts of a test, in their order; the first test has each of the first moments, too."""
    chance = random.Random(SEED + group)
    wanted = min(CUTS_OF_A_TEST, CUTS - group * CUTS_OF_A_TEST)
    drawn = [(chance.randint(1, records), chance.choice(CHOICES)) for _ in range(wanted)]
    first = [(at, choice) for at in range(1, BIRTH + 1) for choice in BARE] if group == 0 else []
    return [(at, replace(choice, seed=chance.randrange(1 << 30))) for at, choice in sorted(first + drawn, key=_moment)]


def _moment(cut: Cut) -> int:
    return cut[0]


def disks(recording: Recording, wanted: list[Cut]) -> Iterator[tuple[int, Choice, Path]]:
    """The home of each cut; gone when the next one is asked for. A last write that is its own sync has only begun."""
    disk, records, target = Disk(recording.disk), recording.records(), recording.folder / "cut"
    done, begun = 0, list[Record]()
    for at, choice in wanted:
        if done < at:
            *before, last = records[done:at]
            for record in (*begun, *before):
                disk.take(record)
            disk.take(last._replace(is_dsync=False))
            done, begun = at, [last] if last.is_dsync else []
        disk.state(choice, target)
        yield at, choice, target / recording.home.relative_to(recording.disk)
        shutil.rmtree(target)


def test_what_is_recorded_is_all_that_was_written(run: Recording) -> None:
    """With every record the disk is what the run has left; only LMDB's lock files are written through a map."""
    disk, target = Disk(run.disk), run.folder / "whole"
    for record in run.records():
        disk.take(record)
    disk.state(Choice(names=1, writes=1), target)
    left, made = contents(run.disk), contents(target)
    shutil.rmtree(target)
    assert left == made
    assert {Path(path).name for path in disk.mapped} == {"lock.mdb"}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock.mdb"
    }


@pytest.mark.parametrize("group", range(-(-CUTS // CUTS_OF_A_TEST)))
def test_a_cut_leaves_a_store_that_opens_and_has_what_was_told(run: Recording, looker: Looker, group: int) -> None:
    """Every kind of cut at every kind of moment; some looks at all of it, most at the store."""
    records = run.records()
    assert sum(told_in(record) is not None for record in records) > BIRTH
    wanted = cuts(len(records), group)
    wrong = []
    for number, (at, choice, home) in enumerate(disks(run, wanted)):
        said = looker.wrong(home, at, STORE if number % ALL_SHARE else ALL)
        wrong += [f"seed {SEED}, record {at}, {choice}:\n{said}"] if said else []
    tally.counted[tally.CUTS] += len(wanted)
    assert wrong == []


def test_a_daemon_serves_what_a_cut_left(run: Recording) -> None:
    """A real one, with its lock, address, spool and ledger; what it finds under `run` is of another life."""
    chance = random.Random(SEED)
    moments = sorted(chance.sample(range(BIRTH, len(run.records())), STARTS))
    wanted = [(at, replace(CHOICES[6], seed=chance.randrange(1 << 30))) for at in moments]
    for at, choice, home in disks(run, wanted):
        boot = home / "store" / "ledger" / "boot"
        if boot.exists():
            boot.write_bytes(boot.read_bytes()[::-1])  # another run of the machine
        process = start(home)
        try:
            reached(home, process)
            with Memd(home, cwd=run.repo, environ={}, starts=False) as memd:
                assert memd.verify().faults == [], f"record {at}, {choice}"
                assert memd.remember("The power is back.").id
        finally:
            end(process, signal.SIGKILL)


# --- what the commands write


def _key(home: Path, was_told: bool) -> None:
    files = [path for path in (home / "keys").glob("*.json") if path.stat().st_size] if (home / "keys").exists() else []
    assert was_told <= len(files)
    for file in files * was_told:
        signing.load_key(str(file))


def _policy(home: Path, was_told: bool) -> None:
    if was_told:
        assert (home / "policy" / "team.toml").read_bytes() == b"rules = []\n"
        assert (home / "policy" / "team.toml.sig").read_bytes() == b"a signature\n"


def _launcher(home: Path, was_told: bool) -> None:
    """It is absent or whole: an empty one starts nothing and says nothing."""
    file = Path(os.fsdecode(spawn.launcher_path(bytes(home))))
    assert not file.exists() or file.read_bytes().endswith(spawn.DAEMON + b"\n")


CALLS: Final[dict[str, tuple[str, Callable[[Path, bool], None]]]] = {
    "a person's key": (
        "from memd_client import signing; "
        "key = signing.create_key(b'correct horse battery staple'); "
        "signing.write_key(signing.key_path(sys.argv[1], key.key_id), key)",
        _key,
    ),
    "a signed policy": (
        "from memd_client.cli import policy; "
        "policy._keep(Path(sys.argv[1]) / 'policy' / 'team.toml', b'rules = []\\n', b'a signature\\n')",
        _policy,
    ),
    "the launcher": ("from memd_client import spawn; spawn.write_launcher(os.fsencode(sys.argv[1]))", _launcher),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_a_command_wrote_is_there_when_it_has_ended(folder: Path, library: Path, name: str) -> None:
    """Every choice at every record; before its end it may be there or not."""
    code, check = CALLS[name]
    place = folder / name.split()[-1]
    place.mkdir()
    recording = Recording(place, library)
    recording.call(
        "import sys; from pathlib import Path; from memd_daemon.store import fs; fs.prepare(Path(sys.argv[1]))"
    )
    before = len(recording.records())
    recording.call(f"import os, sys; from pathlib import Path; {code}")
    records = recording.records()
    assert len(records) > before + 2
    for at, _, home in disks(recording, [(at, c) for at in range(before + 1, len(records) + 1) for c in CHOICES]):
        check(home, at == len(records))
