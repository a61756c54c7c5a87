"""Each sentence of frames/told.py, letter for letter, in tests/golden/told.txt; written anew as test_golden.py's are."""

import inspect
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any

from memd_daemon.frames import told
from tests.frames.test_golden import GOLDEN

GIVEN: dict[str, Any] = {
    "id_": 47,
    "taker": 52,
    "newer": 52,
    "other": 52,
    "by": 52,
    "ids": (47, 48),
    "act": "revoke",
    "state": "closed",
    "currency": "current",
    "how": "a_wins",
    "turns": (7, 4417),
    "what": "an auto-captured note",
    "type_": "document",
    "path": "src/app.py",
    "anchor": "src/app.py::Lock.take",
    "given": "app.py",
    "symbol": "Lock.take",
    "now": " (now: 45)",
    "origin": "document https://docs.example/importer",
    "words": 16,
    "count": 3,
    "why": told.WAS_SHOWN,
    "reason": "measured again",
    "tells": told.TELLS_OF_PAUSE,
    "has_key": True,
}


def said(sentence: Callable[..., str]) -> str:
    given = inspect.signature(sentence).parameters.values()
    words = {one.name: GIVEN[one.name] for one in given if one.kind is one.KEYWORD_ONLY}
    return sentence(*(GIVEN[one.name] for one in given if one.name not in words), **words)


def sentences() -> str:
    own = {name: value for name, value in vars(told).items() if isinstance(value, FunctionType)}
    lines = [f"{name}: {said(function)}" for name, function in own.items()]
    lines += [f"closed {how}: {told.closed(52, how)}" for how in told.CLOSED]
    lines += [f"{name}: {value}" for name, value in vars(told).items() if name.isupper() and isinstance(value, str)]
    lines.append(f"bound_by_words, one turn: {told.bound_by_words((4417,))}")
    lines.append(f"setting_unsigned, no key: {told.setting_unsigned(told.TELLS_NOBODY, has_key=False)}")
    return "\n".join([*lines, f"contradicted, no reason: {told.contradicted(52, '')}", ""])


def test_every_sentence_is_as_it_was() -> None:
    """What an agent is answered changes by a reader's eye alone."""
    golden = GOLDEN / "told.txt"
    if os.environ.get("MEMD_GOLDEN") == "write":
        golden.write_text(sentences(), encoding="utf-8")
    assert sentences() == golden.read_text(encoding="utf-8")


def test_no_sentence_has_a_tag_s_bracket_of_its_own() -> None:
    """memd's own words hold none; the arrow of a change is no tag, since nothing opens it."""
    assert "<" not in sentences()
