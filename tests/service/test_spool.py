"""The spool: whatever lies in it, the prompt of now is stored, and no user's turn is lost."""

import json
import os
import threading
from pathlib import Path

import pytest

from memd_client import api, wire
from memd_daemon import errors, limits
from memd_daemon.service import spool
from tests.service.desk import Desk


def put(desk: Desk, number: int, text: str = "", folder: Path | None = None) -> Path:
    """A spooled prompt, the number-th of them."""
    payload = json.dumps(desk.payload("UserPromptSubmit", "s1", prompt=text or f"spooled {number}")).encode()
    call = wire.Hook(number.to_bytes(16, "big"), 0, 0, "claude", "prompt-submit", bytes(desk.repo), b"", payload)
    place = folder or desk.home / "spool"
    place.mkdir(mode=0o700, exist_ok=True)
    at_ns = desk.clock.ms * limits.NS_PER_MS + number * limits.NS_PER_MS
    file = place / wire.spool_name(call.request_id, at_ns).decode()
    file.write_bytes(wire.encode_spool(wire.Spooled(call, at_ns)))
    return file


def texts(desk: Desk) -> list[str]:
    """What the user said, oldest first."""
    return [t.text for t in reversed(desk.ask(api.Turns(limit=0)).turns)]


def make(kind: str, path: Path, aside: Path) -> None:
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(aside)
        case "loop":
            path.symlink_to(path)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            with path.open("wb") as file:
                file.truncate(wire.SPOOLED_MAX_BYTES + 1)


@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "loop", "device", "huge"])
@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
def test_what_is_no_hooks_file_is_neither_read_nor_waited_for(desk: Desk, tmp_path: Path, kind: str, old: bool) -> None:
    """A link's target keeps its content and takes no part, also when the link is a day old and goes."""
    aside = put(desk, 1, "through a link", tmp_path / "aside")
    (desk.home / "spool").mkdir(exist_ok=True)
    odd = desk.home / "spool" / f"0{wire.SPOOL_SUFFIX.decode()}"
    make(kind, odd, aside)
    if old:
        os.utime(odd, (1, 1), follow_symlinks=False)
    good = put(desk, 2)
    desk.prompt("now")
    assert texts(desk) == ["spooled 2", "now"]
    assert (aside.exists(), good.exists()) == (True, False)
    assert os.path.lexists(odd) == (not old or kind == "folder")


def test_a_prompt_does_not_wait_for_a_long_spool(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no time left for it, nothing is taken in before the prompt, and all of it behind it, in order."""
    for number in range(1, 30):
        put(desk, number)
    monkeypatch.setattr(limits, "SPOOL_ROUND_MS", 0)
    begun: list[str] = []
    monkeypatch.setattr(spool.Spool, "begin", lambda _: begun.append("behind"))
    desk.prompt("now")
    assert (texts(desk), begun) == (["now"], ["behind"])
    monkeypatch.undo()
    desk.prompt("later", prompt_id="p2")
    for thread in threading.enumerate():
        if thread.name == "memd-spool":
            thread.join()
    taken = [text for text in texts(desk) if text.startswith("spooled")]
    assert taken == [f"spooled {number}" for number in range(1, 30)]


def test_what_could_not_be_taken_in_is_not_tried_at_every_prompt(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read again when it has changed; until then it costs the prompts behind it nothing."""
    bad = put(desk, 1)
    bad.write_bytes(b"half")
    looked: list[Path] = []
    read = spool._read
    monkeypatch.setattr(spool, "_read", lambda path: looked.append(path) or read(path))
    desk.prompt("one", prompt_id="p1")
    desk.prompt("two", prompt_id="p2")
    assert looked == [bad]
    bad.unlink()
    put(desk, 1)
    desk.prompt("three", prompt_id="p3")
    assert texts(desk) == ["one", "two", "spooled 1", "three"]


@pytest.mark.parametrize(
    "error", [errors.StoreFull(), errors.StoreReadOnly("here"), errors.StoreDamaged("it"), errors.Stopping()]
)
def test_a_full_disk_keeps_the_spool_and_its_order(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, error: errors.MemdError
) -> None:
    """What the store refuses for now waits, be it for days, and so does what came after it."""
    files = [put(desk, number) for number in (1, 2)]
    for file in files:
        os.utime(file, (1, 1))
    tried: list[int] = []

    def full(*words: object, **_: object) -> None:
        tried.append(1)
        raise error

    monkeypatch.setattr(spool, "store_prompt", full)
    desk.prompt("now")
    assert ([f.exists() for f in files], len(tried)) == ([True, True], 1)
    monkeypatch.undo()
    desk.prompt("later", prompt_id="p2")
    assert texts(desk) == ["now", "spooled 1", "spooled 2", "later"]


def test_a_call_that_was_answered_and_spooled_is_one_turn(desk: Desk) -> None:
    """Its request id says so, bound to its session on both ways."""
    payload = json.dumps(desk.payload("UserPromptSubmit", "s1", prompt="once")).encode()
    call = wire.Hook(b"r" * 16, 2**62, 0, "claude", "prompt-submit", bytes(desk.repo), b"", payload)
    desk.daemon.hook(call, 0)
    at_ns = (desk.clock.ms + 60_000) * limits.NS_PER_MS
    (desk.home / "spool").mkdir(exist_ok=True)
    file = desk.home / "spool" / wire.spool_name(call.request_id, at_ns).decode()
    file.write_bytes(wire.encode_spool(wire.Spooled(call, at_ns)))
    desk.prompt("now")
    assert texts(desk) == ["once", "now"]


UNREAD = [
    b"",
    b"not JSON",
    b'{"hook_event_name": "UserPromptSubmit", "prompt": "cut',
    b"[1, 2]",
    b'{"a":' * 100_000,
    {"prompt": ["in", "parts"]},
    {"prompt": None},
    {"session_id": 7},
    {"session_id": ""},
    {"cwd": ["/"]},
    {"agent_id": 5},
]


def put_payload(desk: Desk, payload: object, env: bytes = b"", number: int = 1) -> Path:
    """A spooled call with this stdin; fields that are named take the place of a prompt's own."""
    file = put(desk, number)
    hook = wire.decode_spool(file.read_bytes()).hook
    own = desk.payload("UserPromptSubmit", "s1", prompt="words")
    stdin = payload if isinstance(payload, bytes) else json.dumps({**own, **payload}).encode()  # type: ignore[dict-item]
    call = wire.Hook(hook.request_id, 0, 0, "claude", "prompt-submit", hook.cwd, env, stdin)
    file.write_bytes(wire.encode_spool(wire.Spooled(call, desk.clock.ms * limits.NS_PER_MS)))
    return file


@pytest.mark.parametrize("payload", UNREAD, ids=lambda one: str(one)[:40])
def test_a_prompt_that_cannot_be_read_is_no_prompt_that_was_taken_in(desk: Desk, payload: object) -> None:
    """It stays for a day, since a later memd may read it; then it goes, and both status and doctor tell that it is lost."""
    file = put_payload(desk, payload)
    desk.prompt("now")
    assert (texts(desk), file.exists()) == (["now"], True)
    os.utime(file, (1, 1))
    desk.prompt("later", prompt_id="p2")
    told = desk.ask(api.Status())
    assert (file.exists(), told.spool["dropped"]) == (False, 1)
    assert any("could not be read and were dropped" in one["what"] for one in told.problems)


@pytest.mark.parametrize(
    ("payload", "env"),
    [
        ({"conversation_id": "c"}, b""),
        ({"cursor_version": "1", "prompt": None}, b""),
        ({"transcript_path": "/home/u/.copilot/session-state/x", "prompt": 5}, b""),
        ({"prompt": ["x"]}, b"GEMINI_SESSION_ID=g"),
        ({"hook_event_name": "BeforeAgent", "prompt": ["x"]}, b""),
    ],
)
def test_what_is_another_clients_is_not_missed(desk: Desk, payload: object, env: bytes) -> None:
    """It was never to be kept: nothing of it waits, and nothing is counted."""
    file = put_payload(desk, payload, env)
    os.utime(file, (1, 1))
    desk.prompt("now")
    assert (file.exists(), texts(desk), desk.ask(api.Status()).spool["dropped"]) == (False, ["now"], 0)


def test_a_commit_that_git_replays_is_not_missed(desk: Desk) -> None:
    """Its hook tells of it, and nobody wrote it just now."""
    file = put(desk, 1)
    hook = wire.decode_spool(file.read_bytes()).hook
    call = wire.Hook(hook.request_id, 0, 0, "git", "git-commit", hook.cwd, b"GIT_REFLOG_ACTION=rebase (pick)", b"")
    file.write_bytes(wire.encode_spool(wire.Spooled(call, desk.clock.ms * limits.NS_PER_MS)))
    desk.prompt("now")
    assert (file.exists(), desk.ask(api.Status()).spool["dropped"]) == (False, 0)
