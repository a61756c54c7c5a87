"""When a rendering counts as seen already."""

from typing import Any

import msgspec
import pytest

from memd_daemon.frames.digest import rendering_digest, same_rendering, stands, text_digest
from memd_daemon.frames.push import renderings
from memd_daemon.model.view import GroundStatus, NoteView, ProposalView, QuoteView, SpokenView, StripeView
from tests.frames.make import DAY_MS, MARCH_4, TAGS, make_view

STANDS = make_view(stands="a.py")
CHANGED = make_view(changed="a.py")
BOTH_CHANGED = make_view(ground=tuple(GroundStatus(path=path, signal="anchor_changed") for path in ("a.py", "b.py")))
UNKNOWN = make_view(ground=(GroundStatus(path="a.py", unknown=True),))
RULE: dict[str, Any] = {"kind": "directive", "provenance": "human"}


def digest(view: NoteView, *edited: str) -> bytes:
    return rendering_digest(view, TAGS, edited)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (digest(STANDS), digest(STANDS), True),
        (digest(STANDS), digest(CHANGED), False),
        (digest(CHANGED), digest(STANDS), False),
        (digest(STANDS), digest(CHANGED, "a.py"), True),
        (digest(STANDS), digest(CHANGED, "b.py"), False),
        (digest(STANDS), digest(BOTH_CHANGED, "a.py"), False),
        (digest(STANDS), digest(BOTH_CHANGED, "a.py", "b.py"), True),
        (digest(UNKNOWN), digest(STANDS), True),
        (digest(UNKNOWN), digest(CHANGED), True),
        (digest(STANDS), digest(UNKNOWN), True),
        (digest(STANDS), digest(make_view(stands="b.py")), True),
        (digest(STANDS), digest(make_view(stands="a.py", revoked="x")), False),
        (digest(STANDS), digest(make_view(stands="a.py", conflicts=(52,))), False),
        (digest(STANDS), digest(make_view(stands="a.py", provenance="human")), False),
        (digest(STANDS), digest(make_view(stands="a.py", content="other")), False),
        (digest(make_view(**RULE, stands="a.py")), digest(make_view(**RULE, changed="a.py")), False),
        (digest(make_view(**RULE, stands="a.py")), digest(make_view(**RULE, changed="a.py"), "a.py"), True),
        (digest(make_view(process=True)), digest(make_view(process=True, last_confirmed_at=MARCH_4 + DAY_MS)), True),
        (
            digest(make_view(**RULE)),
            digest(make_view(**RULE, proposals=(ProposalView(act="revoke", at=MARCH_4),))),
            False,
        ),
    ],
)
def test_what_counts_as_a_change(before: bytes, after: bytes, same: bool) -> None:
    """Revoked, gone stale by another's hand or newly warned about: yes; made known or edited by this context: no."""
    assert same_rendering(before, after) is same
    assert same_rendering(after, before) is same


@pytest.mark.parametrize(
    ("seen", "now", "edited", "still"),
    [
        (CHANGED, STANDS, (), False),
        (CHANGED, STANDS, ("a.py",), True),
        (CHANGED, STANDS, ("b.py",), False),
        (STANDS, CHANGED, ("a.py",), True),
        (STANDS, CHANGED, ("b.py",), False),
        (BOTH_CHANGED, CHANGED, ("b.py",), True),
        (CHANGED, make_view(stands="a.py", revoked="it was wrong"), ("a.py",), False),
    ],
    ids=["by another", "here", "elsewhere", "changed here", "changed elsewhere", "one of two", "revoked"],
)
def test_what_a_context_set_right_itself_is_no_news(
    seen: NoteView, now: NoteView, edited: tuple[str, ...], *, still: bool
) -> None:
    """It was told that the file had changed, and brought it back: nobody has to say so. That another did is told."""
    assert stands(digest(seen), now, TAGS, edited) is still


NEVER = StripeView(text="never add heuristics", turn=7)
REST = StripeView(text=" to the ranker.")
STRIPED = SpokenView(stripes=(NEVER, REST))
SENTENCE = "never add heuristics, except in tests"


@pytest.mark.parametrize(
    ("spoken", "same"),
    [
        (SpokenView(), True),
        (STRIPED, False),
        (SpokenView(stated=7), False),
        (SpokenView(quotes=(QuoteView(turn=7, sentence=SENTENCE, attestation="typed"),)), False),
        (SpokenView(quotes=(QuoteView(turn=7, sentence=SENTENCE, attestation="headless"),)), True),
        (SpokenView(quotes=(QuoteView(turn=0, sentence=SENTENCE, attestation="typed"),)), True),
    ],
    ids=["nothing", "stripes", "whole", "quoted", "claimed", "gone"],
)
def test_whose_words_they_are_counts(spoken: SpokenView, same: bool) -> None:
    """What a push says of the user's words is a part of it; what is only claimed it does not say."""
    view = make_view(kind="directive", content="never add heuristics to the ranker.")
    told = msgspec.structs.replace(view, spoken=spoken)
    assert (digest(view) == digest(told)) is same


def test_the_barest_rendering_keeps_the_users_words() -> None:
    """They are no lines that may be left out: a note costs what it says, and goes whole or not at all."""
    quote = QuoteView(turn=7, sentence=SENTENCE, attestation="typed")
    spoken = msgspec.structs.replace(STRIPED, quotes=(quote,))
    full, _, barest = renderings(make_view(content="x", spoken=spoken, conflicts=(52,)), TAGS)
    assert full.startswith(barest + "\n")
    assert barest.split("\n")[1:] == [
        "  [user-stated, turn 7]  never add heuristics",
        "  [agent]                to the ranker.",
        f'  [user, turn 7] "{SENTENCE}"',
    ]


def test_the_digest_is_bounded() -> None:
    """16 bytes, the last of which is the status."""
    assert len(digest(STANDS)) == 16
    assert digest(STANDS)[:-1] == digest(CHANGED)[:-1]


def test_a_view_that_keeps_its_text_digest_has_the_digest_of_one_that_does_not() -> None:
    """What is kept is taken without the ground, so that it holds for every ground the view is given later."""
    for anchor in ("changed", "stands"):
        named: dict[str, Any] = {"kind": "gotcha", anchor: "a.py"}
        view = make_view(**named)
        bare = msgspec.structs.replace(view, ground=())
        kept = msgspec.structs.replace(view, text_digest=text_digest(bare, TAGS))
        assert digest(kept) == digest(view)
