"""What a command prints: nothing of a note steers a terminal, and a pipe gets plain text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client.cli import screen


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with → and ä\n\ttab", "plain, with → and ä\n\ttab"),
        ("\x1b[31mred\x1b[0m", "\\u{1b}[31mred\\u{1b}[0m"),
        ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
        ("a\rb", "a\\u{d}b"),
        ("line\r\nline", "line\nline"),
        ("\u202egnp.exe", "\\u{202e}gnp.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u{200b}width\\u{feff}"),
        ("\u2028", "\\u{2028}"),
        ("\x9b31m", "\\u{9b}31m"),
        ("\u3164", "\\u{3164}"),
        ("", ""),
    ],
)
def test_what_could_steer_a_terminal_is_shown_by_its_number(text: str, shown: str) -> None:
    """ANSI, OSC, carriage returns, bidi overrides, zero-width and filler characters are told, not obeyed."""
    assert screen.safe(text) == shown


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    """Whatever a note holds: no control character but line break and tab, no format character, no surrogate."""
    kept = {char for char in screen.safe(text) if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert kept <= {"\n", "\t"}


@given(st.text())
def test_what_is_safe_stays(text: str) -> None:
    """Escaping twice is escaping once."""
    assert screen.safe(screen.safe(text)) == screen.safe(text)


def test_a_pipe_gets_plain_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """One line a row, every cell on it, no style and no width."""
    long = "word " * 100
    screen.table(("id", "text"), [(("[1]", "bold"), long), ("[2]", "two\nlines \x1b[0m")])
    assert capsys.readouterr().out == f"[1]  {long.strip()}\n[2]  two lines \\u{{1b}}[0m\n"


@pytest.mark.parametrize(("width", "is_below"), [(100, False), (40, True)])
def test_a_narrow_terminal_puts_the_last_column_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, is_below: bool
) -> None:
    """A summary has room on either; markup in it stays text."""
    monkeypatch.setattr(screen, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    screen.table(("id", "text"), [("[1]", "[bold]not markup[/bold]")])
    out = capsys.readouterr().out
    assert "[bold]not markup[/bold]" in out
    assert ("\n  [bold]" in out) is is_below


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the value, and readable."""
    screen.emit({"text": "a\x1bb", "none": None})
    assert capsys.readouterr().out == '{\n  "text": "a\\u001bb",\n  "none": null\n}\n'
