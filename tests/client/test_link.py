"""One request, one deadline, and exactly four things that can come of it."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from memd_client import link, wire, zmtp
from memd_client.address import Address
from tests.client import peers

PING = wire.request(wire.PING, wire.EMPTY_BODY)
BRIEF_S = 0.05


def test_a_daemon_that_answers_is_a_reply(tmp_path: Path) -> None:
    """Status and body as they were sent."""
    with (
        peers.short_directory() as directory,
        peers.router(directory / "s", lambda _: wire.reply(b"0.1.0", wire.REFUSED, b"why")),
    ):
        outcome = link.request(peers.announce(tmp_path, directory / "s"), PING, peers.soon_ns())
    assert isinstance(outcome, link.Reply)
    assert (outcome.version, outcome.status, outcome.body) == (b"0.1.0", wire.REFUSED, [b"why"])


def test_one_connection_carries_several_requests(tmp_path: Path) -> None:
    """Asking twice and telling once, in order."""
    with peers.short_directory() as directory, peers.router(directory / "s", peers.answer_hook(b"x")) as peer:
        opened = link.open(peers.announce(tmp_path, directory / "s"), peers.soon_ns())
        assert isinstance(opened, link.Link)
        assert isinstance(opened.ask(PING, peers.soon_ns()), link.Reply)
        assert isinstance(opened.ask(PING, peers.soon_ns()), link.Reply)
        assert opened.tell(wire.request(wire.RECEIPT, b"i" * 16), peers.soon_ns())
        opened.close()
        assert [frames[2] for frames in peer.wait_for(3)] == [wire.PING, wire.PING, wire.RECEIPT]


def test_a_daemon_of_another_protocol_is_a_mismatch(tmp_path: Path) -> None:
    """Its name and version are what the message to the user needs."""
    with (
        peers.short_directory() as directory,
        peers.router(directory / "s", lambda _: [b"", b"memd/7", b"7.0.1", b"?", b"??"]),
    ):
        outcome = link.request(peers.announce(tmp_path, directory / "s"), PING, peers.soon_ns())
    assert isinstance(outcome, link.Mismatch)
    assert (outcome.protocol, outcome.version) == (b"memd/7", b"7.0.1")


@pytest.mark.parametrize(
    "behave",
    [peers.garbage, peers.closes_at_once, peers.closes_mid_message, peers.refuses],
    ids=lambda behave: behave.__name__,
)
def test_a_peer_that_is_no_daemon_is_unreachable(tmp_path: Path, behave: Callable[[socket.socket], object]) -> None:
    """Long before the deadline."""
    with peers.short_directory() as directory, peers.listener(directory / "s", behave):
        outcome = link.request(peers.announce(tmp_path, directory / "s"), PING, peers.soon_ns())
    assert isinstance(outcome, link.Unreachable)


@pytest.mark.parametrize(
    "answer", [[b""], [b"", b"memd/1"], [b"x", b"memd/1", b"1", b"\x00"], [b"", b"memd/1", b"1", b""]]
)
def test_an_answer_out_of_form_is_unreachable(tmp_path: Path, answer: list[bytes]) -> None:
    """A peer that speaks ZMTP is not yet a daemon."""
    with peers.short_directory() as directory, peers.router(directory / "s", lambda _: answer):
        outcome = link.request(peers.announce(tmp_path, directory / "s"), PING, peers.soon_ns())
    assert isinstance(outcome, link.Unreachable)


def test_nobody_at_the_socket_is_unreachable(tmp_path: Path) -> None:
    """No file, a file that nobody listens at, a path that cannot be one."""
    with peers.short_directory() as directory:
        with socket.socket(socket.AF_UNIX) as gone:
            gone.bind(str(directory / "stale"))
        for path in (directory / "none", directory / "stale", directory / ("x" * 200)):
            outcome = link.request(peers.announce(tmp_path, path), PING, peers.soon_ns())
            assert isinstance(outcome, link.Unreachable), path
    nul = Address(wire.PROTOCOL, os.getpid(), 0, b"/tmp/\0")
    assert isinstance(link.request(nul, PING, peers.soon_ns()), link.Unreachable)


def test_a_silent_peer_is_late_while_its_process_lives_and_unreachable_when_not(tmp_path: Path) -> None:
    """A descriptor can outlive the daemon that opened it; only then may another one be started."""
    with peers.short_directory() as directory, peers.listener(directory / "s", None):
        alive = peers.announce(tmp_path, directory / "s")
        assert isinstance(link.request(alive, PING, peers.soon_ns(BRIEF_S)), link.Late)
        dead = peers.announce(tmp_path, directory / "s", start_time=1)
        assert isinstance(link.request(dead, PING, peers.soon_ns(BRIEF_S)), link.Unreachable)


def test_an_answer_that_never_comes_is_late(tmp_path: Path) -> None:
    """Behind a good handshake too."""
    with peers.short_directory() as directory, peers.router(directory / "s", lambda _: None):
        outcome = link.request(peers.announce(tmp_path, directory / "s"), PING, peers.soon_ns(BRIEF_S))
    assert isinstance(outcome, link.Late)


def test_a_full_backlog_is_late(tmp_path: Path) -> None:
    """The system refuses such a connection with "try again" instead of waiting."""
    with peers.short_directory() as directory, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(directory / "s"))
        listening.listen(0)
        with socket.socket(socket.AF_UNIX) as first:
            first.connect(str(directory / "s"))
            outcome = link.request(peers.announce(tmp_path, directory / "s"), PING, peers.soon_ns(BRIEF_S))
    assert isinstance(outcome, link.Late)


def test_another_users_socket_is_unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is told to whoever took the place of a daemon that is gone."""
    monkeypatch.setattr(zmtp.Dealer, "peer_uid", lambda self: os.geteuid() + 1)
    with peers.short_directory() as directory, peers.router(directory / "s", peers.answer_hook(b"x")) as peer:
        outcome = link.request(peers.announce(tmp_path, directory / "s"), PING, peers.soon_ns())
        assert peer.received == []
    assert isinstance(outcome, link.Unreachable)


def test_a_dribbling_peer_is_understood(tmp_path: Path) -> None:
    """One byte at a time, with commands in between."""
    with peers.short_directory() as directory, peers.listener(directory / "s", peers.dribbles):
        outcome = link.request(peers.announce(tmp_path, directory / "s"), PING, peers.soon_ns())
    assert isinstance(outcome, link.Reply)
    assert outcome.body[1] == b"byte by byte"
