"""A turn: what a user said, verbatim but for redaction (evidence.md). Local, append-only, immutable.

That it turned out later to have been typed is a fact of its own, `Raised`: the turn stays as it was stored.
"""

from enum import StrEnum
from typing import Final

import msgspec

UNKNOWN_BYTES: Final = -1


class Witness(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a turn's attestation is judged by, kept from the first day.

    What only the living processes can tell is taken at once: a hook's process is gone with its answer.
    """

    peer_pid: int = 0  # of the hook's process
    ancestors: tuple[str, ...] = ()  # process names from the hook's parent upwards
    entry_point: str = ""
    transcript_path: str = ""
    prompt_id: str = ""
    spooled: bool = False
    client_pid: int = 0  # of the client above the hook; 0: none was seen
    client_started: int = 0  # in clock ticks of the system
    terminal: bool = False  # whether the client has one
    nested: bool = False  # another harness, or the same once more, stands above the client
    marker: str = ""  # a variable of some harness in the environment that the client was started with
    direct: bool = False  # the client itself called the hook, and reads what it prints
    transcripts: str = ""  # the folder in which a client that was started like this one keeps its transcripts
    transcript_bytes: int = UNKNOWN_BYTES  # how long the transcript was before the answer; 0 where there was none yet
    transcript_inode: int = 0


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    uid: bytes
    number: int  # what people quote, in this store
    session: str
    agent: str = ""
    n: int  # its number in the session, from 1
    harness: str
    repo: str = ""  # scope of the repository, "repo:<uid>"
    at: int  # UTC, Unix milliseconds
    text: str
    attestation: str
    witness: Witness
    request: bytes = b""  # the hook's request id
    crc: int = (
        0  # CRC-32 of the row without it (store/turn_rows.py); a turn is in no chain that would tell a flipped bit
    )


class Raised(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """That a turn is known to have been typed, since when, and by what. Local, of one turn.

    It is **settled** once the transcript had grown, and the conversation still went on from the prompt. Where it then did not, it
    is **withdrawn** for good: what agreed at first was not the client's.
    """

    turn: bytes  # its uid
    at: int  # UTC, Unix milliseconds
    by: str = "transcript"
    transcript_bytes: int = 0  # how long the transcript was then
    settled: bool = False
    withdrawn: bool = False


class Why(StrEnum):
    """Why a turn is not known to have been typed: the first thing that is missing."""

    NO_PERSON = "no-person"  # -p, exec, an SDK
    NESTED = "nested"
    MARKED = "marked"
    NO_CLIENT = "no-client"
    NOT_DIRECT = "not-direct"
    UNWITNESSED = "unwitnessed"  # from the spool, and no live hook of its session was seen
    UNREAD = "unread"  # memd reads no transcript of this client, or the hook named none
    NOT_LOOKED = "not-looked"
    MISSING = "missing"  # there is no such file
    OUTSIDE = "outside"  # it lies elsewhere than where the client keeps its transcripts
    UNFIT = "unfit"  # a link, no file, another's, one that others may write, or one that was written anew
    GROWN = "grown"  # too much was written since
    NOBODY = "nobody"
    OTHER_WORDS = "other-words"
    ASIDE = "aside"
    UNANSWERED = "unanswered"
    ABSENT = "absent"
    WITHDRAWN = "withdrawn"
    IMPORTED = "imported"
