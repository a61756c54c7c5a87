"""One file has one path: case, normalization and links of it (staleness.md, "Anchors")."""

import os
import unicodedata
from pathlib import Path

import pytest

from memd_daemon import limits
from memd_daemon.ground import spelling
from memd_daemon.ground.repository import from_root, led, paths_of, real_path, relative_path
from memd_daemon.ground.spelling import Spelling, folds_case, located

COMPOSED = unicodedata.normalize("NFC", "café.py")
DECOMPOSED = unicodedata.normalize("NFD", "café.py")


def always(directory: str, name: str) -> bool | None:
    """A file system that folds case everywhere."""
    return True


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src" / "Deep").mkdir(parents=True)
    (tmp_path / "src" / "Deep" / "App.py").write_text("x")
    (tmp_path / "src" / COMPOSED).write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "on_disk"),
    [
        ("src/Deep/App.py", "src/Deep/App.py"),
        ("SRC/deep/APP.PY", "src/Deep/App.py"),
        ("Src/CAFÉ.py", f"src/{COMPOSED}"),
        (unicodedata.normalize("NFD", "SRC/Café.py"), f"src/{COMPOSED}"),
        ("SRC/Deep/New.py", "src/Deep/New.py"),
        ("SRC/New/App.py", "src/New/App.py"),
    ],
)
def test_where_case_folds_the_disks_own_spelling_counts(tree: Path, given: str, on_disk: str) -> None:
    """A name that is not there yet stays as it is, in a folder that is."""
    assert Spelling(always).of(f"{tree}/{given}") == f"{tree}/{on_disk}"


def test_where_it_does_not_nothing_is_listed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another case is another file, and a folder's names are nobody's concern."""
    monkeypatch.setattr(os, "scandir", None)
    assert Spelling().of(f"{tree}/SRC/deep") == f"{tree}/SRC/deep"
    assert Spelling().of(f"{tree}/src/Deep/App.py") == f"{tree}/src/Deep/App.py"


def test_of_two_names_that_differ_by_case_each_is_itself(tree: Path) -> None:
    """Such two are a folder's own on a disk that keeps them apart, whatever it was taken for."""
    (tree / "src" / "Deep" / "app.py").write_text("y")
    for name in ("App.py", "app.py"):
        assert Spelling(always).of(f"{tree}/src/Deep/{name}") == f"{tree}/src/Deep/{name}"


def test_a_name_that_comes_later_is_seen(tree: Path) -> None:
    """A listing counts until its folder changes."""
    spelled = Spelling(always)
    assert spelled.of(f"{tree}/src/other.py") == f"{tree}/src/other.py"
    (tree / "src" / "Other.py").write_text("x")
    os.utime(tree / "src", ns=(1, 1))
    assert spelled.of(f"{tree}/src/other.py") == f"{tree}/src/Other.py"


def test_a_huge_folder_is_not_listed_to_its_end(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook has no time for it; the name stays as it was given."""
    monkeypatch.setattr(limits, "FOLDER_LISTED_MAX", 1)
    assert Spelling(always).of(f"{tree}/src/deep") == f"{tree}/src/deep"


def test_a_folder_is_asked_once(tree: Path) -> None:
    """And again only while its names could not tell."""
    asked: list[str] = []

    def folds(directory: str, name: str) -> bool | None:
        asked.append(f"{directory.rstrip('/')}/{name}")
        return False if name == "App.py" else None

    spelled = Spelling(folds)
    for _ in range(2):
        spelled.of(f"{tree}/src/Deep/App.py")
    assert asked.count(f"{tree}/src/Deep/App.py") == 1
    assert asked.count(f"{tree}/src") == 2


def test_the_file_system_is_asked_by_the_other_case(tmp_path: Path) -> None:
    """Another file under it, or none: no; the same file: yes; a name without letters, or without a file, cannot tell."""
    (tmp_path / "a.py").write_text("x")
    (tmp_path / "1").write_text("x")
    assert folds_case(str(tmp_path), "a.py") is False
    (tmp_path / "A.PY").write_text("x")
    assert folds_case(str(tmp_path), "a.py") is False
    (tmp_path / "A.PY").unlink()
    os.link(tmp_path / "a.py", tmp_path / "A.PY")
    assert folds_case(str(tmp_path), "a.py") is True
    assert folds_case(str(tmp_path), "1") is None
    assert folds_case(str(tmp_path), "b.py") is None


def test_known_folders_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deep trees by the thousand do not grow the daemon, and are spelled all the same."""
    monkeypatch.setattr(limits, "FOLDERS_KNOWN_MAX", 2)
    (tmp_path / "A" / "B" / "C").mkdir(parents=True)
    assert Spelling(always).of(f"{tmp_path}/a/b/c") == f"{tmp_path}/A/B/C"


@pytest.mark.parametrize("name", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("folder", ["", unicodedata.normalize("NFD", "é/"), unicodedata.normalize("NFC", "é/")])
def test_a_path_leads_to_its_file_in_either_normalization(tmp_path: Path, folder: str, name: str) -> None:
    """A path is NFC wherever it is kept; the disk may hold it otherwise."""
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / name).write_text("x")
    for given in (folder + name, unicodedata.normalize("NFC", folder + name)):
        relative = relative_path(str(tmp_path), str(tmp_path), given)
        assert relative is not None
        assert relative == unicodedata.normalize("NFC", folder + name)
        assert Path(located(str(tmp_path), relative)).exists()


def test_a_file_that_is_not_there_is_looked_for_under_its_own_name(tmp_path: Path) -> None:
    """The NFC path is where it would be written."""
    assert located(str(tmp_path), COMPOSED) == f"{tmp_path}/{COMPOSED}"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("link.py", "link.py"),
        ("./src/../link.py", "link.py"),
        ("src/Deep/App.py", None),
        ("src/Deep/..", None),
        ("gone.py", None),
        ("", None),
        ("a\0b", None),
        ("/etc", None),
    ],
)
def test_a_link_has_a_path_of_its_own(tree: Path, given: str, found: str | None) -> None:
    """Beside that of the file it leads to."""
    (tree / "link.py").symlink_to("src/Deep/App.py")
    where = led(str(tree), given)
    assert (from_root(str(tree), where.link) if where.link else None) == found
    if found:
        assert paths_of(str(tree), where) == ["src/Deep/App.py", "link.py"]


@pytest.mark.parametrize(
    "given",
    [
        *(
            "src/Deep/App.py",
            "src/Deep/new.py",
            "src",
            "src/",
            "src/..",
            ".",
            "",
            "/",
            "..",
            "//etc//passwd",
            "nowhere/at/all.py",
        ),
        *("link.py", "link.py/", "loop", "dangling", "into/App.py", "into/../App.py", "into"),
        *("a\0b", "half\ud800.py", "bytes\udcff.py", "x" * 5_000, "x/" * 2_100 + "y"),
    ],
)
def test_where_a_name_leads_is_its_real_path(tree: Path, given: str) -> None:
    """Looking at the last part by itself gives what a walk from the root gives, for whatever anybody names."""
    (tree / "link.py").symlink_to("src/Deep/App.py")
    (tree / "loop").symlink_to("loop")
    (tree / "dangling").symlink_to("nowhere/file.py")
    (tree / "into").symlink_to("src/Deep")
    assert led(str(tree), given).real == real_path(os.path.join(str(tree), given))  # noqa: PTH118 -- as it joins


def test_the_real_spelling_is_the_one_in_use() -> None:
    """What the daemon asks is the file system itself."""
    assert spelling.ON_DISK._folds_case is folds_case  # pyright: ignore[reportPrivateUsage] - the seam is what is tested
