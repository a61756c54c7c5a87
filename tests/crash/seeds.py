"""What decides by chance, and how much is done: scripts/crash says more than a run of all tests does."""

import os
from typing import Final

SEED: Final = int(os.environ.get("MEMD_SEED", "20260304"))
KILLS: Final = int(os.environ.get("MEMD_KILLS", "50"))
CUTS: Final = int(os.environ.get("MEMD_CUTS", "50"))
BREAKS: Final = int(os.environ.get("MEMD_BREAKS", "3"))  # of each thing's calls; 0 is every one
