"""Names and ids that come in, as memd keeps them (evidence.md, "Turns": one redactor stands before every text).

An id in which a credential stands, or that no client would make (longer than a line, or not printable), is kept as its digest:
what was said under it still joins, in hooks and in the environment of a command alike. A path or word keeps what is around the
credential.
"""

import hashlib
from functools import lru_cache
from typing import Final

import msgspec

from memd_client import wire
from memd_daemon import limits
from memd_daemon.ground.repository import clean
from memd_daemon.redact import redact
from memd_hooks.events import HookEvent

DIGESTED: Final = "digest-"
"""Begins an id that is not kept as it came."""


@lru_cache(limits.NAMES_KNOWN_MAX)
def id_kept(given: str) -> str:
    """The id as it is kept. Total, and its own fixed point."""
    if len(given) <= limits.LINE_MAX_CHARS and given.isprintable() and redact(given) == given:
        return given
    digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()
    return DIGESTED + digest[: limits.NAME_DIGEST_CHARS]


@lru_cache(limits.NAMES_KNOWN_MAX)
def name_kept(given: str) -> str:
    """A path, branch or word as it is kept: text without credentials, at most `limits.PATH_MAX_CHARS` long."""
    return redact(clean(given[: limits.PATH_MAX_CHARS]))


def is_safe(given: str) -> bool:
    """Whether the name may be kept as it is."""
    return name_kept(given) == given


def heard(event: HookEvent) -> HookEvent:
    """The event with the names and ids in it as they are kept; its texts and its paths are others' to judge."""
    return msgspec.structs.replace(
        event,
        session=id_kept(event.session),
        agent=id_kept(event.agent),
        prompt_id=id_kept(event.prompt_id),
        agent_type=name_kept(event.agent_type),
        transcript_path=name_kept(event.transcript_path),
        entry_point=name_kept(event.entry_point),
    )


def request_kept(request: bytes, event: HookEvent) -> bytes:
    """A request id, bound to who used it: the same bytes from another session are another request. 16 bytes."""
    whose = f"{event.harness}\0{event.session}".encode("utf-8", "surrogatepass")
    # Each hook makes one, and this begins sooner than what OpenSSL has to look for.
    return hashlib.blake2b(request + whose, digest_size=wire.REQUEST_ID_BYTES).digest()
