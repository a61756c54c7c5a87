"""Run the installed command lines as the client would, once each, and say what came of it: installed is not working.

Each line goes through ``/bin/sh -c`` with a sample payload on stdin and ``MEMD_PROBE=1``, which the hook passes on as the probe
flag: the daemon answers as always and records nothing but that the hook fired. A hook that reached nobody answers nothing, and
so does one that reached a daemon with nothing to say: only the daemon's own record tells them apart, so the caller supplies a
look at it.
"""

import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from memd_hooks.events import Moment
from memd_hooks.harness import claude, git
from memd_hooks.launcher import hook_command

Seen = Callable[[str, str], bool]
"""(harness, event) -> whether the daemon has just recorded that this hook fired."""

_GIT_PATIENCE_S = 5


class Fired(msgspec.Struct, frozen=True):
    """One hook, fired: the memd event, whether it works, the whole process in milliseconds, and what is wrong or was answered."""

    event: str
    ok: bool
    ms: float
    detail: str


def fire(home: Path, harness: str, cwd: Path, environ: Mapping[str, str], seen: Seen | None = None) -> list[Fired]:
    """Fires every line of ``harness`` (``claude``, ``git``) with ``cwd`` as the session's directory; raises nothing."""
    if harness == git.NAME:
        return [_fired(home, git.NAME, Moment.GIT_COMMIT, b"", _GIT_PATIENCE_S, cwd, environ, seen)]
    lines = {r.event: r.timeout_s for r in claude.REGISTRATIONS}
    return [
        _fired(home, claude.NAME, event, claude.sample(event, str(cwd)), timeout_s, cwd, environ, seen)
        for event, timeout_s in lines.items()
    ]


def probe_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` as a client would hand it on, marked as a probe, without what silences memd or speaks of another client."""
    unwanted = {"MEMD_OFF", *claude.FOREIGN_ENVIRONMENT}
    kept = {name: value for name, value in environ.items() if name not in unwanted and not name.startswith("GIT_")}
    return {**kept, "MEMD_PROBE": "1"}


def _fired(
    home: Path,
    harness: str,
    moment: Moment,
    stdin: bytes,
    patience_s: int,
    cwd: Path,
    environ: Mapping[str, str],
    seen: Seen | None,
) -> Fired:
    line = hook_command(home, moment, harness)
    begin = time.monotonic()
    try:
        run = subprocess.run(
            ["/bin/sh", "-c", line],
            input=stdin,
            cwd=cwd,
            env=probe_environment(environ),
            capture_output=True,
            timeout=patience_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Fired(moment, False, _ms_since(begin), str(error))
    took = _ms_since(begin)
    fault = _fault(moment, harness, run, seen)
    return Fired(moment, not fault, took, fault or ("answered" if run.stdout else "answered, nothing to say"))


def _fault(moment: Moment, harness: str, run: "subprocess.CompletedProcess[bytes]", seen: Seen | None) -> str:
    if run.returncode != 0:
        return f"exit status {run.returncode}; a hook must end with 0"
    if run.stderr:
        return "it wrote to stderr"
    is_right = claude.is_answer(moment, run.stdout) if harness == claude.NAME else not run.stdout
    if not is_right:
        return "its answer is not one that the client takes"
    if seen is not None and not seen(harness, moment):
        return "the daemon did not see it"
    return ""


def _ms_since(begin: float) -> float:
    return round((time.monotonic() - begin) * 1_000, 1)
