"""A write of several events fails at every single step of its way to the disk: it is whole, or it was never there."""

import shutil

import lmdb
import pytest

from memd_daemon import errors
from memd_daemon.store.check import verify
from memd_daemon.store.lmdb_log import Environment
from tests.crash.acts import NEW, Scene, last_commit, picture, rows_of
from tests.crash.steps import Steps, watch
from tests.service.desk import Desk


class Broken(Exception):
    """The step that was made to fail."""


def failing(desk: Desk, at: int, error: Exception) -> None:
    """The desk's next write fails at its step ``at``."""

    def raising(number: int, name: str) -> None:
        if number == at:
            raise error

    watch(desk.daemon.parts.store, Steps(raising))


def unwatch(desk: Desk) -> None:
    environment = desk.daemon.parts.store._environment  # type: ignore[attr-defined]  # as in steps.py
    environment._env = environment._env._real


def test_the_steps_of_a_write_are_counted(scene: Scene) -> None:
    """Several changes for each event, one nested commit, one sync behind them: the tests here stand on that."""
    assert scene.steps[-3:] == ["nested", "sync", "synced"]
    assert scene.steps.count("put") > 3 * len(scene.act.events)
    assert scene.before != scene.after


def test_a_step_that_fails_leaves_nothing_of_the_write(scene: Scene) -> None:
    """At every step the caller is told, no row is other than before, nothing is found, no doubt is raised; then it goes through."""
    with scene.opened(scene.copy()) as (desk, signer):
        store = desk.daemon.parts.store
        before, found = rows_of(store), desk.recall("which lock?").text
        for at in range(1, len(scene.steps)):
            with pytest.raises(Broken):
                scene.act.run(desk, signer, lambda n=at: failing(desk, n, Broken()))
            unwatch(desk)
            assert rows_of(store) == before, f"step {at}, {scene.steps[at - 1]}"
            assert picture(desk.daemon.parts.store) == scene.before
            assert desk.recall("which lock?").text == found
            assert not store.doubt.is_set(), f"step {at}, {scene.steps[at - 1]}"
        scene.act.run(desk, signer, lambda: None)
        assert picture(desk.daemon.parts.store) == scene.after
        assert verify(store) == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (lmdb.DiskError("no space"), errors.StoreFull),
        (lmdb.CorruptedError("no page"), errors.StoreDamaged),
    ],
)
def test_what_lmdb_says_at_any_step_is_told_in_memds_words(scene: Scene, error: lmdb.Error, told: type) -> None:
    """And leaves nothing, whether a change failed, the nested commit or the sync."""
    with scene.opened(scene.copy()) as (desk, signer):
        store = desk.daemon.parts.store
        before = rows_of(store)
        for at in (1, len(scene.steps) // 2, len(scene.steps) - 2, len(scene.steps) - 1):
            with pytest.raises(told):
                scene.act.run(desk, signer, lambda n=at: failing(desk, n, error))
            unwatch(desk)
            assert rows_of(store) == before


def test_a_failure_behind_the_sync_leaves_the_whole_write(scene: Scene) -> None:
    """It is on disk: the caller does not know it, and a reopened store has all of it."""
    home = scene.copy()
    with scene.opened(home) as (desk, signer):
        with pytest.raises(Broken):
            scene.act.run(desk, signer, lambda: failing(desk, len(scene.steps), Broken()))
        unwatch(desk)
    with scene.opened(home) as (desk, _):
        assert picture(desk.daemon.parts.store) == scene.after
        assert verify(desk.daemon.parts.store) == []


def test_a_map_that_is_full_at_any_step_is_no_second_write(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work runs again from its beginning, whichever step it had come to: one commit, one note, one id."""
    monkeypatch.setattr(Environment, "_grow", lambda environment: None)
    for at in (*range(1, len(scene.steps) - 2, 3), len(scene.steps) - 2):
        home = scene.copy()
        with scene.opened(home) as (desk, signer):
            scene.act.run(desk, signer, lambda n=at: failing(desk, n, lmdb.MapFullError("full")))
            with desk.daemon.parts.store.read() as snapshot:
                newest = last_commit(snapshot)
            assert newest == (scene.commits + 1, scene.act.events), f"step {at}, {scene.steps[at - 1]}"
            assert picture(desk.daemon.parts.store) == scene.after
            assert verify(desk.daemon.parts.store) == []
            if "recorded" in scene.act.events:
                assert NEW in desk.recall(NEW).text
        shutil.rmtree(home)
