"""A write of several events fails at every single step of its way to the disk: it is whole, or it was never there."""

import shutil
from collections.abc import Callable, Sequence
from typing import Any

import lmdb
import pytest

from memd_daemon import errors
from memd_daemon.store import keys
from memd_daemon.store.check import verify
from memd_daemon.store.kv import Writing
from memd_daemon.store.lmdb_log import Environment
from tests.crash.acts import NEW, Scene, last_commit, picture, rows_of
from tests.crash.steps import Steps, unwatch, watch
from tests.service.desk import Desk


class Broken(Exception):
    """The step that was made to fail."""


def failing(
    desk: Desk, at: int, error: Exception, *, nested: bool = False, once: bool = False, of_nested: int = 0
) -> None:
    """The desk's next write fails at its step ``at``: ``once``, or again where it is tried again (there at ``of_nested``)."""
    places = [at] if once else [at, of_nested or at]

    def raising(number: int, name: str) -> None:
        if places and number == places[0]:
            del places[0]
            raise error

    watch(desk.daemon.parts.store, Steps(raising), nested=nested)


def test_the_steps_of_a_write_are_counted(scene: Scene) -> None:
    """Several changes for each event, one sync behind them, and one nested commit where there is one: the tests stand on that."""
    alone, nested = scene.steps[False], scene.steps[True]
    assert alone[-2:] == ["sync", "synced"]
    assert nested == [*alone[:-2], "nested", "sync", "synced"]
    assert alone.count("put") > 3 * len(scene.act.events)
    assert scene.before != scene.after


@pytest.mark.parametrize("nested", [False, True])
def test_a_step_that_fails_leaves_nothing_of_the_write(scene: Scene, nested: bool) -> None:
    """At every step the caller is told, no row is other than before, nothing is found, no doubt is raised; then it goes through."""
    steps = scene.steps[nested]
    with scene.opened(scene.copy()) as (desk, signer):
        store = desk.daemon.parts.store
        before, found = rows_of(store), desk.recall("which lock?").text
        for at in range(1, len(steps)):
            with pytest.raises(Broken):
                scene.act.run(desk, signer, lambda n=at: failing(desk, n, Broken(), nested=nested))
            unwatch(store)
            assert rows_of(store) == before, f"step {at}, {steps[at - 1]}"
            assert picture(store) == scene.before
            assert desk.recall("which lock?").text == found
            assert not store.doubt.is_set(), f"step {at}, {steps[at - 1]}"
        scene.act.run(desk, signer, lambda: None)
        assert picture(store) == scene.after
        assert verify(store) == []


def beside(desk: Desk, other: Callable[[Writing], object]) -> list[BaseException | None]:
    """The desk's next write shares its transaction with ``other``, which comes first; what that one raised is in the list then."""
    environment = desk.daemon.parts.store._environment  # type: ignore[attr-defined]  # as in steps.py
    real, raised = environment.write_all, []

    def together(works: Sequence[Any], syncing: Callable[[], None]) -> Any:
        (_, error), *outcomes = real([other, *works], syncing)
        raised.append(error)
        return outcomes

    environment.write_all = together
    return raised


def test_beside_a_write_that_fails_it_is_whole(scene: Scene) -> None:
    """Both begin again, each in a nested transaction: one commit, and nothing of the other."""

    def fails(tables: Writing) -> None:
        tables.put(keys.SETTINGS, b"half", b"done")
        raise Broken

    with scene.opened(scene.copy()) as (desk, signer):
        store, raised = desk.daemon.parts.store, []
        scene.act.run(desk, signer, lambda: raised.append(beside(desk, fails)))
        assert isinstance(raised[0][0], Broken)
        with store.read() as snapshot:
            assert last_commit(snapshot) == (scene.commits + 1, scene.act.events)
            assert snapshot.setting("half") is None
        assert picture(store) == scene.after
        assert verify(store) == []


def test_where_it_fails_the_write_beside_it_is_whole(scene: Scene) -> None:
    """At its first change, in its middle and at its last: the other one is there, and of the act nothing is."""

    def works(tables: Writing) -> None:
        tables.put(keys.SETTINGS, b"other", b"done")

    changes = len(scene.steps[False]) - 2
    for at in (1, changes // 2, changes):
        with scene.opened(scene.copy()) as (desk, signer):

            def arm(desk: Desk = desk, at: int = at) -> None:
                beside(desk, works)
                failing(desk, 1 + at, Broken(), of_nested=1 + 1 + at)

            with pytest.raises(Broken):
                scene.act.run(desk, signer, arm)
            store = desk.daemon.parts.store
            with store.read() as snapshot:
                assert snapshot.setting("other") == b"done"
                assert snapshot.last_seq() == scene.commits
            assert picture(store) == scene.before
            assert verify(store) == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (lmdb.DiskError("no space"), errors.StoreFull),
        (lmdb.CorruptedError("no page"), errors.StoreDamaged),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_what_lmdb_says_at_any_step_is_told_in_memds_words(
    scene: Scene, error: lmdb.Error, told: type[errors.MemdError], nested: bool
) -> None:
    """And leaves nothing, whether a change failed, the nested commit or the sync."""
    steps = scene.steps[nested]
    with scene.opened(scene.copy()) as (desk, signer):
        store = desk.daemon.parts.store
        before = rows_of(store)
        for at in (1, len(steps) // 2, len(steps) - 2, len(steps) - 1):
            with pytest.raises(told):
                scene.act.run(desk, signer, lambda n=at: failing(desk, n, error, nested=nested))
            unwatch(store)
            assert rows_of(store) == before


def test_a_failure_behind_the_sync_leaves_the_whole_write(scene: Scene) -> None:
    """It is on disk: the caller does not know it, and a reopened store has all of it."""
    home = scene.copy()
    with scene.opened(home) as (desk, signer):
        with pytest.raises(Broken):
            scene.act.run(desk, signer, lambda: failing(desk, len(scene.steps[False]), Broken()))
        unwatch(desk.daemon.parts.store)
    with scene.opened(home) as (desk, _):
        assert picture(desk.daemon.parts.store) == scene.after
        assert verify(desk.daemon.parts.store) == []


def test_a_map_that_is_full_at_any_step_is_no_second_write(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work runs again from its beginning, whichever step it had come to: one commit, one note, one id."""
    monkeypatch.setattr(Environment, "_grow", lambda environment: None)
    last = len(scene.steps[False]) - 2  # the last change
    for at in (*range(1, last, 3), last):
        home = scene.copy()
        with scene.opened(home) as (desk, signer):
            scene.act.run(desk, signer, lambda n=at: failing(desk, n, lmdb.MapFullError("full"), once=True))
            with desk.daemon.parts.store.read() as snapshot:
                newest = last_commit(snapshot)
            assert newest == (scene.commits + 1, scene.act.events), f"step {at}, {scene.steps[False][at - 1]}"
            assert picture(desk.daemon.parts.store) == scene.after
            assert verify(desk.daemon.parts.store) == []
            if "recorded" in scene.act.events:
                assert NEW in desk.recall(NEW).text
        shutil.rmtree(home)
