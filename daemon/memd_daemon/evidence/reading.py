"""What of a note's content the user said: the spans that are whole statements of a turn, and what else of a turn it touches."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.evidence.folding import Folded, folded, plain
from memd_daemon.evidence.known import turn_outline
from memd_daemon.evidence.outline import Sentence, outline, says
from memd_daemon.evidence.signs import IS_UNSPACED, SPACED, STOPS, TERMINATORS, UNSPACED, WIDE
from memd_daemon.evidence.words import runs, weight
from memd_daemon.pattern import pattern

_FINAL: Final = "".join(sorted(set(TERMINATORS) - set("?")))
_TRAILS_OFF: Final = ".."  # an ellipsis, folded: what has one is not whole without it
_BUCKET: Final = 2
_AFTER: Final = frozenset(",;:)\"'" + STOPS + SPACED)
_NOBODYS: Final = r"\s|[-*+•.!。．·)(]|\d{1,3}(?=[.)])"
_BARE: Final = pattern(rf"(?:{_NOBODYS})+")
_GLUE: Final = pattern(rf"(?:user ?[:：]|{_NOBODYS})+", re.IGNORECASE)
_GOES_ON: Final = pattern(rf"(?<=[{UNSPACED}])[,;]|(?<=[\u3040-\u309f])、(?![とっなのかがはをに])")


class Said(msgspec.Struct, frozen=True):
    """A turn as stored."""

    number: int
    text: str


class Span(msgspec.Struct, frozen=True, order=True):
    """Characters of a note's content that are the user's whole statement in ``turn``."""

    start: int
    end: int
    turn: int


class Quoted(msgspec.Struct, frozen=True):
    """The user's whole sentence, of which the content has a part, or which it has in a sentence of its own."""

    turn: int
    sentence: str


class Reading(msgspec.Struct, frozen=True):
    """``whole`` is the turn whose statements, in its order, cover the content from end to end; 0 where no one turn does.

    A `User:` in the content is not the user's, so a content that has one is not covered.
    """

    spans: tuple[Span, ...] = ()
    quoted: tuple[Quoted, ...] = ()
    whole: int = 0


class Statement(msgspec.Struct, frozen=True):
    """What may count of a turn, in offsets of its text; ``leads`` are the sentences it counts only together with, in order."""

    start: int
    end: int
    leads: tuple[tuple[int, int], ...] = ()


class _Page:
    """A note's content, looked at once for all turns."""

    def __init__(self, content: str) -> None:
        self.content = content
        self.fold: Folded = folded(content)
        self.sentences = outline(content, is_note=True)
        place = self.fold.place
        self.starts = [place(sentence.start) for sentence in self.sentences]
        self.block_ends = [place(sentence.block_end) for sentence in self.sentences]
        self.runs = frozenset(runs(self.fold.text))

    def says(self, number: int) -> bool:
        """Whether a statement may begin with that sentence."""
        return self.sentences[number].begins and says(self.content, self.sentences[number])


class _Told:
    """A turn, looked at as far as the note asks for it."""

    def __init__(self, number: int, text: str, common: frozenset[tuple[str, ...]]) -> None:
        self.number, self.text, self.common = number, text, common
        self.sentences = turn_outline(self.text)
        self.keys = [self._key(sentence) for sentence in self.sentences]
        self.buckets: dict[str, list[int]] = {}
        for number, key in enumerate(self.keys):
            if key:
                self.buckets.setdefault(key[:_BUCKET], []).append(number)
        for numbers in self.buckets.values():
            numbers.sort(key=lambda number: -len(self.keys[number]))

    def _key(self, sentence: Sentence) -> str:
        """The sentence as it is compared: its final punctuation may be left off, the colon of an introduction not."""
        if not sentence.stands:
            return ""
        key = plain(self.text[sentence.start : sentence.end])
        return key if key.endswith(_TRAILS_OFF) else key.rstrip(_FINAL).rstrip()

    def weight(self, number: int) -> int:
        return weight(self.keys[number])

    def says(self, number: int) -> bool:
        """Whether it is a statement, of one word at least."""
        return says(self.text, self.sentences[number]) and self.weight(number) > 0


def _looked_at(text: str) -> str:
    """The beginning of a long turn, up to an empty line."""
    limit = limits.EVIDENCE_TURN_LOOKED_AT_CHARS
    if len(text) <= limit:
        return text
    cut = text.rfind("\n\n", 0, limit)
    return text[: max(cut, 0)]


class _Match(msgspec.Struct, frozen=True):
    """Sentence ``note`` of the page begins with sentence ``told`` of the turn; ``end`` is a folded offset of the page."""

    note: int
    told: int
    end: int


def _matches(page: _Page, told: _Told) -> list[_Match]:
    """What of the turn the page has, with all that it hangs on on both sides."""
    found: list[_Match] = []
    run: list[_Match] = []  # the matches that stand directly before, one behind the other
    by_note: dict[int, int] = {}
    beyond = last = 0
    for number, start in enumerate(page.starts):
        if start < beyond:
            by_note[number] = last
            continue
        match = _match(page, told, number, run, by_note)
        if match is None:
            found += run
            run = []
            continue
        run.append(match)
        by_note[number] = last = match.told
        beyond = match.end
        if not _ends_there(page, match):
            found += run
            run = []
    found += run
    return _long_enough(page, told, _introducing(told, found))


def _match(page: _Page, told: _Told, number: int, run: list[_Match], by_note: dict[int, int]) -> _Match | None:
    start, limit = page.starts[number], page.block_ends[number]
    alike = told.buckets.get(page.fold.text[start : start + _BUCKET], [])
    for candidate in alike[: limits.EVIDENCE_ALIKE_MAX]:
        end = start + len(told.keys[candidate])
        if end > limit or not page.fold.text.startswith(told.keys[candidate], start) or not _may_end(page, end, limit):
            continue
        if not (told.says(candidate) and page.says(number)):
            continue
        if _hangs_together(page, told, number, candidate, run, by_note):
            return _Match(number, candidate, end)
    return None


def _may_end(page: _Page, end: int, limit: int) -> bool:
    """Whether the words end there too: white space, a sign that ends or parts, or the end of the block follows."""
    text = page.fold.text
    if end >= limit:
        return True
    is_unspaced = IS_UNSPACED.match(text[end - 1]) is not None
    if text[end] in WIDE or (is_unspaced and text[end] == "!") or _GOES_ON.match(text, end):
        return True
    signs = end
    while signs < limit and text[signs] in _AFTER:
        signs += 1
    if (signs < limit and not text[signs].isspace()) or text.startswith(_TRAILS_OFF, end):
        return False
    # without spaces a word may go on behind one: `する` is taken back by a `な`
    return "?" not in text[end:signs] if signs > end else not is_unspaced


def _ends_there(page: _Page, match: _Match) -> bool:
    """Whether nothing of the note's own follows in that sentence."""
    behind = bisect_left(page.starts, match.end)
    following = page.starts[behind] if behind < len(page.starts) else len(page.fold.text)
    return match.end >= following or _GLUE.fullmatch(page.fold.text, match.end, following) is not None


def _hangs_together(
    page: _Page, told: _Told, number: int, candidate: int, run: list[_Match], by_note: dict[int, int]
) -> bool:
    needs = told.sentences[candidate].needs
    note_needs = page.sentences[number].needs
    if note_needs and (not needs or by_note.get(note_needs[-1], -1) != needs[-1]):
        return False
    if not needs:
        return True
    before = [match.told for match in run]
    if needs[-1] not in before or candidate <= before[-1]:
        return False
    at = len(before) - 1 - before[::-1].index(needs[-1])
    if tuple(before[at + 1 - len(needs) : at + 1]) != needs:
        return False
    return all(_is_under(told, each, needs[-1]) for each in before[at + 1 :])


def _is_under(told: _Told, number: int, governor: int) -> bool:
    while needs := told.sentences[number].needs:
        number = needs[-1]
        if number == governor:
            return True
    return False


def _introducing(told: _Told, found: list[_Match]) -> list[_Match]:
    """Without the introductions that introduce nothing here."""
    kept: list[_Match] = []
    needed: set[int] = set()
    for match in reversed(found):
        sentence = told.sentences[match.told]
        if sentence.open and match.told not in needed:
            continue
        needed.update(sentence.needs)
        kept.append(match)
    return kept[::-1]


def _long_enough(page: _Page, told: _Told, found: list[_Match]) -> list[_Match]:
    """Without what is too short to say anything by itself: `Yes.` needs its neighbour, or to be all there is."""
    if _covers(page, found, _GLUE):
        return found
    at = {(match.note, match.told) for match in found}
    needed = {number for match in found for number in told.sentences[match.told].needs}

    def leans(match: _Match) -> bool:
        if told.sentences[match.told].needs or match.told in needed:
            return True
        return any((match.note + step, match.told + step) in at for step in (-1, 1))

    return [m for m in found if told.weight(m.told) >= limits.EVIDENCE_MATCH_WEIGHT or leans(m)]


def _covers(page: _Page, found: list[_Match], glue: re.Pattern[str]) -> bool:
    """Whether the matches are all of the page but for ``glue`` between them, in the order of the turn."""
    if not found or any(one.told >= other.told for one, other in pairwise(found)):
        return False
    text, at = page.fold.text, 0
    for match in found:
        if text[at : page.starts[match.note]] and not glue.fullmatch(text[at : page.starts[match.note]]):
            return False
        at = match.end
    return not text[at:] or glue.fullmatch(text[at:]) is not None


def _span(page: _Page, match: _Match, turn: int) -> Span:
    """With the note's own final punctuation, which is nobody's words."""
    text, end = page.fold.text, match.end
    limit = page.block_ends[match.note]
    if text[end : end + 1] == " " and text[end + 1 : end + 2] in ("!", "।", "॥"):  # as French and Hindi set them
        end += 1
    while end < limit and text[end] in _FINAL:
        end += 1
    start, last = page.fold.span(page.starts[match.note], end)
    return Span(start, last, turn)


def _shared(told: _Told, found: list[_Match]) -> list[int]:
    """Sentences of the turn of which the page has a run of words that is not of a marked one."""
    marked = {match.told for match in found}
    free = told.common.difference(*(runs(told.keys[number]) for number in marked))
    telling = {max(run, key=len) for run in free}  # a sentence with none of these words has none of the runs

    def shares(number: int, sentence: Sentence) -> bool:
        flat = told.keys[number] or plain(told.text[sentence.start : sentence.end])
        return any(word in flat for word in telling) and not free.isdisjoint(runs(flat))

    return [
        number
        for number, sentence in enumerate(told.sentences)
        if free and number not in marked and sentence.told and shares(number, sentence)
    ]


def _whole_sentence(told: _Told, number: int) -> str:
    """With what it hangs on, the nearest first; an ellipsis stands for what lies between."""
    chain: list[int] = [number]
    while (needs := told.sentences[chain[0]].needs) and len(chain) < limits.EVIDENCE_CHAIN_MAX:
        chain[:0] = needs
    parts = [told.text[told.sentences[chain[0]].start : told.sentences[chain[0]].end]]
    for before, each in pairwise(chain):
        sentence = told.sentences[each]
        parts += (" " if each == before + 1 else " … ", told.text[sentence.start : sentence.end])
    return "".join(parts)


def _told(page: _Page, turns: Sequence[Said]) -> Iterator[_Told]:
    """The turns that have a run of words of the page, the newest first, as far as they are looked at."""
    room = limits.EVIDENCE_LOOKED_AT_CHARS
    newest = sorted(turns, key=lambda said: -said.number)[: limits.EVIDENCE_TURNS_MAX]
    for said in newest:
        room -= min(len(said.text), limits.EVIDENCE_TURN_LOOKED_AT_CHARS)
        if room < 0:
            return
        text = _looked_at(said.text)
        common = page.runs.intersection(runs(plain(text)))
        if common or not page.runs:
            yield _Told(said.number, text, common)


def read(content: str, turns: Sequence[Said]) -> Reading:
    """Which characters of ``content`` are whole statements of ``turns``, and which sentences it has only a part of.

    Where several turns say the same, the one that covers the content as a whole is named, else the newest.
    """
    page = _Page(content)
    readings = [(told, _matches(page, told)) for told in _told(page, turns)]
    whole = next((told.number for told, found in readings if _covers(page, found, _BARE)), 0)
    spans: list[Span] = []
    quoted: list[Quoted] = []
    for told, found in sorted(readings, key=lambda reading: reading[0].number != whole):
        spans += (
            span
            for span in (_span(page, match, told.number) for match in found)
            if not any(span.start < other.end and other.start < span.end for other in spans)
        )
    for told, found in readings:
        room = limits.EVIDENCE_QUOTED_MAX - len(quoted)
        quoted += (Quoted(told.number, _whole_sentence(told, number)) for number in _shared(told, found)[:room])
    return Reading(tuple(sorted(spans)), tuple(quoted), whole)


def statements(turn: str) -> tuple[Statement, ...]:
    """What of a turn may count: whole sentences and list items with what introduces them."""
    sentences = turn_outline(turn)
    return tuple(
        Statement(each.start, each.end, tuple((sentences[n].start, sentences[n].end) for n in each.needs))
        for each in sentences
        if not each.open and says(turn, each)
    )


def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """The sentences of ``text``, in offsets, without white space and list markers around them; code and `>` quotes have none."""
    return tuple((each.start, each.end) for each in outline(text))


def bindable(content: str, turns: Sequence[Said]) -> tuple[tuple[int, int, int], ...]:
    """(turn, start, end in the turn's text) of the statements that stand word for word in ``content``, wherever in a sentence.

    For binding: a turn that is bound marks nothing by that.
    """
    page = _Page(content)
    found: list[tuple[int, int, int]] = []
    for told in _told(page, turns):
        marked = {match.told for match in _matches(page, told)}
        for number, sentence in enumerate(told.sentences):
            if number in marked or (
                not sentence.needs and not sentence.open and _stands_in(page, told, number) and told.says(number)
            ):
                found.append((told.number, sentence.start, sentence.end))
    return tuple(found)


def _stands_in(page: _Page, told: _Told, number: int) -> bool:
    key = told.keys[number]
    if told.weight(number) < limits.EVIDENCE_MATCH_WEIGHT:
        return False
    text = page.fold.text
    at = text.find(key)
    while at >= 0:
        if not (text[at - 1 : at].isalnum() and key[0].isalnum()) or IS_UNSPACED.match(key):
            end = at + len(key)
            if not (text[end : end + 1].isalnum() and key[-1].isalnum()) or IS_UNSPACED.match(key[-1]):
                return True
        at = text.find(key, at + 1)
    return False
