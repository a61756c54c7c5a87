"""The commands against the real daemon, as a shell and as an agent's shell run them."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from memd_client import api
from memd_client.cli.app import run
from tests.cli.world import World


def test_remember_answers_with_the_id_and_what_is_near(world: World) -> None:
    """Plain for a reader, the documented object with --json."""
    plain = world.memd("remember", "The linter runs before the tests.")
    assert plain.code == 0
    assert plain.out.decode().startswith("[")
    told = world.memd("remember", "The linter runs before all the tests.", "--json").json
    assert set(told) == {"id", "uid", "near", "conflicts", "tombstones", "told", "stated", "kept"}
    first = int(plain.out.decode()[1:].partition("]")[0])
    assert (told["near"], told["kept"]) == ([first], False)
    again = world.memd("remember", "The linter runs before the tests.").out.decode()
    assert again.startswith(f"[{first}] as it was\n")
    assert f"  note [{first}] says this already, word for word: nothing was recorded\n" in again


def test_a_content_may_come_from_stdin_and_begin_with_a_dash(world: World) -> None:
    """`-` is stdin, `--` ends the options; bytes that are no UTF-8 are refused whichever way they come."""
    ran = world.memd("remember", "-", "--json", stdin="Über die Pipe.\nZweite Zeile.\n".encode())
    shown = world.memd("show", str(ran.json["id"]), "--json").json
    assert shown["content"] == "Über die Pipe.\nZweite Zeile."
    dashed = world.memd("remember", "--json", "--", "-O2 breaks the parser.")
    assert world.memd("show", str(dashed.json["id"]), "--json").json["content"] == "-O2 breaks the parser."
    for words, stdin in ((("remember", "-"), b"\xff\xfe"), (("remember", b"caf\xe9"), b"")):
        refused = world.memd(*words, "--json", stdin=stdin)
        assert (refused.code, refused.json["error"]["code"]) == (1, "not-unicode")


@pytest.mark.parametrize("form", ["{id}", "[{id}]", "{uid}"])
def test_a_note_is_named_by_id_or_uid(world: World, form: str) -> None:
    """As people quote it, as agents quote it, and for ever."""
    note = world.memd("show", str(world.note(f"Named by {form} in its own way.")), "--json").json
    assert world.memd("show", form.format(**note), "--json").json == note


def test_recall_into_a_pipe_is_what_an_agent_gets(world: World) -> None:
    """Byte for byte, and the same as the client's text."""
    world.note("Passwords are hashed with argon2.")
    query = "how are passwords hashed?"
    piped = world.memd("recall", query)
    with world.client() as memd:
        assert piped.out == memd.recall(query).text.encode()
    assert b"argon2" in piped.out
    explained = world.memd("recall", query, "--explain").out
    assert explained.startswith(piped.out)
    assert b"score" in explained[len(piped.out) :]


def test_a_recall_of_nothing_says_so_and_explains(fresh: World) -> None:
    """No note that bears on nothing comes; what was left out is told with the reason, into a pipe and at a terminal."""
    fresh.note("Passwords are hashed with argon2.")
    answer = b"memd: no notes here bear on that: ask in other words"
    assert fresh.memd("recall", "zzzz qqqq").out.startswith(answer)
    explained = fresh.memd("recall", "zzzz qqqq", "--explain")
    reply = fresh.memd("recall", "zzzz qqqq", "--json").json
    assert reply["found"] == []
    assert [f"[{one['id']}] left out: {one['says']}".encode() in explained.out for one in reply["left_out"]] == [
        True
    ] * len(reply["left_out"])
    shown = fresh.at_terminal("recall", "zzzz qqqq")[1]
    assert "nothing here bears on that" in shown


def test_what_a_command_prints_is_what_the_client_gives(world: World) -> None:
    """`Memd` and `--json` are one contract."""
    note = str(world.note("The two surfaces agree.", "--anchor", "app.py", "--tag", "contract"))
    with world.client() as memd:
        replies = {
            ("show", note): memd.show(note).note,
            ("log", note): memd.log(note).events,
            ("list",): memd.notes().notes,
            ("turns",): memd.turns().turns,
            ("deliveries",): memd.deliveries().deliveries,
        }
    for words, reply in replies.items():
        assert world.memd(*words, "--json").json == msgspec.to_builtins(reply)


def test_a_list_is_a_page(world: World) -> None:
    """Newest first; what is left out is said on stderr, not among the rows."""
    for n in range(3):
        world.note(f"Number {n} of the notes on {['paper', 'stone', 'glass'][n]}.", "--kind", "decision")
    page = world.memd("list", "--kind", "decision", "--limit", "2")
    assert [line.split()[-1] for line in page.out.decode().splitlines()] == ["glass.", "stone."]
    assert "1 more" in page.err
    assert len(world.memd("list", "--kind", "decision", "--all", "--json").json) == 3


def test_the_life_of_a_note(world: World) -> None:
    """Each act says what became of the note; its log has them all, in order."""
    note = str(world.note("Sessions time out after an hour.", "--provenance", "auto"))
    newer = str(world.note("Tokens are valid for twenty minutes since May."))
    acts = [
        (("promote", note, "--to", "agent"), "applied"),
        (("confirm", note), "applied"),
        (("revoke", note, "--reason", "it is a day"), "applied"),
        (("revoke", note, "--reason", "it was never an hour"), "kept"),
        (("reinstate", note), "applied"),
        (("supersede", note, newer), "applied"),
    ]
    for words, effect in acts:
        ran = world.memd(*words, "--json")
        assert (ran.code, ran.json["effect"]) == (0, effect), ran.err
        assert set(ran.json) == {"id", "uid", "effect", "told"}
    types = [event["type"] for event in world.memd("log", note, "--json").json]
    assert types == ["recorded", "promoted", "confirmed", "revoked", "revoked", "reinstated", "superseded"]
    head, *lines = world.memd("log", note).out.decode().splitlines()
    assert head.startswith(f"[{note}] finding: held, superseded, active, revision 1, class agent, last confirmed ")
    assert len(lines) == len(types)
    page = world.memd("log", note, "--limit", "2")
    assert page.out.decode().splitlines()[1:] == lines[-2:]
    assert page.err.strip() == f"{len(types) - 2} earlier (--limit, --all)"


def test_a_list_tells_what_befell_a_note_in_words(world: World) -> None:
    """Also in a pipe: a tombstone in place of a revoked note's content, a mark on what a newer one or its end has settled."""
    wrong = world.note("Backups lie in the cellar of the office.")
    world.memd("revoke", str(wrong), "--reason", "the cellar was sold")
    old = world.note("Invoices are numbered by the clerk.")
    world.note("Invoices are numbered by the shop since June.", "--supersedes", str(old))
    task = world.note("Rename the ledger table.", "--kind", "task")
    world.memd("done", str(task))
    rows = {line.split()[0]: line for line in world.memd("list", "--superseded", "--all").out.decode().splitlines()}
    assert "Previously believed (recorded" in rows[f"[{wrong}]"]
    assert "[superseded] Invoices" in rows[f"[{old}]"]
    assert "[closed] Rename" in rows[f"[{task}]"]
    assert world.memd("unsupersede", str(old), "--json").json["effect"] == "applied"
    assert b"[superseded] Invoices" not in world.memd("list", "--superseded", "--all").out


@pytest.mark.parametrize(
    ("stated", "line"),
    [
        (0, "told as unendorsed memory until you endorse it: `memd promote 7 --to human`"),
        (3, "told as what you said in turn 3; to endorse it, `memd promote 7 --to human`"),
    ],
)
def test_a_rule_in_your_own_words_is_not_called_unendorsed_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, stated: int, line: str
) -> None:
    """It is told as what you said; signing it is still yours to do."""
    monkeypatch.setenv("MEMD_HOME", str(tmp_path))
    monkeypatch.setattr("memd_client.memd.Memd.remember", lambda *_, **__: api.Remembered(id=7, uid="", stated=stated))
    assert run(["remember", "Never push to main.", "--kind", "directive"]) == 0
    assert line in capsys.readouterr().out


def test_a_write_says_what_else_it_did(world: World) -> None:
    """A secret that was taken out, the note that it revoked or replaced, and that a rule of an agent's is no order yet."""
    said = world.memd("remember", "The gate's token is password=kX92hunter2Qz8 for now.").out.decode()
    assert "a secret was taken out" in said
    wrong, old = world.note("The moon is made of cheese."), world.note("The cheese is from Gouda.")
    revoked = world.memd("remember", "It is made of anorthosite rock.", "--contradicts", str(wrong)).out.decode()
    replaced = world.memd("remember", "This year it comes from Edam.", "--supersedes", str(old)).out.decode()
    rule = world.memd("remember", "Write dates the long way round.", "--kind", "directive").out.decode()
    assert f"[{wrong}] is revoked" in revoked
    assert f"[{old}] is superseded by it" in replaced
    assert "told as unendorsed memory until you endorse it: `memd promote" in rule
    plain = world.memd("remember", "Paper is made of wood.").out.decode()
    assert not any(words in plain for words in ("secret", "is revoked", "superseded", "unendorsed"))


def test_an_empty_list_names_its_filters(fresh: World) -> None:
    """So that a filter that hides everything is seen."""
    assert "no notes hold here" in fresh.memd("list").err
    assert (
        "no revoked notes of kind task of class human"
        in fresh.memd("list", "--kind", "task", "--provenance", "human", "--revoked").err
    )
    assert "session abc" in fresh.memd("deliveries", "--session", "abc").err
    assert "`memd remember TEXT`" in fresh.memd("list").err
    for filtered in ("--revoked", "--kind=task", "--provenance=human"):  # what is recorded now would not be such a one
        told = fresh.memd("list", filtered).err
        assert "`memd list --all-scopes`" in told
        assert "memd remember" not in told


def test_what_is_shown_ends_with_its_last_line(world: World) -> None:
    """No blank line after it."""
    note = str(world.note("A note to be looked at."))
    assert not world.memd("show", note).out.endswith(b"\n\n")


def test_tasks_are_done_and_reopened(world: World) -> None:
    """And a note that is no task is refused."""
    task = str(world.note("Upgrade the parser to version 3.", "--kind", "task"))
    for act, state in (("done", "closed"), ("reopen", "open")):
        assert world.memd(act, task).code == 0
        assert world.memd("show", task, "--json").json["state"]["task"] == state
    refused = world.memd("done", str(world.note("Is no task at all.")), "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "not-a-task")


def test_a_refusal_says_why_and_what_to_do(world: World) -> None:
    """On stderr, exit 1, and nothing on stdout without --json."""
    refused = world.memd("remember", "A gotcha without its file.", "--kind", "gotcha")
    assert (refused.code, refused.out) == (1, b"")
    assert "--anchor PATH" in refused.err
    assert world.memd("show", "999999", "--json").json["error"]["code"] == "no-such-note"
    assert world.memd("remember", "x is y", "--kind", "rumour").code == 2


def test_a_note_steers_no_terminal(world: World) -> None:
    """Its control characters are told, at a terminal and in a pipe, in a list and when shown."""
    note = world.note("Ring \x1b[2J\x07 the \u202ebell.")
    shown = [world.memd(*words).out.decode() for words in (("list",), ("show", str(note)), ("log", str(note)))]
    shown += [world.at_terminal(*words)[1] for words in (("list",), ("show", str(note)), ("recall", "the bell"))]
    for text in shown:
        assert not any(mark in text for mark in ("\x1b[2J", "\x07", "\u202e"))
    assert "\\u{1b}[2J\\u{7}" in shown[0]


def test_another_repository_does_not_see_it(world: World) -> None:
    """The current directory says which notes hold."""
    world.note("Only this repository knows.")
    elsewhere = world.folder / "elsewhere"
    elsewhere.mkdir()
    assert world.memd("list", "--json", cwd=elsewhere).json == []
    assert world.memd("list", "--json", "--all-scopes", cwd=elsewhere).json != []


def test_status_has_its_parts_in_both_forms(world: World) -> None:
    """Every documented part in JSON; a person sees the daemon, the store, and a fix for each problem."""
    world.note("Status counts this one.")
    told = world.memd("status", "--json").json
    assert {field.name for field in msgspec.structs.fields(api.StatusReply)} | {"installed", "kept"} == set(told)
    assert told["daemon"]["state"] == "running"
    text = world.memd("status").out.decode()
    assert f"pid {told['daemon']['pid']}" in text
    assert "fix: run `memd install`" in text


def test_status_names_what_is_wrong_and_what_waits_first(fresh: World) -> None:
    """Right below whether it runs: the rest may be longer than a terminal is high; an absorbed note is no superseded one."""
    first = str(fresh.note("The port is 8080."))
    fresh.note("So the proxy listens there too.", "--derived-from", first)
    fresh.memd("revoke", first, "--reason", "it is 8081")
    fresh.note("The server is written in Rust.")
    fresh.note("The server is written in Rust, and always was.", "--same-as", "3")
    labels = [line.split(" ")[0] for line in fresh.memd("status").out.decode().splitlines() if not line.startswith(" ")]
    assert labels[:4] == ["memd", "problem", "queue", "store"]
    store = fresh.memd("status", "--json").json["store"]
    assert (store["superseded"], store["absorbed"]) == (0, 1)
    assert "1 absorbed" in fresh.memd("status").out.decode()


def test_the_help_of_a_write_names_nothing_that_cannot_be_done(fresh: World) -> None:
    """Atoms are taken from transcripts, which memd does not keep yet."""
    assert "--source-ref" not in fresh.memd("remember", "--help").out.decode()


def test_verify_and_reindex_find_all_of_it_sound(world: World) -> None:
    """Exit 0, and every note is still there."""
    world.note("It is there before and after.")
    before = world.memd("list", "--json").json
    verified = world.memd("verify", "--json")
    assert (verified.code, verified.json["faults"]) == (0, [])
    assert world.memd("reindex", "--json").json["notes"] >= len(before)
    assert world.memd("list", "--json").json == before


def test_the_log_holds_no_word_of_a_note(world: World) -> None:
    """`memd logs` shows what the daemon did; one object a line with --json and -f, a list without."""
    world.note("Zanzibar is typed nowhere else.")
    ran = world.memd("logs", "--json")
    assert ran.code == 0
    assert "serving" in json.dumps(ran.json)
    assert b"Zanzibar" not in ran.out
    assert len(world.memd("logs", "-n", "1").out.splitlines()) == 1


def test_the_hook_command_is_the_installed_line(world: World) -> None:
    """The line that stands in a client's settings."""
    ran = world.memd("hook-command", "pre-edit", "--harness", "claude")
    assert ran.out.decode().strip().endswith(f"{world.home}/bin/hook' pre-edit claude")


# --- the daemon's life


def test_stop_is_kept_to_and_a_write_ends_it(fresh: World) -> None:
    """After `stop` reading starts nothing and says so (exit 3); a write starts it again."""
    note = fresh.note("Before the stop.")
    stopped = fresh.memd("stop", "--json")
    assert isinstance(stopped.json["pid"], int)
    assert fresh.memd("status", "--json").json["daemon"] == {
        "state": "stopped",
        "pid": None,
        "version": None,
        "home": str(fresh.home),
    }
    read = fresh.memd("list", "--json")
    assert (read.code, read.json["error"]["code"]) == (3, "stopped")
    assert "memd start" in read.err
    assert fresh.memd("stop", "--json").json == {"pid": None}
    fresh.note("After the stop.")
    assert fresh.memd("show", str(note)).code == 0


def test_what_only_looks_starts_nothing(fresh: World) -> None:
    """status, doctor, logs and stop in a home that never was leave it so; a dead daemon is a line, exit 0."""
    for words, code in ((("status",), 0), (("doctor",), 1), (("logs",), 0), (("stop",), 0)):
        ran = fresh.memd(*words)
        assert (ran.code, "Traceback" in ran.err) == (code, False)
    assert "not running" in fresh.memd("status").out.decode()
    assert not fresh.home.exists()


def test_start_and_restart(fresh: World) -> None:
    """A second start changes nothing; a restart is another process, and no announced stop."""
    first = fresh.memd("start", "--json").json
    assert fresh.memd("start", "--json").json["pid"] == first["pid"]
    second = fresh.memd("restart", "--json").json
    assert second["pid"] != first["pid"]
    assert not (fresh.home / "run" / "stopped").exists()
    assert str(second["pid"]) in fresh.memd("daemon").out.decode()


def test_a_wedged_daemon_is_said_and_replaced(fresh: World) -> None:
    """One that is there and does not answer: status says so with exit 0, restart ends it."""
    pid = fresh.memd("start", "--json").json["pid"]
    os.kill(pid, 19)
    status = fresh.memd("status", "--json")
    assert (status.code, status.json["daemon"]["state"]) == (0, "not answering")
    assert status.json["problems"]
    assert fresh.memd("restart", "--json").json["pid"] != pid
