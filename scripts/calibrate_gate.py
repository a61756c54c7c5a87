#!/usr/bin/env python3
"""Where the gate on a prompt should stand: false pushes and misses over a range of thresholds.

    .venv/bin/python scripts/calibrate_gate.py --data DIR [--json]

DIR holds devmembench (sessions.json, questions.json) and cosqa (ds_cosqa.json). Every sentence of the sessions becomes a note. A
prompt is *served* where one of the notes that pass the gate comes from a session that the question names and holds a word of the
answer that the question does not; it is *falsely served* where it is asked for what was never said, or has nothing to do with the
notes at all, and something passes. The thresholds in use stand in memd_daemon/limits.py; their row is printed first.
"""

import argparse
import json
import re
import sys
from pathlib import Path

from memd_daemon import limits
from memd_daemon.index.embed import Embedder, QueryTable
from memd_daemon.index.vectors import ScopedVectors
from memd_daemon.index.words import WordIndex

SMALL_TALK = (
    "hi", "hello", "thanks", "thank you!", "yes", "no", "ok", "yes go on", "go ahead", "please continue", "sounds good",
    "looks great",
    "why?", "do it", "try again", "that did not work", "undo that", "commit this", "run the tests", "what do you think?",
)  # fmt: skip
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
WORD = re.compile(r"[a-z0-9]+")
NEVER_SAID = "abstention"


def notes_of(sessions: list[dict]) -> list[tuple[str, str]]:
    """(session, sentence) of every sentence of five words or more."""
    found = []
    for session in sessions:
        for message in session["messages"]:
            for sentence in SENTENCE.split(message["content"]):
                if len(sentence.split()) >= 5:
                    found.append((session["sessionId"], sentence.strip()))
    return found


def answers(note: tuple[str, str], question: dict) -> bool:
    told = set(WORD.findall(question["groundTruth"].lower())) - set(WORD.findall(question["question"].lower()))
    return note[0] in question["haystackSessionIds"] and bool(told & set(WORD.findall(note[1].lower())))


class Bench:
    """The notes in both indexes, and the evidence of a prompt for its best candidates."""

    def __init__(self, notes: list[tuple[str, str]], table: bool) -> None:
        self.notes = notes
        self.embedder = Embedder()
        self.embedder.load()
        self.words = WordIndex(None)
        self.vectors = ScopedVectors(self.embedder.model_id, self.embedder.dim, lambda keys: None)
        for key, (_, text) in enumerate(notes):
            self.words.add(key, "s", text)
            self.vectors.add("s", key, self.embedder.embed(text))
            if key % 100 == 0:
                print(f"\rnotes {key}/{len(notes)}", end="", file=sys.stderr)
        print(file=sys.stderr)
        self.query = QueryTable().vector if table else self.embedder.embed

    def evidence(self, prompt: str) -> list[tuple[int, float, float, int, int]]:
        """(note, cosine, idf share, terms, identifiers) of the candidates of one prompt."""
        near = dict(self.vectors.search(["s"], self.query(prompt), 50))
        keys = near.keys() | {key for key, _ in self.words.search(prompt, ["s"], 50)}
        weighed = self.words.weigh(prompt)
        out = []
        for key in keys:
            found = self.words.evidence(weighed, self.notes[key][1])
            out.append((key, near.get(key, 0.0), found.idf_share, found.terms, found.identifiers))
        return out


def passed(rows: list[tuple[int, float, float, int, int]], cosine: float, share: float) -> list[int]:
    """The notes that pass a gate with these thresholds."""
    return [
        key
        for key, cos, idf, terms, identifiers in rows
        if cos >= cosine
        or (cos >= limits.GATE_WORDS_COSINE and idf >= share and (terms >= limits.GATE_TERMS_MIN or identifiers > 0))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", action="store_true", help="prompts by the token table, as where the model is late")
    parser.add_argument("--json", action="store_true")
    words = parser.parse_args()
    sessions = json.loads((words.data / "devmembench" / "sessions.json").read_text())
    questions = json.loads((words.data / "devmembench" / "questions.json").read_text())
    bench = Bench(notes_of(sessions), words.table)
    asked = [(q, bench.evidence(q["question"])) for q in questions]
    said = [(q, rows) for q, rows in asked if q["questionType"] != NEVER_SAID]
    unsaid = [rows for q, rows in asked if q["questionType"] == NEVER_SAID]
    cosqa = json.loads((words.data / "cosqa" / "ds_cosqa.json").read_text())
    foreign = [query["q"] for part in cosqa for query in part["queries"]][:200]
    off_topic = [bench.evidence(prompt) for prompt in foreign]
    small = [bench.evidence(p) for p in SMALL_TALK]
    table = []
    pairs = [(limits.GATE_COSINE, limits.GATE_IDF_SHARE)]
    pairs += [(c / 100, s / 100) for c in (50, 55, 60, 65, 70) for s in (35, 60, 80)]
    for cosine, share in pairs:
        table.append(
            {
                "cosine": cosine,
                "idf_share": share,
                "served": rate(
                    [any(answers(bench.notes[k], q) for k in passed(rows, cosine, share)) for q, rows in said]
                ),
                "never_said": rate([bool(passed(rows, cosine, share)) for rows in unsaid]),
                "off_topic": rate([bool(passed(rows, cosine, share)) for rows in off_topic]),
                "small_talk": rate([bool(passed(rows, cosine, share)) for rows in small]),
                "notes_a_question": round(sum(len(passed(rows, cosine, share)) for _, rows in said) / len(said), 1),
            }
        )
    if words.json:
        print(json.dumps({"notes": len(bench.notes), "rows": table}, indent=1))
        return
    counts = f"{len(said)} answerable, {len(unsaid)} never said, {len(off_topic)} off topic"
    print(f"{len(bench.notes)} notes; shares of 100 prompts: {counts}")
    print(" ".join(f"{column:>16}" for column in table[0]))
    for row in table:
        print(" ".join(f"{value:16.2f}" for value in row.values()))


def rate(hits: list[bool]) -> float:
    return round(100 * sum(hits) / len(hits), 1)


if __name__ == "__main__":
    main()
