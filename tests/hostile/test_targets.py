"""The pure parsers on inputs that are nearly right: the same ones at every run. scripts/fuzz looks for more, with coverage."""

import pytest

from tests.hostile.targets import KEPT, TARGETS, mutated
from tests.hostile.victim import IS_LONG

SEED = 20
COUNT = 20_000 if IS_LONG else 150


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_keeps_its_promise(name: str) -> None:
    """Its seeds, and inputs made from them; one that breaks it is shown."""
    for raw in mutated(TARGETS[name], SEED, COUNT):
        try:
            TARGETS[name].run(raw)
        except Exception as fault:
            raise AssertionError(f"{name} breaks on {raw!r}") from fault


def test_what_once_broke_a_parser() -> None:
    """Inputs that were found and mended."""
    for path in KEPT.glob("*"):
        name = next(target for target in TARGETS if path.name.startswith(f"{target}-"))
        TARGETS[name].run(path.read_bytes())
