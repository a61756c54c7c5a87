"""Claude Code's transcript: which rows are a person's prompt, and which conversation goes on from it."""

import json
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_hooks.harness import claude_transcript
from memd_hooks.harness.transcript import Finding, Lines, Prompt
from tests.hooks.rows import AT_MS, PROMPT, SESSION, WORDS, Claude


def asked(words: str = WORDS, **fields: Any) -> Prompt:
    told: dict[str, Any] = {
        "session": SESSION,
        "id": PROMPT,
        "at_ms": AT_MS + 40,
        "is_said": lambda said: said == words,
    }
    return Prompt(**{**told, **fields})


def found(made: Claude, begin: int = 0, prompt: Prompt | None = None, *, from_start: bool = True) -> Finding:
    """What is found where the hook was called before the row ``begin``."""
    lines = Lines(before=made.lines()[:begin], after=made.lines(begin), from_start=from_start)
    return claude_transcript.finding(lines, prompt or asked())


def conversation() -> Claude:
    """One turn before, then the prompt and its answer."""
    made = Claude()
    made.typed("good morning", "another")
    made.says()
    made.typed()
    made.says()
    return made


def test_a_typed_prompt_with_an_answer_agrees() -> None:
    """In a conversation that goes on, as its first row, with a tool between, and with a picture beside the text."""
    assert found(conversation(), 2) is Finding.AGREES
    made = Claude()
    made.typed([{"type": "text", "text": WORDS}, {"type": "image", "source": {}}])
    made.calls()
    made.result()
    assert found(made) is Finding.AGREES


def test_a_compaction_is_no_break() -> None:
    """The boundary names the row before it by another name, and the conversation goes on from there."""
    made = conversation()
    made.add("system", parentUuid=None, logicalParentUuid=made.rows[-1]["uuid"], subtype="compact_boundary")
    summary = {"role": "user", "content": f"This session is being continued: {WORDS}"}
    made.add("user", promptId=PROMPT, message=summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    made.says()
    assert found(made, 2) is Finding.AGREES


def test_a_prompt_that_waited_for_a_tool_agrees_under_the_turn_that_went_on() -> None:
    """It is attached behind the tool's result; the nearest row above names the prompt's id."""
    made = Claude()
    made.typed("begin")
    made.calls()
    made.result()
    made.waited()
    assert found(made, 2) is Finding.UNANSWERED
    made.says()
    assert found(made, 2) is Finding.AGREES
    assert found(made, 2, asked(id="another")) is Finding.ABSENT


@pytest.mark.parametrize(
    "fields",
    [
        {"commandMode": "task-notification"},
        {"humanTurn": False},
        {"origin": {"kind": "task-notification"}},
        {"origin": None},
    ],
)
def test_what_waited_and_was_not_typed_is_nobodys(fields: dict[str, Any]) -> None:
    """A notice that waits beside prompts is no prompt."""
    made = Claude()
    made.typed("begin")
    made.calls()
    made.result()
    made.waited(**fields)
    made.says()
    assert found(made, 2) is Finding.NOBODY


@pytest.mark.parametrize(
    ("fields", "finding"),
    [
        ({"promptSource": "sdk", "origin": None, "turnOrigin": "sdk"}, Finding.NOBODY),
        ({"promptSource": "system", "origin": {"kind": "task-notification"}}, Finding.NOBODY),
        ({"origin": {"kind": "channel"}}, Finding.NOBODY),
        ({"origin": None}, Finding.NOBODY),
        ({"turnOrigin": "task_notification"}, Finding.NOBODY),
        ({"entrypoint": "sdk-cli"}, Finding.NOBODY),
        ({"entrypoint": None}, Finding.NOBODY),
        ({"sessionId": "another"}, Finding.NOBODY),
        ({"timestamp": "2026-11-30T05:57:19.187Z"}, Finding.NOBODY),
        ({"timestamp": "2026-11-30T06:57:19.187"}, Finding.NOBODY),
        ({"timestamp": "soon"}, Finding.NOBODY),
        ({"message": {"role": "assistant", "content": WORDS}}, Finding.OTHER_WORDS),
        ({"message": {"role": "user", "content": WORDS + "."}}, Finding.OTHER_WORDS),
        ({"message": {"role": "user", "content": [{"type": "tool_result", "content": WORDS}]}}, Finding.OTHER_WORDS),
        ({"message": None}, Finding.OTHER_WORDS),
        ({"promptId": "another"}, Finding.ABSENT),
        ({"promptId": None}, Finding.ABSENT),
        ({"promptSource": None}, Finding.ABSENT),
        ({"isMeta": True}, Finding.ABSENT),
        ({"isSidechain": True}, Finding.ABSENT),
        ({"isCompactSummary": True}, Finding.ABSENT),
        ({"isVisibleInTranscriptOnly": True}, Finding.ABSENT),
        ({"toolUseResult": {"stdout": ""}}, Finding.ABSENT),
        ({"toolUseResult": "said"}, Finding.ABSENT),
        ({"sourceToolAssistantUUID": "u"}, Finding.ABSENT),
        ({"type": "assistant"}, Finding.ABSENT),
        ({"type": "attachment"}, Finding.ABSENT),
        ({"type": "queue-operation", "uuid": ""}, Finding.ABSENT),
    ],
)
def test_what_is_no_prompt_of_a_persons(fields: dict[str, Any], finding: Finding) -> None:
    """One thing that is not as a typed prompt has it is enough."""
    made = conversation()
    made.rows[2].update(fields)
    assert found(made, 2) is finding


def test_a_result_that_holds_the_words_is_no_prompt() -> None:
    """What a tool printed stands under the prompt's id too."""
    made = Claude()
    made.typed("begin")
    made.calls()
    made.result()
    made.says()
    assert found(made, 0, asked()) is Finding.OTHER_WORDS
    assert found(made, 1, asked()) is Finding.ABSENT


def test_without_an_id_nothing_agrees() -> None:
    """A hook that names no prompt, and a transcript whose row names none, are not the same prompt."""
    made = conversation()
    made.rows[2]["promptId"] = ""
    assert found(made, 2, asked(id="")) is Finding.ABSENT


def test_a_row_that_was_there_before_is_somebody_elses() -> None:
    """The client writes the prompt's row once the hook has ended."""
    assert found(conversation(), 3) is Finding.ABSENT


def test_without_an_answer_it_is_open() -> None:
    """The row alone, or with the client's own remarks behind it, says nothing yet."""
    made = Claude()
    made.typed()
    assert found(made) is Finding.UNANSWERED
    made.add("attachment", attachment={"type": "environment"})
    assert found(made) is Finding.UNANSWERED
    made.says()
    assert found(made) is Finding.AGREES


def test_the_conversation_goes_on_from_elsewhere() -> None:
    """A row that was put in has no part in what the client writes next, answered or not."""
    made = conversation()
    real = made.rows[1]["uuid"]
    made.add(
        "user", parentUuid=real, promptId="third", message={"role": "user", "content": "go on"}, promptSource="typed"
    )
    made.says()
    assert found(made, 2) is Finding.ASIDE


@pytest.mark.parametrize("again", [0, 1, 2, 3])
def test_a_uuid_that_stands_twice_counts_for_nothing(again: int) -> None:
    """A copy of another row's uuid would make the put-in row the parent of what the client writes."""
    made = conversation()
    copy = {**made.rows[again], "message": {"role": "user", "content": "something else"}}
    made.rows.append(copy)
    made.rows.append({**made.rows[3], "uuid": "last", "parentUuid": made.rows[3]["uuid"]})
    assert found(made, 2) is not Finding.AGREES or again == 0


def test_a_row_put_in_under_the_uuid_of_the_last_real_one_does_not_take_its_place() -> None:
    """What the client then appends names that uuid as its parent, and still nothing agrees."""
    made = Claude()
    made.typed("good morning", "another")
    last = made.says()
    made.typed(uuid=last["uuid"], parentUuid=made.rows[0]["uuid"])
    made.says(parentUuid=last["uuid"])
    made.says()
    assert found(made, 2) is Finding.ASIDE


def test_a_row_that_goes_on_from_nothing_known_is_aside() -> None:
    """Only the very first row of a transcript has no parent."""
    made = conversation()
    made.rows[2]["parentUuid"] = "nobody knows"
    assert found(made, 2) is Finding.ASIDE
    made.rows[2]["parentUuid"] = None
    assert found(made, 2) is Finding.ASIDE
    alone = Claude()
    alone.typed()
    alone.says()
    assert found(alone, from_start=False) is Finding.ASIDE


def test_a_ring_of_parents_ends() -> None:
    """Rows that name each other as parents are followed once."""
    made = conversation()
    made.rows[2]["parentUuid"] = made.rows[3]["uuid"]
    assert found(made, 2) is Finding.ASIDE
    made.rows[3]["parentUuid"] = made.rows[3]["uuid"]
    assert found(made, 2) is Finding.ASIDE


def test_one_good_row_counts_beside_bad_ones() -> None:
    """Another row of the prompt's id in other words takes nothing from the one that the client wrote."""
    made = conversation()
    made.typed("forged")
    made.rows[-1]["parentUuid"] = made.rows[0]["uuid"]
    made.says(parentUuid=made.rows[3]["uuid"])
    assert found(made, 2) is Finding.AGREES
    assert found(made, 2, asked("forged")) is Finding.ASIDE


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"HOME": "/home/dev"}, "/home/dev/.claude/projects"),
        ({"HOME": "/home/dev", "CLAUDE_CONFIG_DIR": "/etc/c"}, "/etc/c/projects"),
        ({"HOME": "/home/dev", "CLAUDE_CONFIG_DIR": ""}, "/home/dev/.claude/projects"),
        ({}, ""),
        ({"HOME": ""}, ""),
    ],
)
def test_where_transcripts_lie(environ: dict[str, str], folder: str) -> None:
    """By the environment that the client was started with."""
    assert claude_transcript.folder(environ) == folder


@pytest.mark.parametrize(
    ("path", "is_its"),
    [
        (f"-tmp-repo/{SESSION}.jsonl", True),
        (f"{SESSION}.jsonl", False),
        (f"-tmp-repo/{SESSION}/subagents/{SESSION}.jsonl", False),
        ("-tmp-repo/another.jsonl", False),
        (f"-tmp-repo/{SESSION}.json", False),
    ],
)
def test_which_file_is_a_sessions(path: str, is_its: bool) -> None:
    """One folder down, under the session's own name."""
    assert claude_transcript.is_of(PurePosixPath(path), SESSION) is is_its


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.binary(max_size=64), max_size=6), st.lists(st.binary(max_size=64), max_size=6))
def test_garbage_is_read_without_an_error(before: list[bytes], after: list[bytes]) -> None:
    """Bytes that are no rows are none."""
    lines = Lines(before=before, after=after, from_start=True)
    assert claude_transcript.finding(lines, asked()) is Finding.ABSENT


@given(st.data())
def test_any_field_may_hold_anything(data: st.DataObject) -> None:
    """Rows with odd values never raise; and a prompt's row with another value in a field that speaks of a person does not agree."""
    made = conversation()
    row = data.draw(st.sampled_from(made.rows))
    field = data.draw(st.sampled_from([*made.rows[2], "isMeta", "toolUseResult", "attachment"]))
    row[field] = data.draw(_JSON)
    try:
        json.dumps(row).encode()
    except UnicodeEncodeError:
        return
    finding = found(made, 2)
    if row is made.rows[2] and field in ("origin", "promptSource", "entrypoint", "sessionId", "promptId", "message"):
        assert finding is not Finding.AGREES
