"""When a Python function counts as changed: the words of it, by the standard library."""

import pytest

from memd_daemon.histories import truth
from memd_daemon.histories.truth import Unreadable

BEFORE = '''
@cached
def area(width, height=2):
    """The area.

    Of a rectangle.
    """
    if width > 0:
        return width * height
    return None
'''


def code(text: str, name: str = "area") -> str:
    (found,) = (one for one in truth.functions("a.py", text.encode()) if one.name == name)
    return found.code


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace("    return None", "    # none of it\n\n    return None  # at all"),
        BEFORE.replace("width * height", "width*height"),
        BEFORE.replace("(width, height=2)", "(\n    width,\n    height=2\n)"),
        BEFORE.replace("width * height", "width * \\\n            height"),
        BEFORE.replace("        return width", "              return width"),
        BEFORE.replace("0:\n        return", "0: return"),
        BEFORE.replace("rectangle.", "rectangle. ").replace("\n\n", "\n    \n"),
        BEFORE.replace("\n", "\r\n"),
        "import os\n" + BEFORE + "\ndef other(): pass\n",
        "if True:\n" + BEFORE.replace("\n", "\n    "),
    ],
)
def test_how_it_is_laid_out_is_no_change(after: str) -> None:
    """Comments, blanks, line breaks in brackets or behind a backslash, depth of indentation, line ends, what stands around it.

    A docstring moves along with its function, blanks at its line ends are layout, and a block may stand on the line that opens it.
    """
    assert code(after) == code(BEFORE)


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace("The area", "An area"),
        BEFORE.replace("@cached", "@cache"),
        BEFORE.replace("@cached\n", ""),
        BEFORE.replace('"""', "'''"),
        BEFORE.replace("height=2", "height=2,"),
        BEFORE.replace("width * height", "(width * height)"),
        BEFORE.replace("    return None", "        return None"),
        BEFORE.replace("def", "async def"),
        BEFORE.replace("height=2", "high=2").replace("* height", "* high"),
    ],
)
def test_what_it_says_is_a_change(after: str) -> None:
    """Docstring, decorators, quotes, trailing commas, brackets, which block a line belongs to, names."""
    assert code(after) != code(BEFORE)


def test_functions_have_qualified_names_and_lines() -> None:
    """Methods by their class, also below a condition; what stands in a function is part of it; decorators are its first line."""
    text = """
class A:
    @x
    @y(1,
       2)
    def f(self):
        def inner(): ...
        return 'é' + inner()
    class B:
        async def g(self): ...
try:
    import z
except ImportError:
    def h(): ...
else:
    with z:
        def k(): ...
"""
    found = [(one.name, one.first, one.last) for one in truth.functions("a.py", text.encode())]
    assert found == [("A.f", 3, 8), ("A.B.g", 10, 10), ("h", 14, 14), ("k", 17, 17)]


def test_the_end_of_a_line_with_other_letters_is_found() -> None:
    """Columns of the syntax tree count bytes, those of tokens characters."""
    assert code("def area(): return 'äöü', 1") != code("def area(): return 'äöü', 2")


@pytest.mark.parametrize("content", [b"def f(:\n", b"print 'x'\n", b"\xff\xfe", b"# coding: no-such\nx = 1\n", b"a\0b"])
def test_what_is_no_python_is_unreadable(content: bytes) -> None:
    """Nothing is said of it."""
    with pytest.raises(Unreadable):
        truth.functions("a.py", content)


@pytest.mark.parametrize("path", ["a.txt", "Makefile", ".py", "a.tsx", ""])
def test_other_files_are_unreadable(path: str) -> None:
    """A language that truth is not known in."""
    assert truth.language_of(path) == ""
    with pytest.raises(Unreadable):
        truth.functions(path, b"")
