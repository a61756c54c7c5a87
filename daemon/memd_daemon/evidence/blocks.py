"""A text's lines as blocks: paragraphs, list items, headings, and what is nobody's statement (code, `>` quotes, tables, tags).

What is not sure is read for the worse: a fence or a tag that is never closed runs to the end, a line under a `>` quote
belongs to it up to an empty line, four spaces after an empty line are code.
"""

from typing import Final, NamedTuple

from memd_daemon.pattern import pattern

PROSE, LISTED, HEADING, OTHER, RULE = "prose", "listed", "heading", "other", "rule"

_FENCE: Final = pattern(r"\s*(?:(?:[-*+]|\d{1,3}[.)])\s+)?(`{3,}|~{3,})")
_TAG: Final = pattern(r"\s*<(/?)([A-Za-z!?][\w:.-]*)[^<>]*>?")
_MARKER: Final = pattern(
    r"\s*(?:[-*+•‣◦▪●○·・]|[–—](?=\s)|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{2,5})\)|\d{1,3}\.|[①-⑳]|[一二三四五六七八九十]{1,3}[、.．]|\d{1,3}[、．])"
    r"(?:(?<=[•・①-⑳、．])\s*|\s+)(?=\S)"
)
_HEADING: Final = pattern(r"\s{0,3}#{1,6}\s+(?=\S)")
_UNDERLINE: Final = pattern(r"\s{0,3}(?:=+|-{2,})\s*$")
_RULE: Final = pattern(r"\s{0,3}(?:([-*_])\s*)(?:\1\s*){2,}$|\s{0,3}[=~_*#]{4,}\s*$")
_BOLD: Final = pattern(r"\s*(\*\*|__)(?!\s)[^*_]+\1\s*$")
_CODE_INDENT: Final = 4
_TAB_COLUMNS: Final = 4


class Block(NamedTuple):
    kind: str
    start: int  # of the text, behind a marker
    end: int
    indent: int = 0  # in columns, of the line or of its marker
    after_empty: bool = True  # an empty line or nothing stands before it
    lines: int = 1


class _Lines:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.fence = ""
        self.tag = ""
        self.in_quote = False
        self.empty = True

    def add(self, block: Block) -> None:
        self.blocks.append(block)

    def extend(self, end: int) -> None:
        last = self.blocks[-1]
        self.blocks[-1] = last._replace(end=end, lines=last.lines + 1)

    @property
    def goes_on(self) -> bool:
        """Whether a plain line belongs to the block before it."""
        return bool(self.blocks) and not self.empty and self.blocks[-1].kind in (PROSE, LISTED)

    @property
    def in_list(self) -> bool:
        return bool(self.blocks) and self.blocks[-1].kind == LISTED


def blocks(text: str) -> list[Block]:
    """The blocks of ``text`` in order; code, quotes, tables and tags are of the kind OTHER."""
    if "\n" not in text and "\r" not in text and text[:1] not in "`~<>#-*+|\t (0123456789":
        body = text.strip()
        start = text.find(body) if body else 0
        plain_line = text.splitlines()
        if len(plain_line) == 1 and not _MARKER.match(text) and not _BOLD.match(text):
            return [Block(PROSE, start, start + len(body))] if body else []
    state = _Lines()
    at = 0
    for line in text.splitlines(keepends=True):
        _line(state, line, at)
        at += len(line)
    return state.blocks


def _line(state: _Lines, line: str, at: int) -> None:
    body = line.strip()
    end = at + len(line.rstrip())
    start = at + len(line) - len(line.lstrip()) if body else end
    if not body:
        state.empty, state.in_quote = True, False
        return
    if not (_is_fenced(state, line, start, end) or _is_tagged(state, line, start, end)):
        _told(state, line, body, start, end)
    state.empty = False


def _is_fenced(state: _Lines, line: str, start: int, end: int) -> bool:
    if state.fence:
        state.extend(end)
        body = line.strip()
        if body.startswith(state.fence) and not body.strip(state.fence[0]):
            state.fence = ""
        return True
    fence = _FENCE.match(line)
    if fence is None or "`" in line[fence.end() :]:
        return False
    state.fence = fence.group(1)
    state.add(Block(OTHER, start, end))
    return True


def _is_tagged(state: _Lines, line: str, start: int, end: int) -> bool:
    if state.tag:
        state.extend(end)
    else:
        tag = _TAG.match(line)
        if tag is None or tag.group(1):
            return False
        state.tag = tag.group(2)
        state.add(Block(OTHER, start, end))
    if f"</{state.tag}>" in line or (state.tag.startswith("!--") and "-->" in line) or line.rstrip().endswith("/>"):
        state.tag = ""
    return True


def _told(state: _Lines, line: str, body: str, start: int, end: int) -> None:
    columns = len(line[: len(line) - len(line.lstrip())].expandtabs(_TAB_COLUMNS))
    if body[0] in ">＞" or state.in_quote:
        state.in_quote = True
        if state.blocks and state.blocks[-1].kind == OTHER and not state.empty:
            state.extend(end)
        else:
            state.add(Block(OTHER, start, end))
        return
    marker = _MARKER.match(line)
    if columns >= _CODE_INDENT and state.empty and not (marker and state.in_list):
        state.add(Block(OTHER, start, end))
    elif _is_under(state, line):
        state.blocks[-1] = state.blocks[-1]._replace(kind=HEADING)
    elif _RULE.match(line):
        state.add(Block(RULE, start, end))
    elif body[0] == "|" or (body.count("|") > 1 and body[-1] == "|"):
        state.add(Block(OTHER, start, end))
    elif (heading := _HEADING.match(line)) or (state.empty and _BOLD.match(line)):
        behind = len(heading.group().lstrip()) if heading else 0
        state.add(Block(HEADING, start + behind, end, columns, state.empty))
    elif marker and not (body[0] in "–—" and state.goes_on and not state.in_list):
        behind = len(marker.group().lstrip())
        state.add(Block(LISTED, start + behind, end, columns, state.empty))
    elif state.goes_on:
        state.extend(end)
    elif state.blocks and not state.empty and state.blocks[-1].kind == OTHER:
        state.add(Block(PROSE, start, end, columns, after_empty=False))
    else:
        more = columns > 1 and state.in_list
        state.add(Block(LISTED if more else PROSE, start, end, columns, state.empty))


def _is_under(state: _Lines, line: str) -> bool:
    """Whether the line underlines the one before it as a heading."""
    return (
        state.goes_on
        and state.blocks[-1].kind == PROSE
        and state.blocks[-1].lines == 1
        and bool(_UNDERLINE.match(line))
    )
