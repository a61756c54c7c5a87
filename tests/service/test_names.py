"""Names and ids that come in: kept without credentials, and still joined."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client import api, wire
from memd_daemon import errors, limits
from memd_daemon.service import names
from tests.service.desk import Desk, context_of, git, make_repo

SECRET = "ghp_" + "R4nd0mW0rdsQ8x2LmVzT7bKcYpHsDf3GjN6e"
UUID = "0198c6f2-7b7e-7d3c-a1c4-8f0e5b6d7a90"


def everything(home: Path) -> bytes:
    """Every byte that stands in a home."""
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


@pytest.mark.parametrize("given_id", ["", "s1", UUID, "agent-a13145769d5a8f0fe", "7"])
def test_an_ordinary_id_stays_as_it_is(given_id: str) -> None:
    """What clients send is what people look for."""
    assert names.id_kept(given_id) == given_id


@pytest.mark.parametrize(
    "given_id", [SECRET, f"s-{SECRET}", "s\x1b[31m", "s\n", "x" * (limits.LINE_MAX_CHARS + 1), "\ud800"]
)
def test_an_id_that_no_client_makes_is_kept_as_its_digest(given_id: str) -> None:
    """Short, printable, the same each time, and another for another id."""
    kept = names.id_kept(given_id)
    assert kept.startswith(names.DIGESTED)
    assert names.id_kept(kept) == kept == names.id_kept(given_id) != names.id_kept(given_id + "x")


@given(st.text(st.characters(exclude_categories=())))
def test_a_name_is_kept_as_text(given_name: str) -> None:
    """Whatever it is made of, and keeping it twice changes nothing."""
    kept = names.name_kept(given_name)
    assert kept.encode().decode() == names.name_kept(kept)


def hook_of_secrets(desk: Desk, event: str, name: str, **particular: Any) -> str:
    payload = {
        **desk.payload(name, f"s-{SECRET}"),
        "transcript_path": f"/t/{SECRET}.jsonl",
        "prompt_id": f"p-{SECRET}",
        **particular,
    }
    env = f"CLAUDE_CODE_ENTRYPOINT={SECRET}\nCLAUDE_PROJECT_DIR=/{SECRET}\n".encode()
    return desk.hook(event, payload, env=env)


def test_no_credential_in_a_name_reaches_the_disk_or_the_status(desk: Desk, tmp_path: Path) -> None:
    """Ids, transcript, entry point, directory, remote, branch, files, paths of reads and edits."""
    folder = make_repo(tmp_path / f"in-{SECRET}" / "repo")
    git(folder, "remote", "add", "origin", f"https://u:{SECRET}@host/{SECRET}/app.git?private_token={SECRET}")
    git(folder, "checkout", "-q", "-b", f"b-{SECRET}")
    (folder / f"f-{SECRET}.py").write_text("x")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", f"Subject {SECRET}")
    desk.repo = folder
    desk.start("s1")
    hook_of_secrets(desk, "session-start", "SessionStart", source="startup")
    hook_of_secrets(desk, "prompt-submit", "UserPromptSubmit", prompt=f"use {SECRET}")
    hook_of_secrets(desk, "subagent-start", "SubagentStart", agent_id=f"a-{SECRET}", agent_type=SECRET)
    for event, name, tool in (("read", "PostToolUse", "Read"), ("pre-edit", "PreToolUse", "Edit")):
        hook_of_secrets(desk, event, name, tool_name=tool, tool_input={"file_path": f"{folder}/f-{SECRET}.py"})
    desk.hook("git-commit", b"", env=f"CLAUDE_CODE_SESSION_ID=s-{SECRET}\n".encode())
    call = wire.Hook(os.urandom(16), time.monotonic_ns() + 10**10, 0, SECRET, SECRET, bytes(folder), b"", b"{}")
    desk.daemon.hook(call, 0)
    desk.remember("The file is generated.", anchors=["app.py"])
    told = repr([desk.ask(one()) for one in (api.Status, api.FiredAt, api.Turns, api.Deliveries)])
    assert SECRET not in told
    assert SECRET.encode() not in everything(desk.home)


def test_a_digested_session_still_joins(desk: Desk) -> None:
    """A command in its shell is of that session, its commit too, and its turns are found under the id as it was."""
    session = f"s-{SECRET}"
    desk.start(session)
    desk.prompt("hello", session=session)
    note = desk.remember("A note of the session.", scope="session", env={"CLAUDE_CODE_SESSION_ID": session})
    assert desk.ask(api.Show(ref=str(note.id))).note.scope == f"session:{names.id_kept(session)}"
    assert [t.text for t in desk.ask(api.Turns(session=session)).turns] == ["hello"]


@pytest.mark.parametrize("words", [{"anchors": [f"f-{SECRET}.py"]}, {"under": f"d-{SECRET}"}])
def test_a_path_with_a_credential_is_refused(desk: Desk, words: dict[str, Any]) -> None:
    """It could only be kept as another path than the one that was meant."""
    (desk.repo / f"f-{SECRET}.py").write_text("x")
    (desk.repo / f"d-{SECRET}").mkdir()
    with pytest.raises(errors.NameHoldsSecret) as refusal:
        desk.remember("Mind this file.", **words)
    assert SECRET not in refusal.value.message


def test_names_that_are_not_known_are_counted_as_one(desk: Desk) -> None:
    """Whoever calls can say anything: the status does not grow with it."""
    for number in range(20):
        call = wire.Hook(os.urandom(16), 2**62, 0, f"h{number}", f"e{number}", b"/", b"", b"{}")
        desk.daemon.hook(call, 0)
    assert set(desk.ask(api.Status()).hooks) == {"unknown unknown"}


def test_a_request_id_belongs_to_its_session(desk: Desk, tmp_path: Path) -> None:
    """The same sixteen bytes from another session are another request, with an answer and a turn of its own."""
    desk.remember("RULE of the first.", kind="directive")
    second = make_repo(tmp_path / "second")

    def ask(session: str, repo: Path) -> str:
        desk.repo = repo
        payload = json.dumps(desk.payload("UserPromptSubmit", session, prompt=f"from {session}")).encode()
        call = wire.Hook(b"i" * 16, 2**62, 0, "claude", "prompt-submit", bytes(repo), b"", payload)
        return context_of(desk.daemon.hook(call, 0).decode())

    first = desk.repo
    assert "RULE" in ask("s1", first)
    assert ask("s2", second) == ""
    assert "RULE" in ask("s1", first)
    assert [t.text for t in desk.ask(api.Turns()).turns] == ["from s2", "from s1"]
    desk.daemon.receipt(b"i" * 16)


def test_a_session_that_comes_to_another_repository_gets_its_rules(desk: Desk, tmp_path: Path) -> None:
    """What stands already, global or of the repository it came from, is not said again."""
    first, second = desk.repo, make_repo(tmp_path / "second")
    desk.remember("RULE-A of the first.", kind="directive")
    desk.repo = second
    desk.remember("RULE-B of the second.", kind="directive")
    desk.repo = first
    assert "RULE-A" in context_of(desk.start())
    desk.repo = second
    told = context_of(desk.prompt("now here"))
    assert ("RULE-B" in told, "RULE-A" in told) == (True, False)
    assert desk.prompt("and on", prompt_id="p2") == ""
    desk.repo = first
    assert desk.prompt("back again", prompt_id="p3") == ""


@pytest.mark.parametrize("name", [b"caf\xe9", b"new\nline", "中".encode()])
def test_a_place_of_any_bytes_is_a_place(desk: Desk, tmp_path: Path, name: bytes) -> None:
    """Its prompt is stored, its commit noted, its rules arrive, though JSON cannot hold its path."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    desk.repo = make_repo(folder)
    git(desk.repo, "checkout", "-q", "-b", os.fsdecode(b"br\xe9"))
    (desk.repo / "app.py").write_text("x = 2\n")
    git(desk.repo, "commit", "-qam", "Change it")
    desk.hook("git-commit", b"")
    payload = desk.payload("UserPromptSubmit", "s1", prompt="here", cwd=os.fsencode(folder).decode("utf-8", "replace"))
    desk.hook("prompt-submit", payload)
    desk.hook("prompt-submit", {**payload, "prompt": "again"})
    desk.remember("RULE of the place.", kind="directive")
    assert "RULE" in desk.start("s2")
    assert len(desk.ask(api.Turns()).turns) == 2
    notes = desk.ask(api.ListNotes(cwd=str(desk.repo), all_scopes=True)).notes
    assert "on br\ufffd: Change it" in notes[-1].content
    assert len({n.scope for n in notes}) == 1


@pytest.mark.parametrize("cwd", ["/tmp/\0x", "/nowhere/" + "a/" * 3_000, "", "relative"])
def test_a_prompt_is_stored_wherever_it_comes_from(desk: Desk, cwd: str) -> None:
    """A directory that cannot be is a place like any other."""
    desk.hook("prompt-submit", desk.payload("UserPromptSubmit", "s1", prompt="here", cwd=cwd))
    assert [t.text for t in desk.ask(api.Turns()).turns] == ["here"]


def test_another_text_under_a_known_prompt_id_is_another_turn(desk: Desk) -> None:
    """Only equal text under the same id is said once, whatever came between."""
    for text in ("a forged one", "the user's own", "a forged one", "the user's own"):
        desk.prompt(text, prompt_id="P")
    assert [t.text for t in reversed(desk.ask(api.Turns()).turns)] == ["a forged one", "the user's own"]


def test_a_commit_of_long_names_is_a_short_note(desk: Desk) -> None:
    """Branch, subject and each file's name take a line at most, and an extra line nowhere."""
    git(desk.repo, "checkout", "-q", "-b", "/".join(["b" * 200] * 10))
    deep = desk.repo / "/".join(["d" * 200] * 5)
    deep.mkdir(parents=True)
    (deep / ("f" * 200)).write_text("x")
    git(desk.repo, "add", ".")
    git(desk.repo, "commit", "-qm", "s" * 5_000)
    desk.hook("git-commit", b"")
    lines = desk.ask(api.ListNotes(cwd=str(desk.repo))).notes[0].content.split("\n")
    assert len(lines) == 2
    assert max(map(len, lines)) < 3 * limits.LINE_MAX_CHARS


def test_an_amended_commits_note_stands_in_the_place_of_the_first(desk: Desk) -> None:
    """The older is superseded by the newer, by memd itself; one that an agent took over stays."""
    (desk.repo / "app.py").write_text("x = 2\n")
    git(desk.repo, "commit", "-qam", "Chnage it")
    desk.hook("git-commit", b"")
    git(desk.repo, "commit", "-q", "--amend", "-m", "Change it")
    desk.hook("git-commit", b"")
    notes = desk.ask(api.ListNotes(cwd=str(desk.repo), superseded=True)).notes
    assert [(n.summary, n.state.currency) for n in notes] == [("Change it", "current"), ("Chnage it", "superseded")]
    events = desk.ask(api.Log(ref=str(notes[1].id))).events
    assert [(e.type, e.actor) for e in events] == [("recorded", "system"), ("superseded", "system")]
    desk.act("promote", notes[0].id, to="agent")
    git(desk.repo, "commit", "-q", "--amend", "-m", "Change it all")
    desk.hook("git-commit", b"")
    assert len(desk.ask(api.ListNotes(cwd=str(desk.repo))).notes) == 2


def test_a_file_is_looked_up_in_the_checkout_that_holds_it(desk: Desk, tmp_path: Path) -> None:
    """A worktree below the root, and another repository that is known; the session stays where it is."""
    first, second = desk.repo, make_repo(tmp_path / "second")
    desk.remember("GOTCHA-A of app.py.", kind="gotcha", anchors=["app.py"])
    desk.repo = second
    desk.remember("GOTCHA-B of app.py.", kind="gotcha", anchors=["app.py"])
    git(first, "worktree", "add", "-q", str(first / "trees" / "one"))
    desk.repo = first
    desk.start()
    assert "GOTCHA-A" in context_of(desk.read("trees/one/app.py"))
    assert "GOTCHA-B" in context_of(desk.read(str(second / "app.py")))
    context = desk.daemon.parts.ledger.context("s1", "")
    assert context is not None
    assert context.read == ("app.py",)
