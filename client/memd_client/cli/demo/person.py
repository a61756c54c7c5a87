"""The demo's person: a throwaway key whose passphrase this process makes and uses itself, and a forger who has none.

The same functions sign as at a terminal; only the asking is left out. A daemon enrols no key for a process without a terminal or
under an agent's client, and the demo may be run by one; so a process of its own, adopted by init, enrols the key at a terminal
that the demo drives: what SECURITY.md says that any process of the same user can do.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from memd_client import api, signing
from memd_client.cli.human import enrol_key
from memd_client.cli.sign import Asked, checked, digests
from memd_client.memd import Memd, MemdError


class Key(msgspec.Struct, frozen=True):
    """A key file and what opens it."""

    file: signing.KeyFile
    passphrase: bytes

    def sign(self, plan: api.Plan) -> list[bytes]:
        """A signature for each event of the plan."""
        return signing.sign_all(self.file, self.passphrase, digests(plan))


AT_TERMINAL = """\
import fcntl, os, sys, termios
if os.fork():
    os._exit(0)
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from memd_client.cli.demo.person import enrol_here
enrol_here(sys.argv[1], sys.stdin.readline().strip())
"""
PATIENCE_S = 30.0  # for what takes a second on an idle machine


def enrol(memd: Memd, passphrase: str, environ: Mapping[str, str]) -> Key:
    """Makes a key, keeps it encrypted in the home, and enrols it. ``environ``: that of a person's shell, without any marker."""
    driver, terminal = os.openpty()
    try:
        os.write(driver, f"{passphrase}\n".encode())
        done = subprocess.run(
            [sys.executable, "-I", "-c", AT_TERMINAL, str(memd.home)],
            env=environ,
            stdin=terminal,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        os.close(terminal)
        os.close(driver)
    if not done.stdout:
        raise MemdError("demo", f"no key could be enrolled: {done.stderr.decode(errors='replace').strip()}")
    return Key(signing.load_key(done.stdout.decode()), passphrase.encode())


def enrol_here(home: str, passphrase: str) -> None:
    """What the process at the demo's terminal does; prints where the key lies."""
    key = signing.create_key(passphrase.encode())
    path = signing.key_path(home, key.key_id)
    signing.write_key(path, key)
    recovery = signing.recovery_key(signing.new_recovery_code())
    with Memd(Path(home)) as memd:
        enrol_key(memd, key, passphrase.encode(), recovery.public, "the demo")
    sys.stdout.write(path)


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
