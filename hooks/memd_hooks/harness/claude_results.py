"""What Claude Code's tools give, and where it comes from: its part of a PostToolUse. Measured on 2.1.332.

**Where.** In ``tool_response``, in a shape of each tool's own (Bash ``{stdout, stderr, …}``, Grep ``{content, …}``, WebFetch
``{result, url, …}``, an MCP tool its content blocks), and where the tool failed (a command that ends with another status than 0) in
PostToolUseFailure as ``error``, a text. The client has cut it by then: a command's output at 30,000 characters, an MCP tool's that
is too long to a sentence that names a file. So a payload is some hundred KB at most, far below what a hook carries.

**What is not there.** A command in the background gives nothing: its output is a file, which is read. What a subagent says is its
own tools' results, which came before.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from memd_hooks.events import ResultKind

_KINDS: Final[Mapping[str, ResultKind]] = {
    "Read": ResultKind.FILE,
    "WebFetch": ResultKind.PAGE,
    "WebSearch": ResultKind.SEARCH,
    "Bash": ResultKind.SHELL,
    "Grep": ResultKind.SHELL,
    "ReadMcpResourceTool": ResultKind.TOOL,
}
_MCP: Final = "mcp__"
_NO_WORDS: Final = frozenset({"base64", "data", "blob"})  # of a result: an image's bytes


class _Sought(msgspec.Struct):
    """What a tool that reads the web was asked for."""

    url: str = ""
    query: str = ""


def matcher(server: str) -> str:
    """The tools whose results are looked at, but for Read, which has a hook already.

    The client takes a matcher of other than plain words as a regular expression of JavaScript's; ``server`` is memd's own, whose
    answers are no document.
    """
    return f"Bash|Grep|WebFetch|WebSearch|ReadMcpResourceTool|{_MCP}(?!{server}__).*"


def kind_of(tool: str) -> ResultKind | None:
    """What the tool's results are taken from; None for one whose results are not looked at."""
    return ResultKind.TOOL if tool.startswith(_MCP) else _KINDS.get(tool)


def origin_of(tool: str, tool_input: bytes) -> str:
    """The page's address or the words searched for; the tool's name where it has neither. Total."""
    if kind_of(tool) not in (ResultKind.PAGE, ResultKind.SEARCH):
        return tool
    try:
        sought = msgspec.json.decode(tool_input, type=_Sought)
    except msgspec.DecodeError:
        return tool
    return sought.url or sought.query or tool


def text_of(raw: bytes) -> str:
    """Every text in a tool's result, or in its input, each on lines of its own. Total."""
    try:
        return "\n".join(_texts(_decoded(raw))) if raw else ""
    except (ValueError, RecursionError):
        return ""


def _decoded(raw: bytes) -> Any:
    """Half a surrogate pair, which a strict reader refuses, hides no result. Raises ValueError, RecursionError."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return json.loads(raw.decode("utf-8", "replace"))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key not in _NO_WORDS:
                yield from _texts(one)
