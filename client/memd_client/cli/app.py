"""The list of commands, and what becomes of an error: a line that says why and what to do, and an exit code. Never a traceback.

Exit codes: 0 done, 1 refused (or something is wrong: `doctor`, `verify`), 2 usage, 3 no daemon answers.
With `--json` an error is also one JSON document on stdout: ``{"error": {"code": …, "message": …}}``; the line for a person goes to
stderr either way.
"""

import os
import sys
from collections.abc import Sequence
from types import TracebackType

import click

from memd_client import __version__, wire
from memd_client.cli import screen
from memd_client.cli.shape import LazyGroup
from memd_client.memd import MemdError
from memd_client.signing import SigningError

INTERRUPTED = 130  # what shells give a command that Ctrl-C ended

_CLI = "memd_client.cli"
COMMANDS = {
    "demo": (f"{_CLI}.demo.command:demo", "Play a whole session in a scratch home, with the real hooks and daemon."),
    "install": (f"{_CLI}.setup:install", "Put the hooks into your client's settings, and fire each once."),
    "uninstall": (f"{_CLI}.setup:uninstall", "Take the hooks out again, to the byte."),
    "human": (f"{_CLI}.human:human", "Your key: what makes `human` mean a person."),
    "status": (f"{_CLI}.status:status", "How everything is, with a fix for what is wrong."),
    "doctor": (f"{_CLI}.doctor:doctor", "Look for faults; exit 1 if there is one."),
    "remember": (f"{_CLI}.notes:remember", "Record a note: one claim, with who stands behind it."),
    "recall": (f"{_CLI}.notes:recall", "The notes that bear on a question."),
    "list": (f"{_CLI}.notes:list_", "The notes that hold here, newest first."),
    "show": (f"{_CLI}.notes:show", "One note with everything that is known of it."),
    "log": (f"{_CLI}.notes:log", "The events of a note."),
    "decisions": (f"{_CLI}.chronicle:decisions", "The decisions, in the order they were taken."),
    "trace": (f"{_CLI}.chronicle:trace", "What a note stands on, down to your own words, and what stands on it."),
    "stale": (f"{_CLI}.stale:stale", "Notes that need a look: what has changed under them."),
    "promote": (f"{_CLI}.acts:promote", "Raise a note one rung: auto, agent, human. `human` is signed."),
    "revoke": (f"{_CLI}.acts:revoke", "A note was wrong; it comes back struck through, with the reason."),
    "reinstate": (f"{_CLI}.acts:reinstate", "A revoked note was right after all."),
    "supersede": (f"{_CLI}.keeping:supersede", "A newer note takes the place of an older one."),
    "unsupersede": (f"{_CLI}.keeping:unsupersede", "Undo a supersede: the older note stands for itself again."),
    "absorb": (f"{_CLI}.keeping:absorb", "Fold a note into another one; every reference to it leads there."),
    "release": (f"{_CLI}.keeping:release", "Undo an absorb: the note stands for itself again."),
    "revise": (f"{_CLI}.keeping:revise", "Give a principle its next wording, and what it takes in."),
    "resolve": (f"{_CLI}.acts:resolve", "Settle a conflict of two notes."),
    "confirm": (f"{_CLI}.acts:confirm", "A note was checked and still holds: its date and file hashes are taken anew."),
    "review": (f"{_CLI}.acts:review", "A note whose ground fell was looked at and stands."),
    "link-evidence": (f"{_CLI}.acts:link_evidence", "Bind words that you said to a note."),
    "amend": (f"{_CLI}.keeping:amend", "Change a note's priority, tags, anchors or scope."),
    "archive": (f"{_CLI}.keeping:archive", "Put a note out of the working set."),
    "restore-note": (f"{_CLI}.keeping:restore_note", "Bring a note back from the archive."),
    "done": (f"{_CLI}.acts:done", "A task is done."),
    "reopen": (f"{_CLI}.acts:reopen", "A task is open again."),
    "turns": (f"{_CLI}.told:turns", "What was said to your agents, numbered; evidence points at it."),
    "deliveries": (f"{_CLI}.told:deliveries", "What your agents were told, when and why."),
    "why": (f"{_CLI}.told:why", "Why a note was told, or was not, and what would be decided now."),
    "config": (f"{_CLI}.config:config", "Settings: list, get, set, unset, log."),
    "pause": (f"{_CLI}.config:pause", "Keep and tell nothing, until `memd resume`."),
    "resume": (f"{_CLI}.config:resume", "End a pause."),
    "ignore": (f"{_CLI}.config:ignore", "Keep memd out of a repository."),
    "only": (f"{_CLI}.config:only", "Have memd work in these repositories alone."),
    "policy": (f"{_CLI}.policy:policy", "Policy files: rules and settings that no session changes."),
    "start": (f"{_CLI}.running:start", "Start the daemon."),
    "stop": (f"{_CLI}.running:stop", "Stop the daemon until a session starts, `memd start` or a write."),
    "restart": (f"{_CLI}.running:restart", "Replace the daemon that runs."),
    "logs": (f"{_CLI}.running:logs", "What the daemon wrote down (-f follows)."),
    "daemon": (f"{_CLI}.running:daemon", "Run the daemon in the foreground."),
    "verify": (f"{_CLI}.upkeep:verify", "Check every event against its digest, chain and signature."),
    "reindex": (f"{_CLI}.upkeep:reindex", "Make folds and indexes anew from the log."),
    "backup": (f"{_CLI}.exchange:backup", "Copy everything into one file, while memd works on."),
    "restore": (f"{_CLI}.exchange:restore", "Put a backup in the place of the store; what was there is kept."),
    "export": (f"{_CLI}.exchange:export", "Write everything as lines of JSON."),
    "import": (f"{_CLI}.exchange:import_", "Take an export in: all of it, or nothing."),
    "mcp": (f"{_CLI}.carry:carry", "What an MCP client starts: memd's tools, on stdio."),
    "hook-command": (f"{_CLI}.setup:hook_command", "The command line that a client's settings hold for an event."),
    "bench": (f"{_CLI}.app:bench", "Measure memd on this machine."),
}
# The headings of `--help`, each before its first command: those of docs/commands.md.
SECTIONS = {
    "demo": "To begin",
    "remember": "Notes",
    "promote": "Acts on a note",
    "turns": "What was said and told",
    "config": "Settings",
    "start": "The daemon",
    "backup": "Backups and exports",
    "mcp": "For other programs",
}
BENCHES = {
    "hooks": (f"{_CLI}.bench:hooks", "What a hook costs beside a bare interpreter."),
    "writes": (f"{_CLI}.bench_writes:writes", "What a write costs beside a raw LMDB commit."),
    "load": (f"{_CLI}.bench_load:load", "What many sessions at once take, and whether anything is lost."),
    "staleness": (
        f"{_CLI}.bench_staleness:staleness",
        "How often notes are flagged on a real history, and how often rightly.",
    ),
    "evidence": (f"{_CLI}.bench_evidence:evidence", "How often what memd says of a claim's words is right."),
    "all": (f"{_CLI}.bench_all:all_", "All of them in one table, beside the last run."),
}

root = LazyGroup(
    "memd",
    lazy=COMMANDS,
    sections=SECTIONS,
    help="A memory for coding agents that can be trusted: claims with provenance, told at the moment that matters.",
)
click.version_option(__version__, prog_name="memd", message="%(prog)s %(version)s")(root)

bench = LazyGroup("bench", lazy=BENCHES, help="Measure memd on this machine.")


def run(argv: Sequence[str]) -> int:
    """Runs one command; its exit code."""
    words = list(argv)
    as_json = _wants_json(words)
    try:
        outcome = root.main(words, prog_name=screen.command_words(), standalone_mode=False)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else wire.EXIT_DONE
    except click.UsageError as wrong:
        return _failed(as_json, "usage", _usage(wrong), wire.EXIT_USAGE)
    except MemdError as error:
        return _failed(as_json, error.code, error.message, error.exit_code)
    except SigningError as error:
        return _failed(as_json, error.code, str(error), wire.EXIT_REFUSED)
    except (click.Abort, KeyboardInterrupt):
        screen.warn("memd: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more at its end
        return wire.EXIT_REFUSED
    except OSError as error:
        _let_go_of_stdout()
        where = f": {error.filename}" if error.filename else ""
        return _failed(as_json, "system", f"{error.strerror or error}{where}", wire.EXIT_REFUSED)


def unexpected(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
    """The process's last word (`sys.excepthook`): whatever is wrong in memd itself, a person gets a line and no traceback."""
    what = f"memd itself failed ({kind.__name__}: {fault}); `memd doctor` looks for a cause."
    _failed(_wants_json(sys.argv[1:]), "fault", what, wire.EXIT_REFUSED)


def _let_go_of_stdout() -> None:
    """What could not be written is not tried again: not before the line that says so, and not at the interpreter's end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _wants_json(words: list[str]) -> bool:
    return "--json" in words[: words.index("--") if "--" in words else None]


def _usage(wrong: click.UsageError) -> str:
    message = wrong.format_message()
    if isinstance(wrong, click.NoSuchOption) and wrong.ctx is not None and wrong.ctx.command.name == "remember":
        message += " Put `--` before a content that begins with a dash."
    path = wrong.ctx.command_path if wrong.ctx is not None else "memd"
    return f"{message} (`{path} --help`)"


def _failed(as_json: bool, code: str, message: str, exit_code: int) -> int:
    if as_json:
        screen.emit({"error": {"code": code, "message": message}})
    screen.warn(f"memd: {message}")
    return exit_code
