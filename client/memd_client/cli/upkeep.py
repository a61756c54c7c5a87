"""Checking and rebuilding the store: verify, reindex."""

import click

from memd_client.cli import screen
from memd_client.cli.shape import command
from memd_client.memd import Memd
from memd_client.wire import EXIT_DONE, EXIT_REFUSED


@command(short_help="Check every event.")
def verify(as_json: bool) -> int:
    """Read every event and check it against its digest, its chain and its signature; exit 1 where something is wrong.

    It finds accidents and naive edits. A deliberate rewrite by the same user is found only up to the last signed event.
    """
    with screen.working("reading everything"), Memd() as memd:
        reply = memd.verify()
    if as_json:
        screen.emit(reply)
    else:
        for fault in reply.faults:
            remedy = screen.spoken(fault.remedy[:1].upper() + fault.remedy[1:])
            screen.say((fault.where, "bold"), f": {fault.what}. ", (remedy, "dim"))
        verdict = (screen.count(len(reply.faults), "fault"), "bold red") if reply.faults else ("sound", "green")
        read = f"{screen.count(reply.events, 'event')} in {screen.count(reply.commits, 'commit')}"
        screen.say(verdict, f": {read}, {reply.seconds:.1f} s")
    return EXIT_REFUSED if reply.faults else EXIT_DONE


@command(short_help="Make folds and indexes anew.")
@click.option("--embed", is_flag=True, help="Compute every vector again too.")
@click.option("--despite-damage", is_flag=True, help="Go on where the log is not whole.")
def reindex(embed: bool, despite_damage: bool, as_json: bool) -> None:
    """Make the notes' folds, the word index and the vector indexes anew from the log.

    Nothing is lost by it where the log is whole, which is checked first. Where it is not, the old folds may be all that is left of
    some notes: put a backup back, or say --despite-damage.
    """
    with screen.working("rebuilding"), Memd() as memd:
        reply = memd.reindex(embed=embed, despite_damage=despite_damage)
    if as_json:
        screen.emit(reply)
    else:
        made = f"{screen.count(reply.notes, 'note')}, {screen.count(reply.vectors, 'vector')}"
        screen.say(f"{made} made anew in {reply.seconds:.1f} s")
