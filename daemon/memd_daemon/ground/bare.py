"""What a checkout holds, without the credentials in it: values, lines and names of files are told to a model, and some are kept.

A repository's files are looked at long after a note was written, and any of them may have come to hold a credential since.
"""

from memd_daemon import limits
from memd_daemon.ground.names import Valued
from memd_daemon.redact import redact, redact_lines


def bare(text: str) -> str:
    """A text without credentials."""
    return redact(text)


def bare_lines(text: str) -> str:
    """Likewise, with every line in its place."""
    return redact_lines(text)


def is_bare(name: str) -> bool:
    """Whether a file's name may be told as it is."""
    return bare(name) == name


def bare_value(one: Valued) -> str:
    """A value without a credential, of which any part of its name may be the only sign (`auth.token.value`).

    Of a long one the beginning: a credential that was cut in two would not be known for one, so none of its end is told.
    """
    value = _looked_through(one)
    for word in one.name:
        value = bare(f"{word} = {value}").removeprefix(f"{word} = ")
    is_cut = len(one.value) > limits.VALUE_LOOKED_THROUGH_MAX_CHARS
    return value[: -limits.VALUE_CUT_CHARS] + "…" if is_cut else value


def holds_credential(one: Valued) -> bool:
    """Whether a value is a credential, or holds one."""
    value = _looked_through(one)
    return any(bare(f"{word} = {value}") != f"{word} = {value}" for word in one.name)


def _looked_through(one: Valued) -> str:
    """As much of a value as is looked at."""
    return one.value[: limits.VALUE_LOOKED_THROUGH_MAX_CHARS]
