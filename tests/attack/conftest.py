"""Worlds for the attacks on the boundary, and the line that counts them."""

from collections.abc import Callable, Iterator

import pytest

from tests.attack.built import built
from tests.attack.cases import Attack
from tests.attack.siege import Siege

Fight = Callable[[Attack], None]
Limit = Callable[[str], None]


@pytest.fixture(scope="session")
def first() -> Iterator[Siege]:
    """The world that the others are copies of; its daemon is down."""
    made = built()
    try:
        yield made
    finally:
        made.close()


class Camp:
    """The world that a module's attacks share; after one that got through the next begins in a new one."""

    def __init__(self, first: Siege) -> None:
        self._first = first
        self.siege = Siege(first)

    def renew(self) -> None:
        self.siege.close()
        self.siege = Siege(self._first)


@pytest.fixture(scope="module")
def camp(first: Siege) -> Iterator[Camp]:
    """One world for a module's attacks."""
    made = Camp(first)
    try:
        yield made
    finally:
        made.siege.close()


@pytest.fixture
def lone(first: Siege) -> Iterator[Siege]:
    """A world of a test's own."""
    made = Siege(first)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def fight(request: pytest.FixtureRequest) -> Fight:
    """Carries an attack out in the world that it needs, and counts it."""

    def carry_out(attack: Attack) -> None:
        camp = None if attack.alone else request.getfixturevalue("camp")
        siege = request.getfixturevalue("lone") if camp is None else camp.siege
        request.node.user_properties.append(("attack", str(attack)))
        try:
            attack.try_on(siege)
        except BaseException:
            if camp is not None:
                camp.renew()
            raise

    return carry_out


@pytest.fixture
def known_limit(request: pytest.FixtureRequest) -> Limit:
    """Counts a limit that SECURITY.md lists; it is never counted among the attacks."""

    def count(name: str) -> None:
        request.node.user_properties.append(("known limit", name))

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """`attacks: N tried, M through`, with the names of those that got through; the known limits stand beside it."""
    told: dict[str, dict[str, bool]] = {"attack": {}, "known limit": {}}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for kind, name in report.user_properties:
                if report.when == "call" and kind in told:
                    told[kind][str(name)] = outcome == "failed"
    if tried := told["attack"]:
        through = [name for name, is_through in tried.items() if is_through]
        for name in through:
            terminalreporter.write_line(f"through: {name}")
        terminalreporter.write_line(f"attacks: {len(tried)} tried, {len(through)} through")
    if limits := told["known limit"]:
        terminalreporter.write_line(f"known limits: {len(limits)}, listed ({', '.join(limits)})")
