"""backup, restore, export and import as a person types them, with a real daemon."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memd_daemon.exchanged import held
from tests.cli.world import PROGRAM, WAIT_S, Ran, World

MORE_THAN_A_PIPE_BYTES = 1 << 20
LOCKS = """
import fcntl, os, sys
for name, lock in (("run/daemon.lock", fcntl.flock), ("writer.lock", fcntl.lockf)):
    descriptor = os.open(os.path.join(sys.argv[1], name), os.O_RDWR)
    try:
        lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        print("free")
    except OSError:
        print("held")
"""


def contents(world: World) -> list[str]:
    """What every note says, oldest first."""
    ran = world.memd("list", "--all-scopes", "--all", "--json")
    assert ran.code == 0, ran.err
    return [note["content"] for note in reversed(ran.json)]


def pid_of(world: World) -> int:
    return int(json.loads((world.home / "run" / "status.json").read_text())["pid"])


def done(ran: Ran) -> Ran:
    assert ran.code == 0, ran.err
    return ran


def test_a_backup_and_back_again(fresh: World) -> None:
    """The dated file in the home directory is private; a restore puts it back in one step under a daemon that runs, keeps what was
    there, and that comes back the same way."""
    fresh.note("In the backup.")
    made = done(fresh.memd("backup", "--json")).json
    path = Path(made["path"])
    assert path.parent == fresh.user_home
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (made["notes"], made["ended"], made["bytes"]) == (1, True, path.stat().st_size)
    fresh.note("After it.")
    before = pid_of(fresh)
    code, shown = fresh.at_terminal("restore", str(path))
    assert (code, "restored" in shown) == (0, True)
    assert "What was here had gone on: 1 note, 1 event more" in " ".join(shown.split())
    assert contents(fresh) == ["In the backup."]
    assert pid_of(fresh) != before
    (kept,) = (fresh.home / "replaced").iterdir()
    assert str(kept) in shown.replace("\n", "")
    assert fresh.at_terminal("restore", str(kept))[0] == 0
    assert contents(fresh) == ["In the backup.", "After it."]
    assert done(fresh.memd("verify", "--json")).json["faults"] == []
    assert done(fresh.memd("recall", "After it")).out


def test_a_damaged_store_is_restored_though_no_daemon_can_serve_it(fresh: World) -> None:
    """memd names the way back, and it is one; what was damaged is kept, and its fault is no reason not to."""
    fresh.note("In the backup.")
    path = fresh.folder / "a"
    done(fresh.memd("backup", str(path)))
    done(fresh.memd("stop"))
    file = fresh.home / "store" / "log" / "data.mdb"
    os.truncate(file, file.stat().st_size // 2)
    refused = fresh.memd("start")
    assert (refused.code, "`memd restore`" in refused.err) == (3, True)
    code, shown = fresh.at_terminal("restore", str(path))
    assert (code, "could not be read" in " ".join(shown.split())) == (0, True)
    done(fresh.memd("start"))
    assert contents(fresh) == ["In the backup."]


def test_a_restore_without_a_daemon_starts_none(fresh: World) -> None:
    """What did not run does not run afterwards."""
    fresh.note("In the backup.")
    path = fresh.folder / "a"
    done(fresh.memd("backup", str(path)))
    done(fresh.memd("stop"))
    assert fresh.at_terminal("restore", str(path))[0] == 0
    assert not (fresh.home / "run" / "address").exists()


@pytest.mark.parametrize("words", [("backup", "{}"), ("export", "{}")])
def test_nothing_is_written_over(world: World, words: tuple[str, str]) -> None:
    """Exit 1, what is there stays, and the sentence says what to do."""
    path = world.folder / f"taken-{words[0]}"
    path.write_text("mine")
    ran = world.memd(words[0], words[1].format(path))
    assert (ran.code, path.read_text()) == (1, "mine")
    assert "name another file" in ran.err
    assert [one.name for one in world.folder.iterdir() if one.name.endswith(".part")] == []


def test_an_agents_shell_restores_nothing(world: World) -> None:
    """A restore can bring keys: told so, and nothing is touched."""
    world.note("It stays.")
    path = world.folder / "by-an-agent"
    done(world.memd("backup", str(path)))
    before, pid = contents(world), pid_of(world)
    ran = world.memd("restore", str(path), "--json", CLAUDECODE="1")
    assert (ran.code, ran.json["error"]["code"]) == (1, "person-needed")
    assert "in a terminal of your own" in ran.err
    assert (contents(world), pid_of(world)) == (before, pid)


def test_what_is_no_backup_is_said_in_one_line(world: World) -> None:
    """Exit 1; the daemon was not even stopped."""
    world.note("It stays too.")
    pid = pid_of(world)
    path = world.folder / "no-backup"
    path.write_text("{}")
    code, shown = world.at_terminal("restore", str(path))
    assert (code, "is no backup of memd" in " ".join(shown.split())) == (1, True)
    assert pid_of(world) == pid


def test_an_export_in_a_file_and_in_a_pipe_are_the_same(world: World) -> None:
    """To the byte; and it is JSON Lines."""
    world.note("It is in the export.")
    path = world.folder / "a.jsonl"
    told = done(world.memd("export", str(path), "--json")).json
    assert told["lines"] == len(path.read_bytes().splitlines())
    assert done(world.memd("export", "-")).out == path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [json.loads(line)["is"] for line in path.read_bytes().splitlines()][:: told["lines"] - 1] == [
        "memd-export",
        "end",
    ]


def test_an_export_is_taken_in_from_a_file_and_from_a_pipe(world: World) -> None:
    """Into a new home: the same to the byte, once, sound; a daemon that ran runs again."""
    world.note("It goes elsewhere.")
    raw = done(world.memd("export", "-")).out
    path = world.folder / "b.jsonl"
    path.write_bytes(raw)
    there = str(world.folder / "there")
    assert done(world.memd("import", str(path), "--json", MEMD_HOME=there)).json["relation"] == "new"
    assert done(world.memd("export", "-", MEMD_HOME=there)).out == raw
    again = done(world.memd("import", "-", "--json", stdin=raw, MEMD_HOME=there)).json
    assert (again["relation"], again["events"], again["kept"]) == ("same", 0, "")
    told = done(world.memd("import", str(path), MEMD_HOME=there)).out.decode()
    assert told == f"imported: nothing that was not here already, of {len(raw.splitlines())} lines\n"
    assert done(world.memd("status", "--json", MEMD_HOME=there)).json["daemon"]["state"] == "running"
    assert done(world.memd("verify", "--json", MEMD_HOME=there)).json["faults"] == []
    done(world.memd("stop", MEMD_HOME=there))


def test_wrong_lines_are_named_and_nothing_is_taken(world: World) -> None:
    """Exit 1 with the numbers; with --skip-wrong the rest comes, and they are named all the same."""
    world.note("A line of it will be wrong.")
    lines = done(world.memd("export", "-")).out.splitlines(keepends=True)
    lines[2] = b"nonsense\n"
    path = world.folder / "wrong.jsonl"
    path.write_bytes(b"".join(lines))
    there = str(world.folder / "wrong")
    ran = world.memd("import", str(path), MEMD_HOME=there)
    assert ran.code == 1
    assert "line 3: is no line of an export" in ran.err
    assert not (world.folder / "wrong" / "store").exists()
    told = done(world.memd("import", str(path), "--skip-wrong", MEMD_HOME=there)).out.decode()
    assert "passed over: line 3: is no line of an export" in told


def test_an_export_to_stdout_is_nothing_else(world: World) -> None:
    """--json would mix two documents: usage, exit 2."""
    assert world.memd("export", "-", "--json").code == 2


def test_nobody_else_has_the_home_while_it_is_held(fresh: World) -> None:
    """The daemon that ran is gone, and both of its locks are taken, so no other begins to serve or to write."""
    fresh.note("Held.")
    with held(fresh.home):
        words = [sys.executable, "-I", "-c", LOCKS, str(fresh.home)]
        assert subprocess.run(words, capture_output=True, check=True).stdout.split() == [b"held", b"held"]
        assert not (fresh.home / "run" / "address").exists()
    assert contents(fresh) == ["Held."]
    assert os.path.lexists(fresh.home / "run" / "address")


def test_the_other_kind_of_file_is_sent_to_the_other_command(world: World) -> None:
    """An export is no backup, a backup no export: either refusal names the way in."""
    world.note("In either.")
    backup, export = world.folder / "one kind", world.folder / "the other"
    said = done(world.memd("backup", str(backup))).out.decode()
    assert f"restore '{backup}'` puts it back" in said  # as it has to be typed
    said = done(world.memd("export", str(export))).out.decode()
    assert f"import '{export}'` takes it in" in said
    code, shown = world.at_terminal("restore", str(export))
    assert (code, "goes in by `memd import`" in " ".join(shown.split())) == (1, True)
    ran = world.memd("import", str(backup))
    assert (ran.code, "goes in by `memd restore`" in ran.err) == (1, True)


@pytest.mark.parametrize("what", ["backup", "export"])
def test_a_folder_that_is_not_there_is_made_by_nobody(world: World, what: str) -> None:
    """Whoever wrote the slash meant a folder, not a file of that name."""
    ran = world.memd(what, f"{world.folder}/no-folder/")
    assert (ran.code, "There is no folder" in ran.err) == (1, True)
    assert not (world.folder / "no-folder").exists()


def test_a_ctrl_c_ends_an_import_in_one_line(fresh: World) -> None:
    """It waits for standard input: interrupted, with nothing of the process behind it, and the daemon goes on."""
    fresh.note("It stays.")
    words = [sys.executable, "-I", "-c", PROGRAM, "import", "-"]
    with subprocess.Popen(
        words,
        cwd=fresh.repository,
        env=fresh.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C goes to the whole group
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b" " * MORE_THAN_A_PIPE_BYTES)  # done once the process behind it reads
        os.killpg(process.pid, signal.SIGINT)
        out, told = process.communicate(timeout=WAIT_S)
    assert (process.returncode, out, told.decode().split()) == (130, b"", ["memd:", "interrupted"])
    assert contents(fresh) == ["It stays."]


def test_what_was_replaced_is_listed_until_it_is_removed(fresh: World) -> None:
    """With its size and the words that bring it back or remove it; also while no daemon answers."""
    fresh.note("Before.")
    path = Path(done(fresh.memd("backup", "--json")).json["path"])
    assert done(fresh.memd("status", "--json")).json["kept"] == []
    assert fresh.at_terminal("restore", str(path))[0] == 0
    (folder,) = (fresh.home / "replaced").iterdir()
    (told,) = done(fresh.memd("status", "--json")).json["kept"]
    assert (told["path"], told["bytes"] > 0, told["staged"]) == (str(folder), True, False)
    shown = done(fresh.memd("status")).out.decode()
    assert f"rm -r {folder}" in shown
    assert f"memd restore {folder}" in shown
    done(fresh.memd("stop"))
    (folder / ".." / "x.staged" / "store").resolve().mkdir(parents=True)
    told = done(fresh.memd("status", "--json")).json["kept"]
    assert [one["staged"] for one in told] == [False, True]
    assert "was broken off" in done(fresh.memd("status")).out.decode()


def test_a_dated_name_that_is_taken_is_passed_over(world: World) -> None:
    """Two in one second have files of their own."""
    into = world.folder / "dated"
    into.mkdir()
    taken = {}
    for kind, what in (("jsonl", "export"), ("backup", "backup")):
        for second in range(600):
            when = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime(time.time() + second - 2))
            (into / f"memd-{when}.{kind}").write_text("mine")
        taken[what] = Path(done(world.memd(what, str(into), "--json")).json["path"])
        assert taken[what].name.endswith(f"-2.{kind}")
        assert taken[what].stat().st_size > len("mine")
        again = Path(done(world.memd(what, str(into), "--json")).json["path"])
        assert again != taken[what]


def test_a_name_that_is_taken_while_it_is_written_is_passed_over_too() -> None:
    """Neither file has its name before it is whole; one that was named by the user is told to be taken."""
    from memd_client.cli import exchange

    asked: list[Path] = []

    def make(target: Path) -> Path:
        asked.append(target)
        if len(asked) < 3:
            raise exchange.Refused("file-exists", f"There is something at {target} already.")
        return target

    assert exchange._first_free(None, "jsonl", make).name.endswith("-3.jsonl")
    asked.clear()
    with pytest.raises(exchange.Refused, match="There is something at"):
        exchange._first_free("named.jsonl", "jsonl", make)
    assert [one.name for one in asked] == ["named.jsonl"]


def test_a_backup_is_not_streamed(world: World) -> None:
    """It says what to do instead, and leaves no file called `-`."""
    ran = world.memd("backup", "-")
    assert (ran.code, ran.out) == (2, b"")
    assert "memd export -" in ran.err
    assert not (world.repository / "-").exists()
