"""What hooks tell memd: the user's turns, verbatim but for redaction, and commits (evidence.md; hooks.md, section 4).

Nothing of it is kept under a pause, signed or not, or where memd is kept out (model/settings.py). What was spooled counts by the
moment it was said: a hook cannot know of a pause, so what it wrote aside during one goes unread, also when the pause is over.
"""

from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final

import msgspec

from memd_client import wire
from memd_daemon import limits
from memd_daemon.ground import repository
from memd_daemon.model import event as ev
from memd_daemon.model.turn import Turn, Witness
from memd_daemon.model.words import Attestation, Kind, Priority, Provenance, SourceType, Surface
from memd_daemon.service import text, witness
from memd_daemon.service.asker import Asker, stands_in, system
from memd_daemon.service.clients import Client
from memd_daemon.service.names import is_safe
from memd_daemon.service.parts import Parts
from memd_daemon.service.prompt_text import as_stored
from memd_daemon.service.repos import Place
from memd_daemon.service.terms import directory_of
from memd_daemon.store.port import Txn
from memd_hooks.events import Harness, HookEvent
from memd_hooks.harness.git import is_replay

if TYPE_CHECKING:
    from memd_daemon.service.wanted import Wanted


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A turn's number in the store, and whether it was new."""

    number: int
    new: bool


def attestation_of(seen: Witness, *, person_entry: bool, nested: bool) -> Attestation:
    """What is known of who typed a turn, before any transcript was read.

    `typed` is said only once the harness's own transcript agrees (attest.py); until then a prompt from a client in which a person
    types is `captured`.
    """
    if nested or not person_entry:
        return Attestation.HEADLESS
    return Attestation.REPLAYED if seen.spooled else Attestation.CAPTURED


def is_kept(parts: Parts, place: Place, spooled_at_ms: int = 0) -> bool:
    """Whether memd keeps what is said at this place now, or was said when it was spooled (UTC, Unix ms)."""
    settings, now_ms = parts.settings(), parts.now_ms()
    if settings.is_default:
        return True
    is_paused = settings.paused_at(spooled_at_ms) if spooled_at_ms else settings.is_paused(now_ms)
    return not is_paused and not settings.is_out(place.scope, directory_of(place), now_ms)


def store_prompt(
    parts: Parts,
    hook: wire.Hook,
    harness: Harness,
    event: HookEvent,
    place: Place,
    client: Client | None,
    at_ms: int,
    *,
    spooled: bool,
) -> Stored | None:
    """The user's turn, durable when this returns; None where it is not to be kept."""
    if not is_kept(parts, place, at_ms if spooled else 0):
        return None
    seen = witness.spooled(event) if spooled else witness.live(event, client)
    attestation = attestation_of(
        seen,
        person_entry=event.entry_point in harness.PERSON_ENTRY_POINTS,
        nested=bool(client and client.nested),
    )
    stored = store_turn(parts, event, place, seen, attestation, hook.request_id, at_ms)
    if stored.new and attestation != Attestation.HEADLESS:
        parts.unsettled.await_turn(stored.number, event.session, parts.now_ms())
    return stored


def store_turn(
    parts: Parts, event: HookEvent, place: Place, seen: Witness, attestation: Attestation, request: bytes, at: int
) -> Stored:
    """Stores the prompt once: by request id, by the harness's prompt id, or by equal text within the window. Durable on return."""
    words = as_stored(parts, event.prompt)

    def work(txn: Txn) -> Stored:
        known = txn.turn_of_request(request) or _same_prompt(txn, event, words, at)
        if known is not None:
            return Stored(number=known, new=False)
        turn = Turn(
            uid=parts.new_uid(),
            number=0,
            session=event.session,
            agent=event.agent,
            n=txn.session_turns(event.session) + 1,
            harness=event.harness,
            repo=place.scope,
            at=at,
            text=words,
            attestation=attestation,
            witness=seen,
            request=request,
        )
        return Stored(number=txn.add_turn(turn), new=True)

    return parts.store.write(work)


def _same_prompt(txn: Txn, event: HookEvent, words: str, at: int) -> int | None:
    """The turn that this prompt is already: equal words under the same prompt id, or without one within the window."""
    if event.prompt_id:
        if txn.turn_of_prompt(event.session, event.prompt_id) is None:
            return None
        lately = islice(txn.turns(session=event.session), limits.SAME_PROMPT_TURNS)
        return next((t.number for t in lately if t.witness.prompt_id == event.prompt_id and t.text == words), None)
    last = next(txn.turns(session=event.session), None)
    if last is None or last.text != words or last.witness.prompt_id:
        return None
    return last.number if abs(at - last.at) < limits.SAME_PROMPT_WINDOW_MS else None


def record_commit(parts: Parts, event: HookEvent, place: Place, at_ms: int = 0, pid: int = 0) -> int | None:
    """The note of a commit, once per sha; its id, or None where there is no news.

    The commit is the one at HEAD; for a call that was spooled at ``at_ms`` (Unix ms) what HEAD's reflog says of that moment. The
    session is named where memd has heard of it, and the hook, whose process is ``pid``, stands under its client.

    None during a rebase, cherry-pick, am, revert or merge: those move commits that are known; and where it is not to be kept.
    """
    checkout = place.checkout
    if not is_kept(parts, place, at_ms):
        return None
    if not checkout.common or repository.in_progress(checkout.git_dir):
        return None
    made = _commit_made(checkout.root, at_ms)
    if made is None or len(made.parents) > 1 or is_replay(made.move):
        return None
    context = parts.ledger.context(event.session, "") if event.session else None
    session = event.session if context is not None and (at_ms or stands_in(context, pid)) else ""
    asker = Asker(actor=system(Surface.GIT).actor, surface=Surface.GIT, session=session)
    wanted = _commit_wanted(parts, place, session, made)
    amended = _once(place, made.amended) if made.amended else ""
    from memd_daemon.service.remember import commit_note  # later.py says why

    return commit_note(parts, wanted, asker, once=_once(place, made.sha), amended=amended)


def _once(place: Place, sha: str) -> str:
    """The setting that holds the uid of a commit's note."""
    return f"commit/{place.scope}/{sha}"


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A commit as git tells it. ``move`` is the reflog's word for how HEAD came to it, "" where there is no reflog.

    ``amended`` is the sha of the commit that this one was made in the place of, "" for any other.
    """

    sha: str
    parents: tuple[str, ...]
    subject: str
    move: str = ""
    amended: str = ""


def _commit_made(root: str, at_ms: int) -> Made | None:
    """The commit that HEAD's reflog had come to by that moment (its newest line for 0), else the commit at HEAD."""
    count = str(limits.REFLOG_LOOKED_AT if at_ms else limits.REFLOG_MOVE_AND_BEFORE)
    told = repository.git(
        root, "log", "-g", "-n", count, "--date=unix", f"--format={_LINE}%x00%gd%x00%gs", "HEAD", "--"
    )
    lines = [(line.split("\0") + [""] * len(_FIELDS))[: len(_FIELDS)] for line in (told or "").split("\n") if line]
    for (sha, parents, subject, moved, move), before in zip_longest(lines, lines[1:], fillvalue=[""]):
        second = moved.partition("{")[2].rstrip("}")
        if not at_ms or (second.isdigit() and int(second) <= at_ms // limits.MS_PER_S):
            amended = before[0] if move.startswith(_AMENDED) else ""
            return Made(sha=sha, parents=tuple(parents.split()), subject=subject, move=move, amended=amended)
    shown = repository.git(root, "show", "--no-patch", f"--format={_LINE}", "HEAD", "--")
    if not shown or at_ms:
        return None
    sha, parents, subject = shown.strip("\n").split("\0")
    return Made(sha=sha, parents=tuple(parents.split()), subject=subject)


_LINE: Final = "%H%x00%P%x00%s"
_AMENDED: Final = "commit (amend)"
_FIELDS: Final = ("sha", "parents", "subject", "moved", "move")


def _files_of(root: str, sha: str) -> list[str]:
    names = (
        repository.git(
            root, "show", "--format=", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", sha, "--"
        )
        or ""
    )
    return [name for name in names.split("\0") if name]


def _commit_wanted(parts: Parts, place: Place, session: str, made: Made) -> "Wanted":
    from memd_daemon.service.wanted import Wanted  # as above

    files = _files_of(place.checkout.root, made.sha)
    subject = _said(parts, made.subject, limits.COMMIT_SUBJECT_MAX_CHARS)
    listed = [_said(parts, name, limits.LINE_MAX_CHARS) for name in files[: limits.COMMIT_FILES_MAX]]
    more = len(files) - len(listed)
    names = ", ".join(listed) + (f", +{more}" if more > 0 else "")
    branch = _said(parts, place.checkout.branch, limits.LINE_MAX_CHARS) or "a detached head"
    within = f" in session {session}" if session else ""
    content = f"Commit {made.sha[: limits.SHA_SHOWN_CHARS]} on {branch}{within}: {subject}\nFiles: {names or 'none'}"
    return Wanted(
        uid=parts.new_uid(),
        content=content,
        summary=text.summary_of(subject or content),
        kind=Kind.FINDING,
        priority=Priority.LOW,
        provenance=Provenance.AUTO,
        source=ev.Source(SourceType.COMMIT, made.sha),
        scope=place.scope,
        anchors=_commit_anchors(parts, place, files[: limits.COMMIT_FILES_MAX]),
    )


def _said(parts: Parts, words: str, most: int) -> str:
    """Words of git's as they stand in a note: one line of text without credentials, cut at ``most`` characters."""
    line = " ".join(parts.redact(text.normal(repository.clean(words))).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _commit_anchors(parts: Parts, place: Place, files: list[str]) -> tuple[ev.Anchor, ...]:
    anchors = []
    for name in files:
        path = repository.relative_path(place.checkout.root, place.checkout.root, repository.clean(name))
        digest = parts.ground.digest(place.checkout.root, path) if path else None
        if path and digest and len(path) <= limits.LINE_MAX_CHARS and is_safe(path):
            anchors.append(ev.Anchor(path=path, digest=digest, checkout_branch=place.checkout.branch))
    return tuple(anchors)
