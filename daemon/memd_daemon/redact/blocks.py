"""What goes as a whole block: text marked private, and private keys in armour.

`<private>` opens a block in any case, `</private>` closes it, blocks may stand inside each other, and one that is never
closed runs to the end of the text: whoever marked it wanted it gone, and the rest can be typed again.

A key in armour goes from its BEGIN line to its END line. Where the end was cut off, everything that still looks like key
material goes, so that half a key is not stored and the sentence after it is. A mention of the two lines without material
between them survives. Each text is walked once, from left to right.

The same key may stand in base64 as a whole, as the files of Kubernetes hold it; it goes with the lines it was wrapped into.
"""

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Final

from memd_daemon import limits

_PRIVATE: Final = re.compile(r"<(/?)\s{0,8}private\s{0,8}>", re.IGNORECASE | re.ASCII)
_KEY_BEGIN: Final = re.compile(r"-{4,5} {0,2}BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? {0,2}-{4,5}")
_KEY_END: Final = re.compile(r"-{4,5} {0,2}END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? {0,2}-{4,5}")
_KEY_LABELS: Final = ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "PGP ")
ENCODED_BEGIN: Final = "LS0tLS1CRUdJTi"
"""How every armour begins in base64, that of a certificate as well."""


def _encoded(label: str) -> str:
    line = f"-----BEGIN {label}PRIVATE KEY".encode()
    return b64encode(line).decode()[: len(line) * 8 // 6]  # the characters that what follows the line does not change


_ENCODED_KEY: Final = re.compile(rf"(?:{'|'.join(map(_encoded, _KEY_LABELS))})[A-Za-z0-9+/_-]{{20,}}+={{0,2}}")
_ENCODED_LINE: Final = re.compile(r"(?:\\n|\r?\n)[ \t]{0,16}([A-Za-z0-9+/_-]{1,76}={0,2})(?![A-Za-z0-9+/_=:.-])")
_BETWEEN: Final = re.compile(
    r"(?:\\[nr]|[\s\"'`+,|>#*;\\])*+"
)  # line ends, quotes and what code or a mail puts around a line
_MATERIAL: Final = re.compile(r"[A-Za-z0-9+/=]{16,}+|=[A-Za-z0-9+/]{4}(?![A-Za-z0-9])")
_HEADER: Final = re.compile(
    r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Subject): {0,2}[^\n\\]{0,200}"
)
_LAST_LINE: Final = re.compile(r"[A-Za-z0-9+/]{1,15}={0,2}(?=\s*+\Z|[\"'\\])|[A-Za-z0-9+/]{1,15}={1,2}")
_LINE: Final = re.compile(r"[A-Za-z0-9+/=]+")
_AROUND: Final = " \t\"'`+,|>#*;\\"
_PROSE: Final = re.compile(r"[a-z]{1,15} [a-z]{1,15} [a-z]")


def private_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Each outermost block marked private as (start, end), the tags included."""
    depth = start = 0
    for tag in _PRIVATE.finditer(text):
        if not tag[1]:
            start = tag.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                yield start, tag.end()
    if depth:
        yield start, len(text)


def key_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Each private key in armour as (start, end), its lines BEGIN and END included where they are there."""
    begins = list(_KEY_BEGIN.finditer(text))
    for number, begin in enumerate(begins):
        limit = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        closing = _KEY_END.search(text, begin.end(), limit)
        if closing and _is_body(text[begin.end() : closing.start()]):
            yield begin.start(), closing.end()
            continue
        end = _material_end(text, begin.end(), limit)
        if end > begin.end():
            yield begin.start(), end


def encoded_key_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Each private key in base64 as (start, end)."""
    for key in _ENCODED_KEY.finditer(text):
        end, length = key.end(), len(key[0])
        while length in limits.REDACT_WRAPPED_AT_CHARS and (line := _ENCODED_LINE.match(text, end)):
            end, length = line.end(), len(line[1])
        yield key.start(), end


def _is_body(body: str) -> bool:
    """Base64 and nothing else, or material somewhere; and no sentence."""
    rest = _HEADER.sub("", body)
    if _PROSE.search(rest):
        return False
    pieces = [piece.strip(_AROUND) for piece in re.split(r"\\[nr]|\s", rest)]
    whole = all(_LINE.fullmatch(piece) for piece in pieces if piece)
    return _MATERIAL.search(rest) is not None or (whole and sum(map(len, pieces)) >= limits.REDACT_ARMOUR_MIN_CHARS)


def _material_end(text: str, start: int, limit: int) -> int:
    """Where the key material that begins at ``start`` ends; ``start`` itself where there is none."""
    position = end = start
    while position < limit:
        between = _BETWEEN.match(text, position, limit)
        position = between.end() if between else position
        piece = _MATERIAL.match(text, position, limit) or _HEADER.match(text, position, limit)
        if piece is None:
            last = _LAST_LINE.match(text, position, limit) if end > start else None
            return last.end() if last else end
        position = end = piece.end()
    return end
