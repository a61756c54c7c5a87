"""The demo's person: a throwaway key whose passphrase this process makes and uses itself, and a forger who has none.

The same functions sign as at a terminal; only the asking is left out.
"""

import msgspec

from memd_client import api, signing
from memd_client.cli.sign import Asked, checked, digests
from memd_client.memd import Memd, MemdError


class Key(msgspec.Struct, frozen=True):
    """A key file and what opens it."""

    file: signing.KeyFile
    passphrase: bytes

    def sign(self, plan: api.Plan) -> list[bytes]:
        """A signature for each event of the plan."""
        return signing.sign_all(self.file, self.passphrase, digests(plan))


def enrol(memd: Memd, passphrase: str) -> Key:
    """Makes a key, keeps it encrypted in the home, and enrols it."""
    key = Key(signing.create_key(passphrase.encode()), passphrase.encode())
    signing.write_key(signing.key_path(memd.home, key.file.key_id), key.file)
    recovery = signing.recovery_key(signing.new_recovery_code())
    memd.enrol(key.file.public, recovery.public, "the demo")
    return key


def endorse(memd: Memd, key: Key, content: str, *, kind: str) -> int:
    """Records a note and endorses it in the same act; its id."""
    told = memd.remember(content, kind=kind, endorse=True)
    if told.plan is None:
        raise MemdError("demo", "the daemon asked for no signature")
    checked(told.plan, Asked(act="record and endorse", id=0, uid=told.uid))
    return memd.seal(told.plan.token, key.sign(told.plan)).id


def forged(memd: Memd, note: int) -> api.Sealed:
    """Seals the promotion of ``note`` with a key that nobody enrolled. Raises Refused, if the daemon does its work."""
    plan = memd.act("promote", str(note), to="human", sign=True).plan
    if plan is None:
        raise MemdError("demo", "the daemon asked for no signature")
    own = Key(signing.create_key(b"a forger's own"), b"a forger's own")
    return memd.seal(plan.token, own.sign(plan))
