"""Codex's transcript: which lines are a person's prompt, and that they stand where the client put them."""

from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_hooks.harness import codex_transcript
from memd_hooks.harness.transcript import Finding, Lines, Prompt
from tests.hooks.rows import AT_MS, PROMPT, SESSION, WORDS, Codex


def asked(words: str = WORDS, **fields: Any) -> Prompt:
    told: dict[str, Any] = {
        "session": SESSION,
        "id": PROMPT,
        "at_ms": AT_MS + 40,
        "is_said": lambda said: said == words,
    }
    return Prompt(**{**told, **fields})


def rollout(trigger: str = "user", **begun: Any) -> Codex:
    """The first line, the turn's begin, the client's own context, the prompt, what a hook added, the answer."""
    made = Codex(**begun)
    made.begins(trigger=trigger)
    made.message("user", "<environment_context/>", provenance="harness")
    made.message("user", WORDS)
    made.message("developer", "from a hook", provenance="harness")
    made.message("assistant", "understood")
    return made


def found(made: Codex, begin: int = 2, prompt: Prompt | None = None) -> Finding:
    lines = Lines(before=made.lines()[:begin], after=made.lines(begin), first=made.lines()[0], from_start=True)
    return codex_transcript.finding(lines, prompt or asked())


def test_a_typed_prompt_with_an_answer_agrees() -> None:
    """Whether the turn's begin stood before the hook was called or after."""
    assert found(rollout()) is Finding.AGREES
    assert found(rollout(), 1) is Finding.AGREES
    assert found(rollout(source="vscode")) is Finding.AGREES


def test_a_call_is_an_answer_and_nothing_is_none() -> None:
    """The model's first answer may be a tool."""
    made = rollout()
    made.rows.pop()
    assert found(made) is Finding.UNANSWERED
    told = {"turn_id": PROMPT}
    made.add("response_item", {"type": "function_call", "internal_chat_message_metadata_passthrough": told})
    assert found(made) is Finding.AGREES


@pytest.mark.parametrize(
    ("trigger", "begun"),
    [
        ("exec", {}),
        ("user", {"source": "exec"}),
        ("user", {"source": {"subagent": "review"}}),
        ("user", {"thread_source": "subagent"}),
        ("user", {"thread_source": None}),
        ("user", {"id": "another"}),
    ],
)
def test_what_no_person_started_is_nobodys(trigger: str, begun: dict[str, Any]) -> None:
    """`codex exec`, subagents, and another session's file."""
    assert found(rollout(trigger, **begun)) is Finding.NOBODY


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"turn": "another"}, Finding.ABSENT),
        ({"role": "developer"}, Finding.ABSENT),
        ({"provenance": "harness"}, Finding.ABSENT),
        ({"words": "other words"}, Finding.OTHER_WORDS),
    ],
)
def test_what_is_no_prompt_of_a_persons(change: dict[str, str], finding: Finding) -> None:
    """Another turn's, the client's own, or other words."""
    made = Codex()
    made.begins()
    told = {"role": "user", "words": WORDS, **change}
    made.message(**told)
    made.message("assistant", "understood")
    assert found(made) is finding


def test_a_line_that_was_put_in_takes_a_number_that_comes_again() -> None:
    """The client counts on from what it wrote itself."""
    made = Codex()
    made.begins()
    made.message("assistant", "working")
    made.message("user", WORDS)
    made.message("assistant", "understood")
    made.rows.append({**made.rows[-1], "ordinal": 3})
    assert found(made) is Finding.ASIDE
    made.rows.pop()
    made.rows[-1]["ordinal"] = 7
    assert found(made) is Finding.ASIDE


def test_time_and_place_count() -> None:
    """A line from an hour before is another's, one from before the hook too, and no id is no prompt."""
    assert found(rollout(), prompt=asked(at_ms=AT_MS + 3_600_000)) is Finding.NOBODY
    assert found(rollout(), 4) is Finding.ABSENT
    assert found(rollout(), prompt=asked(id="")) is Finding.ABSENT


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"HOME": "/home/dev"}, "/home/dev/.codex/sessions"),
        ({"HOME": "/home/dev", "CODEX_HOME": "/etc/c"}, "/etc/c/sessions"),
        ({}, ""),
    ],
)
def test_where_transcripts_lie(environ: dict[str, str], folder: str) -> None:
    """By the environment that the client was started with."""
    assert codex_transcript.folder(environ) == folder


@pytest.mark.parametrize(
    ("path", "is_its"),
    [
        (f"2026/11/30/rollout-2026-11-30T07-00-17-{SESSION}.jsonl", True),
        (f"2026/11/30/{SESSION}.jsonl", False),
        (f"rollout-2026-11-30T07-00-17-{SESSION}.jsonl", False),
        ("2026/11/30/rollout-2026-11-30T07-00-17-another.jsonl", False),
    ],
)
def test_which_file_is_a_sessions(path: str, is_its: bool) -> None:
    """Under its day, with the session's name at the end."""
    assert codex_transcript.is_of(PurePosixPath(path), SESSION) is is_its


@given(st.binary(max_size=64), st.lists(st.binary(max_size=64), max_size=6))
def test_garbage_is_read_without_an_error(first: bytes, after: list[bytes]) -> None:
    """Bytes that are no rows are none."""
    lines = Lines(before=[], after=after, first=first)
    assert codex_transcript.finding(lines, asked()) is Finding.ABSENT
