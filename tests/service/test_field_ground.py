"""The field case AT24: a note on a file that was deleted, renamed, edited elsewhere and edited where it counts."""

from pathlib import Path

import pytest

from tests.service.desk import Desk, git

CODE = "def add(a, b):\n    return a + b\n\n\ndef scale(a):\n    return 2 * a\n"
AT24 = {
    "deleted": (None, "anchor_missing", "anchor_missing"),
    "renamed": ("lib/sums.py", "anchor_renamed] (to lib/sums.py)", "anchor_renamed] (to lib/sums.py)"),
    "edited elsewhere": (CODE.replace("2 * a", "a * 2"), "anchor_changed", ""),
    "edited where it counts": (CODE.replace("a + b", "b + a"), "anchor_changed", "block_changed"),
    "formatted": (CODE.replace("a + b", "a  +  b"), "anchor_changed", ""),
}


@pytest.mark.parametrize("given", ["lib/adder.py", "adder.py", "lib/adder.py::add"])
@pytest.mark.parametrize("what", AT24)
def test_at24_what_befell_the_file_is_told_of_what_was_anchored(desk: Desk, what: str, given: str) -> None:
    """Stale, with its new place, fresh, stale; a path and a bare name are the whole file, a symbol is itself alone."""
    (desk.repo / "lib").mkdir()
    file = desk.repo / "lib" / "adder.py"
    file.write_text(CODE)
    commit_all(desk.repo)
    desk.remember("The adder takes strings too.", anchors=[given])
    new, of_file, of_symbol = AT24[what]
    if new == "lib/sums.py":
        file.rename(desk.repo / new)
    elif new is None:
        file.unlink()
    else:
        file.write_text(new)
    commit_all(desk.repo)
    signal, told_of = of_symbol if "::" in given else of_file, given if "/" in given else "lib/adder.py"
    text = desk.recall("does the adder take strings?").text
    assert "[STALE]" in text if signal else "[STALE]" not in text and "VERDICT" not in text
    assert f"VERDICT: anchor changed since — verify: {told_of} [{signal}" in text or not signal


def commit_all(repo: Path) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "work")
