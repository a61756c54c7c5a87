"""The rules that judge notes together: what goes into one block of a budget and a cap (delivery.md, "Budget").

- What a person endorsed is taken first, so that no number of notes that agents write leaves it out; then the others. Findings are
  taken by their score alone.
- Notes are taken in the bundle's order, each in its barest rendering; one that does not fit is dropped whole, and a smaller one
  after it may still go in. What room is left goes to the lines below the notes, in the same order: so lines never decide that
  a note is dropped.
- A correction is taken right before what it corrects; where it does not fit, what it corrects does not go either.
- Revoked directives take a bounded share of a block.
- Notes that are sure of their place are taken first, into the block's whole budget; what nobody endorsed is taken into the budget
  that is set for it (situation.py, `Terms`).
- A block that shares its answer with another one gives way as it is told to (`Leeway`).
- Whatever did not fit is counted in the block's last line, rules first; the line's own cost is part of the block's. It names ten,
  and fewer where the room is short, one at least: room for the names of rules is kept from all notes, save that those of rules
  which nobody endorsed keep out no endorsed note; that for other names from no endorsed note, nor from the first of all.

Costs are added up note by note, one token more for each line end: the sum is never below the cost of the whole, since a text's
tokens are the sum of its parts' and a part's bytes are rounded up. The finished block is measured once more as it is sent.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from memd_daemon.frames import envelope
from memd_daemon.frames.digest import rendering_digest
from memd_daemon.frames.push import renderings
from memd_daemon.limits import BYTES_PER_TOKEN, LEFT_OUT_IDS_MAX, REVOKED_DIRECTIVES_MAX_TOKENS
from memd_daemon.model.view import Weight
from memd_daemon.model.words import Kind
from memd_daemon.rules.order import is_revoked_directive, place
from memd_daemon.rules.situation import Candidate, Chosen, Situation

BUDGET: Final = "budget"
HARNESS_CAP: Final = "harness-cap"
TOMBSTONE_SHARE: Final = "tombstone-share"
CORRECTION_FIRST: Final = "correction-first"

SAYS: Final[dict[str, str]] = {
    TOMBSTONE_SHARE: "revoked directives have used up their share of the block",
    CORRECTION_FIRST: "the note that corrects it did not fit, so it may not stand alone",
    BUDGET: "it did not fit into the budget",
    HARNESS_CAP: "it did not fit into what the client takes in one answer",
}
"""The names these rules leave a note out by, in the order they are tried."""

_LINE_END: Final = "\n"


class Leeway(NamedTuple):
    """How a block gives way to another one of the same answer. Without a word: not at all."""

    sure: frozenset[bytes] = frozenset()  # uids of notes that are taken before all others
    only_sure: bool = False  # all others give way to the other block
    bare: bool = False  # no lines below the notes
    names: bool = False  # what did not fit is named also where nothing did, and no rule is among it
    also: tuple[int, ...] = ()  # ids that the last line names first: of notes that have no room in the other block


WHOLE: Final = Leeway()


class Packed:
    """One block while it is being filled: which notes, in which rendering, and what they cost so far."""

    def __init__(self, now: Situation, suffix: str, keeping: "_Keeping", leeway: Leeway) -> None:
        self._now = now
        self._leeway = leeway
        self._suffix = suffix
        self._taken: dict[int, _Note] = {}
        self._weight = Weight.HUMAN
        self._tombstone_tokens = 0
        self._tokens = self._units = 0  # of the notes, each with a line end
        self._end = self._end_of(keeping.last)
        self._end_beside_endorsed, self._end_beside_first = self._end_of(keeping.endorsed), self._end_of(keeping.first)
        self._named = LEFT_OUT_IDS_MAX
        self._openings: dict[tuple[Weight | None, int], tuple[int, int]] = {}
        self.left: dict[int, str] = {}  # id -> rule

    def _end_of(self, last_line: str) -> tuple[int, int]:
        line = last_line + self._suffix
        return self._now.cost(line) + 1, self._now.units(_LINE_END + line)

    def take(self, note: "_Note", corrections: Iterable["_Note"]) -> None:
        """Put ``note`` in, or say which rule leaves it out."""
        rule = self._refusal(note, corrections)
        if rule:
            self.left[note.view.id] = rule
            return
        self._taken[note.view.id] = note
        self._weight = min(self._weight, note.weight)
        tokens, units = note.barest
        self._tokens += tokens + 1
        self._units += units
        if note.is_tombstone:
            self._tombstone_tokens += tokens + 1

    def _refusal(self, note: "_Note", corrections: Iterable["_Note"]) -> str:
        if self._leeway.only_sure and not note.is_sure:
            return HARNESS_CAP
        if any(correction.view.id not in self._taken for correction in corrections):
            return CORRECTION_FIRST
        weight, count = min(self._weight, note.weight), len(self._taken) + 1
        opening_tokens, opening_units = self._opening(weight, count)
        end_tokens, end_units = self._end_beside(note)
        room = note.budget_tokens - self._tokens - end_tokens - opening_tokens - 1
        if note.least_tokens > room:
            return BUDGET
        tokens, units = note.barest
        if tokens > room:
            return BUDGET
        if note.is_tombstone and self._tombstone_tokens + tokens + 1 > REVOKED_DIRECTIVES_MAX_TOKENS:
            return TOMBSTONE_SHARE
        fits_cap = self._units + units + end_units + opening_units <= self._now.cap_units
        return "" if fits_cap else HARNESS_CAP

    def _end_beside(self, note: "_Note") -> tuple[int, int]:
        """What is kept free for the last line where this note asks for room."""
        if note.goes_first or note.is_sure:
            return self._end_beside_endorsed
        return self._end if self._taken else self._end_beside_first

    def _opening(self, weight: Weight | None, count: int) -> tuple[int, int]:
        key = (weight, count)
        if key not in self._openings:
            line = envelope.opening(weight, count)
            self._openings[key] = self._now.cost(line), self._now.units(line)
        return self._openings[key]

    def close(self, left_out_ids: Sequence[int]) -> str:
        """Settle the last line, with as many names as there is room for; gives the rule by which even the shortest is too long."""
        rule, ids = "", (*self._leeway.also, *left_out_ids)
        for named in range(LEFT_OUT_IDS_MAX, 0, -1):
            self._named, self._end = named, self._end_of(envelope.closing(ids, named))
            rule = self._over(self._tokens, self._units)
            if not rule or not ids:
                break
        return rule

    def _over(self, tokens: int, units: int) -> str:
        """The rule that notes of this size break with the first line and the last as they are."""
        opening_tokens, opening_units = self._opening(self._weight if self._taken else None, len(self._taken))
        if tokens + opening_tokens + self._end[0] > self._now.block_tokens:
            return BUDGET
        return HARNESS_CAP if units + opening_units + self._end[1] > self._now.cap_units else ""

    def drop_last(self, rule: str) -> bool:
        """Take out the note that was taken last; False where there is none."""
        if not self._taken:
            return False
        last, note = self._taken.popitem()
        self.left[last] = rule
        self._tokens -= note.barest[0] + 1
        self._units -= note.barest[1]
        self._weight = min((note.weight for note in self._taken.values()), default=Weight.HUMAN)
        return True

    def fill(self) -> None:
        """Give the room that is left to the notes' further lines, in the bundle's order, as full as they fit."""
        for note in self.in_order():
            for level in range(len(note.texts) - 1):
                tokens = self._tokens + note.tokens(level) - note.barest[0]
                units = self._units + note.units(level) - note.barest[1]
                if not self._over(tokens, units):
                    note.level, self._tokens, self._units = level, tokens, units
                    break

    def in_order(self) -> list["_Note"]:
        return sorted(self._taken.values(), key=lambda note: note.place)

    def chosen(self) -> tuple[Chosen, ...]:
        return tuple(note.chosen() for note in self.in_order())

    def text(self, left_out_ids: Sequence[int]) -> str:
        """The whole block as it is sent."""
        notes = self.in_order()
        texts, ids = [note.texts[note.level] for note in notes], (*self._leeway.also, *left_out_ids)
        return envelope.bundle([note.view for note in notes], texts, ids, self._named) + self._suffix

    def shrink(self) -> bool:
        """Take the block one step back: all notes to their barest, then the last one out. False where it is empty."""
        full = [note for note in self._taken.values() if note.level != len(note.texts) - 1]
        for note in full:
            self._tokens -= note.tokens(note.level) - note.barest[0]
            self._units -= note.units(note.level) - note.barest[1]
            note.level = len(note.texts) - 1
        return bool(full) or self.drop_last(BUDGET)


class _Note:
    """A candidate with its renderings, each measured once and only if it is needed."""

    def __init__(self, now: Situation, candidate: Candidate, sure: frozenset[bytes]) -> None:
        self._now = now
        self._sizes: dict[int, tuple[int, int]] = {}
        self._level = -1
        self.candidate = candidate
        self.view = candidate.view
        self.place = place(candidate)
        self.weight = candidate.view.weight
        self.is_sure = candidate.view.note.uid in sure
        is_free = now.rest is None or self.is_sure or candidate.endorsed
        self.budget_tokens = now.block_tokens if is_free else now.terms(candidate).budget_tokens
        self.is_tombstone = is_revoked_directive(candidate)
        is_ranked = self.view.note.kind == Kind.FINDING  # by its score, in which it counts who stands behind it
        self.goes_first = candidate.endorsed and not self.view.revoked and not is_ranked
        self.is_fall = self.view.revoked and self.view.note.uid in now.standing
        """Whether it takes back what this context was told and has before it still."""
        self.least_tokens = 0 if self.view.revoked else len(self.view.content) // BYTES_PER_TOKEN
        """What the note costs at least, known without a rendering: most of a large store does not fit."""

    @cached_property
    def barest(self) -> tuple[int, int]:
        """(tokens, units) of the note without its lines."""
        return self._size(len(self.texts) - 1)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return renderings(self.view, self._now.tags)

    @property
    def level(self) -> int:
        """Which rendering goes out: 0 is the fullest."""
        return len(self.texts) - 1 if self._level < 0 else self._level

    @level.setter
    def level(self, level: int) -> None:
        self._level = level

    def tokens(self, level: int) -> int:
        return self._size(level)[0]

    def units(self, level: int) -> int:
        """With the line end before it."""
        return self._size(level)[1]

    def _size(self, level: int) -> tuple[int, int]:
        if level not in self._sizes:
            text = self.texts[level]
            self._sizes[level] = self._now.cost(text), self._now.units(_LINE_END + text)
        return self._sizes[level]

    def chosen(self) -> Chosen:
        digest = rendering_digest(self.view, self._now.tags, self._now.edited_here)
        text = self.texts[self.level]
        return Chosen(candidate=self.candidate, text=text, tokens=self.tokens(self.level), digest=digest)


def pack(
    now: Situation, pool: Sequence[Candidate], suffix: str = "", leeway: Leeway = WHOLE
) -> tuple[str, int, Packed]:
    """(the block, its tokens, what is in it and what is not). ``pool``: candidates that no other rule leaves out, each once.

    ``suffix`` is a text of memd's own that follows the last line and counts with it. The block is "" where no note fits and no
    rule is left out, unless what is left out is to be named: then there is nothing to say.
    """
    notes = sorted((_Note(now, candidate, leeway.sure) for candidate in pool), key=lambda note: note.place)
    corrections = _corrections(notes)
    turns = _turns(notes, corrections)
    packed = _take_all(turns, corrections, Packed(now, suffix, _Keeping(), leeway))
    if packed.left and not leeway.only_sure:  # who is taken is settled then, and as many are named as there is room for
        packed = _take_all(turns, corrections, Packed(now, suffix, _keeping(notes, leeway.also), leeway))
    while (rule := packed.close(_named(notes, packed.left))) and packed.drop_last(rule):
        pass
    if not leeway.bare:
        packed.fill()
    text, tokens = _finished(now, notes, packed, names=leeway.names)
    return text, tokens, packed


class _Keeping(NamedTuple):
    """For which last line room is kept free while notes are taken."""

    last: str = envelope.CLOSING
    endorsed: str = envelope.CLOSING  # from a note that is sure of its place, or endorsed
    first: str = envelope.CLOSING  # from the first that is taken


def _keeping(notes: Sequence[_Note], also: Sequence[int]) -> _Keeping:
    """As if nothing fitted, and with the largest numbers: the line that comes is hardly ever longer."""
    ids = sorted((*also, *(note.view.id for note in notes)), reverse=True)
    rules = [note for note in notes if _is_rule(note)]
    named = (min(max(len(few), 1), LEFT_OUT_IDS_MAX) for few in ([r for r in rules if r.goes_first], rules))
    return _Keeping(envelope.closing(ids), *(envelope.closing(ids, count) for count in named))


def _take_all(turns: Sequence[_Note], corrections: dict[int, list[_Note]], packed: Packed) -> Packed:
    for note in turns:
        packed.take(note, corrections.get(note.view.id, ()))
    return packed


def _corrections(notes: Sequence[_Note]) -> dict[int, list[_Note]]:
    """Revoked note's id -> the notes here that correct it and hold themselves."""
    by_id = {note.view.id: note for note in notes}
    found: dict[int, list[_Note]] = {}
    for old, new in _links([note.candidate for note in notes]):
        found.setdefault(old, []).append(by_id[new])
    return found


def corrections_of(fallen: Iterable[Candidate], among: Sequence[Candidate]) -> list[Candidate]:
    """Those ``among`` candidates that correct one of the ``fallen`` ones."""
    ids = {one.view.id for one in fallen}
    new = {new for old, new in _links(among) if old in ids}
    return [one for one in among if one.view.id in new]


def _links(candidates: Sequence[Candidate]) -> Iterator[tuple[int, int]]:
    """(id of a revoked note, id of one that corrects it and holds itself), of those here.

    What a person struck through waits only for what that person named in its place, or endorsed since: else any number of notes
    that agents write against it would keep it from being told, and come before what is endorsed.
    """
    by_id = {one.view.id: one for one in candidates}
    links = [(one.view.id, one.view.replaced_by) for one in candidates if one.view.revoked and one.view.replaced_by]
    links += [(old, one.view.id) for one in candidates for old in one.view.corrects if _counts(by_id.get(old), one)]
    return (
        (old, new)
        for old, new in links
        if old in by_id and new in by_id and by_id[old].view.revoked and not by_id[new].view.revoked
    )


def _counts(fallen: Candidate | None, correction: Candidate) -> bool:
    return fallen is not None and (correction.endorsed or not fallen.endorsed)


def _turns(notes: Sequence[_Note], corrections: dict[int, list[_Note]]) -> list[_Note]:
    """The notes in the order in which they are tried: the sure ones, what a person took back, what a person endorsed, what else
    was taken back, then the rest and all findings, each in the bundle's order, with each correction before what it corrects."""
    tried: dict[int, _Note] = {}
    for note in sorted(notes, key=_turn):
        for turn in (*corrections.get(note.view.id, ()), note):
            tried.setdefault(turn.view.id, turn)
    return list(tried.values())


def _turn(note: _Note) -> int:
    if note.is_sure:
        return 0
    if note.is_fall:
        return 1 if note.candidate.endorsed else 3
    return 2 if note.goes_first else 4


def _named(notes: Sequence[_Note], left: Container[int]) -> list[int]:
    """Ids of the notes left out as the last line gives them: in the bundle's order, which has the rules that hold first."""
    return [note.view.id for note in notes if note.view.id in left]


def _is_rule(note: _Note) -> bool:
    return note.view.note.kind == Kind.DIRECTIVE and not note.view.revoked


def _finished(now: Situation, notes: Sequence[_Note], packed: Packed, *, names: bool) -> tuple[str, int]:
    """(block, tokens), measured as it is sent and taken back step by step should it be too large after all."""
    while True:
        rule_left = any(_is_rule(note) and note.view.id in packed.left for note in notes)
        if not packed.in_order() and not rule_left and not names:
            return "", 0
        text = packed.text(_named(notes, packed.left))
        tokens = now.cost(text)
        if tokens <= now.block_tokens and now.units(text) <= now.cap_units:
            return text, tokens
        if not packed.shrink():
            return "", 0
        packed.close(_named(notes, packed.left))
