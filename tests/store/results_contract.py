"""What every adapter of the ledger's port has to keep of what tools gave; test_ledger.py runs it."""

import pytest

from memd_daemon import limits
from memd_daemon.model.tool_result import REPOSITORY, ToolResult
from memd_daemon.store.ledger_port import Ledger


def result(session: str = "s", at: int = 100, hashes: int = 1, **fields: str) -> ToolResult:
    return ToolResult(session, at, fields.get("origin", "tool"), fields.get("ref", "Bash"), bytes(8 * hashes))


def times(results: list[ToolResult]) -> list[int]:
    return [one.at for one in results]


class ResultsContract:
    """Sessions apart, oldest first, within their bounds."""

    def test_results_are_kept_by_session(self, ledger: Ledger) -> None:
        """Each whole, oldest first."""
        first, second = result(at=1, origin=REPOSITORY, ref="a.py"), result(at=2, hashes=3)
        for one in (first, result("other"), second):
            ledger.put_result(one)
        assert ledger.results_of("s") == [first, second]
        assert ledger.results_of("nobody") == []

    def test_what_came_of_late_is_found_of_every_session(self, ledger: Ledger) -> None:
        """From a moment on."""
        for at, session in ((1, "a"), (2, "b"), (3, "a")):
            ledger.put_result(result(session, at))
        assert times(ledger.results_since(2)) == [2, 3]
        assert ledger.results_since(4) == []

    def test_a_session_that_has_too_much_loses_its_oldest(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By number and by hashes; another session's are left alone, and the newest stays however large it is."""
        monkeypatch.setattr(limits, "RESULTS_SESSION_MAX", 3)
        monkeypatch.setattr(limits, "RESULT_HASHES_SESSION_MAX", 10)
        ledger.put_result(result("other", 1))
        for at in range(2, 7):
            ledger.put_result(result(at=at))
        assert times(ledger.results_of("s")) == [4, 5, 6]
        ledger.put_result(result(at=7, hashes=9))
        assert times(ledger.results_of("s")) == [6, 7]
        ledger.put_result(result(at=8, hashes=99))
        assert times(ledger.results_of("s")) == [8]
        assert times(ledger.results_of("other")) == [1]

    def test_all_together_have_a_bound_too(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        """The oldest of any session goes."""
        monkeypatch.setattr(limits, "RESULTS_MAX", 2)
        for at, session in ((1, "z"), (2, "a"), (3, "z")):
            ledger.put_result(result(session, at))
        assert times(ledger.results_since(0)) == [2, 3]
        assert times(ledger.results_of("z")) == [3]

    def test_what_is_old_goes(self, ledger: Ledger) -> None:
        """With the deliveries of its time, in slices between which the caller rests."""
        for at in range(40):
            ledger.put_result(result(at=at))
        rests: list[None] = []
        ledger.prune(35, lambda _: False, lambda: rests.append(None))
        assert times(ledger.results_of("s")) == times(ledger.results_since(0)) == [35, 36, 37, 38, 39]
        assert len(rests) > 2
