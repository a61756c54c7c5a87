"""Whether a sentence asks: a question says nothing of what its words mean when they stand alone.

By its mark in any script; and where there is none, by how it begins or ends. That is not always to be told, and then it is
a question: `When in doubt` is a statement, `how we test` may be either.
"""

import re
from typing import Final

from memd_daemon.evidence import wording
from memd_daemon.evidence.folding import plain
from memd_daemon.evidence.signs import QUESTION

_MARK: Final = re.compile(f"[{re.escape(QUESTION)}]")
_GREEK_MARK: Final = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]\s?[;\u037e]")
_FIRST: Final = re.compile(r"[^\w]*([\w'-]+)")


def asks(sentence: str) -> bool:
    """Whether ``sentence`` is a question, or may be one."""
    if any(not _is_within_word(sentence, mark.start()) for mark in _MARK.finditer(sentence)):
        return True
    if _GREEK_MARK.search(sentence):
        return True
    flat = plain(sentence).strip()
    if wording.ASKS_LAST.search(flat) or (not flat.isascii() and wording.ASKS_WITHIN.search(flat)):
        return True
    first = _FIRST.match(flat)
    if first is None:
        return False
    begins = flat[first.start(1) :]
    if first.group(1) in wording.ASKS_FIRST or wording.ASKS_FIRST_TWO.match(begins):
        return True
    return wording.INVERTED.match(begins) is not None or wording.PARTICLE.match(begins) is not None


def _is_within_word(sentence: str, at: int) -> bool:
    """As in an address: `/search?q=1`."""
    return (
        0 < at < len(sentence) - 1
        and sentence[at - 1].isascii()
        and sentence[at - 1].isalnum() | (sentence[at - 1] in "/=&")
        and (sentence[at + 1].isascii() and sentence[at + 1].isalnum())
    )
