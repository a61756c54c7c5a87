"""What `memd bench hooks` fills its store with: a process of its own that answers lines of JSON with lines of JSON.

It is started as ``python -m memd_daemon.stocked HOME``; no daemon serves HOME meanwhile. A request is `Wanted`; the answer says
how many are done. Notes are recorded by the very code that a daemon records them by, several at once, so that they share a sync;
only the indexes are not told of each. They are made at the end, as after a loss.

A run of the model takes longer than everything else that is done for a note, and what a lookup costs does not depend on what a
vector says. So whoever asks may have vectors of the token table instead: as long, in the same space, stored and indexed alike.
"""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec

from memd_client import api
from memd_daemon.answering import serve
from memd_daemon.daemon import Daemon
from memd_daemon.index.embed import Embedder, QueryTable
from memd_daemon.service.embedding import EmbedQueue, waiting

WRITERS: Final = 64  # that share a sync
BATCH_VECTORS: Final = 512  # stored with one commit

Answer = dict[str, int]


class Wanted(msgspec.Struct, frozen=True):
    """A request. ``do``: record, embed (the oldest that wait, ``count`` of them, by the ``by`` "model" or "table") or index."""

    do: str
    notes: list[api.Remember] = []
    count: int = 0
    by: str = "table"


class Stock:
    """See the module's docstring."""

    def __init__(self, home: Path) -> None:
        self._daemon = Daemon.open(home)
        self._remember: Callable[[api.Remember], Any] = self._daemon.handlers(_never)["remember"]
        self._store = self._daemon.parts.store
        self._queue = EmbedQueue(self._store, threading.Event())
        self._threads = ThreadPoolExecutor(WRITERS)
        self._model = Embedder()
        self._table = QueryTable()

    def close(self) -> None:
        self._threads.shutdown()
        self._daemon.close()

    def answer(self, wanted: Wanted) -> Answer:
        return {"record": self.record, "embed": self.embed, "index": self.index}[wanted.do](wanted)

    def record(self, wanted: Wanted) -> Answer:
        """All these notes, durable."""
        return {"done": sum(1 for _ in self._threads.map(self._remember, wanted.notes))}

    def embed(self, wanted: Wanted) -> Answer:
        """Vectors for what waits longest."""
        vector = self._by_model if wanted.by == "model" else self._table.vector
        done = 0
        while done < wanted.count:
            with self._store.read() as snapshot:
                ids = snapshot.unembedded(self._model.model_id, min(BATCH_VECTORS, wanted.count - done))
                due = list(waiting(snapshot, ids))
            if not due:
                break
            self._queue.put(self._model.model_id, [(one, vector(one.text).astype("<f2").tobytes()) for one in due])
            done += len(due)
        return {"done": done}

    def _by_model(self, text: str) -> Any:
        if not self._model.loaded:
            self._model.load()
        return self._model.embed(text)

    def index(self, _: Wanted) -> Answer:
        """Words and vectors, made from the store; they are saved when the process ends."""
        search = self._daemon.parts.search
        search.load_words()
        search.load_vectors()
        return {"done": search.vector_count}


def _never() -> None:
    """Nobody stops this daemon but the end of its input."""


if __name__ == "__main__":
    serve(Stock(Path(sys.argv[1])), Wanted)
