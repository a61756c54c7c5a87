"""The pause after three wrong passphrases: while it lasts, no command asks for that key's passphrase.

When it ends stands beside the key, `<key id>.pause`, 0600, as a Unix time in seconds. A process of the same user can take the file
away, or copy the key and guess elsewhere, where the price of a guess (signing.py, `SCRYPT_N`) is what is left: the pause is a
hindrance. A time further off than the pause is long is nobody's: the clock was set back, or somebody keeps the person out.
"""

import contextlib
import math
import os
from pathlib import Path
from typing import Final

from memd_client import signing
from memd_client.signing import SigningError

PAUSE_S: Final = 60.0
TIME_MAX_BYTES: Final = 32


class TriesPaused(SigningError):
    """Three wrong passphrases were typed a short while ago, so it is not asked for again yet: come back in {} s."""


def path_of(home: Path, key_id: bytes) -> Path:
    """Where the end of the pause of this key stands."""
    return Path(signing.key_path(home, key_id)).with_suffix(".pause")


def refuse_paused(path: Path, now_s: float) -> None:
    """Raises TriesPaused while the pause lasts. ``now_s``: the wall clock."""
    left = _end(path) - now_s
    if 0 < left <= PAUSE_S:
        raise TriesPaused(math.ceil(left))


def begin(path: Path, now_s: float) -> None:
    """The third wrong one was typed. A home that cannot be written to takes nothing from the refusal that follows."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{now_s + PAUSE_S:.3f}\n")
        draft.replace(path)  # whatever stands there: opening a FIFO would wait for its reader


def end(path: Path) -> None:
    """The key was opened."""
    with contextlib.suppress(OSError):
        path.unlink()


def _end(path: Path) -> float:
    """0 for none, and for what is no time."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            told = float(file.read(TIME_MAX_BYTES))
    except (OSError, ValueError):
        return 0.0
    return told if math.isfinite(told) else 0.0
