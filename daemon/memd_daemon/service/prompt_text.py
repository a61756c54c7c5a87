"""A prompt's text as a turn keeps it: redacted, in NFC, cut where it is longer than any turn."""

from memd_daemon import limits
from memd_daemon.service import text
from memd_daemon.service.parts import Parts

_CUT = "\n[cut by memd: the prompt was longer]"


def as_stored(parts: Parts, prompt: str) -> str:
    """The text that is kept of ``prompt``; the same for what a client's transcript says of it. Total."""
    stored = prompt.encode("utf-8", "replace")
    if len(stored) > limits.TURN_MAX_BYTES:
        prompt = stored[: limits.TURN_MAX_BYTES].decode("utf-8", "ignore") + _CUT
    else:
        prompt = stored.decode("utf-8")
    return parts.redact(text.normal(prompt))
