"""`memd stale`: the notes that need a look, with what has changed under them."""

from collections.abc import Iterator

from memd_client import api
from memd_client.cli import screen
from memd_client.cli.notes import CLASS_STYLES, tell_rest
from memd_client.cli.screen import Part
from memd_client.cli.shape import command, page
from memd_client.memd import Memd

PAGE = 200  # notes asked for at once under --all: each of them is compared with what git has
SHA_SHOWN_CHARS = 12
LINE_STYLES = {"+": "green", "-": "red", "@": "cyan"}
STATES = {
    "unknown": "what it was written about is in no commit here, so there is nothing to compare with",
    "too-different": "too much of it has changed to be shown: `git diff` has it",
    "unreadable": "what is there now cannot be read",
}


@command(short_help="Notes that need a look.")
@page
def stale(limit: int, all_: bool, as_json: bool) -> None:
    """The notes that hold here and whose files have changed since, the most delivered first: what changed, and what to do.

    A changed file does not make a note wrong: look, then confirm it or revoke it.
    """
    with Memd() as memd:
        pages = _pages(memd, limit, all_=all_)
        if as_json:
            screen.emit([one for reply in pages for one in reply.notes])
            return
        for reply in pages:
            for one in reply.notes:
                _tell(one)
            if not (all_ and reply.more):
                tell_rest(reply.more, none="" if reply.notes else _nothing(reply))


def _pages(memd: Memd, limit: int, *, all_: bool) -> Iterator[api.StaleReply]:
    """One page, or all of them."""
    offset, size = 0, PAGE if all_ else limit
    while True:
        with screen.working("comparing notes with their files"):
            reply = memd.stale(limit=size, offset=offset)
        yield reply
        offset += size
        if not (all_ and reply.more):
            return


def _nothing(reply: api.StaleReply) -> str:
    looked = f": {screen.count(reply.looked_at, 'note')} looked at" if reply.looked_at else ""
    return f"nothing needs a look here{looked}"


def _tell(one: api.StaleNoteOut) -> None:
    note = one.note
    screen.say((f"[{note.id}]", "bold"), " ", note.kind, " ", *_class(note), "  ", note.summary, hang=4)
    screen.say("  ", (_facts(one), "dim"), hang=4)
    for line in one.verdicts:
        screen.say("  ", (line, "yellow"), hang=4)
    for diff in one.diffs:
        _tell_diff(diff)
    screen.say("  still true: ", screen.spoken(f"`{one.confirm}`"), "; else ", screen.spoken(f"`{one.revoke}`"), hang=4)


def _class(note: api.NoteOut) -> list[Part]:
    return [(note.provenance, CLASS_STYLES.get(note.provenance, ""))]


def _facts(one: api.StaleNoteOut) -> str:
    times = (
        f"told {screen.count(one.delivered, 'time')}, last {one.last_delivered_at[:10]}"
        if one.delivered
        else "never told"
    )
    note = one.note
    since = (
        f"last confirmed {note.last_confirmed_at[:10]}"
        if note.last_confirmed_at
        else f"recorded {note.created_at[:10]}"
    )
    return f"{times}; {since}"


def _tell_diff(diff: api.GroundDiffOut) -> None:
    target = f"{diff.path} ({diff.part})" if diff.part else diff.path
    to = f", now {diff.to}" if diff.to else ""
    since = f" since {diff.commit[:SHA_SHOWN_CHARS]}" if diff.commit else ""
    if diff.state in STATES:
        screen.say("  ", screen.safe_line(f"{target}{to}"), ": ", (screen.spoken(STATES[diff.state]), "dim"), hang=4)
        return
    screen.say("  ", screen.safe_line(f"{target}{to}"), f"{since}:", hang=4)
    for line in diff.lines:
        screen.say("    ", (screen.safe(line).replace("\n", " "), LINE_STYLES.get(line[:1], "dim")), whole=True)
    if diff.more:
        screen.say("    ", (screen.count(diff.more, "more line"), "dim"))
