"""A home with its launchers, its hooks as a client runs them, and the real daemon that they start: for tests of a whole life."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from memd_client import address, api, spawn
from memd_hooks.launcher import ensure_launchers
from tests.cli.world import World

WAIT_S = 60.0  # only ever waited out by a test that fails
QUICK = "limits.WEDGED_PING_MS, limits.WEDGED_PINGS, limits.WEDGED_LEAVE_PINGS = 200, 2, 1"
"""For a daemon that does not answer at all: it is ended in under a second."""
PATCHED = """\
import os, sys
from memd_daemon import limits
{patch}
from memd_daemon.__main__ import main
os._exit(main())
"""
CLIENT_EVENTS = {
    "session-start": "SessionStart",
    "prompt-submit": "UserPromptSubmit",
    "pre-edit": "PreToolUse",
    "stop": "Stop",
    "session-end": "SessionEnd",
    "subagent-start": "SubagentStart",
}


class House(World):
    """See the module's docstring. ``name``: of the home's folder under the user's."""

    def __init__(self, name: str = "memd", **environ: str) -> None:
        super().__init__()
        self.home = self.user_home / name
        self.environ["MEMD_HOME"] = str(self.home)
        self.environ.update(environ)
        self.errors = self.folder / "errors"
        ensure_launchers(self.home, self.environ)

    def close(self) -> None:
        while left := self.daemons():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        super().close()

    # hooks

    def payload(self, event: str, **more: object) -> bytes:
        """What the client writes into the hook's stdin."""
        told = {
            "session_id": "5b1d",
            "transcript_path": str(self.folder / "transcript.jsonl"),
            "cwd": str(self.repository),
            "hook_event_name": CLIENT_EVENTS[event],
            "source": "startup",
        }
        return json.dumps(told | more).encode()

    def hooks(self, event: str, *prompts: str, **environ: str) -> "list[subprocess.Popen[bytes]]":
        """Starts a hook for each prompt, all at once; each reads its stdin from a file, so that none waits for this process."""
        running = []
        for number, prompt in enumerate(prompts):
            stdin = self.folder / f"stdin-{event}-{number}"
            stdin.write_bytes(self.payload(event, prompt=prompt))
            with stdin.open("rb") as file:
                running.append(
                    subprocess.Popen(
                        [str(self.home / "bin/hook"), event, "claude"],
                        stdin=file,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        cwd=self.repository,
                        env={**self.environ, "CLAUDECODE": "1", "ANTHROPIC_API_KEY": "sk-ant-1", **environ},
                    )
                )
        return running

    def hook(self, event: str, prompt: str = "use tabs", **environ: str) -> bytes:
        """Runs a hook to its end; its stdout."""
        (out,) = ended(self.hooks(event, prompt, **environ))
        return out

    # daemons

    def patch(self, text: str) -> None:
        """From now on hooks start a daemon in which these lines ran first; `limits` is imported."""
        code = self.folder / "patched.py"
        code.write_text(PATCHED.format(patch=text))
        launcher = Path(os.fsdecode(spawn.launcher_path(os.fsencode(self.home))))
        launcher.write_text(
            f"#!/bin/sh\nexport MEMD_HOME='{self.home}'\nexec '{sys.executable}' -I '{code}' memd_daemon\n"
        )

    def unpatch(self) -> None:
        """From now on hooks start the daemon as it is."""
        spawn.write_launcher(os.fsencode(self.home))

    def daemon(self, patch: str = "", **environ: str) -> "subprocess.Popen[bytes]":
        """A daemon that is this process's child, which may not serve yet."""
        words = ["-I", "-c", PATCHED.format(patch=patch), "memd_daemon"] if patch else ["-I", "-m", "memd_daemon"]
        with self.errors.open("ab") as errors:
            return subprocess.Popen([sys.executable, *words], env={**self.environ, **environ}, stderr=errors)

    def reached(self, pid: int = 0) -> address.Address:
        """The address of the daemon (of this pid) that answers."""
        end_s = time.monotonic() + WAIT_S
        while time.monotonic() < end_s:
            known = address.read(os.fsencode(self.home))
            if known is not None and address.is_alive(known) and (not pid or known.pid == pid):
                with contextlib.suppress(Exception), self.client(starts=False) as memd:
                    if memd.ping().pid == known.pid:
                        return known
            assert not pid or state(pid) not in "ZX", f"the daemon has ended\n{self.said()}"
            time.sleep(0.01)
        raise AssertionError(f"no daemon answered\n{self.said()}")

    def reached_any(self) -> int:
        """The pid of the daemon, of whatever version, that has announced itself and lives."""
        until(lambda: self._announced() > 0)
        return self._announced()

    def _announced(self) -> int:
        known = address.read(os.fsencode(self.home))
        return known.pid if known is not None and address.is_alive(known) else 0

    def said(self) -> str:
        """The daemons' log, and what those that are children here had to say."""
        log = self.home / "logs" / "daemon.log"
        return "".join(file.read_text() for file in (log, self.errors) if file.exists())

    def daemons(self) -> list[int]:
        """The daemons of this home that live, those that are only starting too, also as long as they are a shell."""
        named, launcher = b"MEMD_HOME=" + os.fsencode(self.home), spawn.launcher_path(os.fsencode(self.home)) + b"\0"
        found = []
        for process in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes() if process.name.isdecimal() else b""
                is_daemon = words.endswith((b"\0memd_daemon\0", launcher))
                if is_daemon and named in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        return sorted(found)

    def alone(self) -> list[int]:
        """The daemons, once at most one is left: successors that found it served end by themselves."""
        seen: list[int] = []

        def is_alone() -> bool:
            seen[:] = self.daemons()
            return len(seen) <= 1

        until(is_alone)
        return seen

    # what the daemon knows

    def prompts(self) -> list[str]:
        """What the user said, oldest first, all that was kept taken in."""
        self.settle()
        with self.client() as memd:
            return [turn.text for turn in reversed(memd.ask(api.Turns(limit=0), api.TurnsReply).turns)]

    def settle(self) -> None:
        """Has all that was kept taken in, by the next daemon at its start: under load the last hook may be late too."""
        if self.spooled():
            with self.client() as memd:
                memd.restart()
            until(lambda: self.spooled() == 0)

    def spooled(self) -> int:
        folder = self.home / "spool"
        return sum(file.suffix == ".spool" for file in folder.iterdir()) if folder.exists() else 0


def ended(running: "list[subprocess.Popen[bytes]]") -> list[bytes]:
    """What the hooks printed, when all have ended: with exit 0 and nothing on stderr."""
    done = [(*process.communicate(None, WAIT_S), process.returncode) for process in running]
    assert {(stderr, code) for _, stderr, code in done} <= {(b"", 0)}
    return [stdout for stdout, _, _ in done]


def until(condition: Callable[[], bool]) -> None:
    """Until it holds."""
    end_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.01)


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """A process that is stopped, by now, and goes on behind the block if it still is there."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: state(pid) in "TZX")
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def state(pid: int) -> str:
    """The letter of /proc; X for none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "X"
    return stat[stat.rindex(")") + 2]


def opens(pid: int, path: Path) -> bool:
    """Whether the process has this file open."""
    for open_ in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            if open_.readlink() == path:
                return True
    return False


def until_gone(pid: int) -> None:
    """Until a process that is nobody's child here has ended."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            assert select.select([descriptor], [], [], WAIT_S)[0], f"process {pid} does not end"
        finally:
            os.close(descriptor)
