"""The final set of pairs: written from the description of evidence alone, before the code was read (docs/guards.md).

What is judged is what a daemon shows, by `memd bench evidence --pairs tests/evidence/pairs.jsonl`'s own measure.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from memd_client.cli import bench_guard
from memd_client.cli.bench_guard import Judged
from memd_daemon.evidenced import Pair, marked

PAIRS: Final = Path(__file__).with_name("pairs.jsonl")
COUNT: Final = 529
STATED: Final = 176
NOT_SHOWN: Final[dict[str, str]] = {}
"""Pairs with words of the user's that are knowingly not marked: language and name, why."""


@pytest.fixture(scope="module")
def judged() -> list[Judged]:
    return [bench_guard.judged(one, marked(Pair(one.turns, one.note))) for one in bench_guard.pairs(PAIRS)]


def named(judged: list[Judged], wrong: Callable[[Judged], str]) -> dict[str, str]:
    return {f"{one.pair.language} {one.pair.name}": wrong(one) for one in judged if wrong(one)}


def test_no_pair_has_gone(judged: list[Judged]) -> None:
    """Each has a name of its own in its language."""
    assert len({(one.pair.language, one.pair.name) for one in judged}) == COUNT
    assert sum(bool(one.pair.stated) for one in judged) == STATED


def test_nothing_is_marked_that_the_user_did_not_say(judged: list[Judged]) -> None:
    """In no pair, neither by a stripe nor by the frame of the whole."""
    assert named(judged, lambda one: one.false) == {}


def test_all_that_the_user_said_is_marked(judged: list[Judged]) -> None:
    """Save what is knowingly not."""
    assert named(judged, lambda one: one.missing).keys() == NOT_SHOWN.keys()
