"""A signed policy file: what is signed, and the file that holds the signature.

**What is signed**, to the byte and for ever. An Ed25519 signature (64 bytes) over the 32 bytes

    SHA-256( "memd/policy/1"           13 bytes, ASCII
           ‖ store uid                 16 bytes
           ‖ signed at                  8 bytes, unsigned, big-endian: UTC, Unix milliseconds
           ‖ length of the name         8 bytes, unsigned, big-endian
           ‖ name                       the file's own name, `team.toml`, without its folder
           ‖ length of the content      8 bytes, unsigned, big-endian
           ‖ content )                  the file's bytes

`memd/policy/1` begins no other text that memd hashes, so the signature is good for nothing else, for no other file, for no other
name and in no other store. ``signed at`` orders the versions of one file: one that is older than the version that counted last
counts no more.

**The signature file** lies beside the policy file, `team.toml.sig`, one JSON object of at most `SIGNATURE_FILE_MAX_BYTES`:

    {"format": "memd-policy/1", "store", "key_id", "signed_at", "sig"}       bytes are hex, the time is a number

Who may sign is the store's to say: a key that is enrolled there, for as long as nobody has rejected it.
"""

import hashlib
import re
from typing import Any, Final, NamedTuple

DOMAIN: Final = b"memd/policy/1"
FORMAT: Final = "memd-policy/1"
SUFFIX: Final = ".sig"
SIGNATURE_FILE_MAX_BYTES: Final = 1024  # it has some 300
CONTENT_MAX_BYTES: Final = 32 * 1024  # of a policy file: several times what any session is told at its start
TIME_MAX_MS: Final = (1 << 48) - 1  # the year 10889

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,58}\.toml")
"""What a policy file may be called: such a name stands in memd's words as it is."""

_LENGTHS: Final = {"store": 16, "key_id": 16, "sig": 64}


class PolicySignature(NamedTuple):
    """What a signature file holds."""

    store: bytes
    key_id: bytes
    signed_at: int
    sig: bytes


def policy_digest(store: bytes, signed_at: int, name: str, content: bytes) -> bytes:
    """The 32 bytes that are signed; the layout stands in the module docstring. Raises ValueError for parts that do not fit it."""
    if len(store) != _LENGTHS["store"] or not 0 < signed_at <= TIME_MAX_MS or not NAME.fullmatch(name):
        raise ValueError("a store uid has 16 bytes, a time is one of this era, and a policy file's name is a plain one")
    named = name.encode("ascii")
    parts = (signed_at, len(named), len(content))
    at, name_length, length = (number.to_bytes(8, "big") for number in parts)
    return hashlib.sha256(DOMAIN + store + at + name_length + named + length + content).digest()


def encode_signature(signature: PolicySignature) -> bytes:
    """The bytes of a signature file."""
    import json

    told = {
        "format": FORMAT,
        "store": signature.store.hex(),
        "key_id": signature.key_id.hex(),
        "signed_at": signature.signed_at,
        "sig": signature.sig.hex(),
    }
    return (json.dumps(told, indent=2) + "\n").encode()


def decode_signature(raw: bytes) -> PolicySignature | None:
    """What a signature file holds; None for anything else."""
    import json

    try:
        told: Any = json.loads(raw)
        found = {name: bytes.fromhex(told[name]) for name in _LENGTHS}
        signed_at = told["signed_at"]
        is_one = told["format"] == FORMAT and type(signed_at) is int and 0 < signed_at <= TIME_MAX_MS
    except (ValueError, KeyError, TypeError, RecursionError):  # of whatever somebody may have put there
        return None
    if not is_one or any(len(found[name]) != length for name, length in _LENGTHS.items()):
        return None
    return PolicySignature(signed_at=signed_at, **found)
