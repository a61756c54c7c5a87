"""The lexical index whose files were harmed: it starts empty, and finds the same once all was said again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memd_daemon.index.words import WordIndex
from tests.index.test_words import NOTES, filled


def remove_seal(folder: Path) -> None:
    (folder / "memd.json").unlink()


def cut_seal(folder: Path) -> None:
    (folder / "memd.json").write_bytes((folder / "memd.json").read_bytes()[:-5])


def flip_segment(folder: Path) -> None:
    segment = next(path for path in sorted(folder.iterdir()) if path.suffix == ".idx")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)


def lose_segment(folder: Path) -> None:
    next(path for path in sorted(folder.iterdir()) if path.suffix == ".term").unlink()


def older_meta(folder: Path) -> None:
    (folder / "meta.json").write_text("{}")


def empty_list(folder: Path) -> None:
    """The library's own list of its files, which no seal covers."""
    (folder / ".managed.json").write_bytes(b"")


@pytest.mark.parametrize("harm", [remove_seal, cut_seal, flip_segment, lose_segment, older_meta, empty_list])
def test_a_harmed_folder_starts_empty_and_is_filled_again(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """No mark, no notes, no exception; the same answers after everything was said again."""
    folder = tmp_path / "words"
    index = filled(folder)
    index.flush(5)
    before = index.search("workspace lock", ["repo:a"], 5)
    index.close()
    harm(folder)
    again = WordIndex(folder)
    assert (again.mark, again.search("workspace lock", ["repo:a"], 5)) == (None, [])
    for key, text in NOTES.items():
        again.add(key, "repo:a", text)
    again.flush(5)
    assert again.search("workspace lock", ["repo:a"], 5) == before
