"""Policy files: `policy list` says which there are and whether they count, `policy sign` signs one.

The signature is made here, of the very bytes that were shown at the controlling terminal, and lies beside the file in the home's
`policy` folder. It stands in no event: the file and its signature are the whole of it.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from memd_client import api, policy_signing, signing
from memd_client.cli import screen
from memd_client.cli.screen import Part
from memd_client.cli.shape import LazyGroup, command
from memd_client.memd import Memd, Refused

policy = LazyGroup(
    "policy",
    lazy={
        "list": (f"{__name__}:list_", "Every policy file: does it count, what does it say."),
        "sign": (f"{__name__}:sign", "Sign one with your key."),
    },
    help="Policy files: standing rules and settings that no session changes (docs/commands.md says what they hold).",
)

BEHIND = {"signature": "signed", "owner": "out of this user's reach"}
OWN_MODE = 0o600
MS_PER_S = 1_000


# --- list


@command("list", short_help="Every policy file.")
def list_(as_json: bool) -> None:
    """Every policy file: whether it counts and why not, what it locks, and its standing rules."""
    with Memd() as memd:
        reply = memd.policies()
    if as_json:
        screen.emit(reply.files)
        return
    for file in reply.files:
        screen.say((file.path, "bold"), "  ", *_standing(file))
        for line in _facts(file):
            screen.say("  ", line)
    if not reply.files:
        screen.warn(f"no policy files: they lie in {reply.folder}, or in {reply.system_folder}")


def _standing(file: api.PolicyOut) -> list[Part]:
    if file.counts:
        when = f" {file.signed_at[:10]}, key {file.fingerprint}" if file.fingerprint else ""
        return [("counts", "green"), f": {BEHIND[file.behind]}{when}"]
    lost = f", and did until {file.lost[:10]}" if file.lost else ""
    return [(f"does not count{lost}", "bold red"), f": {file.why}"]


def _facts(file: api.PolicyOut) -> Iterator[str]:
    if not file.counts:
        if file.detail:
            yield file.detail
        yield screen.spoken(f"Fix: {file.fix}.")
    for key, value in file.settings.items():
        yield f"locks {key} = {(' '.join(value) or 'none') if isinstance(value, list) else value}"
    for rule in file.directives:
        where = "".join(f" [{what} {text}]" for what, text in (("repo", rule.repo), ("under", rule.under)) if text)
        yield f"rule {rule.number} [{rule.priority}]{where} {rule.text}"


# --- sign


class Signed(msgspec.Struct, frozen=True):
    """A file that was signed, and whether it counts by now."""

    path: str
    signature: str
    counts: bool
    why: str


@command(short_help="Sign one with your key.")
@click.argument("file", type=click.Path())
def sign(file: str, as_json: bool) -> int | None:
    """Sign the policy file FILE: a path, or the name of one in memd's home.

    All of it is shown at your terminal before the passphrase is asked for. What was shown is then kept in the home's `policy`
    folder, with its signature: a file from elsewhere is copied there.
    """
    with Memd() as memd:
        from memd_client.cli.sign import load, require_signer, sign_with

        require_signer(memd.home)
        source, target = _paths(memd.home, file)
        content = _content(source)
        checked = memd.check_policy(target.name, content)
        key = load(memd.home, checked.key_id)
        signed_at = max(int(time.time() * MS_PER_S), checked.after + 1)
        digest = policy_signing.policy_digest(checked.store, signed_at, target.name, content)
        lines = [*_shown(target, content, checked), f"  key      {signing.fingerprint(key.public)}"]
        (made,) = sign_with(memd.home, key, [digest], lines)
        signature = policy_signing.PolicySignature(checked.store, key.key_id, signed_at, made)
        _keep(target, content, policy_signing.encode_signature(signature))
        found = next((one for one in memd.policies().files if one.path == str(target)), None)
    told = Signed(
        path=str(target),
        signature=str(target) + policy_signing.SUFFIX,
        counts=found is not None and found.counts,
        why=found.why if found is not None else "memd does not see it",
    )
    if as_json:
        screen.emit(told)
    else:
        screen.say(("signed ", "green"), told.path)
        if not told.counts:
            screen.say(("it does not count: ", "bold red"), told.why)
    return None if told.counts else 1


def _paths(home: Path, given: str) -> tuple[Path, Path]:
    """(where the file is, where it is kept)."""
    folder = home / "policy"
    source = Path(given)
    if not source.exists() and source.name == given:
        source = folder / given
    return source, folder / source.name


def _content(path: Path) -> bytes:
    """The bytes of a plain file, a little more than are allowed at most. Raises Refused."""
    if not path.is_file():
        raise Refused("no-policy-file", f"There is no file {path}.")
    with path.open("rb") as file:
        return file.read(policy_signing.CONTENT_MAX_BYTES + 1)


def _shown(target: Path, content: bytes, checked: api.PolicyChecked) -> list[str]:
    """What will be signed: the whole file, line by line, as it will be kept."""
    held = (
        screen.count(len(checked.directives), "standing rule"),
        screen.count(len(checked.settings), "locked setting"),
    )
    replaced = ["  replaces the file that stands there"] if target.is_file() and target.read_bytes() != content else []
    return [
        "You are about to sign a policy file. Every session is told its rules, and no session changes them or its settings:",
        f"  file     {target}",
        *replaced,
        f"  holds    {held[0]}, {held[1]}",
        "  content",
        *(f"  │ {line}" for line in content.decode("utf-8", "replace").split("\n")),
    ]


def _keep(target: Path, content: bytes, signature: bytes) -> None:
    """Both files, each whole and durable: the signature first, for what it signs is there already or replaced at once."""
    target.parent.mkdir(mode=0o700, exist_ok=True)
    _write(target.with_name(target.name + policy_signing.SUFFIX), signature)
    if not target.is_file() or target.is_symlink() or target.read_bytes() != content:
        _write(target, content)
    signing.sync_folder(target.parent)
    signing.sync_folder(target.parent.parent)  # the folder may be new


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, OWN_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
