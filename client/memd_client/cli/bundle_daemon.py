"""Of a report: the daemon's own numbers, what `memd doctor` finds, how long things take, what `memd verify` says."""

import statistics
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memd_client.cli import doctor, screen
from memd_client.cli.bundle_clean import GONE, version
from memd_client.cli.bundle_scene import TROUBLE, Scene, Section, failed, tried
from memd_client.memd import Memd
from memd_hooks.events import Moment
from memd_hooks.harness import BY_NAME

if TYPE_CHECKING:
    from memd_hooks.firing import Fired

STATES = ("running", "stopped", "not running", "not answering")
KINDS = ("directive", "task", "gotcha", "finding", "decision")
CLASSES = ("human", "agent", "auto")
COUNTS = (
    "notes", "events", "commits", "turns", "bytes_on_disk", "revoked", "superseded", "absorbed", "stale", "quarantined",
)  # fmt: skip
WAITING = ("proposals", "conflicts", "review", "proposed", "in_conflict", "to_review", "stated", "held")
OUTCOMES = ("open", "repeated", "changed", "abandoned")
TOOK = ("sampled", "p50_us", "p99_us", "failures")
STATES_OF_DELIVERY = ("offered", "delivered", "asked")
TRIGGERS = (
    *(str(moment) for moment in Moment),
    "recall",
    "show",
    "trace",
    "decisions",
    "list",
    "stale",
    "remember",
    "revise",
)
# Settings whose values are numbers or words of memd's own; of the others only that they are set.
PLAIN_SETTINGS = (
    *("budget.session_start", "budget.prompt", "budget.edit", "budget.subagent", "gate.cosine", "gate.idf_share"),
    *("hold", "idle_exit_hours", "retention.turns_days"),
)
OTHER_SETTINGS = ("pause", "ignore", "only")
SETTING_WORDS = ("on", "off", "interactive")
PINGS = 5
BLANK: Mapping[str, Any] = {
    "daemon": {"state": "not asked", "version": None},
    "index": {},
    "spool": {},
    "installed": [],
    "policy": [],
    "problems": [],
}


def daemon(scene: Scene) -> Section:
    """`memd status` without a word that anybody wrote: states, counts, sizes."""
    told = scene.status
    if told is None:
        return {"state": scene.trouble}
    state, index = told["daemon"], told["index"]
    last = told["last_delivery"]
    return {
        "state": _one_of(state.get("state"), STATES),
        "version": version(state["version"]) if state.get("version") else "none",
        "up since": scene.clean.at(state.get("up_since")) if state.get("up_since") else "",
        "memory bytes": _number(state.get("memory_bytes")),
        "looks through its store": state.get("looking") is True,
        "store": _numbers(told["store"], COUNTS),
        "notes by kind": _numbers(told["store"].get("by_kind", {}), KINDS),
        "notes by class": _numbers(told["store"].get("by_provenance", {}), CLASSES),
        "index": {"ready": index.get("ready") is True, **_numbers(index, ("vectors", "waiting"))},
        "hooks": {name: _hook(scene, seen) for name, seen in told["hooks"].items() if _is_hook(name)},
        "last delivery": {
            "at": scene.clean.at(last["at"]),
            "trigger": _one_of(last["trigger"], TRIGGERS),
            "state": _one_of(last["state"], STATES_OF_DELIVERY),
            "notes": len(last["notes"]),
            "tokens": _number(last["tokens"]),
        }
        if last
        else "none",
        "spool": _numbers(told["spool"], ("waiting", "bytes", "dropped", "lost")),
        "queue": _numbers(told["queue"], WAITING),
        "held edits": _numbers(told.get("holds", {}), OUTCOMES),
        "live sessions": [_session(one) for one in told["sessions"]],
        "keys": {
            "enrolled": len(told["people"]),
            "rejected": sum(bool(person.get("rejected")) for person in told["people"]),
        },
        "problems": [
            {"what": scene.clean.line(one["what"]), "fix": scene.clean.line(one["fix"])} for one in told["problems"]
        ],
    }


def _session(one: Mapping[str, Any]) -> Section:
    return {
        "client": _one_of(one.get("harness"), BY_NAME),
        "is a subagent": bool(one.get("agent")),
        **_numbers(one, ("epoch", "turns")),
    }


def _hook(scene: Scene, seen: Mapping[str, Any]) -> Section:
    return {"last": scene.clean.at(seen.get("last")), **_numbers(seen, TOOK)}


def _is_hook(name: str) -> bool:
    harness, _, event = name.partition(" ")
    return harness in (*BY_NAME, "unknown") and event in (*(str(moment) for moment in Moment), "unknown")


def _one_of(value: object, known: Iterable[str]) -> str:
    return value if isinstance(value, str) and value in known else GONE


def _number(value: object) -> int | float | str:
    return value if isinstance(value, int | float) else GONE


def _numbers(told: Mapping[str, Any], names: Iterable[str]) -> Section:
    """Of these the numbers, and of lists their lengths."""
    found = {name: told[name] for name in names if name in told}
    return {name: len(value) if isinstance(value, list) else _number(value) for name, value in found.items()}


def settings(scene: Scene) -> Section:
    """Those that are not their defaults. Values only of keys that hold no text of a user's."""
    told = scene.status
    if told is None or not scene.is_running:
        return {"changed": "not known: settings are in the store, and no daemon answers"}
    return {"changed": [_setting(one) for one in told["settings"].get("changed", ())], "policy files": _policies(told)}


def _setting(one: Mapping[str, Any]) -> Section:
    key, value = one.get("key"), one.get("value")
    plain = value if isinstance(value, int | float) or value in SETTING_WORDS else GONE
    return {
        "key": _one_of(key, (*PLAIN_SETTINGS, *OTHER_SETTINGS)),
        "value": plain if key in PLAIN_SETTINGS else f"set, {len(value)}" if isinstance(value, list) else "set",
        "signed": one.get("signed") is True,
        "by a policy": bool(one.get("policy")),
    }


def _policies(told: Mapping[str, Any]) -> Section:
    files = told.get("policy", [])
    return {
        "there": len(files),
        "counting": sum(one["counts"] is True for one in files),
        "rules": sum(len(one["directives"]) for one in files),
        "locked settings": sum(len(one["settings"]) for one in files),
    }


def faults(scene: Scene) -> Section:
    """What `memd doctor` says, each check by itself; hooks are fired once, for `timings`."""
    if scene.home is None or not scene.is_yours:
        return {"not looked": f"the home is of {scene.owner}"}
    seen = doctor.Seen(scene.home, {**BLANK, **(scene.status or {})})
    found: list[Section] = []
    for check in doctor.LOOKS:
        try:
            found += [_fault(scene, fault) for fault in check(seen)]
        except TROUBLE as error:
            found.append({"code": "check-failed", "what": f"{check.__name__.strip('_')}: {failed(error)}"})
    return {"found": found}


def _fault(scene: Scene, fault: doctor.Fault) -> Section:
    line = scene.clean.line
    return {"code": scene.clean.word(fault.code), "what": line(fault.what), "fix": line(fault.fix)}


def timings(scene: Scene) -> Section:
    """Of pings, and of each registered hook, fired once through the line in the settings, marked as a probe."""
    if not scene.is_running or scene.home is None or scene.status is None:
        return {"not measured": "no daemon answers, so no hook was fired"}
    harnesses = sorted({place["harness"] for place in scene.status["installed"]})
    with Memd(scene.home, starts=False) as memd:
        return {
            "ping ms": tried(_pings, memd),
            "status ms": tried(_took_ms, memd.status),
            "hooks": tried(_fired, scene, memd, harnesses) if harnesses else "none is registered",
        }


def _took_ms(ask: Any) -> float:
    began = time.perf_counter()
    ask()
    return round((time.perf_counter() - began) * 1_000, 2)


def _pings(memd: Memd) -> Section:
    took = [_took_ms(memd.ping) for _ in range(PINGS)]
    return {"first": took[0], "median": statistics.median(took), "longest": max(took)}


def _fired(scene: Scene, memd: Memd, harnesses: list[str]) -> list[Section]:
    from memd_client.cli.setup import fire_all

    fired = fire_all(memd, harnesses, scene.cwd)
    took = memd.fired().took_us
    return [_shot(scene, harness, one, took) for harness, one in fired]


def _shot(scene: Scene, harness: str, one: "Fired", took: Mapping[str, int]) -> Section:
    return {
        "hook": f"{harness} {one.event}",
        "works": one.ok,
        "ms": one.ms,
        "in the daemon us": took.get(f"{harness} {one.event}", 0),
        "detail": scene.clean.line(one.detail),
    }


def verified(scene: Scene) -> Section:
    """What `memd verify` says, where it was asked for."""
    if not scene.verifies:
        return {"not asked": "`memd doctor --bundle --verify` reads the whole store"}
    if not scene.is_running:
        return {"not done": "no daemon answers"}
    with screen.working("reading everything"), Memd(scene.home, starts=False) as memd:
        reply = memd.verify()
    line = scene.clean.line
    return {
        "events": reply.events,
        "commits": reply.commits,
        "seconds": round(reply.seconds, 1),
        "faults": [
            {"where": line(fault.where), "what": line(fault.what), "commit": fault.commit, "notes": len(fault.notes)}
            for fault in reply.faults
        ],
    }
