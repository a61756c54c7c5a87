#!/usr/bin/env python3
"""Where the floor of a recall should stand: what comes back for questions with an answer, and for those without one.

    .venv/bin/python scripts/calibrate_floor.py --data DIR [--table] [--json]

DIR holds devmembench (sessions.json, questions.json). Every sentence of the sessions becomes a note, as in calibrate_gate.py,
and each question is asked as a recall asks: the k best of the fused rankings (trust is the same for all of these notes). A note
bears on a question as service/bearing.py says, by a floor for each note and one for the nearest.

    answered     questions of which one of the k is a note that comes from a session they name and holds ANSWER_SHARE of the
                 answer's words, without those that are in the question or say nothing
    recall       of all such notes, the share that is among the k
    come         notes that come for one of these questions
    never said   notes that come for a question about what no session says; and of how many in 100 none comes
    off topic    likewise for words about nothing that the notes speak of (below)

Once among all the notes, and once in stores of each size in SMALL drawn from them (for each question those that answer it, at most
five, and others), where there is no hundredth candidate that everything is measured against, and the k are much of the store.
The first row is the floors in use, the second none at all.
"""

import argparse
import json
import random
from collections.abc import Sequence
from itertools import product, starmap
from pathlib import Path
from typing import Any, NamedTuple

from calibrate_gate import NEVER_SAID, WORD, Note, notes_of

from memd_daemon import limits
from memd_daemon.index.embed import Embedder, QueryTable
from memd_daemon.index.exact import ExactIndex
from memd_daemon.index.fuse import fuse
from memd_daemon.index.terms import STOP_WORDS
from memd_daemon.index.words import WordIndex
from memd_daemon.service.bearing import FULL, TABLE, Floors, far_of
from memd_daemon.service.lookup import Hit

SMALL = (26, 8)
ANSWER_SHARE = 0.25
OFF_TOPIC = (
    "zzzz qqqq", "xkcdfoo barbaz", "lorem ipsum dolor sit amet", "how do I boil an egg?", "capital of Mongolia",
    "best hiking trails near Innsbruck", "why did the Roman empire fall?", "violin strings for beginners",
    "how far is the moon", "tomato plants with yellow leaves", "asdf jkl", "rules of cricket explained",
)  # fmt: skip
FLOORS = (0.05, 0.1, 0.12, 0.15, 0.2)
NEAREST = (0.0, 0.18, 0.2, 0.22, 0.25, 0.3)
K = limits.RECALL_DEFAULT_K


def answers(note: Note, question: dict) -> bool:
    """Whether the note holds enough of the answer's own words."""
    told = said(question["groundTruth"]) - said(question["question"])
    return bool(told) and len(told & said(note[1])) >= ANSWER_SHARE * len(told)


def said(text: str) -> set[str]:
    return set(WORD.findall(text.lower())) - STOP_WORDS


class Answer(NamedTuple):
    """What one question finds, best first."""

    hits: list[Hit]
    serves: frozenset[int]  # notes that answer it

    def kept(self, floors: Floors) -> list[bool]:
        """Whether each of the k that come answers."""
        far = {one.id for one in far_of(self.hits, floors)}
        return [hit.id in self.serves for hit in self.hits if hit.id not in far][:K]


class Bench:
    """The notes with their vectors."""

    def __init__(self, notes: Sequence[Note], is_table: bool) -> None:
        embedder = Embedder()
        embedder.load()
        self.notes = notes
        self.dim = embedder.dim
        self.vectors = [embedder.embed(text) for _, text in notes]
        self.query: Any = QueryTable().vector if is_table else embedder.embed
        self.everything = self.store(range(len(notes)))

    def store(self, keys: Sequence[int]) -> tuple[WordIndex, ExactIndex]:
        words, vectors = WordIndex(None), ExactIndex(self.dim)
        for key in keys:
            words.add(key, "s", self.notes[key][1])
            vectors.add(key, self.vectors[key])
        return words, vectors

    def ask(self, question: str, store: tuple[WordIndex, ExactIndex], serves: frozenset[int] = frozenset()) -> Answer:
        words, vectors = store
        vector = self.query(question)
        lexical = words.search(question, ["s"], limits.FUSION_CANDIDATES)
        near = vectors.search(vector, limits.FUSION_CANDIDATES) if vector.any() else []
        cosines = dict(near)
        hits = [
            Hit(id=one.key, relevance=one.score, lexical=one.lexical, cosine=cosines.get(one.key))
            for one in fuse(lexical, near, limits.RECALL_MAX_K)
        ]
        return Answer(hits, serves)

    def serving(self, question: dict) -> frozenset[int]:
        return frozenset(
            key
            for key, note in enumerate(self.notes)
            if note[0] in question["haystackSessionIds"] and answers(note, question)
        )


def asked(bench: Bench, questions: Sequence[dict], small: int) -> dict[str, list[Answer]]:
    """The answers by kind of question; ``small``: among so many notes, 0 for all."""
    draw = random.Random(1)  # the same stores each time
    found: dict[str, list[Answer]] = {"said": [], "never said": [], "off topic": []}
    foreign = [{"question": words, "questionType": "off topic"} for words in OFF_TOPIC]
    for question in [*questions, *foreign]:
        kind = {NEVER_SAID: "never said", "off topic": "off topic"}.get(question["questionType"], "said")
        serves = bench.serving(question) if kind == "said" else frozenset()
        if kind == "said" and not serves:
            continue
        store = bench.everything
        if small:
            serves = frozenset(draw.sample(sorted(serves), min(len(serves), 5)))
            store = bench.store(sorted({*serves, *draw.sample(range(len(bench.notes)), small - len(serves))}))
        found[kind].append(bench.ask(question["question"], store, serves))
    return found


def judged(found: dict[str, list[Answer]], floors: Floors) -> dict[str, float]:
    """One row."""
    said = [(one, one.kept(floors)) for one in found["said"]]
    row = {
        "floor": floors.note,
        "nearest": floors.nearest,
        "answered": 100 * sum(any(kept) for _, kept in said) / len(said),
        "recall": 100 * sum(sum(kept) / min(len(one.serves), K) for one, kept in said) / len(said),
        "come": sum(len(kept) for _, kept in said) / len(said),
    }
    for kind in ("never said", "off topic"):
        counts = [len(one.kept(floors)) for one in found[kind]]
        row |= {kind: sum(counts) / len(counts), f"{kind}, none": 100 * counts.count(0) / len(counts)}
    return {name: round(value, 2) for name, value in row.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", action="store_true", help="questions by the token table, as while the model loads")
    parser.add_argument("--json", action="store_true")
    words = parser.parse_args()
    bench = Bench(notes_of(json.loads((words.data / "devmembench" / "sessions.json").read_text())), words.table)
    questions = json.loads((words.data / "devmembench" / "questions.json").read_text())
    in_use = TABLE if words.table else FULL
    gates = [in_use, Floors(-1.0, -1.0), *starmap(Floors, product(FLOORS, NEAREST))]
    report = {}
    for size in (0, *SMALL):
        found = asked(bench, questions, size)
        report[f"{size or len(bench.notes)} notes"] = [judged(found, floors) for floors in gates]
    if words.json:
        print(json.dumps(report, indent=1))
        return
    for name, rows in report.items():
        print(name)
        print("".join(f"{column:>17}" for column in rows[0]))
        for row in rows:
            print("".join(f"{value:17.2f}" for value in row.values()))


if __name__ == "__main__":
    main()
