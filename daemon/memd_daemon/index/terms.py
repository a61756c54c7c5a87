"""A text to the terms that it is found by. Pure; stems are left to words.py, whose library has them.

Three kinds of term:

- **words**: what a person would say: `lockWorkspace`, `lock_workspace` and `lock workspace` all give `lock`, `workspace`;
  the joined form (`lockworkspace`) is a word too, since people write it so;
- **exact**: what a machine would say: each word as it stands, and each identifier whole (`agent/resolver.rs`), joined
  (`lockworkspace`), without a line number, and by its parts that are identifiers again (`resolver.rs`); all case-folded;
- **grams**: pairs of neighbours in scripts that put no spaces between words (a lone character stands for itself).

For evidence (words.py) a text is taken apart into its **units**: a word is one, and so is an identifier or a hyphenated word, of
however many words it is made: `PostgreSQL` in a question says one thing, not the three that a search looks for.

An identifier is what prose does not write: an underscore inside, a joint (`.` `/` `::` …) next to letters, a case change
inside, letters with digits after them, or a leading `--`. Single letters around a dot (`e.g`) are prose, and so are short
measures and ordinals.
"""

from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.pattern import pattern

JOINT: Final = r"(?:::|->|[./\\:@#-])"
CHUNK: Final = pattern(rf"(?:(?<![\w-])--(?=[^\W\d_]))?\w+(?:{JOINT}\w+)*")
WORD: Final = pattern(r"\w+")
PIECE: Final = pattern(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
PIECE_OTHER: Final = pattern(r"[^\W\d_]+|\d+")  # of a word with letters outside ASCII: case tells nothing there
SEGMENT: Final = pattern(r"->|[/\\:@#]+")
LINE_NUMBER: Final = pattern(r":\d.*")
CASE_CHANGE: Final = pattern(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
LETTERS_DIGITS: Final = pattern(r"[^\W\d_]+\d\w{2}|[^\W\d_]{2}\w*\d")  # E0499, utf8; not 3rd, v2, 20ms
HARD_JOINT: Final = pattern(r"\w(?:::|->|[./\\:@#])\w")
LETTERS: Final = pattern(r"[^\W\d_]{2}")
UNSPACED_SIGNS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"  # Hangul letters, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # ideographs, Hangul syllables
    "\U00020000-\U000323af"  # ideographs of the further planes
)
UNSPACED: Final = pattern(f"[{UNSPACED_SIGNS}]+")

FILLERS: Final = """
    a about above after again all also am an and any are aren as at be because been before being below between both but by
    can cannot could couldn did didn do does doesn doing don done down during each either else ever every few for from
    further get gets getting give go goes going gone got had hadn has hasn have haven having he hello hence her here hers
    him his how however i if in instead into is isn it its itself just know let lets like ll look make makes many may me
    might more most much must my need needs no nor not now of off ok okay on once one only onto or other our ours out over
    own per please put rather re really s same say see shall she should shouldn so some still such sure t take tell than
    thank thanks that the their theirs them then there these they thing things this those though through thus to too try
    under until up upon us use used using ve very via want wants was wasn way we well were weren what when where whether
    which while who whom whose why will with within without won would wouldn yes yet you your yours
"""
STOP_WORDS: Final = frozenset(FILLERS.split())  # words that say nothing of what a prompt is about


class Terms(msgspec.Struct, frozen=True):
    """What one text is found by, each with its repetitions; `identifiers` are the exact terms that are no prose."""

    words: list[str]
    exact: list[str]
    grams: list[str]
    identifiers: frozenset[str]


class Unit(msgspec.Struct, frozen=True):
    """One thing that a text speaks of: the words in it, and the forms in which it names an identifier."""

    words: tuple[str, ...]
    names: frozenset[str]


def terms_of(text: str) -> Terms:
    """Every term of a text. Linear in its length."""
    words: list[str] = []
    exact: list[str] = []
    identifiers: set[str] = set()
    for chunk in _chunks(text):
        if chunk.isalpha() and (chunk.islower() or chunk.istitle()):  # prose, most of it
            words.append(fold(chunk))
            exact.append(words[-1])
            continue
        words.extend(chunk_words(chunk))
        forms = exact_forms(chunk)
        exact.extend(forms)
        identifiers.update(form for form, names_it in forms.items() if names_it)
    grams = [] if text.isascii() else [pair for run in UNSPACED.findall(text) for pair in pairs(run)]
    return Terms(words, exact, grams, frozenset(identifiers))


def identifiers_of(text: str) -> frozenset[str]:
    """`Terms.identifiers` of a text, without the rest of its terms."""
    return frozenset(form for chunk in _chunks(text) for form in _names_of(chunk))


def units_of(text: str) -> list[Unit]:
    """What a text speaks of, without stop words and single characters. Scripts without spaces have none: pairs stand for them."""
    units = (Unit(_content_of(chunk), _names_of(chunk)) for chunk in _chunks(text))
    return [unit for unit in units if unit.words]


def _content_of(chunk: str) -> tuple[str, ...]:
    words = (fold(piece) for part in WORD.findall(chunk) for piece in _pieces(part))
    return tuple(dict.fromkeys(word for word in words if len(word) > 1 and word not in STOP_WORDS))


def _names_of(chunk: str) -> frozenset[str]:
    if chunk.isalpha() and (chunk.islower() or chunk.istitle()):
        return frozenset()
    return frozenset(form for form, names_it in exact_forms(chunk).items() if names_it)


def _pieces(part: str) -> list[str]:
    found: list[str] = (PIECE if part.isascii() else PIECE_OTHER).findall(part)
    return found


def _chunks(text: str) -> list[str]:
    found: list[str] = CHUNK.findall(text if text.isascii() else UNSPACED.sub(" ", text))
    return found


def pairs(run: str) -> list[str]:
    """Neighbours two by two; a lone character as it is."""
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]


def chunk_words(chunk: str) -> list[str]:
    """The words in a run of word characters and joints: pieces, and joined pieces where there are several."""
    words: list[str] = []
    for part in WORD.findall(chunk):
        pieces = _pieces(part)
        words.extend(pieces)
        if len(pieces) > 1:
            words.append("".join(pieces))
    return [fold(word) for word in words]


def exact_forms(chunk: str) -> dict[str, bool]:
    """{exact term: whether it names an identifier rather than a plain word}."""
    bare = chunk.lstrip("-")
    parts = WORD.findall(bare)
    names = {part for part in (bare, LINE_NUMBER.sub("", bare), *SEGMENT.split(bare), *parts) if is_identifier(part)}
    names |= {part.replace("_", "") for part in names & set(parts)}
    if chunk != bare:
        names.add(bare)
    return dict.fromkeys(map(fold, parts), False) | dict.fromkeys(sorted(map(fold, names)), True)


def is_identifier(chunk: str) -> bool:
    """Whether a run of word characters and joints is something that prose does not write.

    Judged by its beginning: no identifier is longer, and a pasted sequence of ten thousand letters must not cost its square.
    """
    chunk = chunk[: limits.IDENTIFIER_JUDGED_CHARS]
    if "_" in chunk.strip("_") or CASE_CHANGE.search(chunk) or LETTERS_DIGITS.search(chunk):
        return True
    return bool(HARD_JOINT.search(chunk) and LETTERS.search(chunk))


def fold(word: str) -> str:
    """One spelling for every case, no longer than the index takes."""
    return word.casefold()[: limits.TERM_MAX_CHARS]
