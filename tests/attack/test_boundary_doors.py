"""Attacks on the doors themselves: floods, half messages, odd frames, forged receipts. Sessions are told what they should be."""

import json
import os
import socket
import stat
import threading
import time
from pathlib import Path

import msgspec
import pytest
import zmq

from memd_client import address, link, wire
from tests.attack.cases import Attack, Group
from tests.attack.conftest import Fight
from tests.attack.judge import DIRECTIVE
from tests.attack.siege import Siege

DOORS = Group(
    "door", "the daemon dies, stalls another client, answers what it should not, or leaves something open to others"
)


@pytest.mark.parametrize("attack", DOORS.attacks, ids=str)
def test_no_client_stalls_another(attack: Attack, fight: Fight) -> None:
    """Who knocks oddly is dropped alone."""
    fight(attack)


def _socket(s: Siege) -> bytes:
    s.typed.ping()
    found = address.read(os.fsencode(s.home))
    assert found is not None
    return found.socket


def _open(s: Siege) -> socket.socket:
    raw = socket.socket(socket.AF_UNIX)
    raw.connect(_socket(s))
    return raw


def _answers(s: Siege) -> None:
    """A session's start is answered while the others are there: who is stalled by them waits in vain, and fails by that."""
    assert DIRECTIVE in s.started()


@DOORS("silent-connections", "socket", "opens two hundred connections and says nothing")
def _(s: Siege) -> None:
    opened = [_open(s) for _ in range(200)]
    _answers(s)
    for raw in opened:
        raw.close()


@DOORS("half-messages", "socket", "sends garbage, half greetings, and floods of bytes that are no protocol")
def _(s: Siege) -> None:
    for data in (
        b"\xff" + b"\0" * 8 + b"\x7f\x03",
        b"GET / HTTP/1.1\r\n\r\n",
        os.urandom(100_000),
        b"\0" * 64,
        b"\xff" * 64,
    ):
        raw = _open(s)
        raw.setblocking(False)
        try:
            raw.send(data)
        except OSError:
            continue
        finally:
            raw.close()
    _answers(s)


@DOORS("odd-frames", "socket", "sends unknown verbs, protocols, empty and long frames, thirty-one of them")
def _(s: Siege) -> None:
    frames: list[list[bytes]] = [
        [b"", b"memd/9", b"hook", b"x"],
        [b"", wire.PROTOCOL, b"", b""],
        [b"", wire.PROTOCOL, b"x" * 33, b""],
        [b"", wire.PROTOCOL, b"\xff\xfe", b""],
        [b"", wire.PROTOCOL, b"hook"],
        [b"", wire.PROTOCOL, b"hook", *[b""] * 8],
        [b"", wire.PROTOCOL, b"hook", *[b"x" * 1000] * 28],
        [b"", wire.PROTOCOL, b"receipt", b"x" * 16],
        [b"", wire.PROTOCOL, b"receipt"],
        [b"", wire.PROTOCOL, b"mcp", b"x" * 16, b"1", b"", b"", b"{"],
        [b"", wire.PROTOCOL, b"seal", b"\xc1"],
        [b"", wire.PROTOCOL, b"remember", b"\x91" * 100_000],
        [b"", wire.PROTOCOL, b"act", b"\xdf\xff\xff\xff\xff"],
        [b"x", wire.PROTOCOL, b"ping", b"\x80"],
        [b"", wire.PROTOCOL, b"remember", b"x" * 1_000_000],
    ]
    for one in frames:
        s.ask(*one, wait_s=0.2)
    _answers(s)


@DOORS("huge-frames", "socket", "sends a frame beyond every bound")
def _(s: Siege) -> None:
    s.ask(*wire.request(b"remember", b"x" * (wire.FRAME_MAX_BYTES + 1)), wait_s=2)
    s.hook_bytes("prompt-submit", b"{" + b"x" * (wire.STDIN_MAX_BYTES + 1))
    _answers(s)


@DOORS("deep-bodies", "socket", "sends bodies nested ten thousand deep, wrong types for every field")
def _(s: Siege) -> None:
    deep: object = 1
    for _n in range(400):
        deep = [deep]
    for verb in (
        "remember",
        "act",
        "recall",
        "show",
        "list",
        "enrol",
        "set",
        "seal",
        "settings",
        "turns",
        "log",
        "trace",
    ):
        for body in (
            deep,
            {"ref": deep},
            {"ref": None, "act": 1, "content": 2, "limit": "x"},
            {"limit": -(2**60), "offset": 2**60},
        ):
            raw = msgspec.msgpack.encode(body)
            s.ask(*wire.request(verb.encode(), raw), wait_s=5)
        s.ask(*wire.request(verb.encode(), b"\x91" * 20_000 + b"\x01"), wait_s=5)
    _answers(s)


@DOORS("slow-reader", "socket", "asks a thousand times for everything and reads none of it")
def _(s: Siege) -> None:
    end = time.monotonic_ns() + 5 * 10**9
    found = address.read(os.fsencode(s.home))
    assert found is not None
    opened = link.open(found, end)
    assert isinstance(opened, link.Link)
    body = msgspec.msgpack.encode({"cwd": str(s.repository), "all_scopes": True, "limit": 0})
    for _n in range(1000):
        if not opened.tell(wire.request(b"list", body), time.monotonic_ns() + 10**8):
            break
    _answers(s)
    opened.close()


@DOORS("deadlines", "hook", "sends deadlines of the past, of zero, of the end of time, and none that is a number")
def _(s: Siege) -> None:
    payload = s.payload("SessionStart", source="startup")
    for deadline in (b"1", b"%d" % 2**63, b"9" * 20, b"-1", b"1e9", b"", b"9" * 40):
        frames = [os.urandom(16), deadline, b"\0", b"claude", b"session-start", os.fsencode(s.repository), b""]
        s.ask(*wire.request(b"hook", *frames, json.dumps(payload).encode()), wait_s=0.3)
    _answers(s)


@DOORS("receipts", "socket", "sends receipts for requests that are not its own, by the thousand")
def _(s: Siege) -> None:
    end = time.monotonic_ns() + 5 * 10**9
    found = address.read(os.fsencode(s.home))
    assert found is not None
    opened = link.open(found, end)
    assert isinstance(opened, link.Link)
    for _n in range(1000):
        opened.tell(wire.request(wire.RECEIPT, os.urandom(16)), end)
    opened.close()
    _answers(s)


@DOORS("owned-by-others", "files", "looks for what others could read or write in the home, the socket, the spool")
def _(s: Siege) -> None:
    s.typed.ping()
    open_ = [p for p in [s.home, *s.home.rglob("*")] if not p.is_symlink() and p.stat().st_mode & 0o077]
    assert not open_, open_
    path = Path(os.fsdecode(_socket(s)))
    assert stat.S_ISSOCK(path.stat().st_mode)
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


@DOORS("network", "system", "looks for a port of the daemon's")
def _(s: Siege) -> None:
    pid = s.typed.ping().pid
    named = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.is_symlink()]
    sockets = {name[8:-1] for name in named if name.startswith("socket:[")}
    for name in ("tcp", "tcp6", "udp", "udp6"):
        rows = Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
        assert not [row for row in rows if row.split()[9] in sockets], name


@DOORS(
    "fake-daemon", "files", "announces a daemon of its own; the person's command gets no false plan signed", alone=True
)
def _(s: Siege) -> None:
    s.typed.ping()
    real = s.home / "run" / "address"
    line = real.read_bytes()
    path = s.folder / "evil.sock"
    router = zmq.Context.instance().socket(zmq.ROUTER)
    router.bind(f"ipc://{path}")
    path.chmod(0o600)
    found = address.parse(line)
    assert found is not None
    stop = threading.Event()

    announced = address.encode(address.Address(wire.PROTOCOL, os.getpid(), 0, os.fsencode(path)))

    def announce() -> None:
        (s.folder / "announced").write_bytes(announced)
        (s.folder / "announced").replace(real)

    def relay() -> None:
        """Passes everything on, but for the plan: another note's promotion is what would be signed. The daemon puts its own address
        back now and then, and whoever announces another insists."""
        while not stop.is_set():
            if real.read_bytes() != announced:
                announce()
            if not router.poll(1):
                continue
            identity, *frames = router.recv_multipart()
            _, verb, body = wire.parse_request(frames)
            if verb == b"act":
                asked = msgspec.msgpack.decode(body[0])
                body = [
                    msgspec.msgpack.encode(
                        {
                            **asked,
                            "ref": str(
                                s.notes["a-auto"].id if asked.get("to") == "agent" else s.notes["a-decision"].id
                            ),
                        }
                    )
                ]
            answer = link.request(found, wire.request(verb, *body), time.monotonic_ns() + 20 * 10**9)
            if isinstance(answer, wire.Reply):
                router.send_multipart([identity, *wire.reply(answer.version, answer.status, *answer.body)])

    announce()
    thread = threading.Thread(target=relay)
    thread.start()
    try:
        code, shown = s.at_terminal("promote", str(s.notes["a-finding"].id), "--to", "human")
        assert code == 1, shown
        assert "Passphrase" not in shown, shown
    finally:
        stop.set()
        thread.join()
        router.close(0)
        real.write_bytes(line)
