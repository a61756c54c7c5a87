"""What is kept of what tools gave: where it came from, and no word of it."""

import pytest

from memd_daemon import limits
from memd_daemon.service import tool_results
from tests.service.copying import PAGE, README, URL, page, results, shell, written
from tests.service.desk import Desk
from tests.service.test_settings import change


def test_of_a_text_nothing_is_kept_but_hashes(live: Desk) -> None:
    """No word of the page, and of its address nothing secret."""
    address = f"https://anna:hunter2@docs.example/p?id=7&token={'k3y' * 9}&flag#part"
    live.result("WebFetch", {"url": address}, {"result": PAGE})
    (kept,) = results(live)
    assert kept.ref == "https://docs.example/p?id=7&token=…&flag"
    stored = b"".join(file.read_bytes() for file in (live.home / "store/ledger").iterdir())
    assert b"growing pause" not in stored
    assert b"hunter2" not in stored


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://a.example/x", "https://a.example/x"),
        ("https://a.example:8443/x?q=", "https://a.example:8443/x?q="),
        ("https://u@a.example/?a=1&b=2", "https://a.example/?a=1&b=2"),
        ("https://a.example/?" + "x" * 40, "https://a.example/?…"),
        ("https://a.example/?sig=" + "x" * 40 + "&p=2", "https://a.example/?sig=…&p=2"),
        ("https://[bad/?token=x#y", "https://[bad/"),
        ("", ""),
    ],
)
def test_an_address_is_kept_without_what_opens_it(desk: Desk, address: str, kept: str) -> None:
    """No user, no fragment, no long value."""
    assert tool_results.address_kept(desk.daemon.parts, address) == kept


def test_a_line_is_a_line(live: Desk) -> None:
    """Whatever an origin is called, it stands in a header."""
    live.result("WebSearch", {"query": "two\nlines \x1b[31m" + "and more " * 40}, {"results": [PAGE]})
    (kept,) = results(live)
    assert kept.ref.startswith("search: two lines")
    assert len(kept.ref) <= limits.LINE_MAX_CHARS
    assert kept.ref.isprintable()


def test_words_are_kept_once(live: Desk) -> None:
    """The same page again adds nothing."""
    page(live)
    before = results(live)
    page(live)
    assert results(live) == before != []


def test_a_pause_keeps_nothing(live: Desk) -> None:
    """As of prompts."""
    change(live, "pause", "on")
    page(live)
    assert results(live) == []


def test_a_probe_keeps_nothing(live: Desk) -> None:
    """It asks whether the path works."""
    payload = live.payload("PostToolUse", "s1", tool_name="WebFetch", tool_input={"url": URL}, tool_response=PAGE)
    assert live.hook("tool-result", payload, probe=True) == ""
    assert results(live) == []


def test_a_long_result_is_known_by_its_beginning_and_its_end(live: Desk) -> None:
    """What lies between is more than any model is shown."""
    filler = "filler " * (limits.RESULT_MAX_CHARS // 7)
    shell(live, "curl x", f"{README}{filler}{PAGE}")
    assert written(live) == ("tool", "Bash")


def test_a_number_at_the_beginning_of_a_line_is_a_word_or_none(live: Desk) -> None:
    """Whether a list or a command put it there: copied with it or without it, it is a copy."""
    lines = "\n".join(f"{n}: step number {n} of this is to look at the {n}th of all machines" for n in range(20, 30))
    shell(live, "curl x", lines)
    assert written(live, lines[:200]) == ("tool", "Bash")
    assert written(live, lines.replace(": step", " Step", 1)[4:200]) == ("tool", "Bash")
    assert written(live, "\n".join(line[4:] for line in lines.split("\n"))) == ("tool", "Bash")


def test_a_copy_across_two_stretches_is_a_copy(live: Desk) -> None:
    """A result is taken apart stretch by stretch, and no run of words is lost where two of them meet."""
    words = [f"word{n}" for n in range(limits.RESULT_STRETCH_WORDS + 60)]
    shell(live, "curl x", " ".join(words))
    for at in range(limits.RESULT_STRETCH_WORDS - 14, limits.RESULT_STRETCH_WORDS + 2, 2):
        assert written(live, " ".join(words[at : at + 14])) == ("tool", "Bash")


def test_a_page_behind_a_hundred_results_that_wait_is_kept_and_one_without_room_is_told(
    live: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Left out, its words would count as those of whoever writes them; the log says what was, and nothing of it."""
    with monkeypatch.context() as slow:
        slow.setattr(limits, "RESULT_FIRST_S", 3600)
        for number in range(limits.BEHIND_WAITING_MAX + 1):
            live.result("Bash", {"command": "ls"}, {"stdout": f"{number}"})
        live.result("WebFetch", {"url": URL}, {"result": PAGE})
        assert "left out" not in caplog.text
        slow.setattr(limits, "BEHIND_WAITING_MAX_BYTES", 0)
        live.result("WebFetch", {"url": URL}, {"result": PAGE})
    assert "a tool's result was left out" in caplog.text
    assert PAGE[:20] not in caplog.text
    assert [kept.ref for kept in results(live)] == [URL]
