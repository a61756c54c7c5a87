"""A refusal says what to do in the words of the door that it goes through: flags at the command line, parameters to a tool."""

import re
from collections.abc import Iterator

import pytest

from memd_daemon import errors
from memd_daemon.service.tools import TOOLS, Caller, Tools
from tests.service.desk import Desk

FLAG = re.compile(r"`--[a-z-]+")
WITHOUT_A_TOOL = (
    "SourceUnknown", "TranscriptsNotKept", "OnlyOnLadder", "SlugWrong", "SlugTaken", "SourcesNeeded", "LevelWhyNeeded", "NearRule",
    "SettingSigned", "SettingsChurned",
)  # fmt: skip
"""What no tool of MCP is refused with: it takes no level, and changes no setting."""


def tree(root: type[errors.MemdError]) -> Iterator[type[errors.MemdError]]:
    for one in root.__subclasses__():
        yield one
        yield from tree(one)


ALL = [one for one in tree(errors.MemdError) if one.__module__ == errors.__name__]


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.__name__)
def test_each_wording_is_whole(one: type[errors.MemdError]) -> None:
    """Whatever its arguments say, also where they look like a mark of memd's own."""
    args = [f"{{say:x|y}}{n}" for n in range(8)]
    refusal = one(*args)
    for said in (refusal.message, refusal.to_tool):
        assert said
        assert "\n" not in said
        assert "{say:" not in said.replace("{say:x|y}", "")
        taken = {int(n) for n in re.findall(r"\{say:x\|y\}(\d)", said)}
        assert taken == set(range(len(taken)))


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.__name__)
def test_a_tool_s_caller_reads_of_no_flag(one: type[errors.MemdError]) -> None:
    """Save inside a command that the user would type."""
    said = one(*["x"] * 8).to_tool
    assert one.__name__ in WITHOUT_A_TOOL or not FLAG.search(said)


REFUSALS = {
    errors.KnownMistake: ("remember", {"content": "The upload retries 3 times."}, "`despite`: 1;"),
    errors.NotTheSame: ("remember", {"content": "Lunch is at noon.", "same_as": 2}, "without `same_as`"),
    errors.SameAsAlone: (
        "remember",
        {"content": "Deploys go out on Tuesdays.", "same_as": 2, "supersedes": 2},
        "go with `supersedes`",
    ),
    errors.GotchaNeedsAnchor: ("remember", {"content": "It bites.", "kind": "gotcha"}, "path::symbol, to `anchors`"),
    errors.NoSession: ("remember", {"content": "Here only.", "scope": "session"}, "scope `repo`"),
    errors.SourceIsChecked: ("remember", {"content": "Said so.", "source": "user"}, "with `evidence`"),
    errors.NoSuchNote: ("show", {"ref": 99}, "recall finds"),
    errors.NoteRevoked: ("confirm", {"ref": 1}, "reinstate it first, by the tool"),
    errors.ReasonNeeded: ("revoke", {"ref": 2, "reason": " "}, "`reason` is what"),
    errors.NotCurated: ("revise", {"ref": 2, "reason": "r", "text": "t"}, "`supersedes`: 2"),
    errors.NotSigned: ("promote", {"ref": 2, "to": "human"}, "Only the user can do this"),
}


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: one.__name__)
def test_what_tools_are_refused_with_names_their_parameters(desk: Desk, refusal: type[errors.MemdError]) -> None:
    """Each names what the very tool takes."""
    desk.remember("The upload retries 3 times.")
    desk.act("revoke", 1, reason="it is 5")
    desk.remember("Deploys go out on Tuesdays.")
    tool, arguments, words = REFUSALS[refusal]
    with pytest.raises(refusal) as told:
        Tools(desk.daemon.parts, desk.plans).call(tool, arguments, Caller(pid=0, cwd=str(desk.repo)))
    assert words in told.value.to_tool
    assert "`--" not in told.value.to_tool
    named = set(re.findall(r"`([a-z_]+)`(?=[:; .]|$)", words)) - {"repo"}
    assert named <= set(TOOLS["remember"].schema["properties"]) | set(TOOLS[tool].schema["properties"])


def test_a_revision_can_be_made_despite_a_mistake(desk: Desk) -> None:
    """As the refusal says, and by the tool that was refused."""
    desk.remember("The upload retries 3 times.")
    desk.act("revoke", 1, reason="it is 5")
    taught = desk.remember("The mirror takes a minute to answer.").id
    rule = desk.remember("Uploads need patience.", level="principle", slug="patience", sources=[str(taught)], why="w")
    tools, caller = Tools(desk.daemon.parts, desk.plans), Caller(pid=0, cwd=str(desk.repo))
    arguments = {"ref": rule.id, "reason": "sharper", "text": "The upload retries 3 times."}
    with pytest.raises(errors.KnownMistake):
        tools.call("revise", arguments, caller)
    assert tools.call("revise", {**arguments, "despite": 1}, caller) == f"[{rule.id}] revised"
