"""``python -m memd_daemon``.

Where a daemon answers already there is nothing to do, and that is looked up before anything is imported: a hook that its daemon
kept waiting starts a successor, which costs a busy machine 30 ms and not 200.

What is imported stays for good. So no collection looks through it, neither meanwhile, when there is nothing to collect and it
takes a tenth of a start, nor later.

The end is the system's: what a daemon had to close is closed, and a thread that hangs in a call must not keep the process.
"""

import gc
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
    gc.disable()
    from memd_daemon import lifecycle

    gc.freeze()
    gc.enable()
    return lifecycle.main()


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)
