"""The acts that change how a note stands, as a shell and as a person at a terminal run them."""

import re
from pathlib import Path

import msgspec
import pytest

from memd_client import api
from memd_client.cli.app import COMMANDS
from tests.cli.test_terminal import ANSWER, ASKED, NEW_KEY
from tests.cli.world import World

DOCS = Path(__file__).resolve().parents[2] / "docs"
RULE = "Tokens are validated with a leeway of some seconds."


@pytest.fixture(scope="module")
def enrolled(world: World) -> World:
    """The world with a person's key."""
    code, shown = world.at_terminal("human", "init", answers=NEW_KEY)
    assert code == 0, shown
    return world


def rule(world: World, slug: str, content: str = RULE) -> int:
    atom = world.note(f"What taught {slug}.")
    words = ("--level", "principle", "--slug", slug, "--sources", str(atom), "--why", "two outages")
    return world.note(content, *words, "--distinct")


def test_the_life_of_a_rule(world: World) -> None:
    """Recorded with its sources, revised by its slug, traced down to what taught it."""
    made = rule(world, "leeway")
    atom = world.note("A cookie expired on a slow host.")
    ran = world.memd(
        "revise", "leeway", "--text", "Tokens and cookies get a leeway.", "--absorb", str(atom), "--why", "cookies"
    )
    assert (ran.code, ran.out.decode().splitlines()[0]) == (0, f"[{made}] revised"), ran.err
    shown = world.memd("show", "leeway", "--json").json
    assert (shown["id"], shown["revision_count"], shown["level"]) == (made, 2, "principle")
    assert world.memd("show", str(atom), "--json").json["absorbed_by"] == made
    stale = world.memd("revise", "leeway", "--text", "Other.", "--why", "w", "--expected-revision", "1", "--json")
    assert (stale.code, stale.json["error"]["code"]) == (1, "revision-moved")
    traced = world.memd("trace", "leeway", "--json").json
    assert {step["how"] for step in traced["down"]} == {"absorbed", "derived from"}
    assert world.memd("trace", "leeway").out.decode() == traced["text"]


@pytest.mark.parametrize(
    ("words", "types"),
    [
        ((("archive", "{a}", "--reason", "old"), ("restore-note", "{a}")), ["archived", "restored"]),
        ((("absorb", "{a}", "{b}"), ("release", "{a}")), ["absorbed", "released"]),
        ((("amend", "{a}", "--priority", "high", "--tag", "x"), ("amend", "{a}", "--untag", "x")), ["amended"] * 2),
        ((("supersede", "{a}", "{b}"), ("unsupersede", "{a}")), ["superseded", "unsuperseded"]),
    ],
)
def test_an_act_and_what_takes_it_back(world: World, words: tuple[tuple[str, ...], ...], types: list[str]) -> None:
    """Each says what became of the note, and its log has both."""
    a, b = world.note(f"One of {types}."), world.note(f"The other of {types}, quite another matter.")
    for line in words:
        ran = world.memd(*(word.format(a=a, b=b) for word in line), "--json")
        assert (ran.code, ran.json["effect"]) == (0, "applied"), ran.err
    assert [e["type"] for e in world.memd("log", str(a), "--json").json if not e.get("local")] == ["recorded", *types]


def test_a_flag_is_reviewed(world: World) -> None:
    """One ancestor's at a time where it is named."""
    root = world.note("Locks are per process.")
    leaf = world.note("Two workers can deadlock, then.", "--derived-from", str(root))
    world.memd("revoke", str(root), "--reason", "per host")
    assert [f["id"] for f in world.memd("show", str(leaf), "--json").json["review"]] == [root]
    assert world.memd("review", str(leaf), "--of", str(root), "--json").json["effect"] == "applied"
    assert world.memd("review", str(leaf)).out.decode().startswith(f"[{leaf}] as it was")


def test_decisions_are_told_in_their_order(world: World) -> None:
    """Into a pipe as an agent gets them; with a note, those around it."""
    ids = [world.note(f"Decided: {what}.", "--kind", "decision") for what in ("paper", "stone", "glass")]
    told = world.memd("decisions", "--json").json
    assert [n["id"] for n in told if n["id"] in ids] == ids
    around = world.memd("decisions", str(ids[1]), "--around", "1", "--json").json
    assert [n["id"] for n in around] == ids
    text = world.memd("decisions", str(ids[0]), "--around", "0").out.decode()
    assert text.startswith("memd: 1 note")
    assert "Decided: paper." in text
    page = world.memd("decisions", "--limit", "1")
    assert "more (--limit, --all)" in page.err


@pytest.mark.parametrize(
    "words",
    [
        ("resolve", "1", "2"),
        ("revise", "x", "--text", "t"),
        ("link-evidence", "1"),
        ("link-evidence", "1", "no-colon"),
        ("amend", "1"),
        ("remember", "x is y", "--slug", "s"),
    ],
)
def test_an_act_that_says_too_little_is_usage(world: World, words: tuple[str, ...]) -> None:
    """Exit 2 and what is missing."""
    world.note("Note for usage.")
    assert world.memd(*words).code == 2


def test_a_person_revises_what_was_endorsed(enrolled: World) -> None:
    """An agent's revision waits; the person's own is shown whole, signed once and told from then on."""
    made = rule(enrolled, "grace", "Cookies get a grace period of a minute.")
    assert enrolled.at_terminal("promote", "grace", "--to", "human", answers=[ANSWER])[0] == 0
    words = ("revise", "grace", "--text", "Cookies get a grace period of two minutes.", "--why", "slow hosts")
    assert enrolled.memd(*words, "--json").json["effect"] == "proposed"
    assert "a minute" in enrolled.memd("show", "grace", "--json").json["content"]
    code, shown = enrolled.at_terminal(
        *words[:3], "Cookies get a grace of three minutes.", *words[4:], answers=[ANSWER]
    )
    assert code == 0, shown
    assert f"revise [{made}]" in shown
    assert "│ Cookies get a grace of three minutes." in shown
    told = enrolled.memd("show", "grace", "--json").json
    assert (told["content"], told["provenance"]) == ("Cookies get a grace of three minutes.", "human")
    assert told["proposals"] == []


def test_a_person_settles_a_conflict_with_one_passphrase(enrolled: World) -> None:
    """Two endorsed notes: each event is shown under its own note, and one answer signs them all."""
    a, b = enrolled.note("Deploys go out on Tuesdays."), enrolled.note("Invoices go out on Mondays.")
    for note in (a, b):
        assert enrolled.at_terminal("promote", str(note), "--to", "human", answers=[ANSWER])[0] == 0
    c = enrolled.note("Deploys go out on Fridays instead.", "--contradicts", str(a))
    unsigned = enrolled.memd("resolve", str(a), str(c), "--b-wins", "--json")
    assert unsigned.json["effect"] == "proposed"
    assert enrolled.at_terminal("promote", str(c), "--to", "human", answers=[ANSWER])[0] == 0
    code, shown = enrolled.at_terminal("resolve", str(a), str(c), "--b-wins", "--reason", "asked", answers=[ANSWER])
    assert code == 0, shown
    assert shown.count(ASKED) == 1
    assert f"resolve [{a}]" in shown
    assert f"resolve [{c}]" in shown
    told = enrolled.memd("show", str(a), "--json").json
    assert f"contradicted by [{c}]: asked" in told["tombstone"]
    assert enrolled.memd("show", str(c), "--json").json["conflicts"] == []


def test_every_command_stands_in_the_docs() -> None:
    """By its name, in a page that people read."""
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    table = (DOCS / "json.md").read_text(encoding="utf-8")
    acts = ("absorb", "release", "revise", "resolve", "review", "link-evidence", "amend", "archive", "restore-note")
    for command in (*acts, "decisions", "trace"):
        assert command in COMMANDS
        assert re.search(rf"memd {command}\b", page), command
        assert f"`{command}`" in table, command


@pytest.mark.parametrize("shape", [api.NoteOut, api.StepOut, api.BehindOut, api.ProposalOut, api.FlagOut])
def test_every_field_stands_in_the_docs(shape: type[msgspec.Struct]) -> None:
    """Of a note, and of what a trace tells."""
    table = (DOCS / "json.md").read_text(encoding="utf-8")
    assert [name for name in shape.__struct_fields__ if f'"{name}"' not in table] == []
