"""Acts on what is believed, and on tasks: promote, revoke, reinstate, confirm, review, link-evidence, resolve, done, reopen.

On a note that a person endorsed, what changes it needs that person: at a terminal with a key the command shows what will be signed
and asks for the passphrase; anywhere else the daemon records a proposal and says so. `confirm` is that person's no to a proposal:
signed where one stands, unsigned where none does, as the daemon says.
"""

import click

from memd_client.cli.acting import carry_out
from memd_client.cli.shape import command, evidence_of

REASON = click.option("--reason", default="", metavar="R", help="Why; the next reader sees it.")


@command(short_help="Raise a note one rung.")
@click.argument("ref")
@click.option("--to", required=True, metavar="CLASS", help="agent or human.")
def promote(ref: str, to: str, as_json: bool) -> None:
    """Raise the note REF one rung: auto, agent, human. `human` is signed with your passphrase, at your own terminal."""
    carry_out("promote", ref, as_json, to=to)


@command(short_help="A note was wrong.")
@click.argument("ref")
@click.option("--reason", required=True, metavar="R", help="Why; it is told in the place of the note.")
def revoke(ref: str, reason: str, as_json: bool) -> None:
    """The note REF was wrong. It is kept and comes back struck through, with the reason, for the question it would answer."""
    carry_out("revoke", ref, as_json, reason=reason)


@command(short_help="A revoked note was right after all.")
@click.argument("ref")
@REASON
def reinstate(ref: str, reason: str, as_json: bool) -> None:
    """The revoked note REF was right after all."""
    carry_out("reinstate", ref, as_json, reason=reason)


@command(short_help="A note still holds.")
@click.argument("ref")
def confirm(ref: str, as_json: bool) -> None:
    """The note REF was checked and holds: its date and the hashes of its files are taken anew, its class stays.

    Where an agent proposed to change a note that you endorsed, this is your no: with your passphrase the note stays as it is.
    """
    carry_out("confirm", ref, as_json)


@command(short_help="A flagged note was reviewed.")
@click.argument("ref")
@click.option("--of", multiple=True, metavar="REF", help="Only what the fall of this ancestor raised.")
def review(ref: str, of: tuple[str, ...], as_json: bool) -> None:
    """The note REF was built on something that fell; you have looked at it, and it stands. Its warning goes."""
    carry_out("review", ref, as_json, of=list(of))


@command("link-evidence", short_help="Bind the user's words to a note.")
@click.argument("ref")
@click.argument("evidence", nargs=-1, required=True, metavar="TURN:EXCERPT…")
def link_evidence(ref: str, evidence: tuple[str, ...], as_json: bool) -> None:
    """Bind words that you said to the note REF: the number that `memd turns` shows, and an exact excerpt of that turn."""
    carry_out("link_evidence", ref, as_json, evidence=[evidence_of(given) for given in evidence])


@command(short_help="Settle a conflict of two notes.")
@click.argument("a")
@click.argument("b")
@click.option("--a-wins", "how", flag_value="a_wins", help="B is revoked.")
@click.option("--b-wins", "how", flag_value="b_wins", help="A is revoked.")
@click.option(
    "--both-demoted", "how", flag_value="both_demoted", help="Both stand, and keep what the conflict cost them."
)
@click.option("--merged", "how", flag_value="merged", help="B is absorbed into A.")
@REASON
def resolve(a: str, b: str, how: str | None, reason: str, as_json: bool) -> None:
    """Settle the open conflict between the notes A and B. What was found wrong is revoked and names the note that put it right."""
    if how is None:
        raise click.UsageError("say how: --a-wins, --b-wins, --both-demoted or --merged")
    carry_out("resolve", a, as_json, by=b, resolution=how, reason=reason)


@command(short_help="A task is done.")
@click.argument("ref")
@REASON
def done(ref: str, reason: str, as_json: bool) -> None:
    """The task REF is done."""
    carry_out("done", ref, as_json, reason=reason)


@command(short_help="A task is open again.")
@click.argument("ref")
def reopen(ref: str, as_json: bool) -> None:
    """The task REF is open again."""
    carry_out("reopen", ref, as_json)
