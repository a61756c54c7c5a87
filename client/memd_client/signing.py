"""A person's proof: what is signed, and the key that signs. Where its passphrase is asked for: terminal.py.

**What is signed**, to the byte and for ever. An Ed25519 signature (64 bytes) over the 32 bytes

    SHA-256( "memd/1"                  6 bytes, ASCII
           ‖ store uid                16 bytes
           ‖ length of the body        8 bytes, unsigned, big-endian
           ‖ body                      the event's bytes as stored, without its signature
           ‖ content digest           32 bytes; zeros where the event has no content
           ‖ revision )                8 bytes, unsigned, big-endian; 0 where there is none

Every part but the body has one length, and the body's stands before it: two different inputs never make the same bytes.
`memd/1` begins no other text that memd hashes, so a signature is good for nothing else.

**The key file**, `<MEMD_HOME>/keys/<key id>.json`, 0600, one JSON object; bytes are hex:

    {"format": "memd-key/1", "key_id", "public", "kdf": {"name": "scrypt", "salt", "n", "r", "p"},
     "cipher": {"name": "chacha20-poly1305", "nonce"}, "secret"}

`key_id` is the first 16 bytes of SHA-256(public). `secret` is the private half (32 bytes) and the tag (16), encrypted under
scrypt(passphrase). The associated data is "memd/key/1" ‖ key id ‖ public ‖ salt ‖ n (8) ‖ r (4) ‖ p (4) ‖ nonce, so that no
field can be changed without the decryption failing.

**The recovery code** is 160 random bits in groups of four letters (0-9 and A-Z without I, L, O, U), with a ninth group that
checks them. Its key is Ed25519 from the seed SHA-256("memd/recovery/1" ‖ the 20 bytes): whoever has the paper has the key, and
only the public half is ever stored.

Importing this module costs nothing: `cryptography` and `json` are imported by the functions that need them.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

DOMAIN: Final = b"memd/1"
KEY_FORMAT: Final = "memd-key/1"
KEY_ID_BYTES: Final = 16
PUBLIC_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
NO_CONTENT: Final = bytes(32)

SCRYPT_N: Final = 2**17  # 128 MiB and about a third of a second for each guess
SCRYPT_N_MIN: Final = 2**15  # a file that asks for less was made weaker by somebody
SCRYPT_N_MAX: Final = 2**20  # and one that asks for more than 1 GiB only keeps the person out
SCRYPT_R: Final = 8
SCRYPT_P: Final = 1
PASSPHRASE_MIN_BYTES: Final = 8
KEY_FILE_MAX_BYTES: Final = 4096

RECOVERY_BYTES: Final = 20  # 160 bits: 32 letters
RECOVERY_CHECK_LETTERS: Final = 4  # 20 bits: one typo in a million passes
RECOVERY_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
GROUP: Final = 4

Secret = bytes | bytearray


class SigningError(Exception):
    """memd could not sign: {}"""

    code: ClassVar[str] = "signing"

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.code = "".join(f"-{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("-")

    def __str__(self) -> str:
        return " ".join((self.__doc__ or "").split()).format(*self.args)


class KeyMissing(SigningError):
    """There is no key at {}. Make one with `memd human init` at your own terminal, or put your copy back."""


class KeyExists(SigningError):
    """There is a key at {} already, and it is left as it is. Move it away first if it is to be replaced."""


class KeyExposed(SigningError):
    """{} can be read or replaced by others (mode {}). If nobody used it, run `chmod {} {}`; else make a new key."""


class KeyForeign(SigningError):
    """{} belongs to another user (uid {}). Use a key of your own: `memd human init`."""


class KeyIsLink(SigningError):
    """{} is no plain file. Put the key file itself there: memd follows no link to a key."""


class KeyDamaged(SigningError):
    """The key file {} cannot be used: {}. Put your copy of it back."""


class WrongPassphrase(SigningError):
    """That passphrase does not open this key. If you are sure of it, the file was changed: put your copy back."""


class PassphraseTooShort(SigningError):
    """A passphrase needs at least {} characters. Choose a longer one; a few words do."""


class BadRecoveryCode(SigningError):
    """That is not a recovery code as memd printed it: {}. Check it against the paper, group by group."""


# --- what is signed


def signed_digest(store: bytes, body: bytes, content_digest: bytes, revision: int) -> bytes:
    """The 32 bytes that an event's signature covers; the layout stands in the module docstring.

    ``store`` 16 bytes, ``body`` the event as stored without its signature, ``content_digest`` 32 bytes (`NO_CONTENT` where the
    event has none), ``revision`` 0 to 2**64 - 1. Raises ValueError where a part has another length.
    """
    if len(store) != 16 or len(content_digest) != 32:
        raise ValueError("a store uid has 16 bytes and a content digest 32")
    if not 0 <= revision < 2**64:
        raise ValueError("a revision is an unsigned number of 64 bits")
    length, number = len(body).to_bytes(8, "big"), revision.to_bytes(8, "big")
    return hashlib.sha256(DOMAIN + store + length + body + content_digest + number).digest()


def verify(public: bytes, digest: bytes, signature: bytes) -> bool:
    """Whether ``signature`` is one of ``digest`` under ``public``. False for anything malformed; raises nothing."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if len(public) != PUBLIC_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, digest)
    except (InvalidSignature, ValueError):
        return False
    return True


def key_id_of(public: bytes) -> bytes:
    """The 16 bytes that name a key in events."""
    return hashlib.sha256(public).digest()[:KEY_ID_BYTES]


def fingerprint(public: bytes) -> str:
    """The key id for people: eight groups of four hex digits."""
    return fingerprint_of(key_id_of(public))


def fingerprint_of(key_id: bytes) -> str:
    """A key id for people."""
    return _grouped(key_id.hex(), " ")


# --- the key file


class KeyFile(NamedTuple):
    """A person's key as it lies on disk: the private half only encrypted."""

    key_id: bytes
    public: bytes
    salt: bytes
    n: int
    r: int
    p: int
    nonce: bytes
    secret: bytes

    @property
    def bound(self) -> bytes:
        """The associated data of the encryption: every field but the secret itself."""
        cost = self.n.to_bytes(8, "big") + self.r.to_bytes(4, "big") + self.p.to_bytes(4, "big")
        return b"memd/key/1" + self.key_id + self.public + self.salt + cost + self.nonce


def key_path(home: str | os.PathLike[str], key_id: bytes) -> str:
    """Where the key of this id lies under MEMD_HOME."""
    return os.path.join(home, "keys", f"{key_id.hex()}.json")


def create_key(passphrase: Secret, *, n: int = SCRYPT_N) -> KeyFile:
    """A new key, its private half encrypted under ``passphrase``; nothing is written. Raises PassphraseTooShort."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if len(passphrase) < PASSPHRASE_MIN_BYTES:
        raise PassphraseTooShort(PASSPHRASE_MIN_BYTES)
    private = bytearray(os.urandom(32))
    try:
        public = Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
        key = KeyFile(key_id_of(public), public, os.urandom(16), n, SCRYPT_R, SCRYPT_P, os.urandom(12), b"")
        with _cipher(key, passphrase) as cipher:
            return key._replace(secret=cipher.encrypt(key.nonce, private, key.bound))
    finally:
        wipe(private)


def sign(key: KeyFile, passphrase: Secret, digest: bytes) -> bytes:
    """The 64 bytes of a signature over ``digest`` (from `signed_digest`). Raises WrongPassphrase, KeyDamaged.

    The private half lives only in here: the buffers that held it and the key it was encrypted under are overwritten before this
    returns, also when it raises. What Python cannot reach stays: copies inside the crypto library until it frees them, pages
    that were swapped out, and ``passphrase`` itself, which is the caller's (`wipe` it if it is a bytearray).
    """
    return sign_all(key, passphrase, [digest])[0]


def sign_all(key: KeyFile, passphrase: Secret, digests: Sequence[bytes]) -> list[bytes]:
    """`sign` for the events of one plan: the key is opened once, and closed again before this returns."""
    with _opened(key, passphrase) as private:
        return [private.sign(digest) for digest in digests]


def write_key(path: str, key: KeyFile) -> None:
    """Writes the key file, 0600 in a directory 0700, whole or not at all, and durable. Raises KeyExists: never replaces one."""
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    draft = os.path.join(directory, f".{os.urandom(8).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_encoded(key))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename, this fails where something stands already
    except FileExistsError:
        raise KeyExists(path) from None
    finally:
        os.unlink(draft)
    sync_folder(directory)
    sync_folder(os.path.dirname(directory) or ".")  # the directory may be new


def load_key(path: str) -> KeyFile:
    """The key file at ``path``. Raises KeyMissing, KeyIsLink, KeyForeign, KeyExposed, KeyDamaged.

    Owner and mode are read from the open file and from its directory: neither may be another's or writable by others.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise KeyMissing(path) from None
    except OSError:
        if os.path.islink(path):
            raise KeyIsLink(path) from None
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise KeyIsLink(path)
        _check(path, status, others=0o077)
        directory = os.path.dirname(path) or "."
        _check(directory, os.stat(directory), others=0o022)
        return _decoded(path, os.read(descriptor, KEY_FILE_MAX_BYTES + 1))
    finally:
        os.close(descriptor)


def _check(path: str, status: os.stat_result, *, others: int) -> None:
    if status.st_uid != os.geteuid():
        raise KeyForeign(path, status.st_uid)
    if status.st_mode & others:
        raise KeyExposed(path, f"{status.st_mode & 0o777:03o}", f"{status.st_mode & ~others & 0o777:03o}", path)


def sync_folder(directory: str | os.PathLike[str]) -> None:
    """Makes the names in a directory durable. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _encoded(key: KeyFile) -> bytes:
    import json

    fields = {
        "format": KEY_FORMAT,
        "key_id": key.key_id.hex(),
        "public": key.public.hex(),
        "kdf": {"name": "scrypt", "salt": key.salt.hex(), "n": key.n, "r": key.r, "p": key.p},
        "cipher": {"name": "chacha20-poly1305", "nonce": key.nonce.hex()},
        "secret": key.secret.hex(),
    }
    return (json.dumps(fields, indent=2) + "\n").encode()


def _decoded(path: str, raw: bytes) -> KeyFile:
    import json

    try:
        fields: Any = json.loads(raw)
        kdf, cipher = fields["kdf"], fields["cipher"]
        kinds = (fields["format"], kdf["name"], cipher["name"])
        parts = [
            bytes.fromhex(part)
            for part in (fields["key_id"], fields["public"], kdf["salt"], cipher["nonce"], fields["secret"])
        ]
        n, r, p = (int(kdf[name]) for name in "nrp")
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):  # of whatever somebody may have put there
        raise KeyDamaged(path, "it is not a key file of memd") from None
    if kinds != (KEY_FORMAT, "scrypt", "chacha20-poly1305"):
        raise KeyDamaged(path, "it is of a format that this memd does not know")
    if [len(part) for part in parts] != [KEY_ID_BYTES, PUBLIC_BYTES, 16, 12, 48] or parts[0] != key_id_of(parts[1]):
        raise KeyDamaged(path, "its parts do not belong together")
    if not (SCRYPT_N_MIN <= n <= SCRYPT_N_MAX and n & (n - 1) == 0 and (r, p) == (SCRYPT_R, SCRYPT_P)):
        raise KeyDamaged(path, "it asks for a passphrase check that is too weak or too dear")
    key_id, public, salt, nonce, secret = parts
    return KeyFile(key_id, public, salt, n, r, p, nonce, secret)


@contextmanager
def _cipher(key: KeyFile, passphrase: Secret) -> Iterator["ChaCha20Poly1305"]:
    """The cipher under scrypt(passphrase); the derived key is overwritten at the end of the block."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    derived = bytearray(32)
    try:
        Scrypt(salt=key.salt, length=32, n=key.n, r=key.r, p=key.p).derive_into(passphrase, derived)
        yield ChaCha20Poly1305(derived)
    finally:
        wipe(derived)


@contextmanager
def _opened(key: KeyFile, passphrase: Secret) -> Iterator["Ed25519PrivateKey"]:
    """The private half, decrypted into a buffer that is overwritten at the end of the block."""
    from cryptography.exceptions import InvalidTag

    private = bytearray(32)
    try:
        with _cipher(key, passphrase) as cipher:
            cipher.decrypt_into(key.nonce, key.secret, key.bound, private)
        opened = _private_key(private)
        if opened.public_key().public_bytes_raw() != key.public:
            raise KeyDamaged(key.key_id.hex(), "its two halves do not belong together")
        yield opened
    except InvalidTag:
        raise WrongPassphrase from None
    finally:
        wipe(private)


def _private_key(private: Secret) -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(private)


def wipe(buffer: bytearray) -> None:
    """Overwrites a buffer with zeros."""
    buffer[:] = bytes(len(buffer))


# --- the recovery code


class RecoveryKey:
    """The key behind a recovery code: its public half stands in the enrolment, and it signs key events alone."""

    def __init__(self, bits: bytes) -> None:
        self._key = _private_key(hashlib.sha256(b"memd/recovery/1" + bits).digest())
        self.public: Final = self._key.public_key().public_bytes_raw()

    def sign(self, digest: bytes) -> bytes:
        """The 64 bytes of a signature over ``digest``."""
        return self._key.sign(digest)


def new_recovery_code() -> str:
    """A fresh code: eight groups of four letters and a ninth that checks them, to be printed once and stored nowhere."""
    return _grouped(_letters(os.urandom(RECOVERY_BYTES)), "-")


def recovery_key(code: str) -> RecoveryKey:
    """The key of a code as a person types it: any case, with or without hyphens and spaces, O for 0, I and L for 1.

    Raises BadRecoveryCode, which says whether letters are missing, foreign, or do not check.
    """
    typed = "".join(code.split()).replace("-", "").upper().translate(str.maketrans("OIL", "011"))
    foreign = sorted(set(typed) - set(RECOVERY_ALPHABET))
    if foreign:
        raise BadRecoveryCode(f"no code holds {' '.join(c if c.isprintable() else repr(c) for c in foreign)}")
    wanted = RECOVERY_BYTES * 8 // 5 + RECOVERY_CHECK_LETTERS
    if len(typed) != wanted:
        raise BadRecoveryCode(f"it has {wanted} letters, not {len(typed)}")
    value = 0
    for letter in typed[:-RECOVERY_CHECK_LETTERS]:
        value = value * 32 + RECOVERY_ALPHABET.index(letter)
    bits = value.to_bytes(RECOVERY_BYTES, "big")
    if _letters(bits) != typed:
        raise BadRecoveryCode("the last group does not fit the others, so a letter is wrong or two have changed places")
    return RecoveryKey(bits)


def _letters(bits: bytes) -> str:
    check = int.from_bytes(hashlib.sha256(b"memd/recovery-check/1" + bits).digest()[:4], "big") >> 12
    return _base32(int.from_bytes(bits, "big"), RECOVERY_BYTES * 8 // 5) + _base32(check, RECOVERY_CHECK_LETTERS)


def _base32(value: int, letters: int) -> str:
    return "".join(RECOVERY_ALPHABET[value >> 5 * place & 31] for place in reversed(range(letters)))


def _grouped(text: str, between: str) -> str:
    return between.join(text[at : at + GROUP] for at in range(0, len(text), GROUP))
