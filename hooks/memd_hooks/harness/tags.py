"""The tags in which clients wrap their own words: no text of a note, a path or a name may bring one to a model.

The ``<`` (or a look-alike of it) of such a tag is shown as ``\\u{3c}``; every other ``<`` stays.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

LESS_THAN: Final = "<\u2039\u2329\u27e8\u3008\ufe64\uff1c"


def without_tags(text: str, tags: Sequence[str]) -> str:
    """``text`` with the bracket of each of ``tags`` named by its number."""
    pattern = _pattern(tuple(tags))
    return pattern.sub(lambda match: f"\\u{{{ord(match.group()):x}}}", text) if pattern else text


@lru_cache
def _pattern(tags: tuple[str, ...]) -> re.Pattern[str] | None:
    """The bracket that opens one of ``tags``, opening or closing, with a namespace, or ``-``, ``_`` and spaces exchanged."""
    if not tags:
        return None
    names = "|".join(r"[-_\s]*".join(map(re.escape, re.split(r"[-_\s]+", tag))) for tag in tags)
    return re.compile(rf"[{LESS_THAN}](?=[\s/]*(?:\w+\s*:\s*)?(?:{names})(?![A-Za-z0-9]))", re.IGNORECASE)
