"""The steps by which a write reaches the disk, one by one: each change of a table, each nested commit, the sync of all.

A write that waits alone runs in the one transaction; where another that waits with it fails, each runs again in a nested one. So
there are two ways to the disk, and `watch` makes a store take either. It puts a watcher between a store and LMDB. A step is
announced before it is taken, and `synced` once more behind it, so that whoever stops at every step in turn has stood in every state
there is between the first change and the answer:

    put, delete, drop   a change inside the transaction
    nested              a work is done: its transaction goes into the one around
    sync                all works are done: what follows is on disk
    synced              it is, and nobody was told yet

Steps are counted from the beginning of a transaction, so a write that begins again comes to the same step again.
"""

from collections.abc import Callable
from typing import Any, Final, Self

from memd_daemon.store.port import Store

CHANGES: Final = frozenset({"put", "delete", "drop", "pop", "replace", "putmulti"})
"""What changes rows, of a transaction and of a cursor."""


class Steps:
    """Counts steps, and calls ``at(number, name)`` at each; what that raises is raised there."""

    def __init__(self, at: Callable[[int, str], object] = lambda number, name: None) -> None:
        self._at = at
        self.taken: list[str] = []

    def begin(self) -> None:
        self.taken = []

    def take(self, name: str) -> None:
        self.taken.append(name)
        self._at(len(self.taken), name)


class _Passing:
    """Whatever it is asked goes to the real thing; a change is announced first."""

    def __init__(self, real: Any, steps: Steps) -> None:
        self._real = real
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self._real, name)
        if name not in CHANGES:
            return asked

        def announced(*words: Any, **more: Any) -> Any:
            self._steps.take(name)
            return asked(*words, **more)

        return announced


class _Cursor(_Passing):
    def __enter__(self) -> Self:
        self._real.__enter__()
        return self

    def __exit__(self, *raised: Any) -> Any:
        return self._real.__exit__(*raised)


class _Transaction(_Passing):
    def __init__(self, real: Any, steps: Steps, name: str) -> None:
        super().__init__(real, steps)
        self._name = name

    def cursor(self, *words: Any, **more: Any) -> _Cursor:
        return _Cursor(self._real.cursor(*words, **more), self._steps)

    def commit(self) -> None:
        self._steps.take(self._name)
        self._real.commit()
        if self._name == "sync":
            self._steps.take("synced")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, raised: Any, trace: Any) -> None:
        if kind is not None:
            self._real.abort()
            return
        try:
            self.commit()
        finally:
            self._real.abort()  # of one that is committed it does nothing


class _Environment(_Passing):
    def begin(self, *words: Any, parent: _Transaction | None = None, write: bool = False, **more: Any) -> Any:
        if not write:
            return self._real.begin(*words, **more)
        if parent is None:
            self._steps.begin()
        real = self._real.begin(*words, parent=parent and parent._real, write=True, **more)
        return _Transaction(real, self._steps, "nested" if parent else "sync")


def watch(store: Store, steps: Steps, *, nested: bool = False) -> None:
    """From here on every step of a write of this store is announced to ``steps``. ``nested``: as beside a write that fails."""
    environment = store._environment  # type: ignore[attr-defined]  # between the store and LMDB there is no seam to ask for
    environment._env = _Environment(environment._env, steps)
    if nested:
        environment._attempt = environment._attempt_each


def unwatch(store: Store) -> None:
    """Nothing is announced any more, and writes go the way they would."""
    environment = store._environment  # type: ignore[attr-defined]  # as above
    environment._env = environment._env._real
    vars(environment).pop("_attempt", None)
