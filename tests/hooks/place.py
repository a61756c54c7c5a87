"""A person's home with memd's in it, where installs are tried out."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from memd_hooks import install
from memd_hooks.install import Done, Level, Plan


class Place:
    """A person's home, memd's home in it, and a directory to be in; ``with_server``: the MCP server is registered too."""

    def __init__(self, root: Path, *, with_server: bool = False) -> None:
        self.with_server = with_server
        self.allowed: tuple[str, ...] = ()
        self.user = root / "user"
        self.user.mkdir()
        self.home = self.user / ".local/share/memd"
        self.cwd = root / "work"
        self.cwd.mkdir()
        self.environ: Mapping[str, str] = {
            "HOME": str(self.user),
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.settings = self.user / ".claude/settings.json"
        self.config = self.user / ".claude.json"

    def write(self, text: str) -> None:
        self.settings.parent.mkdir(exist_ok=True)
        self.settings.write_bytes(text.encode())

    def plan(self, level: Level = "user") -> Plan:
        return install.plan(
            ["claude"],
            level,
            self.home,
            self.cwd,
            self.environ,
            with_server=self.with_server,
            allowed=self.allowed,
        )

    def install(self, level: Level = "user") -> Done:
        return install.apply(self.plan(level))

    def uninstall(self) -> Done:
        return install.uninstall(["claude"], self.home, self.cwd, self.environ)

    def commands(self) -> list[str]:
        hooks = json.loads(self.settings.read_text())["hooks"]
        return [hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]]


def names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def all_files(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def written(file: Path) -> tuple[int, int, int]:
    """What changes where a file is written anew; a look at it changes when it was looked at, and not this."""
    found = file.stat()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns
