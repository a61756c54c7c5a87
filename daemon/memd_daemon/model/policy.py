"""A policy file: what it may say, and how it is read (trust-boundary.md, "Policy and settings"). TOML, UTF-8:

    [settings]                       # optional: keys of setting_keys.py that no event changes while this file counts
    budget.prompt = 400              # a number, a word, or for a list of repositories an array of them, [] for none
    pause = "off"

    [[directive]]                    # optional, any number up to limits.POLICY_DIRECTIVES_MAX
    text = "Never push to main."     # one standing rule
    repo = "github.com/acme/app"     # optional: a remote, or an absolute path; without it everywhere
    under = "services/api"           # optional: a path in the repository
    priority = "high"                # optional

It is read strictly, and whole or not at all: a key that is not named here, a value of another type or out of its bounds, and the
file says nothing. Who stands behind a file is not seen in it (service/policy.py).
"""

import unicodedata
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from memd_daemon import limits
from memd_daemon.model.setting_keys import KEYS, LISTS, NOT_PAUSED, PAUSE, Key, Value, written
from memd_daemon.model.words import Priority

OFF: Final = "off"
"""A pause that there is not, as a file says it."""

EMPTY_LIST: Final = "[]"

_TOP: Final = frozenset({"settings", "directive"})
_OF_DIRECTIVE: Final = frozenset({"text", "repo", "under", "priority"})


class Behind(StrEnum):
    """Who stands behind a policy file that counts."""

    OWNER = "owner"  # another user owns it, and this one can write neither it nor a folder above it
    SIGNATURE = "signature"  # a key signed it that is enrolled in this store


class Why(StrEnum):
    """Why a policy file does not count."""

    GONE = "gone"
    BAD_NAME = "bad-name"
    TOO_MANY = "too-many"
    NO_FILE = "no-plain-file"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too-large"
    ROOT = "root"
    IN_REACH = "in-reach"
    NOT_SIGNED = "not-signed"
    BAD_SIGNATURE_FILE = "bad-signature-file"
    OTHER_STORE = "other-store"
    KEY_UNKNOWN = "key-unknown"
    KEY_REJECTED = "key-rejected"
    CHANGED = "changed"
    OLDER = "older"
    MALFORMED = "malformed"


class Directive(msgspec.Struct, frozen=True, kw_only=True):
    """One standing rule of a file. ``number``: which of the file's, from 1."""

    number: int
    text: str
    priority: str = Priority.MEDIUM
    repo: str = ""
    under: str = ""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says. ``settings``: key -> (as an event would hold it, the value)."""

    settings: dict[str, tuple[str, Value]] = {}
    directives: tuple[Directive, ...] = ()


class BadPolicy(ValueError):
    """A file that breaks the rules above; the message says where, for people."""


def read(raw: bytes) -> Policy:
    """The policy in the bytes of a file. Raises BadPolicy."""
    import tomllib  # most machines have no such file, and no start waits for it

    try:
        told = tomllib.loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadPolicy("it is not UTF-8") from None
    except tomllib.TOMLDecodeError as wrong:
        raise BadPolicy(f"it is not TOML: {_said(str(wrong))}") from None
    except (ValueError, RecursionError):  # a number of a million digits, brackets in brackets
        raise BadPolicy("it is not TOML that can be read") from None
    _only(told, _TOP, "the file")
    return Policy(settings=_settings(told.get("settings", {})), directives=_directives(told.get("directive", [])))


def _only(table: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    for name in table:
        if name not in known:
            raise BadPolicy(f"{where} has an unknown key `{_said(name)}`")


def _said(text: str) -> str:
    """What somebody wrote, as a message repeats it."""
    return text[: limits.LINE_MAX_CHARS]


# --- settings


def _settings(table: object) -> dict[str, tuple[str, Value]]:
    if not isinstance(table, dict):
        raise BadPolicy("`settings` is no table")
    found: dict[str, tuple[str, Value]] = {}
    for name, given in _flat(table):
        key = KEYS.get(name)
        if key is None:
            raise BadPolicy(f"there is no setting `{_said(name)}`")
        if name in found:
            raise BadPolicy(f"`{name}` is set twice")
        found[name] = _value(key, given)
    return found


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """A key with a dot may be written as TOML reads it, in tables, or in quotes."""
    for name, given in table.items():
        if isinstance(given, dict) and not above:
            yield from _flat(given, f"{name}.")
        else:
            yield f"{above}{name}", given


def _value(key: Key, given: object) -> tuple[str, Value]:
    """A value as text and as itself. Raises BadPolicy where the key does not take it."""
    if key.name == PAUSE and given == OFF:
        return OFF, NOT_PAUSED
    if key.name in LISTS and given == []:
        return EMPTY_LIST, ()
    try:
        text = _text(key, given)
        return text, key.read(text)
    except (ValueError, OverflowError, TypeError):
        raise BadPolicy(f"`{key.name}` takes {key.takes}") from None


def _text(key: Key, given: object) -> str:
    """Raises ValueError for a type that no setting has."""
    if key.name in LISTS:
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            raise ValueError(key.name)
        return written(key.name, tuple(given))
    if isinstance(given, str):
        return given
    if isinstance(given, bool) or not isinstance(given, int | float) or key.name == PAUSE:
        raise ValueError(key.name)
    return written(key.name, given)


# --- directives


def _directives(given: object) -> tuple[Directive, ...]:
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise BadPolicy("`directive` is no array of tables: write [[directive]]")
    if len(given) > limits.POLICY_DIRECTIVES_MAX:
        raise BadPolicy(f"it has {len(given)} directives, and {limits.POLICY_DIRECTIVES_MAX} are allowed")
    return tuple(_directive(number, one) for number, one in enumerate(given, 1))


def _directive(number: int, table: Mapping[str, Any]) -> Directive:
    where = f"directive {number}"
    _only(table, _OF_DIRECTIVE, where)
    for name, given in table.items():
        if not isinstance(given, str):
            raise BadPolicy(f"{where}: `{name}` is no text")
    text = unicodedata.normalize("NFC", str(table.get("text", ""))).strip()
    if not text:
        raise BadPolicy(f"{where} has no text")
    if len(text.encode()) > limits.POLICY_TEXT_MAX_BYTES:
        raise BadPolicy(f"{where} has more than {limits.POLICY_TEXT_MAX_BYTES} bytes of text")
    priority = str(table.get("priority", Priority.MEDIUM))
    if priority not in list(Priority):
        raise BadPolicy(f"{where}: `priority` is one of {', '.join(Priority)}")
    return Directive(
        number=number,
        text=text,
        priority=priority,
        repo=_line(where, "repo", table),
        under=_under(where, table),
    )


def _line(where: str, name: str, table: Mapping[str, Any]) -> str:
    given = str(table.get(name, ""))
    if name in table and (not given.isprintable() or not 0 < len(given.strip()) <= limits.LINE_MAX_CHARS):
        raise BadPolicy(f"{where}: `{name}` is no line of up to {limits.LINE_MAX_CHARS} characters")
    return given.strip()


def _under(where: str, table: Mapping[str, Any]) -> str:
    given = unicodedata.normalize("NFC", _line(where, "under", table)).rstrip("/")
    parts = given.split("/") if given else []
    if ("under" in table and not given) or any(part in ("", ".", "..") for part in parts):
        raise BadPolicy(f"{where}: `under` is a path from the repository's root, without `.` and `..`")
    return given
