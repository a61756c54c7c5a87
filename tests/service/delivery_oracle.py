"""What hooks are to tell, worked out from the page alone (delivery.md): small, slow, and without a line of the daemon's.

`Context` is one (session, agent). `hear` says what an event of it is to be answered; what was answered is then `sent`, and becomes
part of what stands when its receipt comes (`arrived`), or is `lost`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

BEGIN_ANEW: Final = frozenset({"startup", "clear", "fork", "compact"})
"""Starts after which nothing of what was told before stands."""

MATCHES, CHANGED, OPEN = "matches", "changed", ""


@dataclass(eq=False)
class Note:
    """A note that is in scope everywhere here. ``anchored``: what its file held when it was recorded."""

    id: int
    kind: str
    high: bool = False
    path: str = ""
    anchored: str = ""
    asked_by: str = ""  # a finding: the name that a prompt about it has
    human: bool = False
    fallen: bool = False
    doubted: bool = False  # an agent proposed to revoke what a person endorsed
    closed: bool = False

    def status(self, files: dict[str, str]) -> str:
        """What its frame says of its file; a tombstone says nothing of it."""
        if not self.path or self.fallen:
            return OPEN
        return MATCHES if files[self.path] == self.anchored else CHANGED

    def rendering(self, files: dict[str, str]) -> "Rendering":
        return Rendering((self.human, self.fallen, self.doubted), self.status(files))


@dataclass(frozen=True)
class Rendering:
    words: tuple[bool, ...]
    status: str


@dataclass(frozen=True)
class Event:
    """``path``: of a read or an edit; ``prompt``: what it says; ``source``: of a start."""

    moment: str  # start, subagent, prompt, read, edit, call
    turn: str = ""
    source: str = ""
    prompt: str = ""
    path: str = ""
    plan_mode: bool = False


@dataclass(eq=False)
class Answer:
    """What one event brings: the bundle that was owed, and the moment's own notes."""

    turn: str
    held: bool = False
    bundle: tuple[Note, ...] = ()
    own: tuple[Note, ...] = ()
    epoch: int = 0
    seen: dict[int, Rendering] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[Note, ...]:
        return (*self.bundle, *self.own)


@dataclass(eq=False)
class Context:
    """What one (session, agent) was told, and what it is owed."""

    agent: bool
    with_person: bool = True
    family: list["Context"] = field(default_factory=list)  # every context of its session, itself included
    epoch: int = 0
    heard: bool = False
    owed: bool = True
    turn: str = ""
    standing: dict[int, Rendering] = field(default_factory=dict)
    under_way: list[Answer] = field(default_factory=list)
    told: set[int] = field(default_factory=set)  # in this turn, in this epoch
    held_turns: set[str] = field(default_factory=set)
    held_for: set[int] = field(default_factory=set)  # in this epoch
    touched: set[str] = field(default_factory=set)
    edited: set[str] = field(default_factory=set)

    # --- hearing

    def hear(self, event: Event, notes: Iterable[Note], files: dict[str, str]) -> Answer:
        """What this event is to be answered. The context is by then as the event makes it; nothing counts as told yet."""
        self._come_to(event)
        notes = [note for note in notes if not note.closed and (self.with_person or note.kind == "directive")]
        answer = Answer(turn=self.turn, epoch=self.epoch)
        if self.owed:
            own_file = [note for note in notes if note.kind == "gotcha" and note.path == event.path]
            answer.bundle = self._fresh([note for note in notes if self._is_due(note) and note not in own_file], files)
        fresh = self._fresh([note for note in notes if _is_of(event, note)], files)
        worth = tuple(note for note in fresh if self._may_hold(event, note))
        answer.held, answer.own = bool(worth), worth or fresh
        answer.seen = {note.id: note.rendering(files) for note in answer.notes}
        return answer

    def _come_to(self, event: Event) -> None:
        if event.moment == "start":
            if self.heard and event.source in BEGIN_ANEW:
                self._begin_anew()
            if event.source != "compact":
                self.turn, self.told = "", set()  # it belongs to the turn that follows
        if event.moment in ("start", "subagent"):
            self.owed = True
        if event.turn and event.turn != self.turn:
            self.told = self.told if not self.turn else set()
            self.turn = event.turn
        self.heard = True

    def _begin_anew(self) -> None:
        self.epoch += 1
        self.standing, self.told, self.held_for = {}, set(), set()

    def _is_due(self, note: Note) -> bool:
        """With the bundle of a start."""
        if note.kind == "gotcha":
            return self.agent and note.high and any(note.path in one.touched for one in self.family)
        return note.kind == "directive" or (note.kind == "task" and note.high and not self.agent)

    def _fresh(self, notes: list[Note], files: dict[str, str]) -> tuple[Note, ...]:
        return tuple(note for note in notes if note.id not in self._told_now() and not self._stands(note, files))

    def _told_now(self) -> set[int]:
        """In this turn: what is under way counts."""
        offers = [one for one in self.under_way if one.turn == self.turn and one.epoch == self.epoch]
        return self.told.union(*(one.seen for one in offers))

    def _may_stand(self) -> dict[int, Rendering]:
        """What stands, and what does if its receipt is only slow."""
        offers = [one.seen for one in self.under_way if one.epoch == self.epoch]
        return {id_: seen for standing in (self.standing, *offers) for id_, seen in standing.items()}

    def _stands(self, note: Note, files: dict[str, str]) -> bool:
        """With the same rendering; a status that this context's own edits may have changed is none that counts."""
        seen, now = self._may_stand().get(note.id), note.rendering(files)
        if seen is None or seen.words != now.words:
            return False
        return OPEN in (seen.status, now.status) or seen.status == now.status or note.path in self.edited

    def _may_hold(self, event: Event, note: Note) -> bool:
        """One hold a turn, for a note that was never told in this context."""
        if event.moment != "edit" or event.plan_mode or self.turn in self.held_turns:
            return False
        return note.high and not note.fallen and note.id not in self._may_stand() and note.id not in self.held_for

    # --- telling

    def goes_on(self, event: Event, answer: Answer) -> None:
        """The file of the event is read, or edited, unless the edit is held back."""
        if event.path and not answer.held:
            self.touched.add(event.path)
            if event.moment == "edit":
                self.edited.add(event.path)

    def sent(self, answer: Answer) -> None:
        """The answer is under way; an empty bundle is settled by that."""
        self.owed = False
        if answer.held:
            self.held_turns.add(answer.turn)
            self.held_for.update(note.id for note in answer.own)
        if answer.notes:
            self.under_way.append(answer)

    def arrived(self, answer: Answer) -> None:
        """Its receipt is there."""
        self.under_way.remove(answer)
        if answer.epoch == self.epoch:
            self.standing |= answer.seen
            if answer.turn == self.turn:
                self.told.update(answer.seen)

    def lost(self, answer: Answer) -> None:
        """No receipt came: its bundle is owed as before."""
        self.under_way.remove(answer)
        if answer.bundle and answer.epoch == self.epoch:
            self.owed = True


def _is_of(event: Event, note: Note) -> bool:
    """Whether the moment itself brings the note."""
    if event.moment in ("read", "edit"):
        return note.kind == "gotcha" and note.path == event.path
    return event.moment == "prompt" and note.kind == "finding" and bool(note.asked_by) and note.asked_by in event.prompt
