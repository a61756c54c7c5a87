"""Measures finding on public question sets: which ranking brings back what answers a question.

    python scripts/bench_retrieval.py --data DIR [--set cosqa] [--weights] [--json]

DIR holds `cosqa/ds_cosqa.json` (web queries to functions, with distractors) and `locomo/locomo10.json` (long
conversations; the first four, questions with evidence, unanswerable ones left out; a document is one turn with its
speaker, a corpus is one conversation). A set that is not there is skipped. Neither is part of this project; both are for
evaluation only.

Rankings, all through the daemon's own indexes: `bm25` (words), `dense` (full query vector), `rrf` (reciprocal ranks of
both, k = 60), `score` (fuse.py), `table` (fuse.py, the query's vector from the token table). Printed: recall at 5 and 10
(share of a question's documents found, mean over questions) and nDCG at 10. `--weights` adds score fusion for each weight.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memd_daemon import limits
from memd_daemon.index.embed import Embedder, QueryTable
from memd_daemon.index.exact import ExactIndex
from memd_daemon.index.fuse import fuse
from memd_daemon.index.words import WordIndex

Ranked = list[tuple[int, float]]
Question = tuple[str, set[str]]
Corpus = tuple[dict[str, str], list[Question]]

LOCOMO_CONVERSATIONS = 4
LOCOMO_UNANSWERABLE = 5  # the category of questions about what was never said
RRF_K = 60
DEPTH = limits.FUSION_CANDIDATES


def main() -> int:
    """Print a table, or JSON, of every set that is there."""
    parser = argparse.ArgumentParser(description="Measure retrieval on public question sets.")
    parser.add_argument("--data", type=Path, required=True, help="folder with cosqa/ and locomo/")
    parser.add_argument("--set", choices=sorted(SETS), help="only this one")
    parser.add_argument("--weights", action="store_true", help="score fusion for several weights of the words")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    embedder, table = Embedder(), QueryTable()
    embedder.load()
    report = {}
    for name, read in SETS.items():
        if args.set in (None, name) and (corpora := list(read(args.data))):
            report[name] = measure(corpora, embedder, table, args.weights)
    print(json.dumps(report, indent=1) if args.json else as_table(report))
    return 0 if report else 1


# --- the sets


def cosqa(folder: Path) -> Iterator[Corpus]:
    """One corpus: functions by id, and queries with the ids that answer them."""
    path = folder / "cosqa" / "ds_cosqa.json"
    for corpus in json.loads(path.read_text()) if path.exists() else ():
        yield corpus["docs"], [(asked["q"], set(asked["rel"])) for asked in corpus["queries"]]


def locomo(folder: Path) -> Iterator[Corpus]:
    """A corpus per conversation: turns by id, and questions with the turns that answer them."""
    path = folder / "locomo" / "locomo10.json"
    for sample in (json.loads(path.read_text()) if path.exists() else [])[:LOCOMO_CONVERSATIONS]:
        turns = {turn["dia_id"]: f"{turn['speaker']}: {turn['text']}" for turn in turns_of(sample["conversation"])}
        questions = [
            (asked["question"], set(asked["evidence"]))
            for asked in sample["qa"]
            if asked["category"] != LOCOMO_UNANSWERABLE and asked.get("evidence")
        ]
        yield turns, questions


def turns_of(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, session in conversation.items():
        if name.startswith("session_") and isinstance(session, list):
            yield from session


SETS: dict[str, Callable[[Path], Iterator[Corpus]]] = {"cosqa": cosqa, "locomo": locomo}


# --- measuring


def measure(corpora: list[Corpus], embedder: Embedder, table: QueryTable, weights: bool) -> dict[str, Any]:
    """{ranking: {r5, r10, ndcg10}} over all questions of a set, and how many there were."""
    scores: dict[str, list[tuple[float, float, float]]] = {}
    for documents, questions in corpora:
        names = list(documents)
        words, vectors = indexed(documents, embedder)
        for query, relevant in questions:
            for ranking, found in rankings(query, words, vectors, embedder, table, weights).items():
                hits = [names[key] in relevant for key in found[:10]]
                scores.setdefault(ranking, []).append(judged(hits, len(relevant)))
    means = {
        ranking: [sum(column) / len(column) for column in zip(*rows, strict=True)] for ranking, rows in scores.items()
    }
    report: dict[str, Any] = {name: dict(zip(("r5", "r10", "ndcg10"), row, strict=True)) for name, row in means.items()}
    return {"questions": len(scores["bm25"]), "rankings": report}


def indexed(documents: dict[str, str], embedder: Embedder) -> tuple[WordIndex, ExactIndex]:
    words, vectors = WordIndex(), ExactIndex(embedder.dim)
    start = time.monotonic()
    for key, text in enumerate(documents.values()):
        words.add(key, "all", text)
        vectors.add(key, embedder.embed(text))
    words.flush()
    print(f"{len(documents):,} documents indexed in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return words, vectors


def rankings(
    query: str, words: WordIndex, vectors: ExactIndex, embedder: Embedder, table: QueryTable, weights: bool
) -> dict[str, list[int]]:
    """{ranking: keys, best first}."""
    lexical = words.search(query, ["all"], DEPTH)
    dense = vectors.search(embedder.embed(query), DEPTH)
    quick = vectors.search(table.vector(query), DEPTH)
    found = {"bm25": [key for key, _ in lexical], "dense": [key for key, _ in dense], "rrf": reciprocal(lexical, dense)}
    found["score"] = [one.key for one in fuse(lexical, dense, DEPTH)]
    found["table"] = [one.key for one in fuse(lexical, quick, DEPTH)]
    for tenths in range(2, 9) if weights else ():
        found[f"score {tenths / 10}"] = [one.key for one in fuse(lexical, dense, DEPTH, tenths / 10)]
        found[f"table {tenths / 10}"] = [one.key for one in fuse(lexical, quick, DEPTH, tenths / 10)]
    return found


def reciprocal(*lists: Ranked) -> list[int]:
    """Reciprocal rank fusion."""
    total: dict[int, float] = {}
    for ranked in lists:
        for rank, (key, _) in enumerate(ranked, 1):
            total[key] = total.get(key, 0.0) + 1 / (RRF_K + rank)
    return sorted(total, key=lambda key: (-total[key], key))


def judged(hits: list[bool], relevant: int) -> tuple[float, float, float]:
    """(recall at 5, recall at 10, nDCG at 10) of one question."""
    gain = sum(1 / math.log2(rank + 1) for rank, hit in enumerate(hits, 1) if hit)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(relevant, 10) + 1))
    return sum(hits[:5]) / relevant, sum(hits) / relevant, gain / ideal


def as_table(report: dict[str, Any]) -> str:
    lines = []
    for name, measured in report.items():
        lines.append(f"{name}, {measured['questions']} questions{'':10}R@5   R@10  nDCG@10")
        for ranking, row in measured["rankings"].items():
            lines.append(f"  {ranking:30}{row['r5']:.3f}  {row['r10']:.3f}  {row['ndcg10']:.3f}")
    return "\n".join(lines) or "no set found"


if __name__ == "__main__":
    sys.exit(main())
