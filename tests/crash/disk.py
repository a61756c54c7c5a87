"""What may be on a disk after a power cut: a recorded run (recording.c), up to one of its records.

A disk keeps what was synced. Of what was not, anything may be there or not, whatever its order:

- **Bytes** of a file count from its last fsync or fdatasync on, or from their own write where the file is open with O_DSYNC. Later
  writes may be there each by itself, and each in part: any of its pages (4,096 bytes) or sectors (512). What lies in the file's
  length and was never written reads as zeros, and the length may be the one from before or the one from after.
- **Names** count from the last fsync of their folder on: of a file that was made, renamed or removed, and of a folder. A rename is
  there as a whole or not at all. That a file was synced says nothing of its name.

`Disk` takes the records one by one; `Disk.state` gives one disk that may be left, by a `Choice`. Nothing here knows memd.
"""

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

HEAD: Final = struct.Struct("<BB6xQQQII")
ACK: Final = "A"
"""The kind of a record that no victim makes: what somebody was told, in its bytes."""

SECTOR: Final = 512
PAGE: Final = 4096


class Record(NamedTuple):
    """One call of a victim, by its kind.

    Contents: W bytes were written, T a length was set, M a file was mapped to be written through. Syncs: S of a file, H likewise,
    with what it held, D of a folder, with its names. Names: C of a file that was made, K of a folder, R renamed, X exchanged for
    each other, L linked, U removed. And A: `ACK`.
    """

    kind: str
    is_dsync: bool
    inode: int
    offset: int
    content: bytes
    path: str
    other: str


def encode_ack(told: bytes) -> bytes:
    """An acknowledgement as it is appended to a journal, in one write."""
    return HEAD.pack(ord(ACK), 0, 0, 0, len(told), 0, 0) + told


def read_journal(journal: Path) -> list[Record]:
    """Every record. Raises ValueError where the last one is not whole."""
    raw, at, records = journal.read_bytes(), 0, []
    while at < len(raw):
        kind, is_dsync, inode, offset, size, path, other = HEAD.unpack_from(raw, at)
        start = at + HEAD.size
        parts = [raw[start : (start := start + n)] for n in (path, other, size)]
        if start > len(raw):
            raise ValueError(f"a record at {at} that was cut")
        at = start
        record = Record(chr(kind), bool(is_dsync), inode, offset, parts[2], parts[0].decode(), parts[1].decode())
        records.append(record)
    return records


class Change(NamedTuple):
    """Bytes that a file may have; ``content`` None: the length that it may have, from ``offset`` on nothing."""

    offset: int
    content: bytes | None


@dataclass(eq=False)
class File:
    """What of a file is on disk, and what may be."""

    synced: bytearray = field(default_factory=bytearray)
    open: list[Change] = field(default_factory=list)

    def sync(self) -> None:
        for change in self.open:
            _apply(self.synced, change)
        self.open.clear()


@dataclass(eq=False)
class Folder:
    """The names in a folder: on disk, as the victim sees them, and the changes between: (which call it was, name, what it then
    names, None for nothing)."""

    synced: "dict[str, File | Folder]" = field(default_factory=dict)
    now: "dict[str, File | Folder]" = field(default_factory=dict)
    open: "list[tuple[int, str, File | Folder | None]]" = field(default_factory=list)

    def change(self, call: int, name: str, what: "File | Folder | None") -> None:
        self.open.append((call, name, what))
        _name(self.now, name, what)

    def sync(self) -> None:
        self.synced = dict(self.now)
        self.open.clear()

    def sync_with(self, calls: set[int]) -> None:
        """A call that is on disk with another folder is here, too, and whatever came before it."""
        until = max((at for at, (call, _, _) in enumerate(self.open, 1) if call in calls), default=0)
        for _, name, what in self.open[:until]:
            _name(self.synced, name, what)
        del self.open[:until]


@dataclass(frozen=True)
class Choice:
    """Which of what is not synced is there.

    Each change of a name with the probability ``names``; each of a file with ``writes``, or each ``piece`` of so many bytes of it.
    ``length`` of a file of which something is missing: the "old" one, the "new" one, or as far as what is there reaches,
    "written".
    """

    names: float = 0.0
    writes: float = 0.0
    piece: int = 0
    length: str = "written"
    seed: int = 0


class Disk:
    """A disk that begins empty. ``root``: the recorded folder, whose own name counts."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._top = Folder()
        self._files: dict[int, File] = {}
        self._calls = 0
        self.mapped: set[str] = set()  # paths of files that bytes may have got into without a record

    def take(self, record: Record) -> None:
        """The next record. Raises KeyError for a name that no record has made."""
        self._calls += 1
        match record.kind:
            case "W" | "T":
                self._change(record)
            case "S" | "H":
                file = self._file(record)
                file.sync()
                if record.kind == "H":
                    file.synced[:] = record.content
            case "D":
                self._sync_folder(record)
            case "C":
                self._files[record.inode] = File()  # whoever had this number before has gone
                self._place(record.path, self._files[record.inode])
            case "K":
                self._files.pop(record.inode, None)  # likewise
                self._place(record.path, Folder())
            case "R" | "X" | "L" | "U":
                self._rename(record)
            case "M":
                self.mapped.add(record.path)

    def _sync_folder(self, record: Record) -> None:
        """Also what a library renamed unseen is known by its number; what is not known at all is a socket."""
        folder = self._folder(record.path)
        pairs = (entry.split(b" ", 1) for entry in record.content.split(b"\0") if entry)
        listed = {name.decode(): self._files.get(int(inode)) for inode, name in pairs}
        known = {name: folder.now.get(name) if file is None else file for name, file in listed.items()}
        folder.now = {name: what for name, what in known.items() if what is not None}
        calls = {call for call, _, _ in folder.open}
        folder.sync()
        for other in self._folders(self._top):
            other.sync_with(calls)

    def _change(self, record: Record) -> None:
        file = self._file(record)
        change = Change(record.offset, record.content if record.kind == "W" else None)
        file.open.append(change)  # also where it is synced: what is open before it must not come out on top of it
        if record.is_dsync:
            _apply(file.synced, change)

    def _file(self, record: Record) -> File:
        """The file of a record; one that libc made unseen has its name from here on."""
        known = self._files.get(record.inode)
        if record.path.endswith(" (deleted)"):
            return known or File()
        if known is None or self._folder(str(Path(record.path).parent)).now.get(Path(record.path).name) is not known:
            known = self._files[record.inode] = File()
            self._place(record.path, known)
        return known

    def _place(self, path: str, what: File | Folder | None) -> None:
        above = self._folder(str(Path(path).parent))
        above.change(self._calls, Path(path).name, what)

    def _rename(self, record: Record) -> None:
        above = self._folder(str(Path(record.path).parent))
        what = above.now.get(Path(record.path).name)
        if what is None:
            return  # a socket, or what libc made unseen and nobody synced
        other = None
        if record.kind == "X":
            other = self._folder(str(Path(record.other).parent)).now[Path(record.other).name]
        if record.kind != "U":
            self._place(record.other, what)
        if record.kind != "L":
            self._place(record.path, other)

    def _folders(self, folder: Folder) -> Iterator[Folder]:
        yield folder
        for what in folder.now.values():
            if isinstance(what, Folder):
                yield from self._folders(what)

    def _folder(self, path: str) -> Folder:
        folder = self._top
        for name in Path(path).relative_to(self._root).parts:
            found = folder.now[name]
            assert isinstance(found, Folder), path
            folder = found
        return folder

    @property
    def open(self) -> int:
        """How many changes are not synced."""
        folders = list(self._folders(self._top))
        files = {id(what): what for folder in folders for what in folder.now.values() if isinstance(what, File)}
        return sum(len(folder.open) for folder in folders) + sum(len(file.open) for file in files.values())

    def state(self, choice: Choice, target: Path) -> None:
        """Makes one of the disks that a cut now may leave, in the folder ``target``, which is made."""
        _Cut(choice).build(self._top, target)


class _Cut:
    """One state: what is there by the choice, each call as a whole."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._chance = random.Random(choice.seed)
        self._calls: dict[int, bool] = {}

    def build(self, folder: Folder, target: Path) -> None:
        target.mkdir(mode=0o700)
        for name, what in self._names(folder).items():
            if isinstance(what, Folder):
                self.build(what, target / name)
            else:
                (target / name).write_bytes(self._content(what))
                (target / name).chmod(0o600)

    def _names(self, folder: Folder) -> dict[str, File | Folder]:
        names = dict(folder.synced)
        for call, name, what in folder.open:
            if call not in self._calls:
                self._calls[call] = self._chance.random() < self._choice.names
            if self._calls[call]:
                _name(names, name, what)
        return names

    def _content(self, file: File) -> bytes:
        held, whole = bytearray(file.synced), bytearray(file.synced)
        for change in file.open:
            _apply(whole, change)
            for piece in self._pieces(change):
                if self._chance.random() < self._choice.writes:
                    _apply(held, piece)
        if held != whole and self._choice.length != "written":
            _apply(held, Change(len(whole if self._choice.length == "new" else file.synced), None))
        return bytes(held)

    def _pieces(self, change: Change) -> Iterator[Change]:
        if change.content is None or not self._choice.piece:
            yield change
            return
        at, end = change.offset, change.offset + len(change.content)
        while at < end:
            until = min(at - at % self._choice.piece + self._choice.piece, end)
            yield Change(at, change.content[at - change.offset : until - change.offset])
            at = until


def _apply(held: bytearray, change: Change) -> None:
    if change.content is None:
        del held[change.offset :]
        held.extend(bytes(change.offset - len(held)))
        return
    held.extend(bytes(max(0, change.offset - len(held))))
    held[change.offset : change.offset + len(change.content)] = change.content


def _name(names: dict[str, File | Folder], name: str, what: File | Folder | None) -> None:
    if what is None:
        names.pop(name, None)
    else:
        names[name] = what
