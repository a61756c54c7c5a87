"""Two homes, odd paths and folders, a copied home, and what a daemon and its children hold: AT8. Real processes."""

import contextlib
import json
import os
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_client import address, spawn
from tests.daemon.housed import House

LONG = "/".join(["l" * 49] * 4)  # 200 bytes and the folders above them: no socket has room for it
# Stands in git's place: writes down what it was given, and becomes git.
GIT = """\
#!{python} -IS
import json, os, sys
links = {{n: os.readlink(f"/proc/self/fd/{{n}}") for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{{n}}")}}
with open({told!r}, "a") as told:
    told.write(json.dumps({{"environ": dict(os.environ), "descriptors": links}}) + "\\n")
os.execv({git!r}, sys.argv)
"""
CLOSED_AT_EXEC = 0o2000000  # O_CLOEXEC, as /proc tells it


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    yield made
    made.close()


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    """A folder that XDG_RUNTIME_DIR may name; one under pytest's own is too long for a socket."""
    folder = Path("/tmp") / f"memd-xdg-{os.getpid()}"
    folder.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(folder)
    return folder


@pytest.fixture(autouse=True)
def _cleared() -> Iterator[None]:
    yield
    shutil.rmtree(Path("/tmp") / f"memd-xdg-{os.getpid()}", ignore_errors=True)


@pytest.mark.parametrize(
    ("name", "second"),
    [
        ("memd", "the same runtime folder"),
        (LONG, "the same runtime folder"),
        (LONG, "a missing one"),
    ],
)
def test_two_homes_at_once_are_two_daemons(runtime: Path, name: str, second: str) -> None:
    """AT8: each hook and each command finds its own, and what one is told the other never knows."""
    named = {
        "the same runtime folder": {"XDG_RUNTIME_DIR": str(runtime)},
        "a missing one": {"XDG_RUNTIME_DIR": str(runtime / "missing")},
    }
    houses = [House(name, XDG_RUNTIME_DIR=str(runtime)), House(name, **named[second])]
    try:
        both = [threading.Thread(target=house.hook, args=("session-start",)) for house in houses]
        for one in both:
            one.start()
        for one in both:
            one.join()
        found = [house.reached() for house in houses]
        assert len({known.socket for known in found}) == 2
        for house, known in zip(houses, found, strict=True):
            with house.client(starts=False) as memd:
                pong = memd.ping()
                memd.remember(f"Only {house.home} knows this.")
            assert (pong.home, pong.pid, house.alone()) == (str(house.home), known.pid, [known.pid])
        for house in houses:
            with house.client(starts=False) as memd:
                assert [note.content for note in memd.notes(all_scopes=True).notes] == [
                    f"Only {house.home} knows this."
                ]
        first, other = houses
        with first.client(starts=False) as memd:
            memd.stop()
        assert first.daemons() == []
        assert other.reached().pid == found[1].pid
        assert not Path(os.fsdecode(found[0].socket)).exists()
    finally:
        for house in houses:
            house.close()


def test_processes_that_differ_in_their_runtime_folder_meet_in_one_daemon(runtime: Path) -> None:
    """AT8: a terminal, tmux and a client's own daemon differ there; nobody but the daemon looks at it."""
    house = House(LONG)
    try:
        house.hook("session-start", XDG_RUNTIME_DIR=str(runtime))
        known = house.reached()
        assert Path(os.fsdecode(known.socket)).is_relative_to(runtime)
        for named in (
            {},
            {"XDG_RUNTIME_DIR": "/nowhere"},
            {"XDG_RUNTIME_DIR": str(house.folder)},
            {"TMPDIR": str(runtime)},
        ):
            house.hook("prompt-submit", f"said with {named}", **named)
            assert house.alone() == [known.pid]
        assert len(house.prompts()) == 4
    finally:
        house.close()


def test_a_home_that_was_copied_has_a_daemon_of_its_own(house: House) -> None:
    """AT8: the address that came along names a daemon that lives and answers, and serves another home."""
    house.hook("session-start")
    first = house.reached()
    copy = House()
    try:
        (copy.home / "run").mkdir(mode=0o700)
        for name in ("address", "status.json"):
            shutil.copy2(house.home / "run" / name, copy.home / "run")
        assert address.read(os.fsencode(copy.home)) is None
        copy.hook("session-start")
        second = copy.reached()
        assert second.pid != first.pid
        copy.hook("prompt-submit", "for the copy alone")
        assert (copy.prompts(), house.prompts()) == (["for the copy alone"], [])
    finally:
        copy.close()


def test_a_home_that_is_reached_by_a_link_is_one_home(house: House) -> None:
    """Two ways to it are no two daemons."""
    house.hook("session-start")
    known = house.reached()
    linked = house.folder / "linked"
    linked.symlink_to(house.home)
    found = address.read(os.fsencode(linked))
    assert found is not None
    assert found.pid == known.pid
    assert spawn.ensure_daemon(os.fsencode(linked), 10.0).pid == known.pid


def test_the_daemon_holds_nothing_that_a_child_would_inherit(house: House) -> None:
    """AT8: a forked child that lives on keeps no socket and no lock of a daemon that is gone. LMDB leaves its two files of pages
    to be inherited, which hold no lock; what starts git closes them (the test below).
    """
    house.hook("session-start")
    with house.client() as memd:
        memd.remember("So that stores and indexes are open.")
        memd.recall("stores and indexes")
    known = house.reached()
    kept = {}
    listening = 0
    for open_ in Path(f"/proc/{known.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile: a connection that ended, a file that was read
            where = str(open_.readlink())
            told = Path(f"/proc/{known.pid}/fdinfo/{open_.name}").read_text().splitlines()
            flags = next(int(line.split()[1], 8) for line in told if line.startswith("flags:"))
            listening += where.startswith("socket:")
            if not flags & CLOSED_AT_EXEC:
                kept[int(open_.name)] = where
    pages = {str(house.home / "store" / name / "data.mdb") for name in ("log", "ledger")}
    assert {number: where for number, where in kept.items() if where not in pages} == dict.fromkeys(
        range(3), "/dev/null"
    )
    assert listening


def test_what_the_daemon_starts_gets_no_key_and_no_descriptor(house: House) -> None:
    """AT8: git, the one program it starts, off the hook's path: no key of the client's, memd silent in it, and 0 to 2 its own."""
    real = shutil.which("git")
    assert real
    told, folder = house.folder / "told", house.folder / "bin"
    folder.mkdir()
    (folder / "git").write_text(GIT.format(python=sys.executable, told=str(told), git=real))
    (folder / "git").chmod(0o700)
    path = f"{folder}:{house.environ['PATH']}"
    kept, other = socket.socketpair()
    with kept, other:
        kept.set_inheritable(True)
        house.hook("session-start", PATH=path, OPENAI_API_KEY="sk-2", GH_TOKEN="ghp_1")
    house.reached()
    with house.client() as memd:
        memd.remember("app.py adds", anchors=["app.py"])
        memd.stale()
    started = [json.loads(line) for line in told.read_text().splitlines()]
    assert started
    for one in started:
        names = set(one["environ"])
        assert not {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GH_TOKEN", "CLAUDECODE"} & names
        assert one["environ"]["MEMD_OFF"] == "1"
        others = {n: where for n, where in one["descriptors"].items() if int(n) > 2}
        assert not {where for where in others.values() if not where.startswith("/proc/")}
