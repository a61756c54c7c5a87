"""The redactor lets no well-formed secret through and leaves what only looks like one as it is.

A secret is gone when no stretch of `RUN_CHARS` of its core stands in what is left. What stands around it is left verbatim.
"""

from collections.abc import Iterator

import pytest

from memd_daemon.redact import Redactor
from tests.attack.lookalikes import LOOKALIKES
from tests.attack.redaction_cases import MISSES_AT_FIRST_RUN, NAMED, SHAPES, TOKENS, Dice

RUN_CHARS = 10


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor.default()


def _leaks(core: str, left: str) -> bool:
    """Whether a stretch of the core stands in ``left``; a core of several lines leaks by any of them."""
    return any(
        line[at : at + RUN_CHARS] in left for line in core.splitlines() for at in range(len(line) - RUN_CHARS + 1)
    )


def _wrong_tokens(redactor: Redactor, kind: str) -> Iterator[str]:
    secret = TOKENS[kind](Dice(kind))
    for shape, form in SHAPES.items():
        left = redactor.redact(form.format(*[secret.text] * form.count("{}")))
        head, tail = form.replace("{{", "{").replace("}}", "}").split("{}")[:: form.count("{}")]
        if _leaks(secret.core, left):
            yield f"{kind}, {shape}: stands in {left!r}"
        elif not (left.startswith(head) and left.endswith(tail)):
            yield f"{kind}, {shape}: took more than itself: {left!r}"


def _wrong_named(redactor: Redactor, kind: str) -> Iterator[str]:
    secret = NAMED[kind](Dice(kind))
    left = redactor.redact(secret.text)
    if _leaks(secret.core, left):
        yield f"{kind}: stands in {left!r}"


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_is_gone_wherever_it_stands(redactor: Redactor, kind: str) -> None:
    """A secret with a shape of its own is taken out in every place, and only it."""
    assert list(_wrong_tokens(redactor, kind)) == []


@pytest.mark.parametrize("kind", NAMED)
def test_a_secret_that_its_place_names_is_gone(redactor: Redactor, kind: str) -> None:
    """A secret that is told only by what stands around it is taken out."""
    assert list(_wrong_named(redactor, kind)) == []


@pytest.mark.parametrize("text", LOOKALIKES)
def test_a_lookalike_is_left_alone(redactor: Redactor, text: str) -> None:
    """What is no secret stays to the letter, also in the middle of a text."""
    around = f"before\n{text}\nafter"
    assert redactor.redact(text) == text
    assert redactor.redact(around) == around


@pytest.mark.parametrize("kind", [*TOKENS, *NAMED])
def test_what_was_redacted_is_left_alone(redactor: Redactor, kind: str) -> None:
    """A second pass finds nothing more: what is stored can be redacted again at any time."""
    secret = (TOKENS | NAMED)[kind](Dice(kind))
    once = redactor.redact(f"a {secret.text} b")
    assert redactor.redact(once) == once


def test_what_once_got_through_is_still_tried() -> None:
    """The kinds of secrets that the first run found open stay in the corpus."""
    assert set(MISSES_AT_FIRST_RUN) <= TOKENS.keys() | NAMED.keys()


def test_the_corpus_counts_what_got_through(redactor: Redactor, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole corpus is tried at once and the numbers are printed; nothing may get through and nothing may be lost."""
    through = [wrong for kind in TOKENS for wrong in _wrong_tokens(redactor, kind)]
    through += [wrong for kind in NAMED for wrong in _wrong_named(redactor, kind)]
    lost = [text for text in LOOKALIKES if redactor.redact(text) != text]
    tried = len(TOKENS) * len(SHAPES) + len(NAMED)
    with capsys.disabled():
        print(f"\nredaction guard: {len(TOKENS) + len(NAMED)} kinds, {tried} texts tried, {len(through)} got through")
        print(f"redaction guard: {len(LOOKALIKES)} look-alikes tried, {len(lost)} lost")
    assert (through, lost) == ([], [])
