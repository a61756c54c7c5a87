"""Files of a checkout by what people call them: a bare name, or a path in running text. Off the hook path."""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from memd_daemon import limits
from memd_daemon.ground.repository import Checkout, clean, git, relative_path
from memd_daemon.ground.spelling import located

_GLOB: Final = re.compile(r"([*?\[\]\\])")
_WORD: Final = re.compile(r"[^\s\"'`<>()\[\]{},;|*?=!$&]+")
_PART: Final = re.compile(r"(?:#L\d|::|:\d).*$")
"""Of a word: what follows the path of a file in it, as in ``a.py:10`` and ``a.py::f``."""


def files_called(checkout: Checkout, name: str) -> list[str]:
    """The repository's files of this very name, by their paths from the root, sorted. Asks git; outside git, walks."""
    root = checkout.root
    listed: Iterable[str] = _listed(root, name) if checkout.common else _walked(root, name)
    paths = (relative_path(root, root, clean(path)) for path in listed if path)
    return sorted({path for path in paths if path and os.path.isfile(located(root, path))})


def _listed(root: str, name: str) -> list[str]:
    pattern = ":(glob)**/" + _GLOB.sub(r"\\\1", name)
    told = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", pattern)
    return told.split("\0") if told else []


def _walked(root: str, name: str) -> list[str]:
    """As far as ANCHOR_WALK_MAX names go; nothing where there are more, since nobody knows what is among them."""
    found, looked_at = [], 0
    for folder, folders, files in os.walk(root):
        folders[:] = [one for one in folders if not one.startswith(".")]
        looked_at += len(folders) + len(files)
        if looked_at > limits.ANCHOR_WALK_MAX:
            return []
        found += [os.path.join(folder, name)] if name in files else []
    return found


def files_named_in(text: str, root: str, directory: str) -> Iterator[str]:
    """Existing files below the root by the words of a text, each once, in order: as seen from the directory, else from the root.

    Only words with a dot or a slash in them are looked for, MENTION_WORDS_MAX at most.
    """
    words = (_PART.sub("", word).rstrip(".:/") for word in _WORD.findall(text))
    likely = dict.fromkeys(word for word in words if "://" not in word and ("." in word or "/" in word))
    places = tuple(dict.fromkeys((directory, root)))
    found = (_file(root, places, word) for word in islice(likely, limits.MENTION_WORDS_MAX))
    yield from dict.fromkeys(path for path in found if path)


def _file(root: str, places: Iterable[str], word: str) -> str | None:
    here = next((place for place in places if os.path.isfile(os.path.join(place, word))), None)
    return relative_path(root, here, word) if here is not None else None
