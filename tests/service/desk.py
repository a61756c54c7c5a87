"""A whole daemon without its socket: real store, ledger, indexes and harness, a clock that the test moves."""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memd_client import api, wire
from memd_daemon.daemon import Daemon


class Clock:
    """Wall milliseconds that only the test moves."""

    def __init__(self) -> None:
        self.ms = 1_772_600_000_000  # 2026-03-04

    def __call__(self) -> int:
        return self.ms


class Desk:
    """Asks a daemon as clients do: verbs by their structs, hooks by the bytes that Claude Code sends."""

    def __init__(self, home: Path, repo: Path) -> None:
        self.home, self.repo = home, repo
        self.daemon = Daemon.open(home)
        self.daemon.parts.store.await_look()  # tests read the store beside the verbs
        self.clock = Clock()
        object.__setattr__(self.daemon.parts, "now_ms", self.clock)
        self.daemon.parts.search.load_words()
        self.daemon.parts.search.load_vectors()
        self.plans = self.daemon.plans
        self._verbs = self.daemon.handlers(lambda: None)

    def ask(self, request: api.Request) -> Any:
        return self._verbs[request.VERB](request)

    def remember(self, content: str, **words: Any) -> api.Remembered:
        return self.ask(api.Remember(content=content, cwd=str(self.repo), **words))

    def act(self, act: str, ref: object, **words: Any) -> api.Acted:
        return self.ask(api.Act(act=act, ref=str(ref), cwd=str(self.repo), **words))

    def recall(self, query: str, **words: Any) -> api.RecallReply:
        return self.ask(api.Recall(query=query, cwd=str(self.repo), **words))

    def hook(
        self,
        event: str,
        payload: dict[str, Any] | bytes,
        *,
        receipt: bool = True,
        probe: bool = False,
        env: bytes = b"",
        pid: int = 0,
    ) -> str:
        """The text that the hook would print; its receipt follows at once unless the test says otherwise.

        ``pid``: the hook's process; 0 is what a system says that does not tell.
        """
        stdin = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        request = os.urandom(16)
        deadline = time.monotonic_ns() + 10_000_000_000
        harness = "git" if event == "git-commit" else "claude"
        call = wire.Hook(request, deadline, int(probe), harness, event, os.fsencode(self.repo), env, stdin)
        out = self.daemon.hook(call, pid)
        if receipt and out:
            self.daemon.receipt(request)
        return out.decode()

    def start(self, session: str = "s1", source: str = "startup", **words: Any) -> str:
        event = "post-compaction" if source == "compact" else "session-start"
        return self.hook(event, self.payload("SessionStart", session, source=source), **words)

    def prompt(self, text: str, session: str = "s1", prompt_id: str = "p1", **words: Any) -> str:
        payload = self.payload("UserPromptSubmit", session, prompt=text, prompt_id=prompt_id, permission_mode="default")
        return self.hook("prompt-submit", payload, **words)

    def read(
        self,
        path: str,
        session: str = "s1",
        prompt_id: str = "p1",
        use: str = "",
        *,
        receipt: bool = True,
        **more: Any,
    ) -> str:
        """``use`` as in `edit`, ``receipt`` as in `hook`."""
        payload = self.payload(
            "PostToolUse",
            session,
            prompt_id=prompt_id,
            tool_name="Read",
            tool_input={"file_path": str(self.repo / path)},
            tool_response={"type": "text", "file": {"filePath": str(self.repo / path), "content": ""}},
            tool_use_id=use or f"toolu_{os.urandom(8).hex()}",
            **more,
        )
        return self.hook("read", payload, receipt=receipt)

    def result(self, tool: str, tool_input: dict[str, Any], response: Any, session: str = "s1", **more: Any) -> str:
        """What a tool gave; ``more``: agent_id, cwd."""
        payload = self.payload(
            "PostToolUse",
            session,
            **{
                "prompt_id": "p1",
                "tool_name": tool,
                "tool_input": tool_input,
                "tool_response": response,
                "tool_use_id": f"toolu_{os.urandom(8).hex()}",
                **more,
            },
        )
        return self.hook("tool-result", payload)

    def edit(
        self,
        path: str,
        session: str = "s1",
        prompt_id: str = "p1",
        new: str = "b",
        use: str = "",
        *,
        receipt: bool = True,
        **more: Any,
    ) -> str:
        """``use``: the client's id of the call, each its own unless two hook entries ask about one. ``receipt`` as in `hook`."""
        payload = self.payload(
            "PreToolUse",
            session,
            prompt_id=prompt_id,
            tool_name="Edit",
            tool_input={"file_path": str(self.repo / path), "old_string": "a", "new_string": new},
            tool_use_id=use or f"toolu_{os.urandom(8).hex()}",
            **{"permission_mode": "acceptEdits", **more},
        )
        return self.hook("pre-edit", payload, receipt=receipt)

    def call(
        self,
        tool: str,
        tool_input: dict[str, Any],
        pid: int,
        session: str = "s1",
        use: str = "toolu_c",
        prompt_id: str = "p1",
        **more: Any,
    ) -> str:
        """The client's word that it is about to call a tool of memd's own; ``more``: agent_id."""
        payload = self.payload(
            "PreToolUse",
            session,
            prompt_id=prompt_id,
            tool_name=f"mcp__memd__{tool}",
            tool_input=tool_input,
            tool_use_id=use,
            **more,
        )
        return self.hook("pre-edit", payload, pid=pid)

    def payload(self, name: str, session: str, **more: Any) -> dict[str, Any]:
        return {
            "session_id": session,
            "transcript_path": f"/nowhere/{session}.jsonl",
            "cwd": str(self.repo),
            "hook_event_name": name,
            **more,
        }

    def close(self) -> None:
        self.daemon.close()


def context_of(stdout: str) -> str:
    """The text that a hook's output adds to the model's context; "" for silence."""
    return json.loads(stdout)["hookSpecificOutput"].get("additionalContext", "") if stdout else ""


def reason_of(stdout: str) -> str:
    """Why an edit is denied; "" where it is not."""
    told = json.loads(stdout)["hookSpecificOutput"] if stdout else {}
    return told.get("permissionDecisionReason", "") if told.get("permissionDecision") == "deny" else ""


def make_repo(path: Path) -> Path:
    """A git repository with two committed files."""
    path.mkdir(parents=True)
    (path / "app.py").write_text("def add(a, b):\n    return a + b\n")
    (path / "other.py").write_text("x = 1\n")
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.email", "dev@example.invalid"),
        ("config", "user.name", "Dev"),
        ("add", "."),
        ("commit", "-qm", "first"),
    ):
        git(path, *words)
    return path


def git(repo: Path, *words: str, at: int = 0) -> str:
    """Runs git without anybody's settings; ``at`` (Unix seconds) is the moment it believes it is."""
    env = {"PATH": os.environ["PATH"], "HOME": str(repo.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    if at:
        env |= {"GIT_COMMITTER_DATE": f"{at} +0000", "GIT_AUTHOR_DATE": f"{at} +0000"}
    done = subprocess.run(["git", "-C", str(repo), *words], check=True, capture_output=True, text=True, env=env)
    return done.stdout


@contextlib.contextmanager
def desk_at(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "home", make_repo(tmp_path / "repo"))
    try:
        yield desk
    finally:
        desk.close()
