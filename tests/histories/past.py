"""Repositories with a scripted history."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

IDENTITY = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (
        ("NAME", "A"), ("EMAIL", "a@example.org"), ("DATE", "2026-01-01T00:00:00Z"))},
}  # fmt: skip


class Past:
    """A repository that is made here, one commit after another."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        environ = {"PATH": os.environ["PATH"], **IDENTITY}
        done = subprocess.run(["git", *words], cwd=self.root, env=environ, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str | None], *, quietly: bool = False) -> str:
        """Writes these files, takes away those that are None, and commits everything; the commit's name."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink() if text is None else path.write_text(text, encoding="utf-8")
        off = ("-c", "core.fsmonitor=false") if quietly else ()
        self.git(*off, "add", "-A")
        self.git(*off, "commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD")

    def move(self, name: str, to: str) -> str:
        """Renames a file and commits; the commit's name."""
        (self.root / to).parent.mkdir(parents=True, exist_ok=True)
        self.git("mv", name, to)
        return self.commit({})

    def files(self) -> dict[str, bytes]:
        """Everything that lies there, git's own files included."""
        return {str(one): one.read_bytes() for one in sorted(self.root.rglob("*")) if one.is_file()}
