"""What must not be stored goes, everything else stays to the byte, and the work grows with the text."""

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.redact import Redactor, Span
from memd_daemon.redact.rule import Rule
from memd_daemon.redact.table import HEADERS, TOKENS
from tests.boundaries.test_shape import WRITTEN
from tests.redact.corpus import HELD, KEY_LINES, KEYS, LOOKALIKES, whole

REDACTOR = Redactor.default()
PARSER: Any = re._parser  # type: ignore[attr-defined]  # private, and the only one that says what it read
RULES = (*TOKENS, *HEADERS)
AROUND = ("{}", "please use {} now", 'K="{}"', "line\\n{}\\n", "`{}`", "键{}键", "{}, and then")


def ids(rules: tuple[Rule, ...]) -> list[str]:
    return [f"{rule.name}-{rule.anchors[0]}" for rule in rules]


@pytest.mark.parametrize("rule", RULES, ids=ids(RULES))
@pytest.mark.parametrize("around", AROUND)
def test_each_kind_is_found_wherever_it_stands(rule: Rule, around: str) -> None:
    """The example of a row goes, under the row's name, in prose, quotes, escapes, code and beside letters of any script."""
    text = around.format(rule.example_text)
    redacted = REDACTOR.redact(text)
    assert f"[redacted:{rule.name}]" in redacted
    assert rule.example.partition("·")[2].strip()[:20] not in redacted


@pytest.mark.parametrize("rule", RULES, ids=ids(RULES))
@pytest.mark.parametrize("around", AROUND)
def test_the_lookalike_of_each_kind_survives(rule: Rule, around: str) -> None:
    """What only looks like the row's kind comes through to the byte."""
    text = around.format(rule.lookalike)
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize(("text", "gone", "name"), HELD, ids=[text for text, _, _ in HELD])
def test_a_value_goes_and_what_is_around_it_stays(text: str, gone: str, name: str) -> None:
    """Only the value is replaced, and the marker says which kind it was."""
    assert REDACTOR.redact(whole(text)) == whole(text.replace(gone, f"[redacted:{name}]"))


@pytest.mark.parametrize("text", LOOKALIKES)
def test_a_lookalike_comes_through_to_the_byte(text: str) -> None:
    """Names, types, references, digests and placeholders are what a note is about."""
    assert REDACTOR.redact(text) == text


def test_the_corpus_is_as_wide_as_it_says() -> None:
    """At least sixty kinds and a hundred look-alikes, counted without the rows' own."""
    assert len({rule.name for rule in RULES} | {name for _, _, name in HELD}) >= 60
    assert len(set(LOOKALIKES)) >= 100


def test_all_lookalikes_together_survive() -> None:
    """One look-alike does not make a credential of the next."""
    text = "\n".join(LOOKALIKES)
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize("key", KEYS)
def test_a_key_in_armour_goes_as_a_whole(key: str) -> None:
    """No line of it is left, with its end or without, in JSON, in code, quoted or indented."""
    redacted = REDACTOR.redact(f"before\n{whole(key)}\nafter it all")
    assert "[redacted:private-key]" in redacted
    assert redacted.startswith("before\n")
    assert redacted.endswith("after it all")
    assert not any(line in redacted or line[:16] in redacted for line in KEY_LINES)


@pytest.mark.parametrize("label", ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("width", [64, 76, 10_000])
@pytest.mark.parametrize("end", ["\n", "\n    ", "\\n"])
def test_a_key_in_base64_goes_with_all_its_lines(label: str, width: int, end: str) -> None:
    """As Kubernetes holds it, and wrapped as tools wrap it; what follows stays."""
    armour = f"-----BEGIN {label}PRIVATE KEY-----\n{KEY_LINES[0]}\n{KEY_LINES[1]}\n"
    encoded = b64encode(armour.encode()).decode()
    lines = end.join(encoded[at : at + width] for at in range(0, len(encoded), width))
    text = f"client-key-data: {lines}\nnamespace: staging"
    assert REDACTOR.redact(text) == "client-key-data: [redacted:private-key]\nnamespace: staging"


def test_a_key_that_was_cut_off_takes_no_sentence_with_it() -> None:
    """Material goes, the line after it stays."""
    cut = f"-----BEGIN· RSA PRIVATE KEY-----\n{KEY_LINES[0]}\nMIIE"
    assert REDACTOR.redact(whole(cut)) == "[redacted:private-key]"
    assert REDACTOR.redact(whole(cut) + "\nplease rotate it") == "[redacted:private-key]\nMIIE\nplease rotate it"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("a <private>b</private> c", "a [redacted:private] c"),
        ("a <PRIVATE>b</Private> c", "a [redacted:private] c"),
        ("a < private >b</ private > c", "a [redacted:private] c"),
        ("a <private>b\n\nc", "a [redacted:private]"),
        ("<private></private>", "[redacted:private]"),
        ("<private>a</private><private>b", "[redacted:private][redacted:private]"),
        ("<private>a <private>b</private> c</private> d", "[redacted:private] d"),
        ("a </private> b", "a </private> b"),
        ("a </private> <private>b</private>", "a </private> [redacted:private]"),
        ("password = <private>x</private>", "password = [redacted:private]"),
        ("<private>password = 'hunter22'</private>", "[redacted:private]"),
        ("<privatee>b</privatee>", "<privatee>b</privatee>"),
        ("<private", "<private"),
    ],
)
def test_what_is_marked_private_is_not_stored(text: str, redacted: str) -> None:
    """From tag to tag, nested ones as one, and to the end where the second tag is missing."""
    assert REDACTOR.redact(text) == redacted


def test_spans_are_in_order_and_hold_what_went() -> None:
    """``find`` gives offsets into the text it was given, in characters."""
    text = whole("ü DB_PASSWORD=tr33·house and AKIA·Q3EGRIVVTM2KDXWZ")
    assert REDACTOR.find(text) == [Span(14, 23, "password"), Span(28, 48, "aws-key")]


def test_the_more_specific_name_wins_where_two_find_the_same() -> None:
    """A token behind a keyword keeps its own kind, and nothing of the value around it is left."""
    token = whole("ghp_·R4kT9vWq2ZxL7mNbC5hJ8sDfG1pY3uEaXo6i")
    assert REDACTOR.redact(f'token = "{token}"') == 'token = "[redacted:github-token]"'
    assert REDACTOR.redact(f'password = "aB3!{token}#zz9"') == 'password = "[redacted:github-token]"'


def test_a_value_longer_than_what_is_looked_at_goes_to_its_end() -> None:
    """The bound on what a pattern reads is none on what goes."""
    value = "x7Kq2Zt9" * 300
    assert REDACTOR.redact(f'secret="{value}" # end') == 'secret="[redacted:secret]" # end'
    assert REDACTOR.redact(f"SECRET={value} # end") == "SECRET=[redacted:secret] # end"


def test_bytes_that_are_no_text_come_through() -> None:
    """Halves of surrogate pairs and bytes that were taken in as such stay, and the credential between them goes."""
    raw = b"\xff\xfe AKIA" + b"Q3EGRIVVTM2KDXWZ \xe9"
    redacted = REDACTOR.redact(raw.decode("utf-8", "surrogateescape"))
    assert redacted.encode("utf-8", "surrogateescape") == b"\xff\xfe [redacted:aws-key] \xe9"


def test_a_letter_that_grows_in_lower_case_moves_no_offset() -> None:
    """The dotted capital I is two characters in lower case."""
    assert REDACTOR.redact("İİİ password='hunter22' İ") == "İİİ password='[redacted:password]' İ"


FRAGMENTS = st.one_of(
    st.sampled_from([rule.example_text for rule in RULES]),
    st.sampled_from([rule.lookalike for rule in RULES]),
    st.sampled_from([whole(text) for text, _, _ in HELD]),
    st.sampled_from([whole(gone) for _, gone, _ in HELD]),
    st.sampled_from([whole(key) for key in KEYS]),
    st.sampled_from(LOOKALIKES),
    st.sampled_from([anchor for rule in RULES for anchor in rule.anchors]),
    st.sampled_from(
        ["<private>", "</private>", "password=", "token: ", '"', "'", "\\", "\\n", "\n", " ", "://", ":", "@", "]"]
    ),
    st.sampled_from(["[redacted:", "[redacted:aws-key]", "[redacted:password]", "[redacted:private]"]),
    st.text(max_size=12),
)
TEXTS = st.lists(FRAGMENTS, max_size=8).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_a_second_pass_changes_nothing(text: str) -> None:
    """Whatever stands next to whatever, redacted text is redacted."""
    once = REDACTOR.redact(text)
    assert REDACTOR.redact(once) == once


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_nothing_outside_the_spans_changes(text: str) -> None:
    """Spans lie in the text, in order, without overlaps, and one round puts a marker for each and leaves the rest."""
    spans = REDACTOR.find(text)
    edges = [edge for span in spans for edge in (span.start, span.end)]
    assert edges == sorted(edges)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    once = (
        "".join(
            text[before : span.start] + f"[redacted:{span.name}]"
            for before, span in zip([0, *(span.end for span in spans)], spans, strict=False)
        )
        + text[spans[-1].end if spans else 0 :]
    )
    assert REDACTOR.redact(once) == REDACTOR.redact(text)


@given(st.text(max_size=200))
def test_text_without_an_anchor_is_the_same_text(text: str) -> None:
    """Random text is no credential."""
    assert REDACTOR.redact(text) == text


class Counting(Redactor):
    """Counts rounds, and places at which a pattern was tried."""

    rounds = 0
    tried = 0

    def find(self, text: str) -> list[Span]:
        self.rounds += 1
        self.tried += len(self._hits(text, text.lower()))
        return super().find(text)


HOSTILE = (
    "AKIA·Q3EGRIVVTM2KDXWZ",
    "ghp_",
    "sk-ant-",
    "eyJeyJaaaaaaaa.",
    "SK·4f3c9a7b1e8d2065af49b7c3e1d80526ghp_·R4kT9vWq2ZxL7mNbC5hJ8sDfG1pY3uEaXo6i",
    "password=",
    "token='token=\"",
    "://a:",
    "<private></private>",
    "-----BEGIN PRIVATE KEY-----",
    "authorization: bearer ",
    "machine a login b password ",
    '\\\\\\"',
    "AAAAAAAAAAAAAAAAAAAAA",
    "mysql -u x ",
    "docker login -p ·x7Kq2Zt9Lw4V ",
    'password" {',
    "password \n ",
    "set -x -x token ",
    "LS0tLS1CRUdJTiBQUklWQVRFIEtFW",
    "MTgxMzQ1OTExODQ5MTc2NTk1.",
)


@pytest.mark.parametrize("unit", HOSTILE)
def test_twice_the_text_is_twice_the_work(unit: str) -> None:
    """Places tried grow with the length, and the rounds do not grow at all."""
    short, long = Counting(TOKENS, HEADERS), Counting(TOKENS, HEADERS)
    short.redact(whole(unit) * 100)
    long.redact(whole(unit) * 200)
    assert long.rounds <= 4
    assert long.tried <= 2 * short.tried + 4 * len(unit)


def repeats(parsed: Any, inside: bool = False) -> Iterator[tuple[str, int, bool, bool]]:
    """Every repeat of a parsed pattern as (kind, most, stands inside another, something that can fail follows it)."""
    steps = list(parsed)
    for position, (operator, argument) in enumerate(steps):
        kind = str(operator)
        if kind.endswith("REPEAT"):
            _, most, body = argument
            can_fail = any(str(after[0]) != "MAX_REPEAT" or after[1][0] > 0 for after in steps[position + 1 :])
            yield kind, int(most), inside, can_fail
            yield from repeats(body, inside or int(most) > 1)
        elif kind == "SUBPATTERN":
            yield from repeats(argument[3], inside)
        elif kind == "BRANCH":
            for branch in argument[1]:
                yield from repeats(branch, inside)
        elif kind in ("ASSERT", "ASSERT_NOT"):
            yield from repeats(argument[1], inside)


@pytest.mark.parametrize("rule", RULES, ids=ids(RULES))
def test_no_pattern_can_run_away(rule: Rule) -> None:
    """No repeat in a repeat; an unbounded one gives nothing back and ends the pattern; any other one is short."""
    for kind, most, inside, can_fail in repeats(PARSER.parse(rule.pattern)):
        assert not (inside and most > 1)
        if most == int(PARSER.MAXREPEAT):
            assert kind == "POSSESSIVE_REPEAT"
            assert not can_fail
        else:
            assert most <= 4096


@pytest.mark.parametrize("rule", TOKENS, ids=ids(TOKENS))
def test_an_anchor_is_looked_for_where_it_can_stand(rule: Rule) -> None:
    """No credential of the kind is shorter than the words in which anchors are looked for, and no anchor is split by space."""
    least = PARSER.parse(rule.pattern).getwidth()[0]
    back = int(rule.back.rpartition("{")[2].rstrip("}")) if rule.back else 0
    for anchor in rule.anchors:
        assert anchor.split() == [anchor]
        assert back + len(anchor) + least >= limits.REDACT_WORD_MIN_CHARS


@pytest.mark.parametrize("name", sorted({rule.name for rule in RULES}))
def test_a_marker_is_no_credential(name: str) -> None:
    """Nothing is found in a marker, whatever stands before it."""
    for text in (
        f"[redacted:{name}]",
        f"password=[redacted:{name}]",
        f"https://a:[redacted:{name}]@b",
        f"Bearer [redacted:{name}]",
    ):
        assert REDACTOR.find(text) == []


def test_the_source_holds_no_credential() -> None:
    """No file of memd's own has a whole token in it, made up as it may be: whoever scans it would have to look at each."""
    redactor = Redactor(TOKENS, ())
    texts = {str(file): file.read_text(encoding="utf-8") for file in WRITTEN}
    found = {file: [span.name for span in redactor._credentials(text, "")] for file, text in texts.items()}
    assert {file: names for file, names in found.items() if names} == {}
