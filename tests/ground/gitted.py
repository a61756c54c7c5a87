"""Real repositories for tests: a working tree, its git, and anchors as a write would take them there."""

import os
import subprocess
from pathlib import Path

from memd_daemon.ground.digests import lasting, unified
from memd_daemon.ground.renames import Gone, Renames
from memd_daemon.ground.repository import find_checkout
from memd_daemon.ground.source import Source
from memd_daemon.model.event import Anchor

_ENVIRON = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


class Gitted:
    """One working tree on a branch `main`."""

    def __init__(self, top: Path, *, begin: bool = True) -> None:
        self.top = Path(os.path.realpath(top))
        self._second = 0
        if begin:
            self.top.mkdir(parents=True, exist_ok=True)
            self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        when = f"{1_700_000_000 + self._second} +0000"
        self._second += 60
        environ = {**os.environ, **_ENVIRON, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        run = subprocess.run(["git", *words], cwd=self.top, capture_output=True, text=True, check=True, env=environ)
        return run.stdout.strip()

    def write(self, path: str, text: str) -> None:
        (self.top / path).parent.mkdir(parents=True, exist_ok=True)
        (self.top / path).write_text(text)

    def commit(self, **files: str) -> str:
        """A commit of everything, after these files were written: `a="…"` is `a.py`. Its name."""
        for name, text in files.items():
            self.write(f"{name}.py", text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "work")
        return self.git("rev-parse", "HEAD")

    def move(self, old: str, new: str) -> None:
        """As the shell does, without git."""
        (self.top / new).parent.mkdir(parents=True, exist_ok=True)
        (self.top / old).rename(self.top / new)

    @property
    def branch(self) -> str:
        return find_checkout(str(self.top)).branch

    def anchor(self, path: str, symbol: str = "", *, branch: str | None = None, commit: str | None = None) -> Anchor:
        """What a write would keep of the file, or of a symbol in it, as it stands now."""
        content = (self.top / path).read_bytes()
        on = self.branch if branch is None else branch
        at = self.git("rev-parse", "-q", "--verify", "HEAD") if commit is None else commit
        if not symbol:
            return Anchor(path=path, digest=lasting(unified(content)), checkout_branch=on, commit=at)
        source = Source(path, content)
        block = source.named(symbol)[0]
        return Anchor(
            form="symbol",
            path=path,
            part=symbol,
            digest=block.digest,
            text=block.text,
            first=block.first,
            lines=block.last - block.first + 1,
            grammar=source.grammar,
            checkout_branch=on,
            commit=at,
        )


def code(name: str, lines: int = 12) -> str:
    """A file of Python that no other name's is like."""
    body = "".join(f"    {name}_{n} = {name!r} * {n} + {n * 7}\n" for n in range(lines))
    return f"def {name}(x):\n{body}    return x\n"


def look(repo: Gitted, anchor: Anchor, *, by: Renames | None = None) -> Gone:
    assert not os.path.lexists(repo.top / anchor.path)
    return (by or Renames()).look(repo.top, repo.branch, anchor, None)


def renamed(to: str) -> Gone:
    return Gone("anchor_renamed", to)


def on_a_branch(repo: Gitted, name: str = "side") -> Anchor:
    """A note on a file that only the branch has; the checkout is back on main."""
    repo.git("switch", "-q", "-c", name)
    repo.commit(n=code("novel"))
    anchor = repo.anchor("n.py")
    repo.git("switch", "-q", "main")
    return anchor
