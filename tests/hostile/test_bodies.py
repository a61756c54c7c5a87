"""Every verb with every kind of wrong body: it is refused in words, none of which is that the daemon failed."""

from collections.abc import Iterator

import msgspec
import pytest

from memd_client import api, wire
from tests.hostile import bodies
from tests.hostile.victim import Victim, some

VERBS = sorted(api.VERBS.keys() - bodies.LEFT_OUT)


@pytest.fixture(scope="module")
def stuffed() -> Iterator[Victim]:
    """A daemon of this file's own, since much of what is sent is recorded."""
    made = Victim()
    try:
        yield made
    finally:
        made.close()


class Asker:
    """One connection to ask on, opened again where it was ended. What was answered with FAULT, it keeps."""

    def __init__(self, victim: Victim) -> None:
        self._victim = victim
        self.faults: list[tuple[str, bytes]] = []

    def ask(self, verb: str, raw: bytes) -> None:
        reply = self._victim.ask(*wire.request(verb.encode(), raw))
        assert isinstance(reply, wire.Reply), (verb, raw[:200], reply)
        if reply.status == wire.FAULT:
            self.faults.append((verb, raw[:300]))
        if reply.status != wire.DONE:
            told = msgspec.msgpack.decode(reply.body[0], type=api.ErrorOut)
            assert len(told.message) < 2_000, (verb, raw[:200], told.message[:200])


def place(victim: Victim) -> dict[str, object]:
    return {"cwd": str(victim.repository), "env": {}, "surface": "cli"}


@pytest.mark.parametrize("verb", VERBS)
def test_bombs(stuffed: Victim, verb: str) -> None:
    """msgpack that announces more than there is, or nests without an end."""
    asker = Asker(stuffed)
    with stuffed.watched():
        for bomb in some(bodies.BOMBS.values(), 2):
            asker.ask(verb, bomb)
    assert asker.faults == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_field_with_every_value(stuffed: Victim, verb: str) -> None:
    """Wrong types, and right ones at their ends."""
    asker = Asker(stuffed)
    with stuffed.watched():
        for body in some(bodies.of_fields(verb, place(stuffed)), 11):
            asker.ask(verb, body)
    assert asker.faults == []


@pytest.mark.parametrize("verb", VERBS)
def test_huge_texts(stuffed: Victim, verb: str) -> None:
    """8 MiB in every field that takes text."""
    asker = Asker(stuffed)
    with stuffed.watched():
        for body in some(bodies.huge(verb, place(stuffed)), 40):
            asker.ask(verb, body)
    assert asker.faults == []
