"""The states in which a report is made: ``reports(life)`` gives each state's.

One home goes through all of it: a daemon that runs, with real sessions and real failures behind it; one that was stopped, with its
files edited; another's daemon in its place; a damaged store. Beside it stands a memd that is installed under a private name.
"""

import importlib.util
import json
import os
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

import memd_client
from memd_client import wire
from memd_client.reach import Reach
from tests.cli.guard_lived import fail, hook, live, plant
from tests.cli.guard_planted import Life, write
from tests.cli.guard_rows import ROWS
from tests.cli.runs import line, run_of
from tests.cli.world import PROGRAM, Ran
from tests.client.peers import announce, router

LONG_AGO: Final = "2026-01-01T00:00:00Z"
BASE_PYTHON: Final = Path(sys.executable).resolve()
SITE: Final = """
import os, sys
real = os.uname()
os.uname = lambda: os.uname_result((real.sysname, real.nodename, {release!r}, real.version, real.machine))
sys.version = sys.version.replace(sys.version.partition("(")[2].partition(",")[0], {build!r}, 1)
"""


class Kept:
    """Reports by the state they were made in; one that was not made fails."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def keep(self, state: str, make: Callable[[], Ran]) -> None:
        """The report on stdout. What the command says beside it is no part of it."""
        began = time.monotonic()
        ran = make()
        self.seconds[state] = time.monotonic() - began
        assert ran.code == 0, f"{state}: {ran.err}"
        self.texts[state] = ran.out.decode()


def reports(life: Life) -> Kept:
    """All of them; what they are made of is ended and removed by whoever made ``life``."""
    kept = Kept()
    plant(life)
    live(life)
    fail(life)
    _while_it_runs(life, kept)
    assert life.memd("stop", CLAUDE_CODE_SESSION_ID=life.private("stopped")).code == 0
    _with_edited_files(life, kept)
    _with_another_daemon(life, kept)
    _with_a_damaged_store(life, kept)
    _installed_elsewhere(life, kept)
    _without_a_home(life, kept)
    return kept


# --- the reports


def _while_it_runs(life: Life, kept: Kept) -> None:
    """From the repository, in a folder of a private name; then from places of short names, and with git failing."""
    folder = life.user_home / life.private("report.folder")
    folder.mkdir()

    def into_folder() -> Ran:
        ran = life.called(
            "doctor", "--bundle", str(folder), "--verify", "--json", above=life.caller(), environ=life.callers()
        )
        (made,) = folder.iterdir()
        return Ran(ran.code, made.read_bytes(), ran.err)

    kept.keep("running", into_folder)
    short = life.folder / life.private("repo.short")
    kept.keep("running, short names", lambda: life.called("doctor", "--bundle", "-", cwd=short))
    words = life.folder / life.private("repo.vocabulary")
    told = f"#!/bin/sh\necho '{life.private('git.error')}'\necho '{life.private('git.error')}' >&2\nexit 128\n"
    git = write(life.folder / "failing/git", told)
    git.chmod(0o755)
    broken = {"PATH": f"{git.parent}:{life.environ['PATH']}"}
    kept.keep("running, git fails", lambda: life.called("doctor", "--bundle", "-", cwd=words, environ=broken))


def _with_edited_files(life: Life, kept: Kept) -> None:
    """No daemon; prompts wait in the spool, and every file that the report may read was edited."""
    _spool(life)
    _log(life)
    _bench(life)
    restore = [_registry(life)]
    write(life.home / "run/stopped", json.dumps({"at": LONG_AGO, "session": life.private("stopped")}))
    write(life.home / "run/unreachable-until", life.private("breaker"))
    write(life.home / "run/starting", life.private("breaker"))
    write(life.home / "run/refused", life.private("peer.message"))
    status = {"pid": 1, "protocol": life.private("address.protocol"), "version": life.private("status.json")}
    write(life.home / "run/status.json", json.dumps({**status, "socket": life.private("address.socket")}))
    write(life.home / "run/address", f"{life.private('address.protocol')} 1 1 {life.private('address.socket')}\n")
    write(life.home / "status.json", life.private("status.json"))
    settings = life.config / "settings.json"
    text = settings.read_bytes()
    restore.append(lambda: settings.write_bytes(text))
    settings.write_text(life.private("broken.json"))
    kept.keep("stopped, edited", lambda: life.called("doctor", "--bundle", "-", "--verify"))
    for undo in restore:
        undo()


def _spool(life: Life) -> None:
    """Prompts that the real hook wrote aside, and one of another place."""
    session = life.private("spool.session")
    hook(life, "prompt-submit", session, "UserPromptSubmit", prompt=life.private("spool.prompt"), prompt_id="p9")
    waiting = list((life.home / "spool").glob("[0-9]*.spool"))
    assert waiting, "the hook kept nothing"
    cwd, stdin = life.private("spool.cwd").encode(), life.private("spool.prompt").encode()
    call = wire.Hook(os.urandom(16), 0, 0, "claude", "prompt-submit", cwd, b"", stdin)
    name = os.fsdecode(wire.spool_name(call.request_id, time.time_ns()))
    write(life.home / "spool" / name, wire.encode_spool(wire.Spooled(call, time.time_ns())))
    write(life.home / "spool" / life.private("spool.name"), life.private("spool.wrong"))
    write(life.home / "spool" / life.private("spool.half"), life.private("spool.wrong"))


def _log(life: Life) -> None:
    """Lines in the log's form, with private words in every field and every spelling; and lines that are none."""
    says = [life.private(row.name) for row in ROWS if row.place == "log"]
    rows: list[dict[str, Any]] = [
        {"at": LONG_AGO, "level": "error", "from": "memd.server", "say": f"{said}{tail}"}
        for said in says
        for tail in ("", ": it could not be read", f"\nand {said}")
    ]
    plain = {"at": LONG_AGO, "level": "error", "from": "memd.server", "say": "stopping"}
    rows += [
        {**plain, "level": life.private("log.level")},
        {**plain, "from": life.private("log.from")},
        {**plain, "at": life.private("log.at")},
        {**plain, "trace": life.private("log.trace")},
        {**plain, "trace": f"OSError at {life.private('log.path')}:7 open"},
        {**plain, life.private("log.key"): life.private("log.key")},
        {**plain, "say": {life.private("log.nested"): [life.private("log.nested")]}},
    ]
    text = "".join(json.dumps(row, ensure_ascii=index % 2 == 0) + "\n" for index, row in enumerate(rows))
    with (life.home / "logs/daemon.log").open("a") as log:
        log.write(text + life.private("log.plain") + "\n")
    write(life.home / "logs/daemon.log.1", text)
    write(life.home / "logs/fault", f"{life.private('fault')}\n\nThread 1:\n{life.private('fault.file')}\n")


def _bench(life: Life) -> None:
    """What the last bench left, edited by hand."""
    row = line(
        life.private("bench.row"),
        1.0,
        says=life.private("bench.says"),
        why=life.private("bench.why"),
        unit=life.private("bench.unit"),
        verdict=life.private("bench.verdict"),
        changed=life.private("bench.changed"),
    )
    known = line("hooks/prompt-submit", 2.0, why=life.private("bench.why"), unit=life.private("bench.unit"))
    run: dict[str, Any] = msgspec.to_builtins(run_of(row, known))
    run["machine"].update(
        at=life.private("bench.at"),
        cpu=life.private("bench.cpu"),
        system=life.private("bench.system"),
        python=life.private("bench.python"),
        memd=life.private("bench.memd"),
        file_system=life.private("bench.unit"),
    )
    run["parameters"]["history"] = life.private("bench.history")
    run["compared"].update(file=life.private("bench.file"), why=life.private("bench.why"), at=life.private("bench.at"))
    run["missed"] = [life.private("bench.row")]
    for name in ("last", "quick"):
        write(life.home / f"bench/{name}.json", json.dumps(run, ensure_ascii=False))


def _registry(life: Life) -> Callable[[], object]:
    """What was installed where, with a client that nobody knows; what undoes it."""
    file = life.home / "install.json"
    text = file.read_bytes()
    known = json.loads(text)
    (settings, *_), path = known["settings"], life.private("registry.path")
    strange = {"harness": life.private("registry.harness"), "level": life.private("registry.level"), "path": path}
    known["settings"].append({**settings, **strange})
    link_ = life.user_home / ".local/bin" / life.private("install.link")
    known["links"] = [*known.get("links", []), {"path": str(link_), "target": path, "folders": []}]
    file.write_text(json.dumps(known))
    launcher = life.home / "bin/memd-daemon"
    started = launcher.read_text()
    write(launcher, f"#!/bin/sh\n# memd 0.1.0\nexec {life.private('launcher.python')} -I -m memd_daemon\n").chmod(0o755)

    def undo() -> None:
        file.write_bytes(text)
        launcher.write_text(started)

    return undo


# --- another's daemon


def _answers(life: Life) -> dict[str, Any]:
    """The status that a daemon of another version might give."""
    value, number, phrase = life.private("peer.value"), life.private("peer.number"), life.private("peer.phrase")
    version, when, key = life.private("peer.version"), life.private("peer.time"), life.private("peer.key")
    problem = {"code": life.private("peer.problem.code"), "what": life.private("peer.problem"), "fix": phrase}
    policy = {"path": life.private("peer.policy"), "counts": False, "why": phrase, "detail": value, "lost": when}
    session = {"session": life.private("peer.session"), "agent": value, "harness": value, "epoch": number, "last": when}
    return {
        "daemon": {
            "pid": os.getpid(),
            "version": version,
            "up_since": when,
            "memory_bytes": number,
            "home": value,
            key: value,
        },
        "store": {
            "notes": number,
            "by_kind": {life.private("peer.kind"): 7},
            "by_provenance": {key: 1},
            "turns": [value],
        },
        "index": {"model": life.private("peer.model"), "ready": value, "vectors": number, "waiting": number},
        "hooks": {life.private("peer.hook"): {"count": number, "last": when, key: 3}},
        "last_delivery": {"at": when, "trigger": value, "notes": [{"id": number}], "outcome": phrase},
        "spool": {"waiting": number, "bytes": 7, "dropped": key},
        "queue": {key: [1, 2], "proposals": value},
        "sessions": [session],
        "people": [{"fingerprint": value, "at": when, "terminal": value, "recent": True, "rejected": ""}],
        "problems": [problem, {"what": phrase, "fix": life.private("peer.fix")}],
        "settings": {"changed": [{"key": life.private("peer.setting"), "value": value, "signed": key}]},
        "policy": [{**policy, "fix": life.private("peer.fix"), key: value}],
        "holds": {key: 4},
    }


def _with_another_daemon(life: Life, kept: Kept) -> None:
    """One that answers, with private words in every place; one that refuses; one of another protocol."""
    version, protocol = life.private("peer.version").encode(), life.private("peer.protocol").encode()
    pong = {"pid": 1, "version": version.decode(), "home": life.private("peer.home"), "ready": True}
    fault = {
        "where": life.private("peer.where"),
        "what": life.private("peer.fault"),
        "remedy": life.private("peer.remedy"),
    }
    place = {"origin": life.private("peer.where"), "commit": 1, "event": life.private("peer.fault"), "notes": [1]}
    bodies: dict[bytes, Any] = {
        b"ping": {**pong, "store": life.private("peer.store")},
        b"status": _answers(life),
        b"verify": {"events": 1, "commits": 1, "seconds": 0.1, "faults": [{**fault, **place}]},
        b"fired": {"fired": {life.private("peer.hook"): 1}, "took_us": {life.private("peer.hook"): 7}},
    }
    error = msgspec.msgpack.encode({"code": life.private("peer.code"), "message": life.private("peer.message")})
    stdout = json.dumps({"hookSpecificOutput": {"additionalContext": life.private("peer.stdout")}}).encode()

    def open_(frames: list[bytes]) -> list[bytes]:
        body = msgspec.msgpack.encode(bodies.get(frames[2], {}))
        own = memd_client.__version__.encode()
        return wire.hook_reply(own, stdout) if frames[2] == wire.HOOK else wire.reply(own, wire.DONE, body)

    def other(frames: list[bytes]) -> list[bytes]:
        return [b"", wire.PROTOCOL, version, *open_(frames)[3:]]

    def refusing(frames: list[bytes]) -> list[bytes]:
        return wire.reply(version, wire.FAULT if frames[2] == b"status" else wire.REFUSED, error)

    def strange(frames: list[bytes]) -> list[bytes]:
        return [b"", protocol, version, b"\0", error]

    for name, answer in (("open", open_), ("other version", other), ("refusing", refusing), ("strange", strange)):
        place_ = life.home / "run/memd.sock"
        place_.unlink(missing_ok=True)
        with router(place_, answer):
            announce(life.home, place_)
            kept.keep(f"another daemon, {name}", lambda: life.called("doctor", "--bundle", "-", "--verify"))
    for left in ("address", "memd.sock", "status.json", "stopped", "refused", "starting", "unreachable-until"):
        (life.home / "run" / left).unlink(missing_ok=True)


# --- damage


def _with_a_damaged_store(life: Life, kept: Kept) -> None:
    """A text that its digest does not name, a ledger of garbage; then a store that is no store, and a registry that is none."""
    log, ledger = life.home / "store/log/data.mdb", life.home / "store/ledger/data.mdb"
    held, content = log.read_bytes(), life.private("note.directive").encode()
    damage = life.private("damage.text").encode().ljust(len(content))[: len(content)]
    assert content in held
    log.write_bytes(held.replace(content, damage))
    ledger.write_bytes(life.private("damage.ledger").encode() * 700)
    started = life.memd("start")
    kept.keep("damaged text", lambda: life.called("doctor", "--bundle", "-", "--verify"))
    assert started.code == 0, started.err
    Reach(life.home, starts=False).end()
    log.write_bytes(life.private("damage.file").encode() * 500 + life.private("damage.meta").encode() * 500)
    write(life.home / "install.json", f'{{"version": "{life.private("registry.level")}"}}')
    life.memd("start")
    kept.keep("no store", lambda: life.called("doctor", "--bundle", "-", "--verify"))
    Reach(life.home, starts=False).end()


# --- other places


def _installed_elsewhere(life: Life, kept: Kept) -> None:
    """memd, copied under a private name, in an environment of such a name, in a home of figures and memd's own words."""
    packages = life.user_home / life.private("install.folder")
    for package in ("memd_client", "memd_hooks", "memd_daemon"):
        found = importlib.util.find_spec(package)
        assert found is not None
        assert found.origin is not None
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(found.origin).parent, packages / package, ignore=ignored)
    version = life.private("install.version")
    first = packages / "memd_client/__init__.py"
    first.write_text(first.read_text().replace(f'"{memd_client.__version__}"', f'"{version}"'))
    environment = life.user_home / life.private("python.folder")
    site = environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    write(environment / "pyvenv.cfg", f"home = {BASE_PYTHON.parent}\nversion = 3\n")
    python = environment / "bin/python3"
    python.parent.mkdir()
    python.symlink_to(BASE_PYTHON)
    write(site / "paths.pth", f"{packages}\n{sysconfig.get_path('purelib')}\n")
    release, build = life.private("kernel.release"), life.private("python.build")
    write(site / "sitecustomize.py", SITE.format(release=release, build=build))
    figures = life.folder / life.private("home.figures")
    home = figures / life.private("home.vocabulary")
    home.mkdir(parents=True)
    led = life.folder / life.private("home.link")
    led.symlink_to(figures)
    named = {**life.environ, "MEMD_HOME": str(led / home.name)}
    memd = [str(python), "-I", "-c", PROGRAM]
    life.others.append(home)
    started = life.ran([*memd, "start"], None, named)
    kept.keep("installed elsewhere", lambda: life.ran([*memd, "doctor", "--bundle", "-"], None, named))
    assert started.code == 0, started.err
    Reach(home, starts=False).end()


def _without_a_home(life: Life, kept: Kept) -> None:
    """A home that is no absolute path, one that is a file, one that leads in a circle, and another user's."""
    file = write(life.folder / life.private("stray.home"), "x")
    circle = life.folder / life.private("link.name")
    circle.symlink_to(circle)
    homes = {"relative": life.private("home.name"), "file": str(file), "circle": str(circle / "memd")}
    for name, home in homes.items():
        kept.keep(f"home: {name}", partial(life.called, "doctor", "--bundle", "-", environ={"MEMD_HOME": home}))
    if os.geteuid() == 0:
        os.chown(life.home, 54_321, 54_321)
        kept.keep("home: another's", lambda: life.called("doctor", "--bundle", "-"))
        os.chown(life.home, 0, 0)
