"""The same small file in every language that memd reads (tongues.py, tongues_compiled.py)."""

from typing import NamedTuple


class Tongue(NamedTuple):
    """``body`` holds the definition ``name`` (and others); ``laid_out`` is the same code, formatted and commented otherwise."""

    path: str
    head: str  # what has to stand first
    body: str
    asked: tuple[str, ...]  # spellings of one symbol
    name: str  # its qualified name
    laid_out: str
    edits: tuple[tuple[str, str], ...]  # within it, each a change
    names: str  # all that is defined, in order
