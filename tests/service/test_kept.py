"""Whatever has happened, a daemon answers as one would that knows nothing from before: what it keeps changes no answer."""

import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.ground.checkouts import Checkouts
from memd_daemon.service import watch
from memd_daemon.service.decisions import Decisions
from memd_daemon.service.footing import Footings
from memd_daemon.service.known import KnownViews
from memd_daemon.service.standing import KnownSettings
from memd_daemon.store import keys
from memd_daemon.store.remembered import Remembered
from tests.service.desk import Desk, desk_at, git
from tests.service.test_settings import change

LONG_AGO_NS = 1_700_000_000 * 10**9
FILES = ("app.py", "lib/a.py")
LINES = "".join(f"VALUE_{n} = {n}\n" for n in range(30))  # large enough to be followed where it goes
CONTENTS = (LINES, LINES.replace("VALUE_1 = 1\n", "VALUE_1 = 2\n"), LINES + "# the end\n")
ANCHORS = (*FILES, "app.py::VALUE_1=1", "lib/a.py#L2-L4", "lib", "app.py")


@contextlib.contextmanager
def knowing_nothing(desk: Desk) -> Iterator[None]:
    """Everything that is kept between answers is put away meanwhile, save where files were seen: no disk says that."""
    parts, teller = desk.daemon.parts, desk.daemon._deliverer
    anew = KnownSettings()
    anew.hold_fast(parts.known_settings._locks)
    kept: list[tuple[Any, str, Any]] = [
        (parts, "views", KnownViews()),
        (parts, "known_settings", anew),
        (parts, "places", {}),
        (parts, "checkouts", Checkouts()),
        (parts.ground, "_known", {}),
        (parts.ledger, "_remembered", Remembered()),
        (teller._weighing, "decisions", Decisions()),
        (teller, "_footings", Footings()),
    ]
    before = [getattr(whose, name) for whose, name, _ in kept]
    for whose, name, value in kept:
        object.__setattr__(whose, name, value)
    try:
        yield
    finally:
        for (whose, name, _), value in zip(kept, before, strict=True):
            object.__setattr__(whose, name, value)


def probes(desk: Desk) -> Iterator[Callable[[], str]]:
    """Questions of which nothing is recorded."""
    for path, session, agent in itertools.product(FILES, ("s1", "s2"), ({}, {"agent_id": "a1", "agent_type": "x"})):
        yield partial(desk.hook, "pre-edit", edit_payload(desk, path, session, "p1", **agent), probe=True)
    yield partial(desk.hook, "session-start", desk.payload("SessionStart", "s9", source="startup"), probe=True)
    sub = desk.payload("SubagentStart", "s1", agent_id="a2", agent_type="general-purpose", prompt_id="p1")
    yield partial(desk.hook, "subagent-start", sub, probe=True)


def edit_payload(desk: Desk, path: str, session: str, prompt_id: str, **more: Any) -> dict[str, Any]:
    return desk.payload(
        "PreToolUse",
        session,
        prompt_id=prompt_id,
        tool_name="Edit",
        tool_input={"file_path": str(desk.repo / path), "old_string": "a", "new_string": "b"},
        tool_use_id=f"toolu_{os.urandom(8).hex()}",
        permission_mode="acceptEdits",
        **more,
    )


# --- what happens


def remember(desk: Desk, n: int) -> None:
    kind = ("gotcha", "gotcha", "gotcha", "directive", "task", "finding")[n % 6]
    anchors = [ANCHORS[n // 6 % len(ANCHORS)]] if kind == "gotcha" else []
    priority = ("high", "medium", "low")[n % 3]
    desk.remember(f"{kind} {n}: mind the adder number {n}", kind=kind, anchors=anchors, priority=priority)


def act(desk: Desk, n: int) -> None:
    acts = ("revoke", "reinstate", "revise", "archive", "restore-note", "confirm", "supersede", "absorb", "done")
    ref, by = str(n % 7 + 1), str(n % 5 + 1)
    desk.ask(
        api.Act(act=acts[n % len(acts)], ref=ref, by=by, reason="because", text=f"Other words {n}", cwd=str(desk.repo))
    )


def set_(desk: Desk, n: int) -> None:
    key, how, values = (
        ("pause", "set", ["on"]),
        ("pause", "set", ["off"]),
        ("ignore", "add", ["."]),
        ("ignore", "remove", ["."]),
        ("hold", "set", ["off"]),
        ("hold", "set", ["on"]),
        ("budget.edit", "set", ["150"]),
        ("budget.start", "set", ["300"]),
    )[n % 8]
    desk.ask(api.ChangeSetting(key=key, how=how, values=values, cwd=str(desk.repo)))


def write(desk: Desk, n: int) -> None:
    """Sometimes with the time that it had before."""
    file = desk.repo / FILES[n % 2]
    if file.parent.is_dir() and not file.is_dir():
        file.unlink(missing_ok=True) if n % 3 == 0 or not file.is_file() else None
        file.write_text(CONTENTS[n // 2 % len(CONTENTS)])
        os.utime(file, ns=(LONG_AGO_NS, LONG_AGO_NS))


def _gone(path: Path) -> None:
    if path.is_symlink() or path.is_file() or path.is_fifo():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def replace(desk: Desk, n: int) -> None:
    """A file or its folder becomes something else, or comes back."""
    file, lib, was = desk.repo / FILES[n % 2], desk.repo / "lib", desk.repo / "was"
    what = n // 2 % 10
    if what == 0:
        _gone(file)
    elif what == 1:
        _gone(file)
        file.symlink_to(desk.repo / "other.py")
    elif what == 2:
        _gone(file)
        os.mkfifo(file)
    elif what == 3:
        _gone(was)
        lib.rename(was)
    elif what == 4:
        was.rename(lib)
    elif what == 5:
        _gone(was)
        lib.rename(was)
        lib.symlink_to("was")
    elif what == 6:
        file.rename(desk.repo / "moved.py")
    elif what == 7:
        (desk.repo / "moved.py").rename(file)
    elif what == 8:
        _gone(lib)
        lib.mkdir()
        (lib / "a.py").write_text(LINES)
    else:
        _gone(desk.repo / "lib" / ".git")


def versions(desk: Desk, n: int) -> None:
    what = n % 6
    if what == 0:
        git(desk.repo, "switch", "-qC", f"b{n}")
    elif what == 1:
        git(desk.repo, "switch", "-q", "main")
    elif what == 2:
        git(desk.repo / "lib", "init", "-q")
    elif what == 3:
        git(desk.repo, "add", "-A")
        git(desk.repo, "commit", "-qm", f"commit {n}")
    elif what == 4:
        git(desk.repo, "remote", "add", "origin", f"https://example.invalid/x{n % 2}.git")
    else:
        _gone(desk.repo.parent / ".git") if n % 2 else git(desk.repo.parent, "init", "-q")


def hook(desk: Desk, n: int) -> None:
    """A turn goes on; some answers are lost."""
    session, what = f"s{n % 2 + 1}", n // 6 % 6
    agent: dict[str, Any] = {"agent_id": "a1", "agent_type": "x"} if n % 3 == 0 else {}
    prompt_id, receipt = f"p{n // 36 % 2 + 1}", n % 5 != 0
    if what < 3:
        path = FILES[what % 2]
        desk.hook("pre-edit", edit_payload(desk, path, session, prompt_id, **agent), receipt=receipt)
    elif what == 3:
        desk.read(FILES[n % 2], session, prompt_id, **agent)
    elif what == 4:
        desk.start(session, ("startup", "compact", "clear", "resume")[n % 4], receipt=receipt)
    else:
        desk.prompt(f"what of the adder number {n}?", session, prompt_id, receipt=receipt)


def tend(desk: Desk, n: int) -> None:
    what = n % 5
    if what == 0:
        desk.ask(api.Reindex())
    elif what == 1:
        desk.daemon.parts.store.doubt.set()
    elif what == 2:
        desk.daemon.watch.look()
    elif what == 3:
        desk.clock.ms += (limits.OFFER_OPEN_MS, limits.TIME_MS_PER_DAY)[n % 2] + 1
    else:
        desk.daemon.retention.prune(now_ms=desk.clock.ms)


DOES = (remember, remember, act, act, set_, write, write, replace, versions, hook, hook, hook, tend)
steps = st.lists(st.tuples(st.sampled_from(DOES), st.integers(0, 1000)), min_size=8, max_size=40)


@settings(
    max_examples=200 if os.environ.get("MEMD_LONG") else 6, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(steps)
def test_what_is_kept_changes_no_answer(asked: list[tuple[Callable[[Desk, int], None], int]]) -> None:
    """After any step: to edits of two sessions and their agents, and to starts."""
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        desk_at(Path(folder)) as desk,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(limits, "GROUND_DEADLINE_MS", 60_000)  # what there was no time for says nothing of what is kept
        (desk.repo / "lib").mkdir()
        for n in range(2):
            write(desk, 3 * n)
        for n in (0, 1, 6, 12, 18, 3, 4):
            remember(desk, n)
        done = []
        for does, n in asked:
            with contextlib.suppress(errors.MemdError, OSError, subprocess.CalledProcessError):
                does(desk, n)
            done.append((does.__name__, n))
            for number, probe in enumerate(probes(desk)):
                told = probe()
                with knowing_nothing(desk):
                    anew = probe()
                assert told == anew, (number, done)
            if n % 2:
                desk.daemon.parts.behind.join(limits.RESULTS_WAIT_S)


def test_what_was_acknowledged_is_in_the_next_answer_whoever_else_writes(desk: Desk) -> None:
    """Several sessions record, take back and edit at once, each at a file of its own, while others write of other things."""
    wrong: list[str] = []
    going = threading.Barrier(4)

    def works(number: int) -> None:
        path = f"{number}.py"
        (desk.repo / path).write_text(f"N = {number}\n")
        for turn in range(12):
            words = f"mind the lock of {path} in turn {turn}"
            note = desk.remember(words, kind="gotcha", anchors=[path])
            hear(words, path, number)
            desk.act("revoke", note.id, reason=f"no lock in turn {turn}")
            hear(f"no lock in turn {turn}", path, number)
            desk.act("reinstate", note.id)
            hear(words, path, number)

    def hear(words: str, path: str, number: int) -> None:
        if words not in edit(path, number):
            wrong.append(words)

    def edit(path: str, number: int) -> str:
        payload = edit_payload(desk, path, f"s{number}", "p1")
        return desk.hook("pre-edit", payload, probe=True)

    def talks(number: int) -> None:
        for turn in range(24):
            desk.remember(f"finding {turn} of {number}: of another thing", kind="finding")
            desk.prompt("what else?", f"t{number}", f"p{turn}")

    def run(work: Callable[[int], None], number: int) -> None:
        try:
            going.wait(30)
            work(number)
        except Exception as error:  # noqa: BLE001 - told by the test, whatever it is
            wrong.append(repr(error))

    threads = [threading.Thread(target=run, args=(work, n)) for n, work in enumerate((works, works, works, talks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def lose(desk: Desk, table: str, is_lost: Callable[[bytes], bool]) -> None:
    """Takes rows out of the store, and has the daemon know as much as one that has just begun."""
    store = desk.daemon.parts.store

    def work(txn: Any) -> None:
        for key in [key for key, _ in txn.kv.scan(table) if is_lost(key)]:
            txn.kv.delete(table, key)

    store.write(work)
    desk.daemon.parts.forget()


def put_right(desk: Desk) -> None:
    """A rule about the linter was hidden, for want of the row that leads to it, and the store has made that row anew."""
    weak = desk.remember("Run the linter before a commit.", kind="directive")
    store = desk.daemon.parts.store
    with store.read() as snapshot:
        uid = snapshot.uid_of(weak.id) or b""
    lose(desk, keys.KINDS, lambda key: keys.of_number(key) == weak.id)
    assert "linter" not in desk.start("a")
    store.write(lambda txn: txn.refold(uid))  # type: ignore[attr-defined]  # as it does it


def test_views_are_forgotten_where_the_store_itself_has_put_right_what_they_were_made_of(desk: Desk) -> None:
    """It does so behind a start, one note after the other; then the look through it finds nothing more."""
    put_right(desk)
    assert desk.daemon.watch.look() == []
    assert "linter" in desk.start("b")


def test_what_was_put_right_is_told_while_the_store_is_looked_through(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes minutes where it is large."""
    put_right(desk)
    told: list[str] = []

    def look(*_: object) -> list[object]:
        told.append(desk.start("b"))
        return []

    monkeypatch.setattr(watch, "lasting_faults", look)
    desk.daemon.watch.look()
    assert "linter" in told[0]


def test_a_pause_counts_again_once_the_rows_that_lead_to_it_were_made_anew(desk: Desk) -> None:
    """Who takes them away has memd speak up until the store was looked through, and no longer."""
    parts = desk.daemon.parts
    desk.remember("Run the linter before a commit.", kind="directive")
    change(desk, "pause", "on")
    lose(desk, keys.SUBJECTS, lambda key: key.startswith(parts.store.info.store))
    assert "linter" in desk.start("a")
    with parts.store.read() as earlier:
        desk.daemon.watch.look()
        assert parts.settings(earlier).is_default  # who still reads what was there before leaves nothing of it
    assert "linter" not in desk.start("b")
