"""What a command prints: one JSON document, or words for a person.

- On a terminal words are laid out and coloured by rich, which is imported only then (NO_COLOR and TERM=dumb are respected).
  Into a pipe they are plain, one line for each row, nothing cut.
- No text of a note reaches a terminal as it is: control characters, ANSI, bidi overrides, zero-width and filler characters are
  shown as ``\\u{…}``, as the daemon's frames show them to a model. Rich's markup is never read: styles come beside the text.
- Progress of what takes long goes to stderr, where that is a terminal.
"""

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from rich.console import Console

Part = str | tuple[str, str]
"""A piece of a line: a text, or a text and its style."""

_SUSPECT = re.compile(r"[^\x20-\x7e\n\t]")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
NARROW_COLUMNS = 60  # below, a table's last column stands on lines of its own


def safe(text: str) -> str:
    """``text`` with everything invisible or able to steer a terminal shown by its number; line breaks and tabs stay."""
    return _SUSPECT.sub(_shown, text.replace("\r\n", "\n"))


def safe_line(text: str) -> str:
    """``text`` on one line, safe."""
    return safe(" ".join(text.split()))


def _shown(match: re.Match[str]) -> str:
    char = match.group()
    hidden = unicodedata.category(char) in _HIDDEN_CATEGORIES or _FILLERS.match(char)
    return f"\\u{{{ord(char):x}}}" if hidden else char


def is_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout.isatty()


def emit(value: Any) -> None:
    """One JSON document on stdout; bytes as hex, an absent plan left out."""
    click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode())


def say(*parts: Part) -> None:
    """One line for a person on stdout."""
    if not is_terminal():
        click.echo("".join(safe(_words(part)) for part in parts))
        return
    console().print(styled(*parts), soft_wrap=True)


def warn(text: str) -> None:
    """One line on stderr."""
    click.echo(safe(text), err=True)


def styled(*parts: Part) -> Any:
    """A rich text of these parts."""
    from rich.text import Text

    return Text.assemble(*((safe(p), "") if isinstance(p, str) else (safe(p[0]), p[1]) for p in parts))


def console(*, stderr: bool = False) -> "Console":
    """rich's console on stdout or stderr."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def table(columns: Sequence[str], rows: Sequence[Sequence[Part]]) -> None:
    """Rows under their names. The last column takes what is left of the width; on a narrow terminal it stands below."""
    if not rows:
        return
    if not is_terminal():
        for row in rows:
            click.echo("  ".join(safe_line(_words(part)) for part in row).rstrip())
        return
    out = console()
    if out.width < NARROW_COLUMNS:
        for row in rows:
            out.print(styled(*(piece for part in row[:-1] for piece in (part, "  "))), soft_wrap=True)
            out.print(styled("  ", row[-1]))
        return
    from rich.table import Table

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(columns):
        is_last = index == len(columns) - 1
        drawn.add_column(name, overflow="fold" if is_last else "ellipsis", no_wrap=not is_last)
    for row in rows:
        drawn.add_row(*(styled(_one_line(part)) for part in row))
    out.print(drawn)


def _words(part: Part) -> str:
    return part if isinstance(part, str) else part[0]


def _one_line(part: Part) -> Part:
    return " ".join(part.split()) if isinstance(part, str) else (" ".join(part[0].split()), part[1])


@contextmanager
def working(what: str) -> Iterator[None]:
    """Shows that something is being done, on stderr, where that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(styled((f"{what} …", "dim"))):
        yield
