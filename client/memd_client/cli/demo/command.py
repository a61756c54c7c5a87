"""`memd demo`: the first command of the README."""

import time

import click

from memd_client.cli import screen
from memd_client.cli.demo.play import SCENES, play
from memd_client.cli.demo.scratch import Scratch
from memd_client.cli.demo.stage import Stage
from memd_client.cli.shape import command


@command(short_help="Play a whole session in a scratch home.")
@click.option("--keep", is_flag=True, help="Keep the scratch home and repository, and say where they are.")
def demo(keep: bool, as_json: bool) -> None:
    """Play a whole session in a scratch home, with the real hook scripts, daemon and store. Nothing of yours is touched.

    It ends non-zero if any of its scenes does not show what it should.
    """
    begin = time.monotonic()
    stage = Stage(len(SCENES), silent=as_json)
    scratch = Scratch()
    try:
        with screen.working("making a scratch home and repository"):
            scratch.build()
        play(scratch, stage)
    finally:
        scratch.close(keep=keep)
    seconds = time.monotonic() - begin
    if as_json:
        kept = str(scratch.folder) if keep else None
        screen.emit({"scenes": stage.told, "seconds": round(seconds, 1), "kept": kept})
        return
    screen.say()
    left = f"it is kept in {scratch.folder}" if keep else "nothing of it is left"
    screen.say(("All of it was real", "green"), f": {len(SCENES)} scenes in {seconds:.0f} s, and {left}.")
    screen.say(f"`{screen.command_words()} install` puts it into your own client.")
