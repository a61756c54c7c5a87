"""The demo's scratch world: a home, a repository, a daemon, a person's throwaway key, and agents that send real hook payloads.

Everything lies in one folder under the system's temporary folder and is gone at the end, daemon included. Children get an
environment built from nothing, so that the demo shows the same under an agent's shell as at a terminal: no marker of a client, no
key, not this user's settings of git. Hooks are run in the very form a client runs them (`sh -c` of the installed line), adopted by
init, so that no client above the demo counts as theirs.
"""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from memd_client import api
from memd_client.memd import Memd, MemdError
from memd_client.reach import Reach
from memd_hooks.harness import claude
from memd_hooks.launcher import hook_command

PATIENCE_S = 30.0  # for what takes well under a second on an idle machine
POLL_S = 0.02
MEMD = "from memd_client.cli import main; main()"
# A hook's parent ends at once, so that its ancestors are none of whoever runs the demo. 3: a background job's stdin is /dev/null.
ADOPTED = 'exec 3<&0; (exec /bin/sh -c "$1" <&3 3<&-) &'

SOURCE = """\
import os
from pathlib import Path


def lock_workspace(path):
    lock = Path(path, ".lock")
    lock.write_text(str(os.getpid()))
    return lock
"""


class Ran(msgspec.Struct, frozen=True):
    """One command that ended: its words for a reader, exit code, and what it wrote."""

    code: int
    out: str
    err: str


class Answer(msgspec.Struct, frozen=True):
    """What a hook answered: the text for the model, whether it holds the edit back, and the whole process in ms."""

    text: str
    held: bool
    ms: float


class Scratch:
    """See the module's docstring."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memd-demo-"))
        self.user_home = self.folder / "home"
        self.home = self.user_home / "memd"
        self.repository = self.folder / "repository"
        self.repository.mkdir()
        self.user_home.mkdir()
        self.environ = {
            "HOME": str(self.user_home),
            "MEMD_HOME": str(self.home),
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.passphrase = secrets.token_urlsafe(24)

    # --- building it up and taking it down

    def build(self) -> None:
        """The repository, the launchers and git's hook, and a daemon that answers. Raises MemdError, OSError."""
        from memd_hooks import install

        self.source.parent.mkdir()
        self.source.write_text(SOURCE)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "you@example.invalid")
        self.git("config", "user.name", "You")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Resolver: lock a workspace")
        install.apply(install.plan(("git",), "user", self.home, self.repository, self.environ))
        self.memd("start", check=True)

    def close(self, *, keep: bool) -> None:
        """Ends the daemon and, unless ``keep``, removes everything."""
        Reach(self.home, starts=False).end()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def source(self) -> Path:
        """The one file of the repository."""
        return self.repository / "agent" / "resolver.py"

    def client(self) -> Memd:
        """A client that asks from within the repository, as a person outside any session."""
        environ = {os.fsencode(name): os.fsencode(value) for name, value in self.environ.items()}
        return Memd(self.home, cwd=self.repository, environ=environ)

    # --- commands

    def git(self, *words: str, session: str = "") -> str:
        """git in the repository; with ``session`` as from that agent's shell."""
        return self._run(["git", *words], session, check=True).out

    def memd(self, *words: str, session: str = "", check: bool = False) -> Ran:
        """`memd` in the repository, without a terminal; with ``session`` as from that agent's shell."""
        return self._run([sys.executable, "-I", "-c", MEMD, *words], session, check=check)

    def _run(self, argv: list[str], session: str, *, check: bool) -> Ran:
        environ = self.environ | ({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": session} if session else {})
        done = subprocess.run(
            argv,
            cwd=self.repository,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            check=False,
            start_new_session=True,  # no controlling terminal: an agent has none
        )
        if check and done.returncode:
            raise MemdError("demo", f"`{' '.join(argv[-3:])}` ended with {done.returncode}: {done.stderr.strip()}")
        return Ran(done.returncode, done.stdout, done.stderr)

    # --- agents

    def agent(self) -> "Agent":
        """A session that begins; what it is told at its start stands in ``start``."""
        return Agent(self)


class Agent:
    """One session of Claude Code, as far as its hooks can tell."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self.session = str(uuid4())
        self._prompt_id = ""
        self.start = self._hook("session-start", "SessionStart", source="startup")

    def prompt(self, words: str) -> Answer:
        """The user says something."""
        self._prompt_id = str(uuid4())
        return self._hook("prompt-submit", "UserPromptSubmit", prompt=words)

    def read(self, path: Path) -> Answer:
        """It has read a file."""
        return self._tool("read", "PostToolUse", "Read", file_path=str(path))

    def edit(self, path: Path, old: str, new: str) -> Answer:
        """It is about to edit a file."""
        words = {"file_path": str(path), "old_string": old, "new_string": new}
        return self._tool("pre-edit", "PreToolUse", "Edit", **words)

    def compact(self) -> Answer:
        """Its context was compacted."""
        return self._hook("post-compaction", "SessionStart", source="compact")

    def memd(self, *words: str) -> Ran:
        """It runs `memd` in its shell."""
        return self._scratch.memd(*words, session=self.session)

    def _tool(self, event: str, client_event: str, tool: str, **words: str) -> Answer:
        return self._hook(
            event, client_event, tool_name=tool, tool_input=words, tool_use_id=f"toolu_{uuid4().hex[:20]}"
        )

    def _hook(self, event: str, client_event: str, **particular: Any) -> Answer:
        """Runs the installed line for ``event`` with the payload that the client would send."""
        repository = self._scratch.repository
        payload = {
            "session_id": self.session,
            "transcript_path": f"{self._scratch.user_home}/.claude/projects/demo/{self.session}.jsonl",
            "cwd": str(repository),
            "hook_event_name": client_event,
            **({"prompt_id": self._prompt_id, "permission_mode": "default"} if self._prompt_id else {}),
            **particular,
        }
        environ = self._scratch.environ | {
            "CLAUDECODE": "1",
            "CLAUDE_CODE_SESSION_ID": self.session,
            "CLAUDE_CODE_ENTRYPOINT": "cli",
            "CLAUDE_PROJECT_DIR": str(repository),
        }
        line = hook_command(self._scratch.home, event, claude.NAME)
        begin = time.monotonic()
        done = subprocess.run(
            ["/bin/sh", "-c", ADOPTED, "sh", line],
            input=msgspec.json.encode(payload),
            cwd=repository,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # a hook that writes to stderr is a fault, and would show
            timeout=PATIENCE_S,
            check=False,
            start_new_session=True,
        )
        return _answered(done.stdout, round((time.monotonic() - begin) * 1_000, 1))


def _answered(stdout: bytes, ms: float) -> Answer:
    if not stdout:
        return Answer("", False, ms)
    try:
        told = msgspec.json.decode(stdout, type=dict[str, dict[str, str]])["hookSpecificOutput"]
    except (msgspec.MsgspecError, KeyError) as error:
        raise MemdError("demo", f"a hook answered what no client takes: {stdout[:200]!r}") from error
    is_held = told.get("permissionDecision") == "deny"
    return Answer(told["permissionDecisionReason"] if is_held else told.get("additionalContext", ""), is_held, ms)


def eventually(look: Callable[[], api.NoteOut | None], what: str) -> api.NoteOut:
    """What ``look`` finds as soon as it finds it. Raises MemdError when it never does."""
    end = time.monotonic() + PATIENCE_S
    while (found := look()) is None:
        if time.monotonic() >= end:
            raise MemdError("demo", f"waited in vain for {what}")
        time.sleep(POLL_S)
    return found
