"""A content beside the user's own words: which of its sentences the user typed, and what the user said where it has only parts.

    [47] [MEDIUM] [FINDING] [agent] [scope=repo] [inferred]  (23d ago)
      Memory to verify (recorded by an AI session, not human-endorsed):
      [user-stated, turn 4417]  never add query-side keyword heuristics
      [agent]                   to the ranker. It applies to the searcher and to the reranker,
      | and the reason is that keyword branches cannot generalize.
      [user, turn 4417] "never add query-side keyword heuristics, except in tests"

What a reader can rely on:

- A content that has stripes begins on the line below its frame, so that nothing follows the frame's colon; any other content
  follows it on the same line. A label stands after two spaces, at the beginning of a line, and nowhere else: a look-alike in a
  content stands behind a label, behind a frame or behind the bar, never where a label does.
- All labels of a note are filled up to one column; a line break inside a stripe goes on behind the bar, whoever's stripe it is.
- The line of a quote goes on with ``"`` after one space and ends with ``"``; what stands between is the user's, as a text in one of
  memd's lines (escape.py). A sentence is quoted whole or not at all, since what is cut off may be its condition.
"""

from collections.abc import Sequence

from memd_daemon.frames import words
from memd_daemon.frames.escape import escape_content, escape_line
from memd_daemon.limits import QUOTED_SENTENCE_MAX_CHARS, QUOTES_SHOWN_MAX
from memd_daemon.model.view import NoteView, QuoteView, StripeView

INDENT = "  "
_GAP = "  "


def told(lead: str, view: NoteView, tags: Sequence[str]) -> str:
    """``lead``, which ends with ``: ``, and the content after it or, in stripes, below it; the quotes are not in it."""
    stripes = [stripe for stripe in view.said.stripes if stripe.text.strip()]
    if not stripes:
        return lead + escape_content(view.content, tags)
    labels = [_label(view, stripe) for stripe in stripes]
    width = max(map(len, labels)) + len(_GAP)
    lines = [f"{INDENT}{label:<{width}}{_text(s, tags)}" for label, s in zip(labels, stripes, strict=True)]
    return "\n".join([lead.rstrip(), *lines])


def _label(view: NoteView, stripe: StripeView) -> str:
    return f"[{words.STATED_TURN.format(turn=stripe.turn) if stripe.turn else view.frame_class}]"


def _text(stripe: StripeView, tags: Sequence[str]) -> str:
    return escape_content(stripe.text.strip(), tags)


def typed_quotes(view: NoteView, tags: Sequence[str]) -> list[str]:
    """The lines for what the user is known to have said: they belong to the note, and go where it goes."""
    return _few(view, [q for q in view.said.quotes if q.is_typed], tags)


def claimed_quotes(view: NoteView, tags: Sequence[str]) -> list[str]:
    """The lines for what is only claimed to be the user's: told to who asks."""
    return _few(view, [q for q in view.said.quotes if not q.is_typed], tags)


def all_quotes(view: NoteView, tags: Sequence[str]) -> list[str]:
    """A line for each, whatever its length."""
    quotes = sorted(view.said.quotes, key=lambda q: not q.is_typed)
    return [_quote(view, q, tags, len(q.sentence)) for q in quotes]


def _few(view: NoteView, quotes: list[QuoteView], tags: Sequence[str]) -> list[str]:
    lines = [_quote(view, q, tags, QUOTED_SENTENCE_MAX_CHARS) for q in quotes[:QUOTES_SHOWN_MAX]]
    more = len(quotes) - QUOTES_SHOWN_MAX
    if more > 0:
        lines.append((words.MORE_QUOTED_ONE if more == 1 else words.MORE_QUOTED).format(n=more, id=view.id))
    return lines


def _quote(view: NoteView, quote: QuoteView, tags: Sequence[str], limit: int) -> str:
    is_typed = quote.is_typed
    who = words.USER_TURN.format(turn=quote.turn) if is_typed else words.claimed_turn(quote.turn, quote.attestation)
    if len(quote.sentence) > limit:
        return f"{INDENT}[{who}] {words.TOO_LONG_TO_QUOTE.format(id=view.id)}"
    return f'{INDENT}[{who}] "{escape_line(quote.sentence, tags, limit=max(limit, 1))}"'
