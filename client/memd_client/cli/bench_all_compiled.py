"""What a hook would cost if it were compiled: a C client beside the hook as shipped, in the same rounds (docs/adr/0005).

The client (bench_hook.c) is no part of an install. It is compiled on the spot, with the numbers and names of wire.py, into the
scratch folder; where there is no C compiler its rows say so. It does what carry.py does for a hook that a daemon answers, and its
answers come from the scratch's daemon like all others: one that did not arrive there is no sample.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

import memd_hooks
from memd_client import address, wire
from memd_client.cli import bench_process as process
from memd_client.cli.bench_notes import LONE_FILE, prompt
from memd_client.cli.bench_report import Measure, key
from memd_client.cli.bench_rounds import SILENT_AFTER_EDITS_MAX, Round
from memd_client.cli.bench_scratch import Scratch
from memd_client.memd import Memd
from memd_client.zmtp import COMMAND_MAX_BYTES
from memd_hooks.events import Moment
from memd_hooks.harness import claude
from memd_hooks.launcher import SCRIPTS, hook_text, interpreters, word
from memd_hooks.program import STALE

SOURCE: Final = Path(__file__).with_name("bench_hook.c")
HEADER: Final = "wire.h"
COMPILERS: Final = ("cc", "gcc", "clang")
FLAGS: Final = ("-std=c11", "-O2", "-Wall", "-Wextra", "-fPIE", "-fstack-protector-strong")
COMPILE_WAIT_S: Final = 60.0
REPEATS: Final = 11
NO_COMPILER: Final = "no C compiler (cc, gcc or clang) is here"

_NUMBERS: Final = (
    "REQUEST_ID_BYTES", "DECIMAL_MAX_BYTES", "NAME_MAX_BYTES", "CWD_MAX_BYTES", "ENVIRONMENT_MAX_BYTES", "STDIN_MAX_BYTES",
    "STDOUT_MAX_BYTES", "FRAMES_MAX", "FRAME_MAX_BYTES", "MESSAGE_MAX_BYTES", "HOOK_DEADLINE_MS", "STARTING_DEADLINE_MS",
    "BREAKER_DEADLINE_MS", "RESERVE_MS", "BREAKER_S", "POLL_MS", "KEEP_MS", "READ_BYTES", "TICK_MS", "SPOOL_MAX_BYTES", "PROBE",
    "DONE",
)  # fmt: skip


class NotCompiled(Exception):
    """There is no compiled client here; the message says why."""


class Key(StrEnum):
    """What is measured, in milliseconds: whole processes, all started through `/bin/sh -c` with the same stdin."""

    TRUE = "true"  # /bin/true
    BARE = "compiled_bare"  # the bare interpreter
    PYTHON = "python"  # the line that an install writes, before an edit
    COMPILED = "compiled"  # the C client in its place
    LAUNCHED = "launched"  # the C client behind the launcher, as it would be shipped
    PROMPT_PYTHON = "prompt_python"
    PROMPT_COMPILED = "prompt_compiled"


_BARE: Final = "bare interpreter"
MEASURES: Final = (
    Measure("python", "hook before an edit as shipped", Key.PYTHON, key(Key.BARE), _BARE),
    Measure("hook", "the same compiled, no launcher", Key.COMPILED, key(Key.BARE), _BARE),
    Measure("launched", "the same compiled, behind the launcher", Key.LAUNCHED, key(Key.BARE), _BARE),
    Measure("prompt-python", "hook with a prompt as shipped", Key.PROMPT_PYTHON, key(Key.BARE), _BARE),
    Measure("prompt", "the same compiled, no launcher", Key.PROMPT_COMPILED, key(Key.BARE), _BARE),
)


def header() -> str:
    """wire.h: the numbers and names of wire.py for C."""
    lines = [f"#define {name} {getattr(wire, name)}LL" for name in _NUMBERS]
    lines += [f"#define COMMAND_MAX_BYTES {COMMAND_MAX_BYTES}", f"#define ADDRESS_MAX_BYTES {address.FILE_MAX_BYTES}"]
    lines += [f"#define NOT_MINE {STALE}", f"#define DEFAULT_HOME {_text(address.DEFAULT_HOME)}"]
    lines += [f"#define {name} {_text(getattr(wire, name))}" for name in ("PROTOCOL", "SPOOL_MAGIC", "SPOOL_SUFFIX")]
    lines += [f"#define GIT_COMMIT {_text(wire.GIT_COMMIT.encode())}"]
    lists = {
        "ENVIRONMENT_NAMES": wire.ENVIRONMENT_NAMES,
        "SPOOLED_EVENTS": [event.encode() for event in wire.SPOOLED_EVENTS],
        "WAITING_EVENTS": [event.encode() for event in wire.WAITING_EVENTS],
        "EVENTS": [moment.encode() for moment in SCRIPTS],
    }
    lines += [f"#define {name} {', '.join(map(_text, named))}" for name, named in lists.items()]
    return "\n".join([*lines, ""])


def _text(told: bytes) -> str:
    return '"' + told.decode("ascii").replace("\n", "\\n") + '"'


def compiler() -> str:
    """The C compiler of this machine. Raises NotCompiled."""
    named = os.environ.get("CC", "").split()
    found = next((path for one in (*named[:1], *COMPILERS) if (path := shutil.which(one))), None)
    if found is None:
        raise NotCompiled(NO_COMPILER)
    return found


def compile_hook(folder: Path, *flags: str) -> Path:
    """The client, compiled into a folder; ``flags`` go to the compiler too. Raises NotCompiled, OSError."""
    (folder / HEADER).write_text(header(), encoding="ascii")
    binary = folder / "memd-hook"
    words = [compiler(), *FLAGS, *flags, f"-I{folder}", str(SOURCE), "-o", str(binary)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=COMPILE_WAIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise NotCompiled(f"{words[0]} did not end in {COMPILE_WAIT_S:.0f} s") from error
    if done.returncode:
        raise NotCompiled(f"{words[0]} failed: {done.stderr.strip().splitlines()[-1:]}")
    return binary


def launched_text(made: Scratch, binary: Path) -> str:
    """The launcher as it would be with a compiled client in it: tried first, and passed over where it says `not mine`."""
    text = hook_text(made.home, False, *interpreters(), Path(memd_hooks.__file__).parent)
    before, mark, after = text.partition("program=")
    client = word(str(binary))
    tried = f'if [ -x {client} ]; then\n    {client} "$1" "$2"\n    [ $? -eq {STALE} ] || exit 0\nfi\n'
    return before + tried + mark + after


class Call(NamedTuple):
    """A hook's line and what it is given."""

    key: Key
    moment: Moment
    line: str


class Compiled:
    """Measures hooks through a client in C, against the daemon of a filled home. Raises NotCompiled."""

    def __init__(self, made: Scratch) -> None:
        self._made = made
        folder = made.folder / "compiled"
        folder.mkdir()
        binary = compile_hook(folder)
        launcher = folder / "hook"
        launcher.write_text(launched_text(made, binary), encoding="utf-8")
        launcher.chmod(0o755)
        direct = f"exec {word(str(binary))}"
        edit, asked = Moment.PRE_EDIT, Moment.PROMPT_SUBMIT
        self._calls = (
            Call(Key.PYTHON, edit, process.hook_line(made, edit)),
            Call(Key.COMPILED, edit, f"{direct} {edit} {claude.NAME}"),
            Call(Key.LAUNCHED, edit, f"[ ! -x {word(str(launcher))} ] || {word(str(launcher))} {edit} {claude.NAME}"),
            Call(Key.PROMPT_PYTHON, asked, process.hook_line(made, asked)),
            Call(Key.PROMPT_COMPILED, asked, f"{direct} {asked} {claude.NAME}"),
        )
        self._number = 0

    def round(self, number: int) -> Round:
        """One round: every line REPEATS times, in turn. Raises MemdError, OSError."""
        done, session = Round(), f"compiled-{number}"
        with self._made.memd() as memd:
            self._warm(session)
            for _ in range(REPEATS):
                self._bare(done, session)
                for call in self._calls:
                    self._sample(done, memd, call, session)
        return done

    def _warm(self, session: str) -> None:
        """A session that has begun and has been told all gotchas of the file."""
        line = process.hook_line(self._made, Moment.SESSION_START)
        process.run(line, self._made, process.payload(self._made, Moment.SESSION_START, session), session)
        for _ in range(SILENT_AFTER_EDITS_MAX):
            call = self._calls[0]
            if not process.run(call.line, self._made, self._stdin(call.moment, session), session)[1]:
                break

    def _bare(self, done: Round, session: str) -> None:
        stdin = self._stdin(Moment.PRE_EDIT, session)
        for what, line in ((Key.TRUE, "exec /bin/true"), (Key.BARE, process.bare_line())):
            done.samples[what].append(process.run(line, self._made, stdin, session)[0])

    def _sample(self, done: Round, memd: Memd, call: Call, session: str) -> None:
        name = f"{claude.NAME} {call.moment}"
        before = memd.fired().fired.get(name, 0)
        took, _ = process.run(call.line, self._made, self._stdin(call.moment, session), session)
        breaker = self._made.home / "run" / "unreachable-until"
        if memd.fired().fired.get(name, 0) == before or breaker.exists():
            breaker.unlink(missing_ok=True)
            done.unanswered[call.key] += 1
            return
        done.samples[call.key].append(took)

    def _stdin(self, moment: Moment, session: str) -> bytes:
        self._number += 1
        given: dict[Moment, Callable[[], dict[str, object]]] = {
            Moment.PRE_EDIT: lambda: {
                "tool_input": {
                    "file_path": str(self._made.repository / LONE_FILE),
                    "old_string": "a",
                    "new_string": "b",
                },
                "tool_use_id": f"toolu-{self._number}",
            },
            Moment.PROMPT_SUBMIT: lambda: {"prompt": prompt(self._number), "prompt_id": f"turn-{self._number}"},
        }
        return process.payload(self._made, moment, session, **given[moment]())
