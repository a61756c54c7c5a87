"""A hook as a process: how the tests of this folder run one, and what they expect of every one that has nothing to say."""

import os
import subprocess
import sys
from pathlib import Path

from memd_client import wire
from memd_hooks import carry
from tests.client import peers

SCRIPTS = Path(carry.__file__).parent
EVENTS = {
    "prompt-submit": "prompt_submit",
    "stop": "prompt_submit",
    "session-end": "prompt_submit",
    "pre-edit": "pre_edit",
    "read": "pre_edit",
    "tool-result": "pre_edit",
    "session-start": "session_start",
    "subagent-start": "session_start",
    "post-compaction": "post_compaction",
    "git-commit": "git_commit",
}
PROMPT = b'{"session_id": "5b1d", "prompt": "use tabs, never spaces"}'


def command(event: str, script: str | None = None, python: str = sys.executable) -> list[str]:
    """The command line of an event's hook."""
    return [python, "-I", "-S", str(SCRIPTS / f"{script or EVENTS[event]}.py"), event, "claude"]


def environ(home: Path, **more: str) -> dict[str, str]:
    """An environment of a harness: a key, a marker, and nothing that points at another home."""
    return {"MEMD_HOME": str(home), "PATH": os.defpath, "ANTHROPIC_API_KEY": "sk-ant-1", "CLAUDECODE": "1", **more}


def run(event: str, home: Path, stdin: bytes = PROMPT, **more: str) -> "subprocess.CompletedProcess[bytes]":
    """Run an event's hook to its end."""
    return subprocess.run(
        command(event), input=stdin, env=environ(home, **more), capture_output=True, timeout=peers.WAIT_S, check=False
    )


def assert_silent(ran: "subprocess.CompletedProcess[bytes]") -> None:
    """The promise of carry.py."""
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def spooled(home: Path) -> list[wire.Spooled]:
    """What lies in the spool, oldest first."""
    directory = home / "spool"
    files = sorted(directory.iterdir()) if directory.exists() else []
    return [wire.decode_spool(file.read_bytes()) for file in files]
