"""A person's key: `human init` makes and enrols one, `human show` says which there are.

The first key of a store needs nobody's signature, so `init` refuses where it looks as if an agent's client runs it: a hindrance,
not a proof (SECURITY.md). The recovery code is written to the controlling terminal once and nowhere else.
"""

import os
from pathlib import Path

import msgspec

from memd_client import signing, terminal
from memd_client.cli import screen
from memd_client.cli.shape import LazyGroup, command
from memd_client.cli.sign import PlanDiffers, digests, harness_above, has_terminal, keys
from memd_client.memd import Memd, MemdError, Refused

human = LazyGroup(
    "human",
    lazy={
        "init": (f"{__name__}:init", "Make a key, and enrol it."),
        "show": (f"{__name__}:show", "Which keys are enrolled, and which lie here."),
    },
    help="Your key: what makes `human` mean a person.",
)

ABOUT = (
    "This makes the key that your endorsements are signed with. Choose words that only you know, "
    f"{signing.PASSPHRASE_MIN_BYTES} characters or more; memd keeps them nowhere, and asks for them at each signature.",
)
RECOVERY = (
    "",
    "Your recovery code, shown this once. Write it down on paper and keep it away from this machine:",
    "",
    "    {code}",
    "",
    "Nothing takes it yet. With it a later version of memd can reject a key that is not yours, and enrol another should you "
    "lose this one or forget its passphrase; without it neither will be possible. So keep it.",
    "",
)


class Made(msgspec.Struct, frozen=True):
    """A key that was made and enrolled."""

    fingerprint: str
    key_file: str


@command(short_help="Make a key, and enrol it.")
def init(as_json: bool) -> None:
    """Make your key and enrol it. Asks for a passphrase at your terminal, twice, and shows a recovery code once."""
    with Memd() as memd:
        made = make_key(memd)
    if as_json:
        screen.emit(made)
        return
    screen.say(("enrolled ", "green"), made.fingerprint)
    screen.say(
        "Now: ",
        (f"{screen.command_words()} remember TEXT --kind directive --endorse", "bold"),
        ", or ",
        (f"{screen.command_words()} promote REF --to human", "bold"),
    )


def make_key(memd: Memd) -> Made:
    """Makes a key, keeps it encrypted in the home, enrols it, and shows its recovery code on the terminal.

    Raises Refused (under a harness, without a terminal, or where a key is enrolled), SigningError; then nothing is left of it.
    """
    _may_make(memd)
    passphrase = _new_passphrase()
    code = signing.new_recovery_code()
    try:
        key = signing.create_key(passphrase)
        path = Path(signing.key_path(memd.home, key.key_id))
        signing.write_key(str(path), key)
        try:
            enrol_key(memd, key, passphrase, signing.recovery_key(code).public, _terminal_name())
        except (MemdError, KeyboardInterrupt):
            path.unlink()  # a key that nobody enrolled is good for nothing
            raise
    finally:
        signing.wipe(passphrase)
    terminal.show_lines([line.format(code=code) for line in RECOVERY])
    return Made(signing.fingerprint(key.public), str(path))


class _Enrolment(msgspec.Struct, frozen=True):
    """The part of an enrolment's payload that is checked here."""

    key_id: bytes
    public: bytes
    recovery_public: bytes = b""


class _Body(msgspec.Struct, frozen=True):
    note: bytes
    type: str
    payload: _Enrolment
    key_id: bytes = b""


def enrol_key(memd: Memd, key: signing.KeyFile, passphrase: signing.Secret, recovery_public: bytes, where: str) -> None:
    """Enrols a key, which signs its own enrolment. Raises PlanDiffers, SigningError, MemdError; then nothing was recorded."""
    plan = memd.enrol(key.public, recovery_public, where).plan
    if plan is None or len(plan.events) != 1:
        raise PlanDiffers("no enrolment")
    try:
        body = msgspec.msgpack.decode(plan.events[0].body, type=_Body)
    except msgspec.MsgspecError:
        raise PlanDiffers("an event that cannot be read") from None
    wanted = _Enrolment(key_id=key.key_id, public=key.public, recovery_public=recovery_public)
    if body != _Body(note=plan.store, type="key_enrolled", payload=wanted, key_id=key.key_id):
        raise PlanDiffers("another enrolment")
    memd.seal(plan.token, signing.sign_all(key, passphrase, digests(plan)))


def _may_make(memd: Memd) -> None:
    reason = harness_above()
    if reason is not None:
        what = f"This looks like an agent's shell ({reason}), and a key is a person's"
        raise Refused("under-harness", f"{what}: run `memd human init` in a terminal of your own.")
    if not has_terminal():
        raise Refused("no-terminal", "A key is made at a terminal of your own, and there is none here.")
    enrolled = memd.enrol().enrolled
    if enrolled:
        what = f"A key is enrolled already ({enrolled[0]}), and a store has one for now"
        keep = "endorse with it, `memd promote REF --to human`; `memd human show` says where its file lies"
        raise Refused(
            "key-known", f"{what}: {keep}. Without its file or its passphrase nothing can be signed here any more."
        )


def _new_passphrase() -> bytearray:
    """Asked twice. Raises PassphraseTooShort before the second time, PassphrasesDiffer, and what asking raises."""
    return terminal.ask_passphrase(
        ABOUT, prompt="New passphrase: ", again="The same passphrase again: ", least=signing.PASSPHRASE_MIN_BYTES
    )


def _terminal_name() -> str:
    names = (os.ttyname(stream) for stream in range(3) if os.isatty(stream))
    return next(names, "/dev/tty")


@command(short_help="Which keys are enrolled, and which lie here.")
def show(as_json: bool) -> None:
    """The enrolled keys by their fingerprints, and the key files of this home."""
    with Memd() as memd:
        enrolled = memd.enrol().enrolled
        files = {str(path): signing.fingerprint(signing.load_key(str(path)).public) for path in keys(memd.home)}
    if as_json:
        here = [{"fingerprint": f, "path": path, "enrolled": f in enrolled} for path, f in files.items()]
        screen.emit({"enrolled": enrolled, "keys": here})
        return
    for fingerprint in enrolled:
        where = next((path for path, f in files.items() if f == fingerprint), "its file is not here")
        screen.say(("enrolled ", "green"), fingerprint, (f"  {where}", "dim"))
    for path, fingerprint in files.items():
        if fingerprint not in enrolled:
            screen.say(("not enrolled ", "yellow"), fingerprint, (f"  {path}", "dim"))
    if not enrolled:
        screen.warn("no key is enrolled: `memd human init`, at a terminal of your own, makes one")
