"""``python -m memd_daemon``."""

import sys

from memd_daemon.lifecycle import main

sys.exit(main())
