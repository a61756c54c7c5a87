"""The user's turns and the repository's commits."""

import json
import os
from pathlib import Path

import pytest

from memd_client import api, wire
from memd_daemon.service import capture
from tests.service.desk import Desk, git


def test_a_prompt_is_stored_verbatim_before_the_answer(desk: Desk) -> None:
    """Every character of it, with its number in the session, and as captured, not typed."""
    words = 'Fix «this» — now!\n\n\t```py\nx = "é"\n```\n'
    desk.prompt(words)
    desk.prompt("second", prompt_id="p2")
    turns = desk.ask(api.Turns()).turns
    assert [(t.n, t.text) for t in turns] == [(2, "second"), (1, words)]
    assert {t.attestation for t in turns} <= {"captured", "headless"}


def test_a_prompt_id_is_stored_once_and_equal_words_twice_are_two_turns(desk: Desk) -> None:
    """Two hook entries of one prompt are one turn; without an id equal words count once within the window only."""
    desk.prompt("yes", prompt_id="p1")
    desk.prompt("yes", prompt_id="p1")
    desk.prompt("yes", prompt_id="p2")
    assert len(desk.ask(api.Turns()).turns) == 2
    desk.prompt("no id", session="s2", prompt_id="")
    desk.prompt("no id", session="s2", prompt_id="")
    desk.clock.ms += 2_001
    desk.prompt("no id", session="s2", prompt_id="")
    assert len(desk.ask(api.Turns(session="s2")).turns) == 2


def test_other_words_under_one_prompts_id_are_another_turn(desk: Desk) -> None:
    """Whoever goes on typing while the client works is heard, and answered: both are evidence."""
    desk.remember("The importer retries three times on a locked database.")
    asks = "how often does the importer retry on a locked database?"
    assert desk.prompt("always use tox", prompt_id="p1") == ""
    assert "retries three times" in desk.prompt(asks, prompt_id="p1")
    assert [turn.text for turn in desk.ask(api.Turns()).turns] == [asks, "always use tox"]


def test_private_words_are_not_stored(desk: Desk) -> None:
    """What stands in private tags is nobody's evidence."""
    desk.prompt("keep this <private>but not that</private> and this")
    assert "but not that" not in desk.ask(api.Turns()).turns[0].text


def test_a_spooled_prompt_is_taken_in_before_the_next_one(desk: Desk) -> None:
    """Order holds, the file goes, the turn says replayed, and a broken file stays out of the way."""
    payload = json.dumps(desk.payload("UserPromptSubmit", "s1", prompt="while you were away", prompt_id="p0")).encode()
    env = b"CLAUDE_CODE_ENTRYPOINT=cli\n"
    call = wire.Hook(b"q" * 16, 0, 0, "claude", "prompt-submit", str(desk.repo).encode(), env, payload)
    folder = desk.home / "spool"
    folder.mkdir(mode=0o700, exist_ok=True)
    at_ns = desk.clock.ms * 1_000_000
    file = folder / wire.spool_name(call.request_id, at_ns).decode()
    file.write_bytes(wire.encode_spool(wire.Spooled(call, at_ns)))
    (folder / "00000000000000000001-zz.spool").write_bytes(b"half")
    desk.prompt("now", prompt_id="p1")
    turns = desk.ask(api.Turns()).turns
    assert (turns[-1].text, turns[-1].attestation) == ("while you were away", "replayed")
    assert [t.n for t in reversed(turns)] == [1, 2]
    assert not file.exists()
    assert desk.ask(api.Status()).spool["waiting"] == 1


def test_a_commit_becomes_an_auto_note_once(desk: Desk) -> None:
    """Subject, files, sha, branch and session; low, a finding, pushed nowhere."""
    (desk.repo / "app.py").write_text("def add(a, b):\n    return a + b  # noqa\n")
    git(desk.repo, "commit", "-qam", "Speed up the adder")
    desk.start("s1")
    env = b"CLAUDE_CODE_SESSION_ID=s1\n"
    desk.hook("git-commit", b"", env=env)
    desk.hook("git-commit", b"", env=env)
    notes = desk.ask(api.ListNotes(cwd=str(desk.repo))).notes
    sha = git(desk.repo, "rev-parse", "HEAD").strip()
    assert len(notes) == 1
    note = notes[0]
    assert (note.provenance, note.priority, note.kind, note.source.type) == ("auto", "low", "finding", "commit")
    assert note.source.ref == sha
    assert all(part in note.content for part in ("Speed up the adder", "app.py", sha[:12], "main", "s1"))
    assert [a.path for a in note.anchors] == ["app.py"]
    assert desk.prompt("who did speed up the adder?") == ""
    assert desk.read("app.py") == ""


@pytest.mark.parametrize("mark", ["rebase-merge", "CHERRY_PICK_HEAD", "MERGE_HEAD", "rebase-apply"])
def test_moving_known_commits_is_no_news(desk: Desk, mark: str) -> None:
    """During a rebase, cherry-pick, am or merge the hook records nothing."""
    path = desk.repo / ".git" / mark
    path.mkdir() if mark.startswith("rebase") else path.write_text("x")
    desk.hook("git-commit", b"")
    assert desk.ask(api.ListNotes(cwd=str(desk.repo))).notes == []


def test_a_rebase_a_cherry_pick_and_a_merge_make_no_notes(desk: Desk) -> None:
    """What git itself replays is known already; the reflog's newest line says so when the hook runs."""
    repo = desk.repo
    git(repo, "checkout", "-q", "-b", "side")
    (repo / "side.py").write_text("s = 1\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "On the side")
    git(repo, "checkout", "-q", "main")
    git(repo, "cherry-pick", "side")
    desk.hook("git-commit", b"")
    git(repo, "reset", "-q", "--hard", "HEAD~1")
    git(repo, "merge", "-q", "--no-ff", "-m", "Merge", "side")
    desk.hook("git-commit", b"")
    assert desk.ask(api.ListNotes(cwd=str(repo))).notes == []


def test_file_names_that_are_no_text_do_not_lose_the_commit(desk: Desk) -> None:
    """Bytes that are no UTF-8, line breaks and many files are told as far as they can be."""
    for number in range(25):
        (desk.repo / f"f{number}.txt").write_text("x")
    Path(os.fsdecode(bytes(desk.repo) + b"/bad\xff\nname")).write_text("x")
    git(desk.repo, "add", ".")
    git(desk.repo, "commit", "-qm", "Many files")
    desk.hook("git-commit", b"")
    content = desk.ask(api.ListNotes(cwd=str(desk.repo))).notes[0].content
    assert "+6" in content
    assert content.count("\n") == 1


def test_spooled_commits_are_found_in_the_reflog(desk: Desk) -> None:
    """Two commits made while the daemon was away become two notes, each with its own sha."""
    folder = desk.home / "spool"
    folder.mkdir(mode=0o700, exist_ok=True)
    shas = []
    for number, moment in enumerate((1_772_600_100, 1_772_600_200)):
        (desk.repo / "app.py").write_text(f"x = {number}\n")
        git(desk.repo, "commit", "-qam", f"Change {number}", at=moment)
        shas.append(git(desk.repo, "rev-parse", "HEAD").strip())
        call = wire.Hook(bytes([number]) * 16, 0, 0, "git", "git-commit", str(desk.repo).encode(), b"", b"")
        at_ns = moment * 1_000_000_000 + 500_000_000
        (folder / wire.spool_name(call.request_id, at_ns).decode()).write_bytes(
            wire.encode_spool(wire.Spooled(call, at_ns))
        )
    desk.prompt("back again")
    notes = desk.ask(api.ListNotes(cwd=str(desk.repo))).notes
    assert [n.source.ref for n in reversed(notes)] == shas


def spooled(desk: Desk, call: wire.Hook, at_ns: int = 1) -> Path:
    folder = desk.home / "spool"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / wire.spool_name(call.request_id, at_ns).decode()
    file.write_bytes(wire.encode_spool(wire.Spooled(call, at_ns)))
    return file


def test_a_spooled_call_that_cannot_be_taken_in_stands_in_nobodys_way(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those behind it are taken in, the prompt of now is stored, and after a day it goes and is counted."""

    def broken(*_: object) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(capture, "record_commit", broken)
    bad = spooled(desk, wire.Hook(b"b" * 16, 0, 0, "git", "git-commit", bytes(desk.repo), b"", b""), 1)
    payload = json.dumps(desk.payload("UserPromptSubmit", "s1", prompt="spooled behind it", prompt_id="p0")).encode()
    good = spooled(desk, wire.Hook(b"g" * 16, 0, 0, "claude", "prompt-submit", bytes(desk.repo), b"", payload), 2)
    desk.prompt("now", prompt_id="p1")
    assert [t.text for t in reversed(desk.ask(api.Turns()).turns)] == ["spooled behind it", "now"]
    assert (bad.exists(), good.exists()) == (True, False)
    os.utime(bad, (1, 1))
    desk.prompt("later", prompt_id="p2")
    assert not bad.exists()
    assert desk.ask(api.Status()).spool["dropped"] == 1


def test_a_spooled_call_of_a_client_that_is_unknown_here_is_kept(desk: Desk) -> None:
    """A later memd may know it: no user's turn goes without having been stored or counted."""
    file = spooled(desk, wire.Hook(b"u" * 16, 0, 0, "tomorrow", "prompt-submit", b"/", b"", b"{}"))
    desk.prompt("now")
    assert file.exists()
