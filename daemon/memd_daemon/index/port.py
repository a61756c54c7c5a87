"""The port of a vector index: nearest notes of one scope under one model.

Keys are note ids. Vectors have the dimension that the index was made with, any float type, unit length (an index does not
normalize, except what it needs to rank). A key stands once: adding it again replaces its vector, removing an absent one
does nothing. Results come best first, equal cosines by smaller key, and there are fewer than `k` only if the index holds
fewer. ``save`` is atomic and durable; ``load`` replaces what the index holds, or raises ``Unreadable`` and leaves it
empty. Not safe for concurrent use: ``vectors.ScopedVectors`` holds the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    AnyVector = npt.NDArray[Any]
    Rows = npt.NDArray[np.float16]

Fetch = Callable[[Sequence[int]], "Rows"]
"""Exact vectors by key, float16 [len(keys), dim], in the order asked; a row of zeros for an unknown key."""


class Unreadable(Exception):
    """A saved index that is missing, cut short, altered or of another shape; it is built anew from the store."""


class VectorIndex(Protocol):
    """See the module's docstring."""

    def __len__(self) -> int: ...

    def __contains__(self, key: int) -> bool: ...

    def add(self, key: int, vector: AnyVector) -> None: ...

    def remove(self, key: int) -> None: ...

    def search(self, vector: AnyVector, k: int) -> list[tuple[int, float]]:
        """The `k` nearest: (key, cosine)."""
        ...

    def __iter__(self) -> Iterator[int]:
        """Its keys."""
        ...

    def save(self, path: Path) -> None: ...

    def load(self, path: Path) -> None: ...
