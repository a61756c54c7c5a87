"""What the tests of policy files share: writing one, signing it as the command would, and reading what a start tells of it."""

from pathlib import Path

from memd_client import api, policy_signing, signing
from memd_client.policy_signing import PolicySignature
from memd_daemon import limits
from tests.frames.grammar import PolicyRule, read_policy, read_start
from tests.service.desk import Desk, context_of
from tests.service.test_people import PASSPHRASE, Person

RULE = "Never push to main."
TEAM = f'[[directive]]\ntext = "{RULE}"\n'


def made_person(desk: Desk) -> Person:
    """Somebody with a key that no start tells of any more."""
    made = Person(desk)
    desk.clock.ms += (limits.ENROLMENT_TOLD_DAYS + 1) * limits.TIME_MS_PER_DAY
    return made


def folder_of(desk: Desk) -> Path:
    folder = desk.home / "policy"
    folder.mkdir(exist_ok=True)
    return folder


def put(desk: Desk, text: str, name: str = "team.toml") -> Path:
    """A policy file as anybody may write it."""
    path = folder_of(desk) / name
    path.write_bytes(text.encode())
    return path


def sign(desk: Desk, key: signing.KeyFile, path: Path, *, name: str = "", at: int = 0, store: bytes = b"") -> Path:
    """Signs what stands in a file, as the command would unless the test says otherwise."""
    store, at = store or desk.daemon.parts.store.info.store, at or desk.clock.ms
    digest = policy_signing.policy_digest(store, at, name or path.name, path.read_bytes())
    made = PolicySignature(store, key.key_id, at, signing.sign(key, PASSPHRASE, digest))
    beside = path.with_name(path.name + ".sig")
    beside.write_bytes(policy_signing.encode_signature(made))
    return beside


def enact(desk: Desk, person: Person, text: str = TEAM, name: str = "team.toml") -> Path:
    """A policy file that counts."""
    desk.clock.ms += 1
    path = put(desk, text, name)
    sign(desk, person.key, path)
    assert standing(desk, name).counts, standing(desk, name)
    return path


def listed(desk: Desk) -> list[api.PolicyOut]:
    return desk.ask(api.Policies()).files


def standing(desk: Desk, name: str = "team.toml") -> api.PolicyOut:
    return next(one for one in listed(desk) if one.name == name)


def rules(out: str) -> list[PolicyRule]:
    """The policy's rules in a start's bundle, which must be one of memd's blocks to its end."""
    block = context_of(out)
    lines, _, _ = read_start(block)
    return read_policy("\n".join(block.split("\n")[len(lines) :]))[0]
