"""Stretches of numbers that an export says were passed over: what makes no sense is refused, and no note is hidden."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_daemon import limits
from memd_daemon.store.backup_refused import ImportWrong, NotAnExport
from memd_daemon.store.check import verify
from tests.service.exchange_shop import Shop
from tests.service.test_exchange_repos import (
    desk_in,
    export_of,
)
from tests.store.exchanging import (
    imported,
    lines_of,
    notes_of,
    quick_folder,
    sealed,
)


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    with quick_folder() as root:
        yield Shop(root)


TOO_MANY = limits.IMPORT_STRETCHES_MAX + 1


@pytest.mark.parametrize(
    "passed",
    [
        [[0, 0]], [[5, 4]], [[-3, -1]], [[4, 4], [4, 4]], [[4, 6], [5, 9]], [[9, 9], [4, 4]], [[4, 4.5]], [["4", "5"]], [[4]],
        [4, 5], None, "x", [[4, True]], [[1 << 63, 1 << 64]], [[4, limits.IMPORT_NUMBER_MAX + 1]],
        [[n, n] for n in range(4, 4 + 2 * TOO_MANY, 2)],
    ],
)  # fmt: skip
def test_what_no_store_passes_over_is_wrong(shop: Shop, tmp_path: Path, passed: Any) -> None:
    """Nothing is taken."""
    with pytest.raises((ImportWrong, NotAnExport)):
        imported(tmp_path / "home", passing(shop.written(""), passed))
    assert not (tmp_path / "home" / "store").exists()


@pytest.mark.parametrize("relation", ["same", "new"])
@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        ([[1, 3]], 4),
        ([[2, 2]], 4),
        ([], 4),
        ([[4, limits.IMPORT_NUMBER_MAX - 1]], limits.IMPORT_NUMBER_MAX),
        ([[4, limits.IMPORT_NUMBER_MAX]], limits.IMPORT_NUMBER_MAX + 1),
    ],
)
def test_no_stretch_hides_a_note_or_keeps_the_next_from_an_export(
    shop: Shop, tmp_path: Path, passed: Any, expected: int, relation: str
) -> None:
    """Whatever it covers, and up to the last number that a line may give: what is written then comes back by an export."""
    raw, home = shop.written(""), tmp_path / "home"
    if relation == "same":
        imported(home, raw)
    imported(home, passing(raw, passed))
    with desk_in(home, shop.plain) as desk:
        made = [desk.remember(words).id for words in ("The next one.", "Deploys go through staging.")]
        assert made == [expected, expected + 1]
        assert verify(desk.daemon.parts.store) == []
        again = export_of(desk)
    imported(tmp_path / "again", again)
    assert sorted(notes_of(tmp_path / "again")) == [1, 2, 3, *made]


def test_stretches_of_several_exports_are_no_more_than_one_can_tell(shop: Shop, tmp_path: Path) -> None:
    """Else what this home exports would be refused, with all its notes."""
    raw, home = shop.written(""), tmp_path / "home"
    most = limits.IMPORT_STRETCHES_MAX
    imported(home, passing(raw, [[n, n] for n in range(4, 4 + 2 * most, 2)]))
    with pytest.raises(ImportWrong):
        imported(home, passing(raw, [[1_000_000, 1_000_000]]))
    with desk_in(home, shop.plain) as desk:
        again = export_of(desk)
    imported(tmp_path / "again", again)
    assert sorted(notes_of(tmp_path / "again")) == [1, 2, 3]


def passing(raw: bytes, passed: Any) -> bytes:
    """The export with these stretches in its first line."""
    lines = lines_of(raw)
    lines[0] |= {"format": 2, "passed": passed}
    return sealed(lines)
