"""Install and uninstall on real files: what changes, and what comes back."""

import json
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from memd_hooks import faults, install, registry
from memd_hooks.launcher import HOOK, hook_command
from tests.hooks.place import Place, all_files, names, written
from tests.hooks.test_install_text import CORPUS


@pytest.mark.parametrize("name", [*CORPUS, "no bytes"])
def test_install_then_uninstall_is_byte_equal(place: Place, name: str) -> None:
    """Every file of the corpus comes back as it was, its mode too, and nothing is left beside it."""
    text = CORPUS.get(name, "")
    place.write(text)
    place.settings.chmod(0o640)
    assert place.install().refusals == ()
    assert place.settings.read_bytes() != text.encode()
    place.uninstall()
    assert place.settings.read_bytes() == text.encode()
    assert stat.S_IMODE(place.settings.stat().st_mode) == 0o640
    assert names(place.settings.parent) == ["settings.json"]


def test_what_memd_made_goes(place: Place) -> None:
    """Without settings before there are none after, nor the folder; and no record, backup or launcher stays."""
    place.install()
    assert place.settings.exists()
    place.uninstall()
    assert not place.settings.parent.exists()
    assert set(all_files(place.home)) == {"bin/memd-daemon"}


def test_a_folder_that_others_use_by_then_stays(place: Place) -> None:
    """Only the file that memd made goes."""
    place.install()
    (place.settings.parent / "other").touch()
    place.uninstall()
    assert names(place.settings.parent) == ["other"]


def test_every_registration_stands_in_the_settings(place: Place) -> None:
    """Two groups of SessionStart and of PreToolUse, the others one each; no matcher where there is none; the command names the
    event."""
    place.install()
    hooks = json.loads(place.settings.read_text())["hooks"]
    seen = [
        (event, group.get("matcher"), group["hooks"][0]["command"].split()[-2:], set(group["hooks"][0]))
        for event, groups in hooks.items()
        for group in groups
    ]
    keys = {"type", "command", "timeout"}
    results = "Bash|Grep|WebFetch|WebSearch|ReadMcpResourceTool|mcp__(?!memd__).*"
    assert seen == [
        ("SessionStart", "startup|resume|clear|fork", ["session-start", "claude"], keys),
        ("SessionStart", "compact", ["post-compaction", "claude"], keys),
        ("UserPromptSubmit", None, ["prompt-submit", "claude"], keys),
        ("PreToolUse", "Edit|Write|NotebookEdit", ["pre-edit", "claude"], keys),
        ("PreToolUse", "mcp__memd__.*", ["pre-edit", "claude"], keys),
        ("PostToolUse", "Read", ["read", "claude"], keys),
        ("PostToolUse", results, ["tool-result", "claude"], keys),
        ("PostToolUseFailure", results, ["tool-result", "claude"], keys),
        ("SubagentStart", None, ["subagent-start", "claude"], keys),
        ("SessionEnd", None, ["session-end", "claude"], keys),
    ]


def test_twice_is_once(place: Place) -> None:
    """A second install has nothing to do and touches nothing."""
    place.write(CORPUS["two blanks"])
    place.install()
    before = all_files(place.user), written(place.settings)
    again = place.install()
    assert (again.steps, again.refusals, again.launchers_changed) == ((), (), False)
    assert str(place.plan()) == "nothing to change"
    assert (all_files(place.user), written(place.settings)) == before


def test_a_plan_writes_nothing(place: Place) -> None:
    """A dry run shows the file and each line, and leaves no trace."""
    place.write(CORPUS["two blanks"])
    before = all_files(place.user)
    plan = place.plan()
    assert str(place.settings) in str(plan)
    assert hook_command(place.home, "pre-edit", "claude") in str(plan)
    assert all_files(place.user) == before


def test_a_plan_does_not_show_the_settings(place: Place) -> None:
    """Settings may hold keys; neither the plan nor a step in a traceback shows what stands in them."""
    place.write('{"env": {"KEY": "hunter2"}}')
    plan = place.plan()
    assert "hunter2" not in str(plan) + repr(plan.steps)


def test_hooks_that_were_moved_are_left_alone_and_taken_out(place: Place) -> None:
    """A person's own order and timeout count as installed; the removal finds them all the same."""
    place.write(CORPUS["two blanks"])
    place.install()
    data = json.loads(place.settings.read_text())
    edits, calls = data["hooks"]["PreToolUse"]
    edits["hooks"][0]["timeout"] = 1
    data["hooks"]["PreToolUse"] = [
        calls,
        {"matcher": "Write", "hooks": [{"type": "command", "command": "own"}, edits["hooks"][0]]},
    ]
    place.write(json.dumps(data))
    assert place.install().steps == ()
    place.uninstall()
    left = json.loads(place.settings.read_text())
    assert left == {
        "model": "opus",
        "hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "own"}]}]},
    }


def test_a_hook_that_was_lost_is_put_back(place: Place) -> None:
    """A hook taken out by hand is put in again, each of the others standing once."""
    place.write(CORPUS["two blanks"])
    place.install()
    complete = place.settings.read_bytes()
    data = json.loads(complete)
    del data["hooks"]["SessionEnd"]
    place.write(json.dumps(data, indent=2) + "\n")
    assert len(place.install().steps) == 1
    assert place.settings.read_bytes() == complete
    place.uninstall()
    assert place.settings.read_text() == CORPUS["two blanks"]


def test_what_an_earlier_memd_wrote_is_replaced(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registration with another timeout takes the place of the recorded one, and the old text still comes back."""
    from memd_hooks.harness import claude

    place.write(CORPUS["comments"])
    old = tuple(claude.Registration(r.client_event, r.matcher, r.event, 77) for r in claude.REGISTRATIONS)
    with monkeypatch.context() as patch:
        patch.setattr(claude, "REGISTRATIONS", old)
        place.install()
    assert '"timeout": 77' in place.settings.read_text()
    place.install()
    assert '"timeout": 77' not in place.settings.read_text()
    place.uninstall()
    assert place.settings.read_bytes() == CORPUS["comments"].encode()


def test_one_of_two_things_that_one_line_stands_for_is_missed(place: Place) -> None:
    """The line of an edit is there, but not for the calls of memd's own tools, as where an earlier memd installed it."""
    place.write(CORPUS["two blanks"])
    place.install()
    complete = place.settings.read_bytes()
    data = json.loads(complete)
    del data["hooks"]["PreToolUse"][1]
    place.write(json.dumps(data, indent=2) + "\n")
    found = faults.gather(place.home, place.cwd, place.environ).settings[0]
    assert found.missing == ("PreToolUse",)
    assert len(place.install().steps) == 1
    assert place.settings.read_bytes() == complete


def test_another_tools_hooks_stay(place: Place) -> None:
    """What was added behind memd's back survives the removal; memd's hooks and its empty lists do not."""
    place.write(CORPUS["two blanks"])
    place.install()
    data = json.loads(place.settings.read_text())
    theirs = {"hooks": [{"type": "command", "command": "theirs"}]}
    data["hooks"]["PreToolUse"].append(theirs)
    place.write(json.dumps(data, indent=2))
    place.uninstall()
    assert json.loads(place.settings.read_text()) == {"model": "opus", "hooks": {"PreToolUse": [theirs]}}


def test_hooks_without_a_record_are_found(place: Place) -> None:
    """With the list of what was installed lost, the user's settings are looked through."""
    place.write(CORPUS["two blanks"])
    place.install()
    (place.home / "install.json").unlink()
    place.uninstall()
    assert place.settings.read_text() == CORPUS["two blanks"]


def test_two_homes_do_not_know_each_other(place: Place) -> None:
    """Another memd home's hooks are somebody else's."""
    place.write(CORPUS["two blanks"])
    place.install()
    first = place.commands()
    other = place.user / "other"
    install.apply(install.plan(["claude"], "user", other, place.cwd, place.environ, with_server=False))
    assert len(place.commands()) == 2 * len(first)
    place.uninstall()
    assert all(str(other) in command for command in place.commands())
    install.uninstall(["claude"], other, place.cwd, place.environ)
    assert place.commands() == []


def test_a_link_stays_a_link(place: Place) -> None:
    """Settings kept elsewhere under a link are changed there."""
    kept = place.user / "dotfiles/claude.json"
    kept.parent.mkdir()
    kept.write_text(CORPUS["tabs"])
    place.settings.parent.mkdir()
    place.settings.symlink_to("../dotfiles/claude.json")
    place.install()
    assert place.settings.is_symlink()
    assert len(place.commands()) == 10
    place.uninstall()
    assert place.settings.readlink() == Path("../dotfiles/claude.json")
    assert kept.read_text() == CORPUS["tabs"]


def test_claude_config_dir_is_respected(place: Place) -> None:
    """The client's variable moves its settings, and memd follows."""
    place.environ = {**place.environ, "CLAUDE_CONFIG_DIR": str(place.user / "cfg")}
    place.install()
    assert (place.user / "cfg/settings.json").exists()
    assert not place.settings.exists()
    place.environ = {name: value for name, value in place.environ.items() if name != "CLAUDE_CONFIG_DIR"}
    place.uninstall()
    assert not (place.user / "cfg").exists()


# --- a project's own settings


def git(cwd: Path, *arguments: str) -> str:
    run = subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, text=True, check=True)
    return run.stdout


def test_project_level_never_shows_in_git_status(place: Place) -> None:
    """Refused until .claude/settings.local.json is ignored; then written, and taken out from any directory."""
    git(place.cwd, "init", "-q")
    below = place.cwd / "below"
    below.mkdir()
    root, place.cwd = place.cwd, below
    assert "would show up in `git status`" in str(place.install("project").refusals[0])
    assert not (root / ".claude").exists()
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").write_text(".claude/settings.local.json\n")
    assert place.install("project").refusals == ()
    assert (root / ".claude/settings.local.json").exists()
    assert git(root, "status", "--porcelain") == ""
    assert not place.settings.exists()
    place.cwd = place.user
    place.uninstall()
    assert not (root / ".claude").exists()


def test_project_level_needs_no_repository(place: Place) -> None:
    """Outside git the directory itself is the project."""
    assert place.install("project").refusals == ()
    assert (place.cwd / ".claude/settings.local.json").exists()


# --- which harnesses are there


def test_what_is_there_is_found(place: Place) -> None:
    """Claude Code by its folder or its command, git by the repository."""
    programs = place.user / "bin"  # a real PATH may hold a client
    programs.mkdir()
    (programs / "git").symlink_to(shutil.which("git") or "")
    place.environ = {**place.environ, "PATH": str(programs)}
    assert install.found(place.cwd, place.environ) == ()
    git(place.cwd, "init", "-q")
    assert install.found(place.cwd, place.environ) == ("git",)
    place.settings.parent.mkdir()
    assert install.found(place.cwd, place.environ) == ("claude", "git")
    place.settings.parent.rmdir()
    (programs / "claude").touch(mode=0o755)
    assert install.found(place.cwd, place.environ) == ("claude", "git")


def test_the_old_settings_are_kept_for_their_owner_only(place: Place) -> None:
    """Settings may hold keys: the copy and the list are 0600, their folders 0700."""
    place.write(CORPUS["two blanks"])
    place.install()
    backup = registry.backup_path(place.home, place.settings)
    assert backup.read_text() == CORPUS["two blanks"]
    for path, mode in (
        (backup, 0o600),
        (backup.parent, 0o700),
        (place.home / "install.json", 0o600),
        (place.home, 0o700),
    ):
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_the_launcher_goes_with_the_last_hook(place: Place) -> None:
    """A client that still has the line in its head then runs nothing, silently."""
    place.install()
    line = hook_command(place.home, "pre-edit", "claude")
    assert (place.home / HOOK).exists()
    place.uninstall()
    assert not (place.home / HOOK).exists()
    run = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
