"""One client's sessions under load: what is done in them, in which mix, and what was acknowledged.

A session begins, has a few turns and ends; then the next begins. A turn is a prompt and what a coding agent does about it: reads,
edits (the hook before each, then the file is really written), commands with their output, recalls by the library and by the tool,
notes, now and then a commit, a subagent, a compaction. Before each step somebody thinks: for a time drawn from an exponential
distribution, counted from when the step before it was *due*, so that a slow answer does not slow the questions down. A step that
could only begin later than that is counted as behind.

**Acknowledged** is what has been answered: notes, prompts, commits. And what the session was told is looked through: no note twice
in one turn of one context.
"""

import json
import random
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from memd_client import api
from memd_client.cli import bench_notes, bench_process
from memd_client.cli.bench_load_calls import Calls, Samples
from memd_client.cli.bench_notes import FILES
from memd_client.cli.bench_scratch import Scratch
from memd_hooks.events import Moment

BEHIND_S: Final = 0.05  # later than due, and the client had no processor or waited for an answer
THINK_MAX: Final = 4.0  # of its mean: nobody thinks for ever
TURNS: Final = (2, 6)
READS, EDITS, COMMANDS = (0, 2), (0, 3), (0, 2)
RECALL_SHARE: Final = 0.4  # of the turns, as the following
TOOL_SHARE: Final = 0.3
NOTE_SHARE: Final = 0.5
COMMIT_SHARE: Final = 0.08
SUBAGENT_SHARE: Final = 0.12
COMPACTION_SHARE: Final = 0.08
GOTCHA_SHARE: Final = 0.1  # of the notes
LONG_SHARE: Final = 0.05  # of the commands: as much output as a client hands on
PRINTED_CHARS: Final = (400, 30_000)
TOLD_NOTE: Final = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
GIT: Final = ("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "core.hooksPath=/dev/null")

Step = Callable[[], object]


@dataclass
class Acknowledged:
    """What a client was told is kept, and what it was told too often."""

    notes: dict[int, str] = field(default_factory=dict)  # id -> content
    prompts: list[tuple[str, str]] = field(default_factory=list)  # (session, words)
    commits: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)  # notes that were told again within a turn
    told: int = 0  # notes that hooks told


@dataclass
class Pace:
    """What all clients go by: shared, written by the one who measures."""

    phase: str
    think_s: float
    is_over: threading.Event = field(default_factory=threading.Event)


class Client:
    """One client: `run` it on a thread of its own until the pace is over; then its sessions have ended."""

    def __init__(self, made: Scratch, number: int, pace: Pace, committing: threading.Lock) -> None:
        self._made = made
        self._number = number
        self._pace = pace
        self._committing = committing
        self._calls = Calls(made, lambda: pace.phase)
        self._chance = random.Random(number)  # noqa: S311 -- the same sessions at every run
        self._count = 0
        self._prompt_id = ""
        self._told: Counter[str] = Counter()
        self.acknowledged = Acknowledged()
        self.behind = 0

    @property
    def samples(self) -> Samples:
        return self._calls.samples

    def run(self) -> None:
        """Sessions, one after the other."""
        due = time.monotonic()
        try:
            while not self._pace.is_over.is_set():
                for step in self._session():
                    due = self._thought(due)
                    step()
                    if self._pace.is_over.is_set():
                        break
                self._calls.hook(Moment.SESSION_END, self._payload(Moment.SESSION_END))
        finally:
            self._calls.close()

    def _thought(self, due: float) -> float:
        """Waits until the next step is due; gives when that was."""
        mean = self._pace.think_s
        now = time.monotonic()
        if not mean:
            return now
        due = max(due + min(self._chance.expovariate(1 / mean), THINK_MAX * mean), now - THINK_MAX * mean)
        if due > now:
            self._pace.is_over.wait(due - now)
        elif now - due > BEHIND_S:
            self.behind += 1
        return due

    # a session

    def _session(self) -> Iterator[Step]:
        self._calls.begin(self._next("load"))
        self._told.clear()
        yield lambda: self._hook(Moment.SESSION_START)
        for _ in range(self._chance.randint(*TURNS)):
            yield from self._turn()
            yield self._calls.echo

    def _turn(self) -> Iterator[Step]:
        yield self._prompt
        for _ in range(self._chance.randint(*READS)):
            yield self._read
        for _ in range(self._chance.randint(*EDITS)):
            yield self._edit
        yield self._calls.echo
        for _ in range(self._chance.randint(*COMMANDS)):
            yield self._command
        for share, step in (
            (RECALL_SHARE, self._recall),
            (TOOL_SHARE, self._call_tool),
            (NOTE_SHARE, self._note),
            (SUBAGENT_SHARE, lambda: self._hook(Moment.SUBAGENT_START, agent_id=self._next("agent"))),
            (COMMIT_SHARE, self._commit),
            (COMPACTION_SHARE, self._compact),
        ):
            if self._chance.random() < share:
                yield step

    def _prompt(self) -> None:
        words = f"{bench_notes.prompt(self._count)} (client {self._number})"
        self._prompt_id = self._next("turn")
        self._told.clear()
        if self._hook(Moment.PROMPT_SUBMIT, prompt=words, prompt_id=self._prompt_id):
            self.acknowledged.prompts.append((self._calls.session, words))

    def _read(self) -> None:
        path = self._made.repository / self._file()
        file = {"filePath": str(path), "content": path.read_text(encoding="utf-8")[:2_000]}
        self._hook(Moment.READ, tool_input={"file_path": str(path)}, tool_response={"type": "text", "file": file})

    def _edit(self) -> None:
        """A held edit is made again, and then the file is written."""
        path = self._made.repository / self._file()
        edit = {"file_path": str(path), "old_string": "    return queue.pop(7)\n", "new_string": "    return None\n"}
        self._hook(Moment.PRE_EDIT, tool_input=edit)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"# {self._next('edit')}\n")

    def _command(self) -> None:
        most = PRINTED_CHARS[self._chance.random() < LONG_SHARE]
        run = self._next("run")
        said = "".join(f"{run}: case {n} came to {n * 104729 % 997} in the end\n" for n in range(most // len(run)))
        told = {"stdout": said[:most], "stderr": ""}
        self._hook(Moment.TOOL_RESULT, tool_input={"command": "make check"}, tool_response=told)

    def _recall(self) -> None:
        self._calls.asked(api.Recall(query=self._question()), api.RecallReply)

    def _call_tool(self) -> None:
        """The hook that tells of the call, then the call, by the tool's own name."""
        arguments = {"query": self._question()}
        self._hook(Moment.MEMD_CALL, tool_input=arguments)
        self._calls.tool("recall", arguments)

    def _note(self) -> None:
        self._count += 1
        words = bench_notes.one_more(self._number * 1_000_003 + self._count).content
        content = f"{words} (seen by client {self._number} in case {self._count})"
        is_gotcha = self._chance.random() < GOTCHA_SHARE
        request = api.Remember(
            content=content, kind="gotcha" if is_gotcha else "finding", anchors=[self._file()] if is_gotcha else []
        )
        recorded = self._calls.asked(request, api.Remembered)
        if recorded is not None and not recorded.kept:
            self.acknowledged.notes[recorded.id] = content

    def _commit(self) -> None:
        """One at a time: the hook speaks of HEAD."""
        with self._committing:
            for words in (("commit", "-q", "-a", "--allow-empty", "-m", self._next("change")), ("rev-parse", "HEAD")):
                ran = subprocess.run(
                    [*GIT, *words], cwd=self._made.repository, env=self._made.environ, capture_output=True, check=True
                )
            if self._calls.hook(Moment.GIT_COMMIT, b"") is not None:
                self.acknowledged.commits.append(ran.stdout.decode().strip())

    def _compact(self) -> None:
        self._told.clear()
        self._hook(Moment.POST_COMPACTION)

    # one hook

    def _hook(self, moment: Moment, **fields: Any) -> bool:
        """Whether it was answered. An edit that was held is made again, at once."""
        said = self._calls.hook(moment, self._payload(moment, **fields))
        if said and self._listen(said, fields.get("agent_id", "")):
            said = self._calls.hook(moment, self._payload(moment, **fields))
            self._listen(said or b"", "")
        return said is not None

    def _payload(self, moment: Moment, **fields: Any) -> bytes:
        if self._prompt_id:
            fields.setdefault("prompt_id", self._prompt_id)
        if "tool_input" in fields:
            fields["tool_use_id"] = self._next("toolu")
        return bench_process.payload(self._made, moment, self._calls.session, **fields)

    def _listen(self, said: bytes, agent: str) -> bool:
        """Takes in which notes were told; whether the edit was held."""
        if not said:
            return False
        told = json.loads(said)["hookSpecificOutput"]
        notes = TOLD_NOTE.findall(told.get("permissionDecisionReason") or told.get("additionalContext", ""))
        self.acknowledged.told += len(notes)
        for note in notes:
            key = f"{agent}[{note}]"
            if self._told[key]:
                self.acknowledged.twice.append(f"{key} in {self._prompt_id} of {self._calls.session}")
            self._told[key] += 1
        return bool(told.get("permissionDecision") == "deny")

    def _file(self) -> str:
        return self._chance.choice(FILES)

    def _question(self) -> str:
        return bench_notes.one_more(self._chance.randrange(10_000)).content[:80]

    def _next(self, word: str) -> str:
        self._count += 1
        return f"{word}-{self._number}-{self._count}"
