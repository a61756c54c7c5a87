"""What of a private thing stands in a report, in whatever spelling: ``leaks`` names each way that it was found.

The report is read as it stands and with its escapes taken back (JSON's, Python's, the shell's and mountinfo's octal ones, percent,
HTML), each in one case and one Unicode form, and once without anything but letters and figures. In all of these each piece of a
text is looked for, and each piece of the text reversed; its bytes in hex, in base64 at each of three alignments (both alphabets),
and its digests, by which a guess could be confirmed.
"""

import base64
import hashlib
import html
import re
import unicodedata
import urllib.parse
from collections.abc import Iterator
from typing import Final

from tests.cli.guard_rows import PHRASE, SHORT, Private

PIECE_CHARS: Final = 6
PIECE_CHARS_IDEOGRAPHS: Final = 3
BARE_PIECE_CHARS: Final = 8  # without what stands between words two of memd's own could make six
BASE64_CHARS: Final = 8  # six bytes
PHRASE_WORDS: Final = 4
DIGEST_DIGITS: Final = 8
LONG_FIGURE: Final = re.compile(r"(?=\w*\d)\w{6,}")
WORD: Final = re.compile(r"[^\W_]+")
IDEOGRAPHS: Final = re.compile("[\u3040-\u9fff]")
ESCAPES: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([nrt\\\"'/]))")
BYTES_ESCAPED: Final = re.compile(r"(?:\\(?:x[0-9a-fA-F]{2}|[0-3][0-7]{2}))+")
NAMED: Final = {"n": "\n", "r": "\r", "t": "\t"}


def folded(text: str) -> str:
    """One case, one form."""
    return unicodedata.normalize("NFKC", text).casefold()


def bare(text: str) -> str:
    """Letters and figures alone."""
    return "".join(char for char in text if char.isalnum())


class Report:
    """A report, ready to be searched."""

    def __init__(self, text: str) -> None:
        self.raw = text
        views = {"as it stands": text, "escaped": _unescaped(text), "percent": urllib.parse.unquote(text)}
        views["HTML"] = html.unescape(text)
        alike = {folded(view): how for how, view in reversed(views.items())}
        self.views = {how: view for view, how in alike.items()}
        self.bare = bare(folded(text))
        self.words = [f" {' '.join(WORD.findall(view))} " for view in self.views.values()]
        self.hex = re.sub(r"\\x|0x|[\s:,%-]", "", text.lower())
        self._runs: dict[tuple[str, int], set[str]] = {}

    def has(self, view: str, piece: str) -> bool:
        """Whether a piece stands in a view of this report."""
        known = (view, len(piece))
        if known not in self._runs:
            self._runs[known] = pieces(view, len(piece))
        return piece in self._runs[known]


def _unescaped(text: str) -> str:
    def of_bytes(found: re.Match[str]) -> str:
        codes = re.findall(r"\\(?:x(..)|([0-7]{3}))", found.group())
        return bytes(int(in_hex, 16) if in_hex else int(octal, 8) for in_hex, octal in codes).decode(errors="replace")

    def of_char(found: re.Match[str]) -> str:
        number = found.group(1) or found.group(2) or found.group(3)
        return chr(min(int(number, 16), 0x10FFFF)) if number else NAMED.get(found.group(4), found.group(4))

    return ESCAPES.sub(of_char, BYTES_ESCAPED.sub(of_bytes, text))


def pieces(text: str, size: int = PIECE_CHARS) -> set[str]:
    """Each run of ``size`` characters; the whole of what is shorter."""
    return {text[at : at + size] for at in range(max(1, len(text) - size + 1))}


def leaks(report: Report, row: Private, parts: tuple[str, ...]) -> list[str]:
    """How the report tells of a row, whose private parts are these; empty where it does not."""
    if row.kind == SHORT:
        found = (how for part in parts for how in _short(report, part))
    elif row.kind == PHRASE:
        found = (how for part in parts for how in _phrase(report, part))
    else:
        found = (how for part in parts for how in _text(report, part))
    return sorted(set(found))


def _short(report: Report, part: str) -> Iterator[str]:
    for how, view in report.views.items():
        if re.search(rf"(?<!\w){re.escape(folded(part))}(?!\w)", view):
            yield how


def _phrase(report: Report, part: str) -> Iterator[str]:
    words = WORD.findall(folded(part))
    size = min(PHRASE_WORDS, len(words))
    runs = [" ".join(words[at : at + size]) for at in range(len(words) - size + 1)]
    for run in (*runs, *(word for word in words if LONG_FIGURE.fullmatch(word))):
        if any(f" {run} " in view for view in report.words):
            yield f"words: {run}"


def _text(report: Report, part: str) -> Iterator[str]:
    plain = folded(part)
    size = PIECE_CHARS_IDEOGRAPHS if IDEOGRAPHS.search(plain) else PIECE_CHARS
    for how, view in report.views.items():
        yield from (f"{how}: {piece}" for piece in pieces(plain, size) if report.has(view, piece))
        yield from (f"{how}, reversed: {piece}" for piece in pieces(plain[::-1], size) if report.has(view, piece))
    letters = bare(plain)
    if len(letters) >= BARE_PIECE_CHARS:
        yield from (f"bare: {piece}" for piece in pieces(letters, BARE_PIECE_CHARS) if report.has(report.bare, piece))
    for spelled in {part, plain}:
        yield from _encoded(report, spelled.encode("utf-8", "surrogateescape"))


def _encoded(report: Report, secret: bytes) -> Iterator[str]:
    yield from (f"hex: {piece}" for piece in pieces(secret.hex(), PIECE_CHARS * 2) if report.has(report.hex, piece))
    for shift in range(3):
        # Of the first group a part is of the bytes before, of the last one of those behind.
        inner = base64.b64encode(b"\0" * shift + secret).rstrip(b"=").decode()[4 if shift else 0 : -2]
        for spelled in {inner, inner.replace("+", "-").replace("/", "_")}:
            if len(spelled) >= BASE64_CHARS:
                yield from (
                    f"base64: {piece}" for piece in pieces(spelled, BASE64_CHARS) if report.has(report.raw, piece)
                )
    for kind in ("md5", "sha1", "sha256", "sha512", "blake2b"):
        digest = hashlib.new(kind, secret).hexdigest()[:DIGEST_DIGITS]
        if digest in report.hex:
            yield f"{kind}: {digest}"
