"""install, uninstall and doctor, in a home with a client's settings folder and a repository."""

import json
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from memd_client import spawn
from memd_client.cli import doctor
from memd_client.cli.doctor import Seen
from tests.cli.world import PASSPHRASE, World

OWN = '{ "model": "opus" }'


@pytest.fixture
def client(fresh: World) -> World:
    """A user of Claude Code with settings of their own."""
    (fresh.user_home / ".claude").mkdir()
    (fresh.user_home / ".claude" / "settings.json").write_text(OWN)
    return fresh


def settings(world: World) -> str:
    return (world.user_home / ".claude" / "settings.json").read_text()


def test_install_puts_the_hooks_in_and_proves_each(client: World) -> None:
    """Every hook is fired through its installed line and seen by the daemon; the last line says what to do next."""
    ran = client.memd("install")
    assert ran.code == 0, ran.err
    text = ran.out.decode()
    rows = [line.split() for line in text.splitlines() if line.startswith(("claude ", "git "))]
    assert {row[1] for row in rows} >= {"session-start", "prompt-submit", "pre-edit", "read", "git-commit"}
    assert all(row[2] == "ok" for row in rows)
    assert text.splitlines()[-1].startswith("Next: ")
    assert json.loads(settings(client))["model"] == "opus"
    assert client.memd("doctor").code == 0
    assert client.memd("turns", "--json").json == [], "a probe leaves no turn"


def test_a_dry_run_writes_nothing(client: World) -> None:
    """It shows what would be done."""
    ran = client.memd("install", "--dry-run", "--harness", "claude", "--json")
    assert (ran.code, ran.json["dry_run"]) == (0, True)
    assert ran.json["changes"][0]["path"].endswith("settings.json")
    assert settings(client) == OWN
    assert not client.home.exists()


def config(world: World) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((world.user_home / ".claude.json").read_text())
    return found


def test_install_registers_the_tools(client: World) -> None:
    """In the client's own file, shown by a dry run, named by the doctor when it is gone, out again with the hooks."""
    dry = client.memd("install", "--dry-run").out.decode()
    assert f"mcpServers.memd: {client.home}/bin/mcp" in dry
    client.memd("install", "--json")
    assert config(client)["mcpServers"]["memd"]["command"] == f"{client.home}/bin/mcp"
    assert "permissions" not in json.loads(settings(client))
    (client.user_home / ".claude.json").write_text("{}")
    found = client.memd("doctor", "--json")
    assert (found.code, [fault["code"] for fault in found.json]) == (1, ["server-missing"])
    assert client.memd("install", "--json").code == 0
    client.memd("uninstall", "--json")
    assert not (client.user_home / ".claude.json").exists() or config(client) == {}


def test_the_hooks_go_in_without_the_tools_where_those_cannot(client: World) -> None:
    """Another program has the name: exit 1 and the reason, and every hook is there and fired."""
    (client.user_home / ".claude.json").write_text('{"mcpServers": {"memd": {"command": "/opt/other"}}}')
    ran = client.memd("install", "--json")
    assert (ran.code, [refusal["harness"] for refusal in ran.json["refusals"]]) == (1, ["mcp"])
    assert {one["harness"] for one in ran.json["fired"]} == {"claude", "git"}
    assert [fault["code"] for fault in client.memd("doctor", "--json").json] == ["server-overridden"]


def test_tools_that_read_are_allowed_by_a_word(client: World) -> None:
    """And left out with one; neither is asked about without a terminal."""
    client.memd("install", "--no-mcp", "--allow-read-tools", "--json")
    assert not (client.user_home / ".claude.json").exists()
    assert "permissions" not in json.loads(settings(client))
    client.memd("install", "--allow-read-tools", "--json")
    assert json.loads(settings(client))["permissions"] == {"allow": READ}
    client.memd("uninstall", "--json")
    assert settings(client) == OWN


def test_uninstall_gives_back_every_byte(client: World) -> None:
    """The notes stay."""
    note = client.memd("install", "--harness", "claude", "--json") and client.note("It outlives an uninstall.")
    ran = client.memd("uninstall", "--json")
    assert (ran.code, ran.json["purged"]) == (0, False)
    assert settings(client) == OWN
    assert client.memd("show", str(note)).code == 0


def test_a_purge_is_said_at_a_terminal(client: World) -> None:
    """Without one it is refused and nothing is taken out; there, the word removes the home."""
    client.memd("install", "--harness", "claude", "--json")
    refused = client.memd("uninstall", "--purge", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "no-terminal")
    assert "memd" in settings(client)
    assert client.at_terminal("uninstall", "--purge", answers=[("Type purge: ", "no")])[0] == 1
    assert client.home.exists()
    assert client.at_terminal("uninstall", "--purge", answers=[("Type purge: ", "purge")])[0] == 0
    assert not client.home.exists()
    assert settings(client) == OWN


def test_what_a_purge_would_remove_is_said_and_another_word_than_its_own_too(client: World) -> None:
    """A dry run names the store; a wrong word says which was expected."""
    client.memd("install", "--harness", "claude", "--json")
    dry = client.memd("uninstall", "--purge", "--dry-run").out.decode()
    assert f"{client.home}: remove it, with every note in it" in dry
    assert "nothing was written" in dry
    code, shown = client.at_terminal("uninstall", "--purge", answers=[("Type purge: ", "porridge")])
    assert code == 1
    assert "The word was not `purge`" in shown


def test_the_daemon_goes_with_the_last_hook(client: World) -> None:
    """Said with its pid; as long as another harness is installed it stays."""
    client.memd("install", "--json")
    pid = client.memd("status", "--json").json["daemon"]["pid"]
    assert "has stopped" not in client.memd("uninstall", "--harness", "git").out.decode()
    assert f"The daemon (pid {pid}) has stopped." in client.memd("uninstall").out.decode()
    assert client.memd("status", "--json").json["daemon"]["state"] == "not running"


def test_install_into_a_project_does_nothing_by_halves(client: World) -> None:
    """Refused where it would show: no git hook, no daemon, no table of hooks, and the line for .gitignore on a line of its own."""
    ran = client.memd("install", "--project", "--harness", "claude", "--no-git")
    halves = client.memd("install", "--project")
    for told in (ran, halves):
        text = told.out.decode()
        assert told.code == 1
        assert text.count("would show up in `git status`") == 1
        assert "    .claude/settings.local.json" in text.splitlines()
        assert "Nothing was installed." in text
        assert "nothing to change" not in text
        assert "session-start" not in text
    assert not (client.repository / ".git" / "hooks" / "post-commit").exists()
    assert client.memd("status", "--json").json["daemon"]["state"] == "not running"
    assert client.memd("install", "--project", "--harness", "claude,git").code == 1
    assert (client.repository / ".git" / "hooks" / "post-commit").exists()


def test_a_repository_without_the_hook_is_told_of(client: World) -> None:
    """With what puts it in; it is no fault, for somebody may want it so."""
    client.memd("install", "--harness", "claude", "--no-git", "--json")
    for words in ("status", "doctor"):
        ran = client.memd(words)
        assert ran.code == 0
        assert "`memd install --harness git`" in ran.out.decode()
    client.memd("install", "--harness", "git", "--json")
    assert "no git hook" not in client.memd("status").out.decode()


def test_what_is_written_is_one_line_a_file_unless_asked(client: World) -> None:
    """Every line of it with -v."""
    client.memd("uninstall")
    planned = client.memd("install", "--harness", "claude", "--no-git", "--dry-run").out.decode()
    brief = client.memd("install", "--harness", "claude", "--no-git").out.decode()
    assert "bin/hook" not in brief
    settings = re.escape(str(client.user_home / ".claude" / "settings.json"))
    claimed, entries = map(int, re.search(rf"(\d+) hooks \((\d+) entries\) into {settings}", brief).groups())  # type: ignore[union-attr]
    assert claimed == len(re.findall(r"^claude [a-z-]+  ok", brief, re.M))  # as many as were fired
    assert entries == len(re.findall(r"^  \w+.*: .*bin/hook", planned, re.M))
    client.memd("uninstall")
    assert "bin/hook" in client.memd("install", "--harness", "claude", "-v").out.decode()


def test_no_client_is_said(fresh: World) -> None:
    """Nothing is written where there is nothing to write to."""
    ran = fresh.memd("install", "--json", cwd=fresh.folder, PATH="/nowhere")
    assert (ran.code, ran.json["error"]["code"]) == (1, "no-client")


def test_settings_that_cannot_be_read_are_refused_and_named(client: World) -> None:
    """Exit 1, the file left as it is, the place of the mistake told."""
    (client.user_home / ".claude" / "settings.json").write_text('{ "model": ')
    ran = client.memd("install", "--harness", "claude", "--json")
    assert ran.code == 1
    assert "settings.json" in ran.json["refusals"][0]["path"]
    assert settings(client) == '{ "model": '


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda w: (w.user_home / ".claude" / "settings.json").write_text(OWN), "hooks-missing"),
        (lambda w: (w.home / "bin" / "hook").unlink(), "launcher-missing"),
        (lambda w: (w.home / "bin" / "hook").write_text("#!/bin/sh\nexit 0\n"), "hook-dead"),
        (lambda w: w.home.chmod(0o755), "home-open"),
    ],
)
def test_the_doctor_finds_what_was_spoiled(client: World, spoil: object, code: str) -> None:
    """Exit 1, the fault by its word, with a fix."""
    client.memd("install", "--harness", "claude", "--json")
    assert client.memd("doctor", "--json").json == []
    spoil(client)  # type: ignore[operator]
    ran = client.memd("doctor", "--json")
    assert ran.code == 1
    faults = {fault["code"]: fault["fix"] for fault in ran.json}
    assert faults[code]
    client.home.chmod(0o700)


RUNNING = {"state": "running", "version": doctor.__version__}
STATUS = {"daemon": RUNNING, "index": {"ready": True, "model": ""}}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, None),
        ({"daemon": {"state": "not answering"}}, "daemon-silent"),
        ({"daemon": {"state": "running", "version": "0.0.1"}}, "daemon-version"),
        ({"index": {"ready": False}, "daemon": {**RUNNING, "up_since": "2026-01-01T00:00:00Z"}}, "model-missing"),
        ({"index": {"ready": False}}, None),
    ],
)
def test_the_doctor_reads_the_status(tmp_path, changes: dict[str, object], code: str | None) -> None:
    """A daemon that is silent, of another version, or without its model is a fault; one that is loading is none."""
    seen = Seen(tmp_path, {**STATUS, **changes})
    assert [fault.code for fault in doctor._daemon(seen)] == ([code] if code else [])


def test_a_key_that_others_can_read_is_a_fault(tmp_path) -> None:
    """The folder and each file."""
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    key = keys / "a.json"
    key.write_text("{}")
    key.chmod(0o644)
    seen = Seen(tmp_path, STATUS)
    assert [fault.code for fault in doctor._keys(seen)] == ["key-open"]
    key.chmod(stat.S_IRUSR | stat.S_IWUSR)
    assert list(doctor._keys(seen)) == []


def test_doctor_finds_a_launcher_whose_python_cannot_run_the_daemon(tmp_path: Path) -> None:
    """One that is gone, and one that is there and has no memd: with either no daemon would start."""
    launcher = tmp_path / "bin" / "memd-daemon"
    launcher.parent.mkdir()
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\nexit 1\n")
    bare.chmod(0o700)
    seen = Seen(home=tmp_path, status={})
    assert list(doctor._launcher(seen)) == []
    for python, codes in (
        ("/gone/python", ["interpreter-gone"]),
        (str(bare), ["interpreter-bare"]),
        (sys.executable, []),
    ):
        launcher.write_bytes(spawn.launcher_text(b"/home", python.encode()))
        assert [fault.code for fault in doctor._launcher(seen)] == codes


OFFER = "Make one now? Enter goes on without. [y/N]: "
LEAVE = "without asking you? [y/N]: "
READ = ["mcp__memd__recall", "mcp__memd__show", "mcp__memd__decisions", "mcp__memd__trace"]


@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_at_a_terminal_a_person_is_asked(client: World, answer: str) -> None:
    """Before anything is written, whether the tools that read may be called, and whether they want a key; no is no fault, and so
    is Enter. The code is shown once."""
    answers = [(LEAVE, answer), ("Write this? [Y/n]: ", "y"), (OFFER, answer)]
    key = [("New passphrase: ", PASSPHRASE), ("again: ", PASSPHRASE)]
    code, shown = client.at_terminal("install", answers=[*answers, *(key if answer == "y" else [])])
    assert code == 0, shown
    assert "Next: " in shown
    assert len(client.memd("human", "show", "--json").json["enrolled"]) == (answer == "y")
    assert json.loads(settings(client)).get("permissions") == ({"allow": READ} if answer == "y" else None)
    assert ("Write it down on paper" in shown) == (answer == "y")


@pytest.mark.parametrize("tries", [1, 3])
def test_a_slip_in_a_new_passphrase_is_asked_about_again(client: World, tries: int) -> None:
    """Too short, or not the same twice: three times in all, and then the command is named that makes one later."""
    answers = [(LEAVE, ""), ("Write this? [Y/n]: ", "y"), (OFFER, "y"), ("New passphrase: ", "short")]
    if tries == 1:
        answers += [("New passphrase: ", PASSPHRASE), ("again: ", PASSPHRASE)]
    else:
        answers += [("New passphrase: ", PASSPHRASE), ("again: ", PASSPHRASE + "x"), ("New passphrase: ", "short")]
    code, shown = client.at_terminal("install", answers=answers)
    assert code == 0, shown
    assert shown.count("Once more; Enter goes on without.") == (1 if tries == 1 else 2)
    assert ("`memd human init` asks again" in shown) == (tries == 3)
    assert len(client.memd("human", "show", "--json").json["enrolled"]) == (tries == 1)


def test_enter_skips_the_key_after_a_slip_as_well(client: World) -> None:
    """Nothing typed is no further try."""
    answers = [(LEAVE, ""), ("Write this? [Y/n]: ", "y"), (OFFER, "y"), ("New passphrase: ", "short")]
    code, shown = client.at_terminal("install", answers=[*answers, ("New passphrase: ", "")])
    assert (code, shown.count("Once more")) == (0, 1), shown


@pytest.mark.parametrize("how", ["--no-key", "under a client"])
def test_a_key_is_not_offered_where_it_is_not_wanted(client: World, how: str) -> None:
    """By the word of the person, or because it is an agent that installs, at whatever terminal."""
    words, environ = (["--no-key"], {}) if how == "--no-key" else ([], {"CLAUDECODE": "1"})
    leave = [(LEAVE, "n")] if how == "--no-key" else []
    code, shown = client.at_terminal("install", *words, answers=[*leave, ("Write this? [Y/n]: ", "y")], **environ)
    assert code == 0, shown
    assert ("Make one now?" in shown, "passphrase" in shown) == (False, False)


def test_no_is_an_answer(client: World) -> None:
    """Nothing is written."""
    code, shown = client.at_terminal("install", answers=[(LEAVE, "n"), ("Write this? [Y/n]: ", "n")])
    assert (code, settings(client)) == (1, OWN)
    assert "Nothing was written" in shown


def test_an_uninstall_says_how_the_notes_go(client: World) -> None:
    """By a command that is still there: the link to it may have gone with the hooks."""
    client.note("It outlives an uninstall.")
    out = client.memd("uninstall", PATH="/nowhere").out.decode()
    (command,) = re.findall(r"`(.+) uninstall --purge` removes them too", out)
    assert Path(command).is_file()
