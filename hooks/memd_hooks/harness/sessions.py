"""The variables by which a client's own shell says which session it is of: for git's hook, and for a command that is run there.

A client that has a module here brings its own; those of the others stand here until they have one.
"""

from collections.abc import Mapping
from typing import Final

from memd_hooks.harness import claude

SESSION_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    claude.NAME: claude.SESSION_NAMES,
    "codex": ("CODEX_SESSION_ID", "CODEX_THREAD_ID"),
    "copilot": ("COPILOT_AGENT_SESSION_ID",),
    "gemini": ("GEMINI_SESSION_ID",),
}
"""By client, the more exact one first."""
