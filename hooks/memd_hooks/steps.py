"""What a plan is made of: steps that can be taken, and refusals that say why one cannot."""

import os
from pathlib import Path

import msgspec


class Changed(Exception):
    """The file is no longer what the plan was made for: plan again."""


class Refusal(msgspec.Struct, frozen=True):
    """Why ``path`` is left alone, and what to do about it; ``paste`` is a line for the person to add somewhere, as it stands."""

    harness: str
    path: Path
    why: str
    paste: str = ""

    def __str__(self) -> str:
        return f"{self.path} {self.why}:\n    {self.paste}" if self.paste else f"{self.path} {self.why}."


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One file to be changed; ``lines`` say how, for a person, and ``brief`` in one line."""

    harness: str
    path: Path
    lines: tuple[str, ...]
    brief: str

    def __repr__(self) -> str:
        """Without the file's content: settings may hold keys, and a step may end up in a traceback."""
        return f"{type(self).__name__}({str(self.path)!r})"

    def run(self, home: Path) -> None:
        """Takes the step and records it. Raises Changed (nothing was done) and OSError (nothing was changed)."""
        raise NotImplementedError


def write_refusal(harness: str, path: Path) -> Refusal | None:
    """A refusal when this user may not write ``path``; a link is followed, and a folder that is missing asks the next above."""
    target = Path(os.path.realpath(path))
    place = target if target.exists() else next(folder for folder in target.parents if folder.exists())
    if os.access(place, os.W_OK) and os.access(place if place.is_dir() else place.parent, os.W_OK | os.X_OK):
        return None
    return Refusal(
        harness, path, "may not be written by this user; nothing was changed. Check the owner and the mode of it"
    )
