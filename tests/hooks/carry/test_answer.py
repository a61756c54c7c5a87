"""What a hook carries: stdin to the daemon as it is, and the daemon's answer out as it is, or not at all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memd_client import wire
from tests.client import peers
from tests.hooks.carry.process import EVENTS, PROMPT, SCRIPTS, assert_silent, command, environ, run, spooled


@pytest.mark.parametrize("event", EVENTS)
def test_an_answer_comes_out_as_it_is_and_is_receipted(event: str, home: Path, daemon: peers.Router) -> None:
    """Every event, through its own script: stdin raw to the daemon, the answer raw to stdout, then the request id back."""
    ran = run(event, home, stdin=PROMPT + b"\x00\xff\n")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b'{"answer": "\xc3\xbc"}\n', b"")
    asked, receipt = daemon.wait_for(2)
    hook = wire.parse_hook(asked[3:])
    assert (hook.event, hook.harness, hook.flags) == (event, "claude", 0)
    assert hook.stdin == (b"" if event == "git-commit" else PROMPT + b"\x00\xff\n")
    assert hook.cwd == os.fsencode(Path.cwd())
    assert hook.environment == b"CLAUDECODE=1\n"
    assert receipt == wire.request(wire.RECEIPT, hook.request_id)
    assert spooled(home) == []


def test_each_call_has_its_own_request_id(home: Path, daemon: peers.Router) -> None:
    """Two equal prompts are two prompts."""
    run("prompt-submit", home)
    run("prompt-submit", home)
    asked = [wire.parse_hook(frames[3:]) for frames in daemon.wait_for(4) if frames[2] == wire.HOOK]
    assert len({hook.request_id for hook in asked}) == 2


def test_a_probe_says_that_it_is_one(home: Path, daemon: peers.Router) -> None:
    """Install fires each hook once and must leave no trace."""
    run("prompt-submit", home, MEMD_PROBE="1")
    assert wire.parse_hook(daemon.wait_for(1)[0][3:]).is_probe


def test_an_empty_answer_prints_nothing(home: Path) -> None:
    """The usual case."""
    with peers.router(home / "s", peers.answer_hook(b"")):
        peers.announce(home, home / "s")
        assert_silent(run("pre-edit", home))


def test_memd_off_is_silent_at_once(home: Path, daemon: peers.Router) -> None:
    """Nothing is asked, nothing kept."""
    assert_silent(run("prompt-submit", home, MEMD_OFF="1"))
    assert daemon.received == []
    assert spooled(home) == []


def test_memd_off_0_is_not_off(home: Path, daemon: peers.Router) -> None:
    """People write it so."""
    assert run("prompt-submit", home, MEMD_OFF="0").stdout


@pytest.mark.parametrize(
    "arguments", [[], ["prompt-submit"], ["session-start", "claude"], ["nonsense", "claude"], ["", ""]]
)
def test_a_wrong_command_line_is_silent(arguments: list[str], home: Path, daemon: peers.Router) -> None:
    """Settings of another version, or a slip of the hand."""
    line = [*command("prompt-submit")[:4], *arguments]
    assert_silent(subprocess.run(line, input=PROMPT, env=environ(home), capture_output=True, check=False))
    assert daemon.received == []


@pytest.mark.parametrize(
    "answer",
    [
        wire.reply(b"0.1.0", wire.DONE, b"2", b"blocked!", b""),
        wire.reply(b"0.1.0", wire.DONE, b"0", b"x" * (wire.STDOUT_MAX_BYTES + 1), b""),
    ],
    ids=["exit code 2", "endless stdout"],
)
def test_an_answer_no_daemon_should_give_is_not_passed_on(answer: list[bytes], home: Path) -> None:
    """An exit code would erase the prompt, a flood would fill the context. It was delivered: nothing is spooled."""
    with peers.router(home / "s", lambda frames: answer if frames[2] == wire.HOOK else None):
        peers.announce(home, home / "s")
        assert_silent(run("prompt-submit", home))
    assert spooled(home) == []


def test_what_an_answer_says_on_stderr_is_not_passed_on(home: Path) -> None:
    """A stray line there has erased prompts in a peer."""
    answer = wire.reply(b"0.1.0", wire.DONE, b"0", b"out", b"err")
    with peers.router(home / "s", lambda frames: answer if frames[2] == wire.HOOK else None):
        peers.announce(home, home / "s")
        ran = run("prompt-submit", home)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"out", b"")


def test_a_dribbling_peer_is_understood(home: Path) -> None:
    """An answer that came byte by byte is printed whole."""
    with peers.listener(home / "s", peers.dribbles):
        peers.announce(home, home / "s")
        ran = run("pre-edit", home)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"byte by byte", b"")


def test_a_commit_hook_does_not_look_at_its_stdin(home: Path, daemon: peers.Router) -> None:
    """git leaves it the terminal's, which never ends."""
    with subprocess.Popen(
        command("git-commit"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ(home)
    ) as process:
        assert process.stdout
        assert process.stdout.read() == b'{"answer": "\xc3\xbc"}\n'
        assert process.wait(peers.WAIT_S) == 0


@pytest.mark.parametrize(
    "stdin", [b"\x00\xff\xfe garbage {{{", b"{" * 70_000, b"\n"], ids=["binary", "more than a pipe", "newline"]
)
def test_garbage_on_stdin_is_carried_like_anything_else(stdin: bytes, home: Path, daemon: peers.Router) -> None:
    """Nothing is parsed on this side."""
    assert run("prompt-submit", home, stdin=stdin).returncode == 0
    assert wire.parse_hook(daemon.wait_for(1)[0][3:]).stdin == stdin


def test_a_working_directory_that_is_gone_is_an_empty_one(home: Path, daemon: peers.Router, tmp_path: Path) -> None:
    """A worktree may be removed under a session."""
    gone = tmp_path / "gone"
    gone.mkdir()
    line = ["/bin/sh", "-c", 'rmdir "$0" && exec "$@"', str(gone), *command("pre-edit")]
    ran = subprocess.run(line, input=PROMPT, env=environ(home), cwd=gone, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert wire.parse_hook(daemon.wait_for(1)[0][3:]).cwd == b""


def test_a_home_with_blanks_quotes_and_other_letters_works(home: Path) -> None:
    """HOME is whatever people are called."""
    odd = home / "Ünï o'Neill\\x"
    odd.mkdir()
    with peers.router(odd / "s", peers.answer_hook(b"found")):
        peers.announce(odd, odd / "s")
        assert run("pre-edit", odd).stdout == b"found"


def test_a_hook_imports_only_what_the_whitelist_names(home: Path, daemon: peers.Router) -> None:
    """Beyond what a bare interpreter has loaded; each further module is paid at every prompt and edit."""
    bare = _imported([sys.executable, "-I", "-S", "-X", "importtime", "-c", "pass"], home)
    line = command("pre-edit")
    hook = _imported([*line[:3], "-X", "importtime", *line[3:]], home)
    floor = {f"memd_client.{name}" for name in ("wire", "zmtp", "address", "link")}
    assert hook - bare == {"memd_hooks", "memd_hooks.carry", "memd_client", "_socket", *floor}


def _imported(line: list[str], home: Path) -> set[str]:
    ran = subprocess.run(line, input=PROMPT, env=environ(home), capture_output=True, text=False, check=True)
    return {text.rpartition("|")[2].strip() for text in ran.stderr.decode().splitlines()[1:]}


def test_a_script_that_cannot_import_is_silent(tmp_path: Path) -> None:
    """Half an installation is no reason for a traceback."""
    lonely = tmp_path / "pre_edit.py"
    shutil.copy(SCRIPTS / "pre_edit.py", lonely)
    line = [sys.executable, "-I", "-S", str(lonely), "pre-edit", "claude"]
    assert_silent(subprocess.run(line, input=PROMPT, env=environ(tmp_path), capture_output=True, check=False))


def test_a_wheels_layout_works_as_a_checkouts_does(home: Path, daemon: peers.Router, tmp_path: Path) -> None:
    """Packages side by side, in a path with blanks."""
    site = tmp_path / "site packages"
    for package in (SCRIPTS, Path(wire.__file__).parent):
        shutil.copytree(package, site / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    line = [*command("pre-edit")[:3], str(site / "memd_hooks" / "pre_edit.py"), "pre-edit", "claude"]
    ran = subprocess.run(line, input=PROMPT, env=environ(home), capture_output=True, check=False)
    assert ran.stdout == b'{"answer": "\xc3\xbc"}\n'
