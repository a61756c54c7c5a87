"""What a command prints: nothing of a note steers a terminal, and a pipe gets plain text."""

import unicodedata
from pathlib import Path

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


@pytest.mark.parametrize("tag", ["system-reminder", "SYSTEM_REMINDER", "/system-reminder", "command-name"])
def test_a_pipe_gets_no_clients_tag(capsys: pytest.CaptureFixture[str], tag: str) -> None:
    """Who reads it may be a model; any other bracket stays."""
    screen.table(("text",), [(f"a <{tag}> b <T> c",)])
    screen.say(f"a <{tag}> b < c")
    screen.warn(f"a <{tag}>")
    out, err = capsys.readouterr()
    assert out == f"a \\u{{3c}}{tag}> b <T> c\na \\u{{3c}}{tag}> b < c\n"
    assert err == f"a \\u{{3c}}{tag}>\n"


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


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 40 columns."""
    monkeypatch.setattr(screen, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("parts", "options", "shown"),
    [
        (("short",), {}, "short\n"),
        ((), {}, "\n"),
        (("  " + "word " * 10,), {}, "  " + "word " * 6 + "word\n  word word word\n"),
        (("label     ", "word " * 8), {"hang": 10}, "label     " + "word " * 5 + "word\n          word word\n"),
        (("word " * 10 + "end",), {"whole": True}, "word " * 10 + "end\n"),
        (("one\ntwo",), {}, "one\ntwo\n"),
    ],
)
def test_a_line_on_a_terminal_breaks_at_words(
    capsys: pytest.CaptureFixture[str], parts: tuple[str, ...], options: dict[str, int], shown: str
) -> None:
    """What is broken off stands under where the line began, or under its label; what is to be pasted stays whole."""
    screen.say(*parts, **options)  # type: ignore[arg-type]
    assert [line.rstrip() for line in capsys.readouterr().out.split("\n")] == [s.rstrip() for s in shown.split("\n")]


@pytest.mark.usefixtures("terminal")
def test_columns_that_can_be_spared_go_before_the_last_is_too_narrow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order given, and none where there is room."""
    columns, row = ("when", "who", "state", "notes"), ("2026-11-30 10:00", "session-a", "delivered", "[1] [2] " * 5)
    monkeypatch.setenv("COLUMNS", "62")
    screen.table(columns, [row], spare=("state", "who"))
    narrow = capsys.readouterr().out
    assert "delivered" not in narrow
    assert "session-a" in narrow
    assert "[1] [2] [1] [2]" in narrow
    monkeypatch.setenv("COLUMNS", "120")
    screen.table(columns, [row], spare=("state", "who"))
    assert "delivered" in capsys.readouterr().out


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("argv", "started", "on_path", "words"),
    [
        ("-c", "", False, "memd"),
        ("/env/bin/memd", "scripts/memd", False, "scripts/memd"),
        ("{env}", "", False, "{env}"),
        ("{env}", "scripts/memd", True, "memd"),
        ("{env}", "", True, "memd"),
    ],
)
def test_the_command_is_named_as_it_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, argv: str, started: str, on_path: bool, words: str
) -> None:
    """`memd` where the PATH leads to this very program, also by a link; else what it was started as."""
    env = program(tmp_path / "env" / "bin" / "memd")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "memd").symlink_to(env)
    monkeypatch.setattr("sys.argv", [argv.format(env=env)])
    monkeypatch.setenv("PATH", str(tmp_path / "bin") if on_path else "/nowhere")
    monkeypatch.setenv(screen.STARTED_AS, started)
    assert screen.command_words() == words.format(env=env)
    assert screen.spoken("run `memd start`, not memd start") == f"run `{words.format(env=env)} start`, not memd start"


@pytest.mark.parametrize(("number", "told"), [(0, "0 notes"), (1, "1 note"), (2, "2 notes")])
def test_one_is_no_plural(number: int, told: str) -> None:
    """Zero is many."""
    assert screen.count(number, "note") == told
