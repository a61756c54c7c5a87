"""The vector index of a small scope: compare with everything. No library but numpy, and nothing is missed.

Rows are float16, which changes a cosine by less than 0.001. The array grows by doubling; a removed row is filled with
the last one. Saved as: count u64, dim u64, keys i64 [count], rows f16 [count, dim] (little endian), sealed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memd_daemon import limits
from memd_daemon.index.port import Unreadable
from memd_daemon.index.sealed import read_sealed, write_sealed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memd_daemon.index.port import AnyVector, Rows

HEAD: Final = struct.Struct("<QQ")
FLOAT16_IN_FLOAT32_SHIFT: Final = 13  # a float16 has 10 bits of mantissa, a float32 has 23
FLOAT16_IN_FLOAT32_BITS: Final = 0x8FFFE000 - (1 << 32)  # sign, and 15 bits from the shift upwards; as an int32
FLOAT16_IN_FLOAT32_SCALE: Final = 2.0**112  # their exponents are biased by 15 and by 127


class ExactIndex:
    """A ``port.VectorIndex`` over a numpy array."""

    def __init__(self, dim: int) -> None:
        import numpy as np

        self.dim = dim
        self._rows: Rows = np.empty((limits.EXACT_FIRST_ROWS, dim), np.float16)
        self._keys: list[int] = []
        self._place: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: int) -> bool:
        return key in self._place

    def __iter__(self) -> Iterator[int]:
        return iter(self._keys)

    def copy(self) -> ExactIndex:
        """An index of its own with the same content."""
        import numpy as np

        twin = ExactIndex(self.dim)
        twin._keys, twin._place = list(self._keys), dict(self._place)
        twin._rows = np.array(self._rows[: max(len(self._keys), 1)])
        return twin

    def blocks(self, size: int) -> Iterator[tuple[list[int], Rows]]:
        """All of it in turn: up to `size` keys and their rows."""
        for start in range(0, len(self._keys), size):
            keys = self._keys[start : start + size]
            yield keys, self._rows[start : start + len(keys)]

    def add(self, key: int, vector: AnyVector) -> None:
        place = self._place.setdefault(key, len(self._keys))
        if place == len(self._keys):
            self._keys.append(key)
            self._make_room(len(self._keys))
        self._rows[place] = vector

    def remove(self, key: int) -> None:
        place = self._place.pop(key, None)
        if place is None:
            return
        last = self._keys.pop()
        if last != key:
            self._keys[place] = last
            self._place[last] = place
            self._rows[place] = self._rows[len(self._keys)]

    def search(self, vector: AnyVector, k: int) -> list[tuple[int, float]]:
        if not self._keys or k < 1:
            return []
        return nearest(self._keys, cosines(self._rows[: len(self._keys)], vector), k)

    def save(self, path: Path) -> None:
        import numpy as np

        count = len(self._keys)
        keys = np.array(self._keys, "<i8")

        def write(aside: Path) -> None:
            with aside.open("wb") as file:
                file.write(HEAD.pack(count, self.dim))
                file.write(keys.tobytes())
                file.write(self._rows[:count].astype("<f2", copy=False).tobytes())

        write_sealed(path, write)

    def load(self, path: Path) -> None:
        import numpy as np

        self._keys, self._place = [], {}
        payload = read_sealed(path)
        if len(payload) < HEAD.size:
            raise Unreadable(f"{path.name} has no head")
        count, dim = HEAD.unpack_from(payload)
        if dim != self.dim or len(payload) != HEAD.size + count * (8 + 2 * dim):
            raise Unreadable(f"{path.name} is of another shape")
        keys = np.frombuffer(payload, "<i8", count, HEAD.size)
        stored = np.frombuffer(payload, "<f2", count * dim, HEAD.size + keys.nbytes)
        self._keys = [int(key) for key in keys]
        self._place = {key: place for place, key in enumerate(self._keys)}
        self._rows = np.array(stored.reshape(count, dim), np.float16)

    def _make_room(self, count: int) -> None:
        import numpy as np

        if count > len(self._rows):
            grown = np.empty((max(count, 2 * len(self._rows)), self.dim), np.float16)
            grown[: len(self._rows)] = self._rows
            self._rows = grown


def cosines(rows: Rows, vector: AnyVector) -> npt.NDArray[np.float32]:
    """float32 [len(rows)]: products with a unit vector, widened block by block so that no full float32 copy exists."""
    import numpy as np

    scaled = np.asarray(vector, np.float32) * np.float32(FLOAT16_IN_FLOAT32_SCALE)
    found = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), limits.EXACT_BLOCK_ROWS):
        block = rows[start : start + limits.EXACT_BLOCK_ROWS]
        found[start : start + len(block)] = shifted(block) @ scaled
    return found


def shifted(rows: Rows) -> npt.NDArray[np.float32]:
    """Finite float16 as float32, divided by FLOAT16_IN_FLOAT32_SCALE, exactly.

    numpy widens one number at a time; moving all bits at once takes a sixth of the time. The sign, extended by the cast
    to 32 bits, is still the top bit after the shift.
    """
    import numpy as np

    bits = np.ascontiguousarray(rows).view(np.int16).astype(np.int32)
    bits <<= np.int32(FLOAT16_IN_FLOAT32_SHIFT)
    bits &= np.int32(FLOAT16_IN_FLOAT32_BITS)
    return bits.view(np.float32)


def nearest(keys: list[int], found: npt.NDArray[np.float32], k: int) -> list[tuple[int, float]]:
    """The `k` greatest as (key, cosine), best first, equal ones by smaller key."""
    import numpy as np

    if k < len(keys):
        floor = np.partition(found, len(keys) - k)[len(keys) - k]
        places = np.flatnonzero(found >= floor)
    else:
        places = np.arange(len(keys))
    best = sorted((-float(found[place]), keys[place]) for place in places.tolist())
    return [(key, -negated) for negated, key in best[:k]]
