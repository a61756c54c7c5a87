"""What a daemon's start imports before its first answer, and what has come in behind it (memd_daemon/later.py)."""

import subprocess
import sys

import pytest

LATER = (
    "memd_daemon.later",
    "memd_daemon.service.recall",
    "memd_daemon.service.remember",
    "memd_daemon.redact.redactor",
)
"""Of what no ping needs, what brings the most with it."""
HEAVY = (
    "subprocess",
    "tempfile",
    "tomllib",
    "asyncio",
    "numpy",
    "onnxruntime",
    "tokenizers",
    "tantivy",
    "usearch",
    "mcp",
)
"""Libraries that are imported where they are needed."""


def loaded(program: str) -> set[str]:
    """The modules of an interpreter of its own behind ``program``."""
    whole = f"{program}\nimport sys\nprint(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-I", "-c", whole], capture_output=True, text=True, check=True).stdout.split()
    )


@pytest.fixture(scope="module")
def at_start() -> set[str]:
    return loaded("from memd_daemon import lifecycle")


@pytest.mark.parametrize("name", [*LATER, *HEAVY])
def test_a_first_answer_waits_for_nothing_that_it_does_not_need(at_start: set[str], name: str) -> None:
    """One import at the head of a module would bring it back."""
    assert "memd_daemon.service.deliver" in at_start
    assert name not in at_start


@pytest.mark.parametrize("name", LATER)
def test_all_of_it_is_in_behind_the_first_answers(name: str) -> None:
    """So a daemon whose files are exchanged under it goes on with those that it began with."""
    assert name in loaded("from memd_daemon import later")
