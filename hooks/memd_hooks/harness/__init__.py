"""One module per harness: its contract as typed payloads, its bytes in, its bytes out. They run inside the daemon."""

from collections.abc import Mapping

from memd_hooks.events import Harness
from memd_hooks.harness import claude, git

BY_NAME: Mapping[str, Harness] = {claude.NAME: claude, git.NAME: git}

__all__ = ["BY_NAME", "claude", "git"]
