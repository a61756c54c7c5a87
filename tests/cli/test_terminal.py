"""What only a person can do, done at a terminal: keys, endorsements, changes of what was endorsed."""

import re
import socket
import stat

import pytest

from tests.cli.world import PASSPHRASE, World, converse

CODE = re.compile(r"^ +((?:[0-9A-Z]{4}-){8}[0-9A-Z]{4})$", re.MULTILINE)
ASKED = "assphrase: "
ANSWER = (ASKED, PASSPHRASE)
NEW_KEY = [("New passphrase: ", PASSPHRASE), ("again: ", PASSPHRASE)]


@pytest.fixture(scope="module")
def enrolled(world: World) -> World:
    """The world with a person's key."""
    code, shown = world.at_terminal("human", "init", answers=NEW_KEY)
    assert code == 0, shown
    assert len(CODE.findall(shown)) == 1
    return world


def provenance(world: World, note: int) -> str:
    return str(world.memd("show", str(note), "--json").json["provenance"])


def test_a_key_is_its_owners_alone_and_enrolled(enrolled: World) -> None:
    """One file, 0600, its fingerprint enrolled; the recovery code and the passphrase stand in no file of memd's."""
    told = enrolled.memd("human", "show", "--json").json
    ((key,), (fingerprint,)) = told["keys"], told["enrolled"]
    assert key == {"fingerprint": fingerprint, "path": key["path"], "enrolled": True}
    (path,) = (enrolled.home / "keys").iterdir()
    assert (str(path), stat.S_IMODE(path.stat().st_mode)) == (key["path"], 0o600)
    kept = b"".join(file.read_bytes() for file in enrolled.home.rglob("*") if file.is_file())
    assert PASSPHRASE.encode() not in kept


def test_two_different_passphrases_make_no_key(fresh: World) -> None:
    """Nothing is left of it."""
    code, shown = fresh.at_terminal("human", "init", answers=[NEW_KEY[0], ("again: ", "something else")])
    assert code == 1
    assert "not the same" in shown
    assert fresh.memd("human", "show", "--json").json == {"enrolled": [], "keys": [], "history": []}


def test_a_short_passphrase_is_refused_before_it_is_asked_for_again(fresh: World) -> None:
    """The rule stands above the question."""
    code, shown = fresh.at_terminal("human", "init", answers=[("New passphrase: ", "short")])
    assert code == 1
    assert "8 characters or more" in shown[: shown.index("New passphrase: ")].replace("\n", " ")
    assert "again" not in shown
    assert fresh.memd("human", "show", "--json").json == {"enrolled": [], "keys": [], "history": []}


@pytest.mark.parametrize("marker", ["CLAUDECODE", "CODEX_SESSION_ID"])
def test_an_agents_shell_gets_no_key(fresh: World, marker: str) -> None:
    """Even at a terminal: the environment names the client that runs it."""
    fresh.environ[marker] = "1"
    code, shown = fresh.at_terminal("human", "init")
    assert code == 1
    assert marker in shown
    assert not (fresh.home / "keys").exists()


def test_without_a_terminal_there_is_no_key_and_no_endorsement(enrolled: World) -> None:
    """Refused with what to do, and nothing is recorded."""
    note = enrolled.note("A note to be endorsed at a terminal only.")
    before = enrolled.memd("list", "--json").json
    for words in (("promote", str(note), "--to", "human"), ("remember", "x is y", "--endorse"), ("human", "init")):
        ran = enrolled.memd(*words, "--json")
        assert ran.code == 1
        assert ran.json["error"]["code"] in ("no-terminal", "under-harness")
        assert "terminal" in ran.err
    assert enrolled.memd("list", "--json").json == before


def test_a_person_sees_all_of_what_is_signed(enrolled: World) -> None:
    """Act, id, change, kind, scope, priority and every line of the content, with what could hide something shown by number."""
    note = enrolled.note(
        "Deploy on Tuesdays.\nNever \x1b[8mon Fridays\u202e.", "--kind", "directive", "--priority", "high"
    )
    code, shown = enrolled.at_terminal("promote", f"[{note}]", "--to", "human", answers=[ANSWER])
    assert code == 0
    before = shown[: shown.index(ASKED)]
    for words in (f"promote [{note}]", "agent -> human", "directive", "repo:", "high", "│ Deploy on Tuesdays."):
        assert words in before
    assert "│ Never \\u{1b}[8mon Fridays\\u{202e}." in before
    assert "\x1b[8m" not in shown
    assert PASSPHRASE not in shown
    assert provenance(enrolled, note) == "human"


def test_three_wrong_passphrases_end_it(enrolled: World) -> None:
    """Exit 1, and the note is what it was."""
    note = enrolled.note("The staging database is reset every night.")
    wrong = [(ASKED, "not this one")] * 3
    code, shown = enrolled.at_terminal("promote", str(note), "--to", "human", answers=wrong)
    for pause in (enrolled.home / "keys").glob("*.pause"):
        pause.unlink()  # the tests that follow are not kept waiting
    assert code == 1
    assert "Three wrong" in shown
    assert provenance(enrolled, note) == "agent"


def test_a_persons_no_to_a_proposal_is_signed(enrolled: World) -> None:
    """`confirm` asks for the passphrase where a proposal stands, settles it, and asks for nothing where none does."""
    words = ("remember", "Reviews are done by two people.", "--kind", "directive", "--endorse", "--json")
    code, shown = enrolled.at_terminal(*words, answers=[ANSWER])
    assert code == 0, shown
    note = str(next(n["id"] for n in enrolled.memd("list", "--json").json if n["content"] == words[1]))
    assert enrolled.memd("revoke", note, "--reason", "too slow", "--json").json["effect"] == "proposed"
    before = enrolled.memd("status", "--json").json["queue"]["proposals"]
    told = enrolled.memd("status").out.decode()
    assert "to change what you endorsed" in told
    assert "`memd confirm" in told
    code, shown = enrolled.at_terminal("confirm", note, answers=[ANSWER])
    assert code == 0, shown
    assert f"confirm [{note}]" in shown
    assert enrolled.memd("status", "--json").json["queue"]["proposals"] == before - 1
    code, shown = enrolled.at_terminal("confirm", note)
    assert (code, ASKED in shown) == (0, False)


def test_recording_and_endorsing_is_one_act(enrolled: World) -> None:
    """One passphrase; the note is there as `human`, and only then."""
    words = ("remember", "Every migration has a way back.", "--kind", "directive", "--endorse")
    code, shown = enrolled.at_terminal(*words, answers=[ANSWER])
    assert code == 0, shown
    assert "record and endorse a new note" in shown
    (note,) = [n for n in enrolled.memd("list", "--json").json if n["content"] == words[1]]
    assert note["provenance"] == "human"
    assert f"[{note['id']}] recorded" in shown


@pytest.mark.parametrize(
    ("content", "act", "kind", "done"),
    [
        ("The cache lives in tmp.", ("revoke", "{old}", "--reason", "it was moved"), "finding", {"belief": "revoked"}),
        ("Releases are cut by Anna.", ("supersede", "{old}", "{new}"), "finding", {"currency": "superseded"}),
        ("Rewrite the parser with a table.", ("done", "{old}"), "task", {"task": "closed"}),
    ],
)
def test_what_a_person_endorsed_only_a_person_changes(
    enrolled: World, content: str, act: tuple[str, ...], kind: str, done: dict[str, str]
) -> None:
    """Without a terminal it is a proposal and the note stands; at a terminal it is signed and done."""
    old = enrolled.note(content, "--kind", kind)
    new = enrolled.note(f"Since March it is otherwise ({act[0]}).", "--kind", kind)
    assert enrolled.at_terminal("promote", str(old), "--to", "human", answers=[ANSWER])[0] == 0
    words = [word.format(old=old, new=new) for word in act]
    proposed = enrolled.memd(*words, "--json")
    assert (proposed.code, proposed.json["effect"]) == (0, "proposed")
    axis = next(iter(done))
    assert enrolled.memd("show", str(old), "--json").json["state"][axis] != done[axis]
    code, shown = enrolled.at_terminal(*words, answers=[ANSWER])
    assert code == 0, shown
    assert f"{act[0]} [{old}]" in shown
    assert enrolled.memd("show", str(old), "--json").json["state"][axis] == done[axis]


def test_an_agents_shell_on_a_terminal_proposes(enrolled: World) -> None:
    """A client whose shell has a terminal does not put a passphrase question in front of the person unasked."""
    note = enrolled.note("The build needs node 20.")
    assert enrolled.at_terminal("promote", str(note), "--to", "human", answers=[ANSWER])[0] == 0
    code, shown = enrolled.at_terminal("revoke", str(note), "--reason", "old", CLAUDECODE="1")
    assert code == 0
    assert "proposed, not done" in shown
    assert ASKED not in shown


def test_a_terminal_that_shows_half_a_character_at_a_time_is_read_whole() -> None:
    """As it does on a busy machine: no line that was shown may count as missing."""
    person, terminal = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # each message is one read
    with person, terminal:
        text = "│ rule 001: dö it\n<exit 0>\n".encode()
        for at in range(len(text)):
            terminal.send(text[at : at + 1])
        assert converse(person.fileno(), []) == (0, "│ rule 001: dö it\n<exit 0>")
