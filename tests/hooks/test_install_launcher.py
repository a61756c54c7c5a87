"""The launcher and the line that names it, really run through shells, with homes that have odd names."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd_client import spawn
from memd_hooks import faults, firing, install, launcher
from memd_hooks.events import Moment
from memd_hooks.launcher import UnspeakableHome, hook_command, word
from memd_hooks.program import PROGRAM
from tests.hooks.place import written

ODD_NAMES = (
    "plain",
    "with blank",
    "it's",
    "Пользователь 日本",
    "back\\slash\\",
    "$HOME `id` $(id)",
    '"quoted"',
    "!bang!!",
    "a;b&c|d>e*?[x]{y,z}~#%",
    "-x",
    "é\u0301",
)
SHELLS = [shell for shell in ("sh", "dash", "bash", "zsh", "ksh", "fish", "csh", "tcsh") if shutil.which(shell)]
ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/", "LANG": "C.UTF-8"}


def run(
    shell: str, line: str, stdin: bytes = b"", environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[bytes]":
    everything = {**ENVIRON, **(environ or {})}
    return subprocess.run([shell, "-c", line], input=stdin, capture_output=True, check=False, env=everything, cwd="/")


def make_scripts(folder: Path, body: str) -> Path:
    folder.mkdir(parents=True)
    for script in set(launcher.SCRIPTS.values()):
        (folder / f"{script}.py").write_text(body)
    return folder


def make_launcher(home: Path, scripts: Path, *, python: str = sys.executable, is_default: bool = False) -> None:
    (home / "bin").mkdir(parents=True)
    (home / "bin/hook").write_text(launcher.hook_text(home, is_default, python, sys.executable, scripts))
    (home / "bin/hook").chmod(0o755)


TELL = (
    "import posix, sys\n"
    "home = posix.environ.get(b'MEMD_HOME', b'').decode()\n"
    "told = [sys.argv[0].rsplit('/', 1)[1], *sys.argv[1:], home, sys.flags.isolated, sys.flags.no_site]\n"
    "posix.write(1, repr(told).encode() + posix.read(0, 99))\n"
)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", ODD_NAMES)
def test_the_line_runs_in_every_shell(tmp_path: Path, shell: str, name: str) -> None:
    """The hook gets event, harness, home and stdin, whatever the home is called; nothing goes to stderr; the status is 0."""
    home = tmp_path / name
    make_launcher(home, make_scripts(home / "scripts", TELL))
    done = run(shell, hook_command(home, "pre-edit", "claude"), b"<stdin>")
    assert done.stdout.decode() == repr(["pre_edit.py", "pre-edit", "claude", str(home), 1, 1]) + "<stdin>"
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "state", ["absent", "not executable", "interpreter gone", "script gone", "script crashes", "killed"]
)
def test_the_line_is_silent_when_something_is_gone(tmp_path: Path, shell: str, state: str) -> None:
    """No launcher, no interpreter, no script, a crash, a signal: status 0 and not one byte."""
    home = tmp_path / "home"
    if state != "absent":
        body = "import posix; posix.kill(posix.getpid(), 11)" if state == "killed" else "1 / 0"
        make_launcher(home, make_scripts(home / "scripts", body))
    if state == "not executable":
        (home / "bin/hook").chmod(0o644)
    if state == "script gone":
        shutil.rmtree(home / "scripts")
    if state == "interpreter gone":
        text = launcher.hook_text(home, False, "/nowhere/python", "/nowhere/either", home / "scripts")
        (home / "bin/hook").write_text(text)
    done = run(shell, hook_command(home, "pre-edit", "claude"), b"{}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@settings(max_examples=6, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1), min_size=1, max_size=40))
def test_a_word_is_one_word_in_every_shell(texts: list[str]) -> None:
    """Any text without control characters arrives as it is."""
    program = "import sys; sys.stdout.buffer.write(repr(sys.argv[1:]).encode())"
    line = " ".join(word(text) for text in [sys.executable, "-c", program, *texts])
    for shell in SHELLS:
        assert run(shell, line).stdout.decode() == repr(texts), shell


def test_no_text_is_a_word_too() -> None:
    """An empty argument is an argument."""
    assert word("") == "''"


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "a\x7fb", "a\udcffb", "a\0b"])
def test_what_no_shell_could_be_told_is_refused(name: str) -> None:
    """A line break in a home, or bytes that are not UTF-8 (settings are JSON)."""
    with pytest.raises(UnspeakableHome):
        hook_command(Path("/") / name, "read", "claude")


def test_the_line_never_changes() -> None:
    """A client that trusts the hash of a command line is not asked twice: this text is for ever."""
    assert hook_command(Path("/home/ann/.local/share/memd"), "pre-edit", "claude") == (
        "[ ! -x '/home/ann/.local/share/memd/bin/hook' ] || '/home/ann/.local/share/memd/bin/hook' pre-edit claude"
    )


def test_an_event_that_memd_does_not_know_has_no_line() -> None:
    """A misspelled event is an error at once."""
    with pytest.raises(ValueError, match="pre-edits"):
        hook_command(Path("/h"), "pre-edits", "claude")
    with pytest.raises(ValueError, match="memd-call"):
        hook_command(Path("/h"), Moment.MEMD_CALL, "claude")
    with pytest.raises(ValueError, match="not a harness"):
        hook_command(Path("/h"), "pre-edit", "claude; id")


def test_every_event_has_its_script(tmp_path: Path) -> None:
    """The launcher's map is the table's, and an unknown event starts nothing."""
    make_launcher(tmp_path, make_scripts(tmp_path / "scripts", TELL))
    for moment in launcher.SCRIPTS:
        done = run("/bin/sh", hook_command(tmp_path, moment, "claude"))
        assert done.stdout.startswith(f"['{launcher.SCRIPTS[moment]}.py', '{moment}'".encode())
    for arguments in ("", "nonsense claude", "'*' claude"):
        assert run("/bin/sh", f"{word(str(tmp_path / 'bin/hook'))} {arguments}").stdout == b""


def test_the_fallback_interpreter_is_used(tmp_path: Path) -> None:
    """A base interpreter that was moved away by an update does not silence the hooks."""
    make_launcher(tmp_path, make_scripts(tmp_path / "scripts", TELL), python="/nowhere/python3.11")
    assert b"read" in run("/bin/sh", hook_command(tmp_path, "read", "claude")).stdout


@pytest.mark.parametrize(
    ("is_default", "environ", "expected"),
    [
        (True, {}, None),
        (True, {"MEMD_HOME": "/elsewhere"}, "/elsewhere"),
        (True, {"MEMD_HOME": ""}, None),
        (False, {"MEMD_HOME": "/elsewhere"}, None),
    ],
)
def test_the_home_is_told(tmp_path: Path, is_default: bool, environ: dict[str, str], expected: str | None) -> None:
    """The default home gives way to MEMD_HOME, any other is a fact; without HOME there is one all the same."""
    make_launcher(tmp_path, make_scripts(tmp_path / "scripts", TELL), is_default=is_default)
    done = run("/bin/sh", hook_command(tmp_path, "read", "claude"), environ=environ)
    assert repr(expected or str(tmp_path)).encode() in done.stdout


def test_launchers_are_written_once(tmp_path: Path) -> None:
    """The second time there is nothing to do; a changed or switched off one is put right."""
    home = tmp_path / "it's home"
    environ = {"HOME": str(tmp_path)}
    assert launcher.ensure_launchers(home, environ)
    before = written(home / "bin/hook")
    assert not launcher.ensure_launchers(home, environ)
    assert written(home / "bin/hook") == before
    assert (home / "bin/hook").stat().st_mode & 0o777 == 0o755
    assert home.stat().st_mode & 0o777 == 0o700
    (home / "bin/hook").chmod(0o644)
    assert launcher.ensure_launchers(home, environ)
    (home / "bin/hook").write_text("x")
    assert launcher.ensure_launchers(home, environ)
    assert os.access(spawn.launcher_path(os.fsencode(home)), os.X_OK)


def test_the_hooks_path_is_compiled(tmp_path: Path) -> None:
    """A hook never parses its own source: what it imports lies compiled beside it."""
    from importlib.util import cache_from_source

    import memd_client.wire
    import memd_hooks.carry

    launcher.ensure_launchers(tmp_path)
    for module in (memd_client.wire, memd_hooks.carry):
        assert module.__file__ is not None
        assert Path(cache_from_source(module.__file__)).exists()


def test_the_interpreter_is_this_one() -> None:
    """The base of a virtual environment is taken only when it is the very same program."""
    python, fallback = launcher.interpreters()
    assert os.path.realpath(python) == os.path.realpath(sys.executable)
    assert fallback == sys.executable


# --- installed is not working


@pytest.fixture
def installed(tmp_path: Path) -> tuple[Path, Mapping[str, str]]:
    """A memd home with an odd name, its hooks in the settings of a person without a daemon."""
    home = tmp_path / "it's $HOME 日本" / "memd"
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    install.apply(install.plan(["claude"], "user", home, tmp_path, environ))
    return home, environ


def with_scripts(home: Path, body: str) -> None:
    scripts = make_scripts(home / "scripts", body)
    (home / PROGRAM).unlink()  # else it would run in their place
    (home / "bin/hook").write_text(launcher.hook_text(home, False, sys.executable, sys.executable, scripts))


def test_every_hook_is_fired_as_a_probe(installed: tuple[Path, Mapping[str, str]], tmp_path: Path) -> None:
    """Each registered line runs with its payload, marked as a probe, and without what would silence it."""
    home, environ = installed
    seen: list[tuple[str, str]] = []
    is_right = "posix.environ[b'MEMD_PROBE'] == b'1' and b'MEMD_OFF' not in posix.environ and b'COPILOT_CLI' not in posix.environ"
    with_scripts(home, f"import posix\nif not ({is_right}): posix.write(1, b'wrong')")
    noisy = {**environ, "MEMD_OFF": "1", "COPILOT_CLI": "1"}
    fired = firing.fire(home, "claude", tmp_path, noisy, lambda harness, event: not seen.append((harness, event)))
    assert [f.event for f in fired] == [e for _, e in seen]
    assert len(fired) == 8
    assert all(f.ok and f.ms > 0 for f in fired), fired
    assert [f.event for f in firing.fire(home, "git", tmp_path, noisy)] == ["git-commit"]


@pytest.mark.parametrize(
    ("output", "detail"),
    [
        ("nonsense", "not one that the client takes"),
        (json.dumps({"hookSpecificOutput": {"hookEventName": "Stop"}}), "not one that the client takes"),
    ],
)
def test_a_wrong_answer_is_a_fault(
    installed: tuple[Path, Mapping[str, str]], tmp_path: Path, output: str, detail: str
) -> None:
    """What the client would reject is said, also for git, where nothing may be printed."""
    home, environ = installed
    with_scripts(home, f"print({output!r})")
    for harness in ("claude", "git"):
        assert all(detail in fired.detail and not fired.ok for fired in firing.fire(home, harness, tmp_path, environ))


def test_a_hook_that_reached_nobody_is_a_fault(installed: tuple[Path, Mapping[str, str]], tmp_path: Path) -> None:
    """Silence is no proof: the daemon has to have seen it."""
    home, environ = installed
    with_scripts(home, "")
    fired = firing.fire(home, "claude", tmp_path, environ, lambda *_: False)
    assert {f.detail for f in fired} == {"the daemon did not see it"}
    assert not any(f.ok for f in fired)


def test_a_line_that_fails_is_a_fault(installed: tuple[Path, Mapping[str, str]], tmp_path: Path) -> None:
    """An exit status and a word on stderr are told apart."""
    home, environ = installed
    (home / "bin/hook").write_text("#!/bin/sh\nexit 2\n")
    assert "exit status 2" in firing.fire(home, "claude", tmp_path, environ)[0].detail
    (home / "bin/hook").write_text("#!/bin/sh\necho x >&2\n")
    assert "stderr" in firing.fire(home, "claude", tmp_path, environ)[0].detail


# --- faults


def codes(home: Path, cwd: Path, environ: Mapping[str, str]) -> list[str]:
    return [fault.code for fault in faults.diagnose(faults.gather(home, cwd, environ))]


def test_what_is_well_has_no_fault(installed: tuple[Path, Mapping[str, str]], tmp_path: Path) -> None:
    """A fresh install is without fault; before one there is one fault."""
    home, environ = installed
    assert codes(home, tmp_path, environ) == []
    assert codes(tmp_path / "none", tmp_path, environ) == ["hooks-not-installed"]


def test_each_fault_is_found(installed: tuple[Path, Mapping[str, str]], tmp_path: Path) -> None:
    """Launcher, settings and what overrides them, one after the other."""
    home, environ = installed
    settings_file = tmp_path / ".claude/settings.json"
    good = settings_file.read_text()
    (home / "bin/hook").chmod(0o644)
    assert codes(home, tmp_path, environ) == ["launcher-not-executable"]
    (home / "bin/hook").unlink()
    assert codes(home, tmp_path, environ) == ["launcher-missing"]
    launcher.ensure_launchers(home, environ)
    text = launcher.hook_text(home, False, "/it's/gone", "/gone too", home)
    (home / "bin/hook").write_text(text)
    assert launcher.named_interpreters(text) == ("/it's/gone", "/gone too")
    assert codes(home, tmp_path, environ) == ["interpreter-gone"]
    launcher.ensure_launchers(home, environ)
    settings_file.write_text(good.replace("pre-edit", "pre-edits"))
    assert codes(home, tmp_path, environ) == ["hooks-missing"]
    settings_file.write_text(good[:-3])
    assert codes(home, tmp_path, environ) == ["settings-malformed"]
    settings_file.write_text(good.replace("{", '{"disableAllHooks": true,', 1))
    assert codes(home, tmp_path, environ) == ["hooks-held-back"]
    settings_file.unlink()
    assert codes(home, tmp_path, environ) == ["hooks-missing"]


def test_an_administrators_settings_are_seen(
    installed: tuple[Path, Mapping[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only an administrator can allow none but managed hooks; in a person's own settings that key means nothing."""
    from memd_hooks.harness import claude

    home, environ = installed
    settings_file = tmp_path / ".claude/settings.json"
    settings_file.write_text(settings_file.read_text().replace("{", '{"allowManagedHooksOnly": true,', 1))
    assert codes(home, tmp_path, environ) == []
    managed = tmp_path / "managed-settings.json"
    managed.write_text('{"allowManagedHooksOnly": true}')
    monkeypatch.setattr(claude, "managed_settings", lambda: (managed,))
    assert codes(home, tmp_path, environ) == ["hooks-held-back"]


def test_a_git_hook_that_went_missing_is_told(tmp_path: Path) -> None:
    """Another tool wrote over it, or switched it off."""
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull}
    repository, home = tmp_path / "r", tmp_path / "m"
    subprocess.run(["git", "init", "-q", str(repository)], check=True, env=environ)
    install.apply(install.plan(["git"], "user", home, repository, environ))
    hook = repository / ".git/hooks/post-commit"
    assert codes(home, tmp_path, environ) == []
    hook.chmod(0o644)
    assert codes(home, tmp_path, environ) == ["git-hook-switched-off"]
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    assert codes(home, tmp_path, environ) == ["git-hook-missing"]


def test_an_interpreter_that_is_gone_is_told() -> None:
    """Facts alone decide: the fault names the program and the way back."""
    facts = faults.Facts(home="/h", interpreters=("/usr/bin/python3.9",), interpreter_runs=False)
    (fault,) = faults.diagnose(facts)
    assert fault.code == "interpreter-gone"
    assert "/usr/bin/python3.9" in fault.what
    assert "memd install" in fault.fix
