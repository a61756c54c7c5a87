"""Notes in their order: the decisions as they were taken, and the way from a note to what it stands on and what stands on it."""

import sys

import click

from memd_client.cli import screen
from memd_client.cli.notes import tell_rest
from memd_client.cli.shape import command, page
from memd_client.memd import Memd


@command(short_help="The decisions, in the order they were taken.")
@click.argument("ref", required=False, default="")
@click.option(
    "--around", default=3, show_default=True, type=click.IntRange(0), help="Neighbours of REF on either side."
)
@click.option("--all-scopes", is_flag=True, help="Every repository's, not only those that hold here.")
@page
def decisions(ref: str, around: int, all_scopes: bool, limit: int, all_: bool, as_json: bool) -> None:
    """The decisions that hold here, oldest first, superseded and revoked ones in their place.

    With REF those around that note, whatever its kind. Into a pipe it prints byte for byte what an agent gets.
    """
    with Memd() as memd:
        reply = memd.decisions(ref, around=around, all_scopes=all_scopes, limit=0 if all_ else limit)
    if as_json:
        screen.emit([found.note for found in reply.found])
    else:
        tell(reply.text)
    if not ref:
        tell_rest(reply.before)


@command(short_help="What a note stands on, and what stands on it.")
@click.argument("ref")
def trace(ref: str, as_json: bool) -> None:
    """Down from the note REF to its sources and to the words that the user said, and up to what is built on it."""
    with Memd() as memd:
        reply = memd.trace(ref)
    if as_json:
        screen.emit(reply)
    else:
        tell(reply.text)


def tell(text: str) -> None:
    """An agent's text: laid out on a terminal, byte for byte into a pipe."""
    if not screen.is_terminal():
        sys.stdout.buffer.write(text.encode())
        return
    for line in text.rstrip().split("\n"):
        screen.say(line)
