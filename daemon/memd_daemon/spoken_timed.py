"""What `memd bench evidence --times` asks a daemon's own code: a process that answers lines of JSON with lines of JSON.

It is started as ``python -m memd_daemon.spoken_timed`` on a home of its own, which goes with it. Two directories hold NOTES equal
notes each; in one of them every note is bound to a turn of its own that was typed, and is told in stripes. A request is
{"do": …}, an answer {"ms": …}:

======================  ============================================================================
do                      what is timed, the daemon's own share
======================  ============================================================================
recall                  a recall of the NOTES notes that are bound to nothing
recall_bound            the same of those that are bound to what the user said
recall_unread           the same where no reading is known yet, as at a daemon's first recall
capture                 a prompt of PROMPT_BYTES, until it is durable
commit                  a turn of that size put into the store and committed, and nothing else
======================  ============================================================================
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from memd_client import api
from memd_daemon import limits
from memd_daemon.answering import serve
from memd_daemon.daemon import Daemon
from memd_daemon.model.turn import Raised, Turn, Witness
from memd_daemon.model.words import Attestation
from memd_daemon.service.capture import store_turn
from memd_daemon.service.readings import Readings
from memd_daemon.service.repos import Place, place_of
from memd_hooks.events import HookEvent, Moment
from memd_hooks.harness import claude

NOTES: Final = 20
PROMPT_BYTES: Final = 10_000
REQUEST_BYTES: Final = 16
QUERY: Final = "renaming parts of the billing service"
SAID: Final = "Never rename part {n} of the billing service without a migration, except in tests."
ADDED: Final = "The report of team {n} reads it by that name, and so does the nightly job."
LINE: Final = "The request with number {n} was answered after some milliseconds, and nobody noticed.\n"


class Wanted(msgspec.Struct, frozen=True):
    do: str


class Inside:
    """See the module's docstring."""

    def __init__(self, folder: Path) -> None:
        self._daemon = Daemon.open(folder / "home")
        self._parts = self._daemon.parts
        self._parts.search.load_words()
        self._verbs: dict[str, Callable[[Any], Any]] = self._daemon.handlers(lambda: None)
        self._plain, self._bound = (self._place(folder / name) for name in ("plain", "bound"))
        self._count = 0
        for n in range(NOTES):
            self._record(n)

    def close(self) -> None:
        self._daemon.close()

    def _place(self, folder: Path) -> Place:
        folder.mkdir()
        return place_of(self._parts, str(folder))

    def _record(self, n: int) -> None:
        said, content = SAID.format(n=n), f"{SAID.format(n=n)} {ADDED.format(n=n)}"
        turn = self._parts.store.write(lambda txn: txn.add_turn(self._turn(f"Good morning. {said} Now the build.")))
        uid = self._uid_of(turn)
        raised = Raised(turn=uid, at=self._parts.now_ms(), transcript_bytes=0, settled=True)
        self._parts.store.write(lambda txn: txn.put_raised(turn, raised))
        for place, evidence in ((self._plain, []), (self._bound, [(turn, said)])):
            self._verbs["remember"](api.Remember(content=content, cwd=place.checkout.root, evidence=evidence))

    def _uid_of(self, number: int) -> bytes:
        with self._parts.store.read() as snapshot:
            turn = snapshot.turn(number)
        return turn.uid if turn is not None else b""

    def _turn(self, words: str) -> Turn:
        return Turn(
            uid=self._parts.new_uid(),
            number=0,
            session="s1",
            n=1,
            harness=claude.NAME,
            at=self._parts.now_ms(),
            text=words,
            attestation=Attestation.CAPTURED,
            witness=Witness(),
        )

    def answer(self, wanted: Wanted) -> dict[str, float]:
        does: dict[str, Callable[[], dict[str, float]]] = {
            "recall": lambda: self._recall(self._plain),
            "recall_bound": lambda: self._recall(self._bound),
            "recall_unread": self._recall_unread,
            "capture": self._capture,
            "commit": self._commit,
        }
        return does[wanted.do]()

    def _recall(self, place: Place) -> dict[str, float]:
        request = api.Recall(query=QUERY, k=NOTES, cwd=place.checkout.root)
        found: list[api.RecallReply] = []
        took = _took(lambda: found.append(self._verbs["recall"](request)))
        return {**took, "notes": len(found[0].found), "striped": found[0].text.count("[user-stated, turn ")}

    def _recall_unread(self) -> dict[str, float]:
        object.__setattr__(self._parts, "readings", Readings())
        return self._recall(self._bound)

    def _capture(self) -> dict[str, float]:
        event = HookEvent(
            moment=Moment.PROMPT_SUBMIT,
            harness=claude.NAME,
            session="s2",
            cwd=self._plain.checkout.root,
            prompt=self._prompt(),
            prompt_id=f"p{self._count}",
        )
        request, now_ms = os.urandom(REQUEST_BYTES), self._parts.now_ms()
        seen = Witness(prompt_id=event.prompt_id)
        return _took(lambda: store_turn(self._parts, event, self._plain, seen, Attestation.CAPTURED, request, now_ms))

    def _commit(self) -> dict[str, float]:
        turn = self._turn(self._prompt())
        return _took(lambda: self._parts.store.write(lambda txn: txn.add_turn(turn)))

    def _prompt(self) -> str:
        """Another one each time."""
        self._count += 1
        lines = (LINE.format(n=self._count * PROMPT_BYTES + n) for n in range(PROMPT_BYTES))
        text = f"Look at this log, number {self._count}:\n"
        while len(text) < PROMPT_BYTES:
            text += next(lines)
        return text[:PROMPT_BYTES]


def _took(work: Callable[[], object]) -> dict[str, float]:
    began = time.perf_counter_ns()
    work()
    return {"ms": (time.perf_counter_ns() - began) / limits.NS_PER_MS}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="memd-spoken-") as folder:
        serve(Inside(Path(os.path.realpath(folder))), Wanted)


if __name__ == "__main__":
    main()
