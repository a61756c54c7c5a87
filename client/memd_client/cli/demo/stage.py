"""How the demo is told: numbered scenes, what was typed, what memd said word for word, and why. Each scene proves its own claim."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memd_client.cli import screen
from memd_client.memd import MemdError

TOMBSTONE = "Previously believed ("


class NotShown(MemdError):
    """A scene did not show what it should."""


class Stage:
    """Tells scenes to a person, or keeps them for `--json`."""

    def __init__(self, scenes: int, *, silent: bool) -> None:
        self._scenes = scenes
        self._silent = silent
        self.told: list[dict[str, Any]] = []

    @contextmanager
    def scene(self, title: str) -> Iterator[None]:
        """One scene. What goes wrong in it is told with its number."""
        number = len(self.told) + 1
        self.told.append({"n": number, "title": title, "lines": []})
        self._say()
        self._say((f"{number}/{self._scenes}  {title}", "bold cyan"))
        with screen.working(title):
            yield

    def does(self, who: str, what: str) -> None:
        """What somebody typed or did."""
        self._keep("does", f"{who}: {what}")
        self._say((f"  {who}  ", "bold"), what)

    def hears(self, what: str, text: str, ms: float | None = None) -> None:
        """What memd said, word for word."""
        self._keep("hears", text)
        took = f" ({ms:.0f} ms)" if ms is not None else ""
        self._say((f"  memd  {what}{took}", "bold magenta"))
        for line in text.rstrip("\n").split("\n"):
            style = "strike dim" if TOMBSTONE in line else ""
            self._say(("  │ ", "magenta"), (line, style))

    def why(self, text: str) -> None:
        """Why it is so."""
        self._keep("why", text)
        self._say(("  why   ", "bold"), (text, "dim"))

    def expect(self, is_so: object, what: str) -> None:
        """Raises NotShown unless it is so."""
        if not is_so:
            raise NotShown("not-shown", f"scene {len(self.told)} did not show that {what}")

    def _keep(self, kind: str, text: str) -> None:
        self.told[-1]["lines"].append({"kind": kind, "text": text})

    def _say(self, *parts: screen.Part) -> None:
        if not self._silent:
            screen.say(*parts)
