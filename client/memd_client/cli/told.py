"""What went in and out of sessions: turns (what the user said), deliveries (what the agents were told), and why (not)."""

import os
from collections.abc import Iterable, Iterator
from itertools import groupby

import click

from memd_client import api
from memd_client.cli import screen
from memd_client.cli.notes import tell_rest
from memd_client.cli.screen import Part
from memd_client.cli.shape import command, page
from memd_client.memd import Memd
from memd_client.reasons import DecidedOut, ForeseenOut

SESSION = click.option("--session", default="", metavar="S", help="Only this session's: its id, or how that begins.")
SHOWN_TEXT_CHARS = 200  # of a turn in the table; `--json` has it whole
SHOWN_SESSION_CHARS = 8  # tells sessions apart, as with a commit's digest
SHOWN_IDS = 10  # of the notes that one rule left out of one answer; then "and n others"
STATE_STYLES = {"delivered": "green", "offered": "yellow", "asked": "cyan", "silent": "dim"}


@command(short_help="What was said to your agents.")
@SESSION
@click.option("--turn", "number", type=click.IntRange(1), metavar="N", help="Only this one, whole.")
@page
def turns(session: str, number: int | None, limit: int, all_: bool, as_json: bool) -> None:
    """What was said to your agents, by you or in your place, newest first. The number is what `--evidence TURN:EXCERPT` takes.

    `typed`: your client's own transcript agrees that a person typed it. Only such turns mark words as yours.
    """
    with Memd() as memd:
        reply = memd.turns(session=session, turn=number or 0, limit=0 if all_ else limit)
    if as_json:
        screen.emit(reply.turns)
        return
    if number is not None:
        for turn in reply.turns:
            _say_whole(turn)
        return
    screen.table(
        ("turn", "at", "session", "attested", "not typed, since", "text"),
        [_turn(turn) for turn in reply.turns],
        spare=("not typed, since", "attested", "session", "at"),
    )
    of = f" of session {session}" if session else ""
    tell_rest(reply.more, none="" if reply.turns else f"no turns{of} yet: they come with the hooks (`memd install`)")


def _say_whole(turn: api.TurnOut) -> None:
    """Who, when and how far it is known, then every line of what was said behind a bar."""
    why = f", not typed, since {turn.not_typed}" if turn.not_typed else ""
    told = f"  {_minute(turn.at)}, session {turn.session}, number {turn.n} in it, {turn.attestation}{why}"
    screen.say((f"turn {turn.turn}", "bold"), (told, "dim"))
    for line in screen.safe(turn.text).split("\n"):
        screen.say("  | ", line)


def _turn(turn: api.TurnOut) -> list[Part]:
    text = turn.text if len(turn.text) <= SHOWN_TEXT_CHARS else turn.text[: SHOWN_TEXT_CHARS - 1] + "…"
    return [
        (str(turn.turn), "bold"),
        (_minute(turn.at), "dim"),
        turn.session[:SHOWN_SESSION_CHARS],
        turn.attestation,
        (turn.not_typed, "dim"),
        text,
    ]


@command(short_help="What your agents were told.")
@SESSION
@click.option("--silent", is_flag=True, help="Also the moments at which all that came up was left out.")
@click.option(
    "--why", "with_why", is_flag=True, help="With the sentence of each rule that left notes out; has --silent."
)
@page
def deliveries(session: str, silent: bool, with_why: bool, limit: int, all_: bool, as_json: bool) -> None:
    """What memd told which agent, at what, and what it left out by which rule; newest first. `asked` is what an agent asked for.

    `memd why REF` asks about one note. Times are UTC.
    """
    with Memd() as memd:
        reply = memd.deliveries(session=session, told=not (silent or with_why), limit=0 if all_ else limit)
    if as_json:
        screen.emit(reply.deliveries)
        return
    if with_why:
        for delivery in reply.deliveries:
            _tell(delivery)
    else:
        columns = ("at", "trigger", "session", "state", "cost", "notes")
        screen.table(
            columns, [_delivery(delivery) for delivery in reply.deliveries], spare=("cost", "session", "state", "at")
        )
    whom = f"session {session}" if session else "anybody"
    left = "" if silent or with_why else "; --silent has what was left out"
    tell_rest(reply.more, none="" if reply.deliveries else f"nothing was told to {whom} yet{left}")


def _delivery(delivery: api.DeliveryOut) -> list[Part]:
    left = ", ".join(f"{ids} {rule}" for rule, _, ids in _left_out(delivery))
    return [
        *_when(delivery),
        (delivery.state, STATE_STYLES.get(delivery.state, "")),
        screen.count(delivery.tokens, "token"),
        _told(delivery) + (f"  left out: {left}" if left else ""),
    ]


def _when(delivery: api.DeliveryOut) -> list[Part]:
    agent = f"/{delivery.agent[:SHOWN_SESSION_CHARS]}" if delivery.agent else ""
    return [
        (_minute(delivery.at), "dim"),
        delivery.trigger + (f" held: {delivery.outcome}" if delivery.outcome else ""),
        delivery.session[:SHOWN_SESSION_CHARS] + agent,
    ]


def _told(delivery: api.DeliveryOut) -> str:
    own = [word for word, is_in in (("notices", delivery.notices), ("policy", delivery.policy)) if is_in]
    return " ".join([*own, *(f"[{note.id}]" for note in delivery.notes)])


def _left_out(delivery: api.DeliveryOut) -> Iterator[tuple[str, str, str]]:
    """(rule, its sentence, the notes that it left out), in the order in which the rules first come."""
    first = {left.rule: n for n, left in reversed(list(enumerate(delivery.left_out)))}
    for rule, group in groupby(sorted(delivery.left_out, key=lambda left: first[left.rule]), lambda left: left.rule):
        left = list(group)
        yield rule, left[0].says, _named([one.id for one in left])


def _named(ids: list[int]) -> str:
    more = len(ids) - SHOWN_IDS
    named = " ".join(f"[{id_}]" for id_ in ids[:SHOWN_IDS])
    return f"{named} and {screen.count(more, 'other')}" if more > 0 else named


def _tell(delivery: api.DeliveryOut) -> None:
    """One delivery on lines of its own, with the sentences."""
    at, trigger, session = _when(delivery)
    state = (delivery.state, STATE_STYLES.get(delivery.state, ""))
    tokens = (screen.count(delivery.tokens, "token"), "dim")
    screen.say(at, "  ", trigger, "  ", session, "  ", state, "  ", tokens)
    if told := _told(delivery):
        screen.say("  told ", told, hang=4)
    for rule, says, ids in _left_out(delivery):
        screen.say("  left out ", ids, f", since {says}", (f"  ({rule})", "dim"), hang=4)


# --- why


MOMENT_WORDS = {
    "session-start": "a session starts here",
    "resume": "that session is resumed",
    "post-compaction": "after a compaction",
    "prompt-submit": "a prompt comes",
    "read": "{} is read",
    "pre-edit": "{} is about to be edited",
    "subagent-start": "a subagent starts",
    "stop": "a turn ends",
    "session-end": "the session ends",
}

NO_NEWS = (
    "nothing was decided about it that was news (what stands already, and what nothing brought up, is not recorded)"
)
NO_MOMENT = "memd heard of no moment in it at which the note could have been told unasked"


@command(short_help="Why a note was told, or was not.")
@click.argument("ref")
@click.option("--session", default="", metavar="S", help="Of this session: its id, or how that begins.")
@click.option("--agent", default="", metavar="A", help="Of this subagent of the session.")
@click.option("--at", multiple=True, metavar="MOMENT", help=f"Only at: {', '.join(MOMENT_WORDS)}.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="When this file is read or edited.")
@click.option("--prompt", default="", metavar="TEXT", help="At this prompt. It is not stored.")
@page
def why(
    ref: str,
    session: str,
    agent: str,
    at: tuple[str, ...],
    paths: tuple[str, ...],
    prompt: str,
    limit: int,
    all_: bool,
    as_json: bool,
) -> None:
    """Why the note REF was told in a session or not, and what would be decided now.

    Without --session it is the one you stand in, else the newest of this repository. Once that has ended, what would be decided now
    is decided for a new session here; `--at resume` asks about its own. Nothing is recorded. Times are UTC.
    """
    with Memd() as memd:
        reply = memd.why(
            ref, session=session, agent=agent, at=at, paths=paths, prompt=prompt, limit=0 if all_ else limit
        )
    if as_json:
        screen.emit(reply)
        return
    screen.say((reply.head, "bold"))
    _tell_decided(reply)
    new = ", in a new session here" if reply.session and not reply.live else ""
    screen.say(f"what would be decided now{new}:")
    for words, one in _rows(reply.foreseen):
        screen.say("  ", words, ": ", *_outcome(one), hang=4)
    if reply.more_files:
        screen.warn(f"{screen.count(reply.more_files, 'more file')} (--path)")
    if os.environ.get("MEMD_OFF", "0") not in ("", "0"):
        screen.warn("MEMD_OFF is set here: a client started from this shell is told nothing")


def _tell_decided(reply: api.WhyReply) -> None:
    if not reply.session:
        screen.say(
            "no session was heard of here yet: ", screen.spoken("`memd status` says whether the hooks are there")
        )
        return
    agent = f", subagent {reply.agent[:SHOWN_SESSION_CHARS]}" if reply.agent else ""
    state = "" if reply.live else ", ended"
    screen.say(f"in session {reply.session} ({reply.harness}{agent}{state}):")
    for one in reply.decided:
        screen.say("  ", (_minute(one.at), "dim"), "  ", *_decided(one), hang=4)
    if not reply.decided:
        screen.say("  ", NO_NEWS if reply.had_moment else NO_MOMENT, hang=4)
    if reply.more:
        screen.warn(f"{reply.more} earlier (--limit, --all)")


def _decided(one: DecidedOut) -> list[Part]:
    agent = f" of {one.agent[:SHOWN_SESSION_CHARS]}" if one.agent else ""
    where: Part = f"{one.trigger}{agent}: "
    if not one.told:
        return [where, ("left out", "yellow"), f", since {one.says}", (f"  ({one.rule})", "dim")]
    if one.state == "asked":
        return [where, ("shown", "cyan"), f", since it was asked for, {screen.count(one.tokens, 'token')}"]
    held = ", the edit was held for it" if one.held else ""
    unsure = "" if one.state == "delivered" else ", but no receipt came"
    return [where, ("told", "green"), f"{held}{unsure}, {screen.count(one.tokens, 'token')}"]


def _rows(foreseen: Iterable[ForeseenOut]) -> Iterator[tuple[str, ForeseenOut]]:
    """(the moment in words, what would be decided): moments in a row with one outcome stand on one line."""
    for _, group in groupby(foreseen, lambda one: (one.outcome, one.rule, one.detail, one.tokens)):
        rows = list(group)
        yield ", ".join(MOMENT_WORDS[one.moment].format(one.path or "a file") for one in rows), rows[0]


def _outcome(one: ForeseenOut) -> list[Part]:
    if one.outcome == "arrives":
        bundle = ", with the bundle of its start, where the session has not had that yet" if one.bundle else ""
        return [("arrives", "green"), f"{bundle}, {screen.count(one.tokens, 'token')}"]
    if one.outcome == "holds":
        return [("holds the edit once", "green"), f", {screen.count(one.tokens, 'token')}"]
    if one.outcome == "depends":
        return [f"{one.says}: --prompt TEXT tries one"]
    detail = f" ({screen.spoken(one.detail)})" if one.detail else ""
    return [("left out", "yellow"), f", since {screen.spoken(one.says)}{detail}", (f"  ({one.rule})", "dim")]


def _minute(at: str) -> str:
    return at[:16].replace("T", " ")
