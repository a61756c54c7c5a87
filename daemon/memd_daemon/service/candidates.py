"""Which notes may be told at a moment, before the rules decide: lookups by index, never a scan of the store."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from memd_daemon import limits
from memd_daemon.frames.digest import text_digest
from memd_daemon.ground.files import Glance
from memd_daemon.model.delivery import Context
from memd_daemon.model.note import Note
from memd_daemon.model.view import NoteView, SpokenView
from memd_daemon.model.words import Kind, Priority, Provenance
from memd_daemon.rules.sift import is_too_far, sift
from memd_daemon.rules.situation import Candidate, Gate, GateEvidence, Situation
from memd_daemon.service.brought_up import BroughtUp
from memd_daemon.service.contexts import touched
from memd_daemon.service.flags import noticed
from memd_daemon.service.known import Known, Rows, Views
from memd_daemon.service.moved import as_moved, known_moves
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Place, scopes_at
from memd_daemon.service.search import Hit, Match
from memd_daemon.service.spoken import with_spoken
from memd_daemon.service.views import Looked, grounded, grounds_of, is_user_stated, quarantined, seen, view_from_log
from memd_daemon.store.ledger_port import LedgerSnapshot
from memd_daemon.store.port import Snapshot
from memd_hooks.events import Moment


def at_start(
    parts: Parts, snapshot: Snapshot, ledger: LedgerSnapshot, place: Place, context: Context
) -> list[Candidate]:
    """Standing rules and, for a main agent, open tasks; for a subagent, `high` gotchas on files the session touched."""
    known = parts.known_at(snapshot)
    kinds = (Kind.DIRECTIVE,) if context.agent else (Kind.DIRECTIVE, Kind.TASK)
    sessions = (context.session, *context.continues)
    look = Look(parts, snapshot, place)
    found = (_of_kind(parts, known, place, scope, kind) for scope in scopes_at(place, *sessions) for kind in kinds)
    candidates = [one for views in found for one in look.candidates(views)]
    if context.agent:
        paths = dict.fromkeys(p for one in ledger.contexts_of(context.session) for p in touched(one, place.scope))
        moved = known_moves(ledger, place.checkout.root, paths)
        candidates += on_paths(parts, snapshot, place, sessions, paths, moved=moved, only_high=True)
    return candidates


def _of_kind(parts: Parts, known: Known, place: Place, scope: str, kind: Kind) -> Rows[NoteView]:
    """The views of one kind in one scope, of those that could arrive at all; their ground is not looked at."""

    def made(snapshot: Snapshot) -> Views:
        ids = snapshot.notes_of_kind(scope, kind, Priority.HIGH if kind == Kind.TASK else "")
        views = (view_from_log(snapshot, note, place) for note in _notes(snapshot, ids) if _worth(note))
        return tuple(_with_digest(parts, view) for view in views)

    return known((kind, place.scope, scope), made)


def _with_digest(parts: Parts, view: NoteView) -> NoteView:
    """A view that is asked for again and again keeps what does not change of its rendering digest."""
    return msgspec.structs.replace(view, text_digest=text_digest(view, parts.tags))


def _worth(note: Note) -> bool:
    """Spares the view of what could not arrive anyway: tasks below `high`, which may be many."""
    return note.kind != Kind.TASK or note.priority == Priority.HIGH


def _notes(snapshot: Snapshot, ids: Iterable[int]) -> Iterator[Note]:
    for id_ in ids:
        uid = snapshot.uid_of(id_)
        note = snapshot.note(uid) if uid else None
        if note is not None:
            yield note


class Look:
    """One answer's look at what the log does not say, the ground and the user's turns: all of it within one deadline, since other
    hooks wait meanwhile, and each file once."""

    def __init__(self, parts: Parts, snapshot: Snapshot, place: Place, glance: Glance | None = None) -> None:
        self._parts = parts
        self._snapshot = snapshot
        self._place = place
        self._looked = Looked(glance)
        self.until_ns = time.monotonic_ns() + limits.GROUND_DEADLINE_MS * limits.NS_PER_MS

    def at(self, view: NoteView) -> NoteView:
        """The view with its ground looked at and the user's words in it marked."""
        view = quarantined(self._parts, view)
        return self._grounded(with_spoken(self._parts, self._snapshot, view, self.until_ns))

    def _grounded(self, view: NoteView) -> NoteView:
        return grounded(self._parts, view, self._place, self.until_ns, self._looked)

    def candidates(self, views: Rows[NoteView]) -> tuple[Candidate, ...]:
        """Known views as candidates: the very same objects as long as their ground and the user's words in them look the same,
        and the same of them are held."""
        if not views.rows:
            return ()
        grounds = views.derived("grounds", lambda rows: tuple(dict.fromkeys(grounds_of(view.note) for view in rows)))
        ground = tuple(seen(self._parts, one, self._place, self.until_ns, self._looked) for one in grounds if any(one))
        bound = views.derived("bound", lambda rows: tuple(view for view in rows if view.note.evidence))
        spoken = tuple(self._spoken(view) for view in bound)
        held = self._parts.bursts.held(self._parts)
        held = held and held.intersection(view.note.uid for view in views.rows)
        found = views.derived((ground, spoken, held), lambda rows: tuple(map(self._candidate, rows)))
        flags = ("noticed", self._place.checkout.root, id(found), self._parts.flags.rounds)
        return views.derived(flags, lambda _: self._noticed(found))

    def _noticed(self, found: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        """The very same: what is made once may be seen in several checkouts, and again after something else was. It is kept by what
        it gives, ``found`` itself, so no other bears that id meanwhile."""
        for one in found:
            if one.view.ground:
                noticed(self._parts, one.view.note, self._place, one.view.ground)
        return found

    def _spoken(self, view: NoteView) -> SpokenView:
        return with_spoken(self._parts, self._snapshot, view, self.until_ns).spoken

    def _candidate(self, view: NoteView) -> Candidate:
        return Candidate(view=self.at(view))


def on_paths(
    parts: Parts,
    snapshot: Snapshot,
    place: Place,
    sessions: Sequence[str],
    paths: Iterable[str],
    *,
    moved: Mapping[str, str],
    only_high: bool = False,
    glance: Glance | None = None,
) -> Sequence[Candidate]:
    """Gotchas anchored to these files of the repository, also under the paths that they have ``moved`` from (moved.py).

    ``glance``: what the answer has looked at already.
    """
    known, look = parts.known_at(snapshot), Look(parts, snapshot, place, glance)
    scopes = scopes_at(place, *sessions)
    on_each = (
        look.candidates(_on_path(parts, known, place, scope, path))
        for path in dict.fromkeys((*paths, *moved))
        for scope in scopes
    )
    groups = [group for group in on_each if group]
    if len(groups) == 1 and not moved and not only_high:
        return groups[0]  # the very same as before, by which its decision is known
    found: dict[bytes, Candidate] = {}
    for one in (one for group in groups for one in group):
        if not only_high or one.view.note.priority == Priority.HIGH:
            found.setdefault(one.view.note.uid, one)
    if not moved:
        return list(found.values())
    return [msgspec.structs.replace(one, view=as_moved(one.view, moved)) for one in found.values()]


def _on_path(parts: Parts, known: Known, place: Place, scope: str, path: str) -> Rows[NoteView]:
    """The views of a file's gotchas in one scope; their ground is not looked at."""

    def made(snapshot: Snapshot) -> Views:
        notes = _notes(snapshot, snapshot.notes_on_path(scope, path))
        views = (msgspec.structs.replace(view_from_log(snapshot, n, place), matched_path=path) for n in notes)
        return tuple(_with_digest(parts, view) for view in views)

    return known(("path", place.scope, scope, path), made)


class Asked:
    """A prompt as the notes are searched for it: what its words alone say can be known while its vector is being computed."""

    def __init__(self, parts: Parts, place: Place, scopes: tuple[str, ...], prompt: str) -> None:
        self._parts = parts
        self._scopes = scopes
        self._prompt = prompt
        self._by_words = parts.search.ahead(prompt, scopes)
        self.brought_up = BroughtUp(place, parts.search.matcher(prompt))

    def read_ahead(self, is_enough: Callable[[], bool]) -> None:
        """Reads the notes that the words bring up until ``is_enough``, and views of so many as a prompt weighs."""
        views = 0
        with self._parts.store.read() as snapshot:
            self.brought_up.come_to(snapshot, in_doubt=False)
            for id_, _ in self._by_words.ranked:
                if is_enough():
                    break
                note = self.brought_up.note(snapshot, id_)
                if note is not None and views < limits.PROMPT_CANDIDATES:
                    self.brought_up.view(snapshot, note)
                    views += 1

    def hits(self, vector: Any, *, by_table: bool) -> list[Hit]:
        """The notes that words and vector bring up, best first, each with its cosine if it has a vector. ``by_table``: the vector
        is the token table's."""
        found, scopes = self._parts.search, self._scopes
        hits = found.find(self._prompt, scopes, limits.FUSION_CANDIDATES, vector=vector, ahead=self._by_words)
        if len(hits) >= limits.FUSION_CANDIDATES:
            hits += self._endorsed_beyond(hits)
        return found.with_cosines(hits, vector, self._by_words, by_table=by_table)

    def _endorsed_beyond(self, hits: Sequence[Hit]) -> list[Hit]:
        """What a person endorsed and others crowd out: no number of notes that agents write keeps it from being weighed. It is
        taken for as near as the last of the hits, which is more than the search says."""
        with self._parts.store.read() as snapshot:
            known = self._parts.known_at(snapshot)
            ids = [id_ for scope in self._scopes for id_ in _endorsed_findings(self._parts, known, scope)]
        there = {hit.id for hit in hits}
        return [Hit(id=id_, relevance=hits[-1].relevance) for id_ in ids if id_ not in there]


def _endorsed_findings(parts: Parts, known: Known, scope: str) -> tuple[int, ...]:
    """Ids of the newest findings of one exact scope that a person endorsed."""

    def made(snapshot: Snapshot) -> tuple[int, ...]:
        signed = sorted(parts.store.signed(), reverse=True)[: limits.ENDORSED_LOOKED_AT_MAX]
        notes = (note for note in map(snapshot.note, signed) if note is not None and note.live)
        endorsed = (
            n for n in notes if n.kind == Kind.FINDING and n.scope == scope and n.provenance == Provenance.HUMAN
        )
        return tuple(id_ for id_ in (snapshot.id_of(note.uid) for note in endorsed) if id_ is not None)

    return known(("endorsed", scope, len(parts.store.signed())), made).rows


def evidence_of(snapshot: Snapshot, note: Note, hit: Hit, match: Callable[[str], Match]) -> GateEvidence:
    """How the prompt and the note agree, by vector and by words."""
    words = match(snapshot.text(note.shown.content) or "")
    return GateEvidence(
        cosine=hit.cosine,
        by_table=hit.by_table,
        idf_share=words.idf_share,
        terms=words.terms,
        identifiers=words.identifiers,
        weight=words.weight,
    )


def on_prompt(
    parts: Parts,
    snapshot: Snapshot,
    place: Place,
    hits: Iterable[Hit],
    brought_up: BroughtUp,
    gates: Collection[Gate],
    now: Situation,
) -> list[Candidate]:
    """Findings among the hits, best first, each with the evidence that one of the ``gates`` reads.

    Of those that could be told ``now``, if only the prompt gave reason enough, so many as a prompt weighs; the others, which are
    held, of class auto by what they are built on, or stand in the context, take nobody's place.
    """
    from memd_daemon.service import recall  # later.py says why

    found: list[Candidate] = []
    places = 0
    look = Look(parts, snapshot, place)
    brought_up.come_to(snapshot, in_doubt=parts.store.doubt.is_set())
    for hit in hits:
        note = brought_up.note(snapshot, hit.id)
        if note is None or (places >= limits.PROMPT_CANDIDATES and note.provenance != Provenance.HUMAN):
            continue  # no number of notes that agents write takes the place of what a person endorsed
        evidence = GateEvidence(cosine=hit.cosine, by_table=hit.by_table)
        if not all(is_too_far(evidence, gate) for gate in gates):
            evidence = evidence_of(snapshot, note, hit, brought_up.match)
        is_stated = is_user_stated(parts, snapshot, note, look.until_ns)
        score, _ = recall.weighed(parts, note, hit.relevance, is_stated=is_stated)
        one = Candidate(view=look.at(brought_up.view(snapshot, note)), score=score, gate=evidence)
        places += sift(now, one) in _ON_ITS_WAY
        found.append(one)
    found.sort(key=lambda one: (-one.score, one.view.note.uid))
    return found


_ON_ITS_WAY: Final = frozenset({"", "below-gate"})
"""What the rules say of a note that the prompt alone decides about."""


MOMENTS_THAT_TELL = frozenset(
    {
        Moment.SESSION_START,
        Moment.POST_COMPACTION,
        Moment.PROMPT_SUBMIT,
        Moment.READ,
        Moment.TOOL_RESULT,
        Moment.PRE_EDIT,
        Moment.SUBAGENT_START,
        Moment.MEMD_CALL,
    }
)
"""Moments at which memd may speak."""
