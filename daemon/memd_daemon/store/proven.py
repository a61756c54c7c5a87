"""How signatures are checked in a store: the one place of it that asks the library of keys."""

from memd_client import signing
from memd_daemon.model import trust


def proof_for(store: bytes) -> trust.Proof:
    """For the store of this uid, which a signature names."""

    def proof(public: bytes, body: bytes, content: bytes, revision: int, sig: bytes) -> bool:
        return signing.verify(public, signing.signed_digest(store, body, content, revision), sig)

    return proof
