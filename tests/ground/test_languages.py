"""Which language a file is in (staleness.md: found by tree-sitter, nothing fetched at run time)."""

import subprocess
import sys

import pytest

from memd_daemon import limits
from memd_daemon.ground.languages import LANGUAGES, language_of
from memd_daemon.ground.shapes.table import SHAPES
from tests.boundaries.source import PACKAGES


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", "python"), ("src/a.PYI", "python"), ("a.pyw", "python"),
        ("a.ts", "typescript"), ("a.cts", "typescript"), ("a.d.ts", "typescript"), ("a.tsx", "tsx"),
        ("a.js", "javascript"), ("a.mjs", "javascript"), ("a.cjs", "javascript"), ("a.jsx", "javascript"),
        ("a.go", "go"), ("a.rs", "rust"), ("A.java", "java"), ("a.c", "c"), ("a.h", "cpp"), ("a.hpp", "cpp"), ("a.cc", "cpp"),
        ("A.cs", "csharp"), ("a.rb", "ruby"), ("Rakefile", "ruby"), ("x/Gemfile", "ruby"), ("a.php", "php"),
        ("a.txt", ""), ("Makefile", ""), (".py", ""), ("py", ""), ("a.", ""), ("", ""), ("a.py/b", ""), ("a.kt", ""),
    ],
)  # fmt: skip
def test_a_path_says_its_language(path: str, language: str) -> None:
    """By its extension, in either case, or its whole name."""
    assert language_of(path, b"x") == language


@pytest.mark.parametrize(
    ("first", "language"),
    [
        (b"#!/usr/bin/python3", "python"), (b"#!/usr/bin/env python3.11\n", "python"), (b"#! /usr/bin/env -S python -u", "python"),
        (b"#!/usr/bin/env A=1 node", "javascript"), (b"#!/usr/local/bin/ruby -w", "ruby"), (b"#!/usr/bin/php", "php"),
        (b"#!/bin/sh", ""), (b"#!/usr/bin/pythonic", ""), (b"python", ""), (b"", ""), (b"#!", ""),
        (b"#!" + b" " * 300 + b"python", ""), (b"#!" + b"\xff" * 20, ""),
    ],
)  # fmt: skip
def test_a_first_line_says_it_where_the_name_does_not(first: bytes, language: str) -> None:
    """Scripts without an extension name their interpreter; one with an extension has said it."""
    assert language_of("bin/tool", first) == language
    assert language_of("bin/tool.txt", first) == ""


def test_what_is_no_source_has_no_language() -> None:
    """A NUL byte, or more than a person wrote."""
    assert language_of("a.py", b"x\0") == ""
    assert language_of("a.py", b"x" * limits.SYNTAX_FILE_MAX_BYTES) == "python"
    assert language_of("a.py", b"x" * (limits.SYNTAX_FILE_MAX_BYTES + 1)) == ""


def test_every_language_has_a_table() -> None:
    """A grammar without one could not be read."""
    assert set(SHAPES) == set(LANGUAGES)


def test_no_grammar_is_loaded_before_a_symbol_is_asked_for() -> None:
    """Neither importing the ground nor lines and claims of a text load tree-sitter; a Python symbol loads Python's alone."""
    path = [str(folder) for folder in PACKAGES.values()]
    program = (
        f"import sys; sys.path[:0] = {path!r}\n"
        "from memd_daemon.ground import claims, files\n"
        "from memd_daemon.ground.source import Source\n"
        "Source('a.py', b'x = 1').lines(1, 1); claims.verdict(claims.claim_of('a.txt', 'x=1'), Source('a.txt', b'x=1'))\n"
        "print([name for name in sys.modules if name.startswith('tree_sitter')])\n"
        "Source('a.py', b'x = 1').named('x')\n"
        "print(sorted(name for name in sys.modules if name.startswith('tree_sitter') and '.' not in name))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[:2] == ["[]", "['tree_sitter', 'tree_sitter_python']"]
