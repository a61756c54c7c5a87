"""Putting memd's hooks into clients' settings and taking them out again: install, uninstall, hook-command.

What is written where is memd_hooks.install's; here it is shown, agreed to, done, and then proved: the daemon is started and each
hook is fired once through the very line that stands in the settings, for installed is not working.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memd_client.cli import screen
from memd_client.cli.screen import Part
from memd_client.cli.shape import command
from memd_client.memd import BadUsage, Memd, MemdError, Refused
from memd_client.reach import home_of
from memd_client.wire import EXIT_DONE, EXIT_REFUSED

if TYPE_CHECKING:
    from memd_hooks.firing import Fired
    from memd_hooks.install import Done, Plan

HARNESSES = click.option("--harness", "named", default="", metavar="H,…", help="Only these: claude, git.")
CLAUDE = "claude"
GIT = "git"
NEXT = "Next: open your client in a repository and work as always; `memd status` shows what memd heard."


@command(short_help="Put the hooks into your client's settings.")
@HARNESSES
@click.option("--user", "level", flag_value="user", default=True, help="For all your projects (the default).")
@click.option("--project", "level", flag_value="project", help="For this project alone, in your own settings of it.")
@click.option("--no-git", is_flag=True, help="Leave the repository you stand in without the hook that notes commits.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("-y", "--yes", "--no-input", "quiet", is_flag=True, help="Ask nothing.")
def install(named: str, level: str, no_git: bool, dry_run: bool, quiet: bool, as_json: bool) -> int:
    """Put memd's hooks into the settings of every client found, leave everything else there as it is, and fire each once.

    In a git repository its post-commit hook is added too: it notes the commits of every client and of people.
    """
    from memd_hooks import install as hooks

    home, cwd, environ = home_of(), Path.cwd(), dict(os.environ)
    asks = not (quiet or as_json) and sys.stdin.isatty() and screen.is_terminal()
    there = hooks.found(cwd, environ)
    harnesses = _harnesses(named) or there
    if GIT in there and GIT not in harnesses:
        harnesses = (*harnesses, GIT)
    if no_git:
        harnesses = tuple(one for one in harnesses if one != GIT)
    if not named and CLAUDE not in harnesses:
        screen.warn("Claude Code was not found here; `memd install --harness claude` puts its hooks in all the same.")
    if not harnesses:
        raise Refused("no-client", "No client was found: install Claude Code, or name it with `--harness claude`.")
    plan = _planned(lambda: hooks.plan(harnesses, "project" if level == "project" else "user", home, cwd, environ))
    if not as_json:
        _show(plan)
    if dry_run:
        return _tell_plan(plan, as_json)
    if asks and plan.steps and not click.confirm("Write this?", default=True):
        raise Refused("declined", "Nothing was written.")
    done = _planned(lambda: hooks.apply(plan))
    with Memd(home) as memd:
        with screen.working("starting the daemon"):
            memd.begin()
        with screen.working("firing each hook once"):
            fired = _fire(memd, harnesses, cwd)
        enrolled = _offer_key(memd, asks)
    return _tell_install(done, fired, enrolled, as_json)


def _harnesses(named: str) -> tuple[str, ...]:
    from memd_hooks.install import HARNESSES as KNOWN

    words = tuple(word.strip() for word in named.split(",") if word.strip())
    for word in words:
        if word not in KNOWN:
            raise BadUsage(
                "unknown-harness", f"There is no client `{screen.safe_line(word)}` here: {', '.join(KNOWN)}."
            )
    return words


def _planned(what: Any) -> Any:
    """A plan, or what became of it; the installer's own refusals become the command's."""
    from memd_hooks.install import Busy
    from memd_hooks.launcher import UnspeakableHome
    from memd_hooks.registry import RegistryDamaged

    try:
        return what()
    except UnspeakableHome as error:
        why = "no shell could name memd's home in a settings file: set MEMD_HOME to a path without control characters"
        raise Refused("unspeakable-home", f"{screen.safe_line(str(error))}: {why}.") from error
    except (Busy, RegistryDamaged) as error:
        raise Refused("busy" if isinstance(error, Busy) else "registry-damaged", str(error)) from error


def _show(plan: "Plan") -> None:
    for line in str(plan).splitlines():
        screen.say(line)


def _tell_plan(plan: "Plan", as_json: bool) -> int:
    if as_json:
        screen.emit({"dry_run": True, "changes": _changes(plan.steps), "refusals": _refusals(plan.refusals)})
    return EXIT_REFUSED if plan.refusals else EXIT_DONE


def _changes(steps: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"harness": s.harness, "path": str(s.path), "lines": list(s.lines)} for s in steps]


def _refusals(refusals: Sequence[Any]) -> list[dict[str, str]]:
    return [{"harness": r.harness, "path": str(r.path), "why": r.why} for r in refusals]


def fire_all(memd: Memd, harnesses: Sequence[str], cwd: Path) -> "list[tuple[str, Fired]]":
    """Fires every hook of these harnesses once; (harness, what came of it). The daemon has to run."""
    from memd_hooks.firing import fire

    known = memd.fired().fired

    def seen(harness: str, event: str) -> bool:
        key = f"{harness} {event}"
        return memd.fired().fired.get(key, 0) > known.get(key, 0)

    return [(harness, one) for harness in harnesses for one in fire(memd.home, harness, cwd, os.environ, seen)]


def _fire(memd: Memd, harnesses: Sequence[str], cwd: Path) -> "list[tuple[str, Fired]]":
    try:
        return fire_all(memd, harnesses, cwd)
    except OSError as error:
        raise Refused("not-fired", f"The hooks are installed and could not be fired: {error}.") from error


def _offer_key(memd: Memd, asks: bool) -> list[str]:
    """The enrolled keys; where there is none a person at a terminal is offered one, and may go on without."""
    enrolled = memd.enrol().enrolled
    if enrolled or not asks:
        return enrolled
    screen.say()
    screen.say(
        "A key lets you endorse notes: only what you sign becomes `human`. You can do it later: `memd human init`."
    )
    if not click.confirm("Make one now?", default=True):
        return []
    from memd_client.cli.human import make_key

    try:
        return [make_key(memd).fingerprint]
    except MemdError as error:
        screen.warn(f"memd: {error.message}")
        return []


def _tell_install(done: "Done", fired: "list[tuple[str, Fired]]", enrolled: list[str], as_json: bool) -> int:
    is_well = not done.refusals and all(one.ok for _, one in fired)
    if as_json:
        told = [
            {"harness": harness, "event": str(one.event), "ok": one.ok, "ms": one.ms, "detail": one.detail}
            for harness, one in fired
        ]
        screen.emit(
            {
                "dry_run": False,
                "changes": _changes(done.steps),
                "refusals": _refusals(done.refusals),
                "fired": told,
                "enrolled": enrolled,
            }
        )
        return EXIT_DONE if is_well else EXIT_REFUSED
    screen.say()
    screen.table(("hook", "fired", "ms", "answer"), [_fired_row(harness, one) for harness, one in fired])
    for refusal in done.refusals:
        screen.warn(f"memd: {refusal}")
    screen.say()
    screen.say(
        NEXT if is_well else ("Not everything is well: `memd doctor` names each fault with its fix.", "bold red")
    )
    return EXIT_DONE if is_well else EXIT_REFUSED


def _fired_row(harness: str, one: "Fired") -> list[Part]:
    verdict = ("ok", "green") if one.ok else ("NOT ok", "bold red")
    return [f"{harness} {one.event}", verdict, f"{one.ms:.0f}", one.detail]


@command(short_help="Take the hooks out again.")
@HARNESSES
@click.option("--user", "level", flag_value="user", hidden=True)
@click.option("--project", "level", flag_value="project", hidden=True)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--purge", is_flag=True, help="Remove the store too: every note. Asked for once more at a terminal.")
def uninstall(named: str, level: str, dry_run: bool, purge: bool, as_json: bool) -> int:
    """Take memd's hooks out of every settings file they stand in, at both levels; the store stays, unless --purge."""
    from memd_hooks import install as hooks

    home, cwd, environ = home_of(), Path.cwd(), dict(os.environ)
    if purge and named:
        raise click.UsageError("--purge is of everything, --harness of one client")
    if purge and not dry_run:
        _agree_to_purge(home)
    plan = _planned(lambda: hooks.plan_removal(_harnesses(named) or hooks.HARNESSES, home, cwd, environ))
    if not as_json:
        _show(plan)
    if dry_run:
        return _tell_plan(plan, as_json)
    done = _planned(lambda: hooks.apply(plan))
    if purge and not done.refusals:
        _purge(home)
    if as_json:
        told = {"changes": _changes(done.steps), "refusals": _refusals(done.refusals), "purged": purge}
        screen.emit({"dry_run": False, **told})
    elif not done.refusals:
        kept = "" if purge else f" Your notes stay in {home}."
        screen.say(f"memd's hooks are out.{kept}")
    return EXIT_REFUSED if done.refusals else EXIT_DONE


def _agree_to_purge(home: Path) -> None:
    """A person types the word at their own terminal: no flag, no pipe. Raises Refused."""
    try:
        with Path("/dev/tty").open("r+b", buffering=0) as terminal:
            terminal.write(f"This removes {screen.safe_line(str(home))} and every note in it. Type purge: ".encode())
            typed = terminal.readline()
    except OSError as error:
        raise Refused("no-terminal", "--purge is said once more at your own terminal; there is none here.") from error
    if typed.strip() != b"purge":
        raise Refused("declined", "Nothing was removed.")


def _purge(home: Path) -> None:
    with Memd(home, starts=False) as memd:
        try:
            memd.stop()
        except MemdError as error:
            if error.code not in ("not-running", "gone"):
                raise
    if home.is_dir():
        shutil.rmtree(home)


@command("hook-command", short_help="The command line in a client's settings.")
@click.argument("event")
@click.option("--harness", required=True, metavar="H", help="claude or git.")
def hook_command(event: str, harness: str, as_json: bool) -> None:
    """The command line that stands for EVENT in the settings of a client."""
    from memd_hooks.events import Moment
    from memd_hooks.launcher import hook_command as line_of

    if event not in list(Moment):
        raise BadUsage("unknown-event", f"There is no event `{screen.safe_line(event)}`: {', '.join(Moment)}.")
    (known,) = _harnesses(harness) or ("",)
    line = _planned(lambda: line_of(home_of(), event, known))
    if as_json:
        screen.emit({"event": event, "harness": known, "command": line})
    else:
        screen.say(line)
