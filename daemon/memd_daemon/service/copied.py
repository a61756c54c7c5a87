"""Whose words a note's are: what is recorded as its source, whatever its writer says (evidence.md, "Sources"; model.md, section 4).

Every run of the note's words is looked up among those that tools gave the writer's session, its subagents' and those that it
continues. A write outside any session is held against what every session was given of late: a command that left its session
behind gains nothing by it, and who copies a page by hand copies it all the same.

**Who had the words first** bears them. A whole statement that the user typed in this session (evidence/) is the user's whenever it
was typed, and a note that is such statements from end to end is nobody else's. A note that was told to the writer and is older than
a tool's result has its words itself, and comes with its own source where that is a document or a tool: what was copied once is no
inference the next time.

**A source** is stamped where enough words in a row are a document's or a tool's, or fewer where they are most of the note. **A
directive** is refused at less than that, and for the repository's own words too. Who signs has read what the note says: an
endorsed directive is the person's own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import msgspec

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.evidence import Said, read, statements
from memd_daemon.frames import told
from memd_daemon.index import shingles
from memd_daemon.model import event as ev
from memd_daemon.model.tool_result import REPOSITORY, UNTRUSTED_ORIGINS, ToolResult
from memd_daemon.model.turn import Turn
from memd_daemon.model.words import UNTRUSTED_SOURCES, Attestation, Kind
from memd_daemon.service import attest, lineage
from memd_daemon.service.asker import Asker
from memd_daemon.service.contexts import sessions_of
from memd_daemon.service.parts import Parts
from memd_daemon.service.wanted import Wanted
from memd_daemon.store.port import Snapshot

OWN: Final = "own"
"""The origin of words that are the user's, or a note's that nobody copied."""


class Bearer(msgspec.Struct, frozen=True):
    """Who has a run of words: since when (UTC, Unix ms; 0: it does not matter when), and as what."""

    at: int
    origin: str  # "document", "tool", REPOSITORY or OWN
    ref: str = ""


Bearers = dict[int, Bearer]


def captured(parts: Parts, request: api.Remember, asker: Asker, wanted: Wanted) -> Wanted:
    """The note with the source that memd saw itself. Raises CopiedDirective."""
    is_rule = wanted.kind is Kind.DIRECTIVE
    if is_rule and request.endorse:
        return wanted
    units = shingles.units_of(wanted.content)
    runs = shingles.hashes_of(units.words)
    found = _bearers(parts, asker, wanted.content, runs) if runs else {}
    alien = _stretches(runs, found, UNTRUSTED_ORIGINS)
    if is_rule:
        copied = shingles.cover(_stretches(runs, found, UNTRUSTED_ORIGINS | {REPOSITORY}), units.weights)
        if _is_copy(copied, limits.COPIED_RULE_WORDS):
            raise errors.CopiedDirective(_said(_most(runs, found, UNTRUSTED_ORIGINS | {REPOSITORY})))
    copied = shingles.cover(alien, units.weights)
    if not _is_copy(copied, limits.COPIED_WORDS):
        return wanted
    most = _most(runs, found, UNTRUSTED_ORIGINS)
    source = ev.Source(most.origin, most.ref)
    line = told.source_captured(_said(most), int(copied.longest))
    return msgspec.structs.replace(wanted, source=source, told=(*wanted.told, line))


def _is_copy(copied: shingles.Cover, words: float) -> bool:
    is_most = copied.share >= limits.COPIED_SHARE and copied.longest >= limits.COPIED_SHORT_WORDS
    return copied.longest >= words or is_most


def _said(bearer: Bearer) -> str:
    return told.of_repository(bearer.ref) if bearer.origin == REPOSITORY else f"{bearer.origin} {bearer.ref}"


def _stretches(runs: list[int], found: Bearers, origins: Iterable[str]) -> list[shingles.Stretch]:
    """The stretches of which these origins bear at least half: a phrase that others have too breaks none."""
    matched = [at for at, run in enumerate(runs) if run in found]
    return [one for one in shingles.stretches(matched) if _is_of(runs, found, one, origins)]


def _is_of(runs: list[int], found: Bearers, one: shingles.Stretch, origins: Iterable[str]) -> bool:
    bearers = [found[run] for run in runs[one.first : one.end - limits.SHINGLE_UNITS + 1] if run in found]
    return 2 * sum(bearer.origin in origins for bearer in bearers) >= len(bearers)


def _most(runs: list[int], found: Bearers, origins: Iterable[str]) -> Bearer:
    """Of these origins the one that bears the most runs, since its first."""
    bearers = [found[run] for run in runs if run in found and found[run].origin in origins]
    ((origin, ref), _), *_ = Counter((one.origin, one.ref) for one in bearers).most_common(1)
    return min((one for one in bearers if (one.origin, one.ref) == (origin, ref)), key=lambda one: one.at)


# --- who has the words


def _bearers(parts: Parts, asker: Asker, content: str, runs: list[int]) -> Bearers:
    """Who had each run of the content first, as far as anybody is known to have it; nobody where all of it is the user's."""
    wanted, found = set(runs), Bearers()
    results = _results(parts, asker)
    for result in results:
        _bear(
            found, wanted.intersection(shingles.unpacked(result.hashes)), Bearer(result.at, result.origin, result.ref)
        )
    with parts.store.read() as snapshot:
        for bearer, words in _notes(snapshot, lineage.told_to(parts, asker), had=bool(found)):
            _bear(found, wanted.intersection(_hashes(words)), bearer)
    if all(one.origin == OWN for one in found.values()):
        return found
    typed = _typed(parts, {asker.session} if asker.session else {result.session for result in results})
    if read(content, [Said(turn.number, turn.text) for turn in typed]).whole:
        return Bearers()
    for words in _stated(typed):
        _bear(found, wanted.intersection(_hashes(words)), Bearer(0, OWN))
    return found


def _bear(found: Bearers, runs: Iterable[int], bearer: Bearer) -> None:
    for run in runs:
        if run not in found or bearer.at < found[run].at:
            found[run] = bearer


def _hashes(text: str) -> list[int]:
    return shingles.hashes_of(shingles.units_of(text).words)


def _results(parts: Parts, asker: Asker) -> list[ToolResult]:
    """What the writer's tools gave; what came is waited for."""
    parts.reading.join_added(limits.RESULTS_WAIT_S)
    if not asker.session:
        return parts.ledger.results_since(parts.now_ms() - limits.RESULTS_LATELY_MS)
    with parts.ledger.read() as ledger:
        sessions = sessions_of(ledger, asker.session)
    return [result for session in sessions for result in parts.ledger.results_of(session)]


def _notes(snapshot: Snapshot, uids: Iterable[bytes], *, had: bool) -> Iterator[tuple[Bearer, str]]:
    """Notes that the writer was told; where no tool gave any of its words (``had``), only those that were copied themselves."""
    for uid in sorted(uids):
        note = snapshot.note(uid)
        is_copied = note is not None and note.source.type in UNTRUSTED_SOURCES
        content = snapshot.text(note.shown.content) if note is not None and (had or is_copied) else None
        if note is not None and content is not None:
            origin, ref = (note.source.type, note.source.ref) if is_copied else (OWN, "")
            yield Bearer(note.created_at, origin, ref), content


def _typed(parts: Parts, sessions: Iterable[str]) -> list[Turn]:
    """The sessions' last turns that are known to have been typed, each looked at again."""
    with parts.store.read() as snapshot:
        turns = [turn for one in sessions for turn in islice(snapshot.turns(session=one), limits.EVIDENCE_TURNS_MAX)]
    looks = attest.look_again(parts, turns)
    return [turn for turn in turns if looks[turn.number].attestation == Attestation.TYPED]


def _stated(turns: Iterable[Turn]) -> Iterator[str]:
    """What the user states in them, each statement with what introduces it; nothing that was pasted, quoted or asked."""
    for turn in turns:
        text = turn.text[: limits.EVIDENCE_TURN_LOOKED_AT_CHARS]
        for one in statements(text):
            yield " ".join(text[start:end] for start, end in (*one.leads, (one.start, one.end)))
