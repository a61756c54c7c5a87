"""What people install: one wheel, with the three packages, their data, the types' marker, the licence and the command; and
the source that it is built from.
"""

import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.boundaries.source import PACKAGES, ROOT

DATA_SUFFIXES = {".toml", ".onnx", ".npy", ".json", ".typed"}
TOP_LEVELS = {*PACKAGES}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of this checkout, built once with the build backend that is installed: no network."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What the source distribution lists, its own folder's name taken off."""
    folder = tmp_path_factory.mktemp("sdist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder], cwd=ROOT, check=True)
    (built,) = folder.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def missing(listed: set[str], root: Path, package: str) -> set[str]:
    """The files of a package in the checkout that the wheel does not list."""
    files = {file for file in (root / package).rglob("*") if file.suffix in {".py", *DATA_SUFFIXES}}
    return {file.relative_to(root).as_posix() for file in files} - listed


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_and_data_file_is_in_the_wheel(wheel: zipfile.ZipFile, package: str) -> None:
    """Model, patterns and py.typed go with the code: an installed memd fetches nothing."""
    assert missing(set(wheel.namelist()), PACKAGES[package], package) == set()


def test_the_files_that_only_an_installed_memd_would_miss_are_there(wheel: zipfile.ZipFile) -> None:
    """Named one by one, so that a file that was lost from the checkout too is noticed."""
    listed = set(wheel.namelist())
    assert {f"{package}/py.typed" for package in PACKAGES} <= listed
    model_files = (
        "model.onnx",
        "tokenizer.json",
        "query_table.npy",
        "query_weights.npy",
        "memd_model.json",
        "SHA256SUMS",
    )
    assert {f"memd_daemon/index/model_data/{name}" for name in model_files} <= listed


def test_nothing_else_lands_in_site_packages(wheel: zipfile.ZipFile) -> None:
    """Three top-level names, no tests, no scripts, no compiled leftovers."""
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == TOP_LEVELS
    assert not [name for name in wheel.namelist() if name.endswith(".pyc")]


def test_the_metadata_name_the_command_and_the_licence(wheel: zipfile.ZipFile) -> None:
    """`memd` is the command; licence and notice travel along, for the model's sake too."""
    info = {name.partition("/")[2]: name for name in wheel.namelist() if ".dist-info/" in name}
    metadata = Parser().parsestr(wheel.read(info["METADATA"]).decode())
    assert metadata["License-Expression"] == "Apache-2.0"
    assert wheel.read(info["entry_points.txt"]).decode().split() == [
        "[console_scripts]",
        "memd",
        "=",
        "memd_client.cli:main",
    ]
    assert wheel.read(info["licenses/LICENSE"]).decode() == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "all-MiniLM-L6-v2" in wheel.read(info["licenses/NOTICE"]).decode()


def test_the_source_holds_all_that_checks_and_rebuilds_it(source: set[str]) -> None:
    """Tests, scripts (the model's too, which NOTICE names), floors and documents: whoever gets the source can do all of it."""
    wanted = {
        "pyproject.toml",
        ".importlinter",
        ".ci/run",
        "scripts/build_model.py",
        "scripts/_env.sh",
        "tests/boundaries/test_wheel.py",
        "tests/golden/push.txt",
        "docs/commands.md",
        *(file.name for file in ROOT.glob("*.md")),
        "LICENSE",
        "NOTICE",
    }
    assert wanted - source == set()
    for package, folder in PACKAGES.items():
        assert missing(source, ROOT, f"{folder.name}/{package}") == set()
    assert not [name for name in source if "__pycache__" in name or name.startswith(".venv")]


def test_the_checker_sees_a_lost_file(tmp_path: Path) -> None:
    """A data file beside the code that the listing lacks is named; other files are none of its business."""
    (tmp_path / "pkg").mkdir()
    for name in ("a.py", "b.toml", "notes.txt"):
        (tmp_path / "pkg" / name).touch()
    assert missing({"pkg/a.py"}, tmp_path, "pkg") == {"pkg/b.toml"}
