"""Backups and exports on the wire, and what restoring and importing answer (docs/export.md, docs/json.md).

A backup is begun by one request and asked after by the next ones, with the job that the first gave: it runs on a thread of its own.
An export comes in pieces, each asked for with the token that the first gave: the daemon holds one snapshot for all of them, and
lets it go when nobody has asked for a while.

A restore and an import take the place of the store while no daemon has it open, so they are no verbs: the command has them done
by a process of the daemon's package, which takes the daemon's locks."""

import msgspec

from memd_client.asking import Request


class BackupReply(msgspec.Struct, frozen=True, kw_only=True):
    """How far a backup is; the counts are what it holds."""

    job: str
    path: str
    ended: bool = False
    done_bytes: int = 0
    of_bytes: int = 0  # about: what the store takes on disk
    code: str = ""  # of the refusal with which it ended; "" for none
    message: str = ""
    bytes: int = 0
    made_at: str = ""
    store: str = ""
    notes: int = 0
    events: int = 0
    commits: int = 0
    turns: int = 0
    seconds: float = 0.0
    told: list[str] = []


class Backup(Request, frozen=True):
    """Begins a backup into a new file; with ``job`` how far that one is."""

    VERB = "backup"
    REPLY = BackupReply

    path: str = ""  # absolute
    job: str = ""


class ExportReply(msgspec.Struct, frozen=True, kw_only=True):
    """The next stretch of an export: ``piece`` ends anywhere in a line. ``done`` and ``of``: lines, of about how many."""

    token: str
    piece: bytes
    ended: bool = False
    done: int = 0
    of: int = 0
    notes: int = 0
    events: int = 0
    commits: int = 0
    turns: int = 0
    damaged: int = 0  # rows that could not be read, so far: they are left out


class Export(Request, frozen=True):
    """Begins an export; with ``token`` its next stretch, or with ``drop`` its end."""

    VERB = "export"
    REPLY = ExportReply

    token: str = ""
    drop: bool = False


class RestoredOut(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore put in place; ``kept`` is the folder with what was there before, "" where there was nothing."""

    notes: int
    events: int
    commits: int
    turns: int
    made_at: str = ""
    store: str = ""
    kept: str = ""
    faults: int = 0
    told: list[str] = []


class ImportedOut(msgspec.Struct, frozen=True, kw_only=True):
    """What an import brought. ``relation``: of the export to what was here: `new` (this home is that store now), `same`, `other`.

    ``withheld``: what the redactor kept out; ``forgotten``: texts of notes that were forgotten here; ``wrong``: lines passed over.
    """

    relation: str
    lines: int
    commits: int = 0
    events: int = 0
    notes: int = 0
    texts: int = 0
    turns: int = 0
    turns_left: int = 0
    withheld: list[str] = []
    withheld_count: int = 0
    forgotten: int = 0
    wrong: list[str] = []
    wrong_count: int = 0
    faults: int = 0
    kept: str = ""
    told: list[str] = []
