"""A sequence of decisions, and the way from a note to what it stands on and what stands on it (`memd decisions`, `memd trace`).

Each note stands in its own frame, as recall gives it; the lines between them are memd's and begin with ``memd: ``. A turn is told
as it was said, under ``[user, turn 4417]`` where a person is known to have typed it, else under the claim that it is the user's.
"""

from collections.abc import Sequence
from typing import Final

from memd_daemon.frames.envelope import CLOSING, opening, weakest
from memd_daemon.frames.escape import FURTHER, escape_content, escape_line
from memd_daemon.frames.words import date
from memd_daemon.model.view import BehindView, NoteView, StepView
from memd_daemon.model.words import Attestation

NOT_SHOWN: Final = "memd: {n} {when} decisions are not shown."
NOT_SHOWN_ONE: Final = "memd: 1 {when} decision is not shown."
DOWN: Final = "memd: down, to what [{id}] stands on:"
DOWN_NOTHING: Final = "memd: down: [{id}] names no note and no turn that it stands on."
UP: Final = "memd: up, to what stands on [{id}]:"
UP_NOTHING: Final = "memd: up: nothing that is known stands on [{id}]."
LEFT_OUT: Final = "memd: {n} further notes are not shown: trace one of those above."
ABOVE: Final = " (above)"
HOW: Final = {
    "derived from": "memd: [{of}] is derived from [{id}]",
    "absorbed": "memd: [{of}] has absorbed [{id}]",
    "built on": "memd: [{id}] is built on [{of}]",
    "absorbed into": "memd: [{of}] was absorbed into [{id}]",
    "superseded by": "memd: [{of}] is superseded by [{id}]",
}
"""How two notes hang together, and the line that says so."""

BEHIND: Final = "memd: behind [{id}] stands {turn}"
USER_TURN: Final = "[user, turn {turn}], {date}"
CLAIMED_TURN: Final = "[claimed user turn {turn}: {attestation}], {date}"
GONE_TURN: Final = "turn {turn} ({attestation}), which is not kept here any more; what was bound of it"
MORE: Final = "memd: of that turn {n} further characters are not shown (turns has them)."


def chronicle(views: Sequence[NoteView], texts: Sequence[str], before: int, after: int) -> str:
    """The decisions ``views``, rendered as ``texts``, in one envelope; ``before`` and ``after`` count those on either side."""
    lines = [opening(weakest(views), len(views))]
    return "\n".join([*lines, *_not_shown(before, "earlier"), *texts, *_not_shown(after, "later"), CLOSING])


def _not_shown(count: int, when: str) -> list[str]:
    line = NOT_SHOWN_ONE if count == 1 else NOT_SHOWN
    return [line.format(n=count, when=when)] if count else []


def traced(
    view: NoteView,
    text: str,
    behind: Sequence[BehindView],
    ways: tuple[Sequence[StepView], Sequence[StepView]],
    left_out: int,
    tags: Sequence[str],
) -> str:
    """A trace in one envelope, without a line end. ``text``: the note as recalled; ``ways``: the steps down, the steps up."""
    down, up = ways
    told = {step.view.id: step.view for step in (*down, *up)} | {view.id: view}
    lines = [opening(weakest(told.values()), len(told)), text]
    lines.append((DOWN if down or behind else DOWN_NOTHING).format(id=view.id))
    told_turns: set[tuple[int, str]] = set()
    lines += _turns(view.id, behind, told_turns, tags)
    lines += [line for step in down for line in _step(step, told_turns, tags)]
    lines.append((UP if up else UP_NOTHING).format(id=view.id))
    lines += [line for step in up for line in _step(step, told_turns, tags)]
    lines += [LEFT_OUT.format(n=left_out)] if left_out else []
    return "\n".join([*lines, CLOSING])


def _step(step: StepView, told_turns: set[tuple[int, str]], tags: Sequence[str]) -> list[str]:
    line = HOW[step.how].format(of=step.of, id=step.view.id)
    if not step.text:
        return [line + ABOVE]
    return [line + ":", step.text, *_turns(step.view.id, step.behind, told_turns, tags)]


def _turns(id_: int, behind: Sequence[BehindView], told_turns: set[tuple[int, str]], tags: Sequence[str]) -> list[str]:
    """The user's words behind a note; what stands above already, since two ways lead to it, is only named."""
    lines: list[str] = []
    for turn in behind:
        text = turn.text or turn.excerpt
        line = BEHIND.format(id=id_, turn=_named(turn, tags))
        if (turn.turn, text) in told_turns:
            lines.append(line + ABOVE)
            continue
        told_turns.add((turn.turn, text))
        lines += [line + ":", FURTHER + escape_content(text, tags)]
        lines += [MORE.format(n=turn.more_chars)] if turn.more_chars else []
    return lines


def _named(turn: BehindView, tags: Sequence[str]) -> str:
    if not turn.text:
        return GONE_TURN.format(turn=turn.turn, attestation=escape_line(turn.attestation, tags))
    if turn.attestation == Attestation.TYPED:
        return USER_TURN.format(turn=turn.turn, date=date(turn.at))
    attestation = escape_line(turn.attestation, tags, stops="]")
    return CLAIMED_TURN.format(turn=turn.turn, attestation=attestation, date=date(turn.at))
