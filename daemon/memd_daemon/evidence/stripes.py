"""A note's content in stripes: the user's words and the rest."""

from typing import Final

import msgspec

from memd_daemon.evidence.reading import Reading, Span
from memd_daemon.pattern import pattern

_BETWEEN: Final = pattern(r"\s*(?:(?:[-*+•‣◦・]|\(?\w{1,3}[.)])\s*)?")


class Stripe(msgspec.Struct, frozen=True):
    """A stretch of the content; ``turn`` is 0 where it is the note's own class."""

    text: str
    turn: int


def striped(content: str, reading: Reading, alternations_max: int) -> tuple[Stripe, ...]:
    """``content`` in stripes, which joined are the content; between two of them the class or the turn changes.

    With more changes than ``alternations_max`` the shortest marks are taken away until it is no more: nothing is ever marked
    that ``reading`` does not mark, save white space and a list's marker between two of its spans.
    """
    spans = _joined(content, reading.spans)
    while spans and (excess := len(_cut(content, spans)) - 1 - alternations_max) > 0:
        shortest = sorted(spans, key=lambda span: (span.end - span.start, -span.start))
        spans = sorted(shortest[(excess + 1) // 2 :])  # a mark taken away saves two changes at most
    return _cut(content, spans)


def _joined(content: str, spans: tuple[Span, ...]) -> list[Span]:
    """Spans of one turn with nothing between them but white space, or a list's marker, become one."""
    out: list[Span] = []
    for span in spans:
        last = out[-1] if out else None
        if last and last.turn == span.turn and _BETWEEN.fullmatch(content, last.end, span.start):
            out[-1] = Span(last.start, span.end, last.turn)
        else:
            out.append(span)
    return out


def _cut(content: str, spans: list[Span]) -> tuple[Stripe, ...]:
    out: list[Stripe] = []
    at = 0
    for span in spans:
        if content[at : span.start]:
            out.append(Stripe(content[at : span.start], 0))
        out.append(Stripe(content[span.start : span.end], span.turn))
        at = span.end
    if content[at:]:
        out.append(Stripe(content[at:], 0))
    return tuple(out)
