"""What `memd bench evidence` asks a daemon's own code: a process that answers lines of JSON with lines of JSON.

It is started as ``python -m memd_daemon.evidenced`` on a home of its own, which goes with it. A request is `Wanted`, and each thing
it can do is a method of `Inside`. Nothing is recorded: what is asked is how a note would be judged.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.answering import serve
from memd_daemon.daemon import Daemon
from memd_daemon.evidence import Said, read, striped
from memd_daemon.model import event as ev
from memd_daemon.model.tool_result import UNTRUSTED_ORIGINS
from memd_daemon.model.words import Actor, Kind, Priority, Provenance, SourceType, Surface
from memd_daemon.service import copied, tool_results
from memd_daemon.service.asker import Asker
from memd_daemon.service.repos import place_of
from memd_daemon.service.wanted import Wanted as Note
from memd_hooks.events import HookEvent, Moment, ResultKind
from memd_hooks.harness import claude

Answer = dict[str, Any]
COPY: Final = "copy"
OWN: Final = "own"
REFUSED: Final = "refused"


class Pair(msgspec.Struct, frozen=True):
    """What a user typed, and a note that is bound to all of it."""

    turns: list[str]
    note: str


class Wanted(msgspec.Struct, frozen=True):
    """A request: what to do, in which session, with these texts; ``kind`` of the notes that they are. Or with which pairs."""

    do: str  # read, judge, mark
    session: str = ""
    texts: list[str] = []
    kind: str = Kind.FINDING
    pairs: list[Pair] = []


def marked(pair: Pair) -> list[tuple[int, int]]:
    """The stretches of the note that are shown as the user's own words, all of it where its frame says so (service/spoken.py)."""
    reading = read(pair.note, [Said(number, text) for number, text in enumerate(pair.turns, 1)])
    if reading.whole:
        return [(0, len(pair.note))]
    found: list[tuple[int, int]] = []
    at = 0
    for stripe in striped(pair.note, reading, limits.EVIDENCE_ALTERNATIONS_MAX):
        at += len(stripe.text)
        if stripe.turn:
            found.append((at - len(stripe.text), at))
    return found


class Inside:
    """See the module's docstring."""

    def __init__(self, folder: Path) -> None:
        self._cwd = str(folder)
        self._daemon = Daemon.open(folder / "home")
        self._parts = self._daemon.parts
        self._place = place_of(self._parts, self._cwd)

    def close(self) -> None:
        self._daemon.close()

    def answer(self, wanted: Wanted) -> Answer:
        does: dict[str, Callable[[Wanted], Answer]] = {"read": self.read, "judge": self.judge, "mark": self.mark}
        return does[wanted.do](wanted)

    def read(self, wanted: Wanted) -> Answer:
        """The session is given each of the texts by a tool; the hashes that are kept of them all."""
        for text in wanted.texts:
            event = HookEvent(
                moment=Moment.TOOL_RESULT,
                harness=claude.NAME,
                session=wanted.session,
                cwd=self._cwd,
                result=msgspec.json.encode(text),
                result_kind=ResultKind.PAGE,
                result_from="https://docs.example/",
            )
            tool_results.heard(self._parts, claude, event, self._place)
            self._parts.reading.join()
        kept = self._parts.ledger.results_of(wanted.session)
        return {"bytes": sum(len(result.hashes) for result in kept), "results": len(kept)}

    def judge(self, wanted: Wanted) -> Answer:
        """What becomes of each text as a note of that session: COPY, OWN or REFUSED."""
        asker = Asker(actor=Actor.AGENT, surface=Surface.MCP, session=wanted.session)
        return {"judged": [self._judged(asker, text, Kind(wanted.kind)) for text in wanted.texts]}

    def mark(self, wanted: Wanted) -> Answer:
        """Of each pair what is shown as the user's own words."""
        return {"marked": [marked(pair) for pair in wanted.pairs]}

    def _judged(self, asker: Asker, content: str, kind: Kind) -> str:
        note = Note(
            uid=self._parts.new_uid(),
            content=content,
            summary="",
            kind=kind,
            priority=Priority.MEDIUM,
            provenance=Provenance.AGENT,
            source=ev.Source(SourceType.INFERENCE),
            scope=self._place.scope,
        )
        try:
            judged = copied.captured(self._parts, api.Remember(content=content), asker, note)
        except errors.CopiedDirective:
            return REFUSED
        return COPY if judged.source.type in UNTRUSTED_ORIGINS else OWN


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="memd-evidence-") as folder:
        serve(Inside(Path(os.path.realpath(folder))), Wanted)


if __name__ == "__main__":
    main()
