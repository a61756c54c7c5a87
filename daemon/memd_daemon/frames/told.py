"""What an act or a write is answered with beside its effect: a sentence each, for the agent or the person who asked.

Notes stand as ``[47]``. ``Id`` is a note's number, of one that this store knows. A wish (`closed`) also stands in the warning on
the note that it is for, and `contradicted` in a tombstone.
"""

from collections.abc import Iterable, Sequence
from typing import Final

Id = int | None


def numbered(ids: Iterable[Id]) -> str:
    return " ".join(f"[{id_}]" for id_ in ids)


# --- nothing changes


def revoked_already(id_: Id) -> str:
    return f"note [{id_}] was revoked already; your reason is kept beside the first"


def held_already(id_: Id) -> str:
    return f"note [{id_}] is held already"


def nothing_to_review(id_: Id) -> str:
    return f"note [{id_}] has no such flag to review"


def has_evidence(id_: Id) -> str:
    return f"note [{id_}] has this evidence already"


def superseded_already(id_: Id, newer: Id) -> str:
    return f"note [{id_}] is superseded by [{newer}] already"


def not_superseded(id_: Id) -> str:
    return f"note [{id_}] is not superseded"


def absorbed_already(id_: Id, taker: Id) -> str:
    return f"note [{id_}] was absorbed into [{taker}] already"


def not_absorbed(id_: Id) -> str:
    return f"note [{id_}] is not absorbed"


def archived_already(id_: Id) -> str:
    return f"note [{id_}] is archived already"


def not_archived(id_: Id) -> str:
    return f"note [{id_}] is not archived"


def task_already(id_: Id, state: str) -> str:
    return f"task [{id_}] is {state} already"


def so_already(id_: Id) -> str:
    return f"note [{id_}] is so already"


# --- two that cannot both be


def in_conflict(id_: Id, other: Id) -> str:
    return f"note [{other}] stands too, and both cannot hold: [{id_}] and [{other}] are in conflict until somebody settles it"


def in_more_conflicts(id_: Id, count: int) -> str:
    return f"[{id_}] is in conflict with {count} more notes: show [{id_}] has them"


# --- only a person can


def proposed(id_: Id, act: str) -> str:
    return f"note [{id_}] was endorsed by the user, so it stands: your wish to {act} it waits for them"


def stand_until_signed(ids: Iterable[Id]) -> str:
    return f"until the user signs it, {numbered(ids)} stand for themselves: absorb them then"


CLOSED: Final = {
    "a_wins": "this one holds",
    "b_wins": "the other one holds",
    "both_demoted": "both stand, demoted",
    "merged": "merged",
}
"""How a conflict ends, as seen from the note that it is told on."""


def closed(other: Id, how: str) -> str:
    """The wish to settle a conflict, ``how`` one of `CLOSED`."""
    return f"conflict with [{other}] -> {CLOSED[how]}"


def absorbed_into(currency: str, taker: Id) -> str:
    """The change that a person signs."""
    return f"{currency} -> absorbed into [{taker}]"


TELLS_OF_PAUSE: Final = (
    "every session's start tells of it while it stands, and for a day after, the next whenever it comes"
)
TELLS_OF_PAUSE_OVER: Final = "the session starts of the next day tell of the pause, the next whenever it comes"
TELLS_OF_LIST: Final = "the session starts of the next day tell of it, and where it keeps memd out each while it does"
TELLS_OF_LIST_BACK: Final = (
    "where it kept memd out, the session starts of the next day tell of that, the next whenever it comes"
)
TELLS_OF_SETTING: Final = "every session's start tells of it while it stands"
TELLS_NOBODY: Final = "no session is told of it"
"""Which sessions hear of a setting that was changed unsigned (service/notices.py)."""


def setting_unsigned(tells: str, *, has_key: bool) -> str:
    """``tells``: one of the above. ``has_key``: whether there is one that could sign it."""
    return f"not signed: what you endorsed is told as before; {tells} (`--sign`)" if has_key else f"not signed: {tells}"


# --- another note is meant, or takes part


def meant(id_: Id, taker: Id) -> str:
    return f"note [{id_}] was absorbed into [{taker}], so [{taker}] is meant"


def has_its_place(id_: Id, taker: Id) -> str:
    return f"note [{id_}] was absorbed into [{taker}], which holds its place"


def contradicted(by: Id, reason: str) -> str:
    """Why a note fell for which another one stands, and the reason that was given."""
    return f"contradicted by [{by}]" + (f": {reason}" if reason else "")


def only_its_tombstone(newer: Id, id_: Id) -> str:
    return f"note [{newer}] is revoked itself, so only its tombstone stands in the place of [{id_}]"


def holds_elsewhere(taker: Id, id_: Id) -> str:
    return f"note [{taker}] holds in another place than [{id_}] did: `memd amend` widens a scope"


def linked_as_correction(id_: Id) -> str:
    return f"note [{id_}] was revoked already; the new note is linked to it as its correction"


def framed_no_higher(ids: Iterable[Id]) -> str:
    return f"derived from {numbered(ids)}, so it is framed no higher than that until a person endorses it"


# --- evidence and files


def binds_none(what: str) -> str:
    """``what``: the sort of note, as `from_source` and `AUTO_CAPTURED` say it."""
    return f"{what} binds no evidence, so it was recorded without it"


def binds_none_now(id_: Id, what: str) -> str:
    return f"[{id_}] is {what} and binds no evidence, so none was recorded"


def bound_by_words(turns: Sequence[int]) -> str:
    """Nobody named a turn, and memd found the user's words in the note. ``turns``: their numbers, at least one."""
    if len(turns) == 1:
        return f"bound turn {turns[0]} by its words"
    return f"bound turns {', '.join(map(str, turns))} by their words"


def from_source(type_: str) -> str:
    return f"a note of source {type_}"


def source_captured(origin: str, words: int) -> str:
    """``origin``: a source as a note's header has it, or `of_repository`."""
    return f"recorded as from {origin}: {words} or more of its words in a row stand in what that gave"


def of_repository(path: str) -> str:
    return f"{path} of this repository"


AUTO_CAPTURED: Final = "an auto-captured note"


def hash_left(anchor: str) -> str:
    """``anchor``: as `words.target` has it, here and below."""
    return f"not found here, so its hash was left; `memd amend` gives the note other anchors: {anchor}"


def broken_left(anchor: str, now: str) -> str:
    """``now``: what its file says instead, as `words.aside` has it."""
    return f"it does not hold{now}, so it was left; `memd amend` gives the note other anchors: {anchor}"


def found_elsewhere(given: str, path: str) -> str:
    return f"there is no {given} in the current directory; anchored to {path}"


def line_instead(symbol: str, path: str, anchor: str) -> str:
    return f"memd reads no symbols in {path}; anchored to the one line where {symbol} stands: {anchor}"


def from_root(path: str) -> str:
    """A path, for somebody who stands below the repository's root and could take it for one from there."""
    return f"{path}, from the repository's root"


# --- a write that says what a note says already


def stands_already(id_: Id) -> str:
    return f"note [{id_}] says this already, word for word: nothing was recorded"


def stands_for_others(id_: Id) -> str:
    return f"if you came to it by yourself, say so: same_as=[{id_}]"


def corroborates(id_: Id) -> str:
    return f"note [{id_}] says so already: your words were folded into it, and corroborate it"


def counts_nothing(id_: Id, why: str) -> str:
    """``why``: one of the sentences below."""
    return f"note [{id_}] says so already: your words were folded into it and count nothing, since {why}"


NOBODY_JUDGED: Final = "nobody judged what is auto-captured"
SAME_SOURCE: Final = "it comes from the same document or tool"
NO_SESSION: Final = "outside a live agent session nobody can tell what the writer was shown"
SAID_BEFORE: Final = "it comes from a session that said so before"
WAS_SHOWN: Final = "this session was shown the note"
KIN_SAID: Final = (
    "its session and one that said so before are kin: one client was started from the other, or both from a third"
)
KIN_SHOWN: Final = "a session whose client started its own, or was started from it, was shown the note"
NOT_KEPT: Final = "memd could not keep what its session was shown"
BEGAN_UNHEARD: Final = "its session began before memd heard of it, so nobody can tell what it was shown"
