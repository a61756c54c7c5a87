"""Anchors as people write them: ``path``, ``path#L10-L42``, ``path::symbol``, ``path::NAME=30``, ``path ~ "text"``, ``!path``."""

from typing import Final

ABSENT: Final = "!"
_JOINTS: Final = {"file": "", "lines": "#"}


def written(form: str, path: str, part: str) -> str:
    """One anchor, by the fields that an `AnchorOut` and an event have of it."""
    if form == "claim" and part == ABSENT:
        return f"{ABSENT}{path}"
    joint = " " if form == "claim" and part.startswith("~") else _JOINTS.get(form, "::")
    return f"{path}{joint}{part}"
