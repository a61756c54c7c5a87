"""Acts on what holds now, on how a note is kept and where it holds: supersede, unsupersede, absorb, release, revise, archive,
restore-note, amend. Who has to sign what: acting.py.
"""

import click

from memd_client.cli.acting import carry_out
from memd_client.cli.acts import REASON
from memd_client.cli.shape import command


@command(short_help="A newer note takes an older one's place.")
@click.argument("old")
@click.argument("new")
@REASON
def supersede(old: str, new: str, reason: str, as_json: bool) -> None:
    """The note NEW takes the place of OLD, which was right in its time."""
    carry_out("supersede", old, as_json, by=new, reason=reason)


@command(short_help="An older note was not superseded.")
@click.argument("ref")
@REASON
def unsupersede(ref: str, reason: str, as_json: bool) -> None:
    """The note REF stands for itself again: the newer one did not take its place after all."""
    carry_out("unsupersede", ref, as_json, reason=reason)


@command(short_help="Fold a note into another one.")
@click.argument("old")
@click.argument("new")
@REASON
def absorb(old: str, new: str, reason: str, as_json: bool) -> None:
    """The note OLD is folded into NEW. It is kept, and every reference to it leads to NEW from now on."""
    carry_out("absorb", old, as_json, by=new, reason=reason)


@command(short_help="Take a note out of the one that absorbed it.")
@click.argument("ref")
@REASON
def release(ref: str, reason: str, as_json: bool) -> None:
    """The absorbed note REF stands for itself again."""
    carry_out("release", ref, as_json, reason=reason)


@command(short_help="Give a principle its next wording.")
@click.argument("ref", metavar="SLUG")
@click.option("--text", default="", metavar="T", help="The new wording; without it the note only absorbs.")
@click.option("--absorb", "absorbed", multiple=True, metavar="REF", help="A note that is folded into it.")
@click.option("--why", required=True, metavar="W", help="What changed and why; kept with the revision.")
@click.option("--despite", default="", metavar="REF", help="Say it although this revoked note said the same.")
@click.option("--expected-revision", default=0, type=click.IntRange(0), metavar="N", help="The one that you read.")
def revise(
    ref: str, text: str, absorbed: tuple[str, ...], why: str, despite: str, expected_revision: int, as_json: bool
) -> None:
    """Revise the principle or doctrine SLUG in place: its next revision, with what it takes in.

    A wording that you endorsed goes on being told until you sign the new one.
    """
    carry_out(
        "revise",
        ref,
        as_json,
        reason=why,
        text=text,
        absorb=list(absorbed),
        despite=despite,
        expected_revision=expected_revision,
    )


@command(short_help="Put a note out of the working set.")
@click.argument("ref")
@REASON
def archive(ref: str, reason: str, as_json: bool) -> None:
    """The note REF is told on request only. Never a directive, an open task or a revoked note."""
    carry_out("archive", ref, as_json, reason=reason)


@command("restore-note", short_help="Bring a note back from the archive.")
@click.argument("ref")
@REASON
def restore_note(ref: str, reason: str, as_json: bool) -> None:
    """The archived note REF is in the working set again."""
    carry_out("restore-note", ref, as_json, reason=reason)


@command(short_help="Change a note's priority, tags, anchors or scope.")
@click.argument("ref")
@click.option("--priority", default="", metavar="P", help="low, medium or high.")
@click.option("--tag", "tags", multiple=True, metavar="T", help="A tag to add.")
@click.option("--untag", "untags", multiple=True, metavar="T", help="A tag to take off.")
@click.option("--anchor", "anchors", multiple=True, metavar="ANCHOR", help="What it is about now.")
@click.option("--scope", default="", metavar="S", help="repo, global or session.")
@click.option(
    "--under", default="", metavar="PATH", help="The folder it holds under; the repository's root: all of it."
)
def amend(
    ref: str,
    priority: str,
    tags: tuple[str, ...],
    untags: tuple[str, ...],
    anchors: tuple[str, ...],
    scope: str,
    under: str,
    as_json: bool,
) -> None:
    """Change what the note REF carries beside its words. To let a directive hold in more places, you sign."""
    given = {"priority": priority, "tag": tags, "untag": untags, "anchor": anchors, "scope": scope, "under": under}
    carry_out(
        "amend",
        ref,
        as_json,
        options=tuple(name for name, value in given.items() if value),
        priority=priority,
        tags=list(tags),
        untags=list(untags),
        anchors=list(anchors),
        scope=scope,
        under=under,
    )
