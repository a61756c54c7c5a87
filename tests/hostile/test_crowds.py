"""Connections by the thousand: the daemon lives, its descriptors are bounded, others are answered, and it is as before after it."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from memd_daemon import limits
from tests.hostile.crowd import crowd
from tests.hostile.victim import Victim, until

CROWD_PEAK_MB = 200
"""Of so many connections, at 27 KB each, and libzmq's queues of what it accepted and was not heard of yet."""


@pytest.fixture(scope="module")
def narrow() -> Iterator[Victim]:
    """A daemon that may have 4,096 files open, as many older systems allow: libzmq ends a process at the last one."""
    made = Victim(descriptors=4_096)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("manner", ["silent", "half", "shaken", "drip"])
def test_more_connections_than_there_are_descriptors(narrow: Victim, manner: str) -> None:
    """Three processes want 1,500 each: the quiet client is served while they stand, and nothing is left when they go."""
    with narrow.watched(CROWD_PEAK_MB), ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(crowd(narrow.address, 1_500, manner))
        assert narrow.descriptors() <= limits.CONNECTIONS_MAX + limits.CONNECTIONS_AHEAD + limits.DESCRIPTORS_OWN
        narrow.quiet_is_served()
        until(lambda: narrow.descriptors() <= limits.CONNECTIONS_MAX + limits.DESCRIPTORS_OWN, "its bound is kept")
    assert any("ended a connection of too many" in line["say"] for line in narrow.log())


def test_peers_that_connect_and_vanish(narrow: Victim) -> None:
    """Five thousand come and go without a word."""
    with narrow.watched(CROWD_PEAK_MB), crowd(narrow.address, 5_000, "vanish"):
        narrow.quiet_is_served()


def test_whoever_has_the_most_connections_loses_the_newest(narrow: Victim) -> None:
    """A client with one connection keeps it through the crowd, also where it came first and says nothing for long."""
    quiet = narrow.dealer()
    with crowd(narrow.address, limits.CONNECTIONS_MAX + 200, "shaken"):
        narrow.quiet_is_served()
        quiet.send([b"", b"memd/1", b"ping", b"\x80"], 2**62)
        assert quiet.receive(2**62)[3] == b"\0"
    quiet.close()
