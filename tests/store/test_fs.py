"""Where a store may lie, and what is said of places where it may not."""

from pathlib import Path

import pytest

from memd_daemon.errors import NetworkFileSystem
from memd_daemon.store import fs
from memd_daemon.store.lmdb_log import open_store


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"), ("/home/a", "ext4"), ("/net/x", "nfs4"), ("/net/local", "xfs"), ("/netx", "ext4"),
        ("/my docs/a", "fuse.sshfs"), ("/over", "cifs"),
    ],
)  # fmt: skip
def test_the_kind_is_that_of_the_innermost_mount(path: str, kind: str) -> None:
    """Longest mount point wins, the later of two on one point too, and escapes are read."""
    mounts = "\n".join([
        "1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/vda rw",
        "2 1 0:50 / /net rw - nfs4 server:/ rw",
        "3 2 8:2 / /net/local rw - xfs /dev/vdb rw",
        r"4 1 0:51 / /my\040docs rw - fuse.sshfs host: rw",
        "5 1 8:3 / /over rw - ext4 /dev/vdc rw",
        "6 1 0:52 / /over rw - cifs //host/x rw",
        "a line that is none",
    ])  # fmt: skip
    assert fs.kind_of(Path(path), mounts) == kind


@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        ("ext4", False), ("xfs", False), ("btrfs", False), ("zfs", False), ("tmpfs", False), ("overlay", False),
        ("fuse.ext2", False), ("fuseblk", False), ("", False), ("nfs", True), ("nfs4", True), ("cifs", True),
        ("smb3", True), ("9p", True), ("fuse.sshfs", True), ("fuse.rclone", True), ("fuse.gvfsd-fuse", True),
    ],
)  # fmt: skip
def test_network_kinds_are_refused(kind: str, refused: bool) -> None:
    """File systems of other machines, by their own name or FUSE's subtype."""
    assert bool(fs.unreliable_kind(kind)) is refused


def test_a_folder_that_is_kept_in_step_is_refused(home: Path) -> None:
    """The mark of a syncing program above the home: refused, nothing made, unless the user insists."""
    (home.parent / ".dropbox").mkdir()  # stands in the home of everybody who uses Dropbox
    fs.refuse_unreliable(home)
    (home.parent / ".stfolder").mkdir()
    with pytest.raises(NetworkFileSystem, match="kept in step"):
        open_store(home)
    assert not home.exists()
    open_store(home, accept_any_fs=True).close()
