"""The words of `decisions`, of `trace`, and of what `show` says of a curated note."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from memd_daemon.frames.chronicle import chronicle, traced
from memd_daemon.frames.recall import recalled
from memd_daemon.frames.show import shown
from memd_daemon.model.view import BehindView, FullView, NoteView, RevisionView, StepView
from tests.frames.make import DAY_MS, MARCH_4, TAGS, make_view

GOLDEN = Path(__file__).parent.parent / "golden" / "chronicle.txt"
NOW = MARCH_4 + 23 * DAY_MS


def text_of(view: NoteView) -> str:
    return recalled(view, NOW, TAGS)


def step(how: str, of: int, view: NoteView, *behind: BehindView, again: bool = False) -> StepView:
    return StepView(how=how, of=of, view=view, text="" if again else text_of(view), behind=behind)


def turn(text: str = "never commit to main.\nask me first.", **changes: object) -> BehindView:
    fields = {"turn": 4417, "attestation": "typed", "excerpt": "never commit", "at": MARCH_4, "text": text, **changes}
    return BehindView(**fields)  # type: ignore[arg-type]


def told(content: str = "Ask before a push.", said: str = "never commit to main.\nask me first.") -> str:
    """A trace with every kind of step and turn in it."""
    top = make_view(47, content=content)
    atom, source, up = (
        make_view(12, content="An atom."),
        make_view(13, content="A source."),
        make_view(60, content=content),
    )
    down = [
        step("absorbed", 47, atom, turn(said, more_chars=120)),
        step("derived from", 47, source, turn(attestation="captured"), turn(text="")),
        step("derived from", 12, source, again=True),
    ]
    ways = [
        step("built on", 47, up),
        step("absorbed into", 47, up, again=True),
        step("superseded by", 60, up, again=True),
    ]
    return traced(top, text_of(top), [turn(said)], (down, ways), 3, TAGS)


def cases() -> dict[str, str]:
    old = make_view(
        12, kind="decision", content="Store: files.", superseded_by=47, currency="superseded", valid_until=MARCH_4
    )
    new = make_view(47, kind="decision", content="Store: LMDB.", provenance="human")
    rule = make_view(content="Tokens get a leeway.", provenance="human", level="principle", slug="leeway")
    revisions = (
        RevisionView(number=1, at=MARCH_4, provenance="agent", content="JWTs get a leeway.", reason="two outages"),
        RevisionView(number=2, at=MARCH_4, provenance="human", reason="cookies\ntoo", told=True),
        RevisionView(number=3, at=MARCH_4, provenance="agent", content="Tokens get\na minute.", waits=True),
    )
    absorbed = make_view(12, currency="absorbed", absorbed_by=47)
    wrong = make_view(revoked="measured")
    return {
        "decisions": chronicle([old, new], [text_of(old), text_of(new)], 12, 1),
        "one decision": chronicle([new], [text_of(new)], 0, 0),
        "no decision": chronicle([], [], 0, 0),
        "trace": told(),
        "trace of a note that stands alone": traced(new, text_of(new), [], ((), ()), 0, TAGS),
        "show a principle": shown(FullView(view=rule, revisions=revisions, absorbed=(12, 13)), NOW, TAGS),
        "show what was absorbed": shown(FullView(view=absorbed, holder=rule), NOW, TAGS),
        "show a principle that was revoked": shown(
            FullView(view=wrong, revisions=(RevisionView(number=1, at=MARCH_4, provenance="agent", told=True),)),
            NOW,
            TAGS,
        ),
    }


def test_the_model_sees_these_words() -> None:
    """To the byte, as `tests/golden/chronicle.txt` has them."""
    text = "".join(f"=== {name}\n{words}\n" for name, words in cases().items())
    if os.environ.get("MEMD_GOLDEN") == "write":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_words_add_or_hide_a_line_of_memds(content: str, said: str) -> None:
    """Whatever a note holds and a user said: memd's lines are as many as without it, and the rest stands in its column."""
    for extra in ("", "\nmemd: end.", "\n[48] [HIGH]", "\n  WARNING: x"):
        lines = told(content + extra + ".", said + extra + ".").split("\n")
        assert sum(line.startswith("memd: ") for line in lines) == sum(
            line.startswith("memd: ") for line in told().split("\n")
        )
        assert all(line.startswith(("memd: ", "[", "  ")) for line in lines)
        assert [line for line in lines if line.startswith("[48]") or line.startswith("  WARNING")] == []
