"""What happens to keys, as a plan that somebody signs: an enrolment, rejections, or both in one commit.

Like every plan it is the daemon's proposal, checked here byte by byte before anything is signed: its events are those that were
asked for, about this store, under the signer's name, and nothing else. What is shown was made here, not there.
"""

from collections.abc import Callable, Sequence

import msgspec

from memd_client import api, signing, terminal
from memd_client.cli.sign import PlanDiffers, digests, sign_with
from memd_client.memd import Memd

Before = Callable[[], None]
"""What comes between the signature and the seal; what it raises keeps the act from being carried out."""


class KeyAct(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted: the key to be enrolled, if one is (``public`` with its recovery code's half), and those to be rejected."""

    public: bytes = b""
    recovery_public: bytes = b""
    where: str = ""  # the terminal at which it is enrolled
    rejects: tuple[bytes, ...] = ()


class _Payload(msgspec.Struct, frozen=True):
    key_id: bytes
    public: bytes = b""
    recovery_public: bytes = b""


class _Body(msgspec.Struct, frozen=True):
    """The part of an event's bytes that is checked."""

    note: bytes
    type: str
    payload: _Payload
    key_id: bytes = b""


def checked(plan: api.Plan, act: KeyAct, signer: bytes) -> list[bytes]:
    """What is signed for each event. Raises PlanDiffers unless the plan is this act, to be signed by this key, and nothing else."""
    wanted = _wanted(plan.store, act, signing.key_id_of(signer))
    try:
        found = [msgspec.msgpack.decode(event.body, type=_Body) for event in plan.events]
    except msgspec.MsgspecError:
        raise PlanDiffers("an event that cannot be read") from None
    if found != wanted:
        raise PlanDiffers("another enrolment or rejection")
    if any((event.content_digest, event.revision) != (signing.NO_CONTENT, 0) for event in plan.events):
        raise PlanDiffers("an event about a note")
    return digests(plan)


def _wanted(store: bytes, act: KeyAct, signer: bytes) -> list[_Body]:
    rejections = [_Body(note=store, type="key_rejected", payload=_Payload(one), key_id=signer) for one in act.rejects]
    if not act.public:
        return rejections
    enrolled = _Payload(signing.key_id_of(act.public), act.public, act.recovery_public)
    return [_Body(note=store, type="key_enrolled", payload=enrolled, key_id=signer), *rejections]


def _nothing() -> None:
    return


def sign_itself(
    memd: Memd, act: KeyAct, key: signing.KeyFile, passphrase: signing.Secret, before: Before = _nothing
) -> None:
    """The first key of a store, whose passphrase was chosen a moment ago."""
    _carry_out(memd, act, key.public, lambda wanted: signing.sign_all(key, passphrase, wanted), before)


def sign_with_key(
    memd: Memd, act: KeyAct, key: signing.KeyFile, lines: Sequence[str], before: Before = _nothing
) -> None:
    """Signed by an enrolled key whose file lies here; its passphrase is asked for below the lines."""
    shown = [*lines, f"  signed by  the key {signing.fingerprint(key.public)}"]
    prompt = "Passphrase of that key: "
    _carry_out(memd, act, key.public, lambda wanted: sign_with(memd.home, key, wanted, shown, prompt), before)


def sign_with_code(
    memd: Memd, act: KeyAct, lines: Sequence[str], known: Sequence[bytes], before: Before = _nothing
) -> None:
    """Signed by a recovery code, which is asked for below the lines. ``known``: the halves of those that are good."""
    recovery = terminal.ask_recovery([*lines, "  signed by  your recovery code"], known)
    _carry_out(memd, act, recovery.public, lambda wanted: [recovery.sign(digest) for digest in wanted], before)


def _carry_out(
    memd: Memd, act: KeyAct, signer: bytes, sign: Callable[[list[bytes]], list[bytes]], before: Before
) -> None:
    """Raises PlanDiffers, SigningError, MemdError; then nothing was recorded."""
    plan = memd.enrol(act.public, act.recovery_public, act.where, signer=signer, rejects=act.rejects).plan
    if plan is None:
        raise PlanDiffers("no plan")
    signatures = sign(checked(plan, act, signer))
    before()
    memd.seal(plan.token, signatures)
