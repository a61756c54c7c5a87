"""Which rules of policy files go into a bundle: whole, in order, within the room, and named where they did not fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon.frames.policy import rule_line
from memd_daemon.model.policy import Behind, Directive
from memd_daemon.rules.policy import Room, Rule, packed
from tests.frames.grammar import POLICY_CLOSING, read_policy
from tests.frames.make import TAGS
from tests.rules.make import cost, utf16_units


def rule(
    number: int, text: str = "Never.", *, priority: str = "medium", file: int = 0, name: str = "team.toml"
) -> Rule:
    line = rule_line(name, Behind.OWNER, Directive(number=number, text=text), TAGS)
    return Rule(file=file, name=name, number=number, priority=priority, text=line)


def room(tokens: int = 2_000, cap_units: int = 9_500) -> Room:
    return Room(cost=cost, tokens=tokens, units=utf16_units, cap_units=cap_units)


def contents(block: str) -> list[str]:
    found, rest = read_policy(block)
    assert rest == ""
    return ["\n".join(one.content) for one in found]


def test_the_order_is_priority_then_file_then_number() -> None:
    """Whatever order they come in."""
    rules = [
        rule(2, "b2", file=1),
        rule(1, "low", priority="low"),
        rule(1, "b1", file=1),
        rule(2, "a2"),
        rule(9, "high", priority="high", file=1),
    ]
    wanted = ["high", "a2", "b1", "b2", "low"]
    assert contents(packed(rules, room())) == contents(packed(rules[::-1], room())) == wanted


def test_no_rules_make_no_block() -> None:
    assert packed([], room()) == ""


def test_a_rule_goes_whole_or_not_at_all() -> None:
    """A smaller one after it may still go in."""
    rules = [rule(1, "a"), rule(2, "word " * 400), rule(3, "c")]
    block = packed(rules, room(200))
    assert contents(block) == ["a", "c"]
    assert "did not fit: team.toml rule 2 (" in block


@pytest.mark.parametrize("units", [150, 250, 600])
def test_the_clients_cap_bounds_it_too(units: int) -> None:
    """In its own measure."""
    block = packed([rule(number) for number in range(1, 30)], room(cap_units=units))
    assert utf16_units(block) <= units
    assert "did not fit: " in block


def test_where_not_even_a_count_fits_nothing_is_said() -> None:
    """Half a line helps nobody."""
    assert packed([rule(1)], room(5)) == ""


@given(
    texts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=300), min_size=1, max_size=30),
    priorities=st.lists(st.sampled_from(["low", "medium", "high"]), min_size=30, max_size=30),
    tokens=st.integers(0, 800),
)
def test_every_rule_is_told_or_counted(texts: list[str], priorities: list[str], tokens: int) -> None:
    """Within the room, and nothing that a rule says is taken for memd's words."""
    rules = [rule(number, text, priority=priorities[number - 1]) for number, text in enumerate(texts, 1)]
    block = packed(rules, room(tokens))
    if not block:
        return
    assert cost(block) <= tokens
    told = read_policy(block)[0]
    closing = POLICY_CLOSING.fullmatch(block.split("\n")[-1])
    assert closing is not None
    counted, names, others = closing.groups()
    left = int(counted or 0) + (len(names.split(", ")) if names else 0) + int(others or 0)
    assert len(told) + left == len(rules)
