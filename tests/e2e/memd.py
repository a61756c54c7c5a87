"""memd as the tests use it: its commands inside a lab, and the words they look for in what the client sends."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .lab import Lab
from .model import JSON, WAIT_SECONDS

BUNDLE = re.compile(r"memd: \d+ (?:auto-captured )?notes?\b[^\n]*\n.*?memd: end[^\n]*", re.DOTALL)
HELD = " This edit was held once so that you see this first; repeat the same call to make it."
PASSPHRASE = "correct horse battery staple"


def bundles(text: str) -> list[str]:
    """Every bundle of notes in a text, from its opening line to its closing line."""
    return BUNDLE.findall(text)


def pushed(note: int, content: str, anchor: str) -> re.Pattern[str]:
    """A pushed line: a note made at the command line, whose anchored file stands as it was."""
    start = rf"\[{note}\] \[agent, command line\] Recorded \d{{4}}-\d\d-\d\d "
    return re.compile(start + re.escape(f"(anchor: {anchor}, status: matches current state): {content}"))


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait for what the daemon does on its own; AssertionError when it never does."""
    end = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.05)  # the pace of polling a command that starts a process


@dataclass(frozen=True)
class Memd:
    """The commands of this checkout's memd in one lab."""

    lab: Lab

    def remember(self, content: str, *options: str, kind: str, priority: str = "medium", anchor: str = "") -> int:
        """Record a note as a shell outside any session would; its id."""
        anchors = ["--anchor", anchor] if anchor else []
        words = ["remember", content, "--kind", kind, "--priority", priority, *anchors, *options, "--json"]
        return int(self.lab.memd(*words).json()["id"])

    def born(self, note: JSON) -> JSON:
        """The event that recorded a note: its `session`, `agent`, `surface` and the like."""
        events: list[JSON] = self.lab.memd("log", str(note["id"]), "--json").json()
        (recorded,) = [event for event in events if event["type"] == "recorded"]
        return recorded

    def shown(self, note: JSON) -> str:
        """A note as `show` tells it."""
        return self.lab.memd("show", str(note["id"])).out

    def turns(self) -> list[JSON]:
        """The stored turns."""
        return self._listed("turns")

    def notes(self) -> list[JSON]:
        """The notes of this repository."""
        return self._listed("list")

    def deliveries(self) -> list[JSON]:
        """What was delivered."""
        return self._listed("deliveries")

    def _listed(self, command: str) -> list[JSON]:
        listed: list[JSON] = self.lab.memd(command, "--json").json()
        return listed

    @property
    def daemon(self) -> Any:
        """The pid of the daemon, inside the lab; None while none runs. Asking never starts one."""
        return self.lab.memd("status", "--json", check=False).json()["daemon"].get("pid")

    def answer_at_terminal(self, *words: str) -> str:
        """Run a command of a person's at a terminal, give the passphrase whenever it asks; the last screen."""
        with self.lab.terminal(self.lab.memd_binary, *words) as terminal:
            return terminal.answer("assphrase", PASSPHRASE)
