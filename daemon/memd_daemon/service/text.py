"""Small pure functions on texts: the default summary, words and shingles for telling two texts apart or alike."""

import re
import unicodedata
from typing import Final

from memd_daemon import limits

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])(?=\s)|(?<=[。！？])|\n")
_WORD: Final = re.compile(r"\w+")


def told_back(given: str, limit: int = limits.QUOTED_INPUT_MAX_CHARS) -> str:
    """What somebody gave, as a refusal repeats it: one short printable line, since it is shown on a terminal."""
    return "".join(c if c.isprintable() else "?" for c in given[:limit])


def quoted(given: str) -> str:
    """Likewise, between quotes, and nothing invisible in it: for a word that is none memd knows."""
    return repr(given[: limits.QUOTED_INPUT_MAX_CHARS])


def normal(text: str) -> str:
    """The text in NFC, as it is stored."""
    return unicodedata.normalize("NFC", text)


def summary_of(content: str) -> str:
    """The first sentence on one line; over the limit cut at a word and closed with an ellipsis (model.md, section 1)."""
    first = _SENTENCE_END.split(content.strip(), maxsplit=1)[0]
    line = " ".join(first.split())
    if len(line) <= limits.SUMMARY_MAX_CHARS:
        return line
    cut = line[: limits.SUMMARY_MAX_CHARS - 1]
    at_word = cut.rsplit(" ", 1)[0] if " " in cut and line[len(cut)] != " " else cut
    return at_word.rstrip() + "…"


def words_of(text: str) -> frozenset[str]:
    """The words of a text, case folded."""
    return frozenset(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard index of two sets of words, 0 to 1."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def shingles_of(text: str) -> frozenset[tuple[str, ...]]:
    """Runs of `limits.SHINGLE_WORDS` words; a shorter text is one run."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    size = limits.SHINGLE_WORDS
    return frozenset(tuple(words[i : i + size]) for i in range(max(1, len(words) - size + 1))) if words else frozenset()


def shared(content: str, other: str) -> float:
    """The share of ``content``'s shingles that stand in ``other`` too, 0 to 1."""
    mine = shingles_of(content)
    return len(mine & shingles_of(other)) / len(mine) if mine else 0.0
