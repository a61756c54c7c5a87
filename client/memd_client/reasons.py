"""Why a note was told, or was not, on the wire: what was decided in a session, and what would be decided now.

Times and the rule for changes are those of api.py, which has these names too. The rules and their sentences: docs/delivery.md.
"""

import msgspec

from memd_client.asking import Count, Request


class DecidedOut(msgspec.Struct, frozen=True, kw_only=True):
    """One decision about the note, as the ledger holds it."""

    at: str
    trigger: str
    agent: str
    turn: str
    epoch: int
    told: bool
    state: str  # of the answer: delivered, or offered where no receipt came
    held: bool  # it held an edit back
    rule: str  # that left it out; "" where it was told
    says: str  # the rule's sentence
    tokens: int  # of the note; 0 where it was left out


class ForeseenOut(msgspec.Struct, frozen=True, kw_only=True):
    """What would be decided about the note at a moment, were it now."""

    moment: str
    path: str  # of the file that is read or edited; "" at other moments
    outcome: str  # arrives, holds (the edit is held for it), left-out, or depends (on a prompt that was not given)
    rule: str = ""
    says: str = ""
    detail: str = ""  # what exactly in this case; "" where the sentence says it all
    tokens: int = 0  # of the note, where it arrives
    bundle: bool = False  # it would arrive in the start's bundle, still owed, and not for the moment's own sake
    vectors: str = ""  # by what a prompt was compared: full, table, "" for words alone


class WhyReply(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    uid: str
    head: str  # how the note stands, in a line
    session: str  # that was looked at; "" where none was heard of here
    agent: str
    harness: str
    live: bool  # else what is foreseen is of a new session here, save a `resume`
    decided: list[DecidedOut]  # newest first
    foreseen: list[ForeseenOut]
    had_moment: bool = True  # whether one may have come in the session at which the note could have been told unasked
    more: int = 0  # how many earlier decisions there are
    more_files: int = 0  # how many of the note's files were not looked at


class Why(Request, frozen=True):
    """Asks about one note; nothing of it is recorded.

    ``session``: its id, or how that begins; "" is the asker's own, else the newest of this repository, live ones first. ``at``:
    moments by their words (`session-start`, `resume`, `post-compaction`, `prompt-submit`, `read`, `pre-edit`, `subagent-start`,
    `stop`, `session-end`); none are all that can tell. ``paths``: files that are read or edited; none are the note's own.
    """

    VERB = "why"
    REPLY = WhyReply

    ref: str
    session: str = ""
    agent: str = ""
    at: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    prompt: str = ""
    limit: Count = 20  # of the decided; 0 is all
