"""AT11: a store that a newer memd wrote, met by an older one through hooks, the command and doctor: refused, untouched, once."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lmdb
import pytest

from memd_daemon.limits import STORE_FORMAT
from memd_daemon.store import keys
from tests.faults.place import Place, starts_of, until

REFUSAL = re.compile(r"This store has format (\d+), this memd reads up to (\d+)")


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    made.note("Written before the upgrade.")
    made.down()
    _write_format(made.home, STORE_FORMAT + 1)
    yield made
    made.close()


def _write_format(home: Path, number: int) -> None:
    """As another program writes it that has LMDB."""
    with lmdb.open(str(home / "store" / "log"), max_dbs=64, map_size=1 << 28) as env, env.begin(write=True) as txn:
        txn.put(keys.META_FORMAT, keys.number(number), db=env.open_db(keys.META.encode(), txn=txn, create=False))
    (home / "store" / "log" / "lock.mdb").unlink()


def _seen(folder: Path) -> dict[str, Any]:
    """Every file and folder with its bytes, mode and times."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.lstat().st_ino,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in (folder, *sorted(folder.rglob("*")))
    }


def test_a_newer_store_is_refused_untouched_with_one_line_and_no_restart_loop(place: Place) -> None:
    """AT11. Twenty hooks start one daemon for each session's start and no more; not a byte, mode or time of the store changes."""
    before = _seen(place.home / "store")
    fired = [place.start(f"s-{n}") for n in range(2)]
    fired += [place.prompt(f"said {n}") for n in range(12)]
    fired += [place.hook("stop", "Stop") for _ in range(4)]
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "app.py"}, "tool_use_id": "t"}
    fired += [place.hook("pre-edit", "PreToolUse", **edit) for _ in range(2)]
    assert [one.silent for one in fired] == [True] * 20
    until(lambda: starts_of(place.home) == 0)
    assert 1 <= len(REFUSAL.findall(place.logged())) <= 2, "hooks started it again and again"
    for words in (("remember", "Not here."), ("list",), ("start",)):
        ran = place.memd(*words)
        assert ran.code == 3
        assert ran.err.count("\n") == 1
        assert REFUSAL.search(ran.err), ran.err
        assert "Install the newer memd" in ran.err
    doctor = place.memd("doctor", "--json").json
    (told,) = [fault for fault in doctor if fault["code"] == "daemon-refused"]
    assert REFUSAL.search(told["what"])
    assert REFUSAL.search(place.memd("status").out.decode())
    assert _seen(place.home / "store") == before
    _write_format(place.home, STORE_FORMAT)
    assert place.notes() == {"Written before the upgrade."}
    until(
        lambda: {f"said {n}" for n in range(12)} <= set(place.turns())
    )  # they waited for the memd that can read the store
    assert "daemon-refused" not in place.codes()
    assert place.verified() == []
