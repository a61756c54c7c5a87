"""Putting memd's hooks and its MCP server into clients' settings and taking them out again: install, uninstall, hook-command.

What is written where is memd_hooks.install's; here it is shown, agreed to, done, and then proved: the daemon is started and each
hook is fired once through the very line that stands in the settings, for installed is not working.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memd_client.cli import screen
from memd_client.cli.screen import Part
from memd_client.cli.shape import command
from memd_client.memd import BadUsage, Memd, MemdError, Refused
from memd_client.reach import home_of
from memd_client.signing import PassphraseTooShort, SigningError
from memd_client.wire import EXIT_DONE, EXIT_REFUSED

if TYPE_CHECKING:
    from memd_hooks.firing import Fired
    from memd_hooks.install import Done, Plan
    from memd_hooks.steps import Refusal

P = TypeVar("P")

HARNESSES = click.option("--harness", "named", default="", metavar="H,…", help="Only these: claude, git.")
CLAUDE = "claude"
GIT = "git"
NEXT = "Next: open your client in a repository and work as always; `memd status` shows what memd heard."
HEALED = "Not everything is well: `memd doctor` names each fault with its fix."
PURGE_WORD = "purge"
KEY_TRIES = 3  # to type a new passphrase twice alike, and long enough
READING = "Of memd's tools, recall, show, decisions and trace only read."
LEAVE = "Let the client call those without asking you?"


@command(short_help="Put the hooks into your client's settings.")
@HARNESSES
@click.option("--user", "level", flag_value="user", default=True, help="For all your projects (the default).")
@click.option("--project", "level", flag_value="project", help="For this project alone, in your own settings of it.")
@click.option("--no-git", is_flag=True, help="Leave the repository you stand in without the hook that notes commits.")
@click.option("--no-link", is_flag=True, help="Make no link to memd in ~/.local/bin.")
@click.option(
    "--no-mcp", is_flag=True, help="Leave memd's tools unregistered: agents then have the command line alone."
)
@click.option(
    "--allow-read-tools", is_flag=True, help="Let the client call the tools that only read without asking you."
)
@click.option("--no-key", is_flag=True, help="Offer no key; `memd human init` makes one whenever you like.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, line by line, and write nothing.")
@click.option("-v", "--verbose", is_flag=True, help="Show what is written line by line.")
@click.option("-y", "--yes", "--no-input", "quiet", is_flag=True, help="Ask nothing.")
def install(
    named: str,
    level: str,
    no_git: bool,
    no_link: bool,
    no_mcp: bool,
    allow_read_tools: bool,
    no_key: bool,
    dry_run: bool,
    verbose: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Put memd's hooks into the settings of every client found, leave everything else there as it is, and fire each once.

    Its MCP server is registered with the client as `memd`, which gives agents memd's tools. Without --allow-read-tools, or your yes
    at a terminal, the client asks you before it calls any of them.

    In a git repository its post-commit hook is added too: it notes the commits of every client and of people. It is that
    repository's alone; run this once in each. Where ~/.local/bin is there or on your PATH, `memd` is linked into it.
    """
    from memd_hooks import install as hooks

    home, cwd, environ = home_of(), Path.cwd(), dict(os.environ)
    asks = not (quiet or as_json) and sys.stdin.isatty() and screen.is_terminal()
    level_: hooks.Level = "project" if level == "project" else "user"
    harnesses = _wanted(named, no_git, hooks.found(cwd, environ))
    program = None if no_link else Path(sys.executable).parent / "memd"

    offered = () if no_mcp or CLAUDE not in harnesses else hooks.not_allowed(level_, cwd, environ)
    allowed = offered if allow_read_tools or (offered and asks and not dry_run and _gives_leave()) else ()

    def planned(of: Sequence[str]) -> "Plan":
        return _planned(
            lambda: hooks.plan(of, level_, home, cwd, environ, program, with_server=not no_mcp, allowed=allowed)
        )

    plan = planned(harnesses)
    if not named and any(refusal.harness == CLAUDE for refusal in plan.refusals):
        program = None
        harnesses = tuple(one for one in harnesses if one != GIT)
        plan = planned(harnesses)  # nothing by halves: what was not named goes with what was meant
    if not as_json:
        _show(plan, details=dry_run or verbose)
    if dry_run:
        return _tell_plan(plan, as_json)
    refused = {refusal.harness for refusal in plan.refusals}
    if not plan.steps and refused >= set(harnesses):
        return _tell_nothing(plan, as_json)
    if asks and plan.steps and not click.confirm("Write this?", default=True):
        raise Refused("declined", "Nothing was written.")
    done = _planned(lambda: hooks.apply(plan))
    refused = {refusal.harness for refusal in done.refusals}
    with Memd(home) as memd:
        with screen.working("starting the daemon"):
            memd.begin()
        with screen.working("firing each hook once"):
            fired = _fire(memd, [one for one in harnesses if one not in refused], cwd)
        enrolled = _offer_key(memd, asks and not no_key)
    return _tell_install(plan, done, fired, enrolled, as_json)


def _gives_leave() -> bool:
    """Whether the person at the terminal lets the client read without asking; an agent at one is not asked."""
    from memd_client.cli.sign import harness_above

    if harness_above() is not None:
        return False
    screen.say(READING)
    return click.confirm(LEAVE, default=False)


def _wanted(named: str, no_git: bool, there: Sequence[str]) -> tuple[str, ...]:
    """The harnesses to install for. Raises Refused where there is none."""
    harnesses = _harnesses(named) or tuple(there)
    if GIT in there and GIT not in harnesses:
        harnesses = (*harnesses, GIT)
    if no_git:
        harnesses = tuple(one for one in harnesses if one != GIT)
    if not named and CLAUDE not in harnesses:
        screen.warn("Claude Code was not found here; `memd install --harness claude` puts its hooks in all the same.")
    if not harnesses:
        raise Refused("no-client", "No client was found: install Claude Code, or name it with `--harness claude`.")
    return harnesses


def _harnesses(named: str) -> tuple[str, ...]:
    from memd_hooks.install import HARNESSES as KNOWN

    words = tuple(word.strip() for word in named.split(",") if word.strip())
    for word in words:
        if word not in KNOWN:
            raise BadUsage(
                "unknown-harness", f"There is no client `{screen.safe_line(word)}` here: {', '.join(KNOWN)}."
            )
    return words


def _planned(what: Callable[[], P]) -> P:
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


def _show(plan: "Plan", *, details: bool) -> None:
    """What will be done, a line for each file or all of it, and what will not, which is to be pasted in one piece."""
    for step in plan.steps:
        if details:
            for line in step.lines:
                screen.say(line, whole=line.startswith(" "))
        else:
            screen.say(step.brief)
    _show_refusals(plan.refusals)
    if not plan.steps and not plan.refusals:
        screen.say("nothing to change")


def _show_refusals(refusals: "Sequence[Refusal]") -> None:
    for refusal in refusals:
        what, _, paste = str(refusal).partition("\n")
        screen.say(("NOT done: ", "bold red"), what)
        if paste:
            screen.say(paste, whole=True)


def _tell_plan(plan: "Plan", as_json: bool) -> int:
    if as_json:
        screen.emit({"dry_run": True, "changes": _changes(plan.steps), "refusals": _refusals(plan.refusals)})
    else:
        screen.say(("A dry run: nothing was written.", "bold"))
    return EXIT_REFUSED if plan.refusals else EXIT_DONE


def _tell_nothing(plan: "Plan", as_json: bool) -> int:
    """Everything that was wanted was refused; no daemon is started for that."""
    if as_json:
        refusals = _refusals(plan.refusals)
        screen.emit({"dry_run": False, "changes": [], "refusals": refusals, "fired": [], "enrolled": []})
    else:
        screen.say(("Nothing was installed.", "bold red"))
    return EXIT_REFUSED


def _changes(steps: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"harness": s.harness, "path": str(s.path), "lines": list(s.lines)} for s in steps]


def _refusals(refusals: Sequence[Any]) -> list[dict[str, str]]:
    return [{"harness": r.harness, "path": str(r.path), "why": r.why, "paste": r.paste} for r in refusals]


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
    """The enrolled keys; where there never was one a person at a terminal is offered one, and may go on without."""
    from memd_client.cli.sign import harness_above

    state = memd.enrol()
    if state.keys or not asks or harness_above() is not None:
        return state.enrolled
    screen.say()
    what = "A key lets you endorse notes: only what you sign becomes `human`. Whoever makes the first key is the person here, so"
    screen.say(screen.spoken(f"{what} make it before an agent works on this machine. Later: `memd human init`."))
    if not click.confirm("Make one now? Enter goes on without.", default=False):
        return []
    fingerprint = _key_made(memd)
    if fingerprint:
        screen.say(("enrolled ", "green"), fingerprint)
    return [fingerprint] if fingerprint else []


def _key_made(memd: Memd) -> str:
    """Its fingerprint; "" where there is none in the end. A slip in typing the new passphrase is asked about again."""
    from memd_client.cli.human import make_key
    from memd_client.terminal import PassphrasesDiffer

    for tries_left in reversed(range(KEY_TRIES)):
        try:
            return make_key(memd).fingerprint
        except (PassphraseTooShort, PassphrasesDiffer) as slip:
            then = "Once more; Enter goes on without." if tries_left else "`memd human init` asks again."
            screen.warn(f"memd: {slip} {then}")
        except (MemdError, SigningError) as error:  # the hooks are in all the same
            screen.warn(f"memd: {error} `memd human init` asks again.")
            break
    return ""


def _tell_install(
    plan: "Plan", done: "Done", fired: "list[tuple[str, Fired]]", enrolled: list[str], as_json: bool
) -> int:
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
    _show_refusals([refusal for refusal in done.refusals if refusal not in plan.refusals])
    screen.say()
    _tell_link(done)
    screen.say(screen.spoken(NEXT) if is_well else (screen.spoken(HEALED), "bold red"))
    return EXIT_DONE if is_well else EXIT_REFUSED


def _tell_link(done: "Done") -> None:
    """That the link is no use yet where shells do not look."""
    from memd_hooks import install_link

    for step in done.steps:
        if step.harness == install_link.NAME and not install_link.is_on_path(step.path.parent, os.environ):
            screen.say((f"{step.path.parent} is not on your PATH yet; a new login often puts it there.", "yellow"))


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
    """Take memd's hooks out of every settings file they stand in, at both levels, and stop the daemon when none is left.

    The store stays, unless --purge.
    """
    from memd_hooks import install as hooks
    from memd_hooks import registry

    home, cwd, environ = home_of(), Path.cwd(), dict(os.environ)
    if purge and named:
        raise click.UsageError("--purge is of everything, --harness of one client")
    if purge and not dry_run:
        _agree_to_purge(home)
    plan = _planned(lambda: hooks.plan_removal(_harnesses(named) or hooks.HARNESSES, home, cwd, environ))
    if not as_json:
        _show(plan, details=True)
    if dry_run:
        if purge and not as_json:
            screen.say(f"{home}: remove it, with every note in it")
        return _tell_plan(plan, as_json)
    done = _planned(lambda: hooks.apply(plan))
    stay = _planned(lambda: registry.load(home)).has_hooks
    is_last = not done.refusals and not stay
    stopped = _stopped(home) if is_last else None
    purged = purge and not done.refusals
    if purged and home.is_dir():
        shutil.rmtree(home)
    if as_json:
        told = {"changes": _changes(done.steps), "refusals": _refusals(done.refusals), "purged": purged}
        screen.emit({"dry_run": False, **told})
        return EXIT_REFUSED if done.refusals else EXIT_DONE
    _show_refusals([refusal for refusal in done.refusals if refusal not in plan.refusals])
    if not done.refusals:
        over = f" The daemon (pid {stopped}) has stopped." if stopped else ""
        kept = f" {home} is removed." if purged else _kept(home) if home.is_dir() else ""
        out = f"memd's hooks are out of {named}; others stay (`memd status`)." if stay else "memd's hooks are out."
        screen.say(f"{screen.spoken(out)}{over}{kept}")
    return EXIT_REFUSED if done.refusals else EXIT_DONE


def _kept(home: Path) -> str:
    """That the notes stay, and how they go: by a command that is there still where the link to it has gone."""
    command = "memd" if shutil.which("memd") else shlex.quote(str(Path(sys.executable).parent / "memd"))
    return f" Your notes stay in {home}; `{command} uninstall --purge` removes them too."


def _agree_to_purge(home: Path) -> None:
    """A person types the word at their own terminal: no flag, no pipe. Raises Refused."""
    try:
        with Path("/dev/tty").open("r+b", buffering=0) as terminal:
            terminal.write(
                f"This removes {screen.safe_line(str(home))} and every note in it. Type {PURGE_WORD}: ".encode()
            )
            typed = terminal.readline()
    except OSError as error:
        raise Refused("no-terminal", "--purge is said once more at your own terminal; there is none here.") from error
    if typed.strip() != PURGE_WORD.encode():
        raise Refused("declined", f"The word was not `{PURGE_WORD}`, so nothing was removed.")


def _stopped(home: Path) -> int | None:
    """The pid of the daemon that was stopped; None where none ran. No announced stop: the next command may start one."""
    with Memd(home, starts=False) as memd:
        try:
            return memd.stop(announced=False)
        except MemdError as error:
            if error.code not in ("not-running", "gone"):
                raise
    return None


@command("hook-command", short_help="The command line in a client's settings.")
@click.argument("event")
@click.option("--harness", required=True, metavar="H", help="claude or git.")
def hook_command(event: str, harness: str, as_json: bool) -> None:
    """The command line that stands for EVENT in the settings of a client."""
    from memd_hooks.launcher import SCRIPTS
    from memd_hooks.launcher import hook_command as line_of

    if event not in SCRIPTS:
        raise BadUsage("unknown-event", f"There is no event `{screen.safe_line(event)}`: {', '.join(sorted(SCRIPTS))}.")
    (known,) = _harnesses(harness) or ("",)
    line = _planned(lambda: line_of(home_of(), event, known))
    if as_json:
        screen.emit({"event": event, "harness": known, "command": line})
    else:
        screen.say(line)
