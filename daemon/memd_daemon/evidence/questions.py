"""Whether a sentence asks: a question says nothing of what its words mean when they stand alone.

By its mark in any script; and where there is none, by how it begins or ends. That is not always to be told, and then it is
a question: `When in doubt` is a statement, `how we test` may be either.
"""

import re
from typing import Final

from memd_daemon import limits
from memd_daemon.evidence import wording
from memd_daemon.evidence.folding import plain
from memd_daemon.evidence.signs import MARKS, QUESTION
from memd_daemon.pattern import pattern

_MARK: Final = pattern(f"[{re.escape(QUESTION)}]")
_GREEK_MARK: Final = pattern(r"[\u0370-\u03ff\u1f00-\u1fff]\s?[;\u037e]")
_FIRST: Final = pattern(rf"\W*((?:[\w'-]|[{MARKS}])+)")


def asks(sentence: str) -> bool:
    """Whether ``sentence`` is a question, or may be one."""
    is_ascii = sentence.isascii()
    if is_ascii and "?" not in sentence:
        return _asks_by_words(sentence.lower())
    if any(not _is_within_word(sentence, mark.start()) for mark in _MARK.finditer(sentence)):
        return True
    flat = plain(sentence)
    if not is_ascii and (_GREEK_MARK.search(sentence) or wording.ASKS_WITHIN.search(flat)):
        return True
    return _asks_by_words(flat)


def _asks_by_words(flat: str) -> bool:
    if wording.ASKS_LAST.search(flat[-limits.EVIDENCE_WORD_MAX_CHARS :]):
        return True
    first = _FIRST.match(flat)
    if first is None:
        return False
    if first.group(1) in wording.ASKS_FIRST:
        return True
    begins = flat[first.start(1) : first.start(1) + limits.EVIDENCE_QUESTION_LOOKED_AT_CHARS]
    if wording.ASKS_FIRST_TWO.match(begins):
        return True
    return ("-" in begins and wording.INVERTED.match(begins) is not None) or (
        wording.ASKS_PARTICLE in begins and wording.PARTICLE.match(begins) is not None
    )


def _is_within_word(sentence: str, at: int) -> bool:
    """As in an address: `/search?q=1`."""
    before, after = sentence[max(0, at - 1) : at], sentence[at + 1 : at + 2]
    return before.isascii() and after.isascii() and after.isalnum() and (before.isalnum() or before in ("/", "=", "&"))
