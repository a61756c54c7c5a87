"""What went in and out of sessions: turns (what the user said) and deliveries (what the agents were told)."""

import click

from memd_client import api
from memd_client.cli import screen
from memd_client.cli.notes import tell_rest
from memd_client.cli.screen import Part
from memd_client.cli.shape import command, page
from memd_client.memd import Memd

SESSION = click.option("--session", default="", metavar="S", help="Only this session's.")
SHOWN_TEXT_CHARS = 200  # of a turn in the table; `--json` has it whole
SHOWN_SESSION_CHARS = 8  # tells sessions apart, as with a commit's digest
STATE_STYLES = {"delivered": "green", "offered": "yellow"}


@command(short_help="What you said.")
@SESSION
@page
def turns(session: str, limit: int, all_: bool, as_json: bool) -> None:
    """What you said to your agents, newest first. The number is what `--evidence TURN:EXCERPT` takes."""
    with Memd() as memd:
        reply = memd.turns(session=session, limit=0 if all_ else limit)
    if as_json:
        screen.emit(reply.turns)
        return
    screen.table(
        ("turn", "at", "session", "attested", "text"),
        [_turn(turn) for turn in reply.turns],
        spare=("attested", "session", "at"),
    )
    of = f" of session {session}" if session else ""
    tell_rest(reply.more, none="" if reply.turns else f"no turns{of} yet: they come with the hooks (`memd install`)")


def _turn(turn: api.TurnOut) -> list[Part]:
    text = turn.text if len(turn.text) <= SHOWN_TEXT_CHARS else turn.text[: SHOWN_TEXT_CHARS - 1] + "…"
    return [
        (str(turn.turn), "bold"),
        (_minute(turn.at), "dim"),
        turn.session[:SHOWN_SESSION_CHARS],
        turn.attestation,
        text,
    ]


@command(short_help="What your agents were told.")
@SESSION
@page
def deliveries(session: str, limit: int, all_: bool, as_json: bool) -> None:
    """What memd told which agent, at what, and what it left out and why; newest first."""
    with Memd() as memd:
        reply = memd.deliveries(session=session, limit=0 if all_ else limit)
    if as_json:
        screen.emit(reply.deliveries)
        return
    columns = ("at", "trigger", "session", "state", "tokens", "notes")
    screen.table(
        columns, [_delivery(delivery) for delivery in reply.deliveries], spare=("tokens", "session", "state", "at")
    )
    whom = f"session {session}" if session else "anybody"
    tell_rest(reply.more, none="" if reply.deliveries else f"nothing was told to {whom} yet")


def _delivery(delivery: api.DeliveryOut) -> list[Part]:
    told = " ".join([*(["notices"] if delivery.notices else []), *(f"[{note.id}]" for note in delivery.notes)])
    left = ", ".join(f"[{left.id}] {left.rule}" for left in delivery.left_out)
    return [
        (_minute(delivery.at), "dim"),
        delivery.trigger + (" held" if delivery.held else ""),
        delivery.session[:SHOWN_SESSION_CHARS] + (f"/{delivery.agent[:SHOWN_SESSION_CHARS]}" if delivery.agent else ""),
        (delivery.state, STATE_STYLES.get(delivery.state, "")),
        str(delivery.tokens),
        told + (f"  left out: {left}" if left else ""),
    ]


def _minute(at: str) -> str:
    return at[:16].replace("T", " ")
