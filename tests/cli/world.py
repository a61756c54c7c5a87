"""What the tests of the command line share: `memd` as a process, in a home of its own, with and without a terminal."""

import codecs
import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memd_client import Memd
from memd_client.reach import Reach

WAIT_S = 60.0  # only ever waited out by a test that fails
PROGRAM = "from memd_client.cli import main; main()"
PASSPHRASE = "correct horse battery staple"
# Adopted by init, so that whoever runs the tests is not among the command's ancestors; then a session and its terminal.
ON_TERMINAL = """
import fcntl, os, subprocess, sys, termios
if os.fork():
    os._exit(0)
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
code = subprocess.run([sys.executable, "-I", "-c", sys.argv[1], *sys.argv[2:]]).returncode
print(f"<exit {code}>", flush=True)
os.read(0, 1)
"""
EXITED = re.compile(r"<exit (\d+)>")


@dataclass(frozen=True)
class Ran:
    """One command that ended."""

    code: int
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class World:
    """A home under /tmp (a socket's path is short), a repository with one file, an environment made from nothing."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memd-cli-", dir="/tmp"))
        self.user_home, self.repository = self.folder / "home", self.folder / "repository"
        self.home = self.user_home / "memd"
        for made in (self.user_home, self.repository):
            made.mkdir()
        self.environ = {
            "HOME": str(self.user_home),
            "MEMD_HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }
        (self.repository / "app.py").write_text("def add(a, b):\n    return a + b\n")
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=self.repository, check=True)

    def close(self) -> None:
        """Ends every daemon of this home and removes everything."""
        Reach(self.home, starts=False).end()
        end_daemons_of(self.home)
        shutil.rmtree(self.folder)

    def client(self, *, starts: bool = True) -> Memd:
        """The typed client, asking from the repository."""
        environ = {os.fsencode(name): os.fsencode(value) for name, value in self.environ.items()}
        return Memd(self.home, cwd=self.repository, environ=environ, starts=starts)

    def memd(self, *words: str | bytes, stdin: bytes = b"", cwd: Path | None = None, **environ: str) -> Ran:
        """`memd` without a terminal."""
        done = subprocess.run(
            [sys.executable, "-I", "-c", PROGRAM, *words],
            cwd=cwd or self.repository,
            env={**self.environ, **environ},
            input=stdin,
            capture_output=True,
            timeout=WAIT_S,
            start_new_session=True,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    def note(self, content: str, *options: str) -> int:
        """Records a note; its id."""
        ran = self.memd("remember", content, *options, "--json")
        assert ran.code == 0, ran.err
        return int(ran.json["id"])

    def at_terminal(self, *words: str, answers: Sequence[tuple[str, str]] = (), **environ: str) -> tuple[int, str]:
        """`memd` at a terminal of its own: each answer is typed when its question shows. (Exit code, all that was shown.)"""
        person, terminal = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", ON_TERMINAL, PROGRAM, *words],
            cwd=self.repository,
            env={**self.environ, **environ},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)
        try:
            return converse(person, list(answers))
        finally:
            os.write(person, b"\n")  # the process that waited with the terminal open may end
            process.wait(WAIT_S)
            os.close(person)


def end_daemons_of(home: Path) -> None:
    """Ends, by their pids, the daemons that were started for ``home`` and have announced nothing (yet): a command on a busy machine
    may give up waiting for one. A home under /tmp is a test's own."""
    named = b"MEMD_HOME=" + os.fsencode(home)
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        with contextlib.suppress(OSError):  # gone meanwhile, or another user's
            is_daemon = b"memd_daemon" in (process / "cmdline").read_bytes()
            if is_daemon and named in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


def converse(person: int, answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Reads what a terminal shows until the command has ended, and types each answer when its question shows."""
    seen, read_up_to, end = "", 0, time.monotonic() + WAIT_S
    decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a busy machine gives half a character to one read
    while (exited := EXITED.search(seen)) is None:
        assert time.monotonic() < end, f"waited in vain for {answers[:1] or 'the end'}; the terminal shows\n{seen}"
        if select.select([person], [], [], 1.0)[0]:
            seen += decoder.decode(os.read(person, 65_536))
        if answers and answers[0][0] in seen[read_up_to:]:
            read_up_to = len(seen)
            os.write(person, answers.pop(0)[1].encode() + b"\n")
    assert not answers, f"never asked: {answers}; the terminal shows\n{seen}"
    return int(exited.group(1)), seen.replace("\r\n", "\n")
