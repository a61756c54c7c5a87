"""Texts that `memd bench evidence` reads and copies from: public sets where they lie in a folder, else made here.

A **set** is two halves of texts of one kind: what a session is given, and what is said elsewhere. The sets of a folder are for
evaluation only and no part of this project:

- ``cosqa/ds_cosqa.json``: functions in Python;
- ``locomo/locomo10.json``: long conversations between two people, a text for each of their sessions;
- ``devmembench/sessions.json``: conversations of developers with an assistant.

The set that is made is sentences over a few hundred words, as often as words are in a language: the same for the same seed.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

MADE = "made"
_MADE_TEXTS = 60
_MADE_SENTENCES = 40
_NOUNS = """
    batch branch build buffer cache carrier client column commit config conflict context cursor daemon deadline digest driver
    editor engine entry error event factory feature field file filter folder format frame gateway handler header hook index
    input issue job journal kernel key label layer ledger library limit listener lock log loop machine mapping marker message
    method migration mirror model module mutex network node note number object offset order output owner package page parser
    path payload pipeline policy pool port process profile project prompt protocol proxy query queue range reader record
    region registry release replica reply report request resolver result retry root router row rule runner scanner schedule
    schema scope script section segment server session setting shard signal snapshot socket source stage state store stream
    string suffix switch symbol system table target task template thread ticket timer token trace tree trigger turn update
    user value vector version view volume watcher window worker wrapper writer
"""
_VERBS = """
    accepts adds allows answers asks begins blocks breaks builds calls changes checks clears closes compares copies counts
    creates deletes drops ends expects fails fills finds flushes follows forgets gives grows handles holds ignores imports
    joins keeps leaves lists loads locks logs looks loses makes maps merges moves names needs opens orders parses passes picks
    prints reads refuses removes renames replaces reports resets resolves retries returns rounds runs saves scans sends sets
    shares shows signs skips sorts splits starts stops stores takes tells tests tries turns updates uses waits warns writes
"""
_TURNS = """
    after again although always and because before behind below beside but except for from if in into near never of on once
    only or over since so the then this through to under unless until when where while with without
"""


class Texts(NamedTuple):
    """A set: what is read, and what is said elsewhere."""

    name: str
    read: list[str]
    elsewhere: list[str]


def sets(folder: Path | None, seed: int) -> Iterator[Texts]:
    """Every set that is there; the one that is made where ``folder`` is None. Raises OSError, ValueError."""
    if folder is None:
        yield made(seed)
        return
    for name, file, texts_in in _SETS:
        path = folder / name / file
        if path.exists():
            texts = texts_in(json.loads(path.read_text(encoding="utf-8")))
            random.Random(seed).shuffle(texts)  # noqa: S311 -- the same halves for the same seed
            half = len(texts) // 2
            yield Texts(name, texts[:half], texts[half:])


def made(seed: int) -> Texts:
    """Sentences that nobody wrote."""
    chance = random.Random(seed)  # noqa: S311 -- the same texts for the same seed
    texts = [" ".join(_sentence(chance) for _ in range(_MADE_SENTENCES)) for _ in range(_MADE_TEXTS)]
    return Texts(MADE, texts[: _MADE_TEXTS // 2], texts[_MADE_TEXTS // 2 :])


def _sentence(chance: random.Random) -> str:
    words = ["the"]
    for _ in range(chance.randint(2, 6)):
        words += [_often(chance, _NOUNS), _often(chance, _VERBS), _often(chance, _TURNS), "the"]
    words.append(_often(chance, _NOUNS))
    return " ".join(words).capitalize() + "."


def _often(chance: random.Random, told: str) -> str:
    """One of the words, the first ones more often than the last."""
    words = told.split()
    return words[int(len(words) * chance.random() ** 2)]


def _functions(told: Any) -> list[str]:
    return [text for corpus in told for text in corpus["docs"].values()]


def _conversations(told: Any) -> list[str]:
    sessions = (turns for one in told for turns in one["conversation"].values() if isinstance(turns, list))
    return ["\n".join(turn["text"] for turn in turns) for turns in sessions]


def _developers(told: Any) -> list[str]:
    return ["\n".join(message["content"] for message in one["messages"]) for one in told]


_SETS = (
    ("cosqa", "ds_cosqa.json", _functions),
    ("locomo", "locomo10.json", _conversations),
    ("devmembench", "sessions.json", _developers),
)
