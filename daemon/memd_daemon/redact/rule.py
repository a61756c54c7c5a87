"""A rule: what a credential of one kind looks like. The rows stand in kinds_*.py, and table.py joins them.

One row a kind, kept by hand. A row says: the name that stands in the marker, the literals (anchors) one of which every such
credential begins with, the pattern of what follows the anchor, an example that must be found and a look-alike that must
survive. The tests run every row's pair.

To add a row:
- The anchor holds no white space and, with what follows it, at least REDACT_WORD_MIN_CHARS characters (limits.py): an anchor
  is looked for in words of that length only. Rows of kinds_headers.py are looked for in the whole text, in any case, and are
  free of this.
- The pattern is matched right behind the anchor. Where it has a group, the group is what goes; else anchor and match.
- Cost stays linear: a repeat without an upper bound is possessive (``++``, ``{20,}+``) and the last thing in the pattern, no
  repeat stands inside a repeat, and every other repeat ends at 4,096. tests/redact/test_redactor.py checks that on the
  parsed patterns.
- ``guard`` (``held``; ``free`` goes without): the character before the anchor may not be a letter or digit (``task-`` holds
  ``sk-``). Anchors that occur in no word and in no base64 go without, so that a glued credential is found as well.
- ``check``: what judge.py asks of the part that goes; ``mixed``: it is not made of words; ``literal``: a value, not a name.
- ``back``: a class with a fixed count, ``[a-z]{14}``: what has to stand before the anchor and goes with it.
- Examples are broken by a middle dot, taken out before use, so that no scanner of source code takes them for the real thing.
"""

from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of credential; the module docstring says what each field means."""

    name: str
    anchors: tuple[str, ...]
    pattern: str
    example: str
    lookalike: str
    check: str = ""
    guard: bool = True
    back: str = ""

    @property
    def example_text(self) -> str:
        """The example as it would stand in a text."""
        return self.example.replace("·", "")


UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
QUOTE = r"\\{0,2}[\"'`]?"  # opening or closing, escaped or not, or none


def free(name: str, anchors: str, pattern: str, example: str, lookalike: str, check: str = "", back: str = "") -> Rule:
    """A token whose anchor occurs in no word: found even where it is glued to something."""
    return Rule(name, tuple(anchors.split()), pattern, example, lookalike, check, guard=False, back=back)


def held(name: str, anchors: str, pattern: str, example: str, lookalike: str, check: str = "") -> Rule:
    """A token whose anchor could be the end of a word: found where a word begins."""
    return Rule(name, tuple(anchors.split()), pattern, example, lookalike, check)


def header(name: str, anchors: str, pattern: str, example: str, lookalike: str, check: str = "") -> Rule:
    """What stands behind a name, a flag or a tag; anchors are separated by ``|`` and may hold spaces."""
    return Rule(name, tuple(anchors.split("|")), pattern, example, lookalike, check, guard=False)
