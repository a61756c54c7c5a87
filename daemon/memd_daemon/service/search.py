"""Finding: words at once, vectors as soon as they are there (recall.md, "Finding"; model-choice.md).

`Search` owns the derived indexes (how they are asked: lookup.py). They come in behind the daemon's first answers, in this order:
words, the token table, the stored vectors, the model. A note is findable by its words the moment its write returned; its vector
follows from the queue in the store. Superseded and archived notes lie in the scope's cold index.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memd_daemon import errors, limits
from memd_daemon.model.note import Note
from memd_daemon.service.embedding import EmbedQueue, Waiting, as_vector, key_of, waiting
from memd_daemon.service.lookup import COLD, Lookup
from memd_daemon.service.lookup import Hit as Hit
from memd_daemon.service.lookup import Match as Match
from memd_daemon.service.marks import known, mark_of, seq_of
from memd_daemon.store.port import Snapshot, Store

if TYPE_CHECKING:
    from memd_daemon.index.pending import Told
    from memd_daemon.index.vectors import ScopedVectors
    from memd_daemon.index.words import WordIndex

log: Final = logging.getLogger("memd.search")


def home_of(note: Note) -> str:
    """The index scope in which a note lies; "" for one that lies in none."""
    if note.forgotten:
        return ""
    return note.scope if note.live else COLD + note.scope


class Search(Lookup):
    """Derived indexes of one store. Safe to call from any thread."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder = folder
        self._store = store
        self._wake = threading.Event()
        self._stop = threading.Event()
        super().__init__(EmbedQueue(store, self._stop))
        self._placing = threading.Lock()
        self.trouble = ""  # the kind of error that keeps the indexes behind; "" where nothing does
        self._thread: threading.Thread | None = None
        self._words_in = threading.Event()
        self._came_in = threading.Condition()  # the model, or vectors
        self._are_words_current = False

    # life

    def begin(self) -> None:
        """Loads everything on a thread of its own, then embeds what waits."""
        self._thread = threading.Thread(target=self._run, name="memd-index", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._wake.set()
        self._tell_who_waits()
        if self._thread is not None:
            self._thread.join()
        try:
            self._flush_words()
            self._save_vectors()
        except (OSError, errors.MemdError) as error:  # the next start brings them up to date
            log.warning("the indexes were not saved: %s", type(error).__name__)
        if self._words is not None:
            self._words.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                self._load()
                self._keep_up()
                self.trouble = ""
            except Exception as error:  # the daemon goes on with what is in: hooks answer from words, or not at all
                log.exception("the indexes are behind")
                self.trouble = type(error).__name__
            finally:
                self._words_in.set()
                self._tell_who_waits()
            # After trouble (a full disk, a file that is gone) it tries again, with the next change or by itself.
            self._wake.wait(limits.INDEX_RETRY_S if self.trouble else None)

    def _load(self) -> None:
        """What is not in yet, in its order."""
        if not self._are_words_current:
            self.load_words()
        if self._vectors is None:
            self.load_vectors()
        if self._embedder is None:
            self.load_model()

    def _keep_up(self) -> None:
        """Embeds what waits, and saves what is due."""
        self.embed_waiting(self._gave_way)
        while self._words_are_due() and not self._stop.is_set():
            self._flush_words()
            self.embed_waiting(self._gave_way)  # the queue may have been left for it
        if self._vectors is not None and self._vectors.unsaved >= limits.UNSAVED_VECTORS_MAX:
            self._save_vectors()

    def wake(self) -> None:
        """Says that the queue in the store has grown."""
        self._wake.set()

    def _is_interrupted(self) -> bool:
        """Whether embedding has to wait: an import writes faster than vectors come, and each search looks through pending words."""
        return self._stop.is_set() or self._words_are_due()

    def _gave_way(self) -> bool:
        """`_is_interrupted`, once the writers have paused."""
        self._queue.give_way(self._is_interrupted)
        return self._is_interrupted()

    def _words_are_due(self) -> bool:
        return self._words is not None and self._words.pending >= limits.WORDS_PENDING_MAX

    def load_words(self) -> None:
        """The word index, brought up to date with the store, or made anew where it is missing or harmed."""
        from memd_daemon.index.words import WordIndex

        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        words = self._words or WordIndex(self._folder / "words")
        self.learn_names()
        with self._store.read() as snapshot:
            is_known = known(snapshot, words.mark) is not None
        if not is_known:
            self._rebuild_words(words)
        self._words = words  # from here on each write tells it; what came before is in the log after the mark
        self._catch_up(words, seq_of(words.mark))
        self._are_words_current = True
        self._words_in.set()

    def learn_names(self) -> None:
        """The scopes of other stores' notes that are ones of this store's (store/scoped.py), as they are decided by now."""
        with self._store.read() as snapshot:
            self._names = snapshot.other_names()

    def wait_for_words(self) -> None:
        """For who asks in so many words, or must not record a mistake again: waits while the word index is loading."""
        if self._thread is not None and self._thread.is_alive():
            self._words_in.wait(limits.WORDS_WAIT_S)

    def wait_for_vectors(self) -> None:
        """For who asks in so many words: waits while the model is loading, and for the vectors of what was written just now.

        Never for long, and not for a long queue, which an import makes: what is not in yet is found by its words.
        """
        until = time.monotonic() + limits.RECALL_QUEUE_WAIT_S
        with self._came_in:
            while self._is_catching_up() and (left := until - time.monotonic()) > 0:
                self._came_in.wait(left)

    def _is_catching_up(self) -> bool:
        """Whether the indexes' thread is about to have every vector."""
        if self._thread is None or not self._thread.is_alive() or self._stop.is_set() or self.trouble:
            return False
        if self._embedder is None:
            return True
        with self._store.read() as snapshot:
            waiting = snapshot.unembedded(self.model_id, limits.RECALL_QUEUE_NOTES_MAX + 1)
        return 0 < len(waiting) <= limits.RECALL_QUEUE_NOTES_MAX

    def _tell_who_waits(self) -> None:
        with self._came_in:
            self._came_in.notify_all()

    def _rebuild_words(self, words: "WordIndex") -> None:
        with self._store.read() as snapshot:
            said = (self._said(snapshot, id_, note) for id_, note in snapshot.notes(newest_first=False))
            words.rebuild((one for one in said if one is not None), mark_of(snapshot))

    def _said(self, snapshot: Snapshot, id_: int, note: Note) -> tuple[int, str, str] | None:
        """(id, scope, text) as a note is to be indexed; None where it is to be in no index.

        It is found by the words of its first wording, of the one that is told and of the newest.
        """
        contents = dict.fromkeys(r.content for r in (note.revisions[0], note.shown, note.revisions[-1]))
        texts = [text for text in map(snapshot.text, contents) if text is not None]
        scope = home_of(note)
        return (id_, scope, "\n".join(texts)) if scope and texts else None

    def _catch_up(self, words: "WordIndex", seq: int) -> int:
        """Says again every note that a commit after ``seq`` speaks of; the mark of what the index then has come to.

        Saying a note twice is saying it once, so this also covers a write whose own word to the index is still on its way.
        """
        with self._store.read() as snapshot:
            for id_, note in self._changed(snapshot, seq):
                said = self._said(snapshot, id_, note)
                words.remove(id_) if said is None else words.add(*said)
            return mark_of(snapshot)

    def _changed(self, snapshot: Snapshot, seq: int) -> Iterator[tuple[int, Note]]:
        for uid in dict.fromkeys(snapshot.changed_since(seq)):
            note, id_ = snapshot.note(uid), snapshot.id_of(uid)
            if note is not None and id_ is not None:
                yield id_, note

    def _flush_words(self) -> None:
        if self._words is not None:
            self._words.flush(self._catch_up(self._words, seq_of(self._words.mark)))

    def load_vectors(self) -> None:
        """The token table, and every stored vector by scope: the saved indexes brought up to date, or made anew."""
        from memd_daemon.index.embed import Embedder, QueryTable
        from memd_daemon.index.vectors import ScopedVectors

        self._table = QueryTable()
        shape = Embedder()
        vectors = ScopedVectors(shape.model_id, shape.dim, self._fetch, self._folder / "vectors")
        mark = vectors.load()
        with self._store.read() as snapshot:
            seq = known(snapshot, mark)
            if seq is None:
                vectors.rebuild(self._stored_vectors(snapshot, shape.model_id))
            else:
                for id_, note in self._changed(snapshot, seq):
                    self._place_vector(vectors, snapshot, id_, note)
        self._store.let_go()
        self._vectors = vectors

    def _place_vector(self, vectors: "ScopedVectors", snapshot: Snapshot, id_: int, note: Note) -> None:
        """The vectors of the note's wordings lie where `home_of` says, and nowhere else."""
        for place, uid, _ in note.wordings:
            stored = snapshot.vector(vectors.model_id, uid) if home_of(note) else None
            vectors.place(home_of(note), key_of(id_, place), None if stored is None else as_vector(stored))

    def _save_vectors(self) -> None:
        """Saved only while no vector waits, so that everything newer belongs to a commit after the mark."""
        if self._vectors is None:
            return
        with self._store.read() as snapshot:
            if snapshot.unembedded(self.model_id, 1):
                return
            mark = mark_of(snapshot)
        self._vectors.save(mark)

    def _stored_vectors(self, snapshot: Snapshot, model: str) -> "Iterator[tuple[str, int, Any]]":
        for id_, stored in snapshot.vectors(model):
            uid = snapshot.uid_of(id_)
            note = snapshot.note(uid) if uid else None
            if note is None or not home_of(note):
                continue
            yield home_of(note), id_, as_vector(stored)
            for place, wording, _ in note.wordings[1:]:
                further = snapshot.vector(model, wording)
                if further is not None:
                    yield home_of(note), key_of(id_, place), as_vector(further)

    def load_model(self) -> None:
        from memd_daemon.index.embed import Embedder

        embedder = Embedder()
        embedder.load()
        self._embedder = embedder
        self._tell_who_waits()

    def rebuild(self, *, embed: bool) -> int:
        """Words and vectors anew from the store; how many vectors there are then. Blocks until none waits."""
        if self._words is not None:
            self._rebuild_words(self._words)
        if self._vectors is None:
            self.load_vectors()
        if self._embedder is None:
            self.load_model()
        if embed:
            self._embed_again()
        self.embed_waiting(self._stop.is_set)
        with self._store.read() as snapshot:
            if self._vectors is not None:
                self._vectors.rebuild(self._stored_vectors(snapshot, self.model_id))
        return self.vector_count

    def _embed_again(self) -> None:
        """Every vector that is stored, computed anew; each stands until its successor does."""
        with self._store.read() as snapshot:
            ids = [id_ for id_, _ in snapshot.vectors(self.model_id)]
        for start in range(0, len(ids), limits.EMBED_BATCH_NOTES):
            with self._store.read() as snapshot:
                due = list(waiting(snapshot, ids[start : start + limits.EMBED_BATCH_NOTES]))
            self._embed_all([one for one in due if one.text], self._stop.is_set)

    # changes

    def told(self, scope: str, text: str) -> "Told | None":
        """What `add` needs to know of a text: most of its work, done before the note has a number. None while the words load."""
        return self._words.told(scope, text) if self._words is not None else None

    def add(self, id_: int, scope: str, text: str, told: "Told | None" = None) -> None:
        """A new note: found by its words from now on; its vector comes from the queue. ``told``: what `told` made of it."""
        if self._words is not None:
            self._words.put(id_, told or self._words.told(scope, text))
        self._queue.wrote()
        self._wake.set()

    def move(self, id_: int, note: Note) -> None:
        """A note whose scope or standing changed lies where `home_of` says, and nowhere else.

        One at a time, and by what the store says then: of two moves at once, or of a move and a vector that just came in, the
        one that looked earlier must not have the last word. ``note`` is as the caller saw it. A further wording waits for a vector
        of its own.
        """
        with self._placing, self._store.read() as now:
            newest = now.note(note.uid) or note
            said = self._said(now, id_, newest)
            if self._words is not None:
                self._words.remove(id_) if said is None else self._words.add(*said)
            if self._vectors is not None:
                self._place_vector(self._vectors, now, id_, newest)
        if len(newest.wordings) > 1:
            self._wake.set()

    def embed_waiting(self, enough: Callable[[], bool]) -> int:
        """Computes the vectors that wait in the store's queue until none waits or ``enough`` says so; how many."""
        done = 0
        while self._embedder is not None and self._vectors is not None and not enough():
            waiting = self._queue.take(self.model_id)
            made = self._embed_all(waiting, enough)
            done += made
            if not waiting or made < len(waiting):
                break
        return done

    def _embed_all(self, waiting: Sequence[Waiting], enough: Callable[[], bool]) -> int:
        """Vectors computed, stored and placed, until ``enough`` says so (at least one); how many."""
        made: list[tuple[Waiting, bytes]] = []
        for one in waiting:
            vector = None if made and enough() else self.embed(one.text)
            if vector is None:
                break
            made.append((one, vector.astype("<f2").tobytes()))
        self._queue.put(self.model_id, made)
        with self._placing, self._store.read() as now:
            for one, _ in made:
                newest = now.note(one.note.uid)
                if newest is not None and self._vectors is not None:
                    self._place_vector(self._vectors, now, one.id, newest)
        self._tell_who_waits()
        return len(made)
