"""The characters that divide texts, by what they do. Terminators are UAX #29's STerm and ATerm of the first plane.

What the standard counts and what divides phrases more often than sentences (the Burmese little section) is left out: an end
too few is never wrong here (endings.py).
"""

import re
from typing import Final

from memd_daemon.pattern import pattern

STOPS: Final = ".\u2024\ufe52\uff0e"  # UAX #29's ATerm: they also end abbreviations and stand in numbers
SPACED: Final = "!?\u203c\u203d\u2047\u2048\u2049\u2e2e\ufe56\ufe57"  # white space follows where a sentence ends
WIDE: Final = (  # nothing needs to follow: scripts without spaces, and scripts in which they end sentences alone
    "\u0589\u061d\u061e\u061f\u06d4\u0700\u0701\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965\u104b\u1362\u1367\u1368"
    "\u166e\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945\u1b5a\u1b5b\u1b5e\u1b5f\u1b7d\u1b7e\u1b7f\u1c3b\u1c3c\u1c7e"
    "\u1c7f\u2cf9\u2cfa\u2cfb\u2e3c\u2e53\u2e54\u3002\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8"
    "\ua9c9\uaa5d\uaa5e\uaa5f\uaaf0\uaaf1\uabeb\u1aa8\u1aa9\u1aaa\u1aab\ufe12\ufe15\ufe16\uff01\uff1f\uff61"
)
TERMINATORS: Final = STOPS + SPACED + WIDE
ELLIPSES: Final = "\u2026\u2025\u22ef"
CONTINUE: Final = frozenset(",-:;\u037e\u055d\u060c\u060d\u2013\u2014\u3001\ufe50\ufe51\uff0c\uff0d\uff1a\uff1b\uff64")
QUESTION: Final = (
    "?¿\u061f\u203d\u2047\u2048\u2049\u2e2e\u2e18\u055e\u1367\u2cfa\u2cfb\ua60f\ua6f7\ufe16\ufe56\uff1f\u1945"
)

OPENING: Final = dict(zip("([{（［｛【〔〖〘", ")]}）］｝】〕〗〙", strict=True))
CLOSING: Final = {closing: opening for opening, closing in OPENING.items()}
ALWAYS_OPEN: Final = dict(zip("「『《〈〝｢", "」』》〉〞｣", strict=True))
ALWAYS_CLOSE: Final = {closing: opening for opening, closing in ALWAYS_OPEN.items()} | {"〟": "〝"}
GUILLEMETS: Final = {
    "«": "«",
    "»": "«",
    "‹": "‹",
    "›": "‹",
}  # by what they are a pair with: which opens is the text's habit
DOUBLE: Final = frozenset('"“”„‟＂″')
SINGLE: Final = frozenset("'‘’‚‛＇")
CLOSERS: Final = frozenset("\"'”’“‘»«›‹)]}）］｝】〕〗〙」』》〉〞〟｣*_")

# scripts that put no space between words; Hangul has spaces
UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
IS_UNSPACED: Final = pattern(f"[{UNSPACED}]")

# marks that belong to the letter before them, and the Indic blocks, which hold letters and marks; `\w` has no marks
MARKS: Final = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711\u0730-\u074a"
    "\u0900-\u0963\u0966-\u0dff\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)

ENCLOSING: Final = pattern(
    "["
    + re.escape("".join((*OPENING, *CLOSING, *ALWAYS_OPEN, *ALWAYS_CLOSE, *GUILLEMETS, *sorted(DOUBLE | SINGLE))) + "`")
    + "]"
)
