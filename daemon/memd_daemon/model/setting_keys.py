"""The table of settings: their names, what each takes, and how a value stands in an event.

A value is kept as text in a `setting_changed` event; "" takes it back to its default. What people type (`2h`, a relative path) is
made such a text before an event is written (service/settings.py).
"""

import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from memd_daemon import limits
from memd_daemon.model.ids import uid_from_text

Value = int | float | str | tuple[str, ...]

PAUSE: Final = "pause"
IGNORE: Final = "ignore"
ONLY: Final = "only"
HOLD: Final = "hold"
COSINE: Final = "gate.cosine"
IDF_SHARE: Final = "gate.idf_share"
IDLE_EXIT: Final = "idle_exit_hours"
TURNS_DAYS: Final = "retention.turns_days"
START_BUDGET: Final = "budget.session_start"
PROMPT_BUDGET: Final = "budget.prompt"
EDIT_BUDGET: Final = "budget.edit"
SUBAGENT_BUDGET: Final = "budget.subagent"

LISTS: Final = (IGNORE, ONLY)

OPEN_END: Final = 0
"""The value of a pause that lasts until it is taken back; another value is when it ends, UTC, Unix milliseconds."""
NOT_PAUSED: Final = -1

_WHOLE: Final = re.compile(r"[0-9]{1,9}")
_DECIMAL: Final = re.compile(r"[0-9](?:\.[0-9]{1,6})?")
_MOMENT: Final = "%Y-%m-%dT%H:%M:%SZ"


class Key(NamedTuple):
    """One setting. ``read`` takes the text of an event and raises ValueError for one that is out of bounds."""

    name: str
    says: str
    default: Value
    takes: str
    read: Callable[[str], Value]


def _whole(low: int, high: int) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        if not _WHOLE.fullmatch(text) or not low <= int(text) <= high:
            raise ValueError(text)
        return int(text)

    return read


def _share(low: float) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        if not _DECIMAL.fullmatch(text) or not low <= float(text) <= 1.0:
            raise ValueError(text)
        return float(text)

    return read


def _one_of(*words: str) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        if text not in words:
            raise ValueError(text)
        return text

    return read


def _until(text: str) -> Value:
    """``on``, or the moment of the end."""
    if text == "on":
        return OPEN_END
    end_ms = int(datetime.strptime(text, _MOMENT).replace(tzinfo=UTC).timestamp()) * limits.MS_PER_S
    if end_ms <= 0:
        raise ValueError(text)
    return end_ms


def _repositories(text: str) -> Value:
    """A JSON list of scopes (``repo:<uid>``) and real paths, each once."""
    listed = json.loads(text)
    if not isinstance(listed, list) or not 0 < len(listed) <= limits.SETTING_LISTED_MAX:
        raise ValueError(text)
    if not all(isinstance(one, str) and _is_repository(one) for one in listed) or len(set(listed)) != len(listed):
        raise ValueError(text)
    return tuple(listed)


def _is_repository(one: str) -> bool:
    if one.startswith("repo:"):
        return uid_from_text(one.removeprefix("repo:")) is not None
    return one.startswith("/") and len(one) <= limits.PATH_MAX_CHARS and one.isprintable()


def _tokens(name: str, says: str, default: int, low: int = 0, why: str = "") -> Key:
    high = limits.SETTING_BUDGET_MAX_TOKENS
    return Key(name, says, default, f"{low} to {high} tokens{why}", _whole(low, high))


_GATE_TAKES: Final = "{} to 1, with a point, e.g. 0.6"
_LIST_TAKES: Final = f"up to {limits.SETTING_LISTED_MAX} directories"

KEYS: Final[dict[str, Key]] = {
    key.name: key
    for key in (
        _tokens(
            START_BUDGET,
            "What a session's start, or a compaction, may be told.",
            limits.BUDGET_START_TOKENS,
            limits.SETTING_START_MIN_TOKENS,
            " (no fewer, so that directives can be counted on)",
        ),
        _tokens(PROMPT_BUDGET, "What a prompt may bring up.", limits.BUDGET_PROMPT_TOKENS),
        _tokens(EDIT_BUDGET, "What a read or an edit of a file may bring up.", limits.BUDGET_EDIT_TOKENS),
        _tokens(SUBAGENT_BUDGET, "What one subagent's start may be told.", limits.BUDGET_SUBAGENT_TOKENS),
        Key(
            COSINE,
            "How near in meaning a finding has to be to a prompt to interrupt it.",
            limits.GATE_COSINE,
            _GATE_TAKES.format(limits.SETTING_COSINE_MIN),
            _share(limits.SETTING_COSINE_MIN),
        ),
        Key(
            IDF_SHARE,
            "How much of a prompt's weight the words of a finding have to carry, where words decide.",
            limits.GATE_IDF_SHARE,
            _GATE_TAKES.format(0),
            _share(0.0),
        ),
        Key(
            HOLD,
            "Whether a high gotcha holds its edit back once; `interactive`: not in a headless run.",
            "on",
            "on, off or interactive",
            _one_of("on", "off", "interactive"),
        ),
        Key(
            IDLE_EXIT,
            "After how many hours without a session the daemon goes.",
            limits.IDLE_EXIT_S // limits.S_PER_HOUR,
            f"{limits.SETTING_IDLE_MIN_HOURS} to {limits.SETTING_IDLE_MAX_HOURS} hours",
            _whole(limits.SETTING_IDLE_MIN_HOURS, limits.SETTING_IDLE_MAX_HOURS),
        ),
        Key(
            TURNS_DAYS,
            "How many days what you said is kept, where no note's evidence cites it; only a signed change makes them fewer.",
            limits.TURNS_KEPT_DAYS,
            f"{limits.SETTING_TURNS_MIN_DAYS} to {limits.SETTING_TURNS_MAX_DAYS} days",
            _whole(limits.SETTING_TURNS_MIN_DAYS, limits.SETTING_TURNS_MAX_DAYS),
        ),
        Key(
            PAUSE,
            "Until when prompts and commits are not kept, and nothing is told unasked.",
            NOT_PAUSED,
            "on, off, a time from now (30m, 2h, 1d; a minute to 365 days) or its end (2026-03-04T12:00:00Z)",
            _until,
        ),
        Key(IGNORE, "Repositories that memd keeps out of.", (), _LIST_TAKES, _repositories),
        Key(ONLY, "The only repositories that memd works in; empty: everywhere.", (), _LIST_TAKES, _repositories),
    )
}
"""Every setting, in the order in which people are shown them. A key that does nothing does not stand here."""


def written(key: str, value: Value) -> str:
    """The text of an event for a value; `read` of the key gives it back."""
    if key == PAUSE:
        return "on" if value == OPEN_END else moment(int(str(value)))
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, tuple) else str(value)


def moment(unix_ms: int) -> str:
    """UTC to the second, as a pause's end is written."""
    return datetime.fromtimestamp(unix_ms // limits.MS_PER_S, UTC).strftime(_MOMENT)


def covers(listed: Iterable[str], scope: str, directory: str) -> bool:
    """Whether a list of scopes and paths holds this place; a path holds what lies below it."""
    return any(one == scope or directory == one or directory.startswith(one.rstrip("/") + "/") for one in listed)
