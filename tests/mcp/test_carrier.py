"""The carrier as a process: what it survives, what it tells a client in the daemon's place, and that it ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memd_client import __version__, address, link, mcp, wire
from tests.cli.world import PROGRAM, WAIT_S, World
from tests.mcp.client import HELLO, Client

RSS_MAX_KIB = 15 * 1024
Connect = Callable[..., Client]

PING = b'{"jsonrpc":"2.0","id":"p","method":"ping"}'


def rss_kib(pid: int) -> int:
    told = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in told.splitlines() if line.startswith("VmRSS"))


def is_running(pid: int) -> bool:
    return bool(address.process_start(pid))


def until(condition: Callable[[], bool]) -> bool:
    """Whether it came true; a test that fails waits for long."""
    end = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(0.01)
    return True


def is_closed(daemon: address.Address) -> bool:
    """Whether its sockets are closed: the threads of a killed process outlive its name by a moment."""
    opened = link.open(daemon, time.monotonic_ns() + 1_000_000_000)
    if isinstance(opened, link.Link):
        opened.close()
    return isinstance(opened, link.Unreachable)


def daemon_of(world: World) -> address.Address:
    found = address.read(os.fsencode(world.home))
    assert found is not None
    return found


# --- what is on the line


def test_what_is_no_message_harms_nobody(world: World, connect: Connect) -> None:
    """No JSON, no UTF-8, blank lines: each is told or passed over, and the next call is served."""
    client = connect(world)
    client.hello()
    client.send(b"{nope")
    assert client.line()["error"]["code"] == mcp.PARSE_ERROR
    client.send(b'{"jsonrpc":"2.0","id":9,"method":"\xff"}')
    assert client.line()["error"]["code"] == mcp.PARSE_ERROR
    client.send(b"\n \r\n" + PING)
    assert client.line() == {"jsonrpc": "2.0", "id": "p", "result": {}}


def test_a_giant_message_is_refused_and_the_carrier_lives(world: World, connect: Connect) -> None:
    """Under its own id, though nobody kept it whole; the carrier stays small."""
    client = connect(world)
    client.hello()
    big = {"name": "remember", "arguments": {"content": "x" * 20 * wire.MCP_MESSAGE_MAX_BYTES}}
    told = client.ask("tools/call", big)
    assert told["error"] == {"code": mcp.INVALID_REQUEST, "message": mcp.TOO_LONG}
    assert rss_kib(client.process.pid) <= RSS_MAX_KIB
    _, is_error = client.call("recall", query="what the daemon still answers")
    assert not is_error


def test_a_message_at_the_bound_is_carried(world: World, connect: Connect) -> None:
    """The daemon refuses it for what is in it, not for its size."""
    client = connect(world)
    client.hello()
    body = b'{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"remember","arguments":{"content":"%b"}}}'
    client.send(body % (b"x" * (wire.MCP_MESSAGE_MAX_BYTES - len(body) + 2)))
    assert client.answer("b")["result"]["isError"] is True  # type: ignore[arg-type]


def test_a_client_that_reads_late_gets_every_answer(world: World, connect: Connect) -> None:
    """Much more than a pipe holds, while it goes on asking."""
    client = connect(world)
    client.hello()
    ids = [client.request("tools/list") for _ in range(40)]
    told = [client.answer(id_) for id_ in ids]
    assert all(len(one["result"]["tools"]) == len(told[0]["result"]["tools"]) for one in told)


def test_what_was_asked_before_the_end_is_answered(world: World) -> None:
    """A script pipes its requests in and closes; the last line needs no end."""
    hello = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    ran = world.memd("mcp", stdin=hello + PING)
    assert ran.code == wire.EXIT_DONE, ran.err
    assert sorted(ran.out.splitlines()) == [
        b'{"jsonrpc":"2.0","id":"p","result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
    ]


# --- the daemon's comings and goings


def test_the_first_message_starts_the_daemon(fresh: World, connect: Connect) -> None:
    """A client needs nothing but the command."""
    client = connect(fresh)
    assert client.hello()["serverInfo"]["name"] == "memd"
    assert is_running(daemon_of(fresh).pid)


def test_a_daemon_that_was_killed_is_replaced(fresh: World, connect: Connect) -> None:
    """In mid-session, without a second handshake; what was recorded is there."""
    client = connect(fresh)
    client.hello()
    told, _ = client.call("remember", content="The cache is cleared at midnight, not at deploys.")
    assert told.startswith("recorded [1]")
    first = daemon_of(fresh)
    os.kill(first.pid, signal.SIGKILL)
    assert until(lambda: is_closed(first))
    told, is_error = client.call("recall", query="when is the cache cleared?")
    assert not is_error
    assert "midnight" in told
    assert daemon_of(fresh).pid != first.pid


def test_a_restart_in_between_goes_unnoticed(fresh: World, connect: Connect) -> None:
    """`memd restart`, as after an update."""
    client = connect(fresh)
    client.hello()
    assert fresh.memd("restart").code == wire.EXIT_DONE
    assert client.ask("ping")["result"] == {}


def other_daemon(world: World, *words: str) -> subprocess.Popen[bytes]:
    """A daemon that is none of ours, once it answers."""
    other = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("other_daemon.py")), *words],
        env=world.environ,
        stdout=subprocess.PIPE,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"ready\n"
    return other


def end(other: subprocess.Popen[bytes]) -> None:
    other.kill()
    other.wait(WAIT_S)
    assert other.stdout is not None
    other.stdout.close()


def test_a_request_whose_daemon_dies_is_answered_and_not_sent_twice(fresh: World, connect: Connect) -> None:
    """It may have been done; the client is told, and the next one is served by the next daemon."""
    other = other_daemon(fresh, __version__, "die")
    try:
        client = connect(fresh)
        assert client.ask("ping")["error"] == {"code": mcp.INTERNAL_ERROR, "message": mcp.GONE}
        assert client.ask("ping")["result"] == {}
    finally:
        end(other)


def test_what_a_daemon_that_leaves_did_not_take_is_asked_of_the_next(fresh: World, connect: Connect) -> None:
    """All of it: nothing of it was done, and the client need not know."""
    other = other_daemon(fresh, __version__, "leave")
    try:
        client = connect(fresh)
        first, second = client.request("ping"), client.request("ping")
        assert [client.answer(first), client.answer(second)] == [
            {"jsonrpc": "2.0", "id": id_, "result": {}} for id_ in (first, second)
        ]
    finally:
        end(other)


def test_after_a_deliberate_stop_a_session_does_not_start_memd_again(fresh: World, connect: Connect) -> None:
    """It is told so at once; `memd start` or a new session ends that."""
    client = connect(fresh)
    client.hello()
    assert fresh.memd("stop").code == wire.EXIT_DONE
    assert client.ask("ping")["error"] == {"code": mcp.INTERNAL_ERROR, "message": mcp.STOPPED}
    assert address.read(os.fsencode(fresh.home)) is None
    another = connect(fresh)
    another.hello()
    assert client.ask("ping")["result"] == {}


@pytest.mark.parametrize(("version", "asked"), [("0.0.1", ["ping", "stop"]), ("99.0.0", ["ping", "mcp"])])
def test_an_older_daemon_is_replaced_and_a_newer_one_serves(
    fresh: World, connect: Connect, version: str, asked: list[str]
) -> None:
    """What is carried is raw, so a newer daemon is no hindrance."""
    other = other_daemon(fresh, version)
    try:
        client = connect(fresh)
        told = client.ask("ping")
        assert told["result"] == ({} if version < "1" else {"from": version})
        verbs = (fresh.home / "asked").read_text().split()
        assert list(dict.fromkeys(verbs)) == asked
    finally:
        end(other)


@pytest.mark.parametrize("environ", [{"MEMD_HOME": home} for home in ("/proc/1/no-such", "/dev/null", "/dev/null/in")])
def test_where_no_daemon_can_be_started_the_client_is_told(
    world: World, connect: Connect, environ: dict[str, str]
) -> None:
    """An error of JSON-RPC under the request's id; a notification gets none."""
    client = connect(world, **environ)
    client.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    told = client.ask("initialize", HELLO)
    assert told["error"]["code"] == mcp.INTERNAL_ERROR
    assert "MEMD_HOME" in told["error"]["message"]
    assert client.leave() == wire.EXIT_DONE


def test_without_a_home_there_is_a_line_and_no_traceback(world: World) -> None:
    """Exit 2, as from every command."""
    ran = world.memd("mcp", MEMD_HOME="", HOME="")
    assert (ran.code, ran.out) == (wire.EXIT_USAGE, b"")
    assert ran.err == mcp.NO_HOME


def test_a_session_whose_directory_is_gone_is_told(world: World, connect: Connect) -> None:
    """Its notes would be nobody's, or the wrong repository's."""
    gone = world.folder / "gone"
    gone.mkdir()
    client = connect(world, cwd=gone)
    client.hello()
    gone.rmdir()
    told, is_error = client.call("remember", content="This belongs nowhere.")
    assert is_error
    assert "is gone" in told


def test_two_homes_never_mix(fresh: World, world: World, connect: Connect) -> None:
    """Two carriers from one repository, each with its own daemon."""
    here, there = connect(world), connect(world, MEMD_HOME=str(fresh.home), HOME=str(fresh.user_home))
    for client in (here, there):
        client.hello()
    here.call("remember", content="Only the first home knows about the zebra crossing.")
    told, _ = there.call("recall", query="zebra crossing")
    assert "zebra" not in told
    assert daemon_of(world).pid != daemon_of(fresh).pid


# --- the end


def test_it_ends_with_stdin(world: World, connect: Connect) -> None:
    """Also where the client said nothing at all."""
    client, silent = connect(world), connect(world)
    client.hello()
    assert client.leave() == wire.EXIT_DONE
    assert silent.leave() == wire.EXIT_DONE


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it(world: World, connect: Connect, number: signal.Signals) -> None:
    """Without a word on stderr."""
    client = connect(world)
    client.hello()
    client.process.send_signal(number)
    assert client.process.wait(WAIT_S) == -number
    assert client.process.stderr is not None
    assert client.process.stderr.read() == b""


def test_it_ends_when_nobody_reads_any_more(world: World, connect: Connect) -> None:
    """The client is gone, though its end of stdin is still open somewhere."""
    client = connect(world)
    client.hello()
    assert client.process.stdout is not None
    client.process.stdout.close()
    assert client.process.wait(WAIT_S) == wire.EXIT_DONE


PARENT = """
import os, subprocess, sys
carrier = subprocess.Popen([sys.executable, "-I", "-c", sys.argv[1], "mcp"], stdin=0, stdout=1)
print(carrier.pid, file=sys.stderr, flush=True)
os.read(3, 1)
"""


@pytest.mark.parametrize("pidfd", [True, False])
def test_it_does_not_outlive_a_parent_whose_pipes_a_sibling_holds(world: World, pidfd: bool) -> None:
    """The parent is killed and can close nothing; the test's process is the sibling that keeps the pipes open."""
    program = PROGRAM if pidfd else f"import posix; del posix.pidfd_open; {PROGRAM}"
    stays, held = os.pipe()
    stdin, feeds = os.pipe()
    reads, stdout = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-I", "-c", f"import os; os.dup2({stays}, 3);" + PARENT, program],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=world.environ,
        cwd=world.repository,
        pass_fds=(stays,),
    )
    assert parent.stderr is not None
    carrier = int(parent.stderr.readline())
    try:
        os.write(feeds, PING + b"\n")
        assert os.read(reads, 100).startswith(b'{"jsonrpc":"2.0","id":"p"')
        parent.kill()
        parent.wait(WAIT_S)
        assert until(lambda: not is_running(carrier))
    finally:
        if is_running(carrier):
            os.kill(carrier, signal.SIGKILL)
        parent.kill()
        parent.wait(WAIT_S)
        parent.stderr.close()
        for descriptor in (stays, held, stdin, feeds, reads, stdout):
            os.close(descriptor)


def test_twenty_at_once_stay_small_and_all_end(world: World, connect: Connect) -> None:
    """Each in its own session; none holds more than its bound, none stays behind."""
    clients = [connect(world) for _ in range(20)]
    for client in clients:
        client.hello()
    for n, client in enumerate(clients):
        told, is_error = client.call("remember", content=f"Client {n} wrote about the lamp numbered {n * 104_729}.")
        assert not is_error, told
    sizes = [rss_kib(client.process.pid) for client in clients]
    assert max(sizes) <= RSS_MAX_KIB, sizes
    assert [client.leave() for client in clients] == [wire.EXIT_DONE] * len(clients)


def test_a_carrier_loads_next_to_nothing(world: World) -> None:
    """It is beside every session for as long as that lives: no click, no rich, no msgspec, no json."""
    program = (
        f"import sys; sys.argv[1:] = ['mcp']\ntry:\n {PROGRAM}\nexcept SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        env=world.environ,
        cwd=world.repository,
        input=PING,
        capture_output=True,
        check=True,
    )
    assert b'"id":"p"' in done.stdout
    loaded = set(done.stderr.decode().split())
    assert loaded.isdisjoint({"click", "rich", "msgspec", "json", "socket", "typing", "re", "subprocess", "asyncio"})
