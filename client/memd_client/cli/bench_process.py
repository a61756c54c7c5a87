"""What is timed as a process: the installed hook line, the bare interpreter beside it, and children that measure one library.

A measured process gets its payload on a pipe and has its stdout read to the end, as a client does it; the time is from before it is
started until it has been waited for.

A **measuring child** loads one library of the daemon (the client may not) and answers lines of JSON with lines of JSON. It lives as
long as the measurement, so that nothing is loaded again in each round.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memd_client.cli.bench_scratch import Scratch
from memd_hooks.events import Moment
from memd_hooks.harness import claude
from memd_hooks.launcher import SCRIPTS, hook_command, interpreters, word

NS_PER_MS = 1_000_000
SHELL = "/bin/sh"
PATIENCE_S = 30.0
CHILD_WAIT_S = 10.0

EMBEDDING = """
import json, sys, time
from memd_daemon.index.embed import Embedder, shipped_pieces
model = Embedder()
model.load()
for line in sys.stdin:
    text = json.loads(line)["text"]
    began = time.perf_counter_ns()
    model.embed(text)
    took = time.perf_counter_ns() - began
    print(json.dumps({"ms": took / 1e6, "tokens": len(shipped_pieces().ids(text))}), flush=True)
"""
"""{"text"} -> {"ms": one embedding of it by the full model, "tokens": its length}."""

COMMITTING = """
import json, os, sys, time
import lmdb
with lmdb.open(sys.argv[1], map_size=1 << 30, readahead=False, max_dbs=1) as store:
    for line in sys.stdin:
        value = os.urandom(json.loads(line)["bytes"])
        began = time.perf_counter_ns()
        with store.begin(write=True) as txn:
            txn.put(os.urandom(16), value)
        print(json.dumps({"ms": (time.perf_counter_ns() - began) / 1e6}), flush=True)
"""
"""{"bytes"} -> {"ms": one durable commit of a value of that size}."""


class Child:
    """A measuring child: ``command`` are the words after the interpreter's own."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """One measurement. Raises OSError where the child is gone."""
        if self._process.stdin is None or self._process.stdout is None:
            raise BrokenPipeError("a measuring child has no pipes")
        line = b""
        with contextlib.suppress(BrokenPipeError):  # gone already: not to be taken for a reader of the report that left
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise OSError("a measuring child ended: a library of the daemon cannot be loaded here")
        measured: dict[str, Any] = json.loads(line)
        return measured

    def close(self) -> None:
        """Ends it."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(CHILD_WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@contextlib.contextmanager
def child(*command: str) -> Iterator[Child]:
    """A measuring child that ends with the block: `-c SOURCE`, or `-m MODULE`, and its words."""
    made = Child(*command)
    try:
        yield made
    finally:
        made.close()


def bare_line() -> str:
    """The reference: the interpreter that hooks run on, started by the same shell, with nothing to do."""
    return f"exec {word(interpreters()[0])} -I -S -c pass"


def hook_line(made: Scratch, moment: Moment) -> str:
    """The very line that an install writes into a client's settings."""
    return hook_command(made.home, moment, claude.NAME)


def script_line(moment: Moment) -> str:
    """The hook script without its launcher: what the launcher costs is the difference."""
    import memd_hooks

    script = Path(memd_hooks.__file__).parent / f"{SCRIPTS[moment]}.py"
    return f"exec {word(interpreters()[0])} -I -S {word(str(script))} {moment} {claude.NAME}"


def payload(made: Scratch, moment: Moment, session: str, **fields: Any) -> bytes:
    """What Claude Code would send: its own sample with this session and these fields."""
    told = json.loads(claude.sample(moment, str(made.repository)))
    transcript = f"{made.environ['HOME']}/.claude/projects/repository/{session}.jsonl"
    return json.dumps({**told, "session_id": session, "transcript_path": transcript, **fields}).encode()


def run(line: str, made: Scratch, stdin: bytes, session: str = "") -> tuple[float, bytes]:
    """(milliseconds, stdout) of one line through the shell, in the repository."""
    environ = {**made.environ, "MEMD_HOME": str(made.home), "CLAUDE_CODE_SESSION_ID": session}
    return _timed([SHELL, "-c", line], environ, made.repository, stdin)


def run_imports(made: Scratch) -> float:
    """Milliseconds of the daemon's interpreter with its three first libraries and nothing else."""
    return _timed([sys.executable, "-I", "-c", "import zmq, msgspec, lmdb"], made.environ, made.repository, b"")[0]


def _timed(command: list[str], environ: Mapping[str, str], cwd: Path, stdin: bytes) -> tuple[float, bytes]:
    began = time.perf_counter_ns()
    done = subprocess.run(
        command,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
        cwd=cwd,
        timeout=PATIENCE_S,
        check=False,
    )
    return (time.perf_counter_ns() - began) / NS_PER_MS, done.stdout


def memory_mb(pid: int) -> float | None:
    """Megabytes (10^6) of a process: its share (PSS) where the system tells it, else what is resident; else None."""
    for name, field in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/{name}").read_text(encoding="ascii", errors="replace").splitlines()
            for line in lines:
                if line.startswith(field):
                    return int(line.split()[1]) * 1_024 / 1_000_000
    return None


def cpu_ticks(pid: int) -> int | None:
    """User and system time of a process in clock ticks (mostly 10 ms); None where the system does not tell."""
    try:
        told = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = told[told.rfind(b")") + 2 :].split()
    return int(fields[11]) + int(fields[12])


def file_system(path: Path) -> str:
    """The file system that holds ``path``, as the system names it; "" where it does not. A commit on tmpfs costs nothing."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    real = os.path.realpath(path)
    fits = [(m[1], m[2]) for m in map(str.split, mounts) if real == m[1] or real.startswith(m[1].rstrip("/") + "/")]
    return max(fits, key=lambda f: len(f[0]))[1] if fits else ""
