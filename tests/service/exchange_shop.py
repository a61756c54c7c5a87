"""Repositories, homes and exports of several people, made once for a module and copied."""

import base64
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from memd_client import api
from tests.service.desk import Desk, make_repo
from tests.service.test_exchange_repos import (
    FOUND,
    RULE,
    TRAP,
    another,
    clone,
    desk_in,
    export_of,
    facts,
    holds,
)
from tests.store.exchanging import (
    lines_of,
)

HOST = "git@git.example.org:tools/{}.git"
MINE = "Mine alone."


class Shop:
    """Repositories that never change, and homes and exports of them that are made once and copied."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.base = make_repo(root / "base")
        self.app = clone(self.base, root / "app", HOST.format("app"))
        self.later = clone(self.base, root / "later", HOST.format("later"))
        self.plain = another(root / "plain")
        self.written = cache(self._written)
        self.lived = cache(self._lived)

    def with_remote(self, remote: str) -> Path:
        return clone(self.base, self.fresh(), remote)

    def fresh(self) -> Path:
        return self.root / f"n{len(list(self.root.iterdir()))}"

    def _written(self, remote: str) -> bytes:
        repo = clone(self.base, self.fresh(), remote)
        with desk_in(self.root / f"{repo.name}-home", repo) as desk:
            desk.remember(RULE, kind="directive")
            desk.remember(TRAP, kind="gotcha", anchors=["app.py"], priority="high")
            desk.remember(FOUND)
            return export_of(desk)

    def _lived(self, repo: Path) -> Path:
        home = self.fresh()
        with desk_in(home, repo) as desk:
            desk.remember(MINE)
        return home

    def home(self, to: Path, *repos: Path) -> Path:
        """A home of somebody who has written a note in each."""
        home = to / "home"
        shutil.copytree(self.lived(repos[0]), home)
        for repo in repos[1:]:
            with desk_in(home, repo) as desk:
                desk.remember(MINE + str(repo))
        return home

    def row(self, repo: Path, family: str) -> tuple[str, bytes]:
        return next((n, v) for n, v in facts(self.lived(repo)).items() if n.startswith(f"repo/{family}/"))

    def uid(self, repo: Path) -> bytes:
        return self.row(repo, "common")[1]


def their_uid(raw: bytes) -> bytes:
    line = next(one for one in lines_of(raw) if one.get("name", "").startswith("repo/common/"))
    return base64.b64decode(line["value"])


def listed(desk: Desk, **words: Any) -> list[str]:
    return [one.content for one in desk.ask(api.ListNotes(cwd=str(desk.repo), **words)).notes]


def told(home: Path, repo: Path, session: str = "s1") -> bool:
    with desk_in(home, repo) as desk:
        return holds(desk, session)


def sees(home: Path, repo: Path) -> list[str]:
    with desk_in(home, repo) as desk:
        return listed(desk)
