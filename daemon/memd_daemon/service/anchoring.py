"""Anchors as somebody writes them, made into anchors as a note keeps them (staleness.md, "Anchors").

A file whose very name was written is that file, whatever it looks like. Else what was written is split (ground/claims.py) and its
path looked for: from the current directory, then from the repository's root, and a bare file name among the repository's files,
where exactly one has it. What was not taken by its word (another place, a line in a symbol's place) is said in the answer; what is
wrong, ambiguous or false already is refused, with what to do instead.
"""

import os
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from memd_daemon import errors, limits
from memd_daemon.frames import told
from memd_daemon.frames.words import target
from memd_daemon.ground import refused
from memd_daemon.ground.called import files_called, files_named_in
from memd_daemon.ground.claims import GONE, Given, claim_of, holds_secret, parse_anchor, verdict
from memd_daemon.ground.contents import Unreadable
from memd_daemon.ground.judged import ABSENT, is_beyond, taken
from memd_daemon.ground.names import parts_of
from memd_daemon.ground.repository import head_of, relative_path, resolved
from memd_daemon.ground.source import Block, Source
from memd_daemon.ground.spelling import located
from memd_daemon.model import event as ev
from memd_daemon.model.view import GroundStatus
from memd_daemon.service import text
from memd_daemon.service.given import encodable, kept_whole, refuse_lines, refuse_many, shown
from memd_daemon.service.names import is_safe
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Place

_REVERSED: Final = re.compile(r"#L(\d+)-L?(\d+)$", re.IGNORECASE)
_PART_ELSEWHERE: Final = re.compile(r"([^:#]+)[:#]([^:#\s]+)")
_LINES_ELSEWHERE: Final = re.compile(r"L?(\d+)(?:-L?(\d+))?", re.IGNORECASE)


class Anchored(msgspec.Struct, frozen=True):
    """Anchors as they are kept, and what their writer is told of them."""

    anchors: tuple[ev.Anchor, ...]
    told: tuple[str, ...] = ()


def anchors_at(parts: Parts, wanted: Sequence[tuple[str, bool]], cwd: str, place: Place) -> Anchored:
    """Anchors by (what was written, whether it is a proxy), as their files stand. Raises what a wrong one is refused with."""
    refuse_many("anchors", wanted, limits.ANCHORS_MAX)
    taking = _Taking(parts, cwd, place)
    made = [taking.anchor(given, is_proxy=proxy) for given, proxy in wanted]
    each = {(one.form, one.path, one.part): one for one in made}
    return Anchored(tuple(each.values()), tuple(dict.fromkeys(taking.told)))


def written(anchor: ev.Anchor | GroundStatus) -> str:
    """The anchor as people write it, and as it is: for a person's eyes and for its length."""
    joint = {"lines": "#", "symbol": "::", "claim": "::"}.get(anchor.form, "")
    if is_text(anchor):
        joint = " "
    return f"!{anchor.path}" if anchor.part == ABSENT else f"{anchor.path}{joint}{anchor.part}"


def is_text(anchor: ev.Anchor | GroundStatus) -> bool:
    """Whether it claims that a text occurs."""
    return anchor.form == "claim" and anchor.part.startswith("~")


class _Taking:
    """One write's anchors, from one place."""

    def __init__(self, parts: Parts, cwd: str, place: Place) -> None:
        self.told: list[str] = []
        self._parts, self._cwd, self._place = parts, cwd, place
        self._root = place.checkout.root
        self._sources: dict[str, Source] = {}
        self._below_root = relative_path(self._root, cwd, ".") is not None  # the root itself is no path below it

    @cached_property
    def _commit(self) -> str:
        return head_of(self._place.checkout)

    def anchor(self, given: str, *, is_proxy: bool) -> ev.Anchor:
        encodable(given, "anchor")
        if len(given) > limits.PATH_MAX_CHARS:
            raise errors.TextTooLong("anchor", len(given), limits.PATH_MAX_CHARS)
        whole = relative_path(self._root, self._cwd, given)
        if whole is not None and self._is_there(whole):
            return self._of_file(given, whole, is_proxy)
        refuse_lines(given, "anchor")  # a file may be called so, and nothing else
        split = parse_anchor(text.normal(given))
        if is_proxy and split.form != "file":
            raise refused.ProxyIsAFile(shown(given))
        if split.part == ABSENT:
            return self._of_absence(split)
        path = self._found(split.path)
        if split.form == "file":
            return self._of_file(split.path, path, is_proxy)
        return self._of_part(given, msgspec.structs.replace(split, path=path))

    def _is_there(self, path: str) -> bool:
        return os.path.lexists(located(self._root, path))

    def _kept(self, anchor: ev.Anchor) -> ev.Anchor:
        """Raises NameHoldsSecret, AnchorHoldsSecret, TextTooLong."""
        kept_whole(anchor.path, "anchor")
        said = written(anchor)
        if len(said) > limits.LINE_MAX_CHARS:
            raise errors.TextTooLong("anchor", len(said), limits.LINE_MAX_CHARS)
        if self._parts.redact(said) != said:
            raise refused.AnchorHoldsSecret
        return msgspec.structs.replace(anchor, checkout_branch=self._place.checkout.branch, commit=self._commit)

    def _found(self, given: str) -> str:
        """The path, from the checkout's root, of a file that was named. Raises what says why there is none."""
        inside = relative_path(self._root, self._cwd, given)
        if inside is None:
            raise self._outside(given)
        if self._is_there(inside):
            return inside
        elsewhere = [] if given.startswith("/") else self._elsewhere(given)
        if not elsewhere:
            raise errors.AnchorMissing(shown(given), self._meant(given))
        if len(elsewhere) > 1:
            raise refused.AnchorInSeveralPlaces(shown(given), _choices(elsewhere))
        self.told.append(
            told.found_elsewhere(
                target(ev.Anchor(path=given), self._parts.tags), self._from_root(ev.Anchor(path=elsewhere[0]))
            )
        )
        return elsewhere[0]

    def _from_root(self, anchor: ev.Anchor) -> str:
        """As it is told to whoever stands in the current directory."""
        named = target(anchor, self._parts.tags)
        return told.from_root(named) if self._below_root else named

    def _outside(self, given: str) -> errors.Refused:
        """What is wrong with a path that leads to no file below the root: it may be the root."""
        is_root = bool(given) and resolved(str(Path(self._cwd, given))) == resolved(self._root)
        return (
            refused.AnchorIsAFolder(shown(given)) if is_root else errors.AnchorOutside(shown(given), shown(self._root))
        )

    def _meant(self, given: str) -> str:
        """What a part of a file that was written as other programs write it (`app.py:4`, `app.py#4-5`) is called here."""
        found = _PART_ELSEWHERE.fullmatch(given)
        if found is None:
            return ""
        path, part = found.groups()
        inside = relative_path(self._root, self._cwd, path)
        if inside is None or not self._is_there(inside):
            return ""
        lines = _LINES_ELSEWHERE.fullmatch(part)
        means = f"#L{lines[1]}" + (f"-L{lines[2]}" if lines[2] else "") if lines else f"::{part}"
        return f" (did you mean {shown(path + means)}?)"

    def _elsewhere(self, given: str) -> list[str]:
        from_root = relative_path(self._root, self._root, given)
        if from_root is not None and self._is_there(from_root):
            return [from_root]
        return [] if "/" in given else list(filter(is_safe, files_called(self._place.checkout, given)))

    def _of_file(self, given: str, path: str, is_proxy: bool) -> ev.Anchor:
        anchor = self._kept(ev.Anchor(path=path, proxy=is_proxy))
        digest = self._parts.ground.digest(self._root, path)
        if digest is None and Path(located(self._root, path)).is_dir():
            raise refused.AnchorIsAFolder(shown(given))
        if digest is None:
            raise errors.AnchorNotAFile(shown(given))
        return msgspec.structs.replace(anchor, digest=digest)

    def _of_absence(self, split: Given) -> ev.Anchor:
        path = relative_path(self._root, self._cwd, split.path)
        if path is None:
            raise self._outside(split.path)
        if self._is_there(path):
            raise refused.ClaimNotSo(shown(f"!{split.path}"), " (it exists)")
        return self._kept(ev.Anchor(form="claim", path=path, part=ABSENT))

    def _of_part(self, given: str, split: Given) -> ev.Anchor:
        source = self._source(split.path)
        if split.form == "symbol":
            return self._of_symbol(split, source)
        if split.form == "claim":
            return self._of_claim(split, source)
        return self._of_lines(given, split, source)

    def _source(self, path: str) -> Source:
        if path not in self._sources:
            try:
                found = self._parts.ground.source(self._root, path)
            except Unreadable:
                raise refused.AnchorPartless(shown(path)) from None
            if found is None:
                raise errors.AnchorNotAFile(shown(path))
            if b"\0" in found.content:
                raise refused.AnchorPartless(shown(path))
            self._sources[path] = found
        return self._sources[path]

    def _of_lines(self, given: str, split: Given, source: Source) -> ev.Anchor:
        bounds = _REVERSED.search(given)
        if split.first < 1 or (bounds is not None and int(bounds[1]) > int(bounds[2])):
            raise refused.AnchorNotLines(shown(given), shown(split.path))
        anchor = self._kept(ev.Anchor(form="lines", path=split.path, part=split.part))
        block = source.lines(split.first, split.last)
        if block is None:
            raise refused.AnchorPastEnd(shown(given), len(source.content.splitlines()))
        if not source.text_of(block).strip():
            raise refused.AnchorBlank(shown(given))
        return taken(anchor, source, block)

    def _of_symbol(self, split: Given, source: Source) -> ev.Anchor:
        try:
            found = source.named(split.part)
        except errors.NoGrammar:
            return self._of_line_with(split, source)
        if len(found) != 1:
            raise _not_one(split, source, found)
        (block,) = found
        name = block.name if source.named(block.name) == found else split.part
        return taken(self._kept(ev.Anchor(form="symbol", path=split.path, part=name)), source, block)

    def _of_line_with(self, split: Given, source: Source) -> ev.Anchor:
        """Where no grammar reads the file: the one line on which the symbol's name stands. Raises NoGrammar, SymbolOnLines."""
        lines = _lines_with((parts_of(split.part) or ("",))[-1], source)
        if not lines:
            raise errors.NoGrammar(shown(split.path), shown(split.path))
        if len(lines) > 1:
            places = _choices([f"{split.path}#L{number}" for number in lines])
            raise refused.SymbolOnLines(shown(split.path), shown(split.part), places)
        block = source.lines(lines[0], lines[0])
        if block is None:
            raise errors.NoGrammar(shown(split.path), shown(split.path))
        anchor = self._kept(ev.Anchor(form="lines", path=split.path, part=f"L{lines[0]}"))
        tags = self._parts.tags
        symbol, path = (target(ev.Anchor(path=name), tags) for name in (split.part, split.path))
        self.told.append(told.line_instead(symbol, path, self._from_root(anchor)))
        return taken(anchor, source, block)

    def _of_claim(self, split: Given, source: Source) -> ev.Anchor:
        anchor = self._kept(ev.Anchor(form="claim", path=split.path, part=split.part))
        if is_beyond(anchor, source):
            raise refused.AnchorPartless(shown(split.path))
        claim = claim_of(split.path, split.part)
        found = verdict(claim, source)
        if not found.holds and source.gave_up:
            raise refused.AnchorPartless(shown(split.path))
        if not found.holds:
            now = " (it is not there)" if found.now == GONE else f" (it is {shown(found.now)} now)"
            raise refused.ClaimNotSo(shown(written(anchor)), now)
        if holds_secret(claim, source):
            raise refused.AnchorHoldsSecret
        return anchor


def _choices(names: Sequence[str]) -> str:
    more = len(names) - limits.ANCHOR_CHOICES_MAX
    named = ", ".join(shown(name) for name in names[: limits.ANCHOR_CHOICES_MAX])
    return named + (f" and {more} more" if more > 0 else "")


def _not_one(split: Given, source: Source, found: Sequence[Block]) -> errors.Refused:
    symbol, path = shown(split.part), shown(split.path)
    if found:
        return refused.AmbiguousSymbol(symbol, path, _choices(_named_apart(split.path, found)))
    close = _close_to(split.part, source)
    said = f" (did you mean {shown(' or '.join(close))}?)" if close else ""
    return refused.NoSuchSymbol(symbol, path, said, path)


def _close_to(symbol: str, source: Source) -> list[str]:
    """Names of the file that look like the one that is not there: whole ones, by the last part of each."""
    wanted = (parts_of(symbol) or ("",))[-1]
    by_last: dict[str, str] = {}
    for block in source.symbols():
        by_last.setdefault(block.name.rpartition(".")[2], block.name)
    return [by_last[name] for name in get_close_matches(wanted, by_last)]


def _named_apart(path: str, blocks: Sequence[Block]) -> list[str]:
    """Each by a name that no other has: its own, else its lines."""
    names = [block.name for block in blocks]
    return [f"{path}::{b.name}" if names.count(b.name) == 1 else f"{path}#L{b.first}-L{b.last}" for b in blocks]


def _lines_with(word: str, source: Source) -> list[int]:
    if not word:
        return []
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    lines = source.content.decode("utf-8", "replace").split("\n")
    return [number for number, line in enumerate(lines, 1) if pattern.search(line)]


# --- files that a content names


def mentions_in(
    parts: Parts, content: str, anchors: Iterable[ev.Anchor], cwd: str, place: Place
) -> tuple[ev.Anchor, ...]:
    """The files of the repository that a content names by path and no anchor does, each with its digest: MENTIONS_MAX at most."""
    root, branch = place.checkout.root, place.checkout.branch
    anchored = {anchor.path for anchor in anchors}
    paths = (path for path in files_named_in(content, root, cwd) if path not in anchored)
    named = list(islice((path for path in paths if _may_be_mentioned(path)), limits.MENTIONS_MAX))
    hashed = ((path, parts.ground.digest(root, path)) for path in named)
    commit = head_of(place.checkout) if named else ""
    return tuple(
        ev.Anchor(path=path, digest=digest, checkout_branch=branch, commit=commit) for path, digest in hashed if digest
    )


def _may_be_mentioned(path: str) -> bool:
    return len(path) <= limits.LINE_MAX_CHARS and is_safe(path) and path.partition("/")[0] != ".git"
