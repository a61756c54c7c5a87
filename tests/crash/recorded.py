"""A run of memd whose every write and sync is recorded (recording.c), with what its clients were told between them.

`record_run` is the life of a home from the folder above it on: a first start, notes and corrections of several clients, prompts, an
edit that is told of, a stop, prompts of hooks that find no daemon, a start that takes them in, a kill, another start and kill.
`Recording.call` records anything else. An acknowledgement is appended by whoever was told: no sync behind it counts for it.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from memd_client import Memd, address, link, wire
from tests.crash.disk import ACK, Record, encode_ack, read_journal
from tests.daemon.test_lifecycle import PATIENCE_NS, reached
from tests.service.desk import make_repo

CLIENTS: Final = 2
ROUNDS: Final = 4
LANES: Final = 300  # a prompt of some 8 kB
ROOT: Final = Path(__file__).parents[2]


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """One acknowledgement: of a note, with what it corrects (0 for nothing), of a turn, or of a call."""

    id: int = 0
    content: str = ""
    corrects: int = 0
    turn: str = ""


@dataclass
class Recording:
    """``said``: every text that a client sent, acknowledged or not."""

    folder: Path
    library: Path
    said: set[str] = field(default_factory=set)
    _number: int = 0

    def __post_init__(self) -> None:
        self.disk, self.journal, self.repo = self.folder / "disk", self.folder / "journal", self.folder / "repo"
        self.disk.mkdir()
        self.journal.touch()
        make_repo(self.repo)
        self.home = self.disk / "share" / "deep" / "memd"  # two folders above it are not there yet

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "MEMD_HOME": str(self.home),
            "LD_PRELOAD": str(self.library),
            "MEMD_JOURNAL": str(self.journal),
            "MEMD_RECORDED": str(self.disk),
        }

    def records(self) -> list[Record]:
        return read_journal(self.journal)

    # what is done

    def start(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen([sys.executable, "-m", "memd_daemon"], env=self.environ, stderr=subprocess.PIPE)
        reached(self.home, process)
        return process

    def client(self) -> Memd:
        return Memd(self.home, cwd=self.repo, environ={}, starts=False)

    def text(self, what: str, lanes: int = 0) -> str:
        """A text that no other is like; with some hundred lanes it lies on several pages."""
        self._number += 1
        text = f"{what}_{os.urandom(6).hex()} drains into buffer_{os.urandom(6).hex()} before commit {self._number}"
        text += "".join(f", and lane_{os.urandom(4).hex()} after it" for _ in range(lanes))
        self.said.add(text)
        return text

    def write(self) -> None:
        """One client: a note, one built on it, and the one that puts it right."""
        with self.client() as memd:
            for word in ("contradicts", "supersedes") * (ROUNDS // 2):
                old = self.remember(memd)
                self.remember(memd, derived_from=[str(old)])
                self.remember(memd, corrects=old, **{word: str(old)})
                self.hook("prompt-submit", prompt=(turn := self.text("prompt", LANES)), prompt_id=f"p{self._number}")
                self.tell(Told(turn=turn))

    def remember(self, memd: Memd, corrects: int = 0, **words: Any) -> int:
        content = self.text("queue")
        id_ = memd.remember(content, kind="gotcha", anchors=["app.py"], reason="measured" * bool(corrects), **words).id
        self.tell(Told(id=id_, content=content, corrects=corrects))
        return id_

    def write_at_once(self) -> None:
        clients = [threading.Thread(target=self.write) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()

    def hook(self, event: str, **more: Any) -> bytes:
        """What a hook is answered by the daemon that runs."""
        call = wire.Hook(
            os.urandom(16), time.monotonic_ns() + PATIENCE_NS, 0, "claude", event, bytes(self.repo), b"", b""
        )
        call.stdin = self.payload(event, **more)
        known = address.read(os.fsencode(self.home))
        assert known is not None
        outcome = link.request(known, wire.hook_request(call), call.deadline_ns)
        assert isinstance(outcome, wire.Reply), outcome
        assert outcome.status == wire.DONE
        return outcome.body[1]

    def payload(self, event: str, **more: Any) -> bytes:
        names = {"prompt-submit": "UserPromptSubmit", "session-start": "SessionStart", "pre-edit": "PreToolUse"}
        base = {"session_id": "s1", "transcript_path": "/nowhere/s1.jsonl", "cwd": str(self.repo)}
        return json.dumps({**base, "hook_event_name": names[event], "permission_mode": "default", **more}).encode()

    def edit(self) -> None:
        """A start and an edit, which the ledger keeps."""
        self.hook("session-start", source="startup")
        told = {"file_path": str(self.repo / "app.py"), "old_string": "a", "new_string": "b"}
        self.hook("pre-edit", tool_name="Edit", tool_input=told, tool_use_id="toolu_1", prompt_id="p0")

    def spool(self) -> None:
        """A prompt of a real hook that finds no daemon. It is promised nothing."""
        stdin = self.payload("prompt-submit", prompt=self.text("spooled", LANES), prompt_id=f"q{self._number}")
        command = [
            sys.executable,
            "-I",
            "-S",
            str(ROOT / "hooks/memd_hooks/prompt_submit.py"),
            "prompt-submit",
            "claude",
        ]
        ran = subprocess.run(command, env=self.environ, cwd=self.repo, input=stdin, capture_output=True, check=False)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")

    def call(self, code: str) -> None:
        """Python code in a process of its own, with the home as its argument; told when it has ended."""
        command = [sys.executable, "-c", code, str(self.home)]
        subprocess.run(command, env=self.environ, cwd=ROOT, check=True)
        self.tell(Told())

    def tell(self, told: Told) -> None:
        """Somebody was told. One write, as a record is."""
        with self.journal.open("ab", buffering=0) as journal:
            journal.write(encode_ack(msgspec.json.encode(told)))


def told_in(record: Record) -> Told | None:
    """The acknowledgement that the record is, if it is one."""
    return msgspec.json.decode(record.content, type=Told) if record.kind == ACK else None


def end(process: "subprocess.Popen[bytes]", how: signal.Signals) -> None:
    process.send_signal(how)
    process.wait(60)
    assert process.stderr is not None
    process.stderr.close()


def record_run(recording: Recording) -> None:
    process = recording.start()
    try:
        recording.write_at_once()
        recording.edit()
        with recording.client() as memd:
            memd.reindex()
    finally:
        end(process, signal.SIGTERM)  # the indexes are saved, and the ledger is synced
    recording.spool()
    recording.spool()
    for how in (signal.SIGKILL, signal.SIGKILL):
        process = recording.start()
        try:
            recording.edit()
            recording.write_at_once()
        finally:
            end(process, how)
