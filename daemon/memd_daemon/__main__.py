"""``python -m memd_daemon``.

Where a daemon answers already there is nothing to do, and that is looked up before anything is imported: a hook that its daemon
kept waiting starts a successor, which costs a busy machine 30 ms and not 200.

The end is the system's: what a daemon had to close is closed, and a thread that hangs in a call must not keep the process.
"""

import os
import sys

from memd_client import address, spawn
from memd_daemon.holder import is_served


def main() -> int:
    """The exit code."""
    home = address.home()
    if home is not None and is_served(home):
        spawn.end_start(home)
        return 0
    from memd_daemon import lifecycle

    return lifecycle.main()


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)
