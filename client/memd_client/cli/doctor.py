"""`memd doctor`: every fault with its fix; exit 1 if there is one. It starts no daemon and changes nothing.

CHECKS is the list of what is looked at, in the order in which one thing needs the other. Where a daemon runs and hooks are
installed each hook is fired once, marked as a probe: installed is not working. `--bundle` writes a report instead (bundle.py).
"""

import os
import shlex
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from memd_client import __version__, spawn, wire
from memd_client.cli import screen
from memd_client.cli.shape import command
from memd_client.cli.status import NO_GIT_HOOK, age_s, gathered, hook_faults, lacks_git_hook
from memd_client.memd import Memd, MemdError
from memd_client.reach import home_of

MODEL_LOADS_S = 30  # it takes under one second
WRITES_LAUNCHER = "run `memd start` with the memd that is installed now"
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong: a stable word, what is wrong, what to do."""

    code: str
    what: str
    fix: str


class Seen(msgspec.Struct, frozen=True):
    """What the checks judge: memd's home, and the status as `memd status` has it."""

    home: Path
    status: dict[str, Any]

    @property
    def is_running(self) -> bool:
        return bool(self.status["daemon"]["state"] == "running")


@command(short_help="Look for faults.")
@click.option(
    "--bundle",
    "where",
    is_flag=False,
    flag_value="",
    metavar="[PATH]",
    help="Write a report for whoever helps you, with nothing private in it: into PATH, a new file here, or `-` for stdout.",
)
@click.option("--verify", "verifies", is_flag=True, help="With --bundle: check the whole store too.")
def doctor(where: str | None, verifies: bool, as_json: bool) -> int:
    """Look for what is wrong, each fault with its fix. Exit 1 if there is one.

    With --bundle a report is written instead, one file of text for you to read and then to give to whoever helps you. Versions,
    numbers and times are in it, and what `doctor` finds; no note, no word of yours, and no name of a file, a repository, a person
    or a machine. Nothing is sent.
    """
    if where is not None:
        from memd_client.cli.bundle import bundle

        bundle(where, verifies=verifies, as_json=as_json)
        return wire.EXIT_DONE
    if verifies:
        raise click.UsageError("--verify goes with --bundle; `memd verify` checks the store")
    with screen.working("looking"):
        seen = Seen(home_of(), gathered())
        faults = [fault for check in CHECKS for fault in check(seen)]
    if as_json:
        screen.emit(faults)
    else:
        for fault in faults:
            screen.say((screen.spoken(fault.what), "bold"), ". ", f"Fix: {screen.spoken(fault.fix)}.")
        if not seen.is_running:
            unfired = "The daemon is not running, so the hooks were not fired; `memd start` starts it."
            screen.say((screen.spoken(unfired), "dim"))
        if lacks_git_hook(seen.home):
            screen.say((screen.spoken(f"No fault: {NO_GIT_HOOK}."), "dim"))
        screen.say(("nothing is wrong", "green") if not faults else (f"{len(faults)} to mend", "bold red"))
    return wire.EXIT_REFUSED if faults else wire.EXIT_DONE


def _home(seen: Seen) -> Iterator[Fault]:
    """Nobody else reads what memd keeps, and memd can write it."""
    home = seen.home
    if not home.exists():
        return
    status = home.stat()
    if not home.is_dir():
        yield Fault("home-not-a-folder", f"{home} is not a folder", "move it away, or set MEMD_HOME")
    elif not os.access(home, os.W_OK | os.X_OK):
        yield Fault("home-unwritable", f"{home} cannot be written", f"run `chmod 700 {shlex.quote(str(home))}`")
    elif status.st_mode & OTHERS:
        what = f"{home} can be entered by other users"
        yield Fault("home-open", what, f"run `chmod 700 {shlex.quote(str(home))}`")


def _keys(seen: Seen) -> Iterator[Fault]:
    """Private keys are for their owner's eyes alone, encrypted or not."""
    folder = seen.home / "keys"
    if not folder.is_dir():
        return
    for path in (folder, *sorted(folder.iterdir())):
        if path.stat().st_mode & OTHERS:
            what = f"{path} can be read by other users"
            yield Fault("key-open", what, f"run `chmod go-rwx {shlex.quote(str(path))}`")


def _launcher(seen: Seen) -> Iterator[Fault]:
    """The program that hooks start the daemon with names an interpreter that is there and has memd."""
    try:
        text = Path(os.fsdecode(spawn.launcher_path(os.fsencode(seen.home)))).read_text(errors="surrogateescape")
    except OSError:  # none yet: the first command writes it
        return
    words = shlex.split(text.rpartition("exec ")[2])
    if words and not os.access(words[0], os.X_OK):
        what = f"the Python that starts the daemon is gone: {words[0]}"
        yield Fault("interpreter-gone", what, WRITES_LAUNCHER)
    elif words and words[0] != sys.executable and not _has_daemon(words[0]):
        yield Fault("interpreter-bare", f"the Python that starts the daemon has no memd: {words[0]}", WRITES_LAUNCHER)


def _has_daemon(python: str) -> bool:
    ask = "import importlib.util, sys; sys.exit(importlib.util.find_spec('memd_daemon') is None)"
    try:
        return subprocess.run([python, "-I", "-c", ask], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _told(seen: Seen) -> Iterator[Fault]:
    """What the daemon says of its store and its disk, or said when it refused to serve."""
    for problem in seen.status["problems"]:
        if code := problem.get("code"):
            yield Fault(code, problem["what"], problem["fix"])


def _breaker(seen: Seen) -> Iterator[Fault]:
    """After a missed deadline hooks wait a short while only."""
    try:
        until = int((seen.home / "run" / "unreachable-until").read_bytes())
    except (OSError, ValueError):
        return
    left = (until - time.monotonic_ns()) / 1e9
    if 0 < left <= wire.BREAKER_S:
        what = f"a hook missed its deadline: for {left:.0f} s more hooks wait {wire.BREAKER_DEADLINE_MS} ms only"
        yield Fault("breaker-open", what, "look into `memd logs`; if it comes again, `memd restart`")


def _hooks(seen: Seen) -> Iterator[Fault]:
    yield from (Fault(fault.code, fault.what, fault.fix) for fault in hook_faults(seen.home))


def _daemon(seen: Seen) -> Iterator[Fault]:
    daemon, index = seen.status["daemon"], seen.status["index"]
    if daemon["state"] == "not answering":
        yield Fault("daemon-silent", "a daemon is there and does not answer", "run `memd restart`")
    elif seen.is_running and daemon["version"] != __version__:
        what = f"the daemon is memd {daemon['version']}, this is {__version__}"
        yield Fault("daemon-version", what, "run `memd restart`")
    if seen.is_running and not index.get("ready") and age_s(daemon.get("up_since", "")) > MODEL_LOADS_S:
        what = "the embedding model could not be loaded, so words alone answer"
        yield Fault("model-missing", what, "look into `memd logs`, then install memd again")


def _spool(seen: Seen) -> Iterator[Fault]:
    dropped = seen.status["spool"].get("dropped")
    if dropped:
        what = f"{screen.count(dropped, 'spooled call')} could not be read in, so they are lost"
        yield Fault("spool-dropped", what, "check the disk; `memd verify` checks the store")


def _policies(seen: Seen) -> Iterator[Fault]:
    """A rule that a file was to give, and that is not told, is not missed by anybody else."""
    for file in seen.status.get("policy", []):
        if not file["counts"]:
            code, how = ("policy-lost", "counts no more") if file["lost"] else ("policy-not-counted", "does not count")
            where = f" ({file['detail']})" if file["detail"] else ""
            yield Fault(code, f"the policy file {file['path']} {how}: {file['why']}{where}", file["fix"])


def _fired(seen: Seen) -> Iterator[Fault]:
    """Each installed hook, through the very line that stands in the settings."""
    harnesses = sorted({place["harness"] for place in seen.status["installed"]})
    if not seen.is_running or not harnesses:
        return
    from memd_client.cli.setup import fire_all

    with Memd(seen.home, starts=False) as memd:
        try:
            fired = fire_all(memd, harnesses, Path.cwd())
        except (MemdError, OSError) as error:
            yield Fault("hooks-not-fired", f"the hooks could not be fired: {error}", "run `memd restart`")
            return
    for harness, one in fired:
        if not one.ok:
            what = f"the hook {harness} {one.event} does not work: {one.detail}"
            yield Fault("hook-dead", what, "run `memd install`; if it stays, `memd logs`")


LOOKS: tuple[Callable[[Seen], Iterator[Fault]], ...] = (
    _home,
    _keys,
    _launcher,
    _daemon,
    _told,
    _breaker,
    _hooks,
    _spool,
    _policies,
)
CHECKS = (*LOOKS, _fired)
