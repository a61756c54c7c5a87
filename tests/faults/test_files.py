"""Files of memd's home beside the store's own, deleted, cut, full of garbage, or with a folder in their place.

Each is made again or set aside: the daemon serves, every note is there and found, the prompt of now is kept. In one run every file
is harmed in every way, all at once and each time otherwise; MEMD_FILES=alone tries each alone, and each pair.
"""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.faults.place import Place

FILES: Final = (
    "store/ledger/data.mdb",
    "store/ledger/lock.mdb",
    "store/ledger/boot",
    "store/ledger/closed",
    "store/log/lock.mdb",
    "store/log/closed",
    "index/words/memd.json",
    "index/words/meta.json",
    "index/vectors/scopes.json",
    "run/address",
    "run/status.json",
    "run/daemon.lock",
    "run/starting",
    "run/refused",
    "run/unreachable-until",
    "logs/fault",
    "logs/daemon.log",
    "writer.lock",
    "spool/00000000000000000001-00.spool",
)
CLAIMS: Final = ("The queue drains in order.", "The cache is written at midnight.")


def _deleted(path: Path) -> None:
    if path.exists():
        path.unlink()


def _cut(path: Path) -> None:
    if path.exists():
        os.truncate(path, path.stat().st_size // 2)


def _garbage(path: Path) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(os.urandom(5_000))


def _folder(path: Path) -> None:
    _deleted(path)
    path.mkdir(parents=True)
    (path / "somebody's").touch()


WAYS: Final[tuple[Callable[[Path], None], ...]] = (_deleted, _cut, _garbage, _folder)
OWN_FOLDER: Final = ("store/log/lock.mdb", "store/ledger/boot", "store/ledger/lock.mdb")
"""Where a folder is refused in words: nobody but a person puts one into the store's own folder."""

Harm = tuple[tuple[str, Callable[[Path], None]], ...]


def harms() -> Iterator[Harm]:
    """In each round the n-th file is harmed in the (n + round)-th way."""
    if os.environ.get("MEMD_FILES") == "alone":
        single = [(name, way) for name in FILES for way in WAYS]
        yield from ((one,) for one in single)
        yield from ((one, other) for one, other in itertools.combinations(single, 2) if one[0] != other[0])
        return
    for turn in range(len(WAYS)):
        yield tuple((name, WAYS[(turn + n) % len(WAYS)]) for n, name in enumerate(FILES))


@pytest.fixture(scope="module")
def first() -> Iterator[Place]:
    """A home with an index that was saved, and its daemon down."""
    made = Place()
    for claim in CLAIMS:
        made.note(claim)
    made.start()
    made.prompt("said before")
    with made.client() as memd:
        memd.reindex()
    made.down()
    yield made
    made.close()


def _told(harm: Harm) -> str:
    return (
        " + ".join(f"{name} {way.__name__}" for name, way in harm)
        if len(harm) < 3
        else f"all, {harm[0][1].__name__} first"
    )


@pytest.mark.parametrize("harm", list(harms()), ids=_told)
def test_a_harmed_file_keeps_memd_from_nobody(first: Place, harm: Harm) -> None:
    """Hooks say nothing wrong, the command answers, notes are found by their words, and verify is clean."""
    place = Place()
    place.repository = first.repository
    try:
        shutil.copytree(first.home, place.home, ignore=shutil.ignore_patterns("bin"))
        for name, way in harm:
            if way is not _folder or name not in OWN_FOLDER:
                way(place.home / name)
        assert place.start().harmless
        assert place.prompt("said now").harmless
        assert place.notes() == set(CLAIMS)
        assert place.verified() == []
        assert "said now" in place.turns()
        with place.client() as memd:
            memd.reindex()
            assert CLAIMS[1] in memd.recall("when is the cache written?", k=1).text
    finally:
        place.close()
