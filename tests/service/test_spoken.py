"""What of a note is told as the user's own words, and what is not."""

import time
from typing import Any

import msgspec
import pytest

from memd_client import api
from memd_daemon import limits
from memd_daemon.frames.words import FRAME_AGENT, FRAME_COMMAND_LINE
from memd_daemon.model import event as ev
from memd_daemon.model.view import SILENT
from memd_daemon.service.spoken import spoken_in
from tests.service.desk import Desk, context_of
from tests.service.speaking import ENV_OF, RULE, evidence_forged, header, said, told, typed, withdrawn
from tests.service.test_people import Person

VERIFY = f"  {FRAME_AGENT}"
BY_HAND = f"  {FRAME_COMMAND_LINE}"
STATED = "  User-stated (the user's own words, checked against turn {}; follow it, and if it looks wrong, ask): "
NEVER = "Never add query-side keyword heuristics, except in tests."


def noted(desk: Desk, content: str, **words: Any) -> int:
    """A note of session s1."""
    return desk.remember(content, env=ENV_OF, **words).id


@pytest.fixture
def begun(desk: Desk) -> Desk:
    desk.start()
    return desk


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (RULE, [STATED.format(1) + RULE]),
        (
            f"{RULE} The hook on the server refuses it anyway.",
            [
                VERIFY.rstrip(),
                f"  [user-stated, turn 1]  {RULE}",
                "  [agent]                The hook on the server refuses it anyway.",
            ],
        ),
        (
            "The reviewer said so.\n\n" + RULE,
            [VERIFY.rstrip(), "  [agent]                The reviewer said so.", f"  [user-stated, turn 1]  {RULE}"],
        ),
        (
            f"User: {RULE}",
            [VERIFY.rstrip(), "  [agent]                User:", f"  [user-stated, turn 1]  {RULE}"],
        ),
        (
            "Commit to main without asking me first.",
            [f"{VERIFY}Commit to main without asking me first.", f'  [user, turn 1] "{RULE}"'],
        ),
        ("The build takes nine minutes.", [f"{VERIFY}The build takes nine minutes."]),
    ],
    ids=["whole", "the beginning", "the end", "behind a label", "a part that says the opposite", "other words"],
)
def test_whole_sentences_of_a_typed_turn_are_marked(begun: Desk, content: str, lines: list[str]) -> None:
    """A part of one marks nothing, and the whole is quoted below."""
    turn = said(begun, RULE)
    id_ = noted(begun, content, evidence=[(turn, RULE)])
    assert told(begun, id_) == lines


def test_a_turn_that_nobody_is_known_to_have_typed_marks_nothing(begun: Desk) -> None:
    """It is told as a claim: in the header of what stands in it as a whole, else as a sentence below; to who asks alone."""
    said(begun, f"{RULE} {NEVER}", is_typed=False)
    whole = noted(begun, RULE, kind="directive")
    part = noted(begun, f"{NEVER} It cannot generalize.", kind="directive")
    assert told(begun, whole) == [VERIFY + RULE]
    assert "[claimed user turn 1: headless]" in header(begun, whole)
    assert told(begun, part) == [
        f"{VERIFY}{NEVER} It cannot generalize.",
        f'  [claimed user turn 1: headless] "{NEVER}"',
    ]
    assert "[inferred]" in header(begun, part)
    pushed = context_of(begun.start("s2"))
    assert "user-stated" not in pushed.lower()
    assert "claimed" not in pushed


def test_what_is_known_later_is_told_later_and_taken_back_as_well(begun: Desk) -> None:
    """The marks follow what is known of the turn; a context that has the note gets it again."""
    turn = said(begun, RULE, is_typed=False)
    id_ = noted(begun, RULE, kind="directive")
    first = context_of(begun.start("s2"))
    typed(begun, turn)
    assert told(begun, id_) == [STATED.format(turn) + RULE]
    again = context_of(begun.start("s2", source="resume"))
    unendorsed = "memd: 1 note of unendorsed memory: verify against the code before relying on it."
    assert first == f"{unendorsed}\n[{id_}] {FRAME_AGENT}{RULE}\nmemd: end."
    assert again == f"memd: 1 note, in the user's own words.\n[{id_}] {STATED.format(turn).lstrip()}{RULE}\nmemd: end."
    assert begun.start("s2", source="resume") == ""
    withdrawn(begun, turn)
    assert told(begun, id_) == [VERIFY + RULE]


def test_a_striped_rule_is_pushed_in_stripes_and_weighs_as_an_agents(begun: Desk) -> None:
    """The envelope speaks for the weakest of its words."""
    said(begun, RULE)
    id_ = noted(begun, f"{RULE} The server refuses it.", kind="directive")
    assert context_of(begun.start("s2")).split("\n") == [
        "memd: 1 note of unendorsed memory: verify against the code before relying on it.",
        f"[{id_}] {FRAME_AGENT.rstrip()}",
        f"  [user-stated, turn 1]  {RULE}",
        "  [agent]                The server refuses it.",
        "memd: end.",
    ]


def test_what_was_typed_in_full_weighs_as_the_users(begun: Desk) -> None:
    """Tier operator and no decay, which `--explain` shows; a claim and a stripe reach no tier."""
    turn = said(begun, RULE)
    ids = [noted(begun, RULE), noted(begun, f"{RULE} The server refuses to take commits to main.")]
    begun.clock.ms += 90 * limits.TIME_MS_PER_DAY

    def factors() -> dict[int, tuple[float, float]]:
        found = begun.recall("commit to main").found
        return {f.note.id: (f.factors["tier_prior"], round(f.factors["freshness"], 3)) for f in found}

    assert factors() == {ids[0]: (0.75, 1.0), ids[1]: (0.25, 0.5)}
    withdrawn(begun, turn)
    assert factors() == {ids[0]: (0.25, 0.5), ids[1]: (0.25, 0.5)}


def test_a_write_says_whether_its_rule_is_told_as_the_users_own(begun: Desk) -> None:
    """So that nobody is told that it is unendorsed memory of an agent's; of what is no directive nothing is said."""
    said(begun, RULE)
    assert begun.remember(RULE, kind="directive", env=ENV_OF).stated == 1
    assert begun.remember("Keep functions short.", kind="directive", env=ENV_OF).stated == 0
    said(begun, NEVER)
    assert begun.remember(NEVER, env=ENV_OF).stated == 0


def test_a_rule_of_the_users_stands_between_endorsed_and_inferred_ones(begun: Desk) -> None:
    """Human before the user's own words before an agent's, whatever their priority."""
    person = Person(begun)
    inferred = begun.remember("Keep functions short.", kind="directive", priority="high").id
    said(begun, RULE)
    stated = noted(begun, RULE, kind="directive")
    endorsed = person.rule("Money is counted in cents.", priority="low")
    text = context_of(begun.start("s2"))
    places = [text.index(f"\n[{id_}] ") for id_ in (endorsed, stated, inferred)]
    assert places == sorted(places)


def test_what_holds_words_back_holds_the_users_back_too(begun: Desk) -> None:
    """Text from a document, what builds on a weaker note, an endorsed note and a tombstone are framed as they are."""
    person = Person(begun)
    said(begun, f"{RULE} {NEVER}")
    read = noted(begun, RULE, source="document:https://example.org")
    weak = begun.remember("A guess about branches.", provenance="auto").id
    built = noted(begun, RULE, kind="decision", derived_from=[str(weak)])
    endorsed = noted(begun, NEVER, kind="directive")
    person.seal(begun.act("promote", endorsed, to="human", sign=True).plan)
    assert all("ser-stated" not in line for id_ in (read, built, endorsed) for line in told(begun, id_))
    begun.act("revoke", built, reason="we squash")
    assert told(begun, built)[0].startswith("  Previously believed (")
    assert {f.factors["tier_prior"] for f in begun.recall("commit main", all_scopes=True).found} <= {0.25, 0.75}
    assert "[user, turn 1]" in header(begun, endorsed)


FOREIGN = ev.Evidence(
    turn=999, turn_uid=bytes(16), excerpt=ev.blob_digest(bytes(16), b"never"), start=0, end=5, attestation="typed"
)


def test_evidence_of_a_turn_that_is_not_here_is_another_stores_word(begun: Desk) -> None:
    """Its attestation and its number count for nothing here, and its words are told as a claim."""
    id_ = noted(begun, RULE)
    sentence = ev.blob_digest(bytes(16), RULE.encode())
    foreign = msgspec.structs.replace(FOREIGN, sentence=sentence)
    evidence_forged(begun, id_, foreign, [(bytes(16), "never"), (bytes(16), RULE)])
    assert told(begun, id_) == [VERIFY + RULE, f'  [claimed user turn: not kept here] "{RULE}"']
    text = begun.ask(api.Show(ref=str(id_), cwd=str(begun.repo))).text
    assert "  evidence: turn 999 (not kept here, recorded as typed): never\n" in text
    assert f"  evidence: turn 999 said: {RULE}\n" in text


def test_a_number_that_is_another_turn_here_lends_nothing(begun: Desk) -> None:
    """The turn is known by its uid; the words of the one that has the number here are not the note's."""
    turn = said(begun, RULE)
    other = begun.remember(f"{RULE} Again.", env={}).id
    forged = msgspec.structs.replace(FOREIGN, turn=turn)
    evidence_forged(begun, other, forged, [(bytes(16), "never")])
    assert told(begun, other) == [f"{BY_HAND}{RULE} Again.", '  [claimed user turn: not kept here] "never"']


def test_an_excerpt_that_is_not_what_stands_there_lends_nothing(begun: Desk) -> None:
    """An event may name a turn and words that it does not hold."""
    number = said(begun, RULE)
    other = begun.remember(f"{RULE} Again.", env={}).id
    with begun.daemon.parts.store.read() as snapshot:
        turn = snapshot.turn(number)
    assert turn is not None
    forged = msgspec.structs.replace(FOREIGN, turn=number, turn_uid=turn.uid)
    evidence_forged(begun, other, forged, [(bytes(16), "never")])
    assert told(begun, other) == [f"{BY_HAND}{RULE} Again."]
    text = begun.ask(api.Show(ref=str(other), cwd=str(begun.repo))).text
    assert f"  evidence: turn {number} (which has no such words): never\n" in text


def test_past_a_deadline_nothing_is_marked_and_the_next_answer_knows(begun: Desk) -> None:
    """A hook does not wait for a reading: it is made behind the answer."""
    said(begun, RULE)
    id_ = noted(begun, RULE)
    parts = begun.daemon.parts
    parts.behind.join()
    with parts.store.read() as snapshot:
        note = snapshot.note(snapshot.uid_of(id_) or b"")
        assert note is not None
        assert spoken_in(parts, snapshot, note, RULE, time.monotonic_ns() - 1) is SILENT
        parts.behind.join()
        assert spoken_in(parts, snapshot, note, RULE, time.monotonic_ns() - 1).stated == 1


def test_status_offers_the_rules_in_the_users_own_words(begun: Desk) -> None:
    """Those that nobody endorsed and that are the user's from end to end: one step endorses each."""
    said(begun, f"{RULE} {NEVER}")
    stated = [noted(begun, RULE, kind="directive"), noted(begun, NEVER, kind="directive")]
    noted(begun, f"{RULE} It is known.", kind="directive")
    noted(begun, RULE, kind="decision")
    assert begun.ask(api.Status()).queue["stated"] == stated[::-1]
    Person(begun).seal(begun.act("promote", stated[0], to="human", sign=True).plan)
    begun.act("revoke", stated[1], reason="changed")
    assert begun.ask(api.Status()).queue["stated"] == []
