"""The link in the user's own folder of programs: made where shells look, over nothing, and taken away while it is memd's."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from memd_hooks import install, registry
from memd_hooks.install import Done
from tests.hooks.place import Place, all_files


class Linked(Place):
    """A place with a program, and no `memd` on its PATH."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.program = root / "env" / "bin" / "memd"
        self.program.parent.mkdir(parents=True)
        self.program.write_text("#!/bin/sh\n")
        self.program.chmod(0o755)
        self.bin = self.user / ".local" / "bin"
        self.link = self.bin / "memd"
        self.search("/usr/bin:/bin")

    def search(self, path: str, **more: str) -> None:
        environ: Mapping[str, str] = {**self.environ, "PATH": path, **more}
        self.environ = environ

    def put_in(self, program: Path | None = None) -> Done:
        plan = install.plan(["claude"], "user", self.home, self.cwd, self.environ, program or self.program)
        return install.apply(plan)

    def take_out(self, *harnesses: str) -> Done:
        return install.uninstall(harnesses or install.HARNESSES, self.home, self.cwd, self.environ)


@pytest.fixture
def place(tmp_path: Path) -> Linked:
    return Linked(tmp_path)


@pytest.mark.parametrize("is_there", [True, False])
def test_the_link_is_made_where_shells_look_and_goes_again(place: Linked, is_there: bool) -> None:
    """In a folder that is there, or one that the PATH names; a folder that memd made goes with it."""
    if is_there:
        place.bin.mkdir(parents=True)
    else:
        place.search(f"{place.bin}:/usr/bin:/bin")
    place.put_in()
    assert place.link.readlink() == place.program
    assert place.put_in().steps == (), "twice is once"
    place.take_out()
    assert not place.link.is_symlink()
    assert place.bin.exists() is is_there
    assert registry.load(place.home) == registry.Registry()


def test_without_such_a_folder_there_is_no_link(place: Linked) -> None:
    """Nobody would look there."""
    place.put_in()
    assert not place.bin.exists()


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_what_is_there_is_left_alone(place: Linked, kind: str, tmp_path: Path) -> None:
    """A program of that name is somebody's, also a link that leads nowhere; an uninstall does not touch it either."""
    place.bin.mkdir(parents=True)
    if kind == "file":
        place.link.write_text("another program")
    else:
        place.link.symlink_to(tmp_path / ("user" if kind == "link" else "gone"))
    before = (all_files(place.bin), place.link.is_symlink() and place.link.readlink())
    place.put_in()
    place.take_out()
    assert (all_files(place.bin), place.link.is_symlink() and place.link.readlink()) == before


def test_a_link_that_became_somebody_elses_stays(place: Linked) -> None:
    """Only the record goes."""
    place.bin.mkdir(parents=True)
    place.put_in()
    place.link.unlink()
    place.link.write_text("another program")
    place.take_out()
    assert place.link.read_text() == "another program"
    assert registry.load(place.home) == registry.Registry()


def test_an_environment_that_moved_is_linked_to_anew(place: Linked, tmp_path: Path) -> None:
    """The link is memd's own, so it may be turned."""
    place.bin.mkdir(parents=True)
    place.put_in()
    moved = tmp_path / "elsewhere" / "memd"
    moved.parent.mkdir()
    place.program.rename(moved)
    place.put_in(moved)
    assert place.link.readlink() == moved
    place.take_out()
    assert not place.link.is_symlink()


@pytest.mark.parametrize(("activated", "is_linked"), [("", False), ("/env", True)])
def test_where_the_word_works_already_there_is_nothing_to_link(place: Linked, activated: str, is_linked: bool) -> None:
    """Unless it works in an activated environment's shell alone."""
    place.bin.mkdir(parents=True)
    place.search(f"{place.program.parent}:/usr/bin:/bin", VIRTUAL_ENV=activated)
    place.put_in()
    assert place.link.is_symlink() is is_linked


def test_the_link_stays_as_long_as_something_may_be_installed(place: Linked) -> None:
    """Taking one client out is no goodbye; the launcher of the hooks goes with the last of them all the same."""
    place.bin.mkdir(parents=True)
    place.put_in()
    place.take_out("claude")
    assert place.link.is_symlink()
    assert not (place.home / "bin" / "hook").exists()
