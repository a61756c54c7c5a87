"""Every verb with every kind of wrong body: it is refused in words, none of which is that the daemon failed."""

from collections.abc import Iterator

import msgspec
import pytest

from memd_client import api, wire
from memd_daemon import limits
from tests.hostile import bodies
from tests.hostile.victim import MB, Victim, some

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
        for bomb in bodies.BOMBS.values():
            asker.ask(verb, bomb)
    assert asker.faults == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_field_with_every_value(stuffed: Victim, verb: str) -> None:
    """Wrong types, and right ones at their ends."""
    asker = Asker(stuffed)
    with stuffed.watched():
        for body in some(bodies.of_fields(verb, place(stuffed)), 20):
            asker.ask(verb, body)
    assert asker.faults == []


@pytest.mark.parametrize("verb", VERBS)
def test_huge_texts(stuffed: Victim, verb: str) -> None:
    """8 MiB in every field that takes text."""
    asker = Asker(stuffed)
    with stuffed.watched():
        for body in some(bodies.huge(verb, place(stuffed)), 60):
            asker.ask(verb, body)
    assert asker.faults == []


PAGED = ("list", "log", "decisions", "turns", "deliveries", "stale", "why")


@pytest.mark.parametrize("verb", PAGED)
def test_a_page_that_is_none(stuffed: Victim, verb: str) -> None:
    """A number below zero, or beyond what there can be, is refused where the request is read."""
    for field in {"limit", "offset"} & {field.name for field in msgspec.structs.fields(api.VERBS[verb])}:
        for count in (-1, 2**63, 2**64 - 1):
            status, told = stuffed.verb(verb, **bodies.BASE.get(verb, {}), **{field: count})
            assert status == wire.USAGE
            assert field in told["message"]


def test_a_question_about_too_many_files(stuffed: Victim) -> None:
    """It is refused: each is foreseen, and twenty thousand took twenty seconds. One moment named often is foreseen once."""
    status, _ = stuffed.verb("why", ref="1", paths=["x"] * (limits.WHY_PATHS_MAX + 1))
    assert status == wire.USAGE
    status, told = stuffed.verb("why", ref="1", at=["stop"] * 5_000)
    assert status == wire.DONE
    assert len(told["foreseen"]) == 1


@pytest.mark.parametrize(
    ("verb", "field"), [("settings", "key"), ("remember", "content"), ("act", "reason"), ("why", "prompt")]
)
def test_a_text_that_is_looked_at_takes_no_memory_by_its_length(stuffed: Victim, verb: str, field: str) -> None:
    """8 MiB of short words, compared with names, looked through for credentials, or searched for."""
    with stuffed.watched(150):
        stuffed.verb(verb, **{**bodies.BASE.get(verb, {}), field: "a b. " * (8 * MB // 5)})
