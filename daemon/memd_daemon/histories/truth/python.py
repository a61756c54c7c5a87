"""Python's functions, by the standard library alone: `ast` says where they stand and how they nest, `tokenize` what they say.

The words of a function are its tokens without those of layout, and the nesting of its statements. A docstring is compared without
its margin, as the compiler takes it since Python 3.13, and without blanks at the ends of its lines.
"""

import ast
import inspect
import io
import token
import tokenize
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from memd_daemon.histories.truth import Function, Unreadable, digest

_LAYOUT: Final = {token.COMMENT, token.NL, token.NEWLINE, token.INDENT, token.DEDENT, token.ENDMARKER}
_Defined = ast.FunctionDef | ast.AsyncFunctionDef
_Documented = _Defined | ast.ClassDef
_Nests = ast.stmt | ast.ExceptHandler | ast.match_case


def functions(content: bytes) -> tuple[Function, ...]:
    """The functions and methods of a module in order. Raises Unreadable."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = io.TextIOWrapper(io.BytesIO(content), encoding).read()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a stranger's escapes
            tree = ast.parse(text)
        tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type not in _LAYOUT]
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
        elif isinstance(node, _Nests):
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
    prose = set(_docstrings(node))
    said = [_prose(one.string) if one.type == token.STRING and one.start[0] in prose else one.string for one in own]
    return Function(name, first, last, digest([*said, "".join(_nesting(node))]))


def _prose(docstring: str) -> str:
    return "\n".join(line.rstrip() for line in inspect.cleandoc(docstring).split("\n"))


def _docstrings(node: _Defined) -> Iterator[int]:
    """The first lines of those of the function and of all that is in it."""
    for one in ast.walk(node):
        if isinstance(one, _Documented) and ast.get_docstring(one, clean=False) is not None:
            yield one.body[0].lineno


def _nesting(node: ast.AST) -> Iterator[str]:
    """Which statement is in which: tokens alone do not say where a block ends."""
    yield "("
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Nests):
            yield from _nesting(child)
    yield ")"
