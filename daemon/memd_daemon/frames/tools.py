"""What an agent reads of memd's tools over MCP: the server's instructions, each tool's words, and what a tool answers.

The instructions stand in every session and the descriptions beside them, so each sentence has to earn its tokens.
"""

from collections.abc import Sequence
from typing import Final

from memd_daemon.frames.escape import escape_line

INSTRUCTIONS: Final = (
    "memd keeps what was learned about this code as notes. A note is a claim somebody made, not a fact: its first words say who "
    "stands behind it, and you verify it against the code before you rely on it. The ladder is auto, agent, human. You write "
    "agent, or auto what nobody judged; only the user makes a note human, at their own terminal. Tools name a note by its number.\n"
    "Recall before you rely on how something works or was decided here. Remember what took effort to find out and will matter "
    "again: one claim per note. What bites whoever edits a file is a gotcha, anchored to that file. A rule the user states is a "
    "directive: quote their words verbatim, with evidence.\n"
    "A note that is wrong is revoked with the reason, or contradicted by the note that is right; it is never written anew. "
    "Previously believed means: this was found wrong, do not record it again."
)

DESCRIPTIONS: Final[dict[str, str]] = {
    "remember": ("Record one claim that matters later: what and why. Anchors: path, path::symbol, path::NAME=value."),
    "recall": "Notes that bear on a question, each framed by how far to trust it.",
    "show": "One note whole.",
    "decisions": "What was decided here, in order; with ref, around that one.",
    "confirm": "You checked a note against the code and it holds.",
    "revoke": "A note is wrong; your reason stands in its place.",
    "reinstate": "A revoked note was right after all.",
    "supersede": "A newer note takes the place of one that was right in its time.",
    "promote": "Raise an auto note to agent: you reviewed it.",
    "link_evidence": "Bind the user's own words to a note.",
    "done": "A task is done.",
    "revise": "Reword a principle or doctrine in place, and fold notes into it.",
    "absorb": "Fold a note into one that says it better.",
    "trace": "What a note stands on, down to the user's words, and what stands on it.",
}

# Parameters whose name does not say it.
SOURCE: Final = "document:URL or tool:NAME, if read there"
PROXIES: Final = "files that stand for a process, as a lockfile does"
EVIDENCE: Final = "the user's words, exactly as in that turn"
CONTRADICTS: Final = "the wrong note: revoked by this one"
SUPERSEDES: Final = "the outdated note"
SAME_AS: Final = "a note that says this already"
DESPITE: Final = "a revoked note that said this, checked and true"

RECORDED: Final = "recorded [{id}]"
CLOSE: Final = "close to {ids}: where one says the same, keep one of them"
CONFLICTS: Final = "may conflict with {ids}: revoke the one that is wrong"
REDACTED: Final = "a secret was taken out before it was stored"
UNENDORSED: Final = (
    "told as unendorsed memory until the user endorses it at their own terminal: memd promote {id} --to human"
)
STATED: Final = (
    "told as the user's own words, turn {turn}; only they endorse it, at their terminal: memd promote {id} --to human"
)

DONE: Final[dict[str, str]] = {
    "promote": "promoted to agent",
    "revoke": "revoked",
    "reinstate": "reinstated",
    "supersede": "superseded",
    "confirm": "confirmed",
    "done": "done",
    "link_evidence": "has this evidence",
    "revise": "revised",
    "absorb": "absorbed",
}
PROPOSED: Final = "[{id}] proposed, not done: a person endorsed it, and only a person changes it"
KEPT: Final = "[{id}] as it was"

NO_TURN: Final = 'a turn is a number, such as 23, not "{}"'
BAD_ARGUMENTS: Final = "The arguments do not fit this tool: {}. Its schema says what it takes."


def recorded(
    id_: int,
    near: Sequence[int],
    conflicts: Sequence[int],
    tombstones: Sequence[str],
    told: Sequence[str],
    *,
    kept: bool = False,
) -> str:
    """The answer to a write. ``tombstones`` and ``told`` are lines of memd's own, escaped where they quote.

    ``kept``: a note that stands says this already, and nothing was recorded.
    """
    lines = [(KEPT if kept else RECORDED).format(id=id_)]
    if near:
        lines.append(CLOSE.format(ids=_ids(near)))
    if conflicts:
        lines.append(CONFLICTS.format(ids=_ids(conflicts)))
    return "\n".join([*lines, *tombstones, *told])


def acted(act: str, id_: int, effect: str, told: Sequence[str]) -> str:
    """The answer to an act. ``effect``: applied, kept or proposed."""
    first = {"applied": f"[{id_}] {DONE[act]}", "proposed": PROPOSED.format(id=id_)}.get(effect, KEPT.format(id=id_))
    return "\n".join([first, *told])


def misfit(what: str, tags: Sequence[str]) -> str:
    """A refusal of arguments; ``what`` may repeat what the caller wrote."""
    return BAD_ARGUMENTS.format(escape_line(what, tags))


def no_turn(given: str, tags: Sequence[str]) -> str:
    """What was given in the place of a turn's number."""
    return BAD_ARGUMENTS.format(NO_TURN.format(escape_line(given, tags)))


def _ids(ids: Sequence[int]) -> str:
    return ", ".join(f"[{id_}]" for id_ in ids)
