"""A signed policy file: what is signed, to the byte, and the file that holds the signature."""

import hashlib
import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client import signing
from memd_client.policy_signing import (
    SIGNATURE_FILE_MAX_BYTES,
    TIME_MAX_MS,
    PolicySignature,
    decode_signature,
    encode_signature,
    policy_digest,
)

STORE = bytes(range(16))
AT = 1_772_600_000_000
ONE = PolicySignature(STORE, bytes(16), AT, bytes(64))


def test_what_is_signed_is_what_the_docstring_draws() -> None:
    """Put together by hand."""
    content = b"[settings]\n"
    drawn = (
        b"memd/policy/1" + STORE + AT.to_bytes(8, "big") + (9).to_bytes(8, "big") + b"team.toml"
        + len(content).to_bytes(8, "big") + content
    )  # fmt: skip
    assert policy_digest(STORE, AT, "team.toml", content) == hashlib.sha256(drawn).digest()


def test_it_stands_for_ever() -> None:
    """A digest that was signed once is the same in every later version."""
    told = policy_digest(STORE, AT, "team.toml", b"").hex()
    assert told == "19ff552bdaf89b9b42ec08e828e1f1bb67e13824f04ff82c4f3e2833a5314a18"


@given(
    one=st.tuples(st.integers(1, TIME_MAX_MS), st.sampled_from(["a.toml", "aa.toml"]), st.binary(max_size=20)),
    other=st.tuples(st.integers(1, TIME_MAX_MS), st.sampled_from(["a.toml", "aa.toml"]), st.binary(max_size=20)),
)
def test_two_inputs_never_make_one_digest(one: tuple[int, str, bytes], other: tuple[int, str, bytes]) -> None:
    """Neither with each other nor with what an event's signature covers."""
    assert (policy_digest(STORE, *one) == policy_digest(STORE, *other)) == (one == other)
    assert policy_digest(STORE, *one) != signing.signed_digest(STORE, one[2], signing.NO_CONTENT, 0)


@pytest.mark.parametrize(
    "parts",
    [
        (b"short", AT, "team.toml"),
        (STORE, 0, "team.toml"),
        (STORE, TIME_MAX_MS + 1, "team.toml"),
        (STORE, AT, "team.txt"),
        (STORE, AT, "../team.toml"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: tuple[bytes, int, str]) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        policy_digest(*parts, b"")


@given(
    store=st.binary(min_size=16, max_size=16),
    key_id=st.binary(min_size=16, max_size=16),
    signed_at=st.integers(1, TIME_MAX_MS),
    sig=st.binary(min_size=64, max_size=64),
)
def test_a_signature_file_is_read_back(store: bytes, key_id: bytes, signed_at: int, sig: bytes) -> None:
    """And is as small as it may be."""
    made = PolicySignature(store, key_id, signed_at, sig)
    raw = encode_signature(made)
    assert decode_signature(raw) == made
    assert len(raw) <= SIGNATURE_FILE_MAX_BYTES


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "memd-policy/2"},
        {"format": None},
        {"store": "00"},
        {"store": 1},
        {"key_id": "zz" * 16},
        {"sig": "00" * 63},
        {"signed_at": 0},
        {"signed_at": -1},
        {"signed_at": TIME_MAX_MS + 1},
        {"signed_at": "1"},
        {"signed_at": True},
        {"signed_at": 1.5},
    ],
)
def test_what_is_no_signature_file_is_none(changes: dict[str, Any]) -> None:
    told = json.loads(encode_signature(ONE)) | changes
    assert decode_signature(json.dumps(told).encode()) is None
    for name in changes:
        del told[name]
    assert decode_signature(json.dumps(told).encode()) is None


@given(raw=st.binary(max_size=100))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    assert decode_signature(raw) is None


def test_what_a_stranger_put_there_is_none() -> None:
    """Brackets in brackets, a number of many digits, another shape."""
    for raw in (b"[" * 100_000, b"1" * 5_000, b"null", b"[]", b'"x"', os.urandom(SIGNATURE_FILE_MAX_BYTES)):
        assert decode_signature(raw) is None
