"""Revoked beliefs, in memory, by what they claim: a new note that says one again is refused before anything is stored.

The claims (service/claim.py) of every note that was ever revoked are kept by their sense and their size, so that a look costs the
few that may be the same, and none where nothing was revoked. The store says of which notes a revocation speaks (`Store.fallen`);
whether one of them stands revoked now, and where, the note itself says at each look: so revoking, reinstating, superseding or
moving a note needs no word here, and the look is as true as the snapshot that it is given. A forgotten note's words are let go.

A claim is kept as its content words alone, one copy of each word: some hundred bytes a note.
"""

import sys
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator

from memd_daemon import limits
from memd_daemon.model.ids import UID_BYTES
from memd_daemon.model.note import Note
from memd_daemon.service import text
from memd_daemon.service.claim import Claim, Sense, same_words
from memd_daemon.store.port import Snapshot, Store

Sized = dict[int, dict[bytes, tuple[str, ...]]]
"""Content words of claims, by their number and by the wording: uid ‖ digest."""


class Struck:
    """See the module's docstring. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heard = 0  # of `Store.fallen`
        self._unseen: set[bytes] = set()  # not in the snapshot yet: the write that revokes it is under way
        self._claims: defaultdict[Sense, Sized] = defaultdict(dict)
        self._places: dict[bytes, list[tuple[Sense, int, bytes]]] = {}  # uid -> where its claims lie

    def __len__(self) -> int:
        """Notes that are known."""
        return len(self._places)

    def again(self, store: Store, snapshot: Snapshot, claim: Claim, scopes: Collection[str]) -> list[Note]:
        """Revoked notes of these scopes whose claim this is, the likest first."""
        with self._lock:
            self._listen(store, snapshot)
            alike = [(-text.likeness(claim.content, words), uid) for uid, words in self._alike(claim)]
        found = {uid: snapshot.note(uid) for _, uid in sorted(alike)}
        return [n for n in found.values() if n is not None and n.live and n.revoked and n.scope in scopes]

    def _alike(self, claim: Claim) -> Iterator[tuple[bytes, frozenset[str]]]:
        size = len(claim.content)
        for count, wordings in self._claims.get(claim.sense, {}).items():
            if min(count, size) < limits.SAME_CLAIM_SHARE * max(count, size):
                continue
            for wording, words in wordings.items():
                if count < size and not claim.content.issuperset(words):
                    continue
                its = frozenset(words)
                if same_words(claim.content, its):
                    yield wording[:UID_BYTES], its

    # what has fallen

    def _listen(self, store: Store, snapshot: Snapshot) -> None:
        """Takes in what fell since the last look."""
        news = store.fallen(self._heard)
        self._heard += len(news)
        waiting, self._unseen = self._unseen, set()
        for uid in dict.fromkeys((*news, *waiting)):
            note = snapshot.note(uid)
            if note is None:
                self._unseen.add(uid)
            else:
                self._let_go(uid)
                self._take_in(snapshot, note)

    def _take_in(self, snapshot: Snapshot, note: Note) -> None:
        """Every wording of the note that is not forgotten."""
        if note.forgotten:
            return
        for digest in dict.fromkeys(revision.content for revision in note.revisions):
            said = snapshot.text(digest)
            if said is None:
                continue
            claim = Claim.of(said)
            words = tuple(sorted(map(sys.intern, claim.content)))
            self._claims[claim.sense].setdefault(len(words), {})[note.uid + digest] = words
            self._places.setdefault(note.uid, []).append((claim.sense, len(words), note.uid + digest))

    def _let_go(self, uid: bytes) -> None:
        for sense, size, wording in self._places.pop(uid, ()):
            sized = self._claims[sense]
            del sized[size][wording]
            if not sized[size]:
                del sized[size]
            if not sized:
                del self._claims[sense]
