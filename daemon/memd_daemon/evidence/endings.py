"""Where sentences end: UAX #29, and where that is not sure, not there.

An end too many makes a part of what somebody said look whole, on the side of what was said as on the side of what quotes it;
an end too few only makes a sentence longer, so that less matches. So of the standard's ends these count not: at a newline
alone; inside quotation marks, brackets and code (enclosed.py), save that a sentence that is quoted with its own full stop may end
the one around it (`Lee wrote "drop the table." Keep it.`); at `.`, `!` or `?` without white space behind; after an
abbreviation, an initial, a number that may be an ordinal, an ellipsis; before a word that takes something back (`Except in
tests.`). An empty line and a list marker do end one (blocks.py).

Built on a table of the standard's terminators (signs.py): the library for Python that has the standard's whole algorithm
needs 20 ms for 500 characters and a wheel of 8 MB.
"""

import re
import unicodedata
from typing import Final

from memd_daemon import limits
from memd_daemon.evidence import wording
from memd_daemon.evidence.enclosed import QUOTE, Enclosed
from memd_daemon.evidence.folding import plain
from memd_daemon.evidence.signs import CLOSERS, CONTINUE, DOUBLE, ELLIPSES, GUILLEMETS, STOPS, TERMINATORS, WIDE
from memd_daemon.evidence.words import weight
from memd_daemon.pattern import pattern

_TERMINATED: Final = pattern(f"[{re.escape(TERMINATORS + ELLIPSES)}]+")
_NOT_SPACE: Final = pattern(r"\S")
_NEXT_LETTER: Final = pattern(r"[^\W\d_]")
_ROMAN: Final = pattern(r"[IVX]{2,}")
_IS_SYLLABLE: Final = pattern("[\uac00-\ud7a3]")  # a word of one letter is an initial, one of a syllable is not
_VOWELS: Final = frozenset("aeiouyäöüáéíóúàèìòùâêîôûåæøœ")
_OPENS: Final = "(\"'“„«‘‚‹[{*_¿¡"
_DOTS: Final = frozenset(STOPS)
_WHOLLY_MARKED: Final = DOUBLE | GUILLEMETS.keys()


def ends(text: str, start: int, end: int, inside: Enclosed) -> list[tuple[int, int]]:
    """The sentences of one paragraph: (start, end) without white space around them, the terminator with the closers behind it."""
    found: list[tuple[int, int]] = []
    first = start
    at = start
    while (run := _TERMINATED.search(text, at, end)) is not None:
        at = run.end()
        stretch = inside.around(run.start())
        if stretch is not None:
            at = max(at, stretch[1])
            follows = _NOT_SPACE.search(text, at, end)
            if follows is not None and _is_end_of_quoted(text, stretch, follows.start(), end):
                found.append((first, at))
                first = at = follows.start()
            continue
        last = _behind_closers(text, at, end)
        follows = _NOT_SPACE.search(text, last, end)
        if follows is None:
            break
        if _is_end(text, first, run, last, follows.start(), end):
            found.append((first, last))
            first = follows.start()
            at = first
    found.append((first, end))
    return found


def _behind_closers(text: str, at: int, end: int) -> int:
    while at < end and text[at] in CLOSERS:
        at += 1
    return at


def _is_end(text: str, first: int, run: re.Match[str], last: int, follows: int, end: int) -> bool:
    signs = run.group()
    if follows == last and signs[-1] not in WIDE:
        return False
    if any(sign in ELLIPSES for sign in signs) or (len(signs) > 1 and set(signs) & _DOTS):
        return False
    if text[follows] in CONTINUE or text[follows] in TERMINATORS or text[follows] in ELLIPSES:
        return False
    if signs[-1] not in WIDE and _goes_on_small(text, follows, end):
        return False
    if signs in _DOTS and _is_abbreviated(text, first, run.start(), text[follows]):
        return False
    return not takes_back(text, follows, end)


def _is_end_of_quoted(text: str, stretch: tuple[int, int, str], follows: int, end: int) -> bool:
    """Whether a sentence ends with the quotation ``stretch``: that is a sentence with its own full stop, and a new one begins.

    A quoted word (`"Inc."`, `"Yahoo!"`) may stand within a sentence, and so may one in single marks, which pass for apostrophes.
    """
    start, last, kind = stretch
    words, dot = text[start + 1 : last - 1], last - 2
    if kind != QUOTE or follows == last or words[-1:] not in _DOTS or not text[follows].isupper():
        return False
    if not {text[start], text[last - 1]} <= _WHOLLY_MARKED or not _WHOLLY_MARKED.isdisjoint(words):
        return False
    if text[dot - 1] in TERMINATORS or text[dot - 1] in ELLIPSES or weight(plain(words)) < limits.EVIDENCE_MATCH_WEIGHT:
        return False
    return not (_is_abbreviated(text, start + 1, dot, text[follows]) or takes_back(text, follows, end))


def _goes_on_small(text: str, follows: int, end: int) -> bool:
    """UAX #29, SB8: the next letter is a small one."""
    letter = _NEXT_LETTER.search(text, follows, end)
    return letter is not None and letter.group().islower()


def takes_back(text: str, follows: int, end: int) -> bool:
    """Whether what begins at ``follows`` takes something back from the sentence before it."""
    start = plain(text[follows : min(end, follows + limits.EVIDENCE_WORD_MAX_CHARS)]).lstrip(_OPENS)
    return wording.EXCEPTIONS.match(start) is not None


def _is_ordinal(number: str, before: str) -> bool:
    """Whether a full stop behind the number may belong to it, as in German and many other languages; in English it does not."""
    if any(map(str.isalpha, number)) or before in wording.BEFORE_NUMBERS:
        return False
    return not number.isdigit() or len(number) < limits.EVIDENCE_YEAR_DIGITS


def _is_abbreviated(text: str, first: int, dot: int, follows: str) -> bool:
    """Whether the full stop at ``dot`` may belong to the word before it."""
    start = max(first, dot - limits.EVIDENCE_WORD_MAX_CHARS)
    words = text[start:dot].split()
    word = words[-1].lstrip(_OPENS) if words and not text[dot - 1].isspace() else ""
    if not word:
        return True
    if unicodedata.category(word[-1])[0] not in "LMN":
        return False
    if word[-1].isdigit():
        return _is_ordinal(word, words[-2].lower() if len(words) > 1 else "")
    parts = word.split(".")
    if all(len(part) <= 2 for part in parts) and (len(parts) > 1 or (len(word) == 1 and not _IS_SYLLABLE.match(word))):
        return True
    if _ROMAN.fullmatch(word):
        return True
    small = word.lower()
    if small in wording.NUMBERED:
        return follows.isdigit()
    return small in wording.ABBREVIATIONS or (
        word[0].isupper() and not word.isupper() and _VOWELS.isdisjoint(small) and small.isascii()
    )
