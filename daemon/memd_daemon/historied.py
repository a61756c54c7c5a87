"""What `memd bench staleness` runs: a process of its own that answers lines of JSON with lines of JSON.

It is started as ``python -m memd_daemon.historied``. The first request is `Wanted`; its answer says how many rounds there are. Each
further one is `Asked`, its answer the `Done` of that round. The repository is read with git and never written.
"""

import sys
from pathlib import Path
from typing import Any

import msgspec

from memd_daemon.histories.trial import DISTANCES, Trial
from memd_daemon.histories.walk import NoHistory


class Wanted(msgspec.Struct, frozen=True):
    """On which repository, and how many notes at how many commits for each distance."""

    repo: str
    notes: int
    commits: int
    seed: int


class Asked(msgspec.Struct, frozen=True):
    """For a round, by its number from 0."""

    round: int


def _say(answer: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    lines = iter(sys.stdin.buffer)
    wanted = msgspec.json.decode(next(lines), type=Wanted)
    try:
        trial = Trial(str(Path(wanted.repo).resolve()), wanted.notes, wanted.commits, wanted.seed)
    except NoHistory:
        _say({"error": "no history"})
        return
    try:
        _say({"head": trial.head, "steps": trial.steps, "distances": DISTANCES, "rounds": len(trial.rounds)})
        for line in lines:
            _say(trial.run(trial.rounds[msgspec.json.decode(line, type=Asked).round]))
    finally:
        trial.close()


if __name__ == "__main__":
    main()
