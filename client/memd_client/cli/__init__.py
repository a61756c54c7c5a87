"""`memd`, the command. One module for each family of commands; app.py lists them, and each is imported when it is called."""

import os
import sys

from memd_client import __version__


def main() -> None:
    """The console script. `memd --version` and `memd mcp` are served before anything else is imported: a carrier stays small."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        stand_in()
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"memd {__version__}\n")
        return
    if sys.argv[1:] == ["mcp"]:
        from memd_client.mcp import main as carry

        sys.exit(carry())
    from memd_client.cli.app import run, unexpected

    sys.excepthook = unexpected
    sys.exit(run(sys.argv[1:]))


def stand_in() -> None:
    """Puts something in the place of standard streams that were closed: else the next file that is opened would be taken for one.

    What is read or told there fails as it would on a closed one; what is said on stderr goes nowhere.
    """
    for descriptor, how in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, how), True)  # the lowest that is free: this very one
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
