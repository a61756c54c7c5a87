"""Any life of notes and files: what is told is what would be told by who had never looked at the log before.

`MEMD_LONG`: more lives, and longer ones. `MEMD_SEED`: other ones.
"""

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.ground.checkouts import Checkouts
from memd_daemon.service import moved
from memd_daemon.service.footing import Footings
from memd_daemon.service.known import KnownViews
from memd_daemon.service.parts import Parts
from memd_daemon.service.standing import KnownSettings
from tests.service.desk import Desk, context_of, git, make_repo, reason_of
from tests.service.test_acts_random import ACTS
from tests.service.test_exchange_repos import clone, desk_in, export_of
from tests.service.test_people import Person
from tests.store.exchanging import imported

LONG = bool(os.environ.get("MEMD_LONG"))
SEED = int(os.environ.get("MEMD_SEED", "20261130"))
LIVES, STEPS = (24, 160) if LONG else (2, 45)

PATHS = ("a.py", "b.py", "lib/a.py", "lib/c.py", "d (deleted)", "é.py")
CONTENTS = [f"def part_{n}(a):\n    return a + {n}\n\n\nLIMIT = {n}\n" for n in range(5)]
REMOTE = "git@git.example.org:tools/app.git"


class Life:
    """One home, its repository and a worktree of it, by the throws of one die."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.folder, self.home = folder, folder / "home"
        self.repo = make_repo(folder / "repo")
        git(self.repo, "remote", "add", "origin", REMOTE)
        for path, content in zip(PATHS, CONTENTS, strict=False):
            self._put(self.repo / path, content)
        self._commit()
        self.exports = self._of_colleagues()
        self.worktree = folder / "worktree"
        git(self.repo, "worktree", "add", "-q", str(self.worktree), "-b", "other")
        self.desk = Desk(self.home, self.repo)
        self.person = Person(self.desk)
        self.asked = self.notes = 0
        self.latest = self.repo / PATHS[0]  # where a file came to be last
        self.done: list[str] = []

    def _of_colleagues(self) -> list[bytes]:
        made = []
        for number, path in enumerate(PATHS[:3]):
            repo = clone(self.repo, self.folder / f"theirs{number}")
            with desk_in(self.folder / f"theirs{number}-home", repo) as theirs:
                theirs.remember(f"Colleague {number} was bitten by {path} once.", kind="gotcha", anchors=[path])
                made.append(export_of(theirs))
        return made

    def _put(self, path: Path, content: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def _commit(self) -> None:
        git(self.repo, "add", "-A")
        git(self.repo, "commit", "-qm", "work", "--allow-empty")

    # what may happen

    def step(self) -> None:
        """Something of all that may happen; a refusal is an answer."""
        happens = self.dice.choices(*zip(*self._weights(), strict=True))[0]
        self.done.append(happens.__name__)
        try:
            happens()
        except errors.MemdError as refused:
            self.done[-1] += f" ({type(refused).__name__})"

    def _weights(self) -> list[tuple[Callable[[], None], int]]:
        return [
            (self.remember, 6), (self.act, 6), (self.shift, 8), (self.follow, 4), (self.leave, 2), (self.edit, 3),
            (self.sift, 3), (self.burst, 1), (self.setting, 1), (self.again, 1), (self.take_in, 1), (self.commit, 1),
            (self.killed, 1),
        ]  # fmt: skip

    def remember(self) -> None:
        """Mostly a gotcha, at times another kind, of any class, in any scope, superseding or contradicting."""
        throw, known = self.dice.random(), self.notes
        words: dict[str, Any] = {
            "kind": self.dice.choice(("gotcha",) * 6 + ("finding", "directive")),
            "priority": self.dice.choice(("low", "medium")),
            "scope": self.dice.choice(("repo", "repo", "repo", "global")),
            "endorse": throw < 0.15,
        }
        if words["kind"] == "gotcha":
            there = [path for path in PATHS if (self.repo / path).is_file()]
            anchors = [self.dice.choice(there) for _ in range(self.dice.randint(1, 2))] if there else ["!nowhere.py"]
            words["anchors"] = [self.dice.choice((one, one, f"{one}#L1-L2")) for one in dict.fromkeys(anchors)]
        if known and throw > 0.85:
            words["supersedes"] = str(self.dice.randint(1, known))
            words["reason"] = "it is put better"
        self.notes += 1
        made = self.desk.remember(f"Beware of {self.dice.getrandbits(40):x} in {self.notes}.", **words)
        if made.plan is not None:
            self.person.seal(made.plan)

    def act(self) -> None:
        act = self.dice.choice((*ACTS, *("revoke", "archive", "restore-note", "amend") * 5))
        words: dict[str, Any] = {
            "by": self._any_note(), "to": self.dice.choice(("agent", "human")), "reason": "because",
            "sign": self.dice.random() < 0.4, "resolution": "a_wins", "priority": "low", "absorb": [],
        }  # fmt: skip
        if act == "revise":
            words["text"] = f"Other words {self.dice.getrandbits(40):x}."
        if act == "amend":
            there = [path for path in PATHS if (self.repo / path).is_file()]
            words["anchors"] = self.dice.sample(there, min(len(there), 1))
        acted = self.desk.act(act, self._any_note(), **words)
        if acted.plan is not None:
            self.person.seal(acted.plan)

    def _any_note(self) -> str:
        return str(self.dice.randint(1, max(1, self.notes)))

    def shift(self) -> None:
        """A file goes to another path, over what is there, or the two change places, or is copied, or goes."""
        at = self.dice.choice((self.repo, self.repo, self.worktree))
        old, new = (at / path for path in self.dice.sample(PATHS, 2))
        if not old.is_file():
            return
        self.latest = new
        new.parent.mkdir(exist_ok=True)
        how = self.dice.choice(("move", "move", "move", "swap", "copy", "git mv", "remove"))
        if how == "git mv":
            git(at, "add", "-A")
            git(at, "mv", "-f", str(old), str(new))
        elif how == "swap" and new.is_file():
            aside = at / "aside"
            old.rename(aside)
            new.rename(old)
            aside.rename(new)
        elif how == "copy":
            shutil.copy(old, new)
        elif how == "remove":
            old.unlink()
        else:
            old.rename(new)

    def follow(self) -> None:
        """A note of a content that nobody had before, and at once, or behind much else, its file goes elsewhere."""
        old, new = (self.repo / path for path in self.dice.sample(PATHS, 2))
        self._put(old, f"def only_here():\n    return {self.dice.getrandbits(40)}\n")
        with pytest.MonkeyPatch.context() as patched:
            if self.dice.random() < 0.5:
                patched.setattr(Parts, "catch_up", lambda _: None)  # a hook is the first to look at the log
            self.notes += 1
            self.desk.remember(f"Mind {self.dice.getrandbits(40):x}.", kind="gotcha", anchors=[str(old)])
            if self.dice.random() < 0.5:
                self.burst()
            self.desk.daemon.parts.behind.join()
        new.parent.mkdir(exist_ok=True)
        old.rename(new)
        self.latest = new

    def leave(self) -> None:
        """A note goes from a file that was just asked about to another."""
        there = [path for path in PATHS if (self.repo / path).is_file()]
        if len(there) < 2:
            return
        old, new = self.dice.sample(there, 2)
        self.notes += 1
        made = self.desk.remember(f"Watch {self.dice.getrandbits(40):x}.", kind="gotcha", anchors=[old])
        self.told(self.desk, self.repo / old)
        self.latest = self.repo / old
        self.desk.act("amend", str(made.id), anchors=[new])

    def edit(self) -> None:
        path = self.dice.choice((self.repo, self.worktree)) / self.dice.choice(PATHS)
        was = self.dice.choice((*CONTENTS, path.read_text() if path.is_file() else ""))
        self._put(path, was + self.dice.choice(("", f"# {self.dice.getrandbits(40)}\n")))

    def sift(self) -> None:
        self.desk.daemon.parts.sift()

    def burst(self) -> None:
        """More commits than are looked through."""
        for number in range(limits.CATCH_UP_COMMITS_MAX + 1):
            self.desk.remember(f"Burst {self.dice.getrandbits(40):x} of {number}.")
            self.notes += 1

    def setting(self) -> None:
        key, values = self.dice.choice((("budget.edit", ("599",)), ("budget.prompt", ("700",))))
        self.desk.ask(api.ChangeSetting(key=key, how="set", values=list(values), cwd=str(self.repo)))

    def again(self) -> None:
        """The daemon ends, and another begins."""
        self.desk.close()
        self._begin()

    def killed(self) -> None:
        """What a daemon had written is all that the next one has: a copy of its files while it runs."""
        self._copied(self.folder / "left")
        self.desk.close()
        shutil.rmtree(self.home)
        (self.folder / "left").rename(self.home)
        self._begin()

    def take_in(self) -> None:
        self.desk.close()
        try:
            imported(self.home, self.dice.choice(self.exports))
        finally:
            self._begin()

    def commit(self) -> None:
        self._commit()

    def _begin(self) -> None:
        self.desk = Desk(self.home, self.repo)
        self.person.desk = self.desk

    def _copied(self, to: Path) -> None:
        self.desk.daemon.parts.behind.join()
        shutil.copytree(self.home, to, ignore=lambda _, names: [name for name in names if name.endswith(".sock")])

    # what is told

    def told(self, desk: Desk, path: Path) -> list[str]:
        """At a read and at an edit of a file, in sessions of their own."""
        self.asked += 1
        cwd = str(path.parent if len(self.done) % 2 else self.repo)  # the same for all of one step
        out = [
            desk.read(str(path), f"reads {self.asked}", cwd=cwd),
            desk.edit(str(path), f"edits {self.asked}", cwd=cwd),
        ]
        desk.daemon.parts.behind.join()
        return [context_of(one) + reason_of(one) for one in out]

    def check(self) -> None:
        """Where a file came to be last, and of any: told by who knows all, and by the same one with what was made of the log and of
        the disk forgotten."""
        there = self.dice.choice((self.repo, self.repo, self.worktree))
        for at in (self.latest, there / self.dice.choice(PATHS)):
            if not at.parent.is_dir():
                continue
            self._unsee()
            self.told(self.desk, at)  # what became of files that are gone is found behind the first answer
            self._unsee()
            kept = self.told(self.desk, at)
            self._unsee()
            with self._forgotten():
                anew = self.told(self.desk, at)
            assert kept == anew, (at, self.done[-12:])

    def _unsee(self) -> None:
        """Which files held which contents: what this process saw of that would hide what the log should tell."""
        contents = self.desk.daemon.parts.ground._contents  # pyright: ignore[reportPrivateUsage] -- it has no other way
        contents._seen.clear()  # pyright: ignore[reportPrivateUsage] -- as above

    @contextlib.contextmanager
    def _forgotten(self) -> Iterator[None]:
        """Nothing is known of the log, of checkouts, or of what events say; and no content is known to be nobody's."""
        parts, deliverer = self.desk.daemon.parts, self.desk.daemon._deliverer  # pyright: ignore[reportPrivateUsage] -- as above
        views = KnownViews()
        views.is_to_sift = lambda: False  # type: ignore[method-assign]  # so that it is not learned meanwhile either
        new: dict[str, object] = {
            "views": views,
            "known_settings": KnownSettings(),
            "checkouts": Checkouts(),
            "places": {},
        }
        was = {name: getattr(parts, name) for name in new}
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(deliverer, "_footings", Footings())
            try:
                for name in new:
                    object.__setattr__(parts, name, new[name])
                yield
            finally:
                for name in was:
                    object.__setattr__(parts, name, was[name])

    def check_fresh(self) -> None:
        """A daemon that begins on a copy tells nothing that this one does not tell."""
        copy = self.folder / "copy"
        self._copied(copy)
        path = self.repo / self.dice.choice(PATHS)
        fresh = Desk(copy, self.repo)
        try:
            anew = self.told(fresh, path) if path.parent.is_dir() else []
        finally:
            fresh.close()
            shutil.rmtree(copy)
        kept = self.told(self.desk, path) if path.parent.is_dir() else []
        lost = [line for a, k in zip(anew, kept, strict=True) for line in notes_in(a) - notes_in(k)]
        assert not lost, (path, lost, self.done[-12:])

    def close(self) -> None:
        self.desk.close()


def notes_in(said: str) -> set[str]:
    """The notes of a bundle, by their numbers."""
    return {line.split("]")[0] for line in said.splitlines() if line.startswith("[")}


@pytest.mark.parametrize("seed", range(SEED, SEED + LIVES))
def test_what_is_kept_makes_no_difference(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each step, of files at random; and now and then beside a daemon that has just begun."""
    monkeypatch.setattr(limits, "GROUND_DEADLINE_MS", 60_000)  # a busy machine leaves no status unknown
    monkeypatch.setattr(limits, "RACY_MTIME_MS", 0)
    monkeypatch.setattr(limits, "CATCH_UP_COMMITS_MAX", 6)  # what more than that leaves behind comes up often
    monkeypatch.setattr(limits, "SIFT_PAUSE_S", 0)
    monkeypatch.setattr(moved, "_is_due", lambda *_: False)  # git's word would hide a move that the content should tell
    life = Life(tmp_path, seed)
    try:
        for number in range(STEPS):
            life.step()
            life.check()
            if number % 15 == 14:
                life.check_fresh()
    finally:
        life.close()
