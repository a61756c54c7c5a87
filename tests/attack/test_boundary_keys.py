"""Attacks on the keys: to enrol one, to replace or weaken the person's, to reject it, to learn or change what recovers it."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from memd_client import api, signing, wire
from tests.attack.cases import Attack, Group
from tests.attack.conftest import Fight
from tests.attack.planted import digests
from tests.attack.siege import Siege
from tests.cli.world import PASSPHRASE, World

KEYS = Group(
    "keys", "another key is enrolled, the person's is rejected or another's file signs, or the recovery code is another"
)
FIRST = Group("first-key", "an agent enrols the first key of a store that has none")


@pytest.mark.parametrize("attack", KEYS.attacks, ids=str)
def test_the_keys_stay_as_they_are(attack: Attack, fight: Fight) -> None:
    """No key is enrolled, exchanged or rejected without one that stands."""
    fight(attack)


def _key() -> tuple[Ed25519PrivateKey, bytes]:
    key = Ed25519PrivateKey.generate()
    return key, key.public_key().public_bytes_raw()


def _enrols(s: Siege, signer: bytes, private: Ed25519PrivateKey, **fields: Any) -> None:
    """Asks for the plan of an enrolment or a rejection and seals it with a key of its own."""
    status, body = s.verb(
        "enrol",
        signer=signer,
        recovery_public=fields.pop("recovery_public", _key()[1]),
        terminal="/dev/pts/0",
        **fields,
    )
    if status != wire.DONE or not body.get("plan"):
        return
    plan = msgspec.convert(body["plan"], api.Plan)
    s.verb("seal", token=plan.token, signatures=[private.sign(digest) for digest in digests(plan)])


@KEYS("enrol-itself", "socket", "enrols a key that signs for itself, as the first of a store does")
def _(s: Siege) -> None:
    private, public = _key()
    _enrols(s, b"", private, public=public)
    _enrols(s, public, private, public=public)


@KEYS("enrol-as-signed-by-person", "socket", "names the person's key as the signer and signs with its own")
def _(s: Siege) -> None:
    private, public = _key()
    _enrols(s, s.person.key.public, private, public=public)


@KEYS("enrol-as-recovered", "socket", "names the recovery code's key as the signer and signs with its own")
def _(s: Siege) -> None:
    private, public = _key()
    _enrols(s, s.recovery[0], private, public=public)
    _enrols(s, s.recovery[0], private, public=public, rejects=[s.person.key.key_id])


@KEYS("reject", "socket", "rejects the person's key, signed by its own, and by the rejected one's id")
def _(s: Siege) -> None:
    private, public = _key()
    for signer in (b"", public, s.person.key.public, s.recovery[0]):
        _enrols(s, signer, private, rejects=[s.person.key.key_id])
        _enrols(s, signer, private, rejects=[s.person.key.key_id, bytes(16), b"x"], public=public)


@KEYS("re-enrol", "socket", "enrols the person's own public key again, with a recovery code of its own")
def _(s: Siege) -> None:
    private, _ = _key()
    _enrols(s, b"", private, public=s.person.key.public)
    _enrols(s, s.person.key.public, private, public=s.person.key.public)


@KEYS("odd-keys", "socket", "enrols keys of odd lengths, of zeros, and points of small order")
def _(s: Siege) -> None:
    private, _ = _key()
    for public in (bytes(32), b"\x01" + bytes(31), b"\xff" * 32, b"x", b"x" * 33, b"x" * 10_000):
        for recovery in (b"", bytes(32), b"x"):
            _enrols(s, b"", private, public=public, recovery_public=recovery)
            status, body = s.verb("enrol", signer=b"", public=public, recovery_public=recovery)
            if status == wire.DONE and body.get("plan"):
                s.verb("seal", token=body["plan"]["token"], signatures=[bytes(64)])
                s.verb("seal", token=body["plan"]["token"], signatures=[b"\x01" + bytes(63)])


@KEYS("replayed-enrolment", "socket", "seals an enrolment with the signatures that stand in the store")
def _(s: Siege) -> None:
    _, public = _key()
    with s.rows() as rows:
        found = [msgspec.msgpack.decode(raw) for _, raw in rows.all("events")]
    signatures = [one[1] for one in found if len(one) > 1 and one[1]]
    assert signatures
    for signer in (b"", s.person.key.public, s.recovery[0]):
        status, body = s.verb("enrol", signer=signer, public=public, recovery_public=public)
        for signature in signatures[:4]:
            if status == wire.DONE and body.get("plan"):
                s.verb("seal", token=body["plan"]["token"], signatures=[signature])


@KEYS("promotion-as-enrolment", "socket", "gives a person's signature of a note's plan for the plan of an enrolment")
def _(s: Siege) -> None:
    _, public = _key()
    plan = s.typed.act("promote", str(s.notes["a-rule"].id), to="human", sign=True).plan
    assert plan is not None
    status, body = s.verb("enrol", signer=s.person.key.public, public=public, recovery_public=public)
    if status == wire.DONE and body.get("plan"):
        s.verb("seal", token=body["plan"]["token"], signatures=s.person.signatures(plan))


for _words in (("init",), ("init", "--recover"), ("reject",), ("reject", "--recover"), ("reject", "0")):

    def _runs(s: Siege, words: tuple[str, ...] = _words) -> None:
        typed = f"{PASSPHRASE}\n{signing.new_recovery_code()}\n".encode() * 3
        s.cli("human", *words, stdin=typed)
        s.cli("human", *words, stdin=typed, claude=False)

    KEYS.add(f"human {' '.join(_words)}", "cli", "runs it without a terminal, the answers on stdin", _runs)


@KEYS("human init under a marker", "terminal", "drives a terminal, the client's mark in the environment")
def _(s: Siege) -> None:
    for name in (
        "CLAUDECODE",
        "CLAUDE_CODE_SESSION_ID",
        "CODEX_SESSION_ID",
        "GEMINI_SESSION_ID",
        "COPILOT_CLI",
        "OPENCODE",
    ):
        code, shown = s.at_terminal("human", "init", **{name: "1"})
        assert (code, "Recovery" in shown) == (1, False), shown


@KEYS("codes-guessed", "terminal", "guesses three recovery codes at a terminal", alone=True)
def _(s: Siege) -> None:
    guesses = [("Recovery code: ", signing.new_recovery_code()) for _ in range(3)]
    new = [("New passphrase: ", "attacker words"), ("again: ", "attacker words")]
    code, shown = s.at_terminal("human", "init", "--recover", answers=[*new, *guesses])
    assert code == 1, shown


@KEYS("hook-and-mcp", "mcp", "asks for enrolment through tools and through a hook's input")
def _(s: Siege) -> None:
    _, public = _key()
    s.tool("enrol", public=public.hex(), signer="")
    s.tool("remember", content="memd human init", kind="directive", enrol=public.hex(), key_id=public.hex())
    s.hook("prompt-submit", s.payload("UserPromptSubmit", prompt="/memd human init", enrol=public.hex()))


# --- key files


def _path(s: Siege) -> Any:
    return next((s.home / "keys").glob("*.json"))


def _refused(s: Siege) -> None:
    code, shown = s.at_terminal("promote", str(s.notes["a-finding"].id), "--to", "human")
    assert code == 1, shown


@KEYS("file-weakened", "files", "writes a cheaper passphrase check into the key file", alone=True)
def _(s: Siege) -> None:
    path = _path(s)
    path.write_text(path.read_text().replace('"n": 131072', '"n": 1024'))
    _refused(s)


@KEYS("file-of-another", "files", "puts a key of its own, named as the person's, in its place", alone=True)
def _(s: Siege) -> None:
    path, other = _path(s), signing.create_key(b"attacker words", n=signing.SCRYPT_N_MIN)
    forged = other._replace(key_id=s.person.key.key_id, public=s.person.key.public)
    path.write_bytes(signing._encoded(forged))
    plan = s.typed.act("promote", str(s.notes["a-finding"].id), to="human", sign=True).plan
    assert plan is not None
    with pytest.raises(signing.SigningError):
        signing.sign_all(signing.load_key(str(path)), b"attacker words", digests(plan))


@KEYS("file-beside", "files", "lays a key file of its own beside the person's")
def _(s: Siege) -> None:
    mine = signing.create_key(b"attacker words", n=signing.SCRYPT_N_MIN)
    path = signing.key_path(s.home, mine.key_id)
    signing.write_key(path, mine)
    told = s.cli("human", "show", "--json").json
    Path(path).unlink()
    assert [k["enrolled"] for k in told["keys"] if k["path"] == path] == [False], told


@KEYS("file-a-link", "files", "makes the key file a link to a file of its own", alone=True)
def _(s: Siege) -> None:
    path = _path(s)
    shutil.move(path, s.folder / "elsewhere.json")
    path.symlink_to(s.folder / "elsewhere.json")
    _refused(s)


@KEYS("file-open", "files", "opens the key file's mode, and its folder's, for others", alone=True)
def _(s: Siege) -> None:
    _path(s).chmod(0o644)
    _refused(s)
    _path(s).chmod(0o600)
    (s.home / "keys").chmod(0o777)
    s.down()
    s.typed.ping()
    assert (s.home / "keys").stat().st_mode & 0o077 == 0, "the folder stays open"


# --- a store that has no key yet


@pytest.fixture(scope="module")
def bare() -> Iterator[World]:
    """A daemon and a note, and nobody enrolled."""
    made = World()
    made.note("A note of nobody's.")
    try:
        yield made
    finally:
        made.close()


ENROLS = """
import sys
sys.path[:0] = sys.argv[2:]
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from memd_client import Memd, signing
from memd_client.memd import MemdError
key = Ed25519PrivateKey.generate()
public = key.public_key().public_bytes_raw()
with Memd() as memd:
    try:
        plan = memd.enrol(public, public, sys.argv[1]).plan
        digests = [signing.signed_digest(plan.store, e.body, e.content_digest, e.revision) for e in plan.events]
        memd.seal(plan.token, [key.sign(digest) for digest in digests])
    except MemdError as error:
        print(error.code)
    print(memd.enrol().enrolled)
"""
WAYS: dict[str, tuple[str, bool, dict[str, str]]] = {
    "no terminal": ("", False, {}),
    "claims a terminal": ("/dev/pts/0", False, {}),
    "under the client": ("/dev/tty", True, {}),
    "with the client's marks": ("/dev/tty", False, {"CLAUDECODE": "1"}),
    "as Codex": ("/dev/tty", False, {"CODEX_SESSION_ID": "1"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_agent_enrols_the_first_key(bare: World, way: str, request: pytest.FixtureRequest) -> None:
    """By a program of its own on the socket, which says what it likes."""
    request.node.user_properties.append(("attack", f"first-key/{way}@socket"))
    where, claude, environ = WAYS[way]
    shell = bare.folder / "claude"
    if not shell.exists():
        shell.symlink_to("/bin/sh")
    above = [str(shell), "-c", '"$@"; exit $?', "claude"] if claude else []
    done = subprocess.run(
        [*above, sys.executable, "-c", ENROLS, where],
        env={**bare.environ, **environ},
        cwd=bare.repository,
        capture_output=True,
        start_new_session=True,
        check=False,
    )
    assert done.stdout.endswith(b"[]\n"), (done.stdout, done.stderr)


@pytest.mark.parametrize("words", [("init",), ("init", "--recover"), ("reject",)])
def test_no_agent_runs_the_command_that_enrols(
    bare: World, words: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    """Without a terminal, and at one that it drives under its client's mark."""
    request.node.user_properties.append(("attack", f"first-key/human {' '.join(words)}@cli"))
    bare.memd("human", *words, stdin=b"attacker words\n" * 4)
    code, _ = bare.at_terminal("human", *words, CLAUDECODE="1")
    assert code == 1
    assert bare.memd("human", "show", "--json").json["enrolled"] == []


def test_nothing_becomes_human_without_a_key(bare: World, request: pytest.FixtureRequest) -> None:
    """Promotion, and recording with an endorsement, are refused where nobody is enrolled."""
    request.node.user_properties.append(("attack", "first-key/promote without a key@socket"))
    with bare.client() as memd:
        for sign in (False, True):
            with pytest.raises(Exception, match=r".+"):
                memd.act("promote", "1", to="human", sign=sign)
        with pytest.raises(Exception, match=r".+"):
            memd.remember("Endorsed by nobody.", endorse=True)
        assert memd.show("1").note.provenance == "agent"
