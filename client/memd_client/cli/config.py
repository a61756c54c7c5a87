"""Settings: `config`, and the four that have words of their own: `pause`, `resume`, `ignore`, `only`.

Anybody may change a setting unsigned; it then keeps nothing from a session that a person endorsed, and the answer says which
sessions are told of it. With `--sign` it counts in full: the plan is held against what was asked for, shown, and signed at the
controlling terminal.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
import msgspec

from memd_client import api
from memd_client.cli import screen
from memd_client.cli.screen import Part
from memd_client.cli.shape import LazyGroup, command
from memd_client.memd import Memd

F = TypeVar("F", bound=Callable[..., Any])

config = LazyGroup(
    "config",
    lazy={
        "list": (f"{__name__}:list_", "Every setting as it stands."),
        "get": (f"{__name__}:get", "One setting."),
        "set": (f"{__name__}:set_", "Change one."),
        "unset": (f"{__name__}:unset", "Take it back to its default."),
        "log": (f"{__name__}:log", "Every change there was, and who made it."),
    },
    help="Settings: budgets, the gate, holding an edit, pause, and where memd works.",
)

SIGN = click.option("--sign", is_flag=True, help="Sign it with your passphrase, so that it counts in full.")


# --- config


@command("list", short_help="Every setting as it stands.")
def list_(as_json: bool) -> None:
    """Every setting as it stands, with who changed it where somebody has."""
    with Memd() as memd:
        settings = memd.settings().settings
    if as_json:
        screen.emit(settings)
        return
    screen.table(("setting", "value", "", "what it is"), [_row(one) for one in settings], spare=("",))


def _row(one: api.SettingOut) -> list[Part]:
    return [(one.key, "bold"), _words(one.value), _by(one), one.says]


def _words(value: object) -> str:
    return (" ".join(value) or "none") if isinstance(value, list) else str(value)


def _by(one: api.SettingOut) -> Part:
    if not one.is_set:
        return ("default", "dim")
    if one.policy:
        return (f"policy {one.policy}", "green")
    day = one.at[:10]
    return (f"signed {day}", "green") if one.signed else (f"not signed, {day}", "yellow")


@command(short_help="One setting.")
@click.argument("key")
def get(key: str, as_json: bool) -> None:
    """The setting KEY: its value, its default, what it takes, and who changed it."""
    with Memd() as memd:
        (one,) = memd.settings(key).settings
    if as_json:
        screen.emit(one)
        return
    screen.say((one.key, "bold"), f" = {_words(one.value)}")
    screen.say("  ", one.says)
    screen.say(f"  default {_words(one.default)}; takes {one.takes}")
    if one.policy:
        screen.say("  ", _by(one), "; no change counts while that file does")
    elif one.is_set:
        screen.say("  ", _by(one), f" through {one.surface}", f", session {one.session}" if one.session else "")


@command("set", short_help="Change a setting.")
@click.argument("key")
@click.argument("values", nargs=-1, required=True, metavar="VALUE")
@SIGN
def set_(key: str, values: tuple[str, ...], sign: bool, as_json: bool) -> None:
    """Set KEY to VALUE; `ignore` and `only` take several directories."""
    _change(key, "set", values, sign, as_json)


@command(short_help="Take a setting back to its default.")
@click.argument("key")
@SIGN
def unset(key: str, sign: bool, as_json: bool) -> None:
    """Take KEY back to its default."""
    _change(key, "unset", (), sign, as_json)


@command(short_help="Every change there was.")
@click.argument("key", default="")
def log(key: str, as_json: bool) -> None:
    """Every change of a setting, or of KEY alone: when, through what, by whom, whether signed, and what it did."""
    with Memd() as memd:
        events = memd.settings_log(key).events
    if as_json:
        screen.emit(events)
        return
    screen.table(("at", "setting", "value", "by", "effect"), [_event(one) for one in events], spare=("effect",))
    if not events:
        screen.warn("no setting was ever changed")


def _event(one: api.SettingEventOut) -> list[Part]:
    whose = "you" if one.signed else f"session {one.session}" if one.session else one.surface
    signed = ("signed by you", "green") if one.signed else (f"{whose}, not signed", "yellow")
    return [
        (one.at[:16].replace("T", " "), "dim"),
        (one.key, "bold"),
        one.value or "back to default",
        signed,
        one.effect,
    ]


# --- words of their own


@command(short_help="Keep and tell nothing, until `memd resume`.")
@click.option(
    "--for", "length", default="on", metavar="2h", help="How long: 30m, 2h, 1d; without it until `memd resume`."
)
@SIGN
def pause(length: str, sign: bool, as_json: bool) -> None:
    """Keep no prompts and no commits, and tell nothing unasked. Without --sign what you endorsed is told all the same."""
    _change("pause", "set", (length,), sign, as_json)


@command(short_help="End a pause.")
@SIGN
def resume(sign: bool, as_json: bool) -> None:
    """End a pause. One that you signed is ended with --sign."""
    _change("pause", "unset", (), sign, as_json)


def _list_options(function: F) -> F:
    function = click.argument("path", default=".")(function)
    function = click.option("--undo", is_flag=True, help="Take it off the list.")(function)
    return click.option("--list", "shows", is_flag=True, help="Show the list, and change nothing.")(function)


@command(short_help="Keep memd out of a repository.")
@_list_options
@SIGN
def ignore(path: str, undo: bool, shows: bool, sign: bool, as_json: bool) -> None:
    """Keep memd out of the repository of PATH (by default where you stand); outside git, of that directory and all below it."""
    _listed("ignore", path, undo, shows, sign, as_json)


@command(short_help="Have memd work in these repositories alone.")
@_list_options
@SIGN
def only(path: str, undo: bool, shows: bool, sign: bool, as_json: bool) -> None:
    """Have memd work in the repository of PATH, and those that were named before, alone."""
    _listed("only", path, undo, shows, sign, as_json)


def _listed(key: str, path: str, undo: bool, shows: bool, sign: bool, as_json: bool) -> None:
    if not shows:
        _change(key, "remove" if undo else "add", (path,), sign, as_json)
        return
    with Memd() as memd:
        (one,) = memd.settings(key).settings
    if as_json:
        screen.emit(one)
        return
    for directory in one.value if isinstance(one.value, list) else []:
        screen.say(directory)
    if not one.value:
        screen.warn(f"the list `{key}` is empty")


# --- one change


def _change(key: str, how: str, values: Sequence[str], sign: bool, as_json: bool) -> None:
    with Memd() as memd:
        if sign:
            from memd_client.cli.sign import require_signer

            require_signer(memd.home)
        changed = memd.set(key, how, values, sign=sign)
        one, effect = changed.setting, changed.effect
        if changed.plan is not None:
            _seal(memd, changed.plan, key, how)
            (one,) = memd.settings(key).settings
            effect = "applied"
    if as_json:
        screen.emit({"setting": one, "effect": effect, "told": changed.told})
        return
    screen.say((one.key, "bold"), f" = {_words(one.value)}", ("" if effect == "applied" else "  as it was", "dim"))
    for line in changed.told:
        screen.say("  ", screen.spoken(line))


class _Payload(msgspec.Struct, frozen=True):
    key: str
    value: str


class _Body(msgspec.Struct, frozen=True):
    """The part of an event's bytes that is checked here."""

    note: bytes
    type: str
    payload: _Payload
    key_id: bytes = b""


def _seal(memd: Memd, plan: api.Plan, key: str, how: str) -> None:
    """Shows what will be signed, asks for the passphrase, and has the daemon carry it out. Raises PlanDiffers, SigningError."""
    from memd_client import signing
    from memd_client.cli.sign import digests, load, sign_with

    body = checked(plan, key, how)
    signer = load(memd.home, plan.key_id)
    lines = [*shown(plan.events[0], body.payload.value, key), f"  key      {signing.fingerprint(signer.public)}"]
    memd.seal(plan.token, sign_with(memd.home, signer, digests(plan), lines))


def checked(plan: api.Plan, key: str, how: str) -> _Body:
    """The one event of the plan. Raises PlanDiffers unless it is a change of this setting of this store, and of nothing else."""
    from memd_client import signing
    from memd_client.cli.sign import PlanDiffers

    if len(plan.events) != 1:
        raise PlanDiffers(f"{len(plan.events)} events instead of one")
    (event,) = plan.events
    try:
        body = msgspec.msgpack.decode(event.body, type=_Body)
    except msgspec.MsgspecError:
        raise PlanDiffers("an event that cannot be read") from None
    for is_so, what in (
        (body.type == "setting_changed" and body.note == plan.store, f"another act, {body.type}"),
        (body.payload.key == key, f"another setting, {body.payload.key}"),
        (how != "unset" or not body.payload.value, "a value, where it was to be taken back"),
        (how not in ("set", "add") or body.payload.value or key == "pause", "no value"),
        (body.key_id == plan.key_id and plan.key_id, "another key"),
        ((event.content_digest, event.revision) == (signing.NO_CONTENT, 0), "a content"),
    ):
        if not is_so:
            raise PlanDiffers(what)
    return body


def shown(event: api.PlanEvent, value: str, key: str) -> list[str]:
    """What will be signed, line by line. ``value``: as it stands in the event."""
    return [
        "You are about to sign:",
        f"  setting  {key}",
        f"  value    {screen.safe_line(value) or 'back to its default'}",
        f"  change   {screen.safe_line(event.change)}",
    ]
