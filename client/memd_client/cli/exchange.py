"""Giving everything out, and taking it in again: backup, restore, export, import.

A backup and an export are the daemon's, which works on meanwhile. A restore and an import put another store in its place, so a
process of the daemon's package does them while no daemon has the store (`memd_daemon.exchanged`); the one that ran is started
again."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from memd_client import api
from memd_client.cli import screen
from memd_client.cli.shape import command
from memd_client.exchanging import ImportedOut, RestoredOut
from memd_client.memd import BadUsage, Memd, MemdError, Refused, Unreachable
from memd_client.placing import placed
from memd_client.reach import home_of

T = TypeVar("T")

LOOK_S = 0.1  # between two looks at a backup that is being made: a person's eye
STREAM = "-"
APART = "memd_daemon.exchanged"
NAMES_TRIED = 100  # dated ones: as many are at work in one second
TAKEN = ("file-exists", "backup-exists")  # refusals of a target at which something is
NO_STREAM = (
    "a backup goes into a file, since its beginning is written last; `memd export -` writes to stdout. Name a file"
)
MIB = 1024 * 1024
KB = 1000
EXPORT_HOLDS = "Plain text, without your key; it holds also what you forget later."
BY_STATUS: dict[str, type[MemdError]] = {"usage": BadUsage, "unreachable": Unreachable}


@command(short_help="Copy everything into one file.")
@click.argument("path", required=False)
def backup(path: str | None, as_json: bool) -> None:
    """Copy store and ledger, as they are at one moment, into one new file: by default a dated one in your home directory.

    memd works on meanwhile. Your key is not in it; everything else that memd knows is, also what you forget later.
    """
    if path == STREAM:
        raise click.UsageError(NO_STREAM)
    with screen.working("making a backup") as say, Memd() as memd:
        reply = _first_free(path, "backup", lambda target: _backed_up(memd, target, say))
    if as_json:
        screen.emit(msgspec.structs.replace(reply, done_bytes=reply.bytes, of_bytes=reply.bytes))
        return
    held = f"{screen.count(reply.notes, 'note')}, {screen.count(reply.turns, 'turn')}"
    screen.say((reply.path, "bold"), f": {held}, {_size(reply.bytes)} in {reply.seconds:.1f} s")
    _tell([*reply.told, f"`memd restore {shlex.quote(reply.path)}` puts it back. It holds also what you forget later."])


@command(short_help="Put a backup back.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--damaged", is_flag=True, help="Take it as it is, also where `memd verify` finds damage in it.")
@click.option("--with-forgotten", is_flag=True, help="Have back, too, what was forgotten here since.")
def restore(path: Path, damaged: bool, with_forgotten: bool, as_json: bool) -> None:
    """Put what a backup holds in the place of the store, in one step, once it has been looked through.

    What was there before is kept in a dated folder, which `memd restore` takes as well. A running daemon is stopped for that
    moment and started again. For a person: an agent's shell restores nothing."""
    wanted = {"path": str(path.absolute()), "damaged": damaged, "with_forgotten": with_forgotten}
    with _daemon_after():
        reply = _apart("restore", wanted, RestoredOut)
    if as_json:
        screen.emit(reply)
        return
    made = f", made {reply.made_at}" if reply.made_at else ""
    holds = f"{screen.count(reply.notes, 'note')}, {screen.count(reply.turns, 'turn')}"
    screen.say(("restored", "green"), f": {holds}, from {path}{made}")
    if reply.faults:
        screen.say((screen.count(reply.faults, "fault"), "bold red"), ": `memd verify` names them")
    _tell(reply.told)
    _tell_kept(reply.kept)


@command(short_help="Write everything as lines of JSON.")
@click.argument("path", required=False)
def export(path: str | None, as_json: bool) -> None:
    """Write everything that memd knows and that means something elsewhere as JSON Lines (docs/export.md): by default into a dated
    file in your home directory; `-` is stdout.

    memd works on meanwhile. It holds every note and turn in plain text, also what you forget later.
    """
    if path == STREAM:
        if as_json:
            raise click.UsageError("`-` writes the export itself to stdout, so --json has no place there")
        with Memd() as memd, screen.working("exporting") as say:
            last = _pieces(memd, lambda piece: _to_stdout(piece), say)
        _warn_damaged(last)
        return
    with Memd() as memd, screen.working("exporting") as say:
        target, size, last = _first_free(path, "jsonl", lambda target: _exported(memd, target, say))
    told = {
        "path": str(target),
        "bytes": size,
        "lines": last.done,
        **{name: getattr(last, name) for name in ("notes", "events", "commits", "turns", "damaged")},
    }
    if as_json:
        screen.emit(told)
        return
    held = f"{screen.count(last.notes, 'note')}, {screen.count(last.turns, 'turn')}"
    screen.say((str(target), "bold"), f": {held}, {screen.count(last.done, 'line')}, {_size(size)}")
    _tell([f"{EXPORT_HOLDS} `memd import {shlex.quote(str(target))}` takes it in."])
    _warn_damaged(last)


@command("import", short_help="Take an export in.")
@click.argument("path")
@click.option("--skip-wrong", is_flag=True, help="Pass over lines that are wrong, and take the rest.")
def import_(path: str, skip_wrong: bool, as_json: bool) -> None:
    """Take in an export: all of it, or nothing. `-` is stdin. Doing it twice changes nothing.

    Into a home with nothing in it as that very store; into the same store what is missing there; into another one as another's
    commits, whose keys endorse nothing here. The daemon is stopped meanwhile and started again.
    """
    wanted = {"path": path if path == STREAM else str(Path(path).absolute()), "skip_wrong": skip_wrong}
    with _daemon_after():
        reply = _apart("import", wanted, ImportedOut)
    if as_json:
        screen.emit(reply)
        return
    screen.say(("imported", "green"), f": {_brought(reply)}, of {screen.count(reply.lines, 'line')}")
    for what, found, count in (
        ("kept out", reply.withheld, reply.withheld_count),
        ("passed over", reply.wrong, reply.wrong_count),
    ):
        for line in found:
            screen.say((what, "bold"), f": {line}")
        if count > len(found):
            screen.say((what, "bold"), f": and {count - len(found)} more")
    if reply.forgotten:
        screen.say(f"{screen.count(reply.forgotten, 'text')} of notes that were forgotten here stayed out")
    if reply.faults:
        screen.say((screen.count(reply.faults, "fault"), "bold red"), ": `memd verify` names them")
    _tell(reply.told)
    _tell_kept(reply.kept)


def _brought(reply: ImportedOut) -> str:
    counts = [(reply.notes, "note"), (reply.events, "event"), (reply.turns, "turn"), (reply.texts, "text")]
    if not any(count for count, _ in counts):
        return "nothing that was not here already"
    return ", ".join(screen.count(count, noun) for count, noun in counts[:3]) + " that were not here"


# --- where to, and what with


def _targets(given: str | None, kind: str) -> Iterator[Path]:
    """The new file: the one given, or dated names in it where it is a folder, or in the user's home directory: another may be at
    work in the same second. Raises Refused."""
    path = Path(given) if given else None
    folder = Path.home() if path is None else path if path.is_dir() else None
    if folder is None and path is not None:
        if given and given.endswith(os.sep):
            raise Refused("no-folder", f"There is no folder {given}: make it, or leave the last {os.sep} out.")
        yield path.absolute()
        return
    begin = (folder or Path.home()).absolute() / time.strftime("memd-%Y-%m-%dT%H-%M-%SZ", time.gmtime())
    yield begin.with_name(f"{begin.name}.{kind}")
    yield from (begin.with_name(f"{begin.name}-{n}.{kind}") for n in range(2, NAMES_TRIED + 1))


def _first_free(given: str | None, kind: str, make: Callable[[Path], T]) -> T:
    """What ``make`` gives for the first target at which nothing is, also when it is done. Raises Refused."""
    *others, last = _targets(given, kind)
    for target in others:
        try:
            return make(target)
        except Refused as refusal:
            if refusal.code not in TAKEN:
                raise
    return make(last)


def _backed_up(memd: Memd, target: Path, say: Callable[[str], None]) -> api.BackupReply:
    """Raises Refused."""
    reply = memd.backup(str(target))
    while not reply.ended:
        say(f"making a backup, {_of(reply.done_bytes, reply.of_bytes)}")
        time.sleep(LOOK_S)
        reply = memd.backup(job=reply.job)
    if reply.code:
        raise Refused(reply.code, reply.message)
    return reply


def _exported(memd: Memd, target: Path, say: Callable[[str], None]) -> tuple[Path, int, api.ExportReply]:
    """(the file, its bytes, the last answer). Raises Refused."""
    try:
        with placed(target) as descriptor:
            last = _pieces(memd, lambda piece: _write_all(descriptor, piece), say)
            return target, os.fstat(descriptor).st_size, last
    except FileExistsError as error:
        what = f"There is something at {target} already, and an export is written over nothing: name another file."
        raise Refused("file-exists", what) from error


def _pieces(memd: Memd, write: Callable[[bytes], None], say: Callable[[str], None]) -> api.ExportReply:
    """Every piece of an export, written; the last answer."""
    reply = memd.export()
    try:
        while True:
            write(reply.piece)
            if reply.ended:
                return reply
            say(f"exporting, {reply.done:,} of about {reply.of:,} lines")
            reply = memd.export(reply.token)
    except (OSError, KeyboardInterrupt):
        with contextlib.suppress(MemdError):
            memd.export(reply.token, drop=True)
        raise


def _write_all(descriptor: int, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[os.write(descriptor, view) :]


def _to_stdout(piece: bytes) -> None:
    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def _warn_damaged(last: api.ExportReply) -> None:
    if last.damaged:
        screen.warn(
            f"memd: {screen.count(last.damaged, 'row')} could not be read and stayed out: `memd verify` names the places"
        )


def _size(count: int) -> str:
    return f"{count / KB:.0f} kB" if count < MIB else f"{count / MIB:.1f} MiB"


def _of(done: int, of: int) -> str:
    return f"{done / MIB:.0f} of about {max(done, of) / MIB:.0f} MiB"


def _tell(sentences: list[str]) -> None:
    for sentence in sentences:
        screen.say((screen.spoken(sentence), "dim"))


def _tell_kept(kept: str) -> None:
    if kept:
        screen.say("what was here is kept in ", (kept, "bold"))
        _tell([f"`memd restore {shlex.quote(kept)}` brings it back; remove the folder when you no longer want it."])


# --- the process that holds the home


@contextlib.contextmanager
def _daemon_after() -> Iterator[None]:
    """Starts the daemon again where one ran, whatever came of it."""
    with Memd(starts=False) as memd:
        try:
            memd.ping()
            ran = True
        except MemdError as nobody:
            ran = nobody.code not in ("not-running", "gone")
    try:
        yield
    finally:
        if ran:
            with contextlib.suppress(MemdError), Memd() as memd:  # the next command says why
                memd.begin()


@contextlib.contextmanager
def _started(words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that a Ctrl-C ends by way of this one: what it has staged goes with it, and nothing of it is shown."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # it inherits that; here it only comes later
    try:
        process = subprocess.Popen(words, stdout=subprocess.PIPE)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with process, contextlib.ExitStack() as broken_off:
        broken_off.callback(process.terminate)
        yield process
        broken_off.pop_all()


def _apart(do: str, wanted: dict[str, Any], reply: type[T]) -> T:
    """Has it done by a process of the daemon's package, and gives its answer. Raises MemdError."""
    request = msgspec.json.encode({"do": do, "home": str(home_of()), **wanted}).decode()
    words = [sys.executable, "-I", "-m", APART, request]
    doing = {"restore": "restoring", "import": "importing"}[do]
    last: dict[str, Any] = {}
    with screen.working(doing, plainly=True) as say, _started(words) as process:
        for line in process.stdout or ():
            last = msgspec.json.decode(line, type=dict[str, Any])
            if "say" in last:
                what, done, of = last["say"]
                say(f"{doing}: {what}" + (f", {100 * done // of} %" if of else ""))
    if "done" in last:
        return msgspec.convert(last["done"], type=reply)
    if "error" in last:
        error = last["error"]
        raise BY_STATUS.get(error["status"], Refused)(error["code"], error["message"])
    what = "The process that did it has ended before it was done; what was there is there, whole"
    raise Refused("ended-early", f"{what}: say it again.")
