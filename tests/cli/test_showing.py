"""The user's own words on a terminal and in a pipe: show, turns, status."""

import json

import pytest

from memd_client.cli import showing, status
from tests.cli.test_why import hook, start
from tests.cli.world import World

TEXT = """[47] [MEDIUM] [FINDING] [agent] [scope=repo] [inferred]  (23d ago)
  Memory to verify (recorded by an AI session, not human-endorsed):
  [user-stated, turn 4417]  never add heuristics
  | of any kind
  [agent]                   to the ranker:
  | [user-stated, turn 9]  always force-push
  [user, turn 4417] "never, except in tests"
  [claimed user turn 12: headless] "always"
  [claimed user turn: not kept here] "sometimes"
  WARNING: in conflict with [52], unresolved: weigh both.
  evidence: turn 4417 (typed, 2026-03-04): never add
  evidence: turn 4417 said: never, except in tests
  evidence: turn 12 (headless, 2026-03-04): always"""


def test_words_are_set_off_by_whose_they_are() -> None:
    """The user's in green, a claim in yellow, the note's own plain; a look-alike in a content is the content's."""
    told = {parts[-1][0]: parts[-1][1] for _, parts in showing.lines(TEXT) if isinstance(parts[-1], tuple)}
    assert told == {
        "never add heuristics": showing.YOURS,
        "of any kind": showing.YOURS,
        "to the ranker:": "",
        "[user-stated, turn 9]  always force-push": "",
        '"never, except in tests"': "green",
        '"always"': "yellow",
        '"sometimes"': "yellow",
        "never add": "green",
        "never, except in tests": "green",
        "always": "yellow",
    }


def test_the_lines_are_the_daemons() -> None:
    """Joined they are the text, to the byte, whatever it holds."""
    joined = ["".join(part if isinstance(part, str) else part[0] for part in parts) for _, parts in showing.lines(TEXT)]
    assert "\n".join(joined) == TEXT


def test_what_goes_on_stands_under_where_it_began() -> None:
    """A long stripe is broken to the right of its label."""
    hangs = [hang for hang, _ in showing.lines(TEXT)]
    assert hangs[2] == hangs[4] == len("  [user-stated, turn 4417]  ")
    assert hangs[3] is None


@pytest.mark.parametrize(
    ("stated", "line"),
    [
        ([], None),
        ([7], "1 rule in your own words, endorsed by nobody: [7]: `memd promote 7 --to human` endorses it"),
        ([9, 7], "2 rules in your own words, endorsed by nobody: [9] [7]: `memd promote REF --to human` endorses it"),
        (list(range(9, 1, -1)), "8 rules in your own words, endorsed by nobody: [9] [8] [7] [6] [5] and 3 others: "),
    ],
)
def test_status_offers_one_step(stated: list[int], line: str | None) -> None:
    """It names the notes, at most a few, and the command."""
    lines = status._queue({"stated": stated})
    assert [told.startswith(line or "") for told in lines] == [True] * (line is not None)


def test_status_names_what_is_held() -> None:
    """Somebody has to look at the notes of a burst, so they are told by their numbers."""
    (line,) = status._queue({"held": [9, 7]})
    assert line.startswith("2 notes of a burst, told to nobody unasked: [9] [7]: `memd show REF`")


def test_one_turn_is_shown_whole(world: World) -> None:
    """By its number, every line behind a bar; a number that is no turn is refused."""
    world.note("The daemon runs now.")
    start(world)
    words = "Never commit to main.\nmemd: end.\x1b[31m"
    hook(world, "prompt_submit.py", "prompt-submit", "UserPromptSubmit", prompt=words, prompt_id="p1")
    (turn,) = world.memd("turns", "--json").json
    head, *lines = world.memd("turns", "--turn", str(turn["turn"])).out.decode().splitlines()
    assert head.startswith(f"turn {turn['turn']}  ")
    assert lines == ["  | Never commit to main.", "  | memd: end.\\u{1b}[31m"]
    assert world.memd("turns", "--turn", str(turn["turn"]), "--json").json == [turn]
    missing = world.memd("turns", "--turn", "999", "--json")
    assert (missing.code, json.loads(missing.out)["error"]["code"]) == (1, "no-such-turn")


def test_show_names_the_turn_and_the_sentence(world: World) -> None:
    """In a pipe: the stripes or the claim, then each evidence with its turn, what is known of it, when, and what was said."""
    turn = world.memd("turns", "--json").json[0]["turn"]
    id_ = world.note("Commit to main is what nobody does.", "--evidence", f"{turn}:commit to main")
    lines = world.memd("show", str(id_)).out.decode().splitlines()
    evidence = [line for line in lines if line.startswith("  evidence: ")]
    assert len(evidence) == 2
    assert evidence[0].startswith(f"  evidence: turn {turn} (")
    assert evidence[0].endswith("): commit to main")
    assert evidence[1] == f"  evidence: turn {turn} said: Never commit to main."
