"""File anchors: what counts as the same file, and that no file can hold the daemon up."""

import errno
import itertools
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.ground import contents, repository
from memd_daemon.ground.contents import content_digest
from memd_daemon.ground.deadline import OutOfTime
from memd_daemon.ground.files import FileGround
from memd_daemon.model.event import Anchor

LONG_AGO_NS = 1_700_000_000_000_000_000


def aged(path: Path) -> Path:
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    return path


@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n", b"\n\r", b""]), max_size=12))
def test_line_ends_count_as_one_wherever_blocks_are_cut(blocks: list[bytes]) -> None:
    """CRLF, CR and LF are one line end, also where the two bytes of one lie in two blocks."""
    whole = b"".join(blocks)
    normal = whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert content_digest(blocks) == content_digest([whole]) == content_digest([normal])


def test_another_content_is_another_digest(tmp_path: Path) -> None:
    """The size alone decides nothing."""
    file, ground = tmp_path / "f", FileGround()
    file.write_bytes(b"one\n")
    aged(file)
    first = ground.digest(str(tmp_path), "f")
    file.write_bytes(b"two\n")
    assert ground.digest(str(tmp_path), "f") != first


def test_a_fifo_that_comes_between_the_look_and_the_reading_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading one would wait for a writer for ever, with every other hook behind it."""
    regular, fifo = tmp_path / "regular", tmp_path / "fifo"
    regular.write_bytes(b"x")
    os.mkfifo(fifo)
    look = os.stat
    monkeypatch.setattr(os, "stat", lambda path, **_: look(regular if path == str(fifo) else path))
    assert FileGround().digest(str(tmp_path), fifo.name) is None


def test_a_file_that_takes_longer_than_there_is_time_is_unknown_and_not_changed(tmp_path: Path) -> None:
    """The deadline holds within a file too; without one the file is read, and then it is known."""
    file, ground = tmp_path / "f", FileGround()
    file.write_bytes(b"x" * (2 * limits.FILE_BLOCK_BYTES))
    aged(file)
    digest = FileGround().digest(str(tmp_path), file.name)
    assert digest is not None
    with pytest.raises(OutOfTime):
        ground.digest(str(tmp_path), file.name, time.monotonic_ns() - 1)
    anchor = Anchor(path="f", digest=digest)
    (late,) = ground.statuses(tmp_path, "main", (anchor,), time.monotonic_ns() - 1)
    assert (late.unknown, late.signal) == (True, "")
    (now,) = ground.statuses(tmp_path, "main", (anchor,))
    assert (now.unknown, now.signal) == (False, "")
    assert ground.digest(str(tmp_path), file.name, time.monotonic_ns() - 1) == digest


@pytest.mark.parametrize(("there", "signal"), [("same", ""), ("other", "anchor_changed"), ("", "anchor_missing")])
def test_what_is_said_of_an_anchor(tmp_path: Path, there: str, signal: str) -> None:
    """Outside git a file that is not there is missing."""
    anchor = Anchor(path="f", digest=content_digest([b"same"]))
    if there:
        (tmp_path / "f").write_text(there)
    (told,) = FileGround().statuses(tmp_path, "", (anchor,))
    assert told.signal == signal


@pytest.mark.parametrize(("times", "is_known"), [(0, True), (1, True), (2, True), (3, False)])
def test_a_file_that_is_written_to_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, *, is_known: bool
) -> None:
    """What a half-written file held is neither kept for an anchor nor told as a change; one that never rests is unknown."""
    whole, look, calls = b"a whole content\n", os.fstat, itertools.count()
    file = tmp_path / "f"
    file.write_bytes(whole)
    written = iter([*[b"a whole"] * (times - 1), whole][:times])

    def written_to(descriptor: int) -> os.stat_result:
        seen = look(descriptor)
        content = next(written, None) if next(calls) % 2 == 0 else None  # between the look at its state and the reading
        if content is not None:
            file.write_bytes(content)
            os.utime(file, ns=(0, seen.st_mtime_ns + limits.NS_PER_MS))
        return seen

    anchor = Anchor(path="f", digest=content_digest([whole]))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", written_to)
        (told,) = FileGround().statuses(tmp_path, "", (anchor,))
    assert (told.unknown, told.signal) == (not is_known, "")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with a file, a folder beside it, and somebody's file in that."""
    made = tmp_path / "root"
    made.mkdir()
    (made / "f.py").write_bytes(b"ours\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "f.py").write_bytes(b"theirs\n")
    return made


@pytest.fixture(params=["the system says it", "no /proc"])
def named(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the system says where a descriptor leads."""
    if request.param == "no /proc":
        monkeypatch.setattr(contents, "opened_as", lambda _: None)
        monkeypatch.setattr(repository, "opened_as", lambda _: None)


@pytest.mark.usefixtures("named")
def test_what_lies_below_is_read_also_by_a_link_to_the_checkout_and_nothing_else_is(root: Path) -> None:
    """A root that is a link, a file that is a link within and one to without, a folder that is, and one whose name begins so."""
    alias = root.with_name("alias")
    alias.symlink_to("root")
    (root / "in.py").symlink_to("f.py")
    (root / "out.py").symlink_to("../outside/f.py")
    (root / "folder").symlink_to("../outside")
    root.with_name("root-and-more").mkdir()
    root.with_name("root-and-more").joinpath("f.py").write_bytes(b"theirs\n")
    (root / "more.py").symlink_to("../root-and-more/f.py")
    ours = content_digest([b"ours\n"])
    for at in (str(root), str(alias)):
        told = [FileGround().digest(at, name) for name in ("f.py", "in.py", "out.py", "folder/f.py", "more.py")]
        assert told == [ours, ours, None, None, None]


def test_what_was_opened_is_asked_where_it_lies(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that becomes a link to somebody's between the look and the opening is not read."""
    opened = os.open

    def exchanged(path: str, *flags: int) -> int:
        file = root / "f.py"
        if path == str(file) and not file.is_symlink():
            file.unlink()
            file.symlink_to("../outside/f.py")
        return opened(path, *flags)

    monkeypatch.setattr(contents.os, "open", exchanged)
    assert FileGround().digest(str(root), "f.py") is None


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("is_removed", [False, True])
def test_what_is_there_once_it_is_open_says_nothing_of_what_was_opened(
    root: Path, monkeypatch: pytest.MonkeyPatch, *, is_removed: bool
) -> None:
    """A link to somebody's file that gives way to a file of the checkout between the opening and the look at the path."""
    file, theirs = root / "f.py", root.parent / "outside" / "f.py"
    file.unlink()
    file.symlink_to("../outside/f.py")
    opened = os.open

    def exchanged(path: str, flags: int) -> int:
        descriptor = opened(path, flags)
        if path == str(file) and file.is_symlink() and flags & getattr(os, "O_PATH", 0) == 0:
            file.unlink()
            file.write_bytes(b"ours\n")
            if is_removed:
                theirs.unlink()
        return descriptor

    monkeypatch.setattr(contents.os, "open", exchanged)
    assert FileGround().digest(str(root), "f.py") in (None, content_digest([b"ours\n"]))
    assert FileGround().digest(str(root), "f.py") == content_digest([b"ours\n"])


def test_a_path_that_cannot_be_followed_is_not_believed_by_its_name(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing says what was opened, and the links on the way come and go at each look."""
    (root / "folder").symlink_to("../outside")

    def failing(*_: object, **__: object) -> str:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(contents, "opened_as", lambda _: None)
    monkeypatch.setattr(repository, "opened_as", lambda _: None)
    monkeypatch.setattr(os.path, "realpath", failing)
    assert FileGround().digest(str(root), "folder/f.py") is None


def test_what_is_not_to_be_read_is_not_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file outside that is to be taken apart, and what is no regular file: the opening of a device alone does something."""
    (root / "out.py").symlink_to("../outside/f.py")
    os.mkfifo(root / "fifo.py")
    opened, seen = os.open, []

    def told(path: str, flags: int) -> int:
        if flags & getattr(os, "O_PATH", 0) == 0:
            seen.append(path)
        return opened(path, flags)

    monkeypatch.setattr(os, "open", told)
    assert FileGround().source(str(root), "out.py") is None
    assert FileGround().digest(str(root), "fifo.py") is None
    assert seen == []
    assert FileGround().source(str(root), "f.py") is not None
    assert seen == [str(root / "f.py")]


def test_a_file_that_is_named_like_a_removed_one_is_read(root: Path) -> None:
    """The system says of what was removed that it is: of such a name that is no word of the system's."""
    (root / "f.py (deleted)").write_bytes(b"ours\n")
    (root / "out.py (deleted)").symlink_to("../outside/f.py")
    ground = FileGround()
    assert ground.digest(str(root), "f.py (deleted)") == content_digest([b"ours\n"])
    assert ground.digest(str(root), "out.py (deleted)") is None


def test_a_link_to_what_nobody_here_may_read_is_no_file_of_the_checkout(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file of its own that may not be read it is not known what it holds."""
    (root / "out.py").symlink_to("../outside/f.py")
    opened = os.open

    def refused(path: str, flags: int, *mode: int) -> int:
        if flags & getattr(os, "O_PATH", 0) == 0:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, flags, *mode)

    monkeypatch.setattr(contents.os, "open", refused)
    assert contents.Contents().at(str(root / "out.py"), None, str(root)) is None
    with pytest.raises(contents.Unreadable):
        contents.Contents().at(str(root / "f.py"), None, str(root))
