"""The digests of the ground: SHA-256 for what is kept and compared, xxh3 for what is only looked for.

Both are over bytes whose line ends are normalized (CRLF and CR become LF), so that a checkout with other line ends is the
same file.
"""

import hashlib

import xxhash

from memd_daemon import limits


def unified(content: bytes) -> bytes:
    """The content with LF alone at its line ends."""
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in content else content


def lasting(text: bytes) -> bytes:
    """16 bytes of SHA-256, as an anchor keeps them."""
    return hashlib.sha256(text).digest()[: limits.ANCHOR_DIGEST_BYTES]


def named(text: bytes) -> bytes:
    """16 bytes of xxh3, by which a content that was read before is known again while the daemon runs."""
    return xxhash.xxh3_128_digest(text)


def quick(text: bytes) -> bytes:
    """8 bytes of xxh3: they say where to look, never that something is the same."""
    return xxhash.xxh3_64_digest(text)
