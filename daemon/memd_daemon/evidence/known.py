"""Outlines of turns that were read lately: a turn does not change, and one write or recall reads the same few again and again.

What is kept are offsets under a digest of the text, never a word of it.
"""

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import Final

from memd_daemon import limits
from memd_daemon.evidence.outline import Sentence, outline


class _Outlines:
    """As many as `limits.EVIDENCE_OUTLINES_KNOWN_MAX`, of texts that are not long; those that were asked for longest ago go."""

    def __init__(self) -> None:
        self._found: OrderedDict[bytes, tuple[Sentence, ...]] = OrderedDict()
        self._lock = Lock()

    def of(self, text: str) -> tuple[Sentence, ...]:
        if len(text) > limits.EVIDENCE_OUTLINE_KNOWN_MAX_CHARS:
            return tuple(outline(text))
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=limits.EVIDENCE_DIGEST_BYTES).digest()
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
                return found
        found = tuple(outline(text))
        with self._lock:
            self._found[key] = found
            while len(self._found) > limits.EVIDENCE_OUTLINES_KNOWN_MAX:
                self._found.popitem(last=False)
        return found


_OUTLINES: Final = _Outlines()


def turn_outline(text: str) -> tuple[Sentence, ...]:
    """The sentences of a turn in order, as `outline` has them."""
    return _OUTLINES.of(text)
