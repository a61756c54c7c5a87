"""What is told of a backup, a restore and an import: a sentence each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

KEYS_LEFT: Final = "Your key is not in it: keep your recovery code, or a copy of {folder} in a place of its own."
REMADE: Final = "What is made from the log ({faults}) was not what the log gives, and was made anew."
STORE_UNREADABLE: Final = "The store that was here could not be read, so memd does not know what was forgotten in it."
INDEXES_COME: Final = "The word and vector indexes are made anew behind the daemon's next start."
OTHER_STORE: Final = "It is another store's: its keys endorse nothing here."
HOLD_HERE: Final = (
    "{count} of its repositories {are} known here, by a remote or by first commits: {their} notes hold in yours."
)
HOLD_LATER: Final = "{count} of its repositories {are} not: {their} notes hold once memd sees a clone of {them} here."
HOLD_NOWHERE: Final = (
    "Notes of what has no remote and no commits hold in none of yours; `memd list --all-scopes` has all of them."
)
TURNS_LEFT: Final = "Its {turns} were left out."
WENT_ON: Final = (
    "What was here had gone on: {more} more, which stay in the folder that is kept. "
    "No number that was given there is given again."
)
NUMBERS_UNKNOWN: Final = (
    "A store could not be read or written whole, so a number that was given here may come to name another note."
)
TURNS_UNTYPED: Final = (
    "No turn that came counts as typed: an export can be edited. `memd backup` and `memd restore` keep that."
)
BROKEN_OFF: Final = "An earlier restore or import was broken off; what it had taken out of use is kept in {folder}."


def damaged_too(problems: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """What is known to be wrong with the store, and so with a copy of it."""
    return (f"This backup has it too: {problem['what']}." for problem in problems)


def of_repositories(here: int, waiting: int) -> Iterator[str]:
    """Where notes of another store's repositories hold: how many of these are known here, and how many are not."""
    for count, words in ((here, HOLD_HERE), (waiting, HOLD_LATER)):
        if count:
            are, their, them = ("is", "its", "it") if count == 1 else ("are", "their", "them")
            yield words.format(count=count, are=are, their=their, them=them)
    yield HOLD_NOWHERE


def numbered(number: int, what: str) -> str:
    """What is wrong with a line, or kept out of it; ``number`` 0 for none in particular."""
    return f"line {number}: {what}" if number else what


def counted(count: int, noun: str) -> str:
    """How many; nothing for none or fewer."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}" if count > 0 else ""
