"""Why a turn is not known to have been typed: one phrase for each reason (evidence.md, "Attestation")."""

from collections.abc import Mapping
from typing import Final

from memd_daemon.model.turn import Why

WHY_NOT_TYPED: Final[Mapping[Why, str]] = {
    Why.NO_PERSON: "its client was started without a person: -p, exec or an SDK",
    Why.NESTED: "another agent's client stands above its own",
    Why.MARKED: "its client was started from an agent's shell",
    Why.NO_CLIENT: "no client was seen above its hook",
    Why.NOT_DIRECT: "its client did not call the hook itself",
    Why.UNWITNESSED: "it came out of the spool, and no hook of its session was seen",
    Why.UNREAD: "memd reads no transcript of its client",
    Why.NOT_LOOKED: "its transcript was not looked at yet",
    Why.MISSING: "its transcript is not there",
    Why.OUTSIDE: "its transcript is not where its client keeps them",
    Why.UNFIT: "its transcript is not a file that only its client writes",
    Why.GROWN: "too much was written into its transcript since",
    Why.NOBODY: "its transcript says that no person typed it",
    Why.OTHER_WORDS: "its transcript has other words",
    Why.ASIDE: "its transcript does not go on from it",
    Why.UNANSWERED: "its transcript has no answer to it yet",
    Why.ABSENT: "its transcript does not have it",
    Why.WITHDRAWN: "its transcript had it for a while, and went on from elsewhere",
    Why.IMPORTED: "it came by an import",
}


def why_not_typed(why: Why | None) -> str:
    """The phrase; "" where nothing is missing."""
    return WHY_NOT_TYPED[why] if why is not None else ""
