"""How an act on a note is carried out from the command line: asked for, signed where a person has to, and told.

At a terminal with a key the daemon is told that this asker can sign; an act on a note that this person endorsed then comes back as
a plan, which is shown and signed (sign.py). Anywhere else the daemon records a proposal, and this says so.
"""

from typing import Any, Final

from memd_client.cli import screen
from memd_client.memd import Memd

WORDS: Final = {
    "promote": "promoted to {to}",
    "revoke": "revoked",
    "reinstate": "reinstated",
    "supersede": "superseded",
    "unsupersede": "is no longer superseded",
    "absorb": "absorbed",
    "release": "stands for itself again",
    "revise": "revised",
    "resolve": "the conflict is resolved",
    "confirm": "confirmed",
    "review": "reviewed",
    "link_evidence": "has its evidence",
    "archive": "archived",
    "restore-note": "back from the archive",
    "amend": "amended",
    "done": "done",
    "reopen": "open again",
}
"""What became of the note, act by act."""

UNSIGNED: Final = ("link_evidence",)


def carry_out(act: str, ref: str, as_json: bool, *, options: tuple[str, ...] = (), **fields: Any) -> None:
    """One act, with the fields of `api.Act` that it takes. ``options``: those of `amend` that were given."""
    to = fields.get("to", "")
    with Memd() as memd:
        acted = memd.act(act, ref, sign=_may_sign(memd, act, to), **fields)
        id_, uid, effect, told = acted.id, acted.uid, acted.effect, acted.told
        if acted.plan is not None:
            from memd_client.cli.sign import Asked, hold_to, seal

            hold_to(ref, id_, uid)
            asked = Asked(act=act, id=id_, uid=uid, options=options, **_particulars(fields))
            sealed = seal(memd, acted.plan, asked)
            effect, told = "applied", [*told, *sealed.told]
    if as_json:
        screen.emit({"id": id_, "uid": uid, "effect": effect, "told": told})
        return
    match effect:
        case "applied":
            screen.say((f"[{id_}]", "bold"), f" {WORDS[act].format(to=to)}")
        case "proposed":
            screen.say(
                (f"[{id_}]", "bold"),
                (" proposed, not done: a person endorsed it, and only a person changes it", "yellow"),
            )
        case _:
            screen.say((f"[{id_}]", "bold"), " as it was")
    for line in told:
        screen.say("  ", line)


def _particulars(fields: dict[str, Any]) -> dict[str, Any]:
    """What the act names beside its note, as a plan is held against it."""
    told = {name: fields.get(name, "") for name in ("by", "reason", "resolution")}
    return {**told, "folded": tuple(fields.get("absorb", ()))}


def _may_sign(memd: Memd, act: str, to: str) -> bool:
    """Whether to ask for a plan. To become `human` is a signature and nothing else, so without a signer it ends here."""
    if act in UNSIGNED or (act == "promote" and to != "human"):
        return False
    from memd_client.cli.sign import can_sign, require_signer

    if act == "promote":
        require_signer(memd.home)
        return True
    return can_sign(memd.home)
