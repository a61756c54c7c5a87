"""A world to attack: a real daemon, what planted.py puts into it, and every door that an agent can reach.

`Siege` is a home with its daemon. built.py makes the first one, whose key is enrolled at a real terminal; `Siege(of)` is a copy of
it with a daemon of its own, so that what an attack breaks is its own. What the person does beside the enrolment is signed with the
key's private half in this process: the passphrase at the terminal is tested in tests/cli.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import lmdb
import msgspec

from memd_client import Memd, address, api, link, wire
from memd_hooks import carry
from tests.attack.planted import FILE, Person, Planted
from tests.cli.world import PROGRAM, WAIT_S, Ran, World
from tests.mcp.client import Client

SCRIPTS: Final = {
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
# What a client leaves in the environment of what it runs; the entry point is that of a person's terminal.

AGENT: Final = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s-agent", "CLAUDE_CODE_ENTRYPOINT": "cli"}


class Rows:
    """The tables of a store's file, as any program sees them that has LMDB."""

    def __init__(self, env: lmdb.Environment, txn: Any) -> None:
        self._env, self._txn = env, txn

    def _db(self, table: str) -> Any:
        return self._env.open_db(table.encode(), txn=self._txn, create=False)

    def get(self, table: str, key: bytes) -> bytes | None:
        found: bytes | None = self._txn.get(key, db=self._db(table))
        return found

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self._txn.put(key, value, db=self._db(table))

    def delete(self, table: str, key: bytes) -> None:
        assert self._txn.delete(key, db=self._db(table)), f"no such row in {table}"

    def all(self, table: str) -> list[tuple[bytes, bytes]]:
        return [(bytes(key), bytes(value)) for key, value in self._txn.cursor(self._db(table))]


class Siege(World):
    """A home with a daemon behind it, a repository, and an attacker who stands in it. ``of``: the one that it is a copy of."""

    def __init__(self, of: "Siege | None" = None) -> None:
        super().__init__()
        self._sessions = 0
        self._client: Memd | None = None
        self._carrier: Client | None = None
        self.person: Person
        self.notes: dict[str, Planted] = {}
        self.human: set[int] = set()  # ids that a person endorsed
        self.before: dict[str, api.NoteOut] = {}  # each note as it was told before any attack
        self.recovery: list[bytes] = []
        if of is None:
            return
        self.repository = of.repository
        self.notes, self.human = of.notes, set(of.human)
        self.before, self.recovery = of.before, of.recovery
        shutil.copytree(of.home, self.home, ignore=shutil.ignore_patterns("run", "bin", "lock.mdb"))
        self.person = Person(self)
        self.person._private = of.person._private

    # --- its life

    @property
    def typed(self) -> Memd:
        """The typed client, as a program that an agent wrote would hold it."""
        if self._client is None:
            self._client = self.client()
        return self._client

    def settled(self) -> None:
        """Until the daemon has looked through its store, as it does behind each start."""
        self.typed.ping()
        end = time.monotonic() + WAIT_S
        while self.typed.status().daemon["looking"]:
            assert time.monotonic() < end, "the store is looked through without an end"
            time.sleep(0.02)

    def start_told(self, session: str = "", source: str = "startup", *, claude: bool = False) -> str:
        """What the real script tells a session that starts, whatever state the daemon is in: at the start, or, on a machine that
        is busy, by what is owed at its next hook. ``claude``: under a client of its own."""
        session = session or self.session()
        event = "post-compaction" if source == "compact" else "session-start"
        stdin = json.dumps(self.payload("SessionStart", session, source=source)).encode()
        text, end = said(self.script(event, stdin, claude=claude).stdout), time.monotonic() + WAIT_S
        while not text and time.monotonic() < end:  # the daemon is starting still
            prompt = self.payload("UserPromptSubmit", session, prompt="and now?", prompt_id=os.urandom(4).hex())
            text = said(self.script("prompt-submit", json.dumps(prompt).encode(), claude=claude).stdout)
        return text

    def down(self) -> None:
        """The daemon is asked to go, without an announcement, where one runs."""
        if (self.home / "run" / "address").exists():
            self.typed.stop(announced=False)
        self.typed.close()
        self._client = None

    def close(self) -> None:
        """Ends what was started for it and removes its files."""
        if self._carrier is not None:
            self._carrier.kill()
        if self._client is not None:
            self._client.close()
        super().close()

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """The store's tables while the daemon is down; with the next question it is up again."""
        self.down()
        with (
            lmdb.open(str(self.home / "store" / "log"), max_dbs=64, map_size=1 << 28) as env,
            env.begin(write=True) as txn,
        ):
            yield Rows(env, txn)

    # --- doors

    def _address(self) -> address.Address:
        """Of a daemon that runs."""
        found = address.read(os.fsencode(self.home))
        if found is None:
            self.typed.ping()
            found = address.read(os.fsencode(self.home))
        assert found is not None
        return found

    def ask(self, *frames: bytes, wait_s: float = WAIT_S) -> link.Outcome:
        """One raw request on a connection of its own."""
        found = self._address()
        return link.request(found, list(frames), time.monotonic_ns() + int(wait_s * 1e9))

    def verb(self, verb: str, /, **fields: Any) -> tuple[int, dict[str, Any]]:
        """One msgpack verb with whatever fields; status and body. The place and surface are the attacker's to say."""
        body = {"cwd": str(self.repository), "env": {}, "surface": "cli", **fields}
        answer = self.ask(*wire.request(verb.encode(), msgspec.msgpack.encode(body)))
        assert isinstance(answer, wire.Reply), answer
        return answer.status, msgspec.msgpack.decode(answer.body[0])

    def noted(self, content: str, /, **fields: Any) -> int:
        """An agent records a note through the socket; its id, 0 where that was refused."""
        status, body = self.verb("remember", content=content, **fields)
        return int(body["id"]) if status == wire.DONE else 0

    def written(self, content: str, /, **fields: Any) -> int:
        """`noted`, of what is no attack yet and has to be there."""
        id_ = self.noted(content, **fields)
        assert id_, self.verb("remember", content=content, **fields)
        return id_

    def tool(self, name: str, /, **arguments: object) -> tuple[str, bool]:
        """One MCP tool through the real carrier: what it answers, and whether it is a refusal."""
        if self._carrier is None:
            self._carrier = Client(self)
            self._carrier.hello()
        told = self._carrier.ask("tools/call", {"name": name, "arguments": arguments})
        if "result" not in told:
            return json.dumps(told), True
        return "\n".join(part["text"] for part in told["result"]["content"]), bool(told["result"].get("isError"))

    def hook(self, event: str, payload: Mapping[str, Any] | bytes, *, env: bytes = b"", **fields: Any) -> str:
        """One `hook` verb on the socket; the text that the model would get."""
        return said(self.hook_bytes(event, payload, env=env, **fields))

    def hook_bytes(
        self,
        event: str,
        payload: Mapping[str, Any] | bytes,
        *,
        env: bytes = b"",
        request_id: bytes = b"",
        deadline_ns: int = 0,
        flags: int = 0,
        harness: str = "claude",
        receipt: bool = False,
        cwd: Path | None = None,
    ) -> bytes:
        """The raw stdout of one `hook` verb; b"" where it was not answered."""
        found = self._address()
        end = time.monotonic_ns() + int(WAIT_S * 1e9)
        stdin = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        here = os.fsencode(cwd or self.repository)
        call = wire.Hook(
            request_id or os.urandom(16), deadline_ns or end, flags, harness, event, here, env, stdin
        )  # fmt: skip
        opened = link.open(found, end)
        assert isinstance(opened, link.Link), opened
        answer = opened.ask(wire.hook_request(call), end)
        if receipt:
            opened.tell(wire.request(wire.RECEIPT, call.request_id), end)
        opened.close()
        return answer.body[1] if isinstance(answer, wire.Reply) and len(answer.body) > 1 else b""

    def script(
        self, event: str, stdin: bytes, *, claude: bool = False, **environ: str
    ) -> subprocess.CompletedProcess[bytes]:
        """The real hook script with these bytes on its stdin. ``claude``: under a process of that name."""
        command = [
            sys.executable,
            "-I",
            "-S",
            str(Path(carry.__file__).parent / f"{SCRIPTS[event]}.py"),
            event,
            "claude",
        ]
        return self._run(command, stdin, claude, environ)

    def cli(self, *words: str, stdin: bytes = b"", claude: bool = True, **environ: str) -> Ran:
        """The command as an agent's shell runs it: no terminal, the client's marks in the environment, a client above."""
        done = self._run([sys.executable, "-I", "-c", PROGRAM, *words], stdin, claude, {**AGENT, **environ})
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    def cli_all(self, *commands: Sequence[str]) -> str:
        """Several commands, one after the other in one process; what they print."""
        program = (
            "import json, sys; from memd_client.cli.app import run; [run(words) for words in json.loads(sys.argv[1])]"
        )
        done = self._run([sys.executable, "-I", "-c", program, json.dumps(commands)], b"", False, AGENT)
        assert done.returncode == 0, done.stderr
        return (done.stdout + done.stderr).decode()

    def _run(
        self, command: Sequence[str], stdin: bytes, claude: bool, environ: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        above = [str(self._shell()), "-c", '"$@"; exit $?', "claude"] if claude else []
        return subprocess.run(
            [*above, *command],
            cwd=self.repository,
            env={**self.environ, **environ},
            input=stdin,
            capture_output=True,
            timeout=WAIT_S,
            start_new_session=True,
            check=False,
        )

    def _shell(self) -> Path:
        """A shell that the system knows as the client's process."""
        shell = self.folder / "claude"
        if not shell.exists():
            shell.symlink_to("/bin/sh")
        return shell

    # --- what a session is told

    def session(self) -> str:
        """The name of a session that never was before."""
        self._sessions += 1
        return f"s-{os.getpid()}-{self._sessions}"

    def payload(self, name: str, session: str = "", **fields: Any) -> dict[str, Any]:
        """What the client would write to a hook's stdin."""
        session = session or self.session()
        return {
            "session_id": session,
            "transcript_path": f"{self.user_home}/.claude/projects/p/{session}.jsonl",
            "cwd": str(self.repository),
            "hook_event_name": name,
            **fields,
        }

    def started(self, session: str = "", source: str = "startup") -> str:
        """What a session's start is told."""
        return self.hook("session-start", self.payload("SessionStart", session, source=source))

    def prompted(self, prompt: str, session: str = "", **fields: Any) -> str:
        """What a prompt is told; in a new session without its start bundle."""
        if not session:
            session = self.session()
            self.hook("session-start", self.payload("SessionStart", session, source="startup"), receipt=True)
        fields = {"prompt_id": os.urandom(4).hex(), **fields}
        return self.hook("prompt-submit", self.payload("UserPromptSubmit", session, prompt=prompt, **fields))

    def touched(self, session: str = "", path: str = FILE, *, edit: bool = False) -> str:
        """What reading a file, or editing it, is told; in a new session without its start bundle."""
        if not session:
            session = self.session()
            self.hook("session-start", self.payload("SessionStart", session, source="startup"), receipt=True)
        event, name, tool = ("pre-edit", "PreToolUse", "Edit") if edit else ("read", "PostToolUse", "Read")
        fields = {"tool_name": tool, "tool_input": {"file_path": str(self.repository / path)}, "tool_use_id": "t1"}
        return self.hook(event, self.payload(name, session, **fields))

    def recalled(self, question: str, k: int = 10) -> str:
        return self.typed.recall(question, k=k).text

    def shown(self, ref: object) -> str:
        return self.typed.show(str(ref)).text

    def told(self, ref: object) -> api.NoteOut:
        return self.typed.show(str(ref)).note

    def list_all(self) -> list[api.NoteOut]:
        return self.typed.notes(all_scopes=True, superseded=True, limit=0).notes


def said(stdout: bytes) -> str:
    """The words for the model in a hook's stdout."""
    if not stdout:
        return ""
    told = json.loads(stdout)["hookSpecificOutput"]
    return str(told.get("additionalContext") or told.get("permissionDecisionReason") or "")
