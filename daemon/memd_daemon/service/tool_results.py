"""What tools gave a session: kept as hashes of its words with where they came from, never as text (evidence.md, "Sources").

A hook is answered at once, with no more than its context is owed; what it brought is taken apart behind the answer, on a thread of
its own, so that a write can wait until it is (`Parts.reading`). What no hook brought memd knows nothing of.

**Where words come from.** A page and a search of the web, and a file outside the session's repository, are documents. What a
command or another tool gave is that tool's, but for what stands in files of the repository that the call or its output names: those
words are the repository's. Its own are the files that git has, and those that the session itself edited: what else lies in a
checkout (installed packages, a page that was saved) is a document. Words of the call itself are the caller's and count for nothing.

**Whoever has words first has them for good**: what a session has met already is not kept again under another origin. So a page
that is written to a file and read there stays that page.

What memd itself told is no document: its MCP tools are not looked at, and a note's words that come back out of a command are older
than that result (copied.py).
"""

import logging
import re
import time
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from typing import Final
from urllib.parse import urlsplit

from memd_daemon import limits
from memd_daemon.ground.repository import clean, led
from memd_daemon.ground.tracked import content_of, files_named, folders_named
from memd_daemon.index import shingles
from memd_daemon.model.tool_result import REPOSITORY, ToolResult
from memd_daemon.model.words import SourceType
from memd_daemon.service.names import name_kept
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Place
from memd_daemon.service.terms import silence_at
from memd_hooks.events import Harness, HookEvent, ResultKind

log: Final = logging.getLogger("memd.results")

_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_NUMBERED: Final = re.compile(r"^(?:[^\s:]{1,300}:)?[ \t]*\d+(?:[:|→-]|\t)", re.MULTILINE)
"""What stands before a line that a command prints with its number, or with its file and number."""

_WORD: Final = re.compile(r"[^\s\"'`$;|&<>()*?{}\[\],=]{1,4096}")
_NAMED_LINE: Final = re.compile(r"^(?:[+-]{3} [ab]/)?([^\s:]{1,4096})(?=[:\t]|\s*$)", re.MULTILINE)
"""A line's first word, where a colon or nothing follows: how searches and differences name their files."""


def heard(parts: Parts, harness: Harness, event: HookEvent, place: Place) -> None:
    """Takes in what a tool gave, behind the answer; nothing of it where memd keeps nothing."""
    if not event.result or event.result_kind is None:
        return
    if not silence_at(parts.settings(), parts.now_ms(), place).rest:
        begins = time.monotonic() + limits.RESULT_FIRST_S
        work = partial(_keep, parts, harness, event, place, parts.now_ms(), begins)
        if not parts.reading.add(work, len(event.result) + len(event.tool_input)):
            log.warning("a tool's result was left out: too many wait")


def _keep(parts: Parts, harness: Harness, event: HookEvent, place: Place, now_ms: int, begins: float) -> None:
    parts.reading.hold_until(begins)
    said, asked = _clipped(harness.result_text(event.result)), harness.result_text(event.tool_input)
    rest = {one for runs in _readings(parts, said) for one in shingles.kept_of(runs)} - _hashes(parts, asked)
    for result in parts.ledger.results_of(event.session) if rest else ():
        rest -= rest.intersection(shingles.unpacked(result.hashes))
    if not rest:
        return

    def keep(origin: str, ref: str, hashes: set[int]) -> None:
        if hashes:
            parts.ledger.put_result(ToolResult(event.session, now_ms, origin, ref, shingles.packed(hashes)))

    for path in _own(parts, event, place, _named(event, place, said, asked)):
        own = rest & _hashes(parts, content_of(place.checkout.root, path))
        keep(REPOSITORY, _line(parts, path), own)
        rest -= own
    keep(*_origin(parts, event), rest)


def _readings(parts: Parts, text: str) -> Iterator[list[int]]:
    """The hash of each run of a text's words, stretch by stretch; again without line numbers, where it may have some.

    Whoever is to be answered meanwhile gets the interpreter between two stretches, a hook until its process has ended. Two have so
    many words in common that no window is cut in two.
    """
    plain = _COLOUR.sub("", text)
    step, more = limits.RESULT_STRETCH_WORDS, limits.SHINGLE_UNITS + limits.SHINGLE_WINDOW - 2
    for reading in dict.fromkeys((plain, _NUMBERED.sub("", plain))):
        words = shingles.units_of(reading).words
        for at in range(0, len(words), step):
            yield shingles.hashes_of(words[at : at + step + more])
            time.sleep(limits.RESULT_REST_S)
            parts.reading.give_way()


def _hashes(parts: Parts, text: str) -> set[int]:
    return {one for runs in _readings(parts, text) for one in runs}


def _clipped(text: str) -> str:
    """The beginning and the end of a text that is longer than any model is shown."""
    half = limits.RESULT_MAX_CHARS // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n{text[-half:]}"


# --- where it comes from


def _origin(parts: Parts, event: HookEvent) -> tuple[str, str]:
    """(origin, ref) of what is not the repository's."""
    told = event.result_from
    match event.result_kind:
        case ResultKind.PAGE:
            return SourceType.DOCUMENT, _line(parts, address_kept(parts, told))
        case ResultKind.SEARCH:
            return SourceType.DOCUMENT, _line(parts, f"search: {told}")
        case ResultKind.FILE:
            return SourceType.DOCUMENT, _line(parts, led(event.cwd, told).real)
        case _:
            return SourceType.TOOL, _line(parts, told)


def address_kept(parts: Parts, address: str) -> str:
    """A page's address without credentials: no user, no fragment, and of its parameters no value that could be a secret."""
    try:
        split = urlsplit(address)
    except ValueError:
        return address.partition("?")[0].partition("#")[0].rpartition("@")[2]
    query = "&".join(_parameter_kept(parts, one) for one in split.query.split("&"))
    return split._replace(netloc=split.netloc.rpartition("@")[2], query=query, fragment="").geturl()


def _parameter_kept(parts: Parts, parameter: str) -> str:
    name, sign, value = parameter.partition("=")
    secret = value if sign else name
    is_harmless = len(secret) <= limits.QUERY_VALUE_MAX_CHARS and parts.redact(parameter) == parameter
    return parameter if is_harmless else f"{name if sign else ''}{sign}…"


def _line(parts: Parts, ref: str) -> str:
    """As a note's source has it: one line without credentials, its end cut off where it is long."""
    kept = " ".join(parts.redact(name_kept(clean(ref))).split())
    line = "".join(c if c.isprintable() else "\ufffd" for c in kept)
    return line if len(line) <= limits.LINE_MAX_CHARS else line[: limits.LINE_MAX_CHARS - 1] + "…"


# --- the repository's own


def _own(parts: Parts, event: HookEvent, place: Place, paths: list[str]) -> list[str]:
    """Those of a checkout's files that git has, or that the session itself edited."""
    if not paths:
        return []
    contexts = parts.ledger.contexts_of(event.session)
    edited = {path for context in contexts for path in context.edited if context.repo == place.scope}
    tracked = parts.tracked.among(place.checkout, paths)
    return [path for path in paths if path in tracked or path in edited]


def _named(event: HookEvent, place: Place, said: str, asked: str) -> list[str]:
    """Files of the checkout, from its root, that a call read: the one that it says, or those that its words or its output name."""
    root = place.checkout.root
    match event.result_kind:
        case ResultKind.FILE:
            return files_named(root, [event.cwd], [event.result_from])
        case ResultKind.SHELL | ResultKind.TOOL:
            words = list(dict.fromkeys(islice(_matches(_WORD, asked), limits.RESULT_NAMES_MAX)))
            lines = islice(_matches(_NAMED_LINE, _COLOUR.sub("", said)), limits.RESULT_NAMES_MAX)
            folders = [event.cwd, root, *islice(folders_named(event.cwd, words), limits.RESULT_FOLDERS_MAX)]
            return files_named(root, folders, dict.fromkeys(chain(words, lines)))
        case _:
            return []


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    return (match.group(match.lastindex or 0).rstrip(":") for match in pattern.finditer(text))
