"""What the daemon found wrong with itself and its store, for `memd status`: a sentence each, and what to do."""

import threading


class Findings:
    """The last that was found. Safe to call from any thread."""

    def __init__(self) -> None:
        self.looking = False  # whether the store is being looked through
        self._lock = threading.Lock()
        self._found: list[dict[str, str]] = []

    def tell(self, problems: list[dict[str, str]]) -> None:
        """``problems``: {"what", "fix"} each; they take the place of what was told before."""
        with self._lock:
            self._found = list(problems)

    def told(self) -> list[dict[str, str]]:
        with self._lock:
            return list(self._found)
