"""What a person signs: a plan of the daemon, checked, shown whole, signed, sealed.

The daemon proposes bytes; this process believes none of its words about them. Before anything is shown, `checked` makes sure that
the content in the plan is the one that the digests name, and that the event is this very act on this very note under this very
key. What is then shown on the controlling terminal is what the signature covers; standard output is not involved.

Three wrong passphrases end the command, and a pause begins (tries.py). There is no unlocked state: the key is opened, used and
wiped within this one process.
"""

import hashlib
import os
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import msgspec

from memd_client import api, signing, terminal
from memd_client.cli import screen, tries
from memd_client.memd import Memd, Refused
from memd_client.signing import SigningError

BLOB = b"memd/blob/1"
TYPES = {
    "promote": "promoted",
    "record and endorse": "promoted",
    "revoke": "revoked",
    "supersede": "superseded",
    "confirm": "confirmed",
    "done": "closed",
}
"""act -> the type of the one event that is signed for it."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the person asked for: the act, the note (id 0 where it is recorded by this very plan), the newer note of `supersede`."""

    act: str
    id: int
    uid: str
    by: str = ""  # its uid once it is known
    by_words: str = ""
    reason: str = ""


class PlanDiffers(Refused):
    """The daemon's plan is not what was asked for."""

    def __init__(self, what: str) -> None:
        message = f"Nothing was signed: the daemon's plan is not what was asked for ({what}). `memd doctor`."
        super().__init__("plan-differs", message)


class _Body(msgspec.Struct, frozen=True):
    """The part of an event's bytes that is checked here (the daemon's model has the whole)."""

    note: bytes
    type: str
    payload: msgspec.Raw
    key_id: bytes = b""


class _Payload(msgspec.Struct, frozen=True):
    to: str = ""
    revision: int = 0
    content: bytes = b""
    by: bytes = b""
    reason: bytes = b""


def checked(plan: api.Plan, asked: Asked) -> api.PlanEvent:
    """The one event of the plan. Raises PlanDiffers unless it is exactly what was asked for."""
    if len(plan.events) != 1:
        raise PlanDiffers(f"{len(plan.events)} events instead of one")
    (event,) = plan.events
    try:
        body = msgspec.msgpack.decode(event.body, type=_Body)
        payload = msgspec.msgpack.decode(body.payload, type=_Payload)
    except msgspec.MsgspecError:
        raise PlanDiffers("an event that cannot be read") from None
    digest = _digest(event.content_salt, event.content)
    is_promotion = body.type == "promoted"
    for is_so, what in (
        (digest == event.content_digest, "another content than its digest names"),
        (body.type == TYPES.get(asked.act) and event.act == asked.act, f"another act, {body.type}"),
        (body.note == uuid.UUID(asked.uid).bytes and event.id == asked.id, "another note"),
        (body.key_id == plan.key_id and plan.key_id, "another key"),
        (not is_promotion or payload.to == "human", "another class"),
        (not is_promotion or payload.content == digest, "another content than the one endorsed"),
        (not is_promotion or payload.revision == event.revision, "another revision"),
        (payload.reason == _digest(event.reason_salt, event.reason), "another reason than its digest names"),
        (bool(event.reason) == bool(asked.reason.strip()), "a reason that was not given, or none where one was"),
        (asked.act != "supersede" or payload.by == uuid.UUID(asked.by).bytes, "another newer note"),
    ):
        if not is_so:
            raise PlanDiffers(what)
    return event


def _digest(salt: bytes, text: str) -> bytes:
    """A blob's digest; b"" where there is no text."""
    return hashlib.sha256(BLOB + salt + text.encode()).digest() if text else b""


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
    event = checked(plan, asked)
    key = load(memd.home, plan.key_id)
    lines = [*shown(event, asked), f"  key      {signing.fingerprint(key.public)}"]
    return memd.seal(plan.token, sign_with(memd.home, key, digests(plan), lines))


class KeyElsewhere(SigningError):
    """The key of this store is {}, and its file is not here ({}); the key files that are here open nothing in it. Put your copy back, or make another key with your recovery code: `memd human init --recover`."""  # noqa: E501


def load(home: Path, key_id: bytes) -> signing.KeyFile:
    """The key file of an enrolled key. Raises KeyElsewhere, and what `signing.load_key` raises."""
    path = signing.key_path(home, key_id)
    try:
        return signing.load_key(path)
    except signing.KeyMissing:
        if keys(home):
            raise KeyElsewhere(signing.fingerprint_of(key_id), path) from None
        raise


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
    """With the newer note of `supersede` by its uid, as the event names it, and by its words, as a person knows it."""
    if not asked.by:
        return asked
    newer = memd.show(asked.by).note
    return msgspec.structs.replace(asked, by=newer.uid, by_words=f"[{newer.id}] {newer.summary}")


def shown(event: api.PlanEvent, asked: Asked) -> Sequence[str]:
    """What will be signed, line by line, with nothing hidden in it and nothing of it left out."""
    note = f"[{event.id}]" if event.id else "a new note"
    facts = {
        "act": f"{event.act} {note}",
        "uid": asked.uid,
        "change": event.change,
        "kind": event.kind,
        "scope": event.scope,
        "priority": event.priority,
        "revision": str(event.revision),
        "by": f"{asked.by_words} ({asked.by})" if asked.by else "",
        "reason": event.reason,
    }
    lines = [f"  {name:<9}{screen.safe_line(value)}" for name, value in facts.items() if value]
    content = [f"  │ {line}" for line in screen.safe(event.content).split("\n")]
    return ["You are about to sign:", *lines, "  content", *content]


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
