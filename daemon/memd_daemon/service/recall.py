"""Recall: found by meaning and words, weighed by trust (recall.md). Queries are not stored."""

from collections.abc import Collection, Iterable, Iterator

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.frames.envelope import bundle
from memd_daemon.frames.recall import left_out, nothing_bears, recalled
from memd_daemon.model.note import Note
from memd_daemon.model.view import NoteView
from memd_daemon.model.words import Kind, Provenance, SourceType
from memd_daemon.service.asker import asker_of
from memd_daemon.service.bearing import FULL, TABLE, Far, far_of
from memd_daemon.service.contexts import sessions_of
from memd_daemon.service.explain import note_out
from memd_daemon.service.parts import Parts
from memd_daemon.service.policy_rules import Asked, asked
from memd_daemon.service.policy_told import rule_out
from memd_daemon.service.repos import place_of, scopes_at
from memd_daemon.service.search import Hit
from memd_daemon.service.shown import row, showed
from memd_daemon.service.text import quoted
from memd_daemon.service.views import Looked, is_user_stated, view_of
from memd_daemon.service.wanted import checked_query
from memd_daemon.store.port import Snapshot, Txn


def recall(parts: Parts, request: api.Recall) -> api.RecallReply:
    """The k best of the notes that bear on the query, framed as an agent gets them. Raises EmptyQuery, UnknownWord."""
    query = checked_query(request.query)
    if request.kind and request.kind not in list(Kind):
        raise errors.UnknownWord("kind", quoted(request.kind), ", ".join(Kind))
    k = max(1, min(request.k, limits.RECALL_MAX_K))
    asker = asker_of(parts.ledger, request.env, request.surface)
    place = place_of(parts, request.cwd)
    parts.search.wait_for_words()
    parts.search.wait_for_vectors()
    vector = parts.search.embed(query)
    with parts.store.read() as snapshot:
        own = scopes_at(place, *sessions_of(parts.ledger, asker.session))
        scopes = _all_scopes(snapshot) if request.all_scopes else own
        is_asked = request.kind in ("", Kind.DIRECTIVE)
        policy = asked(parts, snapshot, None if request.all_scopes else place, query, vector) if is_asked else Asked()
        hits = parts.search.find(query, scopes, limits.RECALL_MAX_K, vector=vector, cold=request.superseded)
        eligible = list(_eligible(snapshot, hits, request))
        far = far_of([hit for hit, _ in eligible], TABLE if vector is None else FULL)
        ranked = _ranked(parts, snapshot, eligible, {one.id for one in far})[:k]
        looked = Looked()
        views = [view_of(parts, snapshot, note, place, looked) for _, _, note in ranked]
        has_notes = bool(views) or _has_notes(snapshot, scopes)
        texts = [recalled(view, parts.now_ms(), parts.tags) for view in views]
        found = [
            api.Found(note=note_out(parts, snapshot, view), text=text, score=score, factors=factors)
            for (score, factors, _), view, text in zip(ranked, views, texts, strict=True)
        ]
    _first_recalled(parts, views)
    showed(parts, asker, "recall", place, map(row, views, texts))
    used = "full" if vector is not None else "table" if any(h.cosine is not None for h in hits) else ""
    nearest = [one.id for one in far[: limits.RECALL_NAMED_MAX]]
    notes = nothing_bears(nearest) if has_notes and not views else bundle(views, texts)
    return api.RecallReply(
        found=found,
        text="".join(f"{block}\n" for block in (policy.text, notes) if block),
        vectors=used,
        policy=[rule_out(rule, file) for file, rule in policy.rules],
        left_out=[_left_out(one) for one in far[:k]],
    )


def _has_notes(snapshot: Snapshot, scopes: tuple[str, ...]) -> bool:
    return any(True for scope in scopes for kind in Kind for _ in snapshot.notes_of_kind(scope, kind))


def _left_out(one: Far) -> api.LeftOutOut:
    return api.LeftOutOut(id=one.id, rule=one.rule, says=left_out(one.rule, one.cosine, one.floor))


def _all_scopes(snapshot: Snapshot) -> tuple[str, ...]:
    return tuple(sorted({note.scope for _, note in snapshot.notes()}))


def _eligible(snapshot: Snapshot, hits: Iterable[Hit], request: api.Recall) -> Iterator[tuple[Hit, Note]]:
    """The hits that may come, if they bear on the question."""
    for hit in hits:
        uid = snapshot.uid_of(hit.id)
        note = snapshot.note(uid) if uid else None
        if note is None or note.forgotten or (request.kind and note.kind != request.kind):
            continue
        if note.live or request.superseded:
            yield hit, note


def _ranked(
    parts: Parts, snapshot: Snapshot, eligible: Iterable[tuple[Hit, Note]], far: Collection[int]
) -> list[tuple[float, dict[str, float], Note]]:
    ranked = []
    for hit, note in eligible:
        if hit.id in far:
            continue
        score, factors = weighed(parts, note, hit.relevance, is_stated=is_user_stated(parts, snapshot, note))
        ranked.append((score, factors | {"cosine": hit.cosine or 0.0, "lexical": hit.lexical}, note))
    ranked.sort(key=lambda r: (-r[0], r[2].uid))
    return ranked


def _first_recalled(parts: Parts, views: list[NoteView]) -> None:
    """A commit's note gets its vector once somebody asked for it (hooks.md, section 4)."""
    asked = [v.note.uid for v in views if v.note.source.type == SourceType.COMMIT]
    if asked:

        def work(txn: Txn) -> None:
            for uid in asked:
                txn.want_vector(uid)

        parts.store.submit(work).add_done_callback(lambda _: parts.search.wake())


def weighed(parts: Parts, note: Note, relevance: float, *, is_stated: bool = False) -> tuple[float, dict[str, float]]:
    """(score, its factors) of a note (recall.md, "Weighing"). ``is_stated``: it is framed as the user's own words."""
    tier = limits.TIER_PRIOR["operator" if is_stated else _tier(note)]
    sure = _confidence(note)
    fresh = 1.0 if is_stated else _freshness(note, parts.now_ms())
    bonus = limits.CORROBORATION_BONUS * min(len(note.corroborations), limits.CORROBORATIONS_COUNTED)
    score = relevance * tier * sure * fresh + bonus
    factors = {
        "relevance": relevance,
        "tier_prior": tier,
        "confidence": sure,
        "freshness": fresh,
        "corroboration_bonus": bonus,
    }
    return score, factors


def _tier(note: Note) -> str:
    if note.provenance == Provenance.HUMAN:
        return "operator"
    return "corroborated" if note.corroborations else "unverified"


def _confidence(note: Note) -> float:
    """How sure a claim starts, less what conflicts take, open ones and those settled against both sides (recall.md, "Weighing").

    A conflict costs the older note of its pair; the one that brought it, by its uid the later one, starts lower instead.
    """
    start = limits.CONFIDENCE_START[note.provenance]
    if note.provenance == Provenance.HUMAN:
        return start
    pairs = {*note.conflicts, *note.demoted}
    newer = sum(other > note.uid for other in pairs)
    if newer < len(pairs):
        start = min(start, limits.NEWCOMER_CONFIDENCE_MAX)
    return max(0.0, start - limits.CONFLICT_COST * newer)


def _freshness(note: Note, now_ms: int) -> float:
    """Decay of an inference since it was recorded or a person confirmed it; endorsed notes and the user's words do not decay."""
    half_life = limits.HALF_LIFE_DAYS.get(note.provenance)
    if half_life is None:
        return 1.0
    since = max(note.created_at, note.person_confirmed_at)
    days = max(0, now_ms - since) / limits.TIME_MS_PER_DAY
    return float(2 ** (-days / half_life))
