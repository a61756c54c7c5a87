"""What is signed, the key file and the recovery code: what fits opens, and nothing else does."""

import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client import signing
from memd_client.signing import KeyFile

PASSPHRASE = b"four words in a row"
KEY = signing.create_key(PASSPHRASE, n=signing.SCRYPT_N_MIN)
STORE, CONTENT, BODY = bytes(range(16)), bytes(range(32)), b"\x82\xa3uid..."
DIGEST = signing.signed_digest(STORE, BODY, CONTENT, 1)

PARTS = st.tuples(
    st.binary(min_size=16, max_size=16),
    st.binary(max_size=80),
    st.binary(min_size=32, max_size=32),
    st.integers(0, 2**64 - 1),
)


def changed(raw: bytes, at: int = 0) -> bytes:
    return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return signing.key_path(tmp_path, KEY.key_id)


# --- what is signed


def test_the_digest_is_laid_out_as_documented() -> None:
    """The bytes that are hashed, written out by hand: they can never change."""
    body = b"body"
    written = b"memd/1" + STORE + b"\0\0\0\0\0\0\0\4body" + CONTENT + b"\0\0\0\0\0\0\1\2"
    assert signing.signed_digest(STORE, body, CONTENT, 258) == hashlib.sha256(written).digest()


def test_the_digest_of_one_event_is_known() -> None:
    """A golden value: another one would make every signature ever given bad."""
    assert (
        signing.signed_digest(bytes(16), b"", signing.NO_CONTENT, 0).hex()
        == "60102e2b8aa54e4e205d2e0516eadd93137964b5381de37dab5318d389df8074"
    )


@given(PARTS, PARTS)
def test_two_inputs_have_one_digest_only_if_they_are_equal(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    """No part can lend a byte to the next."""
    assert (signing.signed_digest(*one) == signing.signed_digest(*other)) is (one == other)


@pytest.mark.parametrize(
    ("store", "content", "revision"),
    [
        (b"", CONTENT, 1),
        (STORE + b"x", CONTENT, 1),
        (STORE, b"", 1),
        (STORE, CONTENT[1:], 1),
        (STORE, CONTENT, -1),
        (STORE, CONTENT, 2**64),
    ],
)
def test_a_part_of_another_length_is_refused(store: bytes, content: bytes, revision: int) -> None:
    """Every part but the body has one length."""
    with pytest.raises(ValueError, match=r"bytes|64 bits"):
        signing.signed_digest(store, BODY, content, revision)


@pytest.mark.parametrize(
    ("store", "body", "content", "revision"),
    [
        (changed(STORE), BODY, CONTENT, 1),
        (STORE, changed(BODY), CONTENT, 1),
        (STORE, BODY + b"\0", CONTENT, 1),
        (STORE, BODY[:-1], CONTENT, 1),
        (STORE, BODY, changed(CONTENT), 1),
        (STORE, BODY, signing.NO_CONTENT, 1),
        (STORE, BODY, CONTENT, 2),
    ],
    ids=["store", "event", "longer event", "shorter event", "content", "no content", "revision"],
)
def test_a_signature_is_good_for_nothing_else(store: bytes, body: bytes, content: bytes, revision: int) -> None:
    """One made for another store, event, content or revision is refused."""
    signature = signing.sign(KEY, PASSPHRASE, DIGEST)
    assert signing.verify(KEY.public, DIGEST, signature)
    assert not signing.verify(KEY.public, signing.signed_digest(store, body, content, revision), signature)


def test_a_signature_under_another_key_is_none() -> None:
    """Neither another public half, nor a changed or cut signature, nor nonsense verifies; nothing raises."""
    signature = signing.sign(KEY, PASSPHRASE, DIGEST)
    other = signing.create_key(PASSPHRASE, n=signing.SCRYPT_N_MIN)
    assert not signing.verify(other.public, DIGEST, signature)
    assert not signing.verify(changed(KEY.public), DIGEST, signature)
    assert not signing.verify(KEY.public, DIGEST, changed(signature))
    assert not signing.verify(KEY.public, DIGEST, changed(signature, 63))
    assert not signing.verify(KEY.public, DIGEST, signature[:-1])
    assert not signing.verify(KEY.public, DIGEST, b"")
    assert not signing.verify(b"", DIGEST, signature)
    assert not signing.verify(bytes(32), DIGEST, signature)


def test_one_opening_signs_a_whole_plan() -> None:
    """Each digest has its own signature, in order."""
    digests = [DIGEST, hashlib.sha256(b"other").digest()]
    signatures = signing.sign_all(KEY, PASSPHRASE, digests)
    assert [signing.verify(KEY.public, d, s) for d, s in zip(digests, signatures, strict=True)] == [True, True]
    assert not signing.verify(KEY.public, digests[0], signatures[1])


# --- the key


def test_a_key_does_not_hold_its_secret_in_clear() -> None:
    """What stands in the file opens only under the passphrase, and two keys of one passphrase share nothing."""
    other = signing.create_key(PASSPHRASE, n=signing.SCRYPT_N_MIN)
    assert len(KEY.secret) == 48
    assert {KEY.salt, KEY.nonce, KEY.secret, KEY.public}.isdisjoint(
        {other.salt, other.nonce, other.secret, other.public}
    )
    assert KEY.key_id == hashlib.sha256(KEY.public).digest()[:16]


def test_a_key_is_dear_to_guess_unless_told_otherwise() -> None:
    """The cost that a new key gets is far over the least that is accepted."""
    assert signing.SCRYPT_N >= 4 * signing.SCRYPT_N_MIN
    assert signing.create_key(PASSPHRASE).n == signing.SCRYPT_N


@pytest.mark.parametrize("wrong", [b"", b"four words in a roW", PASSPHRASE + b" ", PASSPHRASE[:-1], b"\0" * 19])
def test_a_wrong_passphrase_opens_nothing(wrong: bytes) -> None:
    """Close is not near enough."""
    with pytest.raises(signing.WrongPassphrase, match="put your copy back"):
        signing.sign(KEY, wrong, DIGEST)


@pytest.mark.parametrize(
    "tampered",
    [
        KEY._replace(secret=changed(KEY.secret)),
        KEY._replace(secret=changed(KEY.secret, 47)),
        KEY._replace(nonce=changed(KEY.nonce)),
        KEY._replace(salt=changed(KEY.salt)),
        KEY._replace(n=KEY.n * 2),
        KEY._replace(r=4),
        KEY._replace(p=2),
        KEY._replace(key_id=changed(KEY.key_id)),
        KEY._replace(public=changed(KEY.public)),
    ],
    ids=["secret", "tag", "nonce", "salt", "n", "r", "p", "key id", "public half"],
)
def test_a_key_of_which_a_byte_was_changed_opens_nothing(tampered: KeyFile) -> None:
    """Every field is bound: with the right passphrase, too, a changed key signs nothing."""
    with pytest.raises(signing.WrongPassphrase):
        signing.sign(tampered, PASSPHRASE, DIGEST)


def test_a_passphrase_has_a_least_length() -> None:
    """Seven characters are refused, eight are not, and a buffer does as well as bytes."""
    with pytest.raises(signing.PassphraseTooShort, match="at least 8"):
        signing.create_key(b"1234567", n=signing.SCRYPT_N_MIN)
    typed = bytearray(b"12345678")
    key = signing.create_key(typed, n=signing.SCRYPT_N_MIN)
    assert signing.verify(key.public, DIGEST, signing.sign(key, typed, DIGEST))
    assert typed == b"12345678"
    signing.wipe(typed)
    assert typed == bytes(8)


def test_a_fingerprint_is_the_key_id_in_groups() -> None:
    """What a person compares is what stands in every event the key signed."""
    shown = signing.fingerprint(KEY.public)
    assert shown.replace(" ", "") == KEY.key_id.hex()
    assert [len(group) for group in shown.split(" ")] == [4] * 8


# --- the file


def test_a_key_comes_back_from_its_file(path: str) -> None:
    """Written whole, 0600 in 0700, with nothing beside it; read back, it is the same and signs."""
    signing.write_key(path, KEY)
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700
    assert [file.name for file in Path(path).parent.iterdir()] == [f"{KEY.key_id.hex()}.json"]
    assert signing.load_key(path) == KEY
    assert signing.verify(KEY.public, DIGEST, signing.sign(signing.load_key(path), PASSPHRASE, DIGEST))


def test_a_key_file_is_never_replaced(path: str) -> None:
    """A second key does not push the first out, nor does a link lead it elsewhere; no draft is left."""
    signing.write_key(path, KEY)
    other = signing.create_key(PASSPHRASE, n=signing.SCRYPT_N_MIN)
    with pytest.raises(signing.KeyExists, match="left as it is"):
        signing.write_key(path, other)
    assert signing.load_key(path) == KEY
    target = Path(path).parent / "elsewhere"
    link = Path(path).parent / "link.json"
    link.symlink_to(target)
    with pytest.raises(signing.KeyExists):
        signing.write_key(str(link), other)
    assert not target.exists()
    assert {file.name for file in Path(path).parent.iterdir()} == {Path(path).name, "link.json"}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666, 0o777])
def test_a_key_that_others_can_read_is_refused(path: str, mode: int) -> None:
    """Any bit for group or others, with the mode that puts it right in the message."""
    signing.write_key(path, KEY)
    Path(path).chmod(mode)
    with pytest.raises(signing.KeyExposed, match=f"chmod {mode & 0o700:03o} "):
        signing.load_key(path)


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_key_in_a_directory_that_others_can_write_is_refused(path: str, mode: int) -> None:
    """Whoever can write there can put another key in its place."""
    signing.write_key(path, KEY)
    Path(path).parent.chmod(mode)
    with pytest.raises(signing.KeyExposed):
        signing.load_key(path)


def test_a_link_to_a_key_is_refused(path: str, tmp_path: Path) -> None:
    """Even to a good one; and a directory or a pipe is no key, and keeps nobody waiting."""
    signing.write_key(path, KEY)
    link, pipe = tmp_path / "link.json", tmp_path / "pipe.json"
    link.symlink_to(path)
    os.mkfifo(pipe, 0o600)
    for other in (link, pipe, tmp_path):
        with pytest.raises(signing.KeyIsLink):
            signing.load_key(str(other))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_of_another_user_is_refused(path: str) -> None:
    """Owner and reader are one."""
    signing.write_key(path, KEY)
    os.chown(path, 12345, -1)
    with pytest.raises(signing.KeyForeign, match="12345"):
        signing.load_key(path)


def test_a_key_that_is_not_there_says_how_to_make_one(path: str) -> None:
    """The message names the path and the command."""
    with pytest.raises(signing.KeyMissing, match="memd human init") as missing:
        signing.load_key(path)
    assert path in str(missing.value)
    assert missing.value.code == "key-missing"


def edited(path: str, **changes: Any) -> None:
    """The file with some of its fields changed; a name with a dot goes one level down."""
    fields = json.loads(Path(path).read_bytes())
    for name, value in changes.items():
        part = fields
        *above, last = name.split("__")
        for step in above:
            part = part[step]
        part[last] = value
    Path(path).write_text(json.dumps(fields))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "memd-key/2"},
        {"kdf__name": "argon2id"},
        {"cipher__name": "aes-gcm"},
        {"kdf__n": 2**14},
        {"kdf__n": 2**21},
        {"kdf__n": 2**15 + 1},
        {"kdf__n": "many"},
        {"kdf__n": float("inf")},
        {"kdf__r": 1},
        {"kdf__p": 16},
        {"kdf__salt": "00"},
        {"cipher__nonce": "zz"},
        {"secret": ""},
        {"public": "00" * 32},
        {"key_id": "00" * 16},
        {"kdf": None},
    ],
    ids=str,
)
def test_a_file_that_was_changed_is_named_as_damaged(path: str, changes: dict[str, Any]) -> None:
    """A cheaper passphrase check, another key id, another format: said before any passphrase is asked for."""
    signing.write_key(path, KEY)
    edited(path, **changes)
    with pytest.raises(signing.KeyDamaged, match="Put your copy of it back"):
        signing.load_key(path)


NO_KEYS = [b"", b"{", b"[]", b"null", b"\xff", b"{}", b'{"format": "memd-key/1"}', b" " * 5000, b"[" * 4000]


@pytest.mark.parametrize("raw", NO_KEYS, ids=range(len(NO_KEYS)))
def test_a_file_that_is_no_key_is_named_as_damaged(path: str, raw: bytes) -> None:
    """Whatever stands in it."""
    signing.write_key(path, KEY)
    Path(path).write_bytes(raw)
    with pytest.raises(signing.KeyDamaged):
        signing.load_key(path)


# --- the recovery code


def test_a_recovery_code_gives_the_same_key_however_it_is_typed() -> None:
    """Case, hyphens and spaces are no part of it; it signs under the public half that was enrolled."""
    code = signing.new_recovery_code()
    assert [len(group) for group in code.split("-")] == [4] * 9
    public = signing.recovery_key(code).public
    for typed in (
        code.lower(),
        code.replace("-", ""),
        f" {code.replace('-', ' ')}\n",
        code.replace("0", "o").replace("1", "l"),
    ):
        key = signing.recovery_key(typed)
        assert key.public == public
        assert signing.verify(public, DIGEST, key.sign(DIGEST))
    assert signing.recovery_key(signing.new_recovery_code()).public != public


def test_the_key_of_one_code_is_known() -> None:
    """A golden value: a code printed today has to work for ever."""
    assert signing.recovery_key("0000-0000-0000-0000-0000-0000-0000-0000-D6KT").public.hex() == (
        "f3c61b614a75cd1eef5831162f30ee0028e8e85e6721133fd3fc2efb1caa4844"
    )


@given(st.integers(0, 35), st.integers(1, 31))
def test_a_wrong_letter_is_seen(place: int, by: int) -> None:
    """One letter changed, wherever, does not check."""
    code = "0123-4567-89AB-CDEF-GHJK-MNPQ-RSTV-WXYZ"
    letters = list(signing._letters(bytes.fromhex("00443214c74254b635cf84653a56d7c675be77df")))
    assert "".join(letters[:32]) == code.replace("-", "")
    alphabet = signing.RECOVERY_ALPHABET
    letters[place] = alphabet[(alphabet.index(letters[place]) + by) % 32]
    with pytest.raises(signing.BadRecoveryCode, match="last group"):
        signing.recovery_key("".join(letters))


def test_two_letters_that_changed_places_are_seen() -> None:
    """The commonest slip after a wrong letter."""
    letters = signing._letters(bytes(range(20)))
    swapped = 0
    for at in range(len(letters) - 1):
        typed = letters[:at] + letters[at + 1] + letters[at] + letters[at + 2 :]
        if typed != letters:
            swapped += 1
            with pytest.raises(signing.BadRecoveryCode):
                signing.recovery_key(typed)
    assert swapped > 20


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("", "not 0"),
        ("0000-0000", "not 8"),
        ("0" * 37, "not 37"),
        ("UUUU" * 9, "holds U"),
        ("0" * 35 + "\x1b", "x1b"),
        ("é" * 36, "holds É"),
    ],
)
def test_what_is_no_code_says_why(code: str, reason: str) -> None:
    """Letters missing, too many, or of no code."""
    with pytest.raises(signing.BadRecoveryCode, match=reason):
        signing.recovery_key(code)


# --- cost


def test_importing_it_loads_no_library() -> None:
    """Whoever only reads a digest pays for nothing but the standard library's hashing."""
    program = "import sys; from memd_client import signing; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "memd_client.signing" in loaded
    assert {"cryptography", "json", "termios", "msgspec"}.isdisjoint(loaded)
