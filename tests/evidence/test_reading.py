"""Which words of a note are the user's own: whole statements of a turn, at the beginning of a sentence of the note."""

import pytest

from memd_daemon import limits
from memd_daemon.evidence import Said, read
from tests.evidence import tables

TURN = 7


def marked(turn: str, note: str) -> list[str]:
    return [note[span.start : span.end] for span in read(note, [Said(TURN, turn)]).spans]


def ids(rows: list) -> list[str]:
    return [row[0] for row in rows]


@pytest.mark.parametrize(("what", "turn", "note", "spans"), tables.BEGINNINGS, ids=ids(tables.BEGINNINGS))
def test_a_span_begins_a_sentence_of_the_note(what: str, turn: str, note: str, spans: list[str]) -> None:
    """The content, a sentence's end, an empty line or `User:` stands before it, and nothing that governs it."""
    assert marked(turn, note) == spans


@pytest.mark.parametrize(("what", "turn", "note", "spans"), tables.CONTINUATIONS, ids=ids(tables.CONTINUATIONS))
def test_what_follows_in_the_sentence_is_the_notes(what: str, turn: str, note: str, spans: list[str]) -> None:
    """The span ends where the user's words end as words; a note that makes a question of them marks nothing."""
    assert marked(turn, note) == spans


@pytest.mark.parametrize(("what", "turn", "note", "spans"), tables.WHOLE_SENTENCES, ids=ids(tables.WHOLE_SENTENCES))
def test_a_span_is_whole_sentences_of_the_turn(what: str, turn: str, note: str, spans: list[str]) -> None:
    """With what governs them; a part of a sentence marks nothing."""
    assert marked(turn, note) == spans


@pytest.mark.parametrize(("what", "turn", "fragment"), tables.ENDS_THAT_ARE_NONE, ids=ids(tables.ENDS_THAT_ARE_NONE))
def test_a_fragment_is_no_sentence(what: str, turn: str, fragment: str) -> None:
    """What stands behind a full stop that may be none marks nothing; the whole sentence does."""
    assert (marked(turn, fragment), marked(turn, turn)) == ([], [turn])


@pytest.mark.parametrize(("what", "turn", "spans"), tables.QUOTED_BEFORE, ids=ids(tables.QUOTED_BEFORE))
def test_a_quoted_sentence_may_end_the_one_around_it(what: str, turn: str, spans: list[str]) -> None:
    """With its own full stop in double marks, and a capital behind them; a quoted word ends nothing."""
    assert marked(turn, "Keep the table for now.") == spans


@pytest.mark.parametrize(("what", "turn", "spans"), tables.DASHES, ids=ids(tables.DASHES))
def test_a_name_behind_a_dash_says_whose_words_they_are(what: str, turn: str, spans: list[str]) -> None:
    """A dash in the place of a verb does not."""
    assert marked(turn, turn) == spans


@pytest.mark.parametrize(("language", "turn", "sentence"), tables.LANGUAGES, ids=ids(tables.LANGUAGES))
def test_sentences_of_any_language(language: str, turn: str, sentence: str) -> None:
    """The second sentence counts, without its last character or its first it does not."""
    assert marked(turn, sentence) == [sentence]
    assert marked(turn, sentence[1:]) == []
    assert marked(turn, sentence[:-2]) == []


@pytest.mark.parametrize("turn", tables.QUESTIONS)
def test_a_question_is_no_statement(turn: str) -> None:
    """With a mark of any script, or without one where it may be a question; its own words mark nothing."""
    assert marked(turn, turn.rstrip("?？؟;՞⁉! ")) == []
    assert marked(turn, turn) == []


@pytest.mark.parametrize("turn", [*tables.QUOTED, *tables.PASTES])
def test_what_is_quoted_or_pasted_is_no_statement(turn: str) -> None:
    """Quotation marks of any language, nested and unbalanced; code, quotes, tables, tags, mails, logs, long blocks."""
    assert marked(turn, "Never commit to main.") == []


@pytest.mark.parametrize(("what", "turn", "note", "spans"), tables.LISTS, ids=ids(tables.LISTS))
def test_an_item_counts_with_what_introduces_it(what: str, turn: str, note: str, spans: list[str]) -> None:
    """The whole paragraph before the list, and the item above; in the order of the turn, nothing between."""
    assert marked(turn, note) == spans


@pytest.mark.parametrize(
    ("turn", "note"),
    [
        ("It’s “never” — so don't.", 'It\'s "never" - so don’t.'),
        ("NEVER Commit TO main.", "never commit to MAIN."),
        ("never  commit\n to\tmain", "never commit to main"),
        ("ｎｅｖｅｒ ｃｏｍｍｉｔ to main", "never commit to main"),
        ("never ﬁx the main", "never fix the main"),
        ("niemals Straße und Fuß", "NIEMALS STRASSE UND FUSS"),
        ("Jamais de cafe\u0301 au bureau", "Jamais de café au bureau"),
        ("main에 커밋하지 마 제발", "main에 커밋하지 마 제발".encode().decode()),
    ],
)
def test_the_same_words_in_another_spelling(turn: str, note: str) -> None:
    """NFKC, case, white space, quotation marks and dashes make no difference."""
    assert marked(turn, note) == [note]


@pytest.mark.parametrize(
    ("turn", "note"),
    [
        ("retry at most 10² times", "retry at most 102 times"),
        ("use 5½ percent here", "use 51/2 percent here"),
        ("never commit to main", "never commit, to main"),
        ("never commit to main", "never commit tо main"),
        ("never commit to main", "never commit to\u200b main"),
        ("use 1.000 as limit", "use 1,000 as limit"),
    ],
)
def test_other_words_are_other_words(turn: str, note: str) -> None:
    """Exponents, fractions, commas, letters of another script, invisible characters."""
    assert marked(turn, note) == []


@pytest.mark.parametrize(
    ("turn", "note", "quoted"),
    [
        ("Never commit to main, except in tests.", "Never commit to main.", ["Never commit to main, except in tests."]),
        ("Never commit to main.", "It is wrong: never commit to main.", ["Never commit to main."]),
        ("Should we commit to main?", "We commit to main.", ["Should we commit to main?"]),
        ("Never do these:\n- foo\n- commit to main", "commit to main", ["Never do these: … commit to main"]),
        ("Never do these:\n- commit to main", "commit to main", ["Never do these: commit to main"]),
        ("Never commit to main.", "Never commit to main. And never commit to main.", []),
        ("Go on. Never commit to main now. Bye.", "We commit to main.", ["Never commit to main now."]),
        ("never commit to main", "never commit", []),
        ("メインに直接コミットしないでください。", "直接コミットする", ["メインに直接コミットしないでください。"]),
        ("メインに直接コミットしないでください。", "コミット", []),
        ("```\nnever commit to main\n```", "never commit to main", []),
        ("2026-05-04 10:00 never commit to main", "never commit to main", []),
        ("> never commit to main", "never commit to main", []),
    ],
)
def test_a_part_of_a_sentence_quotes_the_whole(turn: str, note: str, quoted: list[str]) -> None:
    """Three words in common or more, or as many characters; never of code or a paste."""
    assert [q.sentence for q in read(note, [Said(TURN, turn)]).quoted] == quoted


@pytest.mark.parametrize(
    ("turns", "note", "whole"),
    [
        ([NEVER := "Never commit to main. Always write a test."], NEVER, 1),
        ([NEVER], "Always write a test.", 1),
        ([NEVER], "User: never commit to main. Always write a test", 0),
        ([NEVER], "User:\n\nNever commit to main. Always write a test.", 0),
        ([NEVER], "Never commit to main. User: always write a test.", 0),
        (["The user: never commit to main."], "The user: never commit to main.", 1),
        ([NEVER], "Always write a test. Never commit to main.", 0),
        ([NEVER], "Never commit to main. So we branch.", 0),
        (["Never commit to main.", "Always write a test."], NEVER, 0),
        (["Never commit to main.", NEVER], NEVER, 2),
        ([NEVER, "Never commit to main."], NEVER, 1),
        ([NEVER, NEVER], NEVER, 2),
        (["- never push by force\n- write a test"], "- never push by force\n- write a test", 1),
        ([""], "Never commit to main.", 0),
        (["x"], "", 0),
    ],
)
def test_a_content_is_covered_by_one_turn(turns: list[str], note: str, whole: int) -> None:
    """In the turn's order, with punctuation and markers between, and no label; of several turns the newest."""
    assert read(note, [Said(n, text) for n, text in enumerate(turns, 1)]).whole == whole


def test_of_turns_that_say_the_same_the_newest_is_named() -> None:
    """Whatever their order, and each span has one turn."""
    turns = [Said(3, "Never commit to main."), Said(9, "Never commit to main."), Said(5, "Use a branch always.")]
    spans = read("Never commit to main. Foo. Use a branch always.", turns).spans
    assert [span.turn for span in spans] == [9, 5]


def test_a_long_turn_is_looked_at_up_to_an_empty_line() -> None:
    """What stands before the bound counts, what stands behind it does not."""
    filler = "```\n" + "x\n" * (limits.EVIDENCE_TURN_LOOKED_AT_CHARS // 2) + "```\n\n"
    assert marked("Never commit to main.\n\n" + filler, "Never commit to main.") == ["Never commit to main."]
    assert marked(filler + "Never commit to main.", "Never commit to main.") == []
