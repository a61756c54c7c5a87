"""`memd why` against what comes: a session drawn by chance, each of whose moments is foretold for every note, and then happens.

What is told must have been foretold, and the rule by which the ledger says that a note was left out is the one that was named.
Budgets are short of what there is to tell, so that orders, budgets and corrections decide with the rest.
"""

import itertools
import os
import random
from contextlib import suppress
from typing import Any, Final

import pytest

from memd_client import api
from memd_client.reasons import ForeseenOut
from memd_daemon import errors
from tests.service.desk import Desk, context_of, git, reason_of
from tests.service.matrix import KINDS, told
from tests.service.test_people import Person
from tests.service.test_settings import change

SEEDS: Final = range(40 if os.environ.get("MEMD_LONG") else 3)
STEPS: Final = 25
SESSION, OTHER = "s1", "s2"
MOMENTS: Final = (
    "session-start",
    "resume",
    "post-compaction",
    "prompt-submit",
    "read",
    "pre-edit",
    "subagent-start",
)
FILES: Final = ("app.py", "other.py", "web/page.py")
SETTINGS: Final = (
    ("hold", "off"),
    ("hold", "on"),
    ("pause", "on"),
    ("pause", "off"),
    ("budget.prompt", "100"),
    ("budget.edit", "150"),
    ("budget.session_start", "500"),
    ("budget.session_start", "3000"),
)


class Life:
    """One session, by chance. ``ids``: every note so far."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self.desk, self.chance = desk, random.Random(seed)
        self.person = Person(desk)
        desk.clock.ms += 8 * 86_400_000  # no start tells of the key any more
        (desk.repo / "web").mkdir()
        (desk.repo / "web" / "page.py").write_text("page = 1\n")
        git(desk.repo, "add", ".")
        git(desk.repo, "commit", "-qm", "page")
        for session in (SESSION, OTHER):
            desk.start(session)
        self.ids: list[int] = []
        self.turn = 0
        self._numbers = itertools.count()
        for _ in range(40):
            self.record()

    def record(self) -> None:
        """A note of any kind, scope and class, some of them long, some against another."""
        pick, number = self.chance, next(self._numbers)
        kind = pick.choice(KINDS)
        words: dict[str, Any] = {"kind": kind, "priority": pick.choice(("low", "medium", "high"))}
        words["scope"] = pick.choice(("repo", "repo", "session"))
        words["env"] = {"CLAUDE_CODE_SESSION_ID": pick.choice((SESSION, OTHER))}
        words["endorse"] = pick.random() < 0.2
        if kind != "directive" and pick.random() < 0.15:
            words["provenance"], words["endorse"] = "auto", False
        if kind == "gotcha":
            words["anchors"] = pick.sample(("app.py", "other.py", "app.py::add", "web/page.py"), pick.randint(1, 2))
        elif pick.random() < 0.2 and words["scope"] == "repo":
            words["under"] = "web"
        if self.ids and pick.random() < 0.15:
            words |= {"contradicts": str(pick.choice(self.ids)), "endorse": False}
        text = f"zq{number}x() and zq{number}y() are number {number}. "
        made = self.desk.remember(text + "It is told at length. " * pick.choice((0, 0, 5, 40)), **words)
        self.ids.append(made.id if made.plan is None else self.person.seal(made.plan).id)

    def befall(self) -> None:
        """Something that is written meanwhile, or nothing."""
        pick = self.chance
        match pick.choice(("record", "act", "set", "", "")):
            case "record":
                self.record()
            case "act":
                with suppress(errors.MemdError):  # not every act is one for every note
                    self.desk.act(pick.choice(("revoke", "archive", "done", "reinstate")), pick.choice(self.ids))
            case "set":
                key, value = pick.choice(SETTINGS)
                how = "unset" if value == "off" and key == "pause" else "set"
                change(self.desk, key, *(() if how == "unset" else (value,)), how=how)

    def foretold(self, moment: str, file: str, prompt: str) -> dict[int, ForeseenOut]:
        asked: dict[str, Any] = {"session": SESSION, "at": (moment,), "cwd": str(self.desk.repo), "prompt": prompt}
        if moment in ("read", "pre-edit"):
            asked["paths"] = (file,)
        return {id_: self.desk.ask(api.Why(ref=str(id_), **asked)).foreseen[0] for id_ in self.ids}

    def happens(self, moment: str, file: str, prompt: str) -> str:
        """The text that the client's hook brings."""
        desk, turn, receipt = self.desk, f"p{self.turn}", self.chance.random() < 0.8
        match moment:
            case "session-start":
                out = desk.start(f"new {next(self._numbers)}", receipt=receipt)
            case "resume":
                out = desk.start(SESSION, "resume", receipt=receipt)
            case "post-compaction":
                out = desk.start(SESSION, "compact", receipt=receipt)
            case "prompt-submit":
                out = desk.prompt(prompt, SESSION, turn, receipt=receipt)
            case "read":
                out = desk.read(file, SESSION, turn)
            case "pre-edit":
                out = desk.edit(file, SESSION, turn, new=turn)
            case _:
                agent = {"agent_id": f"agent {next(self._numbers)}", "agent_type": "Explore", "prompt_id": turn}
                out = desk.hook("subagent-start", desk.payload("SubagentStart", SESSION, **agent), receipt=receipt)
        return context_of(out) or reason_of(out)

    def step(self) -> tuple[str, dict[int, tuple[bool, str]], dict[int, tuple[bool, str]]]:
        """(the moment, what was foretold, what came): by note, whether it is told and, where the ledger has it, why not."""
        self.befall()
        self.desk.clock.ms += self.chance.choice((3_000, 10_000))  # a second start at once would be the same one
        moment, file = self.chance.choice(MOMENTS), self.chance.choice(FILES)
        about = self.chance.randrange(len(self.ids))
        prompt = f"what about zq{about}x() and zq{about}y() then?" if moment == "prompt-submit" else ""
        self.turn += moment == "prompt-submit"
        seen = self.foretold(moment, file, prompt)
        text = self.happens(moment, file, prompt)
        came, left = set(told(text)), self._left() if text else {}
        rules = {id_: left.get(id_, one.rule) for id_, one in seen.items()}
        return (
            moment,
            {id_: (one.outcome in ("arrives", "holds"), one.rule) for id_, one in seen.items()},
            {id_: (id_ in came, "" if id_ in came else rules[id_]) for id_ in seen},
        )

    def _left(self) -> dict[int, str]:
        (delivery,) = self.desk.ask(api.Deliveries(limit=1)).deliveries
        return {left.id: left.rule for left in delivery.left_out}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_comes_was_foretold_and_what_does_not_by_its_rule(desk: Desk, seed: int) -> None:
    """At every moment of a session, of every note in the store."""
    life = Life(desk, seed)
    for number in range(STEPS):
        moment, foretold, came = life.step()
        assert came == foretold, f"seed {seed}, step {number}: {moment}"
