"""What is opened and turns out to be something else: it is closed again, and nothing outside a checkout is read as its own."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memd_daemon import limits
from memd_daemon.ground import contents, policy_files, repository, tracked
from memd_daemon.ground.contents import content_digest
from memd_daemon.ground.files import FileGround
from memd_daemon.model.event import Anchor
from tests.service.desk import git, make_repo

OURS, THEIRS = b"ours, and long enough to be followed\n", b"theirs, and long enough to be followed\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with a file, and somebody's folder beside it."""
    made = tmp_path / "root"
    made.mkdir()
    (made / "f.py").write_bytes(OURS)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "f.py").write_bytes(THEIRS)
    return made


def left_open(path: Path) -> int:
    """How many descriptors of this process are of that path."""
    found = 0
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 -- names are all that is asked
        try:
            found += os.readlink(f"/proc/self/fd/{name}") == str(path)  # noqa: PTH115 -- as above
        except OSError:  # the listing's own
            continue
    return found


def read_head(root: Path) -> Path:
    git_dir = make_repo(root / "repo") / ".git"
    (git_dir / "HEAD").unlink()
    (git_dir / "HEAD").mkdir()
    assert repository.find_checkout(str(root / "repo")).branch == ""
    return git_dir / "HEAD"


def read_ref(root: Path) -> Path:
    """A branch that has no commit yet, and whose name is a folder of other branches."""
    repo = make_repo(root / "repo")
    git(repo, "branch", "topic/one")
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    assert repository.head_of(repository.find_checkout(str(repo))) == ""
    return repo / ".git" / "refs" / "heads" / "topic"


def read_file(root: Path) -> Path:
    """It was a file when it was looked at."""
    path = root / "f.py"
    as_if = contents.Contents()
    path.unlink()
    path.mkdir()
    assert as_if.read(str(path), None, str(root)) is None
    return path


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc to count descriptors by")
@pytest.mark.parametrize("read", [read_head, read_ref, read_file])
def test_a_directory_in_the_place_of_a_file_is_closed_again(root: Path, read: Callable[[Path], Path]) -> None:
    """A daemon that leaves one open at each look can open nothing more after a thousand."""
    assert left_open(read(root)) == 0


def test_a_policy_file_that_becomes_a_directory_is_closed_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the opening."""
    look, file = os.stat, root / "f.py"
    folder = root / "folder"
    folder.mkdir()
    monkeypatch.setattr(os, "stat", lambda path, **more: look(file if path == str(folder) else path, **more))
    with pytest.raises(policy_files.Unfit):
        policy_files.read(str(folder))
    assert left_open(folder) == 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="nothing says where a descriptor leads")
@pytest.mark.parametrize("name", ["f.py", "f.py (deleted)"])
def test_somebodys_file_that_goes_while_it_is_read_is_not_the_checkouts(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link led to it when it was opened, and a file of the checkout stands there when it is asked where that lies: whether it
    was removed, or only has a name as if."""
    theirs, link = root.parent / "outside" / "f.py", root / "f.py"
    theirs = theirs.rename(theirs.with_name(name))
    link.unlink()
    link.symlink_to(theirs)
    opened = os.open

    def exchanged(path: str, *flags: int) -> int:
        descriptor = opened(path, *flags)
        if path == str(link) and link.is_symlink():
            if name == "f.py":
                theirs.unlink()
            link.unlink()
            link.write_bytes(OURS)
        return descriptor

    monkeypatch.setattr(os, "open", exchanged)
    assert FileGround().digest(str(root), "f.py") != content_digest([THEIRS])


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="nothing says where a descriptor leads")
def test_a_file_of_the_checkout_that_goes_while_it_is_read_is_its_own(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was opened below it was there."""
    file, opened = root / "f.py", os.open

    def removed(path: str, *flags: int) -> int:
        descriptor = opened(path, *flags)
        if path == str(file):
            file.unlink()
            file.symlink_to("../outside/f.py")
        return descriptor

    monkeypatch.setattr(os, "open", removed)
    assert FileGround().digest(str(root), "f.py") == content_digest([OURS])


@pytest.mark.parametrize("is_moved", [True, False])
def test_what_a_folder_leads_to_outside_is_nowhere_a_file_went(tmp_path: Path, *, is_moved: bool) -> None:
    """The index names a file in a folder that has become a link, by a move or as an added one: a file of the same content stands at
    its end, and is somebody else's."""
    repo = make_repo(tmp_path / "repo")
    content, digest = (repo / "app.py").read_bytes(), content_digest([(repo / "app.py").read_bytes()])
    (repo / "lib").mkdir()
    if is_moved:
        git(repo, "mv", "app.py", "lib/app.py")
    else:
        (repo / "lib" / "app.py").write_bytes(content)
        git(repo, "add", "lib/app.py")
        (repo / "app.py").unlink()
    (repo / "lib").rename(tmp_path / "elsewhere")
    (repo / "lib").symlink_to("../elsewhere")
    anchor = Anchor(path="app.py", digest=digest)
    (told,) = FileGround().statuses(repo, "main", (anchor,))
    assert (told.signal, told.detail) == ("anchor_missing", "")
    (repo / "lib").unlink()
    (tmp_path / "elsewhere").rename(repo / "lib")
    (told,) = FileGround().statuses(repo, "main", (anchor,))
    assert (told.signal, told.detail) == ("anchor_renamed", "lib/app.py")


@pytest.fixture(params=["fifo", "link", "endless", "large"])
def instead(request: pytest.FixtureRequest, root: Path) -> Path:
    """What has come in the place of a file of the checkout."""
    file = root / "f.py"
    file.unlink()
    if request.param == "fifo":
        os.mkfifo(file)
    elif request.param == "large":
        file.write_bytes(b"x" * (limits.RESULT_FILE_MAX_BYTES + 1))
    else:
        file.symlink_to("/dev/zero" if request.param == "endless" else "../outside/f.py")
    return file


def test_a_file_of_which_a_result_spoke_is_looked_at_as_what_it_is_by_then(root: Path, instead: Path) -> None:
    """It was one when the result came; whoever waited for a FIFO's writer would hold up all results behind this one."""
    assert tracked.content_of(str(root), instead.name) == ""


def test_a_file_as_it_stands_is_the_text_of_a_result(root: Path) -> None:
    """The others are refused for what they are."""
    assert tracked.content_of(str(root), "f.py") == OURS.decode()


def test_a_link_that_is_none_when_it_is_followed_leads_somewhere(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link of which the system says nothing, since it led nowhere, has become a file by then: it is looked at again."""
    link, follow = root / "link.py", os.readlink
    link.symlink_to("nowhere.py")

    def followed(path: str) -> str:
        if path == str(link):
            link.unlink()
            link.write_bytes(OURS)
        return follow(path)

    monkeypatch.setattr(os, "readlink", followed)
    assert repository.resolved(str(link)) == str(link)


def test_a_way_that_never_stands_still_is_taken_as_it_is_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is always a path."""

    def never(_: str) -> str:
        raise OSError(errno.EINVAL, "Invalid argument")

    (root / "link.py").symlink_to("nowhere.py")
    monkeypatch.setattr(os, "readlink", never)
    assert repository.resolved(f"{root}/../root/link.py") == str(root / "link.py")
