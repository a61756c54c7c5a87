"""One daemon for all attacks that leave it as it was, and ones with a world of their own."""

from collections.abc import Iterator

import pytest

from tests.hostile.victim import Victim


@pytest.fixture(scope="session")
def victim() -> Iterator[Victim]:
    """The daemon that most attacks share: what one leaves behind is the next one's."""
    made = Victim()
    try:
        yield made
    finally:
        made.close()
