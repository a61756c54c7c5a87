"""A person's keys: `human init` makes and enrols one, `human reject` ends one, `human show` tells which there are and of each what
it signed.

The first key of a store needs nobody's signature; a further one is signed by a key that is enrolled, or by a recovery code. So is
a rejection, after which the key signs nothing more; what it signed before stands, and is listed, for a person to take back what is
not theirs. All of it is refused where it looks as if an agent's client runs the command: a hindrance, not a proof (SECURITY.md).
How a new one is made: enrolling.py.
"""

import re
import time
from functools import partial
from pathlib import Path

import click
import msgspec

from memd_client import api, signing, terminal
from memd_client.cli import keyplan, screen, tries
from memd_client.cli.enrolling import Made, new_key
from memd_client.cli.keyplan import KeyAct
from memd_client.cli.shape import LazyGroup, command
from memd_client.cli.sign import harness_above, has_terminal, keys
from memd_client.memd import Memd, Refused

human = LazyGroup(
    "human",
    lazy={
        "init": (f"{__name__}:init", "Make a key, and enrol it."),
        "show": (f"{__name__}:show", "Which keys there are, and what each signed."),
        "reject": (f"{__name__}:reject", "End a key: it is lost, or not yours."),
    },
    help="Your key: what makes `human` mean a person.",
)
RECOVER = click.option("--recover", is_flag=True, help="Sign with your recovery code.")

ABOUT = (
    "This makes the key that your endorsements are signed with. Choose words that only you know, "
    f"{signing.PASSPHRASE_MIN_BYTES} characters or more; memd keeps them nowhere, and asks for them at each signature.",
)
FURTHER = (
    "The key {} is enrolled here already, and has to sign for a further one: you are asked for its passphrase last."
)
RECOVERED = "Your recovery code, which you are asked for last, signs for it."
ONLY_KEY = (
    "It is the only key of this store. Without one nothing can be endorsed, and nobody can change what you endorsed: an agent's "
    "acts on it stay proposals. The code of the first key can enrol another, now or later.",
)


# --- init


@command(short_help="Make a key, and enrol it.")
@click.option(
    "--recover", is_flag=True, help="Sign with your recovery code, and reject the key that you cannot use any more."
)
def init(recover: bool, as_json: bool) -> None:
    """Make your key and enrol it. Asks for a passphrase at your terminal, twice, and shows a recovery code once.

    Where a key is enrolled already, it signs for the new one, with its own passphrase. Where you lost it or its passphrase,
    --recover signs with your recovery code instead, and rejects the lost key in the same step.
    """
    with Memd() as memd:
        made = make_key(memd, recover=recover)
    if as_json:
        screen.emit(made)
        return
    _tell_made(made)
    screen.say(
        "Now: ",
        (f"{screen.command_words()} remember TEXT --kind directive --endorse", "bold"),
        ", or ",
        (f"{screen.command_words()} promote REF --to human", "bold"),
    )


def _tell_made(made: Made) -> None:
    screen.say(("enrolled ", "green"), made.fingerprint)
    for fingerprint in made.rejected:
        screen.say(("rejected ", "yellow"), fingerprint)


def make_key(memd: Memd, *, recover: bool = False) -> Made:
    """Makes a key, keeps it encrypted in the home, enrols it, and shows its recovery code on the terminal.

    Raises Refused (under a harness, without a terminal, or where nothing here could sign for a further key), SigningError; then
    nothing is left of it.
    """
    state = _asked_by_person(memd, "init")
    if recover:
        return _recovered(memd, state, _in_use(memd.home, state))
    if not state.keys:
        return new_key(memd, ABOUT, partial(keyplan.sign_itself, memd))
    signer = _signer(memd.home, state)
    if signer is None:
        raise Refused("key-known", _why_none_signs(state))
    tries.refuse_paused(tries.path_of(memd.home, signer.key_id), time.time())  # not only when all else is typed
    about = (FURTHER.format(signing.fingerprint(signer.public)), *ABOUT)

    def sign(act: KeyAct, _: signing.KeyFile, __: bytearray, before: keyplan.Before) -> None:
        keyplan.sign_with_key(memd, act, signer, _plan_of(state, act), before)

    return new_key(memd, about, sign, later=True)


def _why_none_signs(state: api.EnrolReply) -> str:
    if not state.enrolled:
        return "Every key of this store was rejected: `memd human init --recover` makes one with your recovery code."
    what = f"A key is enrolled already ({state.enrolled[0]}), and its file is not here"
    way = "put your copy back into `keys` in memd's home, or make another with your recovery code"
    return f"{what}: {way}, `memd human init --recover`."


def _recovered(memd: Memd, state: api.EnrolReply, rejects: tuple[bytes, ...]) -> Made:
    """A new key by the recovery code, the lost one rejected in the same commit."""
    if not state.keys:
        raise Refused("no-key", "No key was ever enrolled here, so there is nothing to recover: `memd human init`.")

    def sign(act: KeyAct, _: signing.KeyFile, __: bytearray, before: keyplan.Before) -> None:
        keyplan.sign_with_code(memd, act, _plan_of(state, act), state.recovery, before)

    return new_key(memd, (RECOVERED, *ABOUT), sign, rejects=rejects, later=True)


def enrol_key(memd: Memd, key: signing.KeyFile, passphrase: signing.Secret, recovery_public: bytes, where: str) -> None:
    """Enrols the first key, which signs itself. Raises PlanDiffers, SigningError, MemdError; then nothing was recorded."""
    keyplan.sign_itself(memd, KeyAct(public=key.public, recovery_public=recovery_public, where=where), key, passphrase)


def _asked_by_person(memd: Memd, words: str) -> api.EnrolReply:
    """Which keys there are. Raises Refused under a harness and without a terminal, before anything is asked or shown."""
    reason = harness_above()
    if reason is not None:
        what = f"This looks like an agent's shell ({reason}), and a key is a person's"
        raise Refused("under-harness", f"{what}: run `memd human {words}` in a terminal of your own.")
    if not has_terminal():
        what = "What concerns keys is done at a terminal of your own, and there is none here"
        raise Refused("no-terminal", f"{what}: run `memd human {words}` there.")
    return memd.enrol(acts=True)


def _plan_of(state: api.EnrolReply, act: KeyAct) -> list[str]:
    lines = ["You are about to sign:"]
    if act.public:
        lines += [f"  enrol      the key {signing.fingerprint(act.public)}", f"  at         {act.where}"]
    for key_id in act.rejects:
        known = next(one for one in reversed(state.keys) if key_id_of(one) == key_id)
        lines += [f"  reject     the key {known.fingerprint}", *_facts(known)]
    rejected = {signing.fingerprint_of(key_id) for key_id in act.rejects}
    return [*lines, *(f"  stays      the key {one}" for one in state.enrolled if one not in rejected)]


def key_id_of(key: api.KeyOut) -> bytes:
    """The bytes behind a fingerprint."""
    return bytes.fromhex(key.fingerprint)


def _in_use(home: Path, state: api.EnrolReply) -> tuple[bytes, ...]:
    """The key that signs here: the newest that stands and lies here, else the newest that stands; none where none stands."""
    standing = [bytes.fromhex(one) for one in state.enrolled]
    here = [key_id for key_id in standing if Path(signing.key_path(home, key_id)).is_file()]
    return tuple((here or standing)[:1])


def _signer(home: Path, state: api.EnrolReply, without: bytes = b"") -> signing.KeyFile | None:
    """The newest key that stands and lies here, other than ``without``. Raises what `signing.load_key` raises."""
    standing = [key_id for one in state.enrolled if (key_id := bytes.fromhex(one)) != without]
    paths = (signing.key_path(home, key_id) for key_id in standing)
    return next((signing.load_key(path) for path in paths if Path(path).is_file()), None)


# --- reject


class Rejected(msgspec.Struct, frozen=True):
    """A key that was ended. ``endorses``: the notes that are `human` by its signature; ``enrolled``: the new key's fingerprint."""

    fingerprint: str
    endorses: list[int]
    enrolled: str = ""


@command(short_help="End a key: it is lost, or not yours.")
@click.argument("fingerprint", nargs=-1)
@RECOVER
def reject(fingerprint: tuple[str, ...], recover: bool, as_json: bool) -> None:
    """End the key FINGERPRINT (its beginning is enough), or the only one: it signs nothing more.

    Another enrolled key signs that with its passphrase; where there is none, or with --recover, your recovery code does. What the
    key signed before stands: it is listed, so that you can revoke what is not yours.
    """
    with Memd() as memd:
        state = _asked_by_person(memd, "reject")
        key = _meant(state, "".join(fingerprint))
        enrolled = _reject(memd, state, key, recover)
    told = Rejected(key.fingerprint, key.endorses, enrolled)
    if as_json:
        screen.emit(told)
        return
    screen.say(("rejected ", "yellow"), key.fingerprint)
    if enrolled:
        screen.say(("enrolled ", "green"), enrolled)
    if key.endorses:
        ids = " ".join(f"[{id_}]" for id_ in key.endorses)
        screen.say(
            screen.spoken(f"What it endorsed stands: {ids}. `memd revoke REF --reason R` takes back what is not yours.")
        )


def _meant(state: api.EnrolReply, typed: str) -> api.KeyOut:
    """The key that is to be rejected. Raises Refused where none stands, or where it is not clear which one is meant."""
    standing = [key for key in state.keys if not key.rejected]
    if not standing:
        raise Refused("no-key", "There is no enrolled key here that could be rejected: `memd human show`.")
    wanted = re.sub(r"[\s:-]", "", typed).lower()
    found = [key for key in standing if key.fingerprint.replace(" ", "").startswith(wanted)]
    if len(found) != 1:
        listed = ", ".join(key.fingerprint for key in standing)
        wrong = "" if found else f"No enrolled key begins with {typed!r}. "
        raise Refused("which-key", f"{wrong}Say which key, by the beginning of its fingerprint: {listed}.")
    return found[0]


def _reject(memd: Memd, state: api.EnrolReply, key: api.KeyOut, recover: bool) -> str:
    """Has the rejection signed; the fingerprint of the key that was enrolled with it, if one was."""
    act = KeyAct(rejects=(key_id_of(key),))
    if len(state.enrolled) == 1:
        about = [f"The key {key.fingerprint} would be rejected.", *_facts(key), *ONLY_KEY]
        if terminal.agrees(about, "Make a new key in the same step?"):
            return _recovered(memd, state, act.rejects).fingerprint
    signer = None if recover else _signer(memd.home, state, without=key_id_of(key))
    if signer is None:
        keyplan.sign_with_code(memd, act, _plan_of(state, act), state.recovery)
    else:
        keyplan.sign_with_key(memd, act, signer, _plan_of(state, act))
    return ""


# --- show


@command(short_help="Which keys there are, and what each signed.")
def show(as_json: bool) -> None:
    """The keys of this store: where each was enrolled, whether it stands, what it signed; and the files here."""
    with Memd() as memd:
        state = memd.enrol(acts=True)
        files = {str(path): _of_file(path) for path in keys(memd.home)}
    if as_json:
        here = [{"fingerprint": f, "path": path, "enrolled": f in state.enrolled} for path, f in files.items()]
        screen.emit({"enrolled": state.enrolled, "keys": here, "history": state.keys})
        return
    for key in state.keys:
        where = next((path for path, f in files.items() if f == key.fingerprint), "its file is not here")
        label = ("rejected ", "yellow") if key.rejected else ("enrolled ", "green")
        screen.say(label, key.fingerprint, (f"  {where}", "dim"))
        for line in _facts(key):
            screen.say(line)
    known = {key.fingerprint for key in state.keys}
    for path, told in files.items():
        if told not in known:
            screen.say(("not enrolled ", "yellow"), told, (f"  {path}", "dim"))
    if not state.enrolled:
        how = "`memd human init --recover`" if state.keys else "`memd human init`"
        screen.warn(f"no key is enrolled: {how}, at a terminal of your own, makes one")


def _of_file(path: Path) -> str:
    """The fingerprint of a key file, or why it has none."""
    try:
        return signing.fingerprint(signing.load_key(str(path)).public)
    except signing.SigningError as error:
        return str(error)


def _facts(key: api.KeyOut) -> list[str]:
    """Where a key comes from, what ended it, and what it signed."""
    by = f"signed by {key.by}" if key.by != "itself" else "the first key"
    lines = [f"    since {_minute(key.at)} at {screen.safe_line(key.terminal) or 'an unknown terminal'}, {by}"]
    if key.rejected:
        lines.append(f"    rejected {_minute(key.rejected)}, signed by {key.rejected_by}")
    types = dict.fromkeys(act.type for act in key.acts)
    told = (
        f"{type_.replace('_', ' ')} {' '.join(f'[{a.id}]' for a in key.acts if a.type == type_)}" for type_ in types
    )
    lines.append(f"    signed {screen.count(len(key.acts), 'act')}{': ' if key.acts else ''}{'; '.join(told)}")
    if key.endorses:
        lines.append(f"    `human` by its signature today: {' '.join(f'[{id_}]' for id_ in key.endorses)}")
    return lines


def _minute(at: str) -> str:
    return at[:16].replace("T", " ")
