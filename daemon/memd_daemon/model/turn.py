"""A turn: what a user said, verbatim but for redaction (evidence.md). Local, append-only, immutable."""

import msgspec


class Witness(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a turn's attestation is judged by, kept from the first day."""

    peer_pid: int = 0
    ancestors: tuple[str, ...] = ()  # process names from the hook's parent upwards
    entry_point: str = ""
    transcript_path: str = ""
    prompt_id: str = ""
    spooled: bool = False


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    uid: bytes
    number: int  # what people quote, in this store
    session: str
    agent: str = ""
    n: int  # its number in the session, from 1
    harness: str
    repo: str = ""  # scope of the repository, "repo:<uid>"
    at: int  # UTC, Unix milliseconds
    text: str
    attestation: str
    witness: Witness
    request: bytes = b""  # the hook's request id
