"""Whether a note may be recorded: every refusal of model.md, section 4, in one place. Nothing here writes."""

from pathlib import Path
from typing import Final, TypeVar

import msgspec

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.ground.repository import real_path, relative_path
from memd_daemon.model import event as ev
from memd_daemon.model.words import RULELESS_SOURCES, Kind, Priority, Provenance, SourceType, Surface
from memd_daemon.service import text
from memd_daemon.service.anchoring import anchors_at, mentions_in
from memd_daemon.service.asker import Asker
from memd_daemon.service.given import encodable, kept_whole, on_one_line, refuse_many, shown
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import GLOBAL, Place, session_scope

E = TypeVar("E", Kind, Priority, SourceType)

PUSHED_UNASKED: Final = (Kind.DIRECTIVE, Kind.GOTCHA)
CAPTURED: Final = (SourceType.COMMIT, SourceType.CURATION, SourceType.IMPORT)
"""Sources that memd sees itself, and takes on nobody's word."""

WRITABLE: Final = (Provenance.AGENT, Provenance.AUTO)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A note that may be recorded: checked, redacted, its anchors hashed."""

    uid: bytes
    content: str
    summary: str
    kind: Kind
    priority: Priority
    provenance: Provenance
    source: ev.Source
    scope: str
    under: str = ""
    tags: tuple[str, ...] = ()
    anchors: tuple[ev.Anchor, ...] = ()
    mentions: tuple[ev.Anchor, ...] = ()
    process: bool = False
    reason: str = ""
    level: str = ""
    slug: str = ""
    why: str = ""  # of a principle or doctrine: what made it one
    told: tuple[str, ...] = ()  # what its writer is told of it


def check(parts: Parts, request: api.Remember, asker: Asker, place: Place) -> Wanted:
    """The note that the request asks for. Raises a refusal that says what to do instead."""
    _refuse_many_named(request)
    content = checked_content(parts, request.content)
    kind = word_of(Kind, "kind", request.kind)
    anchored = anchors_at(parts, _asked_anchors(request), request.cwd, place)
    wanted = Wanted(
        uid=parts.new_uid(),
        content=content,
        summary=text.summary_of(content),
        kind=kind,
        priority=word_of(Priority, "priority", request.priority),
        provenance=_provenance(request.provenance),
        source=_source(parts, request.source, asker),
        scope=scope_of(request.scope, asker, place),
        under=under_at(request.under, place, request.cwd),
        tags=tags_kept(parts, request.tags),
        anchors=anchored.anchors,
        mentions=mentions_in(parts, content, anchored.anchors, request.cwd, place),
        process=request.process,
        reason=checked_reason(parts, request.reason),
        told=anchored.told,
    )
    _may_be(parts, wanted, endorsed=request.endorse)
    return wanted


def checked_content(parts: Parts, content: str) -> str:
    """NFC, redacted, whole, within the limit. Raises NotUnicode, EmptyContent, ContentTooLarge."""
    encodable(content, "content")
    if len(content) > limits.GIVEN_MAX_CHARS:  # looking for credentials in it would take long
        raise errors.ContentTooLarge(len(content), limits.CONTENT_MAX_BYTES)
    kept = parts.redact(text.normal(content)).strip()
    if not kept:
        raise errors.EmptyContent
    size = len(kept.encode())
    if size > limits.CONTENT_MAX_BYTES:
        raise errors.ContentTooLarge(size, limits.CONTENT_MAX_BYTES)
    return kept


def checked_query(query: str) -> str:
    """A query as it is searched for. Raises NotUnicode, EmptyQuery."""
    encodable(query, "query")
    kept = text.normal(query).strip()
    if not kept:
        raise errors.EmptyQuery
    return kept[: limits.CONTENT_MAX_BYTES]


def checked_reason(parts: Parts, reason: str) -> str:
    """A reason as it is kept. Raises ReasonTooLong, NotUnicode."""
    encodable(reason, "reason")
    if len(reason) > limits.GIVEN_MAX_CHARS:
        raise errors.ReasonTooLong(len(reason), limits.REASON_MAX_BYTES)
    kept = parts.redact(text.normal(reason)).strip()
    size = len(kept.encode())
    if size > limits.REASON_MAX_BYTES:
        raise errors.ReasonTooLong(size, limits.REASON_MAX_BYTES)
    return kept


def _line(parts: Parts, value: str, what: str) -> str:
    """A free text that stands on one line of memd's own."""
    encodable(value, what)
    return on_one_line(parts.redact(text.normal(value)).strip(), what)


def word_of(vocabulary: type[E], what: str, value: str) -> E:
    """A word of a closed vocabulary. Raises UnknownWord."""
    try:
        return vocabulary(value)
    except ValueError:
        raise errors.UnknownWord(what, text.quoted(value), ", ".join(vocabulary)) from None


def _provenance(value: str) -> Provenance:
    if value == Provenance.HUMAN:
        raise errors.HumanNotSettable("REF")
    if value not in WRITABLE:
        raise errors.UnknownWord("provenance", text.quoted(value), ", ".join(WRITABLE))
    return Provenance(value)


def _source(parts: Parts, value: str, asker: Asker) -> ev.Source:
    """`TYPE` or `TYPE:REF`; by default what memd can see: an inference inside a session, else the command line."""
    if not value:
        return ev.Source(SourceType.INFERENCE if _is_by_agent(asker) else SourceType.CLI)
    type_, _, ref = value.partition(":")
    if type_ == SourceType.USER:
        raise errors.SourceIsChecked
    if type_ in CAPTURED or (type_ == SourceType.CLI and _is_by_agent(asker)):
        raise errors.SourceIsCaptured(type_)
    return ev.Source(word_of(SourceType, "source", type_), _line(parts, ref, "source"))


def _is_by_agent(asker: Asker) -> bool:
    """Whether it is known that an agent's client asks."""
    return bool(asker.session) or asker.surface is Surface.MCP


def scope_of(value: str, asker: Asker, place: Place) -> str:
    """The exact scope of `repo`, `global` or `session`. Raises NoSession, UnknownWord."""
    if value == "repo":
        return place.scope
    if value == GLOBAL:
        return GLOBAL
    if value == "session":
        if not asker.session:
            raise errors.NoSession
        return session_scope(asker.session)
    raise errors.UnknownWord("scope", text.quoted(value), "repo, global, session")


def under_at(value: str, place: Place, cwd: str) -> str:
    """A folder's path from the checkout's root; "" for the root. Raises AnchorOutside, NameHoldsSecret, TextTooLong,
    NotOneLine."""
    if not value:
        return ""
    inside = relative_path(place.checkout.root, cwd, value)
    if inside is None:
        if real_path(str(Path(cwd) / value)) == place.checkout.root:
            return ""
        raise errors.AnchorOutside(shown(value), shown(place.checkout.root))
    return on_one_line(kept_whole(inside, "subtree"), "subtree")


def tags_kept(parts: Parts, tags: list[str]) -> tuple[str, ...]:
    """Tags as they are kept, each once. Raises TooMany, TextTooLong, NotOneLine, NotUnicode."""
    refuse_many("tags", tags, limits.TAGS_MAX)
    kept = [_line(parts, tag, "tag") for tag in tags]
    return tuple(dict.fromkeys(tag for tag in kept if tag))


def _asked_anchors(request: api.Remember) -> list[tuple[str, bool]]:
    return [(a, False) for a in request.anchors] + [(p, True) for p in request.proxies]


def _may_be(parts: Parts, wanted: Wanted, *, endorsed: bool) -> None:
    """Refusals that follow from what the note is."""
    if wanted.kind is Kind.DIRECTIVE:
        if wanted.provenance is Provenance.AUTO:
            raise errors.AutoDirective
        if wanted.source.type in RULELESS_SOURCES:
            raise errors.UntrustedDirective(wanted.source.type)
    if wanted.provenance is Provenance.AUTO and endorsed:
        raise errors.NotOneRung("to be recorded", Provenance.AUTO, Provenance.HUMAN)
    if wanted.scope == GLOBAL and wanted.kind in PUSHED_UNASKED and not endorsed:
        raise errors.GlobalNeedsSignature(wanted.kind)
    if wanted.kind is Kind.GOTCHA and not wanted.anchors:
        raise errors.GotchaNeedsAnchor
    if wanted.kind in PUSHED_UNASKED:
        cost = parts.cost(wanted.content)
        if cost > limits.PUSHABLE_MAX_TOKENS:
            raise errors.TooLongToDeliver(wanted.kind, cost, limits.PUSHABLE_MAX_TOKENS)


def _refuse_many_named(request: api.Remember) -> None:
    """Raises TooMany."""
    refuse_many("derived_from", request.derived_from, limits.NAMED_NOTES_MAX)
    refuse_many("sources", request.sources, limits.NAMED_NOTES_MAX)
    refuse_many("evidence", request.evidence, limits.EVIDENCE_MAX)
