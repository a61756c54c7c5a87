"""Who had the words first: which order of saying, reading and fetching decides whose a note's words are, and which does not."""

from collections.abc import Callable
from itertools import permutations

import pytest

from memd_daemon import errors
from tests.service.copying import COPY, ENV, PAGE, URL, page, read, say, shell, written
from tests.service.desk import Desk, git

Step = Callable[[Desk], None]


def committed(desk: Desk) -> None:
    (desk.repo / "notes.md").write_text(PAGE)
    git(desk.repo, "add", "-A")


def reads(desk: Desk) -> None:
    """A file that git has."""
    committed(desk)
    read(desk, desk.repo / "notes.md")


def fetches(desk: Desk) -> None:
    page(desk)


def runs(desk: Desk) -> None:
    """A command that names no file."""
    shell(desk, "make explain", PAGE)


def says(desk: Desk) -> None:
    say(desk, f"Listen. {COPY}")


def pastes(desk: Desk) -> None:
    say(desk, f"look at this:\n```\n{COPY}\n```")


def is_refused_as_rule(desk: Desk) -> bool:
    try:
        desk.remember(COPY, env=ENV, kind="directive")
    except errors.CopiedDirective:
        return True
    return False


def named(steps: tuple[Step, ...]) -> str:
    return "-".join(step.__name__ for step in steps)


@pytest.mark.parametrize("steps", list(permutations((says, reads, fetches))), ids=named)
def test_what_the_user_said_is_the_users_in_any_order(live: Desk, steps: tuple[Step, ...]) -> None:
    """Before a file or a page had it, or after: no copy, and a rule."""
    for step in steps:
        step(live)
        live.clock.ms += 1_000
    assert written(live) == ("user", "")
    assert not is_refused_as_rule(live)


@pytest.mark.parametrize("steps", list(permutations((pastes, reads))), ids=named)
def test_what_the_user_pasted_is_the_files_in_any_order(live: Desk, steps: tuple[Step, ...]) -> None:
    """It is no statement: no rule is made of it."""
    for step in steps:
        step(live)
        live.clock.ms += 1_000
    assert written(live) == ("inference", "")
    assert is_refused_as_rule(live)


@pytest.mark.parametrize(
    ("steps", "source"),
    [
        ((reads, fetches), ("inference", "")),
        ((fetches, reads), ("document", URL)),
        ((reads, runs), ("inference", "")),
        ((runs, reads), ("tool", "Bash")),
        ((fetches, runs), ("document", URL)),
        ((runs, fetches), ("tool", "Bash")),
        ((reads, fetches, reads), ("inference", "")),
        ((fetches, reads, fetches), ("document", URL)),
    ],
)
def test_of_a_file_a_page_and_a_command_who_was_first_has_them(
    live: Desk, steps: tuple[Step, ...], source: tuple[str, str]
) -> None:
    """What came later may be made of what came before, never the other way round; a rule is refused in any case."""
    for step in steps:
        step(live)
        live.clock.ms += 1_000
    assert written(live) == source
    assert is_refused_as_rule(live)


def test_reading_a_file_first_gains_nothing_that_not_fetching_would_not(live: Desk) -> None:
    """Who puts a page unseen into a file that git has is told nothing of it: a page that is fetched afterwards changes nothing."""
    reads(live)
    alone = written(live, COPY)
    fetches(live)
    assert written(live, f"{COPY} ") == alone == ("inference", "")
