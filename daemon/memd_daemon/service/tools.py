"""The tools that an agent has over MCP: what each takes, and the verb that carries it out. Nothing here knows the protocol.

What a tool takes is a struct, and its JSON schema is made from that struct, so the two cannot drift. The answer is text: what an
agent gets elsewhere, byte for byte. No tool forgets, endorses or edits policy; `human` is no value of any of them, and where it is
given all the same the refusal says who may.
"""

import re
from collections.abc import Callable, Mapping
from contextvars import copy_context
from functools import cache
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.frames import tools as words
from memd_daemon.model.words import Provenance
from memd_daemon.service import chronicle, explain, lifecycle, recall, remember
from memd_daemon.service.asker import JOINED
from memd_daemon.service.calls import canonical
from memd_daemon.service.clients import PEER
from memd_daemon.service.parts import Parts
from memd_daemon.service.people import PlanBook
from memd_daemon.service.refused import UnknownTool
from memd_daemon.service.text import quoted

Text = Annotated[str, Meta(max_length=limits.CONTENT_MAX_BYTES)]
Line = Annotated[str, Meta(max_length=limits.LINE_MAX_CHARS)]
Path = Annotated[str, Meta(max_length=limits.PATH_MAX_CHARS)]
Ref = str | int
Reason = Annotated[str, Meta(max_length=limits.REASON_MAX_BYTES)]
KindWord = Literal["directive", "task", "gotcha", "finding", "decision"]


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Where a call comes from: the carrier's process and directory, and the client's own id of the call ("" for none)."""

    pid: int
    cwd: str
    tool_use_id: str = ""


class Taken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool takes."""


class Excerpt(Taken, frozen=True):
    turn: Ref
    excerpt: str


Excerpts = Annotated[list[Excerpt], Meta(max_length=limits.EVIDENCE_MAX)]
Evidence = Annotated[Excerpts, Meta(description=words.EVIDENCE)]
Refs = Annotated[list[Ref], Meta(max_length=limits.NAMED_NOTES_MAX)]


class Remember(Taken, frozen=True):
    content: Text
    kind: KindWord = "finding"
    priority: Literal["low", "medium", "high"] = "medium"
    provenance: Literal["agent", "auto"] = "agent"
    scope: Literal["repo", "global", "session"] = "repo"
    under: Path = ""
    anchors: Annotated[list[Path], Meta(max_length=limits.ANCHORS_MAX)] = []
    proxies: Annotated[list[Path], Meta(description=words.PROXIES, max_length=limits.ANCHORS_MAX)] = []
    tags: Annotated[list[Line], Meta(max_length=limits.TAGS_MAX)] = []
    source: Annotated[Line, Meta(description=words.SOURCE)] = ""
    evidence: Evidence = []
    contradicts: Annotated[Ref, Meta(description=words.CONTRADICTS)] = ""
    supersedes: Annotated[Ref, Meta(description=words.SUPERSEDES)] = ""
    same_as: Annotated[Ref, Meta(description=words.SAME_AS)] = ""
    reason: Reason = ""
    despite: Annotated[Ref, Meta(description=words.DESPITE)] = ""
    derived_from: Refs = []


class Recall(Taken, frozen=True):
    query: Text
    k: Annotated[int, Meta(ge=1, le=limits.RECALL_MAX_K)] = limits.RECALL_DEFAULT_K
    kind: KindWord | UnsetType = UNSET
    all_scopes: bool = False
    superseded: bool = False


class Decisions(Taken, frozen=True):
    ref: Ref = ""
    around: int = limits.DECISIONS_AROUND


class OfOne(Taken, frozen=True):
    ref: Ref


class Revoke(OfOne, frozen=True):
    reason: Reason


class Reasoned(OfOne, frozen=True):
    reason: Reason = ""


class Supersede(Taken, frozen=True):
    old: Ref
    new: Ref
    reason: Reason = ""


class Absorb(OfOne, frozen=True):
    into: Ref
    reason: Reason = ""


class Revise(OfOne, frozen=True):
    reason: Reason
    text: Text = ""
    absorb: Refs = []
    expected_revision: int = 0
    despite: Annotated[Ref, Meta(description=words.DESPITE)] = ""


class LinkEvidence(OfOne, frozen=True):
    evidence: Excerpts


class Promote(OfOne, frozen=True):
    to: Literal["agent"] = "agent"


Carry = Callable[["Tools", Any, str], str]
"""Carries a tool out: the tools, what it takes, the directory it was called in; gives the text of the answer."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """``reads``: it changes nothing."""

    name: str
    takes: type[Taken]
    carry: Carry
    reads: bool = False

    @property
    def description(self) -> str:
        return words.DESCRIPTIONS[self.name]

    @property
    def schema(self) -> dict[str, Any]:
        return _schema(self.takes)


class Tools:
    """The tools of one daemon. Safe to call from any thread."""

    def __init__(self, parts: Parts, plans: PlanBook) -> None:
        self.parts = parts
        self.plans = plans

    def call(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> str:
        """Carries out one call. Raises MemdError, with the sentence for the agent."""
        tool = TOOLS.get(name)
        if tool is None:
            raise UnknownTool(quoted(name), ", ".join(TOOLS))
        if not caller.cwd:
            raise errors.NoDirectory
        taken = _taken(tool, arguments, self.parts.tags)
        return copy_context().run(self._carry, tool, taken, arguments, caller)

    def _carry(self, tool: Tool, taken: Taken, arguments: Mapping[str, Any], caller: Caller) -> str:
        PEER.set(caller.pid)
        JOINED.set(self.parts.calls.join(caller.pid, tool.name, canonical(arguments), caller.tool_use_id))
        return tool.carry(self, taken, caller.cwd)

    def act(self, request: api.Act) -> str:
        done = lifecycle.act(self.parts, self.plans, request)
        return words.acted(request.act, done.id, done.effect, done.told)


def _remember(tools: Tools, taken: Remember, cwd: str) -> str:
    request = api.Remember(
        cwd=cwd,
        content=taken.content,
        kind=taken.kind,
        priority=taken.priority,
        provenance=taken.provenance,
        source=taken.source,
        scope=taken.scope,
        under=taken.under,
        anchors=taken.anchors,
        proxies=taken.proxies,
        tags=taken.tags,
        evidence=_evidence(tools, taken.evidence),
        derived_from=[str(ref) for ref in taken.derived_from],
        contradicts=str(taken.contradicts),
        supersedes=str(taken.supersedes),
        same_as=str(taken.same_as),
        reason=taken.reason,
        despite=str(taken.despite),
    )
    done = remember.remember(tools.parts, tools.plans, request)
    told = [*done.told]
    if done.redacted:
        told.append(words.REDACTED)
    if taken.kind == "directive" and not done.kept:
        told.append((words.STATED if done.stated else words.UNENDORSED).format(id=done.id, turn=done.stated))
    return words.recorded(done.id, done.near, done.conflicts, done.tombstones, told, kept=done.kept)


def _recall(tools: Tools, taken: Recall, cwd: str) -> str:
    request = api.Recall(
        cwd=cwd,
        query=taken.query,
        k=taken.k,
        kind=taken.kind or "",
        all_scopes=taken.all_scopes,
        superseded=taken.superseded,
    )
    return recall.recall(tools.parts, request).text


def _decisions(tools: Tools, taken: Decisions, cwd: str) -> str:
    return chronicle.decisions(tools.parts, api.Decisions(cwd=cwd, ref=str(taken.ref), around=taken.around)).text


def _trace(tools: Tools, taken: OfOne, cwd: str) -> str:
    return chronicle.trace(tools.parts, api.Trace(cwd=cwd, ref=str(taken.ref))).text


def _show(tools: Tools, taken: OfOne, cwd: str) -> str:
    return explain.show(tools.parts, api.Show(cwd=cwd, ref=str(taken.ref))).text


def _act(act: str) -> Carry:
    def carry(tools: Tools, taken: OfOne, cwd: str) -> str:
        given = {name: getattr(taken, name) for name in ("reason", "to") if hasattr(taken, name)}
        return tools.act(api.Act(cwd=cwd, act=act, ref=str(taken.ref), **given))

    return carry


def _supersede(tools: Tools, taken: Supersede, cwd: str) -> str:
    return tools.act(api.Act(cwd=cwd, act="supersede", ref=str(taken.old), by=str(taken.new), reason=taken.reason))


def _absorb(tools: Tools, taken: Absorb, cwd: str) -> str:
    return tools.act(api.Act(cwd=cwd, act="absorb", ref=str(taken.ref), by=str(taken.into), reason=taken.reason))


def _revise(tools: Tools, taken: Revise, cwd: str) -> str:
    request = api.Act(
        cwd=cwd,
        act="revise",
        ref=str(taken.ref),
        text=taken.text,
        absorb=[str(ref) for ref in taken.absorb],
        reason=taken.reason,
        expected_revision=taken.expected_revision,
        despite=str(taken.despite),
    )
    return tools.act(request)


def _link_evidence(tools: Tools, taken: LinkEvidence, cwd: str) -> str:
    evidence = _evidence(tools, taken.evidence)
    return tools.act(api.Act(cwd=cwd, act="link_evidence", ref=str(taken.ref), evidence=evidence))


_TURN: Final = re.compile(r"\[?([0-9]{1,18})\]?")


def _evidence(tools: Tools, excerpts: list[Excerpt]) -> list[tuple[int, str]]:
    """(turn, excerpt) of each; a turn's number may be written as a note's. Raises BadArguments."""
    found = []
    for one in excerpts:
        number = _TURN.fullmatch(str(one.turn).strip())
        if number is None:
            raise errors.BadArguments(words.no_turn(str(one.turn), tools.parts.tags))
        found.append((int(number[1]), one.excerpt))
    return found


TOOLS: Final[dict[str, Tool]] = {
    tool.name: tool
    for tool in (
        Tool(name="remember", takes=Remember, carry=_remember),
        Tool(name="recall", takes=Recall, carry=_recall, reads=True),
        Tool(name="show", takes=OfOne, carry=_show, reads=True),
        Tool(name="decisions", takes=Decisions, carry=_decisions, reads=True),
        Tool(name="confirm", takes=OfOne, carry=_act("confirm")),
        Tool(name="revoke", takes=Revoke, carry=_act("revoke")),
        Tool(name="reinstate", takes=Reasoned, carry=_act("reinstate")),
        Tool(name="supersede", takes=Supersede, carry=_supersede),
        Tool(name="promote", takes=Promote, carry=_act("promote")),
        Tool(name="link_evidence", takes=LinkEvidence, carry=_link_evidence),
        Tool(name="done", takes=Reasoned, carry=_act("done")),
        Tool(name="revise", takes=Revise, carry=_revise),
        Tool(name="absorb", takes=Absorb, carry=_absorb),
        Tool(name="trace", takes=OfOne, carry=_trace, reads=True),
    )
}
"""In the order in which they are listed."""


def _taken(tool: Tool, arguments: Mapping[str, Any], tags: tuple[str, ...]) -> Taken:
    """The arguments as the tool takes them. Raises BadArguments, and the refusal of `human` that says who may."""
    if tool.name == "remember" and arguments.get("provenance") == Provenance.HUMAN:
        raise errors.HumanNotSettable("REF")
    if tool.name == "promote" and arguments.get("to") == Provenance.HUMAN:
        raise errors.NotSigned
    try:
        canonical(arguments)
        return msgspec.convert(arguments, tool.takes)
    except (msgspec.MsgspecError, OverflowError, UnicodeEncodeError) as misfit:
        raise errors.BadArguments(words.misfit(str(misfit), tags)) from misfit


# Schemas.

NOTHING: Final[tuple[object, ...]] = ("", [], False)
"""Defaults that say only that a parameter may be left out, which its absence from `required` says already."""


@cache
def _schema(takes: type[Taken]) -> dict[str, Any]:
    """The JSON schema of what a tool takes, all in one piece and in as few words as say it."""
    (_,), found = msgspec.json.schema_components([takes])
    schema: dict[str, Any] = _plain(found[takes.__name__], found)
    return schema


def _plain(schema: Any, found: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_plain(one, found) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _plain(found[schema["$ref"].rpartition("/")[2]], found)
    kept = {key: _plain(value, found) for key, value in schema.items() if not _says_nothing(key, value)}
    if "enum" in kept:
        kept["type"] = "string"
    choices = kept.pop("anyOf", [])
    for choice in choices:
        kept |= choice
    return kept | ({"type": [choice["type"] for choice in choices]} if choices else {})


def _says_nothing(key: str, value: object) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "default" and value in NOTHING)
