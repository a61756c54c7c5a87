"""What a command prints: one JSON document, or words for a person.

- On a terminal words are laid out and coloured by rich, which is imported only then (NO_COLOR and TERM=dumb are respected).
  Into a pipe they are plain, one line for each row, nothing cut.
- What goes into a pipe may be read by a model, so no text brings a client's tag there.
- No text of a note reaches a terminal as it is: control characters, ANSI, bidi overrides, zero-width and filler characters are
  shown as ``\\u{…}``, as the daemon's frames show them to a model. Rich's markup is never read: styles come beside the text.
  On a terminal lines break at words and go on under where they began; what is to be pasted is left in one piece.
- Progress of what takes long goes to stderr, where that is a terminal, and steps aside for whatever else is printed.
- memd's own words name the command as it was started: `memd`, or ``scripts/memd`` and the like where only that runs.
"""

import os
import re
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from memd_client import wrap
from memd_hooks.harness.tags import LESS_THAN, without_tags

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

Part = str | tuple[str, str]
"""A piece of a line: a text, or a text and its style."""

_SUSPECT = re.compile(r"[^\x20-\x7e\n\t]")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
NARROW_COLUMNS = 60  # below, a table's last column stands on lines of its own
LAST_COLUMNS_MIN = 24  # what the last column of a table keeps; columns that can be done without go for it
PLAINLY_EVERY_S = 10.0  # between two lines that say how far something is: a log, not a film
STARTED_AS = "MEMD_COMMAND"  # the variable in which scripts/memd says how it was called

_working: "list[Status]" = []  # the signs of progress on the terminal; there is one terminal


def safe(text: str) -> str:
    """``text`` with everything invisible or able to steer a terminal shown by its number; line breaks and tabs stay."""
    return _SUSPECT.sub(_shown, text.replace("\r\n", "\n"))


def safe_line(text: str) -> str:
    """``text`` on one line, safe."""
    return safe(" ".join(text.split()))


def piped(text: str) -> str:
    """``text`` as a pipe may get it, safe: who reads it may be a model, to which a client's tag is the client's word."""
    text = safe(text)
    if not any(bracket in text for bracket in LESS_THAN):
        return text
    from memd_hooks.harness import BY_NAME  # here, since few texts hold a bracket

    return without_tags(text, sorted({tag for harness in BY_NAME.values() for tag in harness.TAGS}))


def _shown(match: re.Match[str]) -> str:
    char = match.group()
    hidden = unicodedata.category(char) in _HIDDEN_CATEGORIES or _FILLERS.match(char)
    return f"\\u{{{ord(char):x}}}" if hidden else char


def is_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout.isatty()


def emit(value: Any) -> None:
    """One JSON document on stdout; bytes as hex, an absent plan left out."""
    with _aside():
        click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode())


def say(*parts: Part, hang: int | None = None, whole: bool = False) -> None:
    """A line for a person on stdout, or several where a part holds line breaks.

    On a terminal it breaks at words. What follows stands to the right of the first ``hang`` columns, by default of the blanks
    and the bar that the line begins with. ``whole``: never broken, for what is to be pasted.
    """
    if not is_terminal():
        click.echo(piped("".join(_words(part) for part in parts)))
        return
    with _aside():
        _lay(console(), styled(*parts), hang, whole)


def warn(text: str) -> None:
    """A line of memd's own on stderr, commands in it named as they can be typed here."""
    text = piped(spoken(text))
    with _aside():
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns
            text = "\n".join(laid for line in text.split("\n") for laid in wrap.laid(line, width))
        click.echo(text, err=True)


def _lay(out: "Console", text: Any, hang: int | None, whole: bool) -> None:
    for line in text.split("\n", allow_blank=True):
        if whole:
            out.print(line, soft_wrap=True)
            continue
        at = wrap.head(line.plain) if hang is None else hang
        head, body = line[:at], line[at:]
        rest = styled(" " * wrap.columns(head.plain)) if hang is not None else head
        for number, (start, end) in enumerate(wrap.lines(body.plain, out.width - wrap.columns(head.plain))):
            out.print((rest if number else head) + body[start:end], soft_wrap=True)


def spoken(text: str) -> str:
    """memd's own words, with every `memd …` between backticks as it can be typed here."""
    words = command_words()
    return text if words == "memd" else text.replace("`memd ", f"`{words} ")


def command_words() -> str:
    """What starts this memd again: `memd` where that is the one on the PATH, else what it was started as."""
    started = os.environ.get(STARTED_AS) or sys.argv[0]
    if os.path.basename(started) != "memd":
        return "memd"
    found = shutil.which("memd")
    same = (os.path.realpath(started), os.path.realpath(sys.argv[0]))
    return "memd" if found is not None and os.path.realpath(found) in same else started


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 note`, `2 notes`; ``plural`` where it takes more than an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def styled(*parts: Part) -> Any:
    """A rich text of these parts."""
    from rich.text import Text

    return Text.assemble(*((safe(p), "") if isinstance(p, str) else (safe(p[0]), p[1]) for p in parts))


def console(*, stderr: bool = False) -> "Console":
    """rich's console on stdout or stderr."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def table(columns: Sequence[str], rows: Sequence[Sequence[Part]], spare: Sequence[str] = ()) -> None:
    """Rows under their names. The last column takes what is left of the width; on a narrow terminal it stands below.

    ``spare``: the columns that go, in this order, where the last one would have too little room.
    """
    if not rows:
        return
    if not is_terminal():
        for row in rows:
            click.echo(piped("  ".join(safe_line(_words(part)) for part in row)).rstrip())
        return
    with _aside():
        _draw(console(), columns, rows, spare)


def _draw(out: "Console", columns: Sequence[str], rows: Sequence[Sequence[Part]], spare: Sequence[str]) -> None:
    if out.width < NARROW_COLUMNS:
        for row in rows:
            _lay(out, styled(*(piece for part in row[:-1] for piece in (_one_line(part), "  "))), 0, False)
            _lay(out, styled("  ", _one_line(row[-1])), None, False)
        return
    from rich.table import Table

    kept = _kept(columns, rows, spare, out.width)
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index in kept:
        is_last = index == len(columns) - 1
        drawn.add_column(columns[index], overflow="fold" if is_last else "ellipsis", no_wrap=not is_last)
    for row in rows:
        drawn.add_row(*(styled(_one_line(row[index])) for index in kept))
    out.print(drawn)


def _kept(columns: Sequence[str], rows: Sequence[Sequence[Part]], spare: Sequence[str], width: int) -> list[int]:
    """The columns that are drawn: all, or those that leave the last its room."""
    kept = list(range(len(columns)))
    widths = [max(wrap.columns(_words(_one_line(row[i]))) for row in [*rows, columns]) + 2 for i in kept]
    needed = min(widths[-1], LAST_COLUMNS_MIN)
    for name in spare:
        if sum(widths[index] for index in kept[:-1]) + needed <= width:
            break
        kept.remove(columns.index(name))
    return kept


def _words(part: Part) -> str:
    return part if isinstance(part, str) else part[0]


def _one_line(part: Part) -> Part:
    return " ".join(part.split()) if isinstance(part, str) else (" ".join(part[0].split()), part[1])


@contextmanager
def working(what: str, *, plainly: bool = False) -> Iterator[Callable[[str], None]]:
    """Shows that something is being done, on stderr, where that is a terminal that can take it away again.

    What it gives changes what is shown, as what is done goes on. ``plainly``: elsewhere a line says how far it is now and then, of
    what may take minutes.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield _now_and_then() if plainly else lambda _: None
        return
    status = console(stderr=True).status(styled((f"{what} …", "dim")))
    with status:
        _working.append(status)
        try:
            yield lambda further: status.update(styled((f"{further} …", "dim")))
        finally:
            _working.remove(status)


def _now_and_then() -> Callable[[str], None]:
    """Says what it is given on a line of its own, as often as somebody who looks into a log may want it."""
    said_at = time.monotonic()

    def say(further: str) -> None:
        nonlocal said_at
        if time.monotonic() - said_at >= PLAINLY_EVERY_S:
            said_at = time.monotonic()
            warn(f"memd: {further}")

    return say


@contextmanager
def _aside() -> Iterator[None]:
    """Takes the signs of progress off the terminal while something is printed: they are erased by counting lines."""
    with ExitStack() as shown_again:
        for status in _working:
            status.stop()
            shown_again.callback(status.start)
        yield
        sys.stdout.flush()
