"""`memd status`: how everything is. It never starts a daemon, and "down" never looks like "no results".

The daemon's own share comes from its `status` verb; what stands in files (what is installed, the spool, whether the daemon was
stopped on purpose) is looked at here, so that a dead daemon is a line of the answer. Exit 0 either way.
"""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from memd_client import __version__
from memd_client.api import StatusReply
from memd_client.cli import kept, screen
from memd_client.cli.screen import Part
from memd_client.cli.shape import command
from memd_client.memd import Memd, Unreachable
from memd_client.reach import is_stopped

LABEL_COLUMNS = 10
SHOWN_SESSION_CHARS = 8
SHOWN_IDS = 10  # of what waits; then "and n others"
SHOWN_STATED = 5  # of rules that one step endorses: each is to be read first
STARTS = "the next session start or `memd start` starts it"
NO_GIT_HOOK = "this repository has no git hook of memd, so its commits go unrecorded: `memd install --harness git`"
SETTLE = "`memd show {ref}`, then sign the act, or `memd confirm {ref}` keeps it as it is"
RESOLVE = "`memd show REF` names the other, `memd resolve A B` settles it"
ENDORSE = "`memd promote {ref} --to human` endorses it, once you have read it"
LOOK = "`memd show REF` from outside an agent's session lets one go, `memd revoke REF` takes it back"
REVIEW = "look again, then `memd review REF`, or `memd revoke REF` for what no longer holds"


@command(short_help="How everything is.")
def status(as_json: bool) -> None:
    """How everything is: daemon, store, index, hooks, last delivery, spool, queue, sessions, and a fix for what is wrong."""
    told = gathered()
    if as_json:
        screen.emit(told)
        return
    for label, parts in _lines(told):
        style = "bold red" if label == "problem" else "dim"
        screen.say((f"{label:<{LABEL_COLUMNS}}", style), *parts, hang=LABEL_COLUMNS)


def gathered() -> dict[str, Any]:
    """The parts of the status as `--json` prints them, from the daemon where it answers, and from files."""
    with Memd(starts=False) as memd:
        try:
            reply = memd.status()
            told: dict[str, Any] = msgspec.to_builtins(reply)
            told["daemon"] = {"state": "running", **reply.daemon}
        except Unreachable as nobody:
            told = _without_daemon(memd.home, nobody)
        told["installed"] = installed(memd.home)
        told["kept"] = kept.kept(memd.home)
        told["problems"] += [{"what": fault.what, "fix": fault.fix} for fault in hook_faults(memd.home)]
    running = told["daemon"].get("version")
    if running not in (None, __version__):
        what = f"the daemon is memd {running}, this is {__version__}"
        told["problems"].append({"what": what, "fix": "`memd restart` starts the installed version"})
    return told


def _without_daemon(home: Path, nobody: Unreachable) -> dict[str, Any]:
    """The same parts while nobody answers: what the files say."""
    is_down = nobody.code in ("not-running", "gone")
    state = ("stopped" if is_stopped(home) else "not running") if is_down else "not answering"
    spooled = _spool(home)
    blank = StatusReply(
        daemon={"state": state, "pid": None, "version": None, "home": str(home)},
        store={},
        index={},
        hooks={},
        last_delivery=None,
        spool=spooled,
        queue={},
        sessions=[],
        people=[],
        problems=_refusal(home) if is_down else [{"what": nobody.message, "fix": "`memd restart`"}],
    )
    told: dict[str, Any] = msgspec.to_builtins(blank)
    return told


def _refusal(home: Path) -> list[dict[str, str]]:
    """Why the last daemon did not serve, in its own words."""
    from memd_client.spawn import refusal

    said = refusal(os.fsencode(home))
    fix = "do as it says, then `memd start`"
    return [] if said is None else [{"code": "daemon-refused", "what": f"memd does not start: {said}", "fix": fix}]


def _spool(home: Path) -> dict[str, Any]:
    try:
        sizes = [entry.stat().st_size for entry in os.scandir(home / "spool") if entry.name.endswith(".spool")]
    except OSError:  # no such folder: nothing was ever spooled
        sizes = []
    return {"waiting": len(sizes), "bytes": sum(sizes), "dropped": 0, "lost": 0}


def installed(home: Path) -> list[dict[str, str]]:
    """What `memd install` put where: harness, level, path."""
    from memd_hooks import registry

    try:
        known = registry.load(home)
    except (registry.RegistryDamaged, OSError):  # told as a fault beside it
        return []
    settings = [{"harness": r.harness, "level": r.level, "path": r.path} for r in known.settings]
    return settings + [{"harness": "git", "level": "project", "path": r.path} for r in known.git]


def hook_faults(home: Path) -> list[Any]:
    """What is wrong with the hooks (memd_hooks.faults), each with its fix."""
    from memd_hooks import faults, launcher, registry

    try:
        cwd = Path.cwd()
    except OSError:  # the directory is gone; the user's own settings can be looked at from anywhere
        cwd = Path("/")
    try:
        return list(faults.diagnose(faults.gather(home, cwd, os.environ)))
    except (registry.RegistryDamaged, launcher.UnspeakableHome, OSError) as error:
        return [faults.Fault("hooks-unknown", str(error), "run `memd install` again")]


def lacks_git_hook(home: Path) -> bool:
    """Whether a client has memd's hooks and the repository that one stands in has not: commits are noted per repository."""
    from memd_hooks import faults

    if not any(place["harness"] != "git" for place in installed(home)):
        return False
    try:
        return faults.lacks_git_hook(home, Path.cwd(), os.environ)
    except OSError:  # the directory is gone
        return False


# --- for a person


def _lines(told: dict[str, Any]) -> list[tuple[str, list[Part]]]:
    """What is wrong and what waits for a person stand first: the rest may be longer than a terminal is high."""
    lines: list[tuple[str, list[Part]]] = [("memd", _daemon(told["daemon"]))]
    lines += [("problem", _problem(problem)) for problem in told["problems"]]
    for waits in _queue(told["queue"]):
        lines.append(("queue", [(waits, "yellow")]))
    lines += [("key", _person(person)) for person in told["people"] if person.get("recent")]
    if told["store"]:
        lines += [("store", _store(told["store"])), ("index", _index(told["index"]))]
    lines += [("hooks", line) for line in _hooks(told)]
    if lacks_git_hook(Path(told["daemon"]["home"])):
        lines.append(("", [(screen.spoken(NO_GIT_HOOK), "yellow")]))
    if told["last_delivery"]:
        lines.append(("told last", _last(told["last_delivery"])))
    if any(told.get("holds", {}).values()):
        lines.append(("held", [_held(told["holds"])]))
    lines.append(("spool", [_spooled(told["spool"])]))
    lines += [("kept", line) for line in kept.lines(told["kept"], _bytes)]
    lines += [("setting", _setting(setting)) for setting in told["settings"].get("changed", [])]
    lines += [("policy", _policy(file)) for file in told.get("policy", []) if file["counts"]]
    lines += [("session", _session(session)) for session in told["sessions"]]
    lines += [("key", _person(person)) for person in told["people"] if not person.get("recent")]
    return lines


def _problem(problem: dict[str, str]) -> list[Part]:
    return [screen.spoken(problem["what"]), (f"  fix: {screen.spoken(problem['fix'])}", "dim")]


def _daemon(daemon: dict[str, Any]) -> list[Part]:
    if daemon["state"] == "running":
        since = _age(str(daemon.get("up_since", "")))
        told = f": pid {daemon['pid']}, version {daemon['version']}, {_bytes(daemon.get('memory_bytes', 0))}, started {since}"
        return [("running", "green"), told]
    if daemon["state"] == "stopped":
        return [("stopped on purpose", "yellow"), f": {screen.spoken(STARTS)}"]
    if daemon["state"] == "not running":
        return [("not running", "yellow"), f": {screen.spoken(STARTS)}"]
    return [("not answering", "bold red"), screen.spoken(": `memd restart` replaces it")]


def _store(store: dict[str, Any]) -> list[Part]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in store.get("by_kind", {}).items())
    classes = ", ".join(f"{count} {name}" for name, count in store.get("by_provenance", {}).items())
    told = screen.count(store.get("notes", 0), "note") + (f" ({kinds}; {classes})" if kinds else "")
    marks = ("revoked", "superseded", "absorbed", "stale", "quarantined")
    fallen = [f"{store[name]} {name}" for name in marks if store.get(name)]
    counts = [screen.count(store.get("events", 0), "event"), screen.count(store.get("turns", 0), "turn")]
    return [", ".join([told, *fallen, *counts, _bytes(store.get("bytes_on_disk", 0))])]


def _index(index: dict[str, Any]) -> list[Part]:
    if not index.get("ready"):
        return [("the model is loading; words alone answer until it is in", "yellow")]
    waiting = f", {index['waiting']} waiting" if index.get("waiting") else ""
    return [f"{index.get('model') or 'the model is in'}, {screen.count(index.get('vectors', 0), 'vector')}{waiting}"]


def _queue(queue: dict[str, Any]) -> list[str]:
    """What waits for a person, each with the notes and the words that settle it."""
    lines = []
    if proposals := queue.get("proposals"):
        ids = queue.get("proposed") or []
        what = f"{screen.count(proposals, 'proposal')} to change what you endorsed{_named(ids)}"
        lines.append(f"{what}: {screen.spoken(SETTLE.format(ref=ids[0] if len(ids) == 1 else 'REF'))}")
    if conflicts := queue.get("conflicts"):
        what = f"{screen.count(conflicts, 'note')} in an open conflict{_named(queue.get('in_conflict') or [])}"
        lines.append(f"{what}: {screen.spoken(RESOLVE)}")
    if review := queue.get("review"):
        what = f"{screen.count(review, 'note')} built on what was found wrong or replaced"
        lines.append(f"{what}{_named(queue.get('to_review') or [])}: {screen.spoken(REVIEW)}")
    if held := queue.get("held"):
        what = f"{screen.count(len(held), 'note')} of a burst, told to nobody unasked{_named(held)}"
        lines.append(f"{what}: {screen.spoken(LOOK)}")
    if stated := queue.get("stated"):
        what = (
            f"{screen.count(len(stated), 'rule')} in your own words, endorsed by nobody{_named(stated, SHOWN_STATED)}"
        )
        ref = stated[0] if len(stated) == 1 else "REF"
        lines.append(f"{what}: {screen.spoken(ENDORSE.format(ref=ref))}")
    return lines


def _named(ids: list[int], most: int = SHOWN_IDS) -> str:
    more = len(ids) - most
    named = " ".join(f"[{id_}]" for id_ in ids[:most])
    return (f": {named}" if named else "") + (f" and {screen.count(more, 'other')}" if more > 0 else "")


def _hooks(told: dict[str, Any]) -> list[list[Part]]:
    harnesses = sorted({place["harness"] for place in told["installed"]})
    lines: list[list[Part]] = [[("installed for " + ", ".join(harnesses), "green")] if harnesses else ["not installed"]]
    for name, seen in told["hooks"].items():
        failures = seen.get("failures", 0)
        lines.append(
            [
                f"{name}: used or tested {_age(seen.get('last', ''))}, p50 {_ms(seen, 'p50_us')}, p99 {_ms(seen, 'p99_us')} ms",
                (f", {failures} failed", "bold red") if failures else "",
            ]
        )
    return lines


def _ms(seen: dict[str, Any], name: str) -> str:
    return f"{seen.get(name, 0) / 1_000:.1f}"


def _last(last: dict[str, Any]) -> list[Part]:
    own = [word for word in ("notices", "policy") if last.get(word)]
    notes = " ".join([*own, *(f"[{note['id']}]" for note in last["notes"])])
    session = last["session"][:SHOWN_SESSION_CHARS]
    tokens = screen.count(last["tokens"], "token")
    return [f"{_age(last['at'])} at {last['trigger']}, session {session}: {notes} ({tokens}, {last['state']})"]


def _setting(setting: dict[str, Any]) -> list[Part]:
    """A setting that is not its default, and who stands behind it."""
    value = setting["value"]
    words = " ".join(value) if isinstance(value, list) else str(value)
    if setting.get("policy"):
        return [f"{setting['key']} {words}", (f"  policy {setting['policy']}", "green")]
    signed = ("  signed", "green") if setting["signed"] else ("  not signed", "yellow")
    return [f"{setting['key']} {words}", (f"  since {str(setting['at'])[:10]}", "dim"), signed]


def _policy(file: dict[str, Any]) -> list[Part]:
    """A policy file that counts; one that does not is a problem."""
    rules, locks = screen.count(len(file["directives"]), "rule"), screen.count(len(file["settings"]), "locked setting")
    behind = "signed" if file["behind"] == "signature" else "out of this user's reach"
    return [f"{file['path']}: {rules}, {locks}", (f"  {behind}", "green")]


def _held(holds: dict[str, int]) -> str:
    """Edits that were held back once, and what came of them."""
    came = ", ".join(f"{count} {outcome}" for outcome, count in holds.items() if count)
    return f"{screen.count(sum(holds.values()), 'edit')} once: {came}"


def _spooled(spool: dict[str, Any]) -> Part:
    if not spool.get("waiting"):
        return "empty"
    return (f"{spool['waiting']} waiting ({_bytes(spool['bytes'])}): taken in at the next start or prompt", "yellow")


def _session(session: dict[str, Any]) -> list[Part]:
    agent = f"/{session['agent'][:SHOWN_SESSION_CHARS]}" if session.get("agent") else ""
    name = f"{session.get('harness', '')} {str(session['session'])[:SHOWN_SESSION_CHARS]}{agent}"
    return [f"{name}: {screen.count(session.get('turns', 0), 'turn')}, last {_age(session.get('last', ''))}"]


def _person(person: dict[str, Any]) -> list[Part]:
    at = f"{_minute(person.get('at'))} at {screen.safe_line(person.get('terminal') or '') or 'an unknown terminal'}"
    told: list[Part] = [person["fingerprint"], (f"  enrolled {at}", "yellow" if person.get("recent") else "dim")]
    if person.get("rejected"):
        return [*told, (f", rejected {_minute(person['rejected'])}", "yellow")]
    if person.get("recent"):
        begins = person["fingerprint"].partition(" ")[0]
        told.append(screen.spoken(f"; not yours? `memd human reject {begins}`, with your recovery code"))
    return told


def _minute(at: Any) -> str:
    return str(at or "")[:16].replace("T", " ")


def age_s(at: str) -> int:
    """Seconds since a time of the API; 0 for none."""
    if not at:
        return 0
    return max(0, int(time.time() - datetime.strptime(at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()))


def _age(at: str) -> str:
    """How long ago, in its largest unit; `never` for no time."""
    if not at:
        return "never"
    seconds = age_s(at)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


def _bytes(count: int) -> str:
    if count < 1_000_000:
        return f"{count / 1_000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"
