"""`memd policy` as a shell runs it, and as a person at a terminal signs a file."""

import os
from pathlib import Path

import pytest

from tests.cli.world import PASSPHRASE, World

RULE = "Never push to main."
TEAM = f'[settings]\nhold = "off"\n\n[[directive]]\ntext = "{RULE}"\nunder = "api"\n'
ENROL = [("New passphrase: ", PASSPHRASE), ("again: ", PASSPHRASE)]


def enrolled(world: World) -> None:
    code, seen = world.at_terminal("human", "init", answers=ENROL)
    assert code == 0, seen


def put(folder: Path, text: str = TEAM, name: str = "team.toml") -> Path:
    folder.mkdir(exist_ok=True, mode=0o700)
    (folder / name).write_text(text)
    return folder / name


def sign(world: World, given: str) -> str:
    code, seen = world.at_terminal("policy", "sign", given, answers=[("Passphrase: ", PASSPHRASE)])
    assert code == 0, seen
    return seen


def test_where_there_is_none_it_says_where_they_lie(world: World) -> None:
    """Exit 0: none is no fault."""
    ran = world.memd("policy", "list")
    assert (ran.code, ran.out) == (0, b"")
    assert f"{world.home}/policy" in ran.err
    assert "/etc/memd/policy.d" in ran.err
    assert world.memd("policy", "list", "--json").json == []


def test_to_sign_needs_a_person(world: World) -> None:
    """A terminal, then a key; nothing is written before."""
    path = put(world.repository)
    ran = world.memd("policy", "sign", str(path), "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "no-terminal")
    code, seen = world.at_terminal("policy", "sign", str(path))
    assert code == 1
    assert "memd human init" in seen
    assert not (world.home / "policy").exists()


def test_a_person_signs_a_file_and_sees_all_of_it_first(fresh: World) -> None:
    """It is kept in the home, counts at once, is listed, and its setting cannot be changed by anybody."""
    enrolled(fresh)
    path = put(fresh.repository)
    seen = sign(fresh, str(path))
    kept = fresh.home / "policy" / "team.toml"
    shown, asked, _ = seen.partition("Passphrase: ")
    assert asked
    for line in (
        f"  file     {kept}",
        "  holds    1 standing rule, 1 locked setting",
        *(f"  │ {x}" for x in TEAM.split("\n")),
    ):
        assert line.rstrip() in shown
    assert f"signed {kept}" in seen
    assert kept.read_bytes() == path.read_bytes()
    assert {p.stat().st_mode & 0o777 for p in (kept, kept.with_name("team.toml.sig"))} == {0o600}
    (one,) = fresh.memd("policy", "list", "--json").json
    assert (one["name"], one["counts"], one["behind"], one["settings"]) == (
        "team.toml",
        True,
        "signature",
        {"hold": "off"},
    )
    assert one["directives"] == [
        {"number": 1, "text": RULE, "priority": "medium", "repo": "", "under": "api", "file": ""}
    ]
    plain = fresh.memd("policy", "list").out.decode()
    assert plain.startswith(f"{kept}  counts: signed ")
    assert f"  rule 1 [medium] [under api] {RULE}" in plain
    assert "  locks hold = off" in plain
    ran = fresh.memd("config", "set", "hold", "on", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "setting-locked")
    assert str(kept) in ran.json["error"]["message"]
    assert f"policy {kept}" in fresh.memd("config", "get", "hold").out.decode()
    assert f"policy    {kept}: 1 rule, 1 locked setting" in fresh.memd("status").out.decode()
    assert "policy" in [line.split()[0] for line in fresh.memd("status").out.decode().splitlines()]
    assert not [fault for fault in fresh.memd("doctor", "--json").json if fault["code"].startswith("policy")]


def test_a_changed_file_counts_no_more_until_it_is_signed_again(fresh: World) -> None:
    """`doctor` and `status` say so; by its name it is signed where it lies."""
    enrolled(fresh)
    draft = put(fresh.repository)
    sign(fresh, str(draft))
    draft.unlink()
    kept = fresh.home / "policy" / "team.toml"
    kept.write_text(TEAM.replace("Never", "Always"))
    plain = fresh.memd("policy", "list").out.decode()
    assert "does not count, and did until 20" in plain
    assert "what it says is not what was signed" in plain
    faults = {fault["code"]: fault for fault in fresh.memd("doctor", "--json").json}
    assert "counts no more" in faults["policy-lost"]["what"]
    assert "memd policy sign" in faults["policy-lost"]["fix"]
    assert any("team.toml counts no more" in p["what"] for p in fresh.memd("status", "--json").json["problems"])
    assert "Always push to main." in sign(fresh, "team.toml")
    assert fresh.memd("policy", "list", "--json").json[0]["counts"]
    put(fresh.home / "policy", "", "other.toml")
    faults = {fault["code"]: fault for fault in fresh.memd("doctor", "--json").json}
    assert list(faults) == [code for code in faults if code != "policy-lost"]
    assert "other.toml does not count: it is not signed" in faults["policy-not-counted"]["what"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("team.toml", "[colours]\n", "unknown key `colours`"),
        ("team.txt", "", "its name is not one"),
        ("team.toml", "[settings]\nbudget.session_start = 1\n", "500 to 8000 tokens"),
    ],
)
def test_what_would_not_count_is_not_signed(world: World, name: str, text: str, says: str) -> None:
    """No passphrase is asked for."""
    if not list((world.home / "keys").glob("*.json")):
        enrolled(world)
    code, seen = world.at_terminal("policy", "sign", str(put(world.repository / "drafts", text, name)))
    assert code == 1
    assert says in " ".join(seen.split())
    assert "Passphrase" not in seen
    code, seen = world.at_terminal("policy", "sign", "nowhere.toml")
    assert code == 1
    assert "There is no file" in seen


def test_what_moves_a_cursor_is_shown_by_its_number(world: World) -> None:
    """What is signed is what was seen."""
    if not list((world.home / "keys").glob("*.json")):
        enrolled(world)
    text = '# \u202etxet\n[[directive]]\ntext = """Never.\x7f"""\n'.replace("\x7f", "\u200b")
    path = put(world.repository / "drafts", text, "odd.toml")
    os.utime(path)
    seen = sign(world, str(path))
    assert "\\u{202e}txet" in seen
    assert "\\u{200b}" in seen
