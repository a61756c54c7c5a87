"""The sentences of a text, what each hangs on, and whether it may be taken for a statement of who wrote it.

A sentence hangs on what governs it, and counts only together with it, in the same order and with nothing else between:

- an item of a list on the whole paragraph or heading before the list, an item below another on that one;
- a paragraph after one that ends in a colon, and all prose behind it;
- what stands under a heading, or behind a sentence that speaks of what follows ("The following is false.");
- the rest of a paragraph behind a sentence with a colon in it ("Bob says: it is red. Never …");
- a paragraph on the one before it, where that breaks off ("It is wrong that"), or where this one takes something back.

What introduces is open: it counts only together with something that it introduces.
"""

import re
from typing import Final, NamedTuple

from memd_daemon import limits
from memd_daemon.evidence import blocks as bl
from memd_daemon.evidence import pastes, wording
from memd_daemon.evidence.echoes import echoes
from memd_daemon.evidence.enclosed import CODE, NOTHING, QUOTE, Enclosed, enclosed, opens_with
from memd_daemon.evidence.endings import ends, takes_back
from memd_daemon.evidence.folding import plain
from memd_daemon.evidence.questions import asks
from memd_daemon.evidence.signs import CLOSERS, ELLIPSES, TERMINATORS
from memd_daemon.pattern import pattern

_COLON_WITHIN: Final = pattern(r"[:：](?=\s)|：")
_LABEL: Final = pattern(r"user ?[:：]\s*(?=\S)", re.IGNORECASE)
_STRUCK: Final = pattern(r"~~|<!--|<(?:del|s|strike|q|blockquote)\b|\[redacted:", re.IGNORECASE)
_ATTRIBUTED: Final = pattern(r"(?:^|\s)(?:--|[—–―])\s?([^\W\d_])\w*\.?(?: \w+\.?){0,3}$")
_LABELS: Final = ("user:", "user :")
_COLONS: Final = ":："
_BROKEN_OFF: Final = frozenset(",;、，；–—-([{（")
_MARKUP: Final = "*_"


class Sentence(NamedTuple):
    """Offsets in characters; ``needs`` are numbers of sentences in the outline, the nearest governor last."""

    start: int
    end: int
    block: int
    block_end: int
    needs: tuple[int, ...] = ()
    open: bool = False
    stands: bool = True  # may count as a statement, as far as its place tells (`says` has the rest)
    told: bool = True  # may be shown as what somebody said: not code, not a paste
    begins: bool = True  # nothing of its own stands before it: a statement may begin here


class _Outliner:
    def __init__(self, text: str, *, is_note: bool) -> None:
        self.text, self.is_note = text, is_note
        self.found: list[Sentence] = []
        self.opens = opens_with(text)
        flat = plain(text)
        self.may_point = any(hint in flat for hint in wording.FORWARD_HINTS)
        self.over: tuple[int, ...] = ()  # what governs all that follows
        self.torn = self.foreign = False
        self.broken = -1  # the last sentence, where the text broke off with it
        self.list_intro: tuple[int, ...] = ()
        self.echoes = [] if self.is_note else echoes(self.text)
        self.items: list[tuple[int, int]] = []  # indent and last sentence of the items that are open

    def outline(self) -> list[Sentence]:
        layout = bl.blocks(self.text)
        for number, block in enumerate(layout):
            before = layout[number - 1] if number else None
            follows = layout[number + 1] if number + 1 < len(layout) else None
            if block.kind in (bl.OTHER, bl.RULE) or self._is_label(block):
                continue
            if block.kind == bl.LISTED and not self.items:
                self.list_intro = self._paragraph_before(layout, number)
            elif block.kind != bl.LISTED:
                self.items = []
            self._block(number, block, before, follows)
        return self.found

    def _is_label(self, block: bl.Block) -> bool:
        """Whether the block says who speaks, and no more."""
        return self.is_note and plain(self.text[block.start : block.end]) in _LABELS

    def _paragraph_before(self, layout: list[bl.Block], number: int) -> tuple[int, ...]:
        """The sentences of the paragraph or heading before a list."""
        while number and layout[number - 1].kind in (bl.OTHER, bl.RULE):
            number -= 1
        first = len(self.found)
        while first and self.found[first - 1].block == number - 1:
            first -= 1
        return tuple(range(first, len(self.found)))

    def _block(self, number: int, block: bl.Block, before: bl.Block | None, follows: bl.Block | None) -> None:
        text, start = self.text, block.start
        label = _LABEL.match(text, start, block.end) if self.is_note else None
        start = label.end() if label else start
        is_foreign = self._is_foreign(block)
        inside = enclosed(text, start, block.end, self.opens)
        spans = ends(text, start, block.end, inside)
        first = len(self.found)
        needs = self._governors(block, first)
        if label and not self.over:
            needs = ()
        points = False
        for begin, end in spans:
            label = _LABEL.match(text, begin, end) if self.is_note else None
            if label and not self.over:
                needs = ()
            span = (label.end() if label else begin, end)
            self.found.append(self._sentence(span, number, block, inside, needs, is_foreign))
            words = text[span[0] : end]
            if self._points(words):
                points, needs = True, (len(self.found) - 1,)
            elif _COLON_WITHIN.search(words):
                needs = (len(self.found) - 1,)
        if before is not None and not block.after_empty and before.kind == bl.OTHER:
            self.found[first] = self.found[first]._replace(stands=False, begins=False)
        self._close(first, block, follows, inside, points=points)

    def _points(self, words: str) -> bool:
        """Whether a sentence speaks of what follows it."""
        return self.may_point and wording.FORWARD.search(plain(words)) is not None

    def _is_foreign(self, block: bl.Block) -> bool:
        if self.is_note:
            return False
        self.foreign = self.foreign or pastes.is_forwarded(self.text, block)
        return self.foreign or self._is_paste(block)

    def _governors(self, block: bl.Block, first: int) -> tuple[int, ...]:
        if block.kind == bl.LISTED:
            while self.items and self.items[-1][0] >= block.indent:
                self.items.pop()
            own = (self.items[-1][1],) if self.items else self.list_intro or self.over
        else:
            own = () if block.kind == bl.HEADING else self.over
        if self.broken >= 0 or (first and takes_back(self.text, block.start, block.end)):
            last = first - 1
            self.found[last] = self.found[last]._replace(open=True)
            own = (last,)
        self.broken = -1
        return own

    def _sentence(
        self,
        span: tuple[int, int],
        number: int,
        block: bl.Block,
        inside: Enclosed,
        needs: tuple[int, ...],
        is_foreign: bool,
    ) -> Sentence:
        start, end = span
        is_quoted = self.torn or (
            inside is not NOTHING
            and (
                (0 <= inside.torn <= start)
                or start < inside.stray
                or _is_wholly_enclosed(self.text, start, end, inside)
            )
        )
        told = not (is_foreign or self.torn)
        return Sentence(start, end, number, block.end, needs, False, not (is_foreign or is_quoted), told)

    def _close(self, first: int, block: bl.Block, follows: bl.Block | None, inside: Enclosed, *, points: bool) -> None:
        """What the end of a block means for what comes next."""
        last = len(self.found) - 1
        text, sentence = self.text, self.found[last]
        self.torn = self.torn or inside.torn >= 0
        if _is_attributed(text, block):
            self.found[first:] = [each._replace(stands=False) for each in self.found[first:]]
        body = text[sentence.start : sentence.end].rstrip(_MARKUP)
        is_listed = follows is not None and follows.kind == bl.LISTED and block.kind != bl.LISTED
        ended = body[-1:] in TERMINATORS or body[-1:] in CLOSERS
        introduces = body[-1:] in _COLONS
        if block.kind == bl.HEADING or introduces or (is_listed and not ended):
            self.found[last] = self.found[last]._replace(open=True)
        if block.kind == bl.LISTED:
            self.items.append((block.indent, last))
        if block.kind == bl.HEADING or ((points or introduces) and self._is_own_prose(follows)):
            self.over = (last,)
        if block.kind != bl.LISTED and not introduces and _breaks_off(body):
            self.found[last] = self.found[last]._replace(open=True)
            self.broken = last

    def _is_own_prose(self, block: bl.Block | None) -> bool:
        if block is None or block.kind != bl.PROSE:
            return False
        return not self._is_paste(block)

    def _is_paste(self, block: bl.Block) -> bool:
        is_echo = any(start < block.end and block.start < end for start, end in self.echoes)
        return is_echo or pastes.is_long(block) or pastes.is_machine_made(self.text, block)


def _is_attributed(text: str, block: bl.Block) -> bool:
    """Whether a paragraph ends in a dash and a name, which says whose words it is.

    Small letters are one only behind a full stop, else the dash may be a verb's place (`Один модуль — этого достаточно.`); in
    other languages than English also with a capital among them (`— де Голль`).
    """
    name = _ATTRIBUTED.search(text, max(block.start, block.end - limits.EVIDENCE_NAME_MAX_CHARS), block.end)
    if name is None or not name.group(1).islower():
        return name is not None
    if not name.group().isascii() and any(word[0].isupper() for word in name.group().split()):
        return True
    return text[block.start : name.start()].rstrip()[-1:] in {*TERMINATORS, *CLOSERS}


def _breaks_off(body: str) -> bool:
    if body[-1:] in _BROKEN_OFF:
        return True
    return (
        body[-1:] not in TERMINATORS
        and wording.UNFINISHED.search(plain(body[-limits.EVIDENCE_WORD_MAX_CHARS :])) is not None
    )


def _is_wholly_enclosed(text: str, start: int, end: int, inside: Enclosed) -> bool:
    """Whether the sentence is a quotation or code from its first sign to its last, but for punctuation and markup."""
    while start < end and text[start] in _MARKUP:
        start += 1
    last, kind = inside.begun_at(start)
    return kind in (QUOTE, CODE) and all(
        char in TERMINATORS or char in CLOSERS or char in ELLIPSES or char in ",;:" or char.isspace()
        for char in text[last:end]
    )


def says(text: str, sentence: Sentence) -> bool:
    """Whether the sentence may count: by its place, and since it is neither struck out nor cut into nor a question."""
    words = text[sentence.start : sentence.end]
    return sentence.stands and not _STRUCK.search(words) and not asks(words)


def outline(text: str, *, is_note: bool = False) -> list[Sentence]:
    """The sentences of ``text`` in order; ``is_note`` reads `User:` as a label, and nothing as a paste."""
    found = _Outliner(text, is_note=is_note).outline()
    if not is_note and sum(each.end - each.start for each in found if each.told) > limits.EVIDENCE_TYPED_MAX_CHARS:
        return [each._replace(stands=False) for each in found]
    return found
