"""Of a report: what lies in memd's home. Names only of memd's own files; of all else how many, and how large."""

import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from memd_client import wire
from memd_client.cli.bundle_scene import Scene, Section, owner_of, tried

FOLDERS = (
    *(".", "bin", "run", "logs", "store", "store/log", "store/ledger", "index", "index/words", "index/vectors"),
    *("keys", "spool", "policy", "backup", "replaced", "bench"),
)
FILE_SYSTEMS = (
    *("ext4", "ext3", "ext2", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "ramfs", "overlay", "apfs", "hfs", "nfs", "nfs4"),
    *("cifs", "smb3", "9p", "drvfs", "virtiofs", "fuse", "fuseblk", "vfat", "exfat", "ntfs3", "ecryptfs", "squashfs"),
)
OPTIONS = ("rw", "ro", "noexec", "nosuid", "nodev", "relatime", "noatime", "sync", "dirsync")
NS_PER_S = 1_000_000_000
KINDS = {
    stat.S_IFDIR: "folder",
    stat.S_IFREG: "file",
    stat.S_IFLNK: "link",
    stat.S_IFSOCK: "socket",
    stat.S_IFIFO: "pipe",
}
_ESCAPE = re.compile(r"\\(\d{3})")


def home(scene: Scene) -> Section:
    """The folder, the disk under it, and its files: kind, mode, owner, size in bytes."""
    if scene.home is None:
        return {"folder": "no variable names one: neither MEMD_HOME nor HOME is set"}
    folder = scene.home
    return {
        "folder": scene.clean.path(str(folder)),
        "is the default": not scene.environ.get("MEMD_HOME"),
        "length of its path": len(os.fsencode(folder)),
        "reached by a link": os.path.realpath(folder) != str(folder),
        "spooled": tried(_spooled, folder / "spool"),
        "owner": scene.owner,
        "disk": tried(disk, folder),
        "files": {name: tried(_files, scene, folder, name) for name in FOLDERS}
        if os.path.lexists(folder)
        else "the folder is not there",
    }


def disk(folder: Path) -> Section:
    """The disk that a folder lies on, or would: its kind, how it is mounted, what is free of it."""
    there = next((up for up in (folder, *folder.parents) if os.path.exists(up)), Path("/"))
    room = os.statvfs(there)
    return {
        **_mounted(os.path.realpath(there)),
        "free bytes": room.f_bavail * room.f_frsize,
        "free files": room.f_favail,
        "writable": os.access(there, os.W_OK),
    }


def _mounted(path: str) -> Section:
    """Kind and options of the mount that ``path`` is on; never its source, which may name a server."""
    kind, told, longest = "another", "", -1
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        mount, _, source = line.partition(" - ")
        at = _ESCAPE.sub(lambda found: chr(int(found.group(1), 8)), mount.split()[4])
        if len(at) >= longest and (path == at or path.startswith(at.rstrip("/") + "/")):
            kind, told, longest = source.split()[0], mount.split()[5], len(at)
    options = [one for one in told.split(",") if one in OPTIONS]
    is_known = kind in FILE_SYSTEMS or kind.partition(".")[0] == "fuse"
    return {"kind": kind.partition(".")[0] if is_known else "another", "options": options}


def _files(scene: Scene, home: Path, name: str) -> list[str] | str:
    """A line for the folder itself and for each file in it that memd gave its name; one for all the others."""
    folder = home / name if name != "." else home
    if not os.path.lexists(folder):
        return "not there"
    lines, others, bytes_of_others = [f"itself: {row(folder)}"], 0, 0
    if folder.is_dir():
        for path in _sorted(folder):
            told = scene.clean.path(str(path))
            if told.endswith("…") or told == "<path>":
                others, bytes_of_others = others + 1, bytes_of_others + path.lstat().st_size
            elif path.relative_to(home).as_posix() not in FOLDERS:
                lines.append(f"{path.name}: {row(path)}")
    return [*lines, f"others: {others}, {bytes_of_others} bytes"] if others else lines


def _spooled(folder: Path) -> Section:
    """How many calls wait, half written ones too, and since when; the daemon's own count needs a daemon."""
    if not folder.is_dir():
        return {"waiting": 0}
    names = [path.name for path in folder.iterdir()]
    whole = sorted(name for name in names if name.endswith(os.fsdecode(wire.SPOOL_SUFFIX)) and name[:20].isdecimal())
    since = {"oldest s": int(time.time()) - int(whole[0][:20]) // NS_PER_S} if whole else {}
    return {"waiting": len(whole), "half written": sum(name.startswith(".") for name in names), **since}


def _sorted(folder: Path) -> Iterator[Path]:
    return iter(sorted(folder.iterdir()))


def row(path: Path) -> str:
    """Mode, kind, owner and size of a file, a link itself."""
    seen = path.lstat()
    kind = KINDS.get(stat.S_IFMT(seen.st_mode), "device")
    return f"{stat.S_IMODE(seen.st_mode):04o} {kind} of {owner_of(seen.st_uid)}, {seen.st_size} bytes"
