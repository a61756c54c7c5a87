"""How much was broken and compared, for the one line at the end of a run."""

from collections import Counter
from typing import Final

KILLS: Final = "daemons killed"
ANSWERS: Final = "acknowledged writes compared"
CUTS: Final = "power cuts"
BREAKS: Final = "calls made to fail"

counted: Final[Counter[str]] = Counter()
"""By the words above."""


def line(seed: int) -> str:
    """The line; "" where nothing was counted."""
    return ", ".join(f"{number:,} {what}" for what, number in counted.items()) + f"; seed {seed}" if counted else ""
