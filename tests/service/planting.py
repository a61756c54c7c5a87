"""Secrets planted in every text that comes in, and a look for them in every byte that memd keeps.

``python -m tests.service.planting 10000`` is the long form: so many texts, and what was found (docs/evidence.md).
"""

import json
import mmap
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path

from memd_client import api, wire
from memd_daemon import errors, limits
from tests.redact.corpus import HELD, KEY_LINES, KEYS, whole
from tests.service.desk import Desk, desk_at, git

SECRET_MIN_CHARS = 8  # a shorter one may stand anywhere by chance
BYTES_IN_ORDER = bytes(range(256))  # the word index holds them as a table, so "12345678" stands there whatever was said
PRIVATE = "mallard-canary"


def _can_be_told(secret: str) -> bool:
    """Whether the secret's bytes stand nowhere by chance."""
    return len(secret) >= SECRET_MIN_CHARS and secret.encode() not in BYTES_IN_ORDER


CASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((whole(text), (whole(secret),)) for text, secret, _ in HELD if _can_be_told(whole(secret))),
    *((whole(key), KEY_LINES) for key in KEYS),
    (f"Keep <private>{PRIVATE} one</private> out.", (PRIVATE,)),
    (f"Keep out <Private >what {PRIVATE} follows\nto the end", (PRIVATE,)),
)
"""(text, what of it must not be kept)."""


class Sower:
    """Puts texts through each of memd's doors in turn."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._noted = desk.remember("A note whose reasons and tags are written again and again.", kind="finding").id
        self.refused: list[str] = []  # by which door, and why
        self._spooled: list[Path] = []

    def sow(self, count: int) -> dict[str, int]:
        """How many texts went through each door."""
        doors: tuple[Callable[[int, str], None], ...] = (
            self.prompt, self.spool, self.note, self.reason, self.excerpt, self.page, self.shell, self.query, self.commit,
        )  # fmt: skip
        done = dict.fromkeys((door.__name__ for door in doors), 0)
        texts = cycle(text for text, _ in CASES)
        for number, text in enumerate(islice(texts, count)):
            door = doors[(number + number // len(CASES)) % len(doors)]
            self._desk.clock.ms += limits.MS_PER_S
            try:
                door(number, text)
            except errors.MemdError as refusal:
                self.refused.append(
                    f"{door.__name__}: {refusal.code}"
                )  # of nothing that is refused anything may be kept either
            done[door.__name__] += 1
        self._desk.prompt("The last of them.", "last", "last")  # takes in what lies in the spool
        self._desk.daemon.parts.reading.join()
        return done

    def prompt(self, number: int, text: str) -> None:
        self._desk.prompt(f"Prompt {number}.\n{text}", "s1", f"p{number}")

    def spool(self, number: int, text: str) -> None:
        prompt = f"Spooled {number}.\n{text}"
        payload = json.dumps(self._desk.payload("UserPromptSubmit", "s1", prompt=prompt)).encode()
        request = (1 << 64 | number).to_bytes(16, "big")
        call = wire.Hook(request, 0, 0, "claude", "prompt-submit", bytes(self._desk.repo), b"", payload)
        folder = self._desk.home / "spool"
        folder.mkdir(mode=0o700, exist_ok=True)
        at_ns = self._desk.clock.ms * limits.NS_PER_MS
        file = folder / wire.spool_name(request, at_ns).decode()
        file.write_bytes(wire.encode_spool(wire.Spooled(call, at_ns)))
        self._spooled.append(file)

    def note(self, number: int, text: str) -> None:
        self._desk.remember(f"Note {number} has this.\n{text}")

    def reason(self, number: int, text: str) -> None:
        self._desk.act("revoke", self._noted, reason=f"reason {number}: {text}")

    def excerpt(self, number: int, text: str) -> None:
        self._desk.prompt(f"Said {number}.\n{text}", "s1", f"e{number}")
        turn = self._desk.ask(api.Turns(limit=1)).turns[0].turn
        self._desk.remember(f"Bound {number}.", evidence=[(turn, f"Said {number}.\n{text}")])

    def page(self, number: int, text: str) -> None:
        url = f"https://docs.example/{number}?token={text.replace(' ', '+')}"
        self._desk.result("WebFetch", {"url": url, "prompt": text}, {"result": f"Page {number} says this.\n{text}"})

    def shell(self, number: int, text: str) -> None:
        self._desk.result("Bash", {"command": text}, {"stdout": f"Run {number} said this.\n{text}", "stderr": text})

    def query(self, number: int, text: str) -> None:
        self._desk.recall(f"Question {number}? {text}", env={"CLAUDE_CODE_SESSION_ID": "s1"})

    def commit(self, number: int, text: str) -> None:
        message = f"{' '.join(text.split())} {number}"
        git(self._desk.repo, "commit", "-q", "--allow-empty", "-m", message)
        self._desk.hook("git-commit", b"")

    @property
    def spooled_left(self) -> list[Path]:
        return [file for file in self._spooled if file.exists()]


def kept(home: Path) -> Iterator[tuple[Path, str]]:
    """(file, secret) of everything that was planted and lies there."""
    secrets = {secret for _, held in CASES for secret in held}
    for file in sorted(home.rglob("*")):
        if not file.is_file() or not file.stat().st_size:
            continue
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as raw:
            yield from ((file, secret) for secret in sorted(secrets) if raw.find(secret.encode()) >= 0)


def run(count: int) -> int:
    with tempfile.TemporaryDirectory(prefix="memd-planted-", dir="/tmp") as folder:
        began = time.monotonic()
        with desk_at(Path(folder)) as desk:
            desk.start("s1")
            sower = Sower(desk)
            done, left = sower.sow(count), sower.spooled_left
        found = list(kept(Path(folder) / "home"))
        size = sum(file.stat().st_size for file in (Path(folder) / "home").rglob("*") if file.is_file())
        print(
            f"{count} texts with {len(CASES)} secrets: {done}, refused {dict(Counter(sower.refused))}, {len(left)} still spooled"
        )
        print(f"{size} bytes kept, {len(found)} secrets found in them, {time.monotonic() - began:.0f} s")
        for file, secret in found:
            print(f"  {file.relative_to(folder)}: {secret[:60]!r}")
    return 1 if found or left else 0


if __name__ == "__main__":
    sys.exit(run(int(sys.argv[1])))
