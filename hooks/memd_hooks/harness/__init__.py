"""One module per harness: its contract as typed payloads, its bytes in, its bytes out. They run inside the daemon."""

from collections.abc import Callable, Mapping

from memd_hooks.events import Harness
from memd_hooks.harness import claude, claude_unread, git

BY_NAME: Mapping[str, Harness] = {claude.NAME: claude, git.NAME: git}

UNREAD: Mapping[str, Callable[[str, bytes, str, Mapping[str, str]], bool]] = {claude.NAME: claude_unread.is_unread}
"""Of the clients in which a user types: whether a call of which `parse` makes nothing may be a prompt that is lost."""

__all__ = ["BY_NAME", "UNREAD", "claude", "git"]
