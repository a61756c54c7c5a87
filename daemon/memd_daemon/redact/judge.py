"""Is this value a credential, or a name, a word, a reference to where a credential stands?

A pattern says where a value stands; these pure functions look at the value itself. They err towards redacting what stands
behind a name like ``password`` and towards keeping everything else: a lost example costs a reader a second, a stored
password costs its owner more, and `apiKey: import.meta.env.X` is the sentence that the note was about.

Words against chance: in names, letters follow letters and a capital begins a word, so neighbours change class (lower,
upper, digit) in fewer than one place of five; in base62, base36 and hex they do in two to three places of five.
"""

import re
from typing import Final

from memd_daemon import limits

_PIECES: Final = re.compile(r"[^A-Za-z0-9]+")
_WORD: Final = re.compile(r"[A-Za-z]{1,20}\d{0,3}|\d{1,4}")
_CHANGES: Final = re.compile(r"(?<=[a-z])[A-Z]|(?<=[A-Za-z])\d|(?<=\d)[A-Za-z]")
_DIGEST: Final = re.compile(
    r"[0-9a-f]{7,40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    re.IGNORECASE,
)
_PLACEHOLDER: Final = re.compile(
    r"(?:^|[-_ .])(?:your|my-own|example|sample|placeholder|dummy|fake|change-?me|replace|insert|todo|redacted)(?:$|[-_ .])"
    r"|x{4,}|\*{3}|\.{3}|…",
    re.IGNORECASE,
)
_TEMPLATE: Final = re.compile(
    r"\$[{(]|\{\{|#\{|%\(|<[^<>]{1,64}>|\{[A-Za-z_][\w.]{0,63}\}|^\$[A-Za-z_][\w:]{0,63}(?:\[\w{1,16}\])?$|^%\w{1,63}%$|^[$%]\w$|^ENC[\[(]"
    r"|\[[^\]]{0,40}(?:a-z|A-Z|0-9|\\[wds])"
)
_REFERENCE: Final = re.compile(
    r"(?:[A-Za-z]:\\|(?:file|env|vault|secret|op|arn|https?|ref\+\w{1,16}):|(?:sha\d{1,3}|md5)[:-])"
)
_CODE: Final = re.compile(r"[(\[{]|[A-Za-z_$][\w$?.:>-]{0,255}[(\[]|(?:new|await|function|lambda)$")
_CHAIN: Final = re.compile(r"[A-Za-z_$][\w$]{0,63}(?:\?\.|\.|::|->)")
_SAYS_WHAT: Final = re.compile(r"pass|pwd|secret|token|key|cred|auth|field|input|param|value", re.IGNORECASE)
_STRONG: Final = re.compile(r"[!@#$%^&*~+=]")


def changes(value: str) -> int:
    """Places where the class of character changes: lower to upper, letter to digit, digit to letter."""
    return len(_CHANGES.findall(value))


def by_chance(value: str) -> bool:
    """Neighbours change class as often as in a random string."""
    count = changes(value)
    return count >= limits.REDACT_CHANGES_MIN and count >= len(value) * limits.REDACT_CHANGES_SHARE


def is_word(piece: str) -> bool:
    """A word, a name in camel case, a word with a number behind it, a short number."""
    return _WORD.fullmatch(piece) is not None and changes(piece) * 3 <= max(len(piece), 3)


def is_words(value: str) -> bool:
    """Made of words with something between them: a path, a slug, a dotted name, a list of options."""
    return not _STRONG.search(value) and all(is_word(piece) for piece in _PIECES.split(value) if piece)


def is_placeholder(value: str) -> bool:
    """Filled in by nobody: x's, stars, dots, three characters over and over, `your-key-here`, a template, a marker."""
    return (
        len(set(value)) <= limits.REDACT_PLACEHOLDER_DISTINCT
        or _PLACEHOLDER.search(value) is not None
        or is_template(value)
    )


def is_template(value: str) -> bool:
    """Stands for a value that is filled in elsewhere: `${X}`, `{{ x }}`, `<x>`, `%X%`, `$X`, ENC[…], a pattern, or gone already."""
    return _TEMPLATE.search(value) is not None or "[redacted:" in value or not value.strip("*•.…-_")


def accepts(check: str, value: str) -> bool:
    """What a row of the table asks of the part that goes (rule.py, ``check``)."""
    if check == "value":
        return not is_template(value)
    if is_placeholder(value):
        return False
    if check == "mixed":
        return not is_words(value)
    if check == "literal":
        return is_value(value)
    return True


def is_value(value: str) -> bool:
    """Something a person or a machine chose, not the name of something: a digit, a strong symbol or a capital inside."""
    if is_words(value) and ("." in value or _SAYS_WHAT.search(value)):
        return False
    return not value.isdigit() and (changes(value) > 0 or _STRONG.search(value.rstrip("=!")) is not None)


def is_credential(value: str, kind: str, *, plain: bool) -> bool:
    """Is ``value`` a literal behind a name of ``kind``: password, secret, key, token, or id (a token of no sure kind)?

    ``plain``: it stands without quotes, where code could stand as well.
    """
    if is_placeholder(value) or _REFERENCE.match(value):
        return False
    if plain:
        value = value.lstrip("*&@:").rstrip("!?")
        if _is_code(value):
            return False
    if kind == "password":
        return _is_password(value, plain=plain)
    if kind == "id" and _DIGEST.fullmatch(value):
        return False
    return _is_key(value, plain=plain)


def _is_code(value: str) -> bool:
    return _CODE.match(value) is not None or (_CHAIN.match(value) is not None and not by_chance(value))


def _is_password(value: str, *, plain: bool) -> bool:
    if len(value) < limits.REDACT_PASSWORD_MIN_CHARS or " " in value:
        return False
    if not is_words(value):
        return any(c.isalnum() for c in value)
    if len([piece for piece in _PIECES.split(value) if piece]) != 1 or _SAYS_WHAT.search(value):
        return False
    if value.isalpha():
        return not plain and len(value) >= limits.REDACT_PASSPHRASE_MIN_CHARS
    return not plain or not value.isdigit()


def _is_key(value: str, *, plain: bool) -> bool:
    if len(value) < (limits.REDACT_KEY_MIN_CHARS if plain else limits.REDACT_QUOTED_KEY_MIN_CHARS) or " " in value:
        return False
    if by_chance(value):
        return True
    if is_words(value) and (plain or len(_PIECES.split(value)) > 1 or _SAYS_WHAT.search(value)):
        return False
    return (
        len(value) >= limits.REDACT_KEY_MIN_CHARS
        and len(set(value)) >= limits.REDACT_KEY_DISTINCT
        and any(c.isdigit() for c in value)
        and not value.isdigit()
    )
