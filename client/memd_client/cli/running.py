"""The daemon's life from the command line: start, stop, restart, logs, daemon.

`stop` and `logs` never start one. A stop is kept to until the next session start, `memd start` or a write; a restart is no stop.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from memd_client import api, spawn
from memd_client.cli import screen
from memd_client.cli.shape import command
from memd_client.memd import Memd, MemdError, Unreachable
from memd_client.reach import home_of, mark_stopped

FOLLOW_POLL_S = 0.2  # a person's eye
LEVEL_STYLES = {"error": "bold red", "critical": "bold red", "warning": "yellow"}


@command(short_help="Start the daemon.")
def start(as_json: bool) -> None:
    """Start the daemon, also after a deliberate stop. Nothing to do where one answers."""
    with screen.working("starting"), Memd() as memd:
        running = memd.begin()
    _tell_running(running, as_json)


@command(short_help="Replace the daemon that runs.")
def restart(as_json: bool) -> None:
    """Have the daemon finish what it has in hand, and start another: the installed version, whatever ran before."""
    with screen.working("restarting"), Memd() as memd:
        running = memd.restart()
    _tell_running(running, as_json)


def _tell_running(pong: api.Pong, as_json: bool) -> None:
    if as_json:
        screen.emit(pong)
    else:
        screen.say("memd is ", ("running", "green"), f": pid {pong.pid}, version {pong.version}, home {pong.home}")


@command(short_help="Stop the daemon.")
def stop(as_json: bool) -> None:
    """Stop the daemon until the next session start, `memd start`, or a command that writes."""
    with screen.working("stopping"), Memd(starts=False) as memd:
        pid = _stopped(memd)
    if as_json:
        screen.emit({"pid": pid})
    else:
        screen.say("memd was not running" if pid is None else f"memd has stopped (pid {pid})")


def _stopped(memd: Memd) -> int | None:
    """The pid that was stopped; None where none ran, which then also counts as stopped on purpose."""
    try:
        return memd.stop()
    except Unreachable as nobody:
        if nobody.code not in ("not-running", "gone"):
            raise
    if (memd.home / "run").is_dir():
        mark_stopped(memd.home)
    return None


@command(short_help="Run the daemon in the foreground.")
def daemon(as_json: bool) -> None:
    """Run the daemon in the foreground until Ctrl-C; what it would log goes to its log file all the same."""
    home = home_of()
    try:
        with Memd(starts=False) as memd:
            running = memd.ping()
    except MemdError:  # nobody answers, or one of another version: the new process says what is wrong
        running = None
    if running is not None:
        _tell_running(running, as_json)
        return
    kept = {n: v for n, v in os.environb.items() if n in spawn.ENVIRONMENT_NAMES or n.startswith(spawn.LOCALE_PREFIX)}
    sys.stdout.flush()
    words = [sys.executable, "-I", "-m", "memd_daemon"]
    os.execve(words[0], words, {**kept, b"MEMD_HOME": os.fsencode(home)})  # noqa: S606 - this very interpreter


@command(short_help="What the daemon wrote down.")
@click.option("-n", "lines", type=click.IntRange(0), default=50, show_default=True, help="How many lines.")
@click.option("-f", "--follow", is_flag=True, help="Go on as more is written.")
def logs(lines: int, follow: bool, as_json: bool) -> None:
    """The daemon's log: what it did and what failed, never what anybody typed. With --json and -f one object a line."""
    path = home_of() / "logs" / "daemon.log"
    last = _last_lines(path, lines)
    if as_json and not follow:
        screen.emit([_read(line) for line in last])
        return
    for line in last:
        _tell(line, as_json)
    if not last and not follow:
        screen.warn(f"nothing is logged yet ({path})")
    if follow:
        try:
            for line in _followed(path):
                _tell(line, as_json)
        except KeyboardInterrupt:
            return


def _last_lines(path: Path, count: int) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()[-count:] if count else []
    except FileNotFoundError:
        return []


def _followed(path: Path) -> Iterator[bytes]:
    """Every further line of a file that grows and is now and then replaced by an empty one."""
    file, begun = _opened(path), b""
    if file is not None:
        file.seek(0, os.SEEK_END)
    while True:
        chunk = file.readline() if file is not None else b""
        if chunk.endswith(b"\n"):
            yield begun + chunk.rstrip(b"\n")
            begun = b""
            continue
        begun += chunk
        if not chunk:
            time.sleep(FOLLOW_POLL_S)
            file = _current(path, file)


def _current(path: Path, file: BinaryIO | None) -> BinaryIO | None:
    try:
        is_same = file is not None and os.fstat(file.fileno()).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return file
    if is_same:
        return file
    if file is not None:
        file.close()
    return _opened(path)


def _opened(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None


def _read(line: bytes) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        return {"say": line.decode("utf-8", "replace")}
    return told


def _tell(line: bytes, as_json: bool) -> None:
    told = _read(line)
    if as_json:
        click.echo(msgspec.json.encode(told).decode())
        return
    level = str(told.get("level", ""))
    trace = f"  ({told['trace']})" if "trace" in told else ""
    screen.say(
        (f"{told.get('at', '')} ", "dim"),
        (f"{level:<7} ", LEVEL_STYLES.get(level, "")),
        f"{told.get('from', '')}: {told.get('say', '')}{trace}",
        hang=2,
    )
