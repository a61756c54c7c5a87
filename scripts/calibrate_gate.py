#!/usr/bin/env python3
"""Where the gate on a prompt should stand: false pushes and misses over a range of thresholds.

    .venv/bin/python scripts/calibrate_gate.py --data DIR [--table] [--json]

DIR holds devmembench (sessions.json, questions.json) and cosqa (ds_cosqa.json). Every sentence of the sessions becomes a note. The
prompts:

    answerable   served where a note passes that comes from a session the question names and holds a word of the answer that the
                 question does not
    never said   questions about what no session says
    taken out    the answerable ones, with the notes of their sessions and every note that holds a word of the answer taken out
    off topic    web queries about other code
    small talk   what people say to an agent between two tasks

At all but the first, whatever passes is a false push. Of each kind the prompts in even places are to calibrate on, the others are
held out: a row shows both halves. The rule by which the thresholds in limits.py were chosen: of the rows with at most
FALSE_PER_100 false pushes per 100 prompts on the first half, all its kinds together, the one that serves the most; for the token
table of those with the weight that is in use. The gate in use is the first row.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from memd_daemon import limits
from memd_daemon.index.embed import Embedder, QueryTable
from memd_daemon.index.words import WordIndex

SMALL_TALK = (
    "hi", "hello", "thanks", "thank you!", "yes", "no", "ok", "yes go on", "go ahead", "please continue", "sounds good",
    "looks great",
    "why?", "do it", "try again", "that did not work", "undo that", "commit this", "run the tests", "what do you think?",
)  # fmt: skip
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
WORD = re.compile(r"[a-z0-9]+")
NEVER_SAID = "abstention"
OFF_TOPIC = 200
FALSE_PER_100 = 4.0
COSINES = (0.5, 0.53, 0.55, 0.6, 0.65)
TABLE_COSINES = (0.25, 0.28, 0.3, 0.33, 0.36, 0.4)
WEIGHTS = (0.0, 8.0, 10.0, 12.0, 14.0, 16.0)
SHARES = (0.6,)
FALSE_KINDS = ("never said", "taken out", "off topic", "small talk")

Note = tuple[str, str]
"""(session, sentence)"""


class Evidence(NamedTuple):
    """What a prompt and a note have in common."""

    note: int
    cosine: float
    share: float
    terms: int
    identifiers: int
    weight: float


class Thresholds(NamedTuple):
    """One gate."""

    cosine: float
    words_cosine: float
    share: float
    weight: float

    def passed(self, rows: Iterable[Evidence]) -> set[int]:
        """The notes that pass."""
        return {row.note for row in rows if row.weight >= self.weight and self._opens(row)}

    def _opens(self, row: Evidence) -> bool:
        by_words = row.share >= self.share and (row.terms >= limits.GATE_TERMS_MIN or row.identifiers > 0)
        return row.cosine >= self.cosine or (row.cosine >= self.words_cosine and by_words)


class Prompt(NamedTuple):
    """A prompt with its evidence; ``serves`` holds the notes that answer it, of an answerable one."""

    rows: list[Evidence]
    serves: frozenset[int] = frozenset()


def notes_of(sessions: Sequence[dict]) -> list[Note]:
    """(session, sentence) of every sentence of five words or more."""
    found = []
    for session in sessions:
        for message in session["messages"]:
            for sentence in SENTENCE.split(message["content"]):
                if len(sentence.split()) >= 5:
                    found.append((session["sessionId"], sentence.strip()))
    return found


def holds_answer(note: Note, question: dict) -> bool:
    """Whether a word of the answer that is not in the question stands in the note."""
    told = set(WORD.findall(question["groundTruth"].lower())) - set(WORD.findall(question["question"].lower()))
    return bool(told & set(WORD.findall(note[1].lower())))


class Bench:
    """The notes, and the evidence of a prompt for each of them."""

    def __init__(self, notes: Sequence[Note], is_table: bool) -> None:
        embedder = Embedder()
        embedder.load()
        self.notes = notes
        self.words = WordIndex(None)
        self.vectors = []
        for key, (_, text) in enumerate(notes):
            self.words.add(key, "s", text)
            self.vectors.append(embedder.embed(text))
            if key % 100 == 0:
                print(f"\rnotes {key}/{len(notes)}", end="", file=sys.stderr)
        print(file=sys.stderr)
        self.query: Callable = QueryTable().vector if is_table else embedder.embed

    def evidence(self, prompt: str) -> list[Evidence]:
        """Of every note."""
        weighed, vector = self.words.weigh(prompt), self.query(prompt)
        rows = []
        for key, (_, text) in enumerate(self.notes):
            found = self.words.evidence(weighed, text)
            cosine = float(self.vectors[key] @ vector)
            rows.append(Evidence(key, cosine, found.idf_share, found.terms, found.identifiers, found.weight))
        return rows

    def asked(self, question: dict) -> tuple[Prompt, Prompt]:
        """An answerable question as it is, and with what answers it taken out."""
        rows = self.evidence(question["question"])
        named = {key for key, note in enumerate(self.notes) if note[0] in question["haystackSessionIds"]}
        told = {key for key, note in enumerate(self.notes) if holds_answer(note, question)}
        return Prompt(rows, frozenset(named & told)), Prompt([row for row in rows if row.note not in named | told])


def prompts_of(bench: Bench, data: Path) -> dict[str, list[Prompt]]:
    """Every kind's prompts."""
    questions = json.loads((data / "devmembench" / "questions.json").read_text())
    cosqa = json.loads((data / "cosqa" / "ds_cosqa.json").read_text())
    foreign = [query["q"] for part in cosqa for query in part["queries"]][:OFF_TOPIC]
    said = [bench.asked(question) for question in questions if question["questionType"] != NEVER_SAID]
    unsaid = [question["question"] for question in questions if question["questionType"] == NEVER_SAID]
    return {
        "answerable": [as_it_is for as_it_is, _ in said],
        "never said": [Prompt(bench.evidence(prompt)) for prompt in unsaid],
        "taken out": [without for _, without in said],
        "off topic": [Prompt(bench.evidence(prompt)) for prompt in foreign],
        "small talk": [Prompt(bench.evidence(prompt)) for prompt in SMALL_TALK],
    }


def judged(gate: Thresholds, prompts: dict[str, list[Prompt]], halves: Sequence[int]) -> dict[str, float]:
    """Rates per 100 prompts of these halves (0: calibration, 1: held out), and ``false``: of all that should bring nothing."""
    hits = {
        kind: [
            bool(gate.passed(one.rows) & one.serves if kind == "answerable" else gate.passed(one.rows))
            for place, one in enumerate(of_kind)
            if place % 2 in halves
        ]
        for kind, of_kind in prompts.items()
    }
    false = [hit for kind in FALSE_KINDS for hit in hits[kind]]
    return {kind: rate(found) for kind, found in hits.items()} | {"false": rate(false)}


def rate(hits: Sequence[bool]) -> float:
    return round(100 * sum(hits) / len(hits), 1)


def gates(is_table: bool) -> list[Thresholds]:
    """The gate in use, then those that are tried."""
    at = limits.GATE_WORDS_TABLE_COSINE if is_table else limits.GATE_WORDS_COSINE
    near = limits.GATE_TABLE_COSINE if is_table else limits.GATE_COSINE
    tried = product(TABLE_COSINES if is_table else COSINES, SHARES, WEIGHTS)
    in_use = Thresholds(near, at, limits.GATE_IDF_SHARE, limits.GATE_WEIGHT_MIN)
    return [in_use, *(Thresholds(cosine, at, share, weight) for cosine, share, weight in tried)]


def tell(rows: Sequence[dict]) -> None:
    """The rows as a table: calibration half / held-out half."""
    kinds = [*rows[0]["calibration"]]
    print(f"{'cosine':>8}{'share':>7}{'weight':>8}" + "".join(f"{kind:>15}" for kind in kinds))
    for row in rows:
        pairs = (f"{row['calibration'][kind]:.1f} / {row['held_out'][kind]:.1f}" for kind in kinds)
        print(f"{row['cosine']:8.2f}{row['share']:7.2f}{row['weight']:8.1f}" + "".join(f"{pair:>15}" for pair in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", action="store_true", help="prompts by the token table, as where the model is late")
    parser.add_argument("--json", action="store_true")
    words = parser.parse_args()
    sessions = json.loads((words.data / "devmembench" / "sessions.json").read_text())
    bench = Bench(notes_of(sessions), words.table)
    prompts = prompts_of(bench, words.data)
    rows = [
        gate._asdict()
        | {"calibration": judged(gate, prompts, [0]), "held_out": judged(gate, prompts, [1])}
        | {"all": judged(gate, prompts, [0, 1])}
        for gate in gates(words.table)
    ]
    within = [row for row in rows if row["calibration"]["false"] <= FALSE_PER_100]
    within = [row for row in within if not words.table or row["weight"] == limits.GATE_WEIGHT_MIN]
    best = max(within, key=lambda row: (row["calibration"]["answerable"], row["cosine"], row["weight"]), default=None)
    if words.json:
        print(json.dumps({"notes": len(bench.notes), "rows": rows, "best": best}, indent=1))
        return
    counts = ", ".join(f"{len(of_kind)} {kind}" for kind, of_kind in prompts.items())
    print(f"{len(bench.notes)} notes; per 100 prompts, calibration / held out: {counts}")
    tell(rows)
    if best is not None:
        print(f"serves the most within {FALSE_PER_100:g} false per 100 of the calibration half:")
        tell([best])


if __name__ == "__main__":
    main()
