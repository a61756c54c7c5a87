"""`memd`, the command. One module for each family of commands; app.py lists them, and each is imported when it is called."""

import sys

from memd_client import __version__


def main() -> None:
    """The console script. `memd --version` and `memd mcp` are served before anything else is imported: a carrier stays small."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"memd {__version__}\n")
        return
    if sys.argv[1:] == ["mcp"]:
        from memd_client.mcp import main as carry

        sys.exit(carry())
    from memd_client.cli.app import run, unexpected

    sys.excepthook = unexpected
    sys.exit(run(sys.argv[1:]))
