"""Further keys, lost ones and strange ones: `human init`, `reject` and `show` at a terminal, with a real daemon."""

import os
import re
import time
from pathlib import Path

import pytest

from memd_client import signing
from memd_client.cli import tries
from tests.cli.world import PASSPHRASE, World

CODE = re.compile(r"^ +((?:[0-9A-Z]{4}-){8}[0-9A-Z]{4})$", re.MULTILINE)
SECOND = "another horse, another battery"
RECOVERY = "Recovery code: "
SIGNED_BY = "Passphrase of that key: "
AT_ONCE = "in the same step? [Y/n]: "


def new(passphrase: str) -> list[tuple[str, str]]:
    return [("New passphrase: ", passphrase), ("again: ", passphrase)]


def made(world: World, *words: str, answers: list[tuple[str, str]]) -> str:
    """A key is made; its recovery code."""
    code, shown = world.at_terminal("human", *words, answers=answers)
    assert code == 0, shown
    (recovery,) = CODE.findall(shown)
    return str(recovery)


def standing(world: World) -> list[str]:
    return list(world.memd("human", "show", "--json").json["enrolled"])


def endorsed(world: World, content: str, passphrase: str) -> int:
    note = world.note(content)
    code, shown = world.at_terminal("promote", str(note), "--to", "human", answers=[("Passphrase: ", passphrase)])
    assert code == 0, shown
    return note


def events(world: World) -> int:
    return int(world.memd("status", "--json").json["store"]["events"])


def path_of(world: World, fingerprint: str) -> Path:
    return Path(signing.key_path(world.home, bytes.fromhex(fingerprint)))


def test_a_further_key_is_signed_by_the_one_that_stands(fresh: World) -> None:
    """What is signed is shown before its passphrase is asked; from then on the newer key signs here, and the older one stands."""
    made(fresh, "init", answers=new(PASSPHRASE))
    (first,) = standing(fresh)
    code, shown = fresh.at_terminal("human", "init", answers=[*new(SECOND), (SIGNED_BY, PASSPHRASE)])
    assert code == 0, shown
    second, older = standing(fresh)
    assert older == first
    before = shown[: shown.index(SIGNED_BY)].replace("\n", " ")
    assert f"enrol      the key {second}" in before
    assert f"signed by  the key {first}" in before
    assert endorsed(fresh, "Signed by the newer key.", SECOND)
    history = fresh.memd("human", "show", "--json").json["history"]
    assert [(key["by"], len(key["acts"])) for key in history] == [("itself", 0), (first, 1)]


def test_a_lost_passphrase_is_recovered_with_the_code(fresh: World) -> None:
    """Typed in small letters, with O for 0, I for 1 and blanks: one commit enrols another key and rejects the lost one."""
    recovery = made(fresh, "init", answers=new(PASSPHRASE))
    (lost,) = standing(fresh)
    note = endorsed(fresh, "Endorsed before.", PASSPHRASE)
    commits = fresh.memd("status", "--json").json["store"]["commits"]
    typed = f" {recovery.lower().replace('0', 'o').replace('1', 'i').replace('-', ' ')} "
    later = made(fresh, "init", "--recover", answers=[*new(SECOND), (RECOVERY, typed)])
    assert later != recovery
    (found,) = standing(fresh)
    assert found != lost
    assert fresh.memd("status", "--json").json["store"]["commits"] == commits + 1
    old, young = fresh.memd("human", "show", "--json").json["history"]
    assert (old["fingerprint"], old["rejected_by"], old["endorses"]) == (lost, "a recovery code", [note])
    assert (young["fingerprint"], young["rejected"], young["by"]) == (found, "", "a recovery code")
    assert fresh.memd("show", str(note), "--json").json["provenance"] == "human"
    assert endorsed(fresh, "Endorsed after.", SECOND)
    assert fresh.memd("verify", "--json").json["faults"] == []
    told = fresh.memd("status").out.decode()
    assert f"{lost}  enrolled " in told
    assert ", rejected " in told
    assert f"`memd human reject {found[:4]}`" in told


def test_a_code_is_checked_before_anything_is_done(fresh: World) -> None:
    """A slip is named and asked again; a code of another store is none here; after three tries nothing is left of the new key."""
    recovery = made(fresh, "init", answers=new(PASSPHRASE))
    (first,) = standing(fresh)
    before = events(fresh)
    slip = recovery[:-1] + ("A" if recovery[-1] != "A" else "B")
    tried = [(RECOVERY, slip), (RECOVERY, recovery[:10]), (RECOVERY, signing.new_recovery_code())]
    code, shown = fresh.at_terminal("human", "init", "--recover", answers=[*new(SECOND), *tried])
    assert code == 1
    told = shown.replace("\n", " ")
    for words in ("a letter is wrong", "not 8", "not one that is good for this store", "nothing was signed"):
        assert words in told
    assert recovery[:9] not in shown
    assert (standing(fresh), events(fresh)) == ([first], before)
    assert list((fresh.home / "keys").glob("*.json")) == [path_of(fresh, first)]


def test_the_only_key_is_rejected_and_its_store_waits_for_another(fresh: World) -> None:
    """It is said what that means, and what the key signed; without a new one nothing can be endorsed until the code enrols one."""
    recovery = made(fresh, "init", answers=new(PASSPHRASE))
    (first,) = standing(fresh)
    note = endorsed(fresh, "A rule of mine.", PASSPHRASE)
    code, shown = fresh.at_terminal("human", "reject", answers=[(AT_ONCE, "n"), (RECOVERY, recovery)])
    assert code == 0, shown
    before = shown[: shown.index(RECOVERY)].replace("\n", " ")
    for words in ("the only key", f"reject     the key {first}", f"promoted [{note}]", "signed by  your recovery code"):
        assert words in before
    assert f"What it endorsed stands: [{note}]" in shown[shown.index(RECOVERY) :]
    assert standing(fresh) == []
    assert fresh.memd("show", str(note), "--json").json["provenance"] == "human"
    code, shown = fresh.at_terminal("revoke", str(note), "--reason", "r")
    assert (code, "No key is enrolled" in shown) == (1, True)
    code, shown = fresh.at_terminal("human", "init")
    assert (code, "human init --recover`" in shown) == (1, True)
    made(fresh, "init", "--recover", answers=[*new(SECOND), (RECOVERY, recovery)])
    assert len(standing(fresh)) == 1
    code, shown = fresh.at_terminal("revoke", str(note), "--reason", "r", answers=[("Passphrase: ", SECOND)])
    assert code == 0, shown


def test_a_new_key_takes_the_place_of_the_rejected_one_at_once(fresh: World) -> None:
    """Enter is yes: one code signs both."""
    recovery = made(fresh, "init", answers=new(PASSPHRASE))
    (first,) = standing(fresh)
    answers = [(AT_ONCE, ""), *new(SECOND), (RECOVERY, recovery)]
    code, shown = fresh.at_terminal("human", "reject", first[:4], "--json", answers=answers)
    assert code == 0, shown
    (found,) = standing(fresh)
    assert found != first
    assert f'"enrolled":"{found}"' in shown.replace(": ", ":").replace("\n", "")
    assert CODE.search(shown)


def test_a_strange_key_is_rejected_by_the_passphrase_of_another(fresh: World) -> None:
    """Which one is meant has to be said; what it endorsed is listed and stands."""
    made(fresh, "init", answers=new(PASSPHRASE))
    (mine,) = standing(fresh)
    made(fresh, "init", answers=[*new(SECOND), (SIGNED_BY, PASSPHRASE)])
    strange = standing(fresh)[0]
    note = endorsed(fresh, "Not a rule of mine.", SECOND)
    for words, why in ((), "Say which key"), (("ffff ffff ffff",), "No enrolled key begins with 'ffff ffff ffff'"):
        code, shown = fresh.at_terminal("human", "reject", *words)
        assert (code, why in shown) == (1, True)
    code, shown = fresh.at_terminal("human", "reject", *strange.upper().split(), answers=[(SIGNED_BY, PASSPHRASE)])
    assert code == 0, shown
    assert f"stays      the key {mine}" in shown
    assert f"stands: [{note}]" in shown
    assert standing(fresh) == [mine]
    assert endorsed(fresh, "Mine again.", PASSPHRASE)


def test_after_three_wrong_ones_no_command_asks_for_a_while(fresh: World) -> None:
    """Promoting, rejecting and enrolling are refused with the time that is left; nothing is recorded; then it is asked again."""
    made(fresh, "init", answers=new(PASSPHRASE))
    made(fresh, "init", answers=[*new(SECOND), (SIGNED_BY, PASSPHRASE)])
    newer, older = standing(fresh)
    note = fresh.note("To be endorsed.")
    promote = ("promote", str(note), "--to", "human")
    code, _ = fresh.at_terminal(*promote, answers=[("Passphrase: ", "wrong")] * 3)
    assert code == 1
    pause = path_of(fresh, newer).with_suffix(".pause")
    assert pause.stat().st_mode & 0o777 == 0o600
    before = events(fresh)
    for words in (promote, ("human", "init"), ("human", "reject", older[:9])):
        code, shown = fresh.at_terminal(*words)
        assert code == 1
        assert re.search(r"come back in\s+\d+\s+s", shown)
        assert "assphrase: " not in shown
    assert events(fresh) == before
    pause.write_text(f"{time.time() - 1}\n")
    code, shown = fresh.at_terminal(*promote, answers=[("Passphrase: ", SECOND)])
    assert code == 0, shown
    assert not pause.exists()


@pytest.mark.parametrize("words", [("init",), ("init", "--recover"), ("reject",)])
def test_keys_are_a_persons_at_a_terminal(fresh: World, words: tuple[str, ...]) -> None:
    """Under a client's marker, and without a terminal, nothing is asked and nothing happens."""
    code, shown = fresh.at_terminal("human", *words, CLAUDECODE="1")
    assert (code, "agent's shell" in shown) == (1, True)
    ran = fresh.memd("human", *words, "--json")
    assert (ran.code, ran.json["error"]["code"]) in ((1, "no-terminal"), (1, "under-harness"))
    assert not (fresh.home / "keys").exists()


@pytest.mark.parametrize("fault", ["loose", "damaged", "link", "away", "another's"])
def test_a_key_file_that_cannot_be_trusted_signs_nothing(fresh: World, fault: str) -> None:
    """Refused with what to do, before a passphrase is asked; no event; and `human show` still tells the rest."""
    made(fresh, "init", answers=new(PASSPHRASE))
    (fingerprint,) = standing(fresh)
    path, note = path_of(fresh, fingerprint), fresh.note("To be endorsed.")
    before = events(fresh)
    match fault:
        case "loose":
            path.chmod(0o644)
        case "damaged":
            path.write_text("{}")
        case "link":
            path.rename(fresh.home / "moved.json")
            path.symlink_to(fresh.home / "moved.json")
        case "away":
            path.unlink()
        case _:
            path.unlink()
            other = signing.create_key(SECOND.encode(), n=signing.SCRYPT_N_MIN)
            signing.write_key(signing.key_path(fresh.home, other.key_id), other)
    code, shown = fresh.at_terminal("promote", str(note), "--to", "human")
    words = {
        "loose": "chmod 600",
        "damaged": "cannot be used",
        "link": "no plain file",
        "away": "There is no key here",
        "another's": "its file is not here",
    }
    assert (code, words[fault] in shown.replace("\n", " ")) == (1, True)
    assert "assphrase: " not in shown
    assert events(fresh) == before
    assert fresh.memd("human", "show", "--json").json["enrolled"] == [fingerprint]


def test_a_content_longer_than_the_screen_is_shown_whole(fresh: World) -> None:
    """Eight kilobytes in three hundred lines: each stands above the question."""
    made(fresh, "init", answers=new(PASSPHRASE))
    lines = [f"rule {number:03}: do it well" for number in range(300)]
    note = fresh.note("\n".join(lines))
    code, shown = fresh.at_terminal("promote", str(note), "--to", "human", answers=[("Passphrase: ", PASSPHRASE)])
    assert code == 0, shown
    before = shown[: shown.index("Passphrase: ")]
    assert [line for line in lines if f"│ {line}\n" not in before] == []
    assert signing.fingerprint_of(bytes.fromhex(standing(fresh)[0])) in before


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        (None, True),
        ("", True),
        ("no time", True),
        ("nan", True),
        ("inf", True),
        ("999.0", True),
        ("1000.0", True),
        ("1000.5", False),
        ("1060.0", False),
        ("1060.1", True),
        ("9999999.0", True),
    ],
)
def test_a_pause_counts_until_its_end_and_no_further_off_than_it_is_long(
    tmp_path: Path, told: str | None, asked: bool
) -> None:
    """A clock that was set back, or a time that somebody wrote there, keeps nobody out."""
    path = tmp_path / "key.pause"
    if told is not None:
        path.write_text(told)
    if asked:
        tries.refuse_paused(path, 1000.0)
        return
    with pytest.raises(tries.TriesPaused, match=r"come back in \d+ s"):
        tries.refuse_paused(path, 1000.0)


def test_a_pause_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    """No folder, or one in the place of the file: the refusal of the third try stands all the same."""
    tries.begin(tmp_path / "nowhere" / "key.pause", 1000.0)
    path = tmp_path / "key.pause"
    path.mkdir()
    tries.begin(path, 1000.0)
    tries.refuse_paused(path, 1000.0)


@pytest.mark.parametrize("stands", ["a FIFO", "a link", "a file of nobody's mode"])
def test_a_pause_takes_the_place_of_whatever_stands_there(tmp_path: Path, stands: str) -> None:
    """Nothing is waited for, nothing is written elsewhere, and the pause counts."""
    path, elsewhere = tmp_path / "key.pause", tmp_path / "elsewhere"
    if stands == "a FIFO":
        os.mkfifo(path)
    elif stands == "a link":
        path.symlink_to(elsewhere)
    else:
        path.touch(mode=0)
    tries.begin(path, 1000.0)
    assert sorted(tmp_path.iterdir()) == [path]
    with pytest.raises(tries.TriesPaused):
        tries.refuse_paused(path, 1000.0)
