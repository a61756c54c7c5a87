"""What a report may say: memd's own words, small numbers, and names that stand for places. All else becomes ``<…>``.

Nothing is looked for that would be private; what is known not to be is let through. A **word** stands where it is one that memd's
own source has, or one of the system's for an error. In a **line** it stands only where memd would have put it (bundle_said.py), and
so does a number: a sentence that somebody else made is not told, be each of its words memd's. A **path** becomes ``<home>``, ``~``,
``<repository 1>`` and the like, and what follows stands only where memd gave it its name. So no text of a user's comes through,
however it is written down: not in base64, not cut in two, nor in an error's message.

A private word that memd's source happens to have too (a user called ``store``) is known by name, and goes as well.
"""

import builtins
import errno
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from memd_client.cli.bundle_said import PACKAGES, Place, Window, edges, places, sources, windows, windows_of

GONE = "<…>"
PATH = "<path>"
JOINED = "\0"  # in the place of a blank in a folder's name while a line is taken apart; no text and no path has one
NAME_WORDS = 3
PRODUCT = "memd"  # stands, also where a repository or a user is called so

Roots = Mapping[str, str]
"""Absolute path of a folder -> the name that stands for it."""

_SOURCE_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[-'][A-Za-z0-9_]+)*")
_NUMBER = re.compile(r"[+-]?\d{1,6}(?:\.\d{1,3})?(?:ms|s|%|MB|kB|d|h|min)?")
_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,5}){1,2}(?:(?:a|b|rc|\.post|\.dev)\d{1,4})?")
_PLACE = re.compile(r"([A-Za-z_]\w*)\.py:\d{1,5}")
_NAMED_THING = re.compile(
    r"\w+[-_.]\w[\w.-]*|[A-Z]+[a-z]\w*[A-Z]\w*|[A-Z]{3,}"
)  # pre-edit, daemon_silent, OSError, ENOSPC
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TRACE = re.compile(r"(\w+) at (.+)")
_PLACEHOLDER = re.compile(r"<(?:home|python|memd|temporary|repository\0\d+)>|~(?=/|$)")
_DOTTED = re.compile(r"(?:memd|mcpServers)(?:\.\w+)+")
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_JOINTS = re.compile(r"[ ,]")
_LINES = str.maketrans({"\r": " ", "\n": " ", "\0": " "})

# Below these folders memd, or a client whose settings it writes, gave the names.
_OF_HOME = (
    r"run(/(daemon\.lock|address|status\.json|memd\.sock|starting|stopped|unreachable-until|refused))?",
    r"logs(/(daemon\.log(\.\d)?|fault))?",
    r"store(/(log|ledger)(/(data\.mdb|lock\.mdb|boot))?)?",
    r"index(/(words|vectors)(/(scopes\.json|memd\.json|meta\.json|\.managed\.json|\.tantivy-[a-z]+\.lock))?)?",
    r"bin(/(hook|hook\.pyc|mcp|memd-daemon))?",
    r"bench(/(last|quick)\.json)?",
    r"(keys|spool|policy|backup|replaced|install\.json|writer\.lock)",
)
_OF_USER = (
    r"\.claude(/settings\.json)?",
    r"\.claude\.json",
    r"\.local/(bin(/memd)?|share/memd)",
)
_OF_REPOSITORY = (r"\.git/hooks(/post-commit)?", r"\.claude/settings(\.local)?\.json", r"\.mcp\.json")
_OF_PYTHON = (r"bin/(python[\d.]*|memd)",)
_OWN = {
    name: re.compile("|".join(f"(?:{one})" for one in ones))
    for name, ones in (
        ("<home>", _OF_HOME),
        ("~", _OF_USER),
        ("<repository>", _OF_REPOSITORY),
        ("<python>", _OF_PYTHON),
    )
}
_SYSTEM = re.compile(
    r"/|/dev/null|/bin/sh|/usr(?:/local)?/bin/(?:python[\d.]*|git|memd)|/etc/memd(?:/policy\.d)?"
    r"|/etc/claude-code/managed-settings\.json"
)


class Clean:
    """Words and paths as a report may hold them. ``private``: words that never stand, ``roots``: folders that have a name."""

    def __init__(self, roots: Roots, private: Iterable[str] = (), words: frozenset[str] | None = None) -> None:
        self._words = vocabulary() if words is None else words
        self._roots = sorted(_spellings(roots).items(), key=lambda pair: -len(pair[0]))
        self._private = frozenset(word.casefold() for word in private) - {PRODUCT}
        self._said = windows() | _of_the_system()
        self._swept = [_bounded(word) for word in sorted(self._private - {w.casefold() for w in self._words}, key=len)]

    def word(self, text: str) -> str:
        """``text`` where it is one of memd's own words, or the name of one of memd's modules or places."""
        if text.casefold() in self._private:
            return GONE
        is_dotted = _DOTTED.fullmatch(text) and all(part in self._words for part in text.split("."))
        return text if is_dotted or text in self._words else GONE

    def name(self, text: str) -> str:
        """``text`` where it is what a thing that is measured is called (`hooks/pre-edit`): memd's own words and small numbers, a
        few in each part, for more would be a sentence."""
        parts = [[word for word in _JOINTS.split(part) if word] for part in text.split("/")]
        is_one = all(0 < len(words) <= NAME_WORDS and all(map(self._is_own, words)) for words in parts)
        return text if is_one and len(parts) <= NAME_WORDS else GONE

    def _is_own(self, word: str) -> bool:
        return bool(_NUMBER.fullmatch(word)) or self.word(word) == word

    def path(self, path: str) -> str:
        """The folder it lies in by its name, and the rest where memd gave it; `<path>` elsewhere."""
        return self._placed(self._named(path)).replace(JOINED, " ")

    def line(self, text: str) -> str:
        """A sentence of memd's own, perhaps with something in it that is not: on one line, that taken out."""
        split = [edges(chunk) for chunk in self._named(text.translate(_LINES)).split()]
        found = iter(places([self._own(word) for _, word, _ in split if word], self._said))
        chunks = [begins + (self._told(word, next(found)) if word else "") + ends for begins, word, ends in split]
        return self._joined(chunks)

    def trace(self, text: str) -> str:
        """What the log holds of an error: its kind, then the places that it came through."""
        found = _TRACE.fullmatch(text)
        if found is None:
            return GONE
        through = [self.place(one) for one in found.group(2).split(" > ")]
        return f"{self.word(found.group(1))} at {' > '.join(through)}"

    def place(self, text: str) -> str:
        """Where in memd's source, and in which function: `server.py:12 _serve`."""
        place, _, function = text.partition(" ")
        return f"{self._place(place)} {self.word(function)}"

    @staticmethod
    def _joined(chunks: Iterable[str]) -> str:
        """Of several things that are gone in a row one is told."""
        kept: list[str] = []
        for chunk in chunks:
            is_gone = edges(chunk)[1] == GONE
            if not (is_gone and kept and edges(kept[-1])[1] == GONE):
                kept.append(chunk)
        return " ".join(kept).replace(JOINED, " ")

    def at(self, text: object) -> str:
        """A time of memd's API."""
        return text if isinstance(text, str) and _AT.fullmatch(text) else GONE

    def sweep(self, report: str) -> str:
        """The whole report once more: whatever is known to be private and no word of memd's is in it nowhere."""
        for private in self._swept:
            report = private.sub(GONE, report)
        return report

    def _own(self, word: str) -> str | None:
        """The word as memd's source may have it beside others; None for one that it does not have, and for a private one."""
        return word if word in self._words and word.casefold() not in self._private else None

    def _told(self, word: str, place: Place) -> str:
        if _NUMBER.fullmatch(word) or _VERSION.fullmatch(word):
            return word if place.is_filled or place.is_said else GONE
        if ".py:" in word:
            return self._place(word)
        if "/" in word or _PLACEHOLDER.match(word):
            return self._placed(word)
        if word.startswith("--"):
            return f"--{self.word(word[2:])}"
        stands = place.is_said or place.is_between or _NAMED_THING.fullmatch(word)
        return self.word(word) if stands else GONE

    def _place(self, text: str) -> str:
        """`server.py:12`, of memd's own modules and Python's."""
        found = _PLACE.fullmatch(text)
        is_known = found is not None and (found.group(1) in self._words or found.group(1) in sys.stdlib_module_names)
        return text if is_known else GONE

    def _named(self, text: str) -> str:
        for folder, name in self._roots:
            if folder in text:
                text = re.sub(rf"(?<![\w.~>-]){re.escape(folder)}(?![\w.-])", name.replace(" ", JOINED), text)
        return text

    def _placed(self, named: str) -> str:
        begins = _PLACEHOLDER.match(named)
        if begins is None:
            return named if _SYSTEM.fullmatch(named) else PATH
        folder, rest = begins.group(), named[begins.end() :].strip("/")
        own = _OWN.get("<repository>" if folder.startswith("<repository") else folder)
        return folder if not rest else f"{folder}/{rest if own is not None and own.fullmatch(rest) else '…'}"


def _spellings(roots: Roots) -> dict[str, str]:
    """Each folder as it is given and as it is without links; none that is the whole disk."""
    found: dict[str, str] = {}
    for folder, name in roots.items():
        for spelling in (folder, os.path.realpath(folder)):
            if spelling.strip("/"):
                found.setdefault(spelling.rstrip("/"), name)
    return found


def _bounded(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", re.IGNORECASE)


@cache
def vocabulary() -> frozenset[str]:
    """The words that memd's own source has, with the codes that it makes of its errors' names, and the system's for its errors."""
    words = {word for text in sources() for word in _SOURCE_WORD.findall(text)}
    words.update("-".join(_CAMEL.split(word)).lower() for word in tuple(words) if _CAMEL.search(word))
    words.update(word for number in errno.errorcode for word in _SOURCE_WORD.findall(os.strerror(number)))
    words.update(errno.errorcode.values(), dir(builtins))
    return frozenset(words)


@cache
def _of_the_system() -> frozenset[Window]:
    """The system's sentences for its errors."""
    return frozenset(window for number in errno.errorcode for window in windows_of(os.strerror(number)))


def version(text: object) -> str:
    """The leading part of ``text`` that is a version's: nothing of a local build's name."""
    found = _VERSION.match(text) if isinstance(text, str) else None
    return found.group() if found else GONE


def folders_named(home: Path | None, user_home: str, repositories: Iterable[str]) -> dict[str, str]:
    """The folders that have a name, the innermost of two equal ones first."""
    import tempfile

    named = {} if home is None else {str(home): "<home>"}
    for number, repository in enumerate(dict.fromkeys(repositories), 1):
        named.setdefault(repository, f"<repository {number}>")
    for folder, name in ((sys.prefix, "<python>"), (sys.base_prefix, "<python>"), (user_home, "~")):
        named.setdefault(folder, name)
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        for folder in (found.submodule_search_locations or ()) if found else ():
            named.setdefault(str(Path(folder).parent), "<memd>")
    named.setdefault(tempfile.gettempdir(), "<temporary>")
    return named
