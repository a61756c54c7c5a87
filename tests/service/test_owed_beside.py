"""A bundle that is owed and the gotchas of the edit or read that carries it: which of them has room (delivery.md, "Budget").

Each cell's start is lost, so that the next hook carries its bundle. What the start said is the bundle as it is alone.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from memd_client import api
from memd_daemon import limits
from memd_daemon.frames.hold import HELD
from memd_hooks.harness import claude
from tests.frames.grammar import CLOSING
from tests.service.desk import Desk, context_of, desk_at, reason_of
from tests.service.matrix import told
from tests.service.policies import made_person
from tests.service.test_people import Person

WORDS: Final = "documentation instructions administration requirements implementation "
"""As much room as a token's cost allows: four characters of one each."""
SMALL, LARGE, OTHER = "small.py", "large.py", "moderate.py"
MANY_ENDORSED, MANY_AGENTS = 12, 40


class Shop(NamedTuple):
    """A desk with its rules, and the gotcha of each file."""

    desk: Desk
    endorsed: frozenset[int]
    agents: frozenset[int]
    gotchas: dict[str, int]


def stocked(desk: Desk, person: Person, endorsed: int, agents: int) -> Shop:
    mine = [person.rule(f"Mine {n}: {WORDS * 9}") for n in range(endorsed)]
    theirs = [int(desk.remember(f"Theirs {n}: {WORDS * 3}", kind="directive").id) for n in range(agents)]
    gotchas = {}
    for path, words, priority in ((SMALL, 1, "high"), (LARGE, 26, "high"), (OTHER, 5, "medium")):
        (desk.repo / path).write_text(f"x = {words}\n")
        content = f"Of {path}: {WORDS * words}"
        made = desk.remember(content, kind="gotcha", priority=priority, anchors=[path])
        gotchas[path] = int(made.id)
    return Shop(desk, frozenset(mine), frozenset(theirs), gotchas)


@pytest.fixture(
    scope="module",
    params=[(e, a) for e in (2, MANY_ENDORSED) for a in (1, MANY_AGENTS)],
    ids=lambda p: f"{p[0]}-endorsed-{p[1]}-agents",
)
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with desk_at(tmp_path_factory.mktemp("beside")) as desk:
        yield stocked(desk, made_person(desk), *request.param)


@pytest.fixture
def person(desk: Desk) -> Person:
    return made_person(desk)


def lost_start(desk: Desk, session: str) -> str:
    """The start's bundle, of which no receipt comes any more."""
    alone = context_of(desk.start(session, receipt=False))
    desk.clock.ms += limits.OFFER_OPEN_MS + 1
    return alone


def fire(desk: Desk, moment: str, path: str, session: str) -> str:
    out = desk.edit(path, session) if moment == "edit" else desk.read(path, session)
    return reason_of(out) or context_of(out)


def named(text: str) -> set[int]:
    """The ids that last lines name."""
    ends = filter(None, map(CLOSING.fullmatch, text.removesuffix(HELD).split("\n")))
    return {int(id_) for end in ends for id_ in re.findall(r"\[(\d+)\]", end[2] or "")}


def left_over(text: str) -> int:
    """How many the last lines say did not fit."""
    return sum(int(end[1] or 0) for end in filter(None, map(CLOSING.fullmatch, text.removesuffix(HELD).split("\n"))))


# --- the case that asked for it


def test_a_gotcha_that_would_hold_has_its_room_before_what_agents_recorded(desk: Desk) -> None:
    """Sixty rules of agents, a caveat of 1,900 characters, a start that was lost: the edit is held, and passes the next time."""
    for number in range(60):
        desk.remember(f"Rule {number}: {WORDS * 3}", kind="directive")
    gotcha = desk.remember(f"Caveat: {WORDS * 26}", kind="gotcha", priority="high", anchors=["app.py"]).id
    alone = lost_start(desk, "s1")
    held = reason_of(desk.edit("app.py"))
    assert held.endswith(HELD)
    assert gotcha in told(held)
    assert set(told(held)) < {*told(alone), gotcha}
    assert claude.CAP_UNITS - 300 < len(held) <= claude.CAP_UNITS, "the rules have all the room that is left"
    assert desk.edit("app.py") == ""
    [delivery] = [one for one in desk.ask(api.Deliveries(limit=0)).deliveries if one.held]
    assert len(delivery.left_out) + len(told(held)) == 61
    assert {one.rule for one in delivery.left_out if one.id in told(alone)} == {"harness-cap"}


# --- the table


@pytest.mark.parametrize("moment", ["edit", "read"])
@pytest.mark.parametrize("path", [SMALL, LARGE, OTHER])
def test_each_has_its_room(shop: Shop, moment: str, path: str) -> None:
    """Rules that are endorsed and rules of agents, many or few; an edit or a read; a gotcha that is small, large, or of no hold."""
    desk, gotcha, session = shop.desk, shop.gotchas[path], f"{moment}-{path}"
    alone = lost_start(desk, session)
    text = fire(desk, moment, path, session)
    kept = shop.endorsed & set(told(alone))
    assert claude.cost_units(text) <= claude.CAP_UNITS
    assert kept <= set(told(text)), "what a person endorsed stays"
    assert set(told(text)) <= {*told(alone), gotcha}
    fits = path != LARGE or len(kept) < MANY_ENDORSED // 2
    assert (gotcha in told(text)) == fits
    assert fits or gotcha in named(text)
    assert text.endswith(HELD) == (fits and moment == "edit" and path != OTHER)
    everything = shop.endorsed | shop.agents | {gotcha}
    assert left_over(text) == len(everything) - len(told(text)), "what did not fit is counted"
    desk.start(f"{session}-heard")
    own = fire(desk, moment, path, f"{session}-heard")
    if len(alone) + 1 + len(own) <= claude.CAP_UNITS:
        assert text == f"{alone}\n{own}", "nothing gives way without need"
    else:
        assert path == LARGE, "only what is large asks for room"


@pytest.mark.parametrize("moment", ["edit", "read"])
@pytest.mark.parametrize("path", [SMALL, LARGE, OTHER])
def test_nothing_is_told_twice_and_the_next_edit_passes(shop: Shop, moment: str, path: str) -> None:
    """What was told is not told again; what was only named comes with the next hook, which no bundle is beside."""
    desk, gotcha, session = shop.desk, shop.gotchas[path], f"twice-{moment}-{path}"
    lost_start(desk, session)
    first = fire(desk, moment, path, session)
    second = fire(desk, moment, path, session)
    assert told(second) == ([] if gotcha in told(first) else [gotcha])
    assert fire(desk, "edit", path, session) == ""
    assert fire(desk, "read", path, session) == ""


def test_the_same_comes_byte_for_byte(shop: Shop) -> None:
    """One context after another, and by a daemon that has to decide anew."""
    texts = []
    for number in range(2):
        lost_start(shop.desk, f"same-{number}")
        texts.append(fire(shop.desk, "edit", LARGE, f"same-{number}"))
    assert texts[0] == texts[1] != ""


@pytest.mark.parametrize("moment", ["pre-edit", "read"])
def test_why_foretells_what_then_comes(shop: Shop, moment: str) -> None:
    """By the same code: of the gotcha and of each rule, told or left out, with the rule that decided."""
    desk, session = shop.desk, f"why-{moment}"
    lost_start(desk, session)
    asked = [shop.gotchas[LARGE], *sorted(shop.endorsed)[:2], *sorted(shop.agents)[::8]]
    foreseen = {}
    for note in asked:
        request = api.Why(ref=str(note), session=session, at=(moment,), paths=(LARGE,), cwd=str(desk.repo))
        [seen] = desk.ask(request).foreseen
        foreseen[note] = (seen.outcome, seen.rule)
    text = fire(desk, "edit" if moment == "pre-edit" else "read", LARGE, session)
    newest = desk.ask(api.Deliveries(limit=1)).deliveries[0]
    left = {one.id: one.rule for one in newest.left_out}
    for note, (outcome, rule) in foreseen.items():
        assert (outcome in ("arrives", "holds")) == (note in told(text)), note
        assert rule == left.get(note, ""), note
