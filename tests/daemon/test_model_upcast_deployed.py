"""Versions of events that are really deployed: a store written by one build, opened by the next ones, and by the older one again.

deployed.py says what the builds are; each runs in a process of its own on the same home.
"""

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, Final

import pytest

from memd_daemon.limits import STORE_FORMAT
from memd_daemon.store import keys
from memd_daemon.store.check import verify
from memd_daemon.store.lmdb_log import open_store
from tests.daemon.deployed import log_of, told
from tests.service.desk import Desk, make_repo

ROOT: Final = Path(__file__).parents[2]
TODAY: Final = ROOT / "tests" / "golden" / "store"


def run(version: int, what: str, home: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.daemon.deployed", str(version), what, str(home), str(home.parent / "repo")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["faults"] == []
    assert answer["rebuilt"] == answer["notes"]
    return answer


def rows(queue: list[str], priority: str) -> dict[str, list[Any]]:
    """The store of `deployed.write` as a build with these tags and that priority tells it."""
    lower = queue[0].islower()
    tags = (lambda *words: [word.lower() for word in words]) if lower else (lambda *words: list(words))
    return {
        "1": ["The queue drains in order.", queue, "medium", "agent", "held", [], True],
        "2": ["The cache is never written.", tags("Cache"), "medium", "agent", "revoked", ["it is, at midnight"], True],
        "3": ["Never push by force.", tags("Rule"), "medium", "human", "revoked", ["it was forced once"], True],
        "4": ["Tests run before a commit.", tags("Rule"), "medium", "human", "held", [], True],
        "5": ["Weigh this.", tags("Weight"), priority, "agent", "held", [], True],
    }


OLD: Final = rows(["Queue", "Order"], "medium")
NEW: Final = rows(["queue", "order"], "high")


def test_a_store_is_read_by_each_build_as_that_build_means_it_and_not_a_byte_of_it_changes(tmp_path: Path) -> None:
    """v1, v2, v3: old events are taken up at read; bodies, digests and signatures stand; folds are made anew."""
    home = tmp_path / "home"
    first = run(1, "write", home)
    assert first["notes"] == OLD
    second = run(2, "look", home)
    assert second["notes"] == OLD, "version 2 renames a field and means the same"
    third = run(3, "look", home)
    assert third["notes"] == NEW
    assert first["log"] == second["log"] == third["log"]
    assert (second["problems"], third["problems"]) == ([], [])
    assert run(3, "look", home)["at first"] == NEW, "what was made anew stays"


def test_what_a_newer_build_wrote_waits_in_an_older_one_until_it_is_upgraded(tmp_path: Path) -> None:
    """Version 3's events in a version 1 daemon: kept, without effect, nothing else harmed; then they count."""
    home = tmp_path / "home"
    run(1, "write", home)
    newer = run(3, "more", home)
    assert newer["notes"]["6"][4:6] == ["revoked", ["and taken back"]]
    assert newer["notes"]["7"][2] == "low"
    older = run(1, "look", home)
    assert older["notes"] == OLD, "notes that only a newer memd can read are not there yet, and the others stand"
    assert older["log"] == newer["log"]
    assert older["problems"] == []
    again = run(3, "look", home)
    assert again["notes"] == newer["notes"]
    assert again["log"] == newer["log"]


@pytest.mark.parametrize("name", ["format-1"])
def test_a_store_as_it_was_written_then_is_read_today(tmp_path: Path, name: str) -> None:
    """A store of a past day, kept as it was: every note, signature and byte of its log is what was noted beside it."""
    with tarfile.open(TODAY / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    expected = json.loads((TODAY / f"{name}.json").read_text())
    store = open_store(tmp_path / "home")
    assert store.info.format <= STORE_FORMAT
    assert verify(store) == []
    store.close()
    make_repo(tmp_path / "repo")
    desk = Desk(tmp_path / "home", tmp_path / "repo")
    try:
        assert told(desk) == expected["notes"]
        assert log_of(desk) == expected["log"]
        with desk.daemon.parts.store.read() as snapshot:
            assert [turn.text for turn in snapshot.turns()] == expected["turns"]
            assert set(keys.STORE_TABLES) >= set(expected["tables"])
        desk.remember("Written today.")
        assert verify(desk.daemon.parts.store) == []
    finally:
        desk.close()
