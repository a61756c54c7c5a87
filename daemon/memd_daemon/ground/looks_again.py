"""What was looked at on the disk to find where a session stands and which files its event names, to be looked at once more.

As long as all of it is as it was, what was made of it (repository.py) is made of the same. These are the same looks in fewer
steps, and nothing is taken on trust: a link that leads elsewhere, or a `.git` that comes to stand in between, is seen at once.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from memd_daemon import limits
from memd_daemon.ground import spelling
from memd_daemon.ground.repository import Checkout, is_a_path, is_there, marks_below, resolved_folder

_NO_NAMES: Final = ("", ".", "..")


class Looks(NamedTuple):
    """Paths that were looked at, by what was found there."""

    directory: str  # the event's own, a real path
    named: tuple[tuple[str, str], ...]  # paths of folders, and the real ones that they lead to
    absent: tuple[str, ...]  # where nothing stands
    files: tuple[str, ...]  # no symbolic links; they may be missing

    def stand(self) -> bool:
        """Whether all is as it was."""
        for path, real in self.named:
            if resolved_folder(path) != real:
                return False
        return not any(map(is_there, self.absent)) and not any(map(os.path.islink, self.files))


def looks_at(checkout: Checkout, cwd: str, files: Sequence[str]) -> Looks | None:
    """The looks behind files of a checkout that an event in a directory of it names (each absolute, or relative to ``cwd``).

    None where they are not so simple: outside git or across checkouts, in a folder that folds case, a link, a name with dots.
    """
    if not checkout.common:
        return None
    absent = set(marks_below(os.path.dirname(checkout.root)))
    leads: dict[str, str] = {}
    plain = []
    for given in ("", *files):
        folder, name = os.path.split(os.path.join("/", cwd, given)) if given else (os.path.join("/", cwd), "")
        path = os.path.join(folder, name)
        if (given and name in _NO_NAMES) or len(path) > limits.PATH_MAX_CHARS or not is_a_path(path):
            return None
        real = leads.get(folder) or resolved_folder(folder)
        if real is None or not _is_simple(checkout, real, name):
            return None
        leads[folder] = real
        absent.update(marks_below(real, checkout.root))
        plain += [os.path.join(real, name)] if given else []
    here = next(iter(leads.values()))
    return Looks(here, _telling(leads), tuple(sorted(absent)), tuple(plain))


def _telling(leads: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The folders, without a real path above another one: while no link is on the way to that, none is on its own."""
    real = [path for path, leads_to in leads.items() if path == leads_to]
    return tuple(one for one in leads.items() if one[0] != one[1] or not any(_is_above(one[0], path) for path in real))


def _is_above(folder: str, path: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _is_simple(checkout: Checkout, real: str, name: str) -> bool:
    """Whether a folder lies in the checkout, and it and the name in it are spelled on the disk as they stand here."""
    if real != checkout.root and not real.startswith(checkout.root.rstrip("/") + "/"):
        return False
    path = os.path.join(real, name) if name else real
    return spelling.ON_DISK.of(path) == path and spelling.ON_DISK.is_plain(path)
