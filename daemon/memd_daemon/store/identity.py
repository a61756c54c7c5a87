"""Which store this is: its own uid, and that of the chain which is written here. Made once, with its format."""

import os
from collections.abc import Callable
from pathlib import Path

from memd_daemon.errors import StoreDamaged
from memd_daemon.limits import STORE_FORMAT
from memd_daemon.model.ids import uuid7
from memd_daemon.store import keys
from memd_daemon.store.kv import Reading, Writing
from memd_daemon.store.port import StoreInfo


def begun(kv: Writing, path: Path, store: bytes | None, clock: Callable[[], int]) -> StoreInfo:
    """The identity of this store, made where the store is new."""
    if kv.get(keys.META, keys.META_FORMAT) is None:
        kv.put(keys.META, keys.META_FORMAT, keys.number(STORE_FORMAT))
        kv.put(keys.META, keys.META_STORE, store or uuid7(clock(), os.urandom(10)))
        kv.put(keys.META, keys.META_ORIGIN, uuid7(clock(), os.urandom(10)))
    return info_of(kv, path)


def info_of(kv: Reading, path: Path) -> StoreInfo:
    """Raises StoreDamaged where the store does not say."""
    raw, store, origin = (kv.get(keys.META, key) for key in (keys.META_FORMAT, keys.META_STORE, keys.META_ORIGIN))
    if raw is None or store is None or origin is None:
        raise StoreDamaged(f"{path} does not say which store it is")
    return StoreInfo(store=store, origin=origin, format=keys.of_number(raw), path=str(path))
