"""One pair of the final set: what the user wrote, a note, and the text of the note that is user-stated."""

from typing import NamedTuple


class Pair(NamedTuple):
    """The right answer (`stated`) follows from docs on evidence alone; `name` is `kind: detail`."""

    name: str
    language: str
    turns: tuple[str, ...]
    note: str
    stated: tuple[str, ...]
    why: str


class Language(NamedTuple):
    """Builds the pairs of one language."""

    code: str

    def whole(self, name: str, turns: str | tuple[str, ...], note: str, why: str) -> Pair:
        """The whole content is user-stated."""
        return self.part(name, turns, note, note, why)

    def part(self, name: str, turns: str | tuple[str, ...], note: str, stated: str | tuple[str, ...], why: str) -> Pair:
        """Only `stated` is user-stated."""
        said = (turns,) if isinstance(turns, str) else turns
        return Pair(name, self.code, said, note, (stated,) if isinstance(stated, str) else stated, why)

    def none(self, name: str, turns: str | tuple[str, ...], note: str, why: str) -> Pair:
        """Nothing is user-stated."""
        return self.part(name, turns, note, (), why)
