"""Python's functions, by the standard library alone: `ast` says where they stand, `tokenize` what they say."""

import ast
import io
import token
import tokenize
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from memd_daemon.histories.truth import Function, Unreadable, digest

_LEFT_OUT: Final = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING}
_LEVELS: Final = {token.INDENT: ">", token.DEDENT: "<", token.NEWLINE: "\n"}
_Defined = ast.FunctionDef | ast.AsyncFunctionDef


def functions(content: bytes) -> tuple[Function, ...]:
    """The functions and methods of a module in order. Raises Unreadable."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = io.TextIOWrapper(io.BytesIO(content), encoding).read()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a stranger's escapes
            tree = ast.parse(text)
        tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type not in _LEFT_OUT]
    except (SyntaxError, ValueError, LookupError, tokenize.TokenError, RecursionError, MemoryError) as error:
        raise Unreadable from error
    lines = text.split("\n")
    starts = [one.start for one in tokens]
    return tuple(_function(name, node, tokens, starts, lines) for name, node in _defined(tree.body, ""))


def _defined(body: Sequence[ast.AST], within: str) -> Iterator[tuple[str, _Defined]]:
    """Those of a module or class, also where a condition, a try or a with stands around them."""
    for node in body:
        if isinstance(node, _Defined):
            yield within + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _defined(node.body, f"{within}{node.name}.")
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            inner = (one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr))
            yield from _defined(list(inner), within)


def _function(
    name: str,
    node: _Defined,
    tokens: Sequence[tokenize.TokenInfo],
    starts: Sequence[tuple[int, int]],
    lines: Sequence[str],
) -> Function:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    last = node.end_lineno or node.lineno
    column = len(lines[last - 1].encode()[: node.end_col_offset].decode("utf-8", "replace"))
    own = tokens[bisect_left(starts, (first, 0)) : bisect_left(starts, (last, column))]
    said = [_LEVELS.get(one.type, one.string) for one in own]
    while said and own[0].type in (token.INDENT, token.DEDENT):  # of what stands before it
        said, own = said[1:], own[1:]
    return Function(name, first, last, digest(said))
