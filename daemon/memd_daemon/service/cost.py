"""What a text costs against a budget (delivery.md, "Budget"), remembered by text; the tokenizer comes in with the first one."""

import hashlib
import threading
from typing import TYPE_CHECKING

from memd_daemon import limits

if TYPE_CHECKING:
    from memd_daemon.index.embed import TokenCounter


class Costs:
    """Counts tokens. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[bytes, int] = {}
        self._counter: TokenCounter | None = None

    def of(self, text: str) -> int:
        """max(WordPiece tokens, a quarter of the UTF-8 bytes, rounded up)."""
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=limits.SALT_BYTES).digest()
        with self._lock:
            known = self._known.get(key)
            if known is None:
                known = self._count(text)
                if len(self._known) >= limits.COSTS_KNOWN_MAX:
                    self._known.clear()
                self._known[key] = known
        return known

    def _count(self, text: str) -> int:
        if self._counter is None:
            from memd_daemon.index.embed import TokenCounter

            self._counter = TokenCounter()
        return self._counter.count(text)
