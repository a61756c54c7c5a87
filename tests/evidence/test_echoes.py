"""memd's own words in a prompt are nobody's statement: no text, no turn and no support comes of them."""

import pytest

from memd_daemon.evidence import Said, bindable, echoes, read, statements
from memd_daemon.frames import envelope, words

RULE = "Never commit to main. Every branch is reviewed by two people."
OWN = "Use tabs in the parser, please."
PUSHED = f"[47] [agent, inferred] Recorded 2026-03-04 (anchor: app.py, status: matches current state): {RULE}"
BUNDLE = f"memd: 2 notes, unendorsed memory among them: verify.\n{PUSHED}\n  | Second line of it.\nmemd: end."


def stated(text: str) -> list[str]:
    return [text[one.start : one.end] for one in statements(text)]


@pytest.mark.parametrize(
    "opening", [*envelope.OPENINGS.values(), *envelope.OPENINGS_ONE.values(), envelope.OPENING_NONE]
)
@pytest.mark.parametrize("closing", [envelope.CLOSING, envelope.closing([1, 2])])
def test_every_bundle_is_known(opening: str, closing: str) -> None:
    """Whatever its first and its last line say; what stands around it is the user's."""
    text = f"{OWN}\n\n{opening.format(n=3)}\n{RULE}\n\n{RULE}\n{closing}\n\nKeep the old names."
    assert stated(text) == [OWN, "Keep the old names."]


@pytest.mark.parametrize(
    "frame",
    [
        words.FRAME_DIRECTIVE,
        words.FRAME_HUMAN,
        words.FRAME_USER_STATED.format(turn=4),
        words.FRAME_AGENT,
        words.FRAME_COMMAND_LINE,
        words.FRAME_AUTO,
    ],
)
@pytest.mark.parametrize("before", ["", "  ", "[47] ", "It told me this: "])
def test_every_frame_is_known(frame: str, before: str) -> None:
    """Also without its bundle, and in the middle of a line."""
    text = f"{OWN}\n\n{before}{frame}{RULE}"
    assert stated(text) == [OWN]
    assert read("Every branch is reviewed by two people.", [Said(1, text)]).whole == 0


def test_a_tombstone_and_a_pushed_note_are_known() -> None:
    """Both carry words that somebody else said."""
    gone = f'Previously believed (recorded 2026-03-04, revoked 2026-03-05, reason: wrong): "{RULE}". Do not re-derive this.'
    for text in (gone, PUSHED, f"see: {PUSHED}"):
        assert stated(text) == []


def test_a_bundle_that_is_never_closed_runs_to_the_end() -> None:
    """What stands behind it may be part of it."""
    assert stated(f"{OWN}\n\n{BUNDLE.removesuffix('memd: end.')}\n\nNever push.") == [OWN]


def test_markup_may_be_escaped() -> None:
    """As a client does that sends its hook's text as part of a prompt."""
    escaped = BUNDLE.replace("'", "&#39;").replace("<", "&lt;").replace('"', "&quot;")
    assert stated(f"<hook_context>\n{escaped}\n</hook_context>\n\n{OWN}") == [OWN]


def test_nothing_binds_to_it() -> None:
    """A note that copies a bundle out of a prompt is bound to no sentence of it."""
    assert bindable(RULE, [Said(1, BUNDLE)]) == bindable(RULE, [])
    assert bindable(OWN, [Said(1, f"{OWN}\n\n{BUNDLE}")]) != []


@pytest.mark.parametrize("text", ["I like memd. It keeps notes.", "Recorded by hand. Nothing else.", OWN, ""])
def test_speaking_of_memd_is_no_echo(text: str) -> None:
    """Its name alone makes none."""
    assert echoes(text) == []
