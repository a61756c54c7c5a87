"""The frame around the commands: what is imported when, what becomes of an error, what exit codes mean."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from memd_client import memd as client
from memd_client import signing
from memd_client.cli import app
from memd_client.cli.app import COMMANDS, SECTIONS, root, run
from memd_client.cli.shape import LazyGroup
from tests.cli.world import World

LOADED = "import sys; sys.argv = ['memd', *{words!r}]; from memd_client.cli import main\ntry: main()\nexcept SystemExit: pass\n"


def loaded_by(*words: str, world: World) -> set[str]:
    """The modules that a command into a pipe has loaded at its end."""
    program = LOADED.format(words=words) + "print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        env=world.environ,
        capture_output=True,
        text=True,
        check=True,
        cwd=world.repository,
    )
    return set(done.stdout.splitlines()[-1].split())


def test_the_version_costs_no_import(fresh: World) -> None:
    """It is asked for by scripts and by installers."""
    assert {"click", "msgspec", "rich"}.isdisjoint(loaded_by("--version", world=fresh))


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("list",), ("--help",)])
def test_a_pipe_never_pays_for_rich(fresh: World, words: tuple[str, ...]) -> None:
    """An agent's shell runs these; neither rich nor the crypto library is loaded for it."""
    loaded = loaded_by(*words, world=fresh)
    assert "click" in loaded
    assert {"rich", "cryptography", "asyncio"}.isdisjoint(loaded)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there_and_takes_json(name: str) -> None:
    """The table names what exists; a group's commands take --json each."""
    ctx = click.Context(root)
    command = root.get_command(ctx, name)
    assert command is not None
    commands = [command]
    if isinstance(command, LazyGroup):
        commands = [one for word in command.list_commands(ctx) if (one := command.get_command(ctx, word))]
    for one in commands:
        assert "--json" in {option for parameter in one.params for option in parameter.opts}
        assert one.help


def test_a_command_whose_module_is_not_there_does_not_exist() -> None:
    """A part that is not installed is no traceback."""
    group = LazyGroup("group", lazy={"gone": ("memd_client.cli.no_such_module:gone", "")})
    outcome = CliRunner().invoke(group, ["gone"])
    assert outcome.exit_code == 2
    assert "No such command" in outcome.output


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (client.Refused("known-mistake", "It was wrong before."), "known-mistake", 1),
        (client.BadUsage("no-home", "Neither is set."), "no-home", 2),
        (client.Unreachable("silent", "It does not answer."), "silent", 3),
        (signing.WrongPassphrase(), "wrong-passphrase", 1),
        (PermissionError(13, "Permission denied", "/x"), "system", 1),
        (click.UsageError("no such thing"), "usage", 2),
    ],
)
def test_every_error_is_a_line_and_a_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, code: str, exit_code: int
) -> None:
    """For a person on stderr; with --json one document on stdout too; never a traceback."""

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(app.root, "main", fails)
    assert run(["list", "--json"]) == exit_code
    told = capsys.readouterr()
    assert json.loads(told.out)["error"]["code"] == code
    assert told.err.startswith("memd: ")
    assert told.err.count("\n") == 1
    assert run(["list", "--", "--json"]) == exit_code
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("words", [["list"], ["list", "--json"]])
def test_a_fault_of_memd_itself_is_no_traceback(tmp_path: Path, words: list[str]) -> None:
    """One line that names it, exit 1, and with --json a document."""
    program = (
        "import sys, memd_client.cli as cli, memd_client.cli.app as app\n"
        f"sys.argv = ['memd', *{words!r}]\napp.root.main = lambda *_, **__: 1 / 0\ncli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "ZeroDivisionError" in done.stderr
    assert ("--json" in words) is ('"fault"' in done.stdout)


def test_an_interrupted_command_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C is no fault of memd's."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app.root, "main", interrupted)
    assert run(["list"]) == 130
    assert capsys.readouterr().err == "memd: interrupted\n"


@pytest.mark.parametrize(
    ("words", "needle"),
    [
        (["remember"], "Missing argument"),
        (["remember", "-x is wrong"], "Put `--` before a content"),
        (["remember", "x", "--contradicts", "1", "--supersedes", "2"], "one of --contradicts"),
        (["remember", "x", "--evidence", "words without a turn"], "TURN:EXCERPT"),
        (["recall", "x", "-k", "0"], "-k"),
        (["promote", "1"], "--to"),
        (["revoke", "1"], "--reason"),
        (["install", "--harness", "emacs"], "no client `emacs`"),
        (["hook-command", "lunch", "--harness", "claude"], "no event `lunch`"),
        (["uninstall", "--purge", "--harness", "claude"], "--purge"),
        (["frobnicate"], "No such command"),
        (["lst"], "Did you mean `list`?"),
        (["human", "inti"], "Did you mean `init`?"),
        (["list", "--knd", "task"], "--kind"),
        (["list", "--kind", "rumour"], "no kind `rumour`"),
        (["list", "--provenance", "god"], "no class `god`"),
        (["remember", " "], "A note needs a content"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_is_right(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], needle: str
) -> None:
    """Before any daemon is asked or started."""
    monkeypatch.setenv("MEMD_HOME", str(tmp_path / "home"))
    assert run(words) == 2
    assert needle in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


def test_a_home_that_is_no_path_is_usage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative MEMD_HOME would be another one in every directory."""
    monkeypatch.setenv("MEMD_HOME", "relative/home")
    assert run(["status"]) == 2
    assert "MEMD_HOME" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["human"], ["bench"]])
def test_the_name_alone_asks_for_help(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """On stdout, exit 0: that is no mistake."""
    assert run(words) == 0
    told = capsys.readouterr()
    assert ("Commands:" if words else "To begin:") in told.out
    assert told.err == ""


def test_the_help_has_the_headings_of_the_commands_page(capsys: pytest.CaptureFixture[str]) -> None:
    """In its order, each with commands of its own below it; every line says what it is about by itself."""
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    headings = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert run(["--help"]) == 0
    told = capsys.readouterr().out
    assert [line[:-1] for line in told.splitlines() if line[:-1] in headings] == [
        h for h in headings if h in SECTIONS.values()
    ]
    assert set(SECTIONS) <= set(COMMANDS)
    assert set(SECTIONS.values()) < set(headings)
    assert not [line for _, line in COMMANDS.values() if line.startswith("It ") or " it out again" in line]


@pytest.mark.parametrize("words", [["list"], ["logs"], ["status"], ["uninstall"], ["doctor"]])
def test_another_users_home_is_said_in_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str]
) -> None:
    """By every command, before it reads or writes anything there."""
    monkeypatch.setenv("MEMD_HOME", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert run(words) == 1
    assert "belongs to another user: run memd as that user" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
