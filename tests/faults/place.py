"""A user's machine with something wrong: a world with a daemon, real hook scripts and the command, all in children."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from memd_client import address
from memd_daemon.store import check
from memd_daemon.store.lmdb_log import open_store
from memd_hooks import carry
from tests.attack.siege import SCRIPTS
from tests.cli.world import WAIT_S, World

LOOK_S: Final = 0.02


class Fired:
    """What a hook script did."""

    def __init__(self, done: "subprocess.CompletedProcess[bytes]") -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def harmless(self) -> bool:
        return (self.code, self.err) == (0, b"")

    @property
    def silent(self) -> bool:
        return self.harmless and self.out == b""


class Place(World):
    """A world whose hooks are fired as the client fires them."""

    def hook(self, event: str, name: str, session: str = "s-1", **fields: Any) -> Fired:
        transcript = f"{self.user_home}/.claude/projects/p/{session}.jsonl"
        about = {"session_id": session, "transcript_path": transcript, "cwd": str(self.repository)}
        payload = {**about, "hook_event_name": name, **fields}
        script = Path(carry.__file__).parent / f"{SCRIPTS[event]}.py"
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(script), event, "claude"],
            cwd=self.repository,
            env=self.environ,
            input=json.dumps(payload).encode(),
            capture_output=True,
            timeout=WAIT_S,
            start_new_session=True,
            check=False,
        )
        return Fired(done)

    def prompt(self, text: str, session: str = "s-1") -> Fired:
        return self.hook("prompt-submit", "UserPromptSubmit", session, prompt=text, prompt_id=os.urandom(4).hex())

    def start(self, session: str = "s-1") -> Fired:
        return self.hook("session-start", "SessionStart", session, source="startup")

    @property
    def pid(self) -> int:
        """Of the daemon that announced itself."""
        known = address.read(os.fsencode(self.home))
        return known.pid if known is not None and address.is_alive(known) else 0

    def turns(self) -> list[str]:
        with self.client() as memd:
            return [turn.text for turn in memd.turns(limit=100).turns]

    def codes(self) -> set[str]:
        """What doctor finds."""
        return {fault["code"] for fault in self.memd("doctor", "--json").json}

    def notes(self) -> set[str]:
        with self.client() as memd:
            return {note.content for note in memd.notes(all_scopes=True, superseded=True, limit=0).notes}

    def verified(self) -> list[str]:
        """What `memd verify` names."""
        with self.client() as memd:
            return [f"{fault.where} {fault.what}" for fault in memd.verify().faults]

    def down(self) -> None:
        """The daemon finishes and goes."""
        with self.client(starts=False) as memd:
            pid = self.pid
            if pid:
                memd.stop(announced=False)
                gone(pid)

    def logged(self) -> str:
        path = self.home / "logs" / "daemon.log"
        return path.read_text() if path.exists() else ""


def until(condition: Callable[[], object]) -> None:
    """Waits until it holds."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(LOOK_S)


def gone(pid: int) -> None:
    """Waits until a process is no more, or one that nobody has waited for."""
    until(lambda: not pid or _state(pid) in ("", "Z"))


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def starts_of(home: Path) -> int:
    """How many daemons of a home run now."""
    found = 0
    for process in Path("/proc").iterdir():
        try:
            is_daemon = process.name.isdecimal() and b"memd_daemon" in (process / "cmdline").read_bytes()
            found += is_daemon and b"MEMD_HOME=" + os.fsencode(home) in (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
    return found


def sound(home: Path) -> list[check.Fault]:
    """What verify says of a store that nobody serves."""
    store = open_store(home)
    try:
        return check.verify(store)
    finally:
        store.close()
