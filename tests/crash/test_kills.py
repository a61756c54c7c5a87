"""kill -9 at every single step of a write of several events: reopened, the store has all of it or nothing, and is whole."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_client import api
from memd_daemon.model.note import encode_note
from memd_daemon.store import keys
from memd_daemon.store.check import verify
from memd_daemon.store.lmdb_log import open_store
from memd_daemon.store.port import Store
from tests.crash.acts import Scene, last_commit, picture
from tests.crash.preloads import built
from tests.crash.victims import ANSWERED, AT, BEFORE, DIED, NESTED, STOPPED, WITHIN

ROOT = Path(__file__).parents[2]
GOES_ON = 10
"""After each so many changes what a kill left is not only looked at but written on; around the sync always."""


class Killer:
    """Has victims killed, one at a time. ``preloaded``: dying.c, built."""

    def __init__(self, scene: Scene, preloaded: Path | None) -> None:
        self.can_die_within = preloaded is not None
        environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OPENBLAS_NUM_THREADS": "1"}
        if preloaded is not None:
            environ["LD_PRELOAD"] = str(preloaded)
        command = [sys.executable, "-m", "tests.crash.victims", str(scene.folder), scene.name]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, text=True, cwd=ROOT
        )

    def kill(self, home: Path, how: str, step: int) -> str:
        """What was seen of the victim that did the act in ``home``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(home, how, step, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


@pytest.fixture(scope="session")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """What is to be loaded into victims; None where there is nothing to build it with."""
    return built("dying", tmp_path_factory.mktemp("dying"))


@pytest.fixture(scope="module")
def killer(scene: Scene, preloaded: Path | None) -> Iterator[Killer]:
    made = Killer(scene, preloaded)
    yield made
    made.close()


def assert_whole(store: Store) -> dict[int, bytes]:
    """Every cached fold is, byte for byte, what the log gives, `verify` is clean, and no id is left out; gives the ids."""
    with store.read() as snapshot:
        for uid, cached in snapshot.kv.scan(keys.FOLDS):  # type: ignore[attr-defined]  # both adapters stand on tables
            made = snapshot.fold_from_log(uid)  # type: ignore[attr-defined]  # likewise
            assert made is not None
            assert encode_note(made) == cached
        ids = {id_: snapshot.uid_of(id_) or b"" for id_, _ in snapshot.notes()}
    assert verify(store) == []
    assert sorted(ids) == list(range(1, len(ids) + 1))
    return ids


def assert_all_or_nothing(scene: Scene, home: Path, *, is_there: bool, goes_on: bool = True) -> None:
    """Reopened: the notes as before the act or as after it.

    ``goes_on``: where nothing of the act is there it is done now, and another note is written: each gets the next id, and nobody
    loses his.
    """
    store = open_store(home)
    assert picture(store) == (scene.after if is_there else scene.before)
    ids = assert_whole(store)
    store.close()
    if goes_on:
        with scene.opened(home) as (desk, signer):
            store = desk.daemon.parts.store
            if not is_there:
                scene.act.run(desk, signer, lambda: None)
                with store.read() as snapshot:
                    assert last_commit(snapshot) == (scene.commits + 1, scene.act.events)
            assert picture(store) == scene.after
            further = desk.remember("A claim that has nothing to do with locks.")
            assert further.id == len(scene.after) + 1
            assert ids.items() <= assert_whole(store).items()
    shutil.rmtree(home)


@pytest.mark.parametrize("nested", [False, True])
def test_a_kill_at_any_step_leaves_all_or_nothing(scene: Scene, killer: Killer, nested: bool) -> None:
    """Up to the sync nothing is there, behind it everything; alone, and (around its end) beside a write that failed."""
    for step, name in enumerate(scene.steps[nested], 1):
        goes_on = step % GOES_ON == 0 or name in ("nested", "sync", "synced")
        if nested and not goes_on:
            continue  # a change is a change
        home = scene.copy()
        assert killer.kill(home, NESTED if nested else AT, step) == STOPPED
        assert_all_or_nothing(scene, home, is_there=name == "synced", goes_on=goes_on)


def test_a_kill_within_the_sync_leaves_all_or_nothing(scene: Scene, killer: Killer) -> None:
    """Before each call that writes to the file or syncs it, and in the middle of each write: the last one decides."""
    if not killer.can_die_within:
        pytest.skip("no C compiler, or no Linux")
    said, _, calls = killer.kill(scene.copy(), BEFORE, 0).split(" ")
    assert said == ANSWERED
    assert int(calls) >= 3  # pages, a sync of them, and the page that says that they count
    for call in range(1, int(calls) + 1):
        for how in (BEFORE, WITHIN):
            home = scene.copy()
            assert killer.kill(home, how, call) == DIED
            assert_all_or_nothing(scene, home, is_there=False)


def test_what_was_acknowledged_is_there_after_the_kill(scene: Scene, killer: Killer) -> None:
    """Killed the moment that the answer was given: the whole write, under the id that the writer was told."""
    home = scene.copy()
    said, id_, _ = killer.kill(home, AT, 0).split(" ")
    assert said == ANSWERED
    with scene.opened(home) as (desk, _):
        assert desk.ask(api.Show(ref=id_, cwd=str(desk.repo))).note.id == int(id_)
    assert_all_or_nothing(scene, home, is_there=True)
