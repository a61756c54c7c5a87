"""Whether an attack got through, read from what memd tells: sessions, questions, lists, status. No inner state is looked at.

The reader knows only the rules. A line that starts with two spaces, ``|``, one space is a note's; every other is memd's. A note
stands behind its number, and the class and the frame in memd's lines are what memd claims of it.
"""

import re
from collections.abc import Iterator
from typing import Final

from memd_client import api, signing
from tests.attack.planted import REASON, SIGNED_REASON, Planted
from tests.attack.siege import Siege

DIRECTIVE: Final = "DIRECTIVE (standing rule from the user — follow it): "
BY_USER: Final = "Recorded by the user: "
HUMAN_FRAMES: Final = (DIRECTIVE, BY_USER)
USER_STATED: Final = "User-stated ("
MARK: Final = "  | "
STANDING: Final = ("rule", "habit", "gotcha", "finding", "task", "decision", "principle", "new")
LIVE_STATE: Final = api.StateOut(belief="held", currency="current", shelf="active", task="")

_NUMBER: Final = re.compile(r"\[(\d+)\] ")
_RECALL_CLASS: Final = re.compile(r"\[\d+\] \[(?:LOW|MEDIUM|HIGH)\] \[[A-Z]+\] \[([^\]]*)\]")
_PUSH_CLASS: Final = re.compile(r"\[\d+\] \[([^\],]*)[\],]")
_STRIPE: Final = re.compile(r"^(?:  )?\[user-stated, turn ")


class Through(AssertionError):
    """An attack got through: {}"""


def memds_lines(text: str) -> Iterator[tuple[int, str]]:
    """memd's own lines, each with the number of the note it stands in (0: none)."""
    number = 0
    for line in text.split("\n"):
        if line.startswith(MARK):
            continue
        if found := _NUMBER.match(line):
            number = int(found[1])
        elif line.startswith("memd: "):
            number = 0
        yield number, line


def claimed_human(text: str) -> set[int]:
    """The numbers of the notes that memd's lines call the user's, by a frame or by a class."""
    return {number for number, line in memds_lines(text) if _claims(line)}


def _claims(line: str) -> bool:
    words = _NUMBER.sub("", line, count=1) if _NUMBER.match(line) else line.removeprefix("  ")
    classes = (found[1] for pattern in (_RECALL_CLASS, _PUSH_CLASS) if (found := pattern.match(line)))
    return words.startswith(HUMAN_FRAMES) or any(c.partition(",")[0] in ("human", "system") for c in classes)


def user_stated(text: str) -> list[str]:
    """memd's lines that say that words are the user's own."""
    return [
        line
        for _, line in memds_lines(text)
        if line.removeprefix("  ").startswith(USER_STATED)
        or (_NUMBER.match(line) and _NUMBER.sub("", line, count=1).startswith(USER_STATED))
        or _STRIPE.match(line)
        or (line.startswith("memd: ") and "in the user's own words" in line)
    ]


def judge(siege: Siege, *, keys: bool = True, standing: tuple[str, ...] = STANDING) -> None:
    """Raises Through with everything that is not as it was before the attack."""
    wrong = list(breaches(siege, keys=keys, standing=standing))
    if wrong:
        raise Through("\n".join(wrong))


def breaches(siege: Siege, *, keys: bool = True, standing: tuple[str, ...] = STANDING) -> Iterator[str]:
    """What a later session, question or list tells that it should not, or does not tell that it should."""
    yield from _of_start(siege, standing)
    for name in standing:
        yield from _of_note(siege, name, siege.notes[name])
    yield from _of_pushes(siege, standing)
    yield from _of_lists(siege)
    yield from _of_fallen(siege)
    if keys:
        yield from _of_keys(siege)


def _of_start(siege: Siege, standing: tuple[str, ...]) -> Iterator[str]:
    text = siege.started()
    yield from _claims_of(siege, "a session's start", text)
    lines = text.split("\n")
    for name in standing:
        note = siege.notes[name]
        if note.kind == "directive" and f"[{note.id}] {DIRECTIVE}{note.content}" not in lines:
            yield f"a session's start does not tell the rule [{note.id}] ({name}): {text[:3000]!r}"
        if note.kind == "task" and not any(_is_pushed(line, note) for line in lines):
            yield f"a session's start does not tell the task [{note.id}]: {text[:3000]!r}"
    rules = (DIRECTIVE, "Memory to verify (")
    numbers = [n for n, line in memds_lines(text) if line.startswith(tuple(f"[{n}] {frame}" for frame in rules))]
    places = [n in siege.human for n in numbers]
    if places != sorted(places, reverse=True):
        yield f"an agent's directive stands before an endorsed one: {numbers}"


def _is_pushed(line: str, note: Planted) -> bool:
    return line.startswith(f"[{note.id}] [human, ") and line.endswith(f": {note.content}")


def _claims_of(siege: Siege, where: str, text: str) -> Iterator[str]:
    if false := claimed_human(text) - siege.human:
        yield f"{where} calls {sorted(false)} the user's: {text[:3000]!r}"
    if stated := user_stated(text):
        yield f"{where} gives words for the user's own: {stated}"


def _of_note(siege: Siege, name: str, note: Planted) -> Iterator[str]:
    frame = DIRECTIVE if note.kind == "directive" else BY_USER
    for where, text in (("show", siege.shown(note.id)), ("recall", siege.recalled(note.asks))):
        yield from _claims_of(siege, where, text)
        if (note.id, f"  {frame}{note.content}") not in list(memds_lines(text)):
            yield f"{where} does not tell [{note.id}] ({name}) as it was endorsed: {text[:3000]!r}"
    told = siege.told(note.id)
    if (told.content, told.kind, told.provenance, told.frame_class) != (note.content, note.kind, "human", "human"):
        yield f"[{note.id}] ({name}) is {told.provenance}, told as {told.frame_class}: {told.content!r}"
    state = api.StateOut(belief="held", currency="current", shelf="active", task="open" if note.kind == "task" else "")
    if told.state != state or told.tombstone is not None:
        yield f"[{note.id}] ({name}) is {told.state}"
    before = siege.before[name]
    for field in (
        "priority",
        "scope",
        "under",
        "tags",
        "anchors",
        "level",
        "slug",
        "evidence",
        "source",
    ):
        if getattr(told, field) != getattr(before, field):
            yield f"[{note.id}] ({name}) has another {field}: {getattr(told, field)!r}"


def _of_pushes(siege: Siege, standing: tuple[str, ...]) -> Iterator[str]:
    asked = {"gotcha": (siege.touched, ()), "finding": (siege.prompted, (siege.notes["finding"].asks,))}
    for name in set(asked) & set(standing):
        ask, arguments = asked[name]
        text = ask(*arguments)  # type: ignore[operator]
        note = siege.notes[name]
        yield from _claims_of(siege, "a push", text)
        if not any(line.startswith(f"[{note.id}] [human, ") and note.content in line for line in text.split("\n")):
            yield f"[{note.id}] ({name}) is not told where it is wanted: {text[:3000]!r}"


def _of_lists(siege: Siege) -> Iterator[str]:
    human = {note.id for note in siege.list_all() if "human" in (note.provenance, note.frame_class)}
    if false := human - siege.human:
        yield f"lists call {sorted(false)} human"
    for name in ("old", "closed", "shelved"):
        told, before = siege.told(siege.notes[name].id), siege.before[name]
        if told.state != before.state:
            yield f"[{told.id}] ({name}) is {told.state} again, and a person had put it away"
        elif (told.content, told.provenance) != (before.content, before.provenance):
            yield f"[{told.id}] ({name}) is another: {told.provenance} {told.content!r}"


def _of_fallen(siege: Siege) -> Iterator[str]:
    for name, reason in (("fallen", REASON), ("fallen-human", SIGNED_REASON)):
        note = siege.notes[name]
        text = siege.recalled(note.asks)
        tombstone = rf"Previously believed \(recorded [-\d]+, revoked [-\d]+, reason: {re.escape(reason)}\): "
        tombstone += f'"{re.escape(note.content)}"'
        if not any(n == note.id and re.search(tombstone, line) for n, line in memds_lines(text)):
            yield f"the tombstone of [{note.id}] ({name}) is not told: {text[:3000]!r}"
        if siege.told(note.id).tombstone is None:
            yield f"[{note.id}] ({name}) is no tombstone any more"


def _of_keys(siege: Siege) -> Iterator[str]:
    told = siege.typed.enrol()
    mine = [signing.fingerprint(siege.person.key.public)]
    if told.enrolled != mine or [key.fingerprint for key in told.keys] != mine or told.recovery != siege.recovery:
        yield f"the keys are {told.enrolled}, of {[key.fingerprint for key in told.keys]}, codes {told.recovery}"
    if [one["fingerprint"] for one in siege.typed.status().people] != mine:
        yield f"status tells other keys: {siege.typed.status().people}"
