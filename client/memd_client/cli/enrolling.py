"""A new key: its passphrase, its file, its recovery code on paper, its enrolment.

A recovery code is written to the controlling terminal once and nowhere else, after the signature and before anything is recorded:
so no key is ever enrolled whose code nobody saw. Where the enrolment fails, the file goes, and the code is said to be void.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from memd_client import signing, terminal
from memd_client.cli import keyplan, screen
from memd_client.cli.keyplan import KeyAct
from memd_client.memd import Memd, MemdError, Refused, Unreachable

CODE_SHOWN = (
    "",
    "The recovery code of this key, shown this once. Write it down on paper and keep it away from this machine:",
    "",
    "    {code}",
    "",
    "It is good from the moment that the key is enrolled, which is said below.",
)
CODE_VOID = (
    "",
    "The key was NOT enrolled, so the recovery code above is good for nothing: strike it out.",
    "",
)
CODE_OF_FIRST = (
    "With it you can reject a key that is not yours (`memd human reject`), and make another should you lose this one or forget "
    "its passphrase (`memd human init --recover`). It is good for ever, and without it neither is possible: keep it.",
    "",
)
CODE_OF_LATER = (
    "It can reject a key and enrol another, as long as this key itself stands. The code of your first key is good for ever: keep "
    "that one too.",
    "",
)


class Made(msgspec.Struct, frozen=True):
    """A key that was made and enrolled, and the fingerprints of those that were rejected with it."""

    fingerprint: str
    key_file: str
    rejected: list[str] = []


Sign = Callable[[KeyAct, signing.KeyFile, bytearray, keyplan.Before], None]


class Paper:
    """A new recovery code, shown before the key is enrolled: nothing that happens after that can keep it from its person."""

    def __init__(self, said: Sequence[str]) -> None:
        self.code = signing.new_recovery_code()
        self._lines = [*(line.format(code=self.code) for line in CODE_SHOWN), *map(screen.spoken, said)]
        self.is_shown = False

    def show(self) -> None:
        """Raises NoTerminal."""
        terminal.show_lines(self._lines)
        self.is_shown = True

    def void(self) -> None:
        """The key was not enrolled."""
        if self.is_shown:
            with contextlib.suppress(terminal.NoTerminal):  # who is gone reads nothing
                terminal.show_lines(CODE_VOID)


def new_key(
    memd: Memd, about: Sequence[str], sign: Sign, *, rejects: tuple[bytes, ...] = (), later: bool = False
) -> Made:
    """Asks for a passphrase and makes a key; ``sign`` enrols it."""
    passphrase = terminal.ask_passphrase(
        about, prompt="New passphrase: ", again="The same passphrase again: ", least=signing.PASSPHRASE_MIN_BYTES
    )
    paper = Paper(CODE_OF_LATER if later else CODE_OF_FIRST)
    try:
        key = signing.create_key(passphrase)
        path = Path(signing.key_path(memd.home, key.key_id))
        signing.write_key(str(path), key)
        recovery = signing.recovery_key(paper.code).public
        act = KeyAct(public=key.public, recovery_public=recovery, where=_terminal_name(), rejects=rejects)
        with _undone(path, paper):
            signed(memd, lambda: sign(act, key, passphrase, paper.show), key, paper)
    finally:
        signing.wipe(passphrase)
    return Made(signing.fingerprint(key.public), str(path), [signing.fingerprint_of(key_id) for key_id in rejects])


class Unknown(Refused):
    """Nobody can say whether the key was enrolled."""

    def __init__(self, failure: BaseException) -> None:
        what = f"It is not known whether the key was enrolled ({failure or 'interrupted'}), so keep its code"
        super().__init__("enrolment-unknown", f"{what}: `memd human show` says it once the daemon answers.")


@contextlib.contextmanager
def _undone(path: Path, paper: Paper) -> Iterator[None]:
    """Where the enrolment fails its key file goes, and its code is void: a key that nobody enrolled is good for nothing."""
    try:
        yield
    except Unknown:
        raise
    except (MemdError, signing.SigningError, KeyboardInterrupt):
        path.unlink()
        paper.void()
        raise


def signed(memd: Memd, sign: Callable[[], None], key: signing.KeyFile, paper: Paper) -> None:
    """Has the enrolment signed. Raises what stopped it.

    Where the answer was lost, the daemon is asked what became of it; Unknown where that cannot be had either. Before the code is
    shown nothing is recorded.
    """
    try:
        sign()
    except (Unreachable, KeyboardInterrupt) as failure:
        if not paper.is_shown:
            raise
        try:
            if signing.fingerprint(key.public) in memd.enrol().enrolled:
                return
        except MemdError:
            raise Unknown(failure) from failure
        raise


def _terminal_name() -> str:
    names = (os.ttyname(stream) for stream in range(3) if os.isatty(stream))
    return next(names, "/dev/tty")
