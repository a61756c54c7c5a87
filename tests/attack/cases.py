"""The table of attacks: each a named case with its surface, what the attacker does, and how it is judged to have got through."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.attack.judge import STANDING, judge
from tests.attack.siege import Siege

Do = Callable[[Siege], None]


class Judged(Exception):
    """What every attack is measured by does not apply: this one damages the very thing, and has looked at what is told of that."""


@dataclass(frozen=True)
class Attack:
    """One case. ``alone``: it needs a world of its own, since it breaks the one it is in. ``hides``: notes that the damage which it
    does to the store takes from sight, as SECURITY.md says; it is then measured by the others, and by what it says itself."""

    id: str
    surface: str
    does: str
    through: str
    run: Do
    alone: bool = False
    hides: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.id}@{self.surface}"

    def try_on(self, siege: Siege) -> None:
        """Carries it out. Raises Through where it got through, by its own measure or by what every attack is measured by."""
        try:
            self.run(siege)
        except Judged:
            return
        judge(siege, standing=tuple(name for name in STANDING if name not in self.hides))


@dataclass
class Group:
    """Attacks with one aim. ``through``: how one of them is judged to have got through, where it does not say better."""

    name: str
    through: str
    attacks: list[Attack] = field(default_factory=list)

    def __iter__(self) -> Iterator[Attack]:
        return iter(self.attacks)

    def __call__(
        self, id: str, surface: str, does: str, *, through: str = "", alone: bool = False, hides: tuple[str, ...] = ()
    ) -> Callable[[Do], Do]:
        """A decorator: the function carries the attack out."""

        def add(run: Do) -> Do:
            self.add(id, surface, does, run, through=through, alone=alone, hides=hides)
            return run

        return add

    def add(
        self,
        id: str,
        surface: str,
        does: str,
        run: Do,
        *,
        through: str = "",
        alone: bool = False,
        hides: tuple[str, ...] = (),
    ) -> None:
        """One more case."""
        name = f"{self.name}/{id}"
        assert all((one.id, one.surface) != (name, surface) for one in self.attacks), f"{name} on {surface} twice"
        self.attacks.append(Attack(name, surface, does, through or self.through, run, alone, hides))
