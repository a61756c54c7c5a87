"""Writing a note, and reading notes: remember, recall, list, show, log."""

import sys
from collections.abc import Iterator

import click
import msgspec

from memd_client import api
from memd_client.cli import screen, showing
from memd_client.cli.anchors import written
from memd_client.cli.screen import Part
from memd_client.cli.shape import command, evidence_of, page
from memd_client.memd import BadUsage, Memd, Refused

KINDS = "directive, task, gotcha, finding, decision"
CLASSES = "human, agent, auto"
UNENDORSED = "told as unendorsed memory until you endorse it: `memd promote {id} --to human`"
STATED = "told as what you said in turn {turn}; to endorse it, `memd promote {id} --to human`"
SAME = ": where one says the same, keep one of them (`memd absorb {} REF`)"
WRONG = ": revoke the one that is wrong"
CLASS_STYLES = {"human": "green", "agent": "yellow", "auto": "dim"}
PRIORITY_STYLES = {"high": "bold red", "low": "dim"}


# --- writing


@command(short_help="Record a note.")
@click.argument("text")
@click.option("--kind", default="finding", show_default=True, metavar="KIND", help=f"One of {KINDS}.")
@click.option("--priority", default="medium", show_default=True, metavar="P", help="low, medium or high.")
@click.option(
    "--anchor",
    "anchors",
    multiple=True,
    metavar="ANCHOR",
    help='What it is about: PATH, PATH::SYMBOL, PATH#L1-L9, or a claim: PATH::NAME=VALUE, PATH ~ "TEXT", !PATH.',
)
@click.option(
    "--proxy", "proxies", multiple=True, metavar="PATH", help="A file that stands for a process (a lockfile)."
)
@click.option("--process", is_flag=True, help="It is about a process or an environment: it ages by time.")
@click.option("--tag", "tags", multiple=True, metavar="T", help="A word to find it by.")
@click.option("--scope", default="repo", show_default=True, metavar="S", help="repo, global or session.")
@click.option("--under", default="", metavar="PATH", help="It holds under this folder of the repository only.")
@click.option(
    "--provenance", default="agent", show_default=True, metavar="P", help="agent or auto; `human` is --endorse."
)
@click.option("--source", default="", metavar="TYPE:REF", help="Who or what said it; memd says it where it can.")
@click.option("--evidence", multiple=True, metavar="TURN:EXCERPT", help="Your own words behind it, from `memd turns`.")
@click.option("--derived-from", multiple=True, metavar="REF", help="A note that it is built on.")
@click.option("--contradicts", default="", metavar="REF", help="The note that it shows to be wrong: revoked with it.")
@click.option("--supersedes", default="", metavar="REF", help="The older note whose place it takes.")
@click.option("--reason", default="", metavar="R", help="Why the other note is wrong or out of date.")
@click.option("--despite", default="", metavar="REF", help="Record it although this revoked note said the same.")
@click.option(
    "--same-as", default="", metavar="REF", help="A note that says so already: your words are folded into it."
)
@click.option("--level", default="", metavar="L", help="principle or doctrine: a rule of the curated ladder.")
@click.option("--slug", default="", metavar="S", help="The rule's name, such as validate-tokens-with-leeway.")
@click.option("--sources", default="", metavar="REF,…", help="The notes that taught it.")
@click.option(
    "--source-ref",
    default="",
    metavar="L0-…#L2",
    hidden=True,
    help="The line of a transcript that an atom was taken from.",
)
@click.option("--distinct", is_flag=True, help="It is another rule than the one it is near to; --why says how.")
@click.option("--why", default="", metavar="W", help="What made it a rule; kept with it.")
@click.option("--endorse", is_flag=True, help="Endorse it in the same act, with your passphrase.")
def remember(
    text: str,
    kind: str,
    priority: str,
    anchors: tuple[str, ...],
    proxies: tuple[str, ...],
    process: bool,
    tags: tuple[str, ...],
    scope: str,
    under: str,
    provenance: str,
    source: str,
    evidence: tuple[str, ...],
    derived_from: tuple[str, ...],
    contradicts: str,
    supersedes: str,
    reason: str,
    despite: str,
    same_as: str,
    level: str,
    slug: str,
    sources: str,
    source_ref: str,
    distinct: bool,
    why: str,
    endorse: bool,
    as_json: bool,
) -> None:
    """Record TEXT as a note; `-` reads it from stdin. Prints the note's id.

    Put `--` before a TEXT that begins with a dash.
    """
    if contradicts and supersedes:
        raise click.UsageError("a note has one of --contradicts and --supersedes")
    content = _stdin() if text == "-" else text
    if not content.strip():
        raise BadUsage(
            "empty-content", "A note needs a content: say in one sentence what is true, where, and why it matters."
        )
    with Memd() as memd:
        if endorse:
            from memd_client.cli.sign import require_signer

            require_signer(memd.home)
        told = memd.remember(
            content,
            kind=kind,
            priority=priority,
            provenance=provenance,
            source=source,
            scope=scope,
            under=under,
            anchors=anchors,
            proxies=proxies,
            process=process,
            tags=tags,
            evidence=[evidence_of(given) for given in evidence],
            derived_from=derived_from,
            contradicts=contradicts,
            supersedes=supersedes,
            reason=reason,
            despite=despite,
            same_as=same_as,
            level=level,
            slug=slug,
            sources=[ref.strip() for ref in sources.split(",") if ref.strip()],
            source_ref=source_ref,
            distinct=distinct,
            why=why,
            endorse=endorse,
        )
        if told.plan is not None:
            from memd_client.cli.sign import Asked, seal

            sealed = seal(memd, told.plan, Asked(act="record and endorse", id=0, uid=told.uid))
            told = msgspec.structs.replace(
                told,
                id=sealed.id,
                uid=sealed.uid,
                told=[*told.told, *sealed.told],
                revoked=sealed.revoked,
                superseded=sealed.superseded,
            )
        if as_json:
            _emit_remembered(told)
            return
    happened = list(_happened(told))
    if kind == "directive" and not endorse and not told.kept:
        line = STATED if told.stated else UNENDORSED
        happened.append(screen.spoken(line.format(id=told.id, turn=told.stated)))
    _tell_remembered(told, happened)


def _happened(told: api.Remembered) -> Iterator[str]:
    """What else the write did: to the content, and to the note that it corrects or follows."""
    if told.redacted:
        yield "a secret was taken out before it was stored: " + screen.spoken(f"`memd show {told.id}`")
    if told.revoked:
        yield f"[{told.revoked}] is revoked"
    if told.superseded:
        yield f"[{told.superseded}] is superseded by it"


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise Refused("not-unicode", "The content is not valid UTF-8; send it again as UTF-8 text.") from error


def _emit_remembered(told: api.Remembered) -> None:
    screen.emit(
        {
            "id": told.id,
            "uid": told.uid,
            "near": told.near,
            "conflicts": told.conflicts,
            "tombstones": told.tombstones,
            "told": told.told,
            "stated": told.stated,
            "kept": told.kept,
        }
    )


def _tell_remembered(told: api.Remembered, happened: list[str]) -> None:
    screen.say((f"[{told.id}]", "bold"), " as it was" if told.kept else " recorded")
    for line in happened:
        screen.say("  ", line)
    if told.near:
        screen.say(("  close to ", "dim"), _ids(told.near), (screen.spoken(SAME.format(told.id)), "dim"))
    if told.conflicts:
        screen.say(("  may conflict with ", "yellow"), _ids(told.conflicts), (WRONG, "dim"))
    for line in told.tombstones:
        screen.say("  ", (line, "strike"))
    for line in told.told:
        screen.say("  ", line)


def _ids(ids: list[int]) -> str:
    return " ".join(f"[{id_}]" for id_ in ids)


# --- reading


@command(short_help="The notes that bear on a question.")
@click.argument("query")
@click.option("-k", default=10, show_default=True, type=click.IntRange(1, 100), help="How many.")
@click.option("--kind", default="", metavar="KIND", help=f"Only this kind: {KINDS}.")
@click.option("--explain", is_flag=True, help="What each score is made of, and what was left out.")
@click.option("--all-scopes", is_flag=True, help="Every repository's notes, not only those that hold here.")
@click.option("--superseded", is_flag=True, help="Those too whose place a newer note has taken.")
def recall(query: str, k: int, kind: str, explain: bool, all_scopes: bool, superseded: bool, as_json: bool) -> None:
    """The notes that bear on QUERY, by its words or its meaning, the most trusted of the nearest first. The query is not stored.

    Into a pipe it prints byte for byte what an agent gets.
    """
    with Memd() as memd:
        reply = memd.recall(query, k=k, kind=kind, all_scopes=all_scopes, superseded=superseded)
    if as_json:
        screen.emit(reply)
    elif screen.is_terminal():
        _lay_out(reply, explain)
    else:
        sys.stdout.buffer.write(reply.text.encode())
        if explain:
            for found in reply.found:
                screen.say(f"[{found.note.id}] {_explained(found)}")
            _tell_left_out(reply)


def _lay_out(reply: api.RecallReply, explain: bool) -> None:
    """Recalled notes for a person: who stands behind it first, then the content, then what is known of its ground.

    Rules of policy files come before them.
    """
    for rule in reply.policy:
        screen.say((f"policy {rule.file}", "bold green"), (f"  {rule.repo}" if rule.repo else "", "dim"))
        for line in rule.text.split("\n"):
            screen.say("  ", line)
    for found in reply.found:
        note = found.note
        screen.say(*_head(note), ("  " + note.created_at[:10], "dim"))
        if note.tombstone is not None:
            screen.say("  ", (note.tombstone, "strike dim"))
        else:
            for line in note.content.split("\n"):
                screen.say("  ", line)
            for stale in note.stale:
                anchor = written(stale.form, stale.path, stale.part)
                screen.say("  ", (f"changed since: {anchor} [{stale.signal}]: verify", "yellow"))
        if explain:
            screen.say("  ", (_explained(found), "dim"))
    if not reply.found and not reply.policy:
        screen.say(("nothing here bears on that", "dim"))
        if reply.left_out and not explain:
            screen.say(("ask in other words; --explain names what came nearest", "dim"))
    if explain:
        _tell_left_out(reply)
    if reply.vectors != "full":
        how = "word by word" if reply.vectors else "by words alone"
        screen.say((f"(compared {how}: the model is still loading)", "dim"))


def _tell_left_out(reply: api.RecallReply) -> None:
    for one in reply.left_out:
        screen.say((f"[{one.id}] left out: {one.says}", "dim"))


def _head(note: api.NoteOut) -> list[Part]:
    return [
        (f"[{note.id}] ", "bold"),
        (note.kind, ""),
        ("  " + note.priority, PRIORITY_STYLES.get(note.priority, "")),
        ("  " + note.frame_class, CLASS_STYLES.get(note.frame_class.partition(" ")[0], "")),
        ("  stale", "yellow") if note.stale and note.tombstone is None else "",
        ("  revoked", "red") if note.tombstone is not None else "",
        (f"  {_mark(note)}", "dim") if _mark(note) else "",
    ]


def _mark(note: api.NoteOut) -> str:
    """A word for a note whose content no longer asks for anything; "" for one that does, and for a tombstone."""
    if note.tombstone is not None:
        return ""
    if note.state.currency != "current":
        return f"[{note.state.currency}]"
    if note.state.shelf == "archived":
        return "[archived]"
    return "[closed]" if note.state.task == "closed" else ""


def _explained(found: api.Found) -> str:
    factors = "  ".join(f"{name} {value:.3f}" for name, value in found.factors.items())
    return f"score {found.score:.3f}  {factors}".rstrip()


@command("list", short_help="The notes that hold here, newest first.")
@click.option("--kind", default="", metavar="KIND", help=f"Only this kind: {KINDS}.")
@click.option("--provenance", default="", metavar="P", help="Only this class: human, agent or auto.")
@click.option("--all-scopes", is_flag=True, help="Every repository's notes, not only those that hold here.")
@click.option("--revoked", is_flag=True, help="Those that were found wrong.")
@click.option("--superseded", is_flag=True, help="Those too that were superseded, absorbed or archived.")
@page
def list_(
    kind: str,
    provenance: str,
    all_scopes: bool,
    revoked: bool,
    superseded: bool,
    limit: int,
    all_: bool,
    as_json: bool,
) -> None:
    """The notes that hold here, newest first."""
    _known("kind", kind, KINDS)
    _known("class", provenance, CLASSES)
    with Memd() as memd:
        reply = memd.notes(
            kind=kind,
            provenance=provenance,
            all_scopes=all_scopes,
            revoked=revoked,
            superseded=superseded,
            limit=0 if all_ else limit,
        )
    if as_json:
        screen.emit(reply.notes)
        return
    screen.table(("id", "kind", "priority", "class", "since", "summary"), [_row(note) for note in reply.notes])
    if not reply.notes:
        screen.warn(_none(kind, provenance, all_scopes=all_scopes, revoked=revoked))
    tell_rest(reply.more)


def _known(what: str, word: str, known: str) -> None:
    if word and word not in known.split(", "):
        raise BadUsage(f"unknown-{what}", f"There is no {what} `{screen.safe_line(word)}`: {known}.")


def _none(kind: str, provenance: str, *, all_scopes: bool, revoked: bool) -> str:
    """That there is no such note, with the filters that may be why."""
    filters = [f"of kind {kind}"] * bool(kind) + [f"of class {provenance}"] * bool(provenance)
    which = " ".join(["no revoked notes" if revoked else "no notes", *filters])
    records = "" if filters or revoked else "`memd remember TEXT` records one"
    if all_scopes:
        return f"{which}: {records}" if records else which
    return f"{which} hold here: {', '.join(filter(None, ('`memd list --all-scopes` looks everywhere', records)))}"


def _row(note: api.NoteOut) -> list[Part]:
    return [
        (f"[{note.id}]", "bold"),
        note.kind,
        (note.priority, PRIORITY_STYLES.get(note.priority, "")),
        (note.provenance, CLASS_STYLES.get(note.provenance, "")),
        (note.created_at[:10], "dim"),
        _summary(note),
    ]


def _summary(note: api.NoteOut) -> Part:
    """What stands in a list: the tombstone of a revoked note, never its content; what else befell it in words."""
    if note.tombstone is not None:
        return note.tombstone, "strike dim"
    if mark := _mark(note):
        return f"{mark} {note.summary}", "dim"
    if note.stale:
        return f"{note.summary} (changed since: verify)", "yellow"
    return note.summary


def tell_rest(more: int, none: str = "") -> None:
    """What a page does not show, on stderr, so that it never stands among the rows."""
    if more:
        screen.warn(f"{more} more (--limit, --all)")
    elif none:
        screen.warn(none)


@command(short_help="One note with everything that is known of it.")
@click.argument("ref")
def show(ref: str, as_json: bool) -> None:
    """One note with everything that is known of it. REF is an id (47 or [47]), a uid or a slug.

    Words of yours are set off, with the turn in which you said them; `memd turns --turn N` has it whole.
    """
    with Memd() as memd:
        reply = memd.show(ref)
    if as_json:
        screen.emit(reply.note)
    else:
        for hang, parts in showing.lines(reply.text.rstrip()):
            screen.say(*parts, hang=hang)


@command(short_help="Everything that happened to a note.")
@click.argument("ref")
@page
def log(ref: str, limit: int, all_: bool, as_json: bool) -> None:
    """Everything that happened to the note REF, oldest first: when, who through which door, and what.

    `local` is what happened on this machine alone: when the note was told, and to whom. Times are UTC.
    """
    with Memd() as memd:
        reply = memd.log(ref, limit=0 if all_ else limit)
    if as_json:
        screen.emit(reply.events)
        return
    screen.say((reply.head, "bold"))
    if screen.is_terminal():
        screen.table(("when (UTC)", "who", "what"), [_happening(event) for event in reply.events], spare=("who",))
    else:
        for event in reply.events:
            screen.say(event.line)
    if reply.more:
        screen.warn(f"{reply.more} earlier (--limit, --all)")
    if reply.local_since:
        screen.warn(
            f"what was told before {reply.local_since[:10]} is left out: `memd deliveries --all` has what is kept of it"
        )


def _happening(event: api.EventOut) -> list[Part]:
    style = "dim" if event.local else "green" if event.signed else "yellow" if event.effect != "applied" else ""
    return [(event.when, "dim"), (event.who, style), (event.what, style)]
