"""The report's final set: private things (guard_rows.py) in everything that a user can name or write (guard_planted.py,
guard_lived.py), the states in which a report is made (guard_scenes.py), and what is looked for in it (guard_search.py). Written
from the description of the report alone (docs/commands.md, SECURITY.md, CONTRIBUTING.md); docs/guards.md has what it found."""

import base64
import hashlib
import json
import urllib.parse
from collections.abc import Iterator

import pytest

from tests.cli.guard_planted import MAY_UNSHARE, Life
from tests.cli.guard_rows import ROWS, Private
from tests.cli.guard_scenes import Kept, reports
from tests.cli.guard_search import Report, leaks

PLACES = sorted({row.place for row in ROWS})
ELSEWHERE = {
    "account",
    "host",
    "mount",
    "kernel line",
    "system name",
    "processor",
    "control group",
    "managed setting",
    "system policy",
}
"""What stands on a machine's own disk, and was put there in a namespace of mounts."""
MISSES_AT_FIRST_RUN = ("log.vocabulary", "log.name", "log.card", "log.address", "peer.phrase", "peer.code")
"""Rows that a report told of when the set was first run; the report was mended by kind, no row was taken out or weakened."""


@pytest.fixture(scope="module")
def life() -> Iterator[Life]:
    """One home that goes through every state."""
    made = Life()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def kept(life: Life) -> Kept:
    """The report of each state."""
    return reports(life)


@pytest.fixture(scope="module")
def searched(kept: Kept) -> dict[str, Report]:
    """The same, ready to be searched."""
    return {state: Report(text) for state, text in kept.texts.items()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_private_thing_is_in_no_report(life: Life, searched: dict[str, Report], row: Private) -> None:
    """Neither as it was written, nor in another spelling, nor a piece of it."""
    if row.place in ELSEWHERE and not MAY_UNSHARE:
        pytest.skip("this user may not have mounts of its own (unshare -m -u)")
    found = {state: told for state, report in searched.items() if (told := leaks(report, row, life.parts(row)))}
    assert not found


def test_counts(life: Life, kept: Kept) -> None:
    """How much was tried: what docs/guards.md says."""
    assert life.planted == {row.name for row in ROWS}
    assert (len(ROWS), len(PLACES)) >= (240, 70)
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert len(kept.texts) >= 13
    assert {row.name for row in ROWS} > set(MISSES_AT_FIRST_RUN)
    print(f"\n{len(ROWS)} private things in {len(PLACES)} places, {len(MISSES_AT_FIRST_RUN)} missed at first")
    for state, seconds in kept.seconds.items():
        print(f"  {state}: {seconds:.1f} s, {len(kept.texts[state])} characters")


SECRET = Private("here", "secret", "«Müßiggänger Zwölfboten»")


@pytest.mark.parametrize(
    "spelled",
    [
        "Müßiggänger Zwölfboten",
        "MÜSSIGGÄNGER ZWÖLFBOTEN",
        "netobflöwZ regnäggißüM",
        "x … iggäng … y",
        "Zwölf-Boten",
        json.dumps("Müßiggänger"),
        "zw\\u{f6}lfbo",
        "/home/m\\303\\274\\303\\237iggang",
        r"b'Zw\xc3\xb6lfboten'",
        urllib.parse.quote("Zwölfboten"),
        "Zw&ouml;lfboten",
        "Zwölfboten".encode().hex(),
        "Zwölfboten".encode().hex(":"),
        *(base64.b64encode(b"." * n + "Zwölfboten".encode() + b"..").decode() for n in range(3)),
        *(base64.urlsafe_b64encode(b"." * n + "gänger Zwö".encode()).decode() for n in range(3)),
        "sha256 2e1d5c9a",
    ],
)
def test_a_spelling_is_found(spelled: str) -> None:
    """The search sees what it is to see."""
    if spelled.startswith("sha256"):
        spelled = hashlib.sha256(SECRET.parts[0].encode()).hexdigest()[:12]
    assert leaks(Report(f"memd report\n  daemon {spelled} is running\n"), SECRET, SECRET.parts)


@pytest.mark.parametrize(
    ("kind", "marked", "told", "is_found"),
    [
        ("short", "zq", "branch zq here", True),
        ("short", "zq", "branch=ZQ", True),
        ("short", "zq", "hazqard", False),
        ("phrase", "revoke the passphrase of the harness", "<…> revoke the passphrase of <…>", True),
        ("phrase", "revoke the passphrase of the harness", "the harness of the key", False),
        ("phrase", "4929 1177 2034 8851", "card 4929-1177-2034-8851", True),
        ("phrase", "call 5550173", "5550173 bytes", True),
        ("text", "秘密開発計画", "the 開発計 of", True),
        ("text", "Vrelmuk", "daemon running, 12 notes", False),
    ],
)
def test_short_ones_and_sentences_of_memds_own_words(kind: str, marked: str, told: str, is_found: bool) -> None:
    """A name of two letters is a word, and a sentence of words that memd says is itself where four of them stand together."""
    row = Private("here", "row", marked, kind)
    assert bool(leaks(Report(told), row, row.parts)) is is_found
