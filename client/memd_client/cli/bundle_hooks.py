"""Of a report: what stands in clients' settings of memd. Of what others put there only how much it is."""

import os
import shlex
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from memd_client import spawn
from memd_client.cli import status
from memd_client.cli.bundle_clean import version
from memd_client.cli.bundle_home import row
from memd_client.cli.bundle_scene import Scene, Section, tried
from memd_hooks import faults_mcp, install, install_git, jsonc, registry, settings
from memd_hooks.harness import claude
from memd_hooks.launcher import HOOK, MCP, SCRIPTS, hook_command, named_interpreters

LAUNCHERS = (HOOK, MCP, "bin/memd-daemon", "bin/hook.pyc")


def hooks(scene: Scene) -> Section:
    """What was installed where, whether it stands there still, and what the launchers start."""
    home = scene.home
    if home is None:
        return {"installed": "no home"}
    loaded = tried(registry.load, home)
    known = loaded if isinstance(loaded, registry.Registry) else registry.Registry()
    user = str(claude.user_settings(scene.environ))
    files = dict.fromkeys([*(record.path for record in known.settings), user])
    return {
        "installed": loaded
        if isinstance(loaded, str)
        else {
            "settings files": len(known.settings),
            "git hooks": len(known.git),
            "links": len(known.links),
            "MCP servers": len(known.servers),
        },
        "settings": [{"file": scene.clean.path(path), "hooks": tried(_settings, home, Path(path))} for path in files],
        "MCP server": tried(_server, scene, home, known),
        "git": [tried(_git, scene, home, Path(record.path)) for record in known.git],
        "this repository tells of its commits": tried(_tells_of_commits, home),
        "launchers": {name: tried(row, home / name) for name in LAUNCHERS},
        "interpreters": tried(_interpreters, scene, home),
        "daemon's launcher": tried(_daemon_launcher, scene, home),
    }


def _settings(home: Path, path: Path) -> Section | str:
    """For each event that memd registers whether its line stands; of lines that are not memd's how many."""
    if not path.is_file():
        return "not there"
    text = path.read_bytes().decode()
    commands = {hook_command(home, event, claude.NAME) for event in SCRIPTS}
    present = settings.standing(text, commands)
    wanted = install.claude_groups(home)
    lacking = settings.missing(present, wanted)
    return {
        "it": row(path),
        "memd's own": [f"{group.event}: {_how(present, group)}" for group in wanted if group not in lacking],
        "missing": [group.event for group in lacking],
        "another memd's": _others_of_memd(text, commands),
        "of other programs": _foreign(text, commands),
    }


def _how(present: Collection[settings.Group], wanted: settings.Group) -> str:
    return "as installed" if wanted in present else "memd's line, matcher or timeout changed"


def _lines(text: str) -> list[Any]:
    data = jsonc.parse(text).data if text.strip() else {}
    found = data.get("hooks", {}) if isinstance(data, dict) else {}
    groups = [group for of_event in found.values() for group in of_event if isinstance(group, dict)]
    return [hook.get("command") for group in groups for hook in group.get("hooks", ()) if isinstance(hook, dict)]


def _foreign(text: str, commands: Iterable[str]) -> int:
    return sum(not _is_a_memds(line) for line in _lines(text) if line not in set(commands))


def _others_of_memd(text: str, commands: Iterable[str]) -> int:
    return sum(_is_a_memds(line) for line in _lines(text) if line not in set(commands))


def _is_a_memds(line: object) -> bool:
    """Whether the line is one that some memd writes, for whatever home."""
    return isinstance(line, str) and line.startswith("[ ! -x ") and f"/{HOOK}" in line


def _server(scene: Scene, home: Path, known: registry.Registry) -> Section:
    seen = faults_mcp.look(home, known, scene.cwd, scene.environ)
    return {
        "wanted": seen.wanted,
        "launcher": seen.launcher,
        "missing": len(seen.missing),
        "files that cannot be read": len(seen.unreadable),
        "others of its name": len(seen.before),
        "switched off": len(seen.off),
    }


def _git(scene: Scene, home: Path, path: Path) -> Section:
    content = path.read_bytes() if path.is_file() else b""
    return {
        "file": scene.clean.path(str(path)),
        "memd's line stands": install_git.hook_line(home).encode() in content,
        "executable": os.access(path, os.X_OK),
        "has other lines": content.count(b"\n") > install_git.block(home).count("\n") + 1,
    }


def _tells_of_commits(home: Path) -> bool:
    return not status.lacks_git_hook(home)


def _interpreters(scene: Scene, home: Path) -> list[str]:
    named = named_interpreters((home / HOOK).read_text(encoding="utf-8", errors="replace"))
    return [f"{scene.clean.path(one)}: {'runs' if os.access(one, os.X_OK) else 'cannot be run'}" for one in named]


def _daemon_launcher(scene: Scene, home: Path) -> Section:
    """Which memd wrote what starts the daemon, and which Python it names: of two that are installed the newer one's stays."""
    text = (home / LAUNCHERS[2]).read_text(encoding="utf-8", errors="surrogateescape")
    made_by = next((line for line in text.splitlines() if line.startswith(spawn.MADE_BY.decode())), "")
    words = shlex.split(text.rpartition(spawn.EXEC.decode())[2])
    python = words[0] if words else ""
    return {
        "written by": version(made_by.removeprefix(spawn.MADE_BY.decode())),
        "starts": scene.clean.path(python),
        "this Python": python == sys.executable,
    }
