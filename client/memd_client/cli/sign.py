"""What a person signs: a plan of the daemon, checked, shown whole, signed, sealed.

The daemon proposes bytes; before anything is shown they are held against what was asked for (plan.py). What is then shown on the
controlling terminal is what the signature covers; standard output is not involved.

Three wrong passphrases end the command, and a pause begins (tries.py). There is no unlocked state: the key is opened, used and
wiped within this one process.
"""

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from memd_client import api, signing, terminal
from memd_client.cli import tries
from memd_client.cli.plan import Asked as Asked
from memd_client.cli.plan import Named
from memd_client.cli.plan import PlanDiffers as PlanDiffers
from memd_client.cli.plan import checked as checked
from memd_client.cli.plan import shown as shown
from memd_client.memd import Memd, Refused
from memd_client.signing import SigningError

_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def digests(plan: api.Plan) -> list[bytes]:
    """What is signed for each event of the plan: 32 bytes."""
    return [
        signing.signed_digest(plan.store, event.body, event.content_digest, event.revision) for event in plan.events
    ]


def seal(memd: Memd, plan: api.Plan, asked: Asked) -> api.Sealed:
    """Checks and shows the plan, asks for the passphrase, signs, and has the daemon carry it out.

    Raises PlanDiffers, SigningError, MemdError; then nothing was recorded.
    """
    asked = _resolved(memd, asked)
    seen = checked(plan, asked)
    key = load(memd.home, plan.key_id)
    lines = [*shown(seen, asked), f"  key      {signing.fingerprint(key.public)}"]
    return memd.seal(plan.token, sign_with(memd.home, key, digests(plan), lines))


class KeyElsewhere(SigningError):
    """The key of this store is {}, and its file is not here ({}); the key files that are here open nothing in it. Put your copy back, or make another key with your recovery code: `memd human init --recover`."""  # noqa: E501


def hold_to(ref: str, id_: int, uid: str) -> None:
    """Raises PlanDiffers where the person named another note than the one that the daemon speaks of, as far as names tell it."""
    named = ref.strip().removeprefix("[").removesuffix("]")
    is_number = named.isascii() and named.isdigit()
    if (is_number and int(named) != id_) or (_UID.fullmatch(named) and named.lower() != uid):
        raise PlanDiffers(f"another note, [{id_}]")


def load(home: Path, key_id: bytes) -> signing.KeyFile:
    """The key file of an enrolled key. Raises KeyElsewhere, KeyDamaged where it is another's, and as `signing.load_key`."""
    path = signing.key_path(home, key_id)
    try:
        key = signing.load_key(path)
    except signing.KeyMissing:
        if keys(home):
            raise KeyElsewhere(signing.fingerprint_of(key_id), path) from None
        raise
    if key.key_id != key_id:
        raise signing.KeyDamaged(path, "it holds another key than its name says")
    return key


def sign_with(
    home: Path, key: signing.KeyFile, wanted: Sequence[bytes], lines: Sequence[str], prompt: str = "Passphrase: "
) -> list[bytes]:
    """Shows the lines, asks for the passphrase, and gives a signature for each digest. Raises SigningError.

    Every command that asks for the passphrase of a key that is there does it here: three wrong ones begin the pause.
    """
    pause = tries.path_of(home, key.key_id)
    tries.refuse_paused(pause, time.time())
    try:
        signatures = terminal.sign_asking(key, wanted, lines, time.sleep, prompt)
    except terminal.TooManyTries:
        tries.begin(pause, time.time())
        raise
    tries.end(pause)
    return signatures


def _resolved(memd: Memd, asked: Asked) -> Asked:
    """With the other notes of the act by their uids, as the events name them, and by their words, as a person knows them."""
    others = {ref: _note(memd, ref, asked) for ref in (asked.by, *asked.folded) if ref}
    return msgspec.structs.replace(
        asked,
        by=others[asked.by].uid if asked.by else "",
        folded=tuple(others[ref].uid for ref in asked.folded),
        others={note.uid: Named(id=note.id, words=note.summary) for note in others.values()},
    )


def _note(memd: Memd, ref: str, asked: Asked) -> api.NoteOut:
    """The note that a reference means: for one that takes another's place, the one that has absorbed it."""
    note = memd.show(ref).note
    while ref == asked.by and asked.act in ("supersede", "absorb") and note.absorbed_by:
        note = memd.show(str(note.absorbed_by)).note
    return note


# --- who could sign here


def can_sign(home: Path) -> bool:
    """Whether a person with a key may be asked: a terminal, a key, and no harness above."""
    return has_terminal() and bool(keys(home)) and harness_above() is None


def require_signer(home: Path) -> None:
    """Raises Refused, with what to do, where nobody could sign: no terminal, or no key."""
    if not has_terminal():
        what = "Only a person can do this, at a terminal of their own, and there is none here"
        raise Refused("no-terminal", f"{what}: run the same command in your terminal.")
    if not keys(home):
        what = "There is no key here, so nothing can be endorsed"
        raise Refused("no-key", f"{what}: `memd human init` makes one, `memd human show` says whether one is enrolled.")


def has_terminal() -> bool:
    """Whether this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def harness_above() -> str | None:
    """Why this looks like a command that an agent's client runs; None where it does not. A hindrance, not a proof."""
    above = [part for _, name, program in terminal.ancestors(os.getpid()) for part in (name, program) if part]
    return terminal.under_harness(os.environ, above)


def keys(home: Path) -> list[Path]:
    """The key files of this home."""
    return sorted((home / "keys").glob("*.json"))
