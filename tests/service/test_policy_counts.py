"""Which policy files do not count, and how the loss of one is told: forgeries, floods, edits, deletions, older versions."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memd_client import api, policy_signing, signing
from memd_daemon import errors, limits
from memd_daemon.service.refused import BadPolicyFile
from tests.service.desk import Desk
from tests.service.policies import RULE, TEAM, enact, folder_of, listed, made_person, put, rules, sign, standing
from tests.service.test_keys import Holder, key_act
from tests.service.test_notices import restarted, told
from tests.service.test_people import PASSPHRASE, Person

HUNCH = "The importer is probably slow because of the locale."


@pytest.fixture
def person(desk: Desk) -> Person:
    return made_person(desk)


# --- what does not count


def test_a_file_that_nobody_signed_says_nothing(desk: Desk, person: Person) -> None:
    """Neither rule nor lock, and no session hears of it; status and the list do."""
    path = put(desk, TEAM + "[settings]\nbudget.prompt = 1\n")
    assert desk.start() == ""
    assert desk.ask(api.Settings(key="budget.prompt")).settings[0].value == limits.BUDGET_PROMPT_TOKENS
    one = standing(desk)
    assert (one.counts, one.why, one.lost) == (False, "it is not signed", "")
    assert "memd policy sign" in one.fix
    (problem,) = desk.ask(api.Status()).problems
    assert problem["what"] == f"the policy file {path} does not count: it is not signed"


def of_another_file(desk: Desk, person: Person, path: Path) -> None:
    """The signature of another file that counts."""
    other = enact(desk, person, '[[directive]]\ntext = "Another rule."\n', "other.toml")
    path.with_name(f"{path.name}.sig").write_bytes(other.with_name(f"{other.name}.sig").read_bytes())


def of_another_name(desk: Desk, person: Person, path: Path) -> None:
    """The same content, signed as another file."""
    sign(desk, person.key, path, name="other.toml")


def of_another_store(desk: Desk, person: Person, path: Path) -> None:
    sign(desk, person.key, path, store=os.urandom(16))


def claiming_this_store(desk: Desk, person: Person, path: Path) -> None:
    """Made for another store, and dressed up as one for this."""
    beside = sign(desk, person.key, path, store=os.urandom(16))
    made = policy_signing.decode_signature(beside.read_bytes())
    assert made is not None
    store = desk.daemon.parts.store.info.store
    beside.write_bytes(policy_signing.encode_signature(made._replace(store=store)))


def of_a_stranger(desk: Desk, person: Person, path: Path) -> None:
    sign(desk, signing.create_key(PASSPHRASE, n=1 << 10), path)


def under_a_strangers_key_id(desk: Desk, person: Person, path: Path) -> None:
    """A stranger's signature under the id of the key that is enrolled."""
    sign(desk, signing.create_key(PASSPHRASE, n=1 << 10), path)
    beside = path.with_name(f"{path.name}.sig")
    made = policy_signing.decode_signature(beside.read_bytes())
    assert made is not None
    beside.write_bytes(policy_signing.encode_signature(made._replace(key_id=person.key.key_id)))


def dated_later(desk: Desk, person: Person, path: Path) -> None:
    """The time that was signed, exchanged for a later one."""
    beside = sign(desk, person.key, path)
    made = policy_signing.decode_signature(beside.read_bytes())
    assert made is not None
    beside.write_bytes(policy_signing.encode_signature(made._replace(signed_at=made.signed_at + 1)))


def edited(desk: Desk, person: Person, path: Path) -> None:
    sign(desk, person.key, path)
    path.write_text(TEAM.replace("Never", "Always"))


def unreadable_signature(desk: Desk, person: Person, path: Path) -> None:
    path.with_name(f"{path.name}.sig").write_bytes(b"[" * 1000)


def endless_signature(desk: Desk, person: Person, path: Path) -> None:
    path.with_name(f"{path.name}.sig").symlink_to("/dev/zero")


def malformed(desk: Desk, person: Person, path: Path) -> None:
    path.write_text("[settings]\nbudget.prompt = -1\n")
    sign(desk, person.key, path)


def too_large(desk: Desk, person: Person, path: Path) -> None:
    path.write_bytes(b"#" * (policy_signing.CONTENT_MAX_BYTES + 1))
    sign(desk, person.key, path)


def a_pipe(desk: Desk, person: Person, path: Path) -> None:
    sign(desk, person.key, path)
    path.unlink()
    os.mkfifo(path)


def a_folder(desk: Desk, person: Person, path: Path) -> None:
    sign(desk, person.key, path)
    path.unlink()
    path.mkdir()


def a_device(desk: Desk, person: Person, path: Path) -> None:
    sign(desk, person.key, path)
    path.unlink()
    path.symlink_to("/dev/zero")


FORGERIES: dict[Callable[[Desk, Person, Path], None], str] = {
    of_another_file: "what it says is not what was signed",
    of_another_name: "what it says is not what was signed",
    of_another_store: "its signature is for another store",
    claiming_this_store: "what it says is not what was signed",
    of_a_stranger: "no key that is enrolled here signed it",
    under_a_strangers_key_id: "what it says is not what was signed",
    dated_later: "what it says is not what was signed",
    edited: "what it says is not what was signed",
    unreadable_signature: "its signature cannot be read",
    endless_signature: "its signature cannot be read",
    malformed: "it breaks the rules of a policy file",
    too_large: "it is larger than a policy file may be",
    a_pipe: "what stands in its place is no plain file",
    a_folder: "what stands in its place is no plain file",
    a_device: "what stands in its place is no plain file",
}


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_what_is_not_signed_as_it_stands_does_not_count(
    desk: Desk, person: Person, forge: Callable[[Desk, Person, Path], None]
) -> None:
    """Nothing blocks, nothing breaks, nothing is told of it to a session."""
    path = put(desk, TEAM)
    forge(desk, person, path)
    assert (standing(desk).counts, standing(desk).why) == (False, FORGERIES[forge])
    assert all(rule.file != "team.toml" for rule in rules(desk.start()))


def test_names_and_numbers_have_bounds(desk: Desk, person: Person) -> None:
    """A flood of files keeps none from counting that counts already."""
    enact(desk, person, name="zz.toml")
    for name in (*(f"a{number}.toml" for number in range(200)), "-x.toml", "Ä.toml", "a b.toml", "[47].toml"):
        put(desk, TEAM, name)
    assert standing(desk, "zz.toml").counts
    whys = [one.why for one in listed(desk)]
    assert whys.count("there are too many policy files beside it") > 0
    assert whys.count("its name is not one that a policy file may have") > 0
    assert len(whys) <= 2 * limits.POLICY_FILES_MAX
    assert [rule.file for rule in rules(desk.start())] == ["zz.toml"]


def test_the_signature_of_a_rejected_key_counts_no_more(desk: Desk) -> None:
    """From the rejection on, also without any change of the file; it is announced, and the other key's counts."""
    anna, bert = Holder(), Holder()
    key_act(desk, anna, new=anna)
    key_act(desk, anna, new=bert)
    desk.clock.ms += (limits.ENROLMENT_TOLD_DAYS + 1) * limits.TIME_MS_PER_DAY
    path = put(desk, TEAM)
    sign(desk, anna.key, path)
    assert rules(desk.start("s1"))
    key_act(desk, bert, rejects=[anna])
    assert "no longer counts: the key that signed it was rejected" in announced(desk, "s2")[0]
    assert rules(desk.start("s3")) == []
    sign(desk, bert.key, path, at=desk.clock.ms + 1)
    assert rules(desk.start("s4"))


# --- lost


def announced(desk: Desk, session: str) -> list[str]:
    return [line for line in told(desk.start(session)) if "policy file" in line]


def test_an_edit_of_a_signed_file_is_announced_until_it_counts_again(desk: Desk, person: Person) -> None:
    """At every start, however long, to every session; the same edit undone is the end of it."""
    path = enact(desk, person)
    desk.start("s1")
    path.write_text(TEAM.replace("Never", "Always"))
    (line,) = announced(desk, "s2")
    assert line == (
        "memd: the policy file team.toml no longer counts: what it says is not what was signed (seen on 2026-03-12). "
        "What it said no longer holds: 1 standing rule. Ask the user if this was meant."
    )
    desk.clock.ms += 300 * limits.TIME_MS_PER_DAY
    assert announced(desk, "s3") == [line]
    assert announced(desk, "s1") == [line]
    assert standing(desk).lost == "2026-03-12T04:53:20Z"
    (problem,) = desk.ask(api.Status()).problems
    assert "team.toml counts no more (seen 2026-03-12): what it says is not what was signed" in problem["what"]
    path.write_text(TEAM)
    assert announced(desk, "s4") == []
    assert desk.ask(api.Status()).problems == []


def test_a_deleted_file_is_announced_over_a_stop(desk: Desk, person: Person) -> None:
    """What counted is kept in the store, so no daemon has to run meanwhile."""
    path = enact(desk, person, TEAM + "[settings]\nbudget.prompt = 300\n")
    desk.daemon.close()
    path.unlink()
    path.with_name("team.toml.sig").unlink()
    desk.daemon = type(desk.daemon).open(desk.home)
    object.__setattr__(desk.daemon.parts, "now_ms", desk.clock)
    restarted(desk)
    (line,) = announced(desk, "s1")
    assert "no longer counts: it is gone" in line
    assert "1 standing rule, 1 locked setting" in line
    assert standing(desk).why == "it is gone"


@pytest.mark.parametrize("row", [b"", b"\xc1", b"\x80", b"on"])
def test_a_row_that_somebody_wrote_into_the_store_breaks_nothing(desk: Desk, person: Person, row: bytes) -> None:
    """It says nothing of a file, whatever its name."""
    enact(desk, person)
    names = (
        "policy/",
        "policy/x",
        "policy/home/",
        "policy/home/../x.toml",
        "policy/home/[47] x.toml",
        "policy/home/x.toml",
    )

    def work(txn: Any) -> None:
        for name in names:
            txn.put_setting(name, row)

    desk.daemon.parts.store.write(work)
    restarted(desk)
    assert [one.name for one in listed(desk)] == ["team.toml"]
    assert rules(desk.start())


def test_a_rename_of_the_folder_is_a_loss_as_well(desk: Desk, person: Person) -> None:
    """Whatever takes the file away."""
    enact(desk, person)
    folder_of(desk).rename(desk.home / "elsewhere")
    assert "no longer counts: it is gone" in announced(desk, "s1")[0]


def test_an_older_version_with_its_own_signature_does_not_come_back(desk: Desk, person: Person) -> None:
    """What was replaced by a signature stays replaced, also over a time in which nothing was there."""
    path = enact(desk, person, '[[directive]]\ntext = "An older rule."\n')
    beside = path.with_name("team.toml.sig")
    old = path.read_bytes(), beside.read_bytes()
    enact(desk, person)
    new = path.read_bytes(), beside.read_bytes()
    path.unlink()
    listed(desk)
    path.write_bytes(old[0])
    beside.write_bytes(old[1])
    assert standing(desk).why == "it is older than the version that counted last"
    assert rules(desk.start()) == []
    path.write_bytes(new[0])
    beside.write_bytes(new[1])
    assert [rule.content for rule in rules(desk.start("s2"))] == [[RULE]]


def test_an_empty_file_that_is_signed_ends_a_policy(desk: Desk, person: Person) -> None:
    """Then it may go, and nobody is told."""
    enact(desk, person)
    path = enact(desk, person, "")
    assert desk.start("s1") == ""
    path.unlink()
    assert desk.start("s2") == ""
    assert listed(desk) == []
    assert desk.ask(api.Status()).problems == []


def test_a_change_within_the_clocks_grain_is_seen(desk: Desk, person: Person) -> None:
    """Between two looks, with size and mtime as they were."""
    path = enact(desk, person)
    before = path.stat()
    for number in range(20):
        path.write_text(TEAM.replace("Never", "NEVER" if number % 2 else "Newer"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert not standing(desk).counts
        path.write_text(TEAM)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert standing(desk).counts


def test_nothing_is_read_where_nothing_has_changed(desk: Desk, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start costs a few looks at folders; an edit and a prompt none."""
    enact(desk, person)
    path = folder_of(desk) / "team.toml"
    long_ago = 1_700_000_000 * 10**9
    monkeypatch.setattr("memd_daemon.service.policy._is_fresh", lambda *_: False)
    os.utime(path, ns=(long_ago, long_ago))
    listed(desk)
    monkeypatch.setattr("memd_daemon.ground.policy_files.read", _never)
    desk.start("s1")
    desk.remember(HUNCH, kind="directive")
    desk.start("s2")
    monkeypatch.setattr("memd_daemon.ground.policy_files.listed", _never)
    desk.prompt("go on", session="s2")
    desk.edit("app.py", session="s2")


def _never(*_: Any) -> Any:
    raise AssertionError("looked at")


# --- signing


def test_what_would_not_count_is_not_signed(desk: Desk, person: Person) -> None:
    """The daemon says so before anybody is asked for a passphrase."""
    for name, content, says in (
        ("team.txt", b"", "its name"),
        ("../team.toml", b"", "its name"),
        ("team.toml", b"x" * (policy_signing.CONTENT_MAX_BYTES + 1), "larger"),
        ("team.toml", b"[colours]\n", "unknown key `colours`"),
        ("team.toml", b"\xff", "UTF-8"),
    ):
        with pytest.raises(BadPolicyFile, match=says):
            desk.ask(api.PolicyCheck(name=name, content=content))


def test_a_later_signature_is_asked_for(desk: Desk, person: Person) -> None:
    """Whatever the clock of the signer says."""
    assert desk.ask(api.PolicyCheck(name="team.toml", content=TEAM.encode())).after == 0
    enact(desk, person)
    checked = desk.ask(api.PolicyCheck(name="team.toml", content=TEAM.encode()))
    assert (checked.after, checked.key_id) == (desk.clock.ms, person.key.key_id)
    assert [rule.text for rule in checked.directives] == [RULE]


def test_without_a_key_nothing_is_signed(desk: Desk) -> None:
    """Enrol one first."""
    with pytest.raises(errors.NoKey):
        desk.ask(api.PolicyCheck(name="team.toml", content=b""))
