"""docs/delivery.md explains every rule that can leave a note out, in the words of the code."""

import re
from pathlib import Path

from memd_daemon.rules import WHY

PAGE = Path(__file__).resolve().parents[2] / "docs" / "delivery.md"
ROW = re.compile(r"^\| `([a-z-]+)` \| (.+) \|$", re.MULTILINE)


def test_every_rule_is_explained_as_the_code_says_it() -> None:
    """In the same order: the first that applies is the one that is named."""
    assert ROW.findall(PAGE.read_text(encoding="utf-8")) == list(WHY.items())
