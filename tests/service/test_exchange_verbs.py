"""The daemon's own part of backups and exports: verbs that hold nobody up, of one moment, and that leave nothing open."""

import time
from pathlib import Path

import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.service import exchange
from memd_daemon.store import backup, backup_refused
from tests.service.desk import Desk
from tests.store.exchanging import imported, place, restore_into


def ended(desk: Desk, reply: api.BackupReply) -> api.BackupReply:
    """The backup's last word; it is waited for by asking, as the command does."""
    while not reply.ended:
        reply = desk.ask(api.Backup(job=reply.job))
    return reply


def whole(desk: Desk, reply: api.ExportReply) -> bytes:
    pieces = [reply.piece]
    while not reply.ended:
        reply = desk.ask(api.Export(token=reply.token))
        pieces.append(reply.piece)
    return b"".join(pieces)


def test_a_backup_is_made_while_the_daemon_works_on(desk: Desk, tmp_path: Path) -> None:
    """Notes go on being recorded; what it holds is what its answer says, and it is restored as that."""
    desk.remember("Known to the backup.")
    reply = desk.ask(api.Backup(path=str(tmp_path / "a")))
    desk.remember("Recorded while it was being made, or after.")
    last = ended(desk, reply)
    assert (last.code, last.bytes) == ("", (tmp_path / "a").stat().st_size)
    assert restore_into(tmp_path / "other", tmp_path / "a").notes == last.notes
    assert desk.recall("Recorded while it was being made").found


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_backup_is_written_over_nothing(desk: Desk, tmp_path: Path, kind: str) -> None:
    """Whatever has the name keeps it."""
    path = tmp_path / "a"
    {"file": path.touch, "folder": path.mkdir, "link": lambda: path.symlink_to("nowhere")}[kind]()
    with pytest.raises(backup_refused.BackupExists):
        desk.ask(api.Backup(path=str(path)))


def test_a_backup_that_cannot_be_written_says_why_and_leaves_nothing(desk: Desk, tmp_path: Path) -> None:
    """No such folder; the next one is made all the same."""
    last = ended(desk, desk.ask(api.Backup(path=str(tmp_path / "none" / "a"))))
    assert last.code == "backup-unwritable"
    assert "No such file or directory" in last.message
    assert ended(desk, desk.ask(api.Backup(path=str(tmp_path / "a")))).code == ""


def test_a_disk_that_fills_up_leaves_no_half_a_backup(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told as such, and the folder is as it was."""

    def full(*_: object, **__: object) -> None:
        raise errors.StoreFull

    monkeypatch.setattr(backup, "write", full)
    (tmp_path / "b").mkdir()
    last = ended(desk, desk.ask(api.Backup(path=str(tmp_path / "b" / "a"))))
    assert (last.code, "the disk is full" in last.message) == ("backup-unwritable", True)
    assert list((tmp_path / "b").iterdir()) == []


def test_what_fails_inside_is_told_too(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a backup that will never end."""
    told: list[object] = []
    monkeypatch.setattr("threading.excepthook", told.append)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(backup, "write", broken)
    assert ended(desk, desk.ask(api.Backup(path=str(tmp_path / "a")))).code == "fault"


@pytest.mark.parametrize(
    ("request_", "refusal"),
    [
        (api.Backup(path="a"), errors.BadRequest),
        (api.Backup(job="ab"), backup_refused.NoSuchJob),
        (api.Export(token="ab"), backup_refused.NoSuchExport),
    ],
)
def test_what_is_not_there_is_refused(desk: Desk, request_: api.Request, refusal: type[Exception]) -> None:
    """A path that stands nowhere, a job and a token of another daemon."""
    with pytest.raises(refusal):
        desk.ask(request_)


def test_a_key_in_the_home_is_named_as_left_out(desk: Desk, tmp_path: Path) -> None:
    """So that nobody believes it to be safe with the rest."""
    (desk.home / "keys").mkdir()
    (desk.home / "keys" / "a.key").touch()
    last = ended(desk, desk.ask(api.Backup(path=str(tmp_path / "a"))))
    assert any(str(desk.home / "keys") in told for told in last.told)
    assert b"a.key" not in (tmp_path / "a").read_bytes()


def test_an_export_is_of_one_moment_however_long_it_takes(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is recorded between two pieces is not in it; it can be taken in as it is."""
    monkeypatch.setattr(limits, "EXPORT_PIECE_BYTES", 100)
    desk.remember("Known to the export.")
    begun = desk.ask(api.Export())
    assert len(begun.piece) == 100
    desk.remember("Recorded between two pieces.")
    raw = whole(desk, begun)
    assert b"Recorded between" not in raw
    assert imported(tmp_path / "other", raw).notes == 1
    assert whole(desk, desk.ask(api.Export())).count(b'"is":"commit"') == 2


def test_an_export_that_nobody_goes_on_with_is_let_go(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while, at once where its asker says so, and one that ended by itself."""
    monkeypatch.setattr(limits, "EXPORT_PIECE_BYTES", 10)
    left, dropped = desk.ask(api.Export()), desk.ask(api.Export())
    assert desk.ask(api.Export(token=dropped.token, drop=True)).ended
    now = time.monotonic()
    monkeypatch.setattr(exchange.time, "monotonic", lambda: now + limits.EXPORT_IDLE_S)
    desk.daemon.later.exports._drop_idle()
    monkeypatch.undo()
    for token in (left.token, dropped.token):
        with pytest.raises(backup_refused.NoSuchExport):
            desk.ask(api.Export(token=token))


def test_only_so_many_exports_are_open(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holds a snapshot; when one has ended there is room again."""
    monkeypatch.setattr(limits, "EXPORT_PIECE_BYTES", 10)
    open_ = [desk.ask(api.Export()) for _ in range(limits.EXPORTS_OPEN_MAX)]
    with pytest.raises(backup_refused.ExportsOpen):
        desk.ask(api.Export())
    whole(desk, open_[0])
    assert desk.ask(api.Export()).token


def test_a_daemon_that_goes_leaves_no_snapshot_open(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its store closes at once, though somebody is in the middle of an export."""
    monkeypatch.setattr(limits, "EXPORT_PIECE_BYTES", 10)
    begun = desk.ask(api.Export())
    desk.close()
    with pytest.raises(backup_refused.NoSuchExport):
        desk.daemon.later.exports.export(api.Export(token=begun.token))
    assert place(desk.home).settled() == []
