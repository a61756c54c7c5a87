"""Acts on a note that stands: promote, revoke, reinstate, supersede, unsupersede, confirm, done, reopen.

On a note that a person endorsed, revoke, supersede and done need that person: at a terminal with a key the command shows what will
be signed and asks for the passphrase; anywhere else the daemon records a proposal and says so. `confirm` is that person's no to a
proposal: signed where one stands, unsigned where none does, as the daemon says.
"""

import click

from memd_client.cli import screen
from memd_client.cli.shape import command
from memd_client.memd import Memd

REASON = click.option("--reason", default="", metavar="R", help="Why; the next reader sees it.")


@command(short_help="Raise a note one rung.")
@click.argument("ref")
@click.option("--to", required=True, metavar="CLASS", help="agent or human.")
def promote(ref: str, to: str, as_json: bool) -> None:
    """Raise the note REF one rung: auto, agent, human. `human` is signed with your passphrase, at your own terminal."""
    _act("promote", ref, as_json, to=to)


@command(short_help="A note was wrong.")
@click.argument("ref")
@click.option("--reason", required=True, metavar="R", help="Why; it is told in the place of the note.")
def revoke(ref: str, reason: str, as_json: bool) -> None:
    """The note REF was wrong. It is kept and comes back struck through, with the reason, for the question it would answer."""
    _act("revoke", ref, as_json, reason=reason)


@command(short_help="A revoked note was right after all.")
@click.argument("ref")
@REASON
def reinstate(ref: str, reason: str, as_json: bool) -> None:
    """The revoked note REF was right after all."""
    _act("reinstate", ref, as_json, reason=reason)


@command(short_help="A newer note takes an older one's place.")
@click.argument("old")
@click.argument("new")
@REASON
def supersede(old: str, new: str, reason: str, as_json: bool) -> None:
    """The note NEW takes the place of OLD, which was right in its time."""
    _act("supersede", old, as_json, by=new, reason=reason)


@command(short_help="An older note was not superseded.")
@click.argument("ref")
@REASON
def unsupersede(ref: str, reason: str, as_json: bool) -> None:
    """The note REF stands for itself again: the newer one did not take its place after all."""
    _act("unsupersede", ref, as_json, reason=reason)


@command(short_help="A note still holds.")
@click.argument("ref")
def confirm(ref: str, as_json: bool) -> None:
    """The note REF was checked and holds: its date and the hashes of its files are taken anew, its class stays.

    Where an agent proposed to change a note that you endorsed, this is your no: with your passphrase the note stays as it is.
    """
    _act("confirm", ref, as_json)


@command(short_help="A task is done.")
@click.argument("ref")
@REASON
def done(ref: str, reason: str, as_json: bool) -> None:
    """The task REF is done."""
    _act("done", ref, as_json, reason=reason)


@command(short_help="A task is open again.")
@click.argument("ref")
def reopen(ref: str, as_json: bool) -> None:
    """The task REF is open again."""
    _act("reopen", ref, as_json)


WORDS = {
    "promote": "promoted",
    "revoke": "revoked",
    "reinstate": "reinstated",
    "supersede": "superseded",
    "unsupersede": "is no longer superseded",
    "confirm": "confirmed",
    "done": "done",
    "reopen": "open again",
}
SIGNABLE = ("promote", "revoke", "supersede", "confirm", "done")


def _act(act: str, ref: str, as_json: bool, *, to: str = "", by: str = "", reason: str = "") -> None:
    with Memd() as memd:
        acted = memd.act(act, ref, to=to, by=by, reason=reason, sign=_may_sign(memd, act, to))
        id_, uid, effect, told = acted.id, acted.uid, acted.effect, acted.told
        if acted.plan is not None:
            from memd_client.cli.sign import Asked, seal

            sealed = seal(memd, acted.plan, Asked(act=act, id=acted.id, uid=acted.uid, by=by, reason=reason))
            effect, told = "applied", [*told, *sealed.told]
    if as_json:
        screen.emit({"id": id_, "uid": uid, "effect": effect, "told": told})
        return
    match effect:
        case "applied":
            screen.say((f"[{id_}]", "bold"), f" {WORDS[act]}{f' to {to}' if to else ''}")
        case "proposed":
            screen.say(
                (f"[{id_}]", "bold"),
                (" proposed, not done: a person endorsed it, and only a person changes it", "yellow"),
            )
        case _:
            screen.say((f"[{id_}]", "bold"), " as it was")
    for line in told:
        screen.say("  ", line)


def _may_sign(memd: Memd, act: str, to: str) -> bool:
    """Whether to ask for a plan. To become `human` is a signature and nothing else, so without a signer it ends here."""
    if act not in SIGNABLE or (act == "promote" and to != "human"):
        return False
    from memd_client.cli.sign import can_sign, require_signer

    if act == "promote":
        require_signer(memd.home)
        return True
    return can_sign(memd.home)
