"""One round of the measurement: everything once, references beside what they are references to.

A round's value of a key is the median of REPEATS interleaved runs (cold starts: COLD_STARTS). Keys and units: `Key`.
"""

import contextlib
import hashlib
import itertools
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path

from memd_client import address, link, spawn, wire
from memd_client.cli import bench_process as process
from memd_client.cli.bench_notes import EDITED_FILE, HOT_FILE, LONE_FILE, one_more, prompt
from memd_client.cli.bench_process import NS_PER_MS, Child
from memd_client.cli.bench_scratch import RULES_REPOSITORY, WRITERS, Scratch, Tell, record, settle
from memd_client.memd import Memd
from memd_hooks.events import Moment
from memd_hooks.harness import claude

REPEATS = 11
COLD_STARTS = 2
FIRST_ANSWER_WAIT_S = 10.0
IDLE_S = 5.0
PRINTED_CHARS = 30_000  # where the client cuts what a command printed
SILENT_AFTER_EDITS_MAX = 40  # of a file until all its gotchas stand; each edit tells about ten
NOTES_EACH = 4  # of one writer
COMMIT_BYTES = 1_000  # of the raw commit: about what one note is in the log
LOOK_S = 0.001


class Key(StrEnum):
    """What is measured. Milliseconds unless said otherwise."""

    BARE = "bare"  # /bin/sh -c 'exec python -I -S -c pass'
    PRE_EDIT = "pre_edit"  # the installed line, on the file with many gotchas, all standing
    PRE_EDIT_ONE = "pre_edit_one"  # the same on the file with one
    SCRIPT = "script"  # the same without the launcher
    PRE_EDIT_EDITED = "pre_edit_edited"  # the same on a file with many, written anew just before
    HASH = "hash"  # reading and hashing that file
    TOOL_RESULT = "tool_result"  # after a command that printed as much as the client hands on
    SESSION_START = "session_start"
    START_RULES = "start_rules"  # in the repository that has nothing but rules
    PROMPT = "prompt"
    EMBED = "embed"  # the same prompt, the full model, in a process of its own
    IN_PRE_EDIT = "in_pre_edit"  # inside the daemon
    IN_PRE_EDIT_ONE = "in_pre_edit_one"
    IN_PRE_EDIT_EDITED = "in_pre_edit_edited"
    IN_TOOL_RESULT = "in_tool_result"
    IN_SESSION_START = "in_session_start"
    IN_START_RULES = "in_start_rules"
    IN_PROMPT = "in_prompt"
    IMPORTS = "imports"  # python -c 'import zmq, msgspec, lmdb'
    COLD_START = "cold_start"  # from spawn to the answer of a ping
    PING = "ping"  # on an open connection
    REMEMBER = "remember"
    COMMIT = "commit"  # one durable LMDB commit in a process of its own, same disk
    WRITER_ONE = "writer_one"  # per note
    WRITERS_ALL = "writers_all"  # per note, WRITERS at once
    MEMORY = "memory"  # megabytes
    MEMORY_BAR = "memory_bar"  # what it may be
    IDLE = "idle"  # clock ticks of the daemon in IDLE_S


class Round:
    """The samples of one round."""

    def __init__(self) -> None:
        self.samples: dict[str, list[float]] = defaultdict(list)
        self.unanswered: dict[str, int] = defaultdict(int)
        self.prompt_tokens = 0

    def value(self, key: str) -> float | None:
        """The round's median; None where nothing could be measured. ``key``: a `Key`, or another measurement's."""
        samples = self.samples.get(key)
        return statistics.median(samples) if samples else None


class Bench:
    """Measures one filled home. ``embedding`` and ``committing`` are measuring children (bench_process.py).

    ``memory_mb``: what the daemon may take.
    """

    def __init__(self, made: Scratch, memory_mb: float, embedding: Child, committing: Child, tell: Tell) -> None:
        self._made = made
        self._memory_mb = memory_mb
        self._embedding = embedding
        self._committing = committing
        self._tell = tell
        self._count = itertools.count(1)  # asked from several threads

    def round(self, number: int) -> Round:
        """One round. Raises MemdError, OSError."""
        done = Round()
        self._tell(f"round {number}, cold starts")
        for _ in range(COLD_STARTS):
            settle(self._made, self._tell)  # a daemon that still loads its model would make the reference slow
            done.samples[Key.IMPORTS].append(process.run_imports(self._made))
            done.samples[Key.COLD_START].append(self._cold_start())
        settle(self._made, self._tell)
        self._tell(f"round {number}, hooks")
        with self._made.memd() as memd:
            session = f"bench-{number}"
            self._warm(session)
            for _ in range(REPEATS):
                self._remember(memd)  # nothing may be told from memory that a write has made old
                settle(self._made, self._tell)
                self._hooks(done, memd, session)
                done.samples[Key.PING].append(_ping_ms(memd))
            self._tell(f"round {number}, idle for {IDLE_S:g} s")
            self._rest(done)
            self._tell(f"round {number}, writers")
            self._writes(done, memd)
        return done

    # starts

    def _cold_start(self) -> float:
        """From the start of a daemon to its first answer, the store's files in the page cache."""
        self._made.stop()
        home = os.fsencode(self._made.home)
        began = time.monotonic_ns()
        spawn.start(home)
        until = began + int(FIRST_ANSWER_WAIT_S * 1e9)
        while time.monotonic_ns() < until:
            found = address.read(home)
            if found is not None:
                asked = link.request(found, wire.request(wire.PING, wire.EMPTY_BODY), until)
                if isinstance(asked, link.Reply) and asked.status == wire.DONE:
                    return (time.monotonic_ns() - began) / NS_PER_MS
            time.sleep(LOOK_S)
        raise spawn.StartFailed(spawn.StartFailed.__doc__)

    # hooks

    def _warm(self, session: str) -> None:
        """A session that has begun, has had a prompt and knows all the gotchas of both files."""
        self._fire(Moment.SESSION_START, session)
        self._fire(Moment.PROMPT_SUBMIT, session, prompt=self._prompt(), prompt_id=self._next("turn"))
        for file in (HOT_FILE, EDITED_FILE, LONE_FILE):
            for _ in range(SILENT_AFTER_EDITS_MAX):
                if not self._fire(Moment.PRE_EDIT, session, **self._edit(file))[1]:
                    break

    def _hooks(self, done: Round, memd: Memd, session: str) -> None:
        """Every hook and its references once, in turn."""
        edit, asked = self._edit(HOT_FILE), self._prompt()
        done.samples[Key.BARE].append(
            process.run(process.bare_line(), self._made, self._payload(Moment.PRE_EDIT, session, edit))[0]
        )
        self._sample(done, memd, Key.PRE_EDIT, Key.IN_PRE_EDIT, Moment.PRE_EDIT, session, edit)
        self._sample(done, memd, Key.PRE_EDIT_ONE, Key.IN_PRE_EDIT_ONE, Moment.PRE_EDIT, session, self._edit(LONE_FILE))
        script = process.script_line(Moment.PRE_EDIT)
        done.samples[Key.SCRIPT].append(
            process.run(script, self._made, self._payload(Moment.PRE_EDIT, session, edit), session)[0]
        )
        self._sample_edited(done, memd, session)
        self._sample(done, memd, Key.TOOL_RESULT, Key.IN_TOOL_RESULT, Moment.TOOL_RESULT, session, self._printed())
        for made, whole, inside in (
            (self._made, Key.SESSION_START, Key.IN_SESSION_START),
            (self._made.within(RULES_REPOSITORY), Key.START_RULES, Key.IN_START_RULES),
        ):
            self._sample(done, memd, whole, inside, Moment.SESSION_START, self._next("bench-start"), {}, made)
        turn = {"prompt": asked, "prompt_id": self._next("turn")}
        self._sample(done, memd, Key.PROMPT, Key.IN_PROMPT, Moment.PROMPT_SUBMIT, session, turn)
        embedded = self._embedding.ask(text=asked)
        done.samples[Key.EMBED].append(embedded["ms"])
        done.prompt_tokens = int(embedded["tokens"])

    def _printed(self) -> dict[str, object]:
        """What the client tells of a command with a long output; no two alike."""
        run = self._next("run")
        lines = (
            f"{run}: case {n} of {n * 7919 % 1000} came to {n * 104729 % 997} in the end\n"
            for n in range(PRINTED_CHARS // len(run))
        )
        said = "".join(lines)[:PRINTED_CHARS]
        return {"tool_input": {"command": "make check"}, "tool_response": {"stdout": said, "stderr": ""}}

    def _sample_edited(self, done: Round, memd: Memd, session: str) -> None:
        """An edit of a file that has just been written, and what reading and hashing it takes."""
        path = self._made.repository / EDITED_FILE
        with path.open("a", encoding="utf-8") as file:
            file.write(f"# {self._next('edit')}\n")
        edit = self._edit(EDITED_FILE)
        self._sample(done, memd, Key.PRE_EDIT_EDITED, Key.IN_PRE_EDIT_EDITED, Moment.PRE_EDIT, session, edit)
        began = time.perf_counter_ns()
        hashlib.sha256(path.read_bytes())
        done.samples[Key.HASH].append((time.perf_counter_ns() - began) / NS_PER_MS)

    def _sample(
        self,
        done: Round,
        memd: Memd,
        whole: Key,
        inside: Key,
        moment: Moment,
        session: str,
        fields: Mapping[str, object],
        made: Scratch | None = None,
    ) -> None:
        """One hook through its line, and what the daemon says that it took. One that was not answered counts as no sample.

        ``made``: the scratch home as seen from another repository.
        """
        name = f"{claude.NAME} {moment}"
        before = memd.fired().fired.get(name, 0)
        at = made or self._made
        took, _ = process.run(
            process.hook_line(at, moment), at, process.payload(at, moment, session, **fields), session
        )
        fired = memd.fired()
        breaker = self._made.home / "run" / "unreachable-until"
        if fired.fired.get(name, 0) == before or breaker.exists():
            breaker.unlink(missing_ok=True)
            done.unanswered[whole] += 1
            return
        done.samples[whole].append(took)
        done.samples[inside].append(fired.took_us[name] / 1_000)

    def _fire(self, moment: Moment, session: str, **fields: object) -> tuple[float, bytes]:
        stdin = self._payload(moment, session, fields)
        return process.run(process.hook_line(self._made, moment), self._made, stdin, session)

    def _payload(self, moment: Moment, session: str, fields: Mapping[str, object]) -> bytes:
        return process.payload(self._made, moment, session, **fields)

    def _edit(self, file: str) -> dict[str, object]:
        old, new = "    return queue.pop(7)\n" * 5, "    with lease(queue) as held:\n        return held.pop(7)\n" * 5
        path = str(self._made.repository / file)
        return {
            "tool_input": {"file_path": path, "old_string": old, "new_string": new, "replace_all": False},
            "tool_use_id": self._next("toolu"),
        }

    def _prompt(self) -> str:
        return prompt(next(self._count))

    def _next(self, word: str) -> str:
        return f"{word}-{next(self._count)}"

    # the daemon at rest, and writes

    def _rest(self, done: Round) -> None:
        pid = self._made.pid()
        before = process.cpu_ticks(pid)
        time.sleep(IDLE_S)
        after, memory = process.cpu_ticks(pid), process.memory_mb(pid)
        if before is not None and after is not None:
            done.samples[Key.IDLE].append(after - before)
        if memory is not None:
            done.samples[Key.MEMORY].append(memory)
            done.samples[Key.MEMORY_BAR].append(self._memory_mb)

    def _writes(self, done: Round, memd: Memd) -> None:
        """Notes by one writer and by WRITERS at once; embedding them goes on beside it, as it would."""
        for _ in range(NOTES_EACH):
            done.samples[Key.COMMIT].append(self._committing.ask(bytes=COMMIT_BYTES)["ms"])
            done.samples[Key.REMEMBER].append(self._remember(memd))
        done.samples[Key.WRITER_ONE].append(statistics.fmean(done.samples[Key.REMEMBER]))
        done.samples[Key.WRITERS_ALL].append(self._all_writers_ms() / (WRITERS * NOTES_EACH))

    def _remember(self, memd: Memd) -> float:
        note = one_more(next(self._count))
        began = time.perf_counter_ns()
        record(memd, note)
        return (time.perf_counter_ns() - began) / NS_PER_MS

    def _all_writers_ms(self) -> float:
        with contextlib.ExitStack() as stack, ThreadPoolExecutor(WRITERS) as threads:
            clients = [stack.enter_context(self._made.memd()) for _ in range(WRITERS)]
            for client in clients:
                client.ping()  # connects
            began = time.perf_counter_ns()
            for written in [threads.submit(self._remember_some, client) for client in clients]:
                written.result()
            return (time.perf_counter_ns() - began) / NS_PER_MS

    def _remember_some(self, memd: Memd) -> None:
        for _ in range(NOTES_EACH):
            self._remember(memd)


def _ping_ms(memd: Memd) -> float:
    began = time.perf_counter_ns()
    memd.ping()
    return (time.perf_counter_ns() - began) / NS_PER_MS


@contextlib.contextmanager
def measuring(made: Scratch, memory_mb: float, tell: Tell) -> Iterator[Bench]:
    """A bench with its two measuring children."""
    raw: Path = made.folder / "raw"
    with (
        process.child("-c", process.EMBEDDING) as embedding,
        process.child("-c", process.COMMITTING, str(raw)) as committing,
    ):
        yield Bench(made, memory_mb, embedding, committing, tell)
