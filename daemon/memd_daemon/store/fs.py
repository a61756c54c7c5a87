"""Where a store may lie: a folder of this user alone, on a disk whose locks and syncs can be relied on.

Linux names the kind of each mount in ``/proc/self/mountinfo`` (proc(5)), FUSE with its subtype. A folder that a program keeps in
step with other machines is an ordinary file system, so it is told by the marks those programs leave in it. Elsewhere than on Linux
the kind is unknown, and nothing is refused.
"""

import errno
import os
import re
import stat
from pathlib import Path
from typing import Final

from memd_daemon.errors import (
    DiskFailing,
    DiskReadOnly,
    FolderUnsafe,
    MemdError,
    NetworkFileSystem,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
)
from memd_daemon.limits import DISK_FULL_BYTES

DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600

NETWORK_KINDS: Final = frozenset({
    "nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "coda", "ceph", "glusterfs", "lustre", "gpfs", "beegfs",
    "9p", "ocfs2", "gfs2", "davfs", "ncpfs", "vboxsf", "prl_fs",
})  # fmt: skip
NETWORK_FUSE: Final = ("sshfs", "rclone", "s3fs", "gcsfuse", "davfs", "smbnetfs", "curlftpfs", "glusterfs", "gvfs", "goofys",
                       "google-drive", "onedrive", "juicefs", "seadrive", "vmhgfs")  # fmt: skip
"""Subtypes of FUSE that stand for another machine, or for files that another program rewrites."""

SYNC_MARKS: Final = (".dropbox.cache", ".stfolder", ".owncloudsync.log", ".nextcloudsync.log", ".tmp.driveupload")
"""What Dropbox, Syncthing, ownCloud, Nextcloud and Google Drive leave at the top of a folder that they keep in step.

(``~/.dropbox`` is no such mark: it holds Dropbox's settings and stands in the home of everybody who uses it.)
"""

_ESCAPED = re.compile(r"\\([0-7]{3})")

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM})
_UNWRITABLE: Final = frozenset({errno.EACCES, errno.EPERM})


def typed(code: int, words: str, folder: Path) -> MemdError:
    """The error of memd for an errno from below."""
    if code in _FULL:
        return StoreFull()
    if code == errno.EROFS:
        return DiskReadOnly(folder)
    if code in _UNWRITABLE:
        return StoreReadOnly(folder)
    if code == errno.EIO:
        return DiskFailing(words)
    return StoreDamaged(words)


def is_full(folder: Path) -> bool:
    """Whether the disk has hardly a page left for this user."""
    try:
        room = os.statvfs(folder)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < DISK_FULL_BYTES


def prepare(home: Path, *parts: str, accept_any_fs: bool = False) -> Path:
    """The folder ``home/parts…``, made where it is missing, readable and writable by this user alone whatever the umask.

    Raises NetworkFileSystem, FolderUnsafe, StoreReadOnly, StoreFull.
    """
    if not accept_any_fs:
        refuse_unreliable(home)
    folder = home
    try:
        make_own(home, may_be_link=True)
        for part in parts:
            folder = folder / part
            make_own(folder)
    except OSError as error:
        raise typed(error.errno or 0, str(error), folder) from error
    return folder


def make_own(folder: Path, *, may_be_link: bool = False) -> None:
    """Makes a folder with mode 0700, and what is missing above it, all durable, or gives an existing one of this user that mode.

    ``may_be_link``: the home may be a link to a folder of this user, what lies in it may not. Raises FolderUnsafe, OSError.
    """
    if not folder.parent.exists():
        _make_above(folder.parent)
    try:
        folder.mkdir(mode=DIRECTORY_MODE)
    except FileExistsError:
        close_to_others(folder, may_be_link=may_be_link)
        return
    folder.chmod(DIRECTORY_MODE)
    sync_folder(folder.parent)


def _make_above(folder: Path) -> None:
    """The folders that are missing, outermost first: a power cut that takes one of them takes all that is in it."""
    if not folder.parent.exists():
        _make_above(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def close_to_others(folder: Path, *, may_be_link: bool = False) -> None:
    """Gives a folder of this user mode 0700. Raises FolderUnsafe where it is a link, no folder, or another user's, and OSError."""
    found = folder.stat() if may_be_link else folder.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise FolderUnsafe(folder, "is a link", "put the folder itself there")
    if not stat.S_ISDIR(found.st_mode):
        raise FolderUnsafe(folder, "is no folder", "move it away")
    if found.st_uid != os.getuid():
        raise FolderUnsafe(
            folder, f"belongs to another user (uid {found.st_uid})", "set MEMD_HOME to a folder of your own"
        )
    if found.st_mode & stat.S_ISVTX:
        raise FolderUnsafe(folder, "is a folder that users share", "set MEMD_HOME to a folder of your own")
    if stat.S_IMODE(found.st_mode) != DIRECTORY_MODE:
        folder.chmod(DIRECTORY_MODE)


def make_private(path: Path) -> None:
    """Makes an empty file with mode 0600, or gives an existing one that mode. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != FILE_MODE:
            os.fchmod(descriptor, FILE_MODE)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refuse_unreliable(home: Path) -> None:
    """Raises NetworkFileSystem where ``home`` lies, or would lie, on another machine or in a folder that is kept in step."""
    real = home.resolve()
    kind = unreliable_kind(kind_of(real, _mounts()))
    if kind:
        raise NetworkFileSystem(home, kind)
    for folder in (real, *real.parents):
        for mark in SYNC_MARKS:
            if _stands(folder / mark):
                raise NetworkFileSystem(home, f"a folder that is kept in step with other machines ({folder})")


def _stands(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False  # a folder above that this user may not search is no folder that he keeps in step


def unreliable_kind(kind: str) -> str:
    """``kind`` itself where it is one to refuse, else ""."""
    kind = kind.lower()
    if kind in NETWORK_KINDS:
        return kind
    fuse, _, subtype = kind.partition(".")
    return kind if fuse.startswith("fuse") and any(name in subtype for name in NETWORK_FUSE) else ""


def kind_of(path: Path, mounts: str) -> str:
    """The file system kind of the mount that ``path`` lies on, from the text of mountinfo; "" where it is not known."""
    best: tuple[int, str] = (-1, "")
    for line in mounts.splitlines():
        left, dash, right = line.partition(" - ")
        fields = left.split(" ")
        if not dash or len(fields) < 5:
            continue
        point = Path(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), fields[4]))
        depth = len(point.parts)
        if depth >= best[0] and (point == path or point in path.parents):
            best = (depth, right.split(" ")[0])
    return best[1]


def _mounts() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
