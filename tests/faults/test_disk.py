"""The disk under a whole daemon: it fills, it is taken away, it becomes read-only, while clients write and hooks fire.

What was acknowledged is there, no hook says a word or fails, the command says what to do, and when the disk is well again
everything goes on.
"""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator

import pytest

from memd_client.memd import MemdError
from tests.cli.world import Ran
from tests.faults.apart import apart, mount
from tests.faults.place import Place, gone, sound

BYTES = 32 << 20
ROOM = 4 << 20
LONG = "x" * 6_000


class Small(Place):
    """A place whose home is a disk of its own, with a file that fills it."""

    def __init__(self) -> None:
        super().__init__()
        self.home.mkdir()
        mount("-t", "tmpfs", "-o", f"size={BYTES},mode=0700", "tmpfs", self.home)
        self.ballast = self.home / "ballast"
        self.fill(ROOM)

    def fill(self, left: int = 0) -> None:
        """Until so many bytes are left."""
        with self.ballast.open("ab") as file:
            while (room := self.room() - left) > 0:
                try:
                    file.write(bytes(min(room, 1 << 16)))
                    file.flush()
                except OSError:
                    return

    def room(self) -> int:
        disk = os.statvfs(self.home)
        return disk.f_bavail * disk.f_frsize

    def refused(self) -> Ran:
        """The command that is the first to find no room: what is free inside of the store's file is used up first."""
        for number in range(50):
            ran = self.memd("remember", f"Not now {number}: {LONG}")
            if ran.code:
                return ran
        raise AssertionError("there is always room")

    def close(self) -> None:
        super_close = super().close
        self.down()
        subprocess.run(["umount", "-l", str(self.home)], check=True)
        super_close()


@pytest.fixture
def small() -> Iterator[Small]:
    made = Small()
    yield made
    made.close()


class Writers:
    """Clients that record notes until they are told to stop; what each was told."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.kept: set[str] = set()
        self.refused: set[str] = set()
        self.heard = threading.Condition()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(2)]
        for thread in self._threads:
            thread.start()

    def _write(self, writer: int) -> None:
        with self.place.client(starts=False) as memd:
            number = 0
            while not self._stop.is_set():
                number += 1
                content = f"claim {number} of writer {writer}: {LONG}"
                try:
                    memd.remember(content)
                except MemdError as refusal:
                    self.refused.add(refusal.code)
                    self._stop.wait(0.01)
                else:
                    self.kept.add(content)
                with self.heard:
                    self.heard.notify_all()

    def until(self, what: str) -> None:
        """Until one of them was told ``what``: a code, or "kept"."""
        before = len(self.kept)
        with self.heard:
            met = self.heard.wait_for(lambda: len(self.kept) > before if what == "kept" else what in self.refused, 60)
        assert met, f"nobody was told {what}, but {self.refused}"

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


@apart
def test_a_disk_that_fills_under_writers_and_hooks_loses_nothing_and_is_got_over(small: Small) -> None:
    """ENOSPC while the store commits, the index seals and the ledger writes: one daemon all along, and verify is clean."""
    small.note("Before the disk was full.")
    assert small.start().harmless
    assert small.prompt("said before").harmless
    pid = small.pid
    writers = Writers(small)
    try:
        writers.until("store-full")
        small.fill()
        fired = [
            small.prompt("said on a full disk"),
            small.start("s-2"),
            small.hook("pre-edit", "PreToolUse", tool_name="Edit", tool_input={"file_path": "app.py"}, tool_use_id="t"),
            small.hook("stop", "Stop"),
        ]
        assert [one.harmless for one in fired] == [True] * 4
        assert fired[0].silent
        ran = small.refused()
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert "is full" in ran.err
        assert "Free some space" in ran.err
        assert "disk-full" in small.codes()
        assert small.pid == pid
        small.ballast.unlink()
        writers.until("kept")
    finally:
        writers.stop()
    assert small.prompt("said when there was room").harmless
    assert small.pid == pid
    assert "disk-full" not in small.codes()
    assert writers.kept <= small.notes()
    assert "Before the disk was full." in small.notes()
    assert small.verified() == []
    turns, status = small.turns(), small.memd("status", "--json").json
    assert {"said before", "said when there was room"} <= set(turns)
    is_kept = "said on a full disk" in turns
    assert status["spool"]["lost"] == (0 if is_kept else 1), "neither kept nor named as lost"
    small.down()
    assert sound(small.home) == []


@apart
def test_no_daemon_is_started_on_a_full_disk_and_the_next_one_takes_all_in(small: Small) -> None:
    """It refuses with a sentence or serves, and dies of nothing; a prompt that came meanwhile is kept or named."""
    small.note("Before the disk was full.")
    small.down()
    small.fill()
    fired = [small.start(), *(small.prompt(f"said {n}") for n in range(3))]
    assert [one.harmless for one in fired] == [True] * 4
    ran = small.memd("remember", "Not now.")
    assert ran.code in (1, 3), ran.err
    assert "is full" in ran.err.lower()
    assert not (small.home / "logs" / "fault").exists() or (small.home / "logs" / "fault").read_bytes() == b""
    assert list((small.home / "run").glob(".*")) == []
    small.ballast.unlink()
    ran = small.memd("start")
    assert ran.code == 0, ran.err
    assert small.prompt("said when there was room").harmless
    status = small.memd("status", "--json").json
    kept = [turn for turn in small.turns() if turn in {f"said {n}" for n in range(3)}]
    assert len(kept) + status["spool"]["lost"] == 3
    assert small.notes() == {"Before the disk was full."}
    assert small.verified() == []


class Failing(Place):
    """A place whose home is a file system of its own in a file, which can be made to fail as a disk does: `abort`."""

    def __init__(self) -> None:
        super().__init__()
        self.home.mkdir()
        self._image = self.folder / "image"
        self._image.touch()
        os.truncate(self._image, BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self._image)], check=True, capture_output=True)
        self.mounted()

    def mounted(self) -> None:
        mount("-o", "loop", self._image, self.home)
        self.home.chmod(0o700)
        shutil.rmtree(self.home / "lost+found", ignore_errors=True)

    def abort(self) -> None:
        """From here on the system takes no write, also into files that are open."""
        mount("-o", "remount,abort", self.home)

    def unmounted(self) -> None:
        subprocess.run(["umount", str(self.home)], check=True, capture_output=True)

    def close(self) -> None:
        self.down()
        subprocess.run(["umount", "-l", str(self.home)], check=False, capture_output=True)
        super().close()


@pytest.fixture
def failing() -> Iterator[Failing]:
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("needs mkfs.ext4")
    try:
        made = Failing()
    except (subprocess.CalledProcessError, AssertionError):
        pytest.skip("needs a loop device")
    yield made
    made.close()


@apart
def test_a_home_that_the_system_makes_read_only_is_named_and_loses_nothing(failing: Failing) -> None:
    """A disk that fails in mid-flight: nothing more is acknowledged, hooks are silent, the daemon lives and says what is wrong."""
    failing.note("Before the disk failed.")
    assert failing.prompt("said before").harmless
    pid = failing.pid
    failing.abort()
    fired = [failing.prompt("said to a failing disk"), failing.start("s-2"), failing.hook("stop", "Stop")]
    assert [one.harmless for one in fired] == [True] * 3
    for _ in range(2):
        ran = failing.memd("remember", "Not now.")
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert "can only be read" in ran.err or "disk did not take" in ran.err
    assert failing.codes() & {"disk-failing", "disk-read-only", "store-read-only"}
    assert failing.pid == pid
    assert failing.notes() == {"Before the disk failed."}
    assert failing.memd("stop").code == 0
    gone(pid)
    assert [failing.start().silent, failing.prompt("said to nobody").silent] == [True, True]
    failing.unmounted()
    failing.mounted()
    failing.note("After it.")
    assert failing.notes() == {"Before the disk failed.", "After it."}
    assert "said before" in failing.turns()
    assert not failing.codes() & {"disk-failing", "disk-read-only", "store-read-only"}
    assert failing.verified() == []


@apart
def test_no_daemon_is_started_in_a_read_only_home(small: Small) -> None:
    """The command says why; hooks are silent; not a byte can change, and none has to."""
    small.note("Before it was read-only.")
    small.down()
    mount("-o", "remount,bind,ro", small.home)
    assert [small.start().silent, small.prompt("said").silent] == [True, True]
    ran = small.memd("remember", "Not now.")
    assert ran.code == 3
    assert "read-only" in ran.err
    mount("-o", "remount,bind,rw", small.home)
    assert small.notes() == {"Before it was read-only."}


def test_a_home_that_is_deleted_under_a_daemon_is_nobodys(place: Place) -> None:
    """What is written to it is refused, the daemon goes, and the next one begins a new store."""
    place.note("In the home that was deleted.")
    pid = place.pid
    with place.client(starts=False) as memd:
        memd.ping()
        shutil.rmtree(place.home)
        with pytest.raises(MemdError) as refused:
            memd.remember("Where no file has a name any more.")
    assert refused.value.code in ("store-moved", "gone")
    gone(pid)
    assert place.start().harmless
    assert place.notes() == set()
    place.note("In the new one.")
    assert place.verified() == []


@pytest.mark.parametrize("other", ["an older copy", "another store"])
def test_a_store_that_is_exchanged_under_a_daemon_gets_none_of_its_writes(place: Place, other: str) -> None:
    """No write to the file that was moved away is acknowledged, and what lies there then is served, found by its own words."""
    place.note("The relay listens on port 4000.")
    with place.client() as memd:
        memd.recall("which port?")
        memd.stop(announced=False)
    store, copy = place.home / "store", place.folder / "copy"
    shutil.copytree(store, copy)
    if other == "another store":
        shutil.rmtree(copy)
        (made := Place()).note("The parser reads one line at a time.")
        made.down()
        shutil.copytree(made.home / "store", copy)
        made.close()
    place.note("The cache is written at midnight.")
    place.note("The queue drains in order.")
    pid = place.pid
    with place.client(starts=False) as memd:
        assert memd.recall("when is the cache written?").text
        store.rename(place.folder / "moved")
        copy.rename(store)
        with pytest.raises(MemdError) as refused:
            memd.remember("To a file that was moved.")
    assert refused.value.code in ("store-moved", "gone")
    gone(pid)
    place.note("The lamp is green.")
    expected = {
        "an older copy": {"The relay listens on port 4000."},
        "another store": {"The parser reads one line at a time."},
    }[other]
    assert place.notes() == {*expected, "The lamp is green."}
    with place.client() as memd:
        assert "The lamp is green." in memd.recall("what colour is the lamp?").text
    assert place.verified() == []


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    yield made
    made.close()


def test_a_store_that_belongs_to_nobody_is_told_by_status(place: Place) -> None:
    """For the moment until the daemon goes."""
    place.note("In a store that is taken away.")
    pid = place.pid
    with place.client(starts=False) as memd:
        (place.home / "store").rename(place.folder / "moved")
        try:
            problems = [problem.get("code") for problem in memd.status().problems]
        except MemdError:  # it has gone by then
            problems = ["store-gone"]
    assert "store-gone" in problems
    gone(pid)
    (place.folder / "moved").rename(place.home / "store")
    assert place.notes() == {"In a store that is taken away."}
