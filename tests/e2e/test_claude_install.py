"""Install and uninstall beside settings that are somebody else's, judged by what the client then does."""

import json

import pytest

from .lab import Lab
from .memd import Memd

pytestmark = pytest.mark.e2e

RULE = "Run the tests with tox, never with pytest alone."
# Tabs, odd spacing, a hook of the user's own, and no line break at the end.
SETTINGS = (
    '{\n\t"env": {"KEPT":"1"},\n   "hooks" : { "SessionStart":[ {"hooks":[ '
    '{"type":"command","command":"echo MARK-own"} ]} ] },\n\n\t"cleanupPeriodDays" : 30 }'
)


def test_uninstall_gives_the_settings_back_to_the_byte(lab: Lab) -> None:
    """While installed, the user's own hook and memd's both speak; after uninstall the file is what it was, and so is the
    client."""
    lab.settings.parent.mkdir()
    lab.settings.write_text(SETTINGS)
    lab.memd("install", "--harness", "claude", "--user", "--json")
    assert lab.settings.read_text() != SETTINGS
    Memd(lab).remember(RULE, kind="directive")
    both = lab.claude("say hello").requests[0]
    assert both.news.count("MARK-own") == 1
    assert both.news.count(RULE) == 1
    lab.memd("uninstall", "--harness", "claude", "--user", "--json")
    assert lab.settings.read_text() == SETTINGS
    alone = lab.claude("say hello").requests[0]
    assert alone.news.count("MARK-own") == 1
    assert "memd" not in alone.text


def test_uninstall_leaves_no_settings_where_there_were_none(lab: Lab, memd: Memd) -> None:
    """In a home that had no settings, none are left."""
    assert lab.settings.exists()
    lab.memd("uninstall", "--harness", "claude", "--user", "--json")
    assert not lab.settings.exists()


def test_a_second_install_changes_nothing(lab: Lab, memd: Memd) -> None:
    """Install is idempotent: the same bytes, so a client that trusts a file by its digest does not ask again."""
    before = lab.settings.read_bytes()
    lab.memd("install", "--harness", "claude", "--user", "--json")
    assert lab.settings.read_bytes() == before


def test_the_work_tree_stays_clean(lab: Lab, memd: Memd) -> None:
    """Neither install, nor a session, nor uninstall leaves a file in the repository."""
    lab.claude("say hello")
    assert lab.git("status", "--porcelain", "--ignored") == ""
    lab.memd("uninstall", "--harness", "claude", "--user", "--json")
    assert lab.git("status", "--porcelain", "--ignored") == ""


def test_a_projects_install_speaks_in_that_project(lab: Lab) -> None:
    """With --project the entries stand in one's own settings of the project, once git is told to ignore that file."""
    refused = lab.memd("install", "--harness", "claude", "--project", "--json", check=False)
    assert refused.code == 1
    assert lab.git("status", "--porcelain") == ""
    (lab.repository / ".gitignore").write_text(".claude/settings.local.json\n")
    lab.commit_all("ignore one's own settings")
    lab.memd("install", "--harness", "claude", "--project", "--json")
    assert not lab.settings.exists()
    Memd(lab).remember(RULE, kind="directive")
    assert lab.claude("say hello").requests[0].news.count(RULE) == 1


def test_the_client_accepts_what_was_written(lab: Lab, memd: Memd) -> None:
    """The settings parse, name only hooks of type command, and the client's first run changes none of it."""
    before = lab.settings.read_bytes()
    hooks = json.loads(before)["hooks"]
    commands = [hook for groups in hooks.values() for group in groups for hook in group["hooks"]]
    assert {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"} <= set(hooks)
    assert {hook["type"] for hook in commands} == {"command"}
    lab.claude("say hello")
    assert lab.settings.read_bytes() == before
