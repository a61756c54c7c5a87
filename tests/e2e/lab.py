"""A lab: one real client, one scripted model, one scratch repository and one empty home, shut off from the machine.

Everything of a lab runs in network and PID namespaces of its own: loopback is all the network there is, no process of
the outside is among the ancestors (memd looks there for harnesses), and when the lab is closed the kernel ends whatever
it started, daemons included. The namespaces live as long as their first process (namespace_init.py); commands enter
them with nsenter. The files are ordinary ones, in a folder under /tmp with a short name (Unix sockets allow 103 bytes)
that does not say memd (the client tells the model where it is, and tests look for memd in what it is told):

    /tmp/e2e-XXXXXXXX/
      home/        HOME; empty at first
      repository/  a git repository with app.py and README.md, one commit
      requests/    every request that the model got: NNN-<kind>.json
      runs/        every command with its exit status and output: NNN.txt

The environment is built from nothing: HOME, PATH of the system, a locale, and what points the client at the model. The
virtual environment's bin is not on PATH, so a hook that only works with the developer's PATH fails here.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .model import JSON, WAIT_SECONDS, Model, Request, answer, tool

HERE = Path(__file__).parent
CURRENT_MODEL = "sonnet"  # hooks' words arrive in a system message (model.py)
OLDER_MODEL = "claude-haiku-4-5"  # hooks' words arrive as reminders in the user's message
API_KEY = "sk-ant-dummy-0000000000000000000000000000"
APP = "def add(a, b):\n    return a + b\n"
# Edits and git without a question; every other tool asks, which headless means no.
CLIENT_OPTIONS = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash(git:*)"]
# Compaction begins at 12 % of a window of 150,000 tokens.
SMALL_WINDOW = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150000", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "12"}
COMMAND_SECONDS = 60.0  # a client that hangs is a failure; its slowest whole run seen is under 20 s


@dataclass(frozen=True)
class Completed:
    """One command that ended: exit code, and what it wrote."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """What `--json` printed."""
        return json.loads(self.out)


class Namespace:
    """Network and PID namespaces; `listener` is a socket that listens on their loopback."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        # Without root a user namespace comes first, in which this user counts as root.
        as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        unshare = ["unshare", *as_root, "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
        with theirs:
            self._keeper = subprocess.Popen(
                [*unshare, sys.executable, "-I", str(HERE / "namespace_init.py"), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self._line.settimeout(WAIT_SECONDS)
        _, descriptors, _, _ = socket.recv_fds(self._line, 1, 1)
        if not descriptors:
            self.close()
            raise OSError("the namespaces could not be made; unshare's message is above")
        self.listener = socket.socket(fileno=descriptors[0])
        within = f"/proc/{self._keeper.pid}/ns"
        user = [f"--user={within}/user", "--preserve-credentials"] if as_root else []
        self._enter = ["nsenter", *user, f"--net={within}/net", f"--mount={within}/mnt"]
        self._enter += [f"--pid={within}/pid_for_children"]

    def command(self, argv: Sequence[str], cwd: Path) -> list[str]:
        """The command line that runs `argv` inside, with `cwd` as its working directory."""
        return [*self._enter, f"--wdns={cwd}", "--", *argv]

    def close(self) -> None:
        """End every process inside."""
        self._line.close()
        self._keeper.wait(WAIT_SECONDS)


@dataclass
class Lab:
    """See the module's docstring. `claude` is the client's binary, `memd` the command under test."""

    folder: Path
    claude_binary: Path
    memd_binary: Path = Path(sys.executable).parent / "memd"
    extra_environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home, self.repository = self.folder / "home", self.folder / "repository"
        for made in (self.home, self.repository, self.folder / "requests", self.folder / "runs"):
            made.mkdir()
        self.namespace = Namespace()
        self.model = Model(self.namespace.listener, self.folder / "requests")
        self._runs = 0
        (self.repository / "app.py").write_text(APP)
        (self.repository / "README.md").write_text("# A scratch repository\n")
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "dev@example.invalid")
        self.git("config", "user.name", "Dev")
        self.commit_all("first")

    def close(self) -> None:
        """End everything that runs in the lab; its files stay until somebody removes the folder."""
        self.model.close()
        self.namespace.close()

    @property
    def app(self) -> Path:
        """The file that the tests read and edit."""
        return self.repository / "app.py"

    @property
    def settings(self) -> Path:
        """The client's settings of the user."""
        return self.home / ".claude" / "settings.json"

    @property
    def config(self) -> Path:
        """The file that the client keeps for itself, with the user's MCP servers."""
        return self.home / ".claude.json"

    @property
    def requests(self) -> list[Request]:
        """Every request of the session's own loop, in order."""
        return self.model.requests_of_main_loop()

    @property
    def environment(self) -> dict[str, str]:
        """What every command in the lab gets, and nothing else."""
        return {
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "USER": "dev",
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": API_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            **self.extra_environment,
        }

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: str = "",
        noted: bool = True,
    ) -> Completed:
        """Run one command inside and wait for it; raises TimeoutExpired, after which its whole group is dead.

        It counts as ended when its output is closed too: a daemon that kept a hook's stdout would hang here as it would
        hang the client.
        """
        words = [str(word) for word in argv]
        process = subprocess.Popen(
            self.namespace.command(words, cwd or self.repository),
            env={**self.environment, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        with process:
            try:
                out, err = process.communicate(stdin, timeout=COMMAND_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        if noted:
            self._note_run(words, process.returncode, out, err)
        return Completed(process.returncode, out, err)

    def _note_run(self, argv: Sequence[str], code: int, out: str, err: str) -> None:
        self._runs += 1
        after = len(self.model.requests)
        said = f"$ {argv}\nexit {code}; {after} requests so far\n--- stdout\n{out}\n--- stderr\n{err}\n"
        (self.folder / "runs" / f"{self._runs:03d}.txt").write_text(said)

    def git(self, *args: str) -> str:
        """Run git in the repository; its output without the last newline."""
        return self._checked(["git", *args]).out.rstrip("\n")

    def commit_all(self, subject: str) -> None:
        """Commit the whole work tree."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)

    def memd(self, *args: str, env: Mapping[str, str] | None = None, check: bool = True) -> Completed:
        """Run this checkout's `memd`; AssertionError unless it ends with 0 (with `check`)."""
        argv: list[str | Path] = [self.memd_binary, *args]
        return self._checked(argv, env) if check else self.run(argv, env=env)

    def _checked(self, argv: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Completed:
        done = self.run(argv, env=env)
        assert done.code == 0, f"{list(map(str, argv))} ended with {done.code}\n{done.out}\n{done.err}"
        return done

    def claude(
        self,
        prompt: str,
        *args: str,
        resume: str | None = None,
        model: str = CURRENT_MODEL,
        env: Mapping[str, str] | None = None,
    ) -> Turn:
        """One headless turn of the client, from the prompt to its end; `resume` is an earlier turn's session."""
        since = len(self.model.requests)
        options = ["--model", model, *CLIENT_OPTIONS, "--output-format", "json"]
        options += ["--resume", resume] if resume else []
        done = self._checked([self.claude_binary, "-p", prompt, *options, *args], env)
        return Turn(done.json(), tuple(self.model.of_kind("main", "subagent", "summary", since=since)))

    def compacted_turn(self, prompt: str) -> Turn:
        """One turn in which the client compacts on its own: the threshold is lowered, and the messages are really big,
        since reported usage alone does not do it. What the model was told to say before is forgotten."""
        big = self.repository / "big.txt"
        big.write_text("".join(f"line {n} of a file that fills the context window\n" for n in range(1500)))
        read = tool("Read", file_path=str(big), limit=1400)
        self.model.script(answer(read, usage=5_000), answer(read, usage=25_000))
        return self.claude(prompt, env=SMALL_WINDOW)

    def send_signal(self, pid: int, name: str) -> None:
        """Signal a process of the lab by its pid in there."""
        self._checked(["sh", "-c", f"kill -{name} {pid}"])

    def hook_settings(self, **commands: str) -> None:
        """Write project settings with one shell command per event, for tests of the lab itself."""
        hooks = {event: [{"hooks": [{"type": "command", "command": line}]}] for event, line in commands.items()}
        path = self.repository / ".claude" / "settings.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"hooks": hooks}))

    @contextmanager
    def tui(self, *args: str) -> Iterator[Terminal]:
        """The client's terminal interface, past its first-run questions up to the folder's trust dialog."""
        config = json.loads(self.config.read_text()) if self.config.exists() else {}
        onboarded: JSON = {"hasCompletedOnboarding": True, "theme": "dark"}
        onboarded["customApiKeyResponses"] = {"approved": [API_KEY[-20:]], "rejected": []}
        self.config.write_text(json.dumps(config | onboarded))
        with self.terminal(self.claude_binary, "--model", CURRENT_MODEL, *CLIENT_OPTIONS, *args) as terminal:
            yield terminal

    @contextmanager
    def terminal(self, *argv: str | Path) -> Iterator[Terminal]:
        """A command on a terminal of its own."""
        terminal = Terminal(self, [str(word) for word in argv])
        try:
            yield terminal
        finally:
            terminal.close()

    def digest(self) -> str:
        """Every request, one line a text block, for a failed test's report."""
        lines = []
        for request in list(self.model.requests):
            lines.append(f"{request.number:03d} {request.kind} {request.method} {request.path}")
            for message in request.messages:
                content = message["content"]
                for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                    shown = " ".join(str(block.get("text", block.get("content", block.get("input", "")))).split())
                    lines.append(f"      {message['role']:<9} {block['type']:<11} {shown[:200]}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Turn:
    """One headless turn: what the client printed (`result`), and what it sent meanwhile, summaries and subagents included."""

    result: JSON
    sent: tuple[Request, ...]

    @property
    def session(self) -> str:
        """The session's id, as `resume` takes it."""
        return str(self.result["session_id"])

    @property
    def requests(self) -> list[Request]:
        """The requests of the session's own loop."""
        return [request for request in self.sent if request.kind == "main"]


READY = "accept edits on"  # the line under the client's input box, drawn when it takes prompts


class Terminal:
    """A command in a pane of its own tmux server. Nothing here sleeps for a fixed time: it waits for what it needs."""

    def __init__(self, lab: Lab, argv: Sequence[str]) -> None:
        self.lab = lab
        set_up = ["start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";", "new-session", "-d"]
        self._tmux(*set_up, "-x", "160", "-y", "48", "-c", str(lab.repository), *argv)

    def _tmux(self, *args: str) -> str:
        socket_path = str(self.lab.folder / "tmux.sock")
        return self.lab.run(["tmux", "-S", socket_path, "-f", "/dev/null", *args], noted=False).out

    def close(self) -> None:
        """End the client, if it still runs, and its tmux server."""
        self._tmux("kill-server")

    @property
    def ended(self) -> bool:
        """Whether the command has ended; its last screen stays."""
        return self._tmux("display-message", "-p", "#{pane_dead}").strip() == "1"

    @property
    def screen(self) -> str:
        """The pane's text."""
        return self._tmux("capture-pane", "-p")

    def wait_until(self, condition: Callable[[str], bool], what: str) -> str:
        """The screen as soon as `condition` holds for it; AssertionError, with the screen, when it never does."""
        end = time.monotonic() + WAIT_SECONDS
        while not condition(screen := self.screen):
            assert time.monotonic() < end, f"waited in vain for {what}; the screen is\n{screen}"
            time.sleep(0.05)  # the pace of polling: tmux cannot tell when a pane's text changes
        return screen

    def wait_for_text(self, words: str) -> str:
        """The screen as soon as `words` are on it."""
        return self.wait_until(lambda screen: words in screen, repr(words))

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self._tmux("send-keys", *keys)

    def press_until(self, key: str, words: str) -> None:
        """Press a key until `words` show: a dialog is drawn before the client listens, and drops what comes earlier."""
        end = time.monotonic() + WAIT_SECONDS
        while words not in self.screen:
            assert time.monotonic() < end, f"{key} never led to {words!r}; the screen is\n{self.screen}"
            self.press(key)
            time.sleep(0.2)  # one redraw, so that a key which was heard is not pressed twice

    def trust_folder(self) -> None:
        """Answer the trust dialog, whose preselected answer is to leave."""
        self.wait_for_text("Yes, I trust this folder")
        self.press_until("Down", "❯ Yes, I trust this folder")
        self.press("Enter")

    def enter(self, line: str) -> None:
        """Type a line and send it, once the client shows it in its input box."""
        self._tmux("send-keys", "-l", line)
        self.wait_for_text(line)
        self.press("Enter")

    def prompt(self, line: str) -> Request:
        """Send a prompt once the client is ready for one; the first request of the loop that carries it."""
        since = len(self.lab.model.requests)
        self.wait_for_text(READY)
        self.enter(line)
        return self.lab.model.wait_for(lambda r: r.kind == "main" and line in r.news, since)

    def compact(self) -> None:
        """/compact, waited for."""
        self.wait_for_text(READY)
        self.enter("/compact")
        self.wait_for_text("Compacted")

    def clear(self) -> None:
        """/clear, waited for: nothing is left on the screen but the command."""
        self.wait_for_text(READY)
        self.enter("/clear")
        self.wait_until(lambda screen: "●" not in screen and "❯ /clear" in screen, "a clear screen")

    def exit(self) -> None:
        """/exit, waited for."""
        self.wait_for_text(READY)
        self.enter("/exit")
        self.wait_for_end()

    def wait_for_end(self) -> str:
        """The screen once the command has ended."""
        return self.wait_until(lambda screen: self.ended, "the command's end")

    def answer(self, question: str, reply: str) -> str:
        """Type `reply` at every line that holds `question` and waits for input; the screen once the command has ended."""
        asked = 0

        def asks_or_ended(screen: str) -> bool:
            return self.ended or screen.count(question) > asked

        while True:
            screen = self.wait_until(asks_or_ended, f"{question!r} or the command's end")
            if self.ended:
                return screen
            asked = screen.count(question)
            self._tmux("send-keys", "-l", reply)
            self.press("Enter")
