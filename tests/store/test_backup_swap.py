"""A restore that is killed between any two of its steps leaves the old store or the new one, whole, and loses neither."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store.exchanging import opened, quick_folder, restore_into, turn
from tests.store.making import NOON, Pen

from memd_daemon.store import backup_swap
from memd_daemon.store.backup_refused import CannotSwap, SwapUnfinished
from memd_daemon.store.check import verify


@pytest.fixture
def home() -> Iterator[Path]:
    """In memory where that can be."""
    with quick_folder() as folder:
        yield folder / "home"


KILLED = """
import os, signal, sys
from pathlib import Path
from memd_daemon.store import backup_swap
def step(what):
    print(what, flush=True)
    if what == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)
backup_swap.swap(Path(sys.argv[1]), Path(sys.argv[2]), step)
"""
STEPS = ("marked", "indexes aside", "exchanged", "unmarked", "named")


def words_in(home: Path) -> str:
    """The one note of a store that is whole; "" where there is no store."""
    if not (home / "store").exists():
        return ""
    with opened(home) as (store, _):
        assert verify(store) == []
        with store.read() as snapshot:
            ((_, note),) = snapshot.notes()
            return snapshot.text(note.shown.content) or ""


def filled(home: Path, words: str) -> None:
    with opened(home) as (store, _):
        Pen(store).record(words)


def staged(home: Path, at: int = 0) -> Path:
    folder = backup_swap.staging(home, at)
    filled(folder, "new")
    return folder


def killed_at(home: Path, folder: Path, step: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", KILLED, str(home), str(folder), step], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout.decode().split("\n")[-2] == step


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_leaves_the_old_or_the_new_store(home: Path, step: str) -> None:
    """And the next restore goes through, with everything that was taken out of use still there."""
    filled(home, "old")
    (home / "index").mkdir()
    killed_at(home, staged(home), step)
    is_new = STEPS.index(step) >= STEPS.index("exchanged")
    assert words_in(home) == ("new" if is_new else "old")
    kept = backup_swap.settle(home)
    left = [words_in(folder) for folder in (home / "replaced").iterdir()] if (home / "replaced").exists() else []
    assert left == (["old"] if is_new else [])
    assert [words_in(folder) for folder in kept] == (left if step in ("exchanged", "unmarked") else [])
    assert not (home / "store" / backup_swap.INCOMING).exists()
    last = backup_swap.swap(home, staged(home, 3_600_000))
    assert last is not None
    assert (words_in(home), words_in(last)) == ("new", "new" if is_new else "old")


@pytest.mark.parametrize("step", ["marked", "indexes aside", "exchanged", "unmarked", "dropped"])
def test_a_kill_where_there_was_no_store_leaves_none_or_the_new_one(home: Path, step: str) -> None:
    """The first restore of a machine."""
    home.mkdir()
    killed_at(home, staged(home), step)
    is_new = step in ("exchanged", "unmarked", "dropped")
    assert words_in(home) == ("new" if is_new else "")
    assert backup_swap.settle(home) == []
    assert not (home / "replaced").exists()


def test_a_store_that_was_only_half_staged_goes_again(home: Path) -> None:
    """Killed while it was being unpacked: what is left is nobody's store."""
    filled(home, "old")
    folder = backup_swap.staging(home, 0)
    (folder / "store" / "log").mkdir()
    (folder / "store" / "log" / "data.mdb").write_bytes(b"half")
    assert backup_swap.settle(home) == []
    assert not folder.exists()
    assert words_in(home) == "old"


def test_the_callers_own_folder_is_let_be(home: Path) -> None:
    """What is being staged is not what was broken off."""
    filled(home, "old")
    folder = staged(home)
    assert backup_swap.settle(home, folder) == []
    assert words_in(folder) == "new"


def test_two_in_one_second_have_folders_of_their_own(home: Path) -> None:
    """What the first one keeps is not the second one's."""
    filled(home, "old")
    first = backup_swap.swap(home, staged(home))
    second = backup_swap.swap(home, staged(home))
    assert first is not None
    assert second is not None
    assert first != second
    assert [words_in(first), words_in(second), words_in(home)] == ["old", "new", "new"]


def test_a_store_on_a_mount_of_its_own_is_not_exchanged(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system says no: so does memd, and nothing has changed."""
    filled(home, "old")
    folder = staged(home)

    def busy(*_: object, **__: object) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(backup_swap, "_exchange", busy)
    with pytest.raises(CannotSwap, match="resource busy"):
        backup_swap.swap(home, folder)
    assert words_in(home) == "old"
    assert os.path.lexists(folder)


def broken(*_: object) -> None:
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize("failing", ["sync_folder", "_named"])
def test_a_step_that_fails_behind_the_exchange_is_told_as_what_it_is(
    home: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """The new store is in place by then: nobody is told that what was there is there. The next one finishes it."""
    filled(home, "old")
    folder = staged(home)

    def breaks(step: str) -> None:
        if step == "exchanged":
            monkeypatch.setattr(backup_swap.fs if failing == "sync_folder" else backup_swap, failing, broken)

    with pytest.raises(SwapUnfinished, match="has changed places") as told:
        backup_swap.swap(home, folder, breaks)
    assert f"What was there is in {folder}" in told.value.message
    monkeypatch.undo()
    assert words_in(home) == "new"
    backup_swap.drop_staged(folder)  # what the caller does
    (kept,) = backup_swap.settle(home)
    assert words_in(kept) == "old"
    assert kept.parent == home / "replaced"


def test_a_step_that_fails_where_there_was_no_store_names_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to be brought back."""
    home.mkdir()
    folder = staged(home)

    def breaks(step: str) -> None:
        if step == "exchanged":
            monkeypatch.setattr(backup_swap.fs, "sync_folder", broken)

    with pytest.raises(SwapUnfinished) as told:
        backup_swap.swap(home, folder, breaks)
    assert "What was there is in" not in told.value.message
    monkeypatch.undo()
    assert words_in(home) == "new"


@pytest.mark.parametrize("broken_off_at", STEPS[:-1])
def test_what_breaks_off_an_exchange_takes_neither_store(home: Path, broken_off_at: str) -> None:
    """A Ctrl-C, or a folder that cannot be synced: who staged the store drops what is staged, and never what was there before."""
    filled(home, "old")
    folder = staged(home)

    def step(what: str) -> None:
        if what == broken_off_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backup_swap.swap(home, folder, step)
    backup_swap.drop_staged(folder)
    kept = backup_swap.settle(home)
    if broken_off_at in ("marked", "indexes aside"):
        assert (words_in(home), kept) == ("old", [])
    else:
        assert (words_in(home), [words_in(one) for one in kept]) == ("new", ["old"])
    assert not folder.exists()


def test_a_restore_that_is_broken_off_behind_the_exchange_keeps_what_was_there(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with everything it has staged; by then that is the old store."""
    filled(home, "old")
    other = home.parent / "other"
    filled(other, "new")

    def interrupted(_: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(backup_swap, "_named", interrupted)
        with pytest.raises(KeyboardInterrupt):
            restore_into(home, other)
    kept = backup_swap.settle(home)
    assert (words_in(home), [words_in(one) for one in kept]) == ("new", ["old"])


def test_a_restore_says_what_was_here_beyond_it(home: Path) -> None:
    """Of the same store: notes, events and turns that came later. Of an equal one nothing."""
    filled(home, "old")
    earlier = home.parent / "earlier"
    shutil.copytree(home, earlier)
    assert not any("gone on" in told for told in restore_into(home, earlier).told)
    with opened(home) as (store, _):
        Pen(store, NOON + 10_000).record("newer")
        store.write(lambda txn: txn.add_turn(turn(1, "And this.")))
    assert any("had gone on: 1 note, 1 event, 1 turn more" in told for told in restore_into(home, earlier).told)
