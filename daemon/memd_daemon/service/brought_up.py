"""What the log says of the notes that a prompt brings up, each read once.

Which of them are told is decided when the prompt has its vector, under the lock, and by the log as it stands then. The model that
makes the vector takes longer than all the rest of a prompt and leaves the interpreter alone; so what the words bring up is read
while it runs. That counts only for the very same state of the store: in another one, which a write in between has made, all of it
is read again.
"""

from collections.abc import Callable

from memd_daemon.model.note import Note
from memd_daemon.model.view import NoteView
from memd_daemon.model.words import Kind, Provenance
from memd_daemon.service.lookup import Match
from memd_daemon.service.repos import Place
from memd_daemon.service.views import view_from_log
from memd_daemon.store.port import Snapshot


class BroughtUp:
    """See the module's docstring. ``match`` says how far the prompt's words stand in a text. For one thread at a time."""

    def __init__(self, place: Place, match: Callable[[str], Match]) -> None:
        self.match = match
        self._place = place
        self._moment: int | None = None
        self._notes: dict[int, Note | None] = {}
        self._views: dict[bytes, NoteView] = {}

    def come_to(self, snapshot: Snapshot, *, in_doubt: bool) -> None:
        """From here on by this snapshot. ``in_doubt``: something of the store did not fit, so all is read again."""
        moment = snapshot.moment()
        if moment != self._moment or in_doubt:
            self._notes, self._views = {}, {}
            self._moment = moment

    def note(self, snapshot: Snapshot, id_: int) -> Note | None:
        """The note if a prompt could bring it: one of class auto is never told unasked, and must not take the place of another."""
        if id_ not in self._notes:
            uid = snapshot.uid_of(id_)
            note = snapshot.note(uid) if uid else None
            is_told = note is not None and note.kind == Kind.FINDING and note.provenance != Provenance.AUTO
            self._notes[id_] = note if is_told else None
        return self._notes[id_]

    def view(self, snapshot: Snapshot, note: Note) -> NoteView:
        """The note's view as far as the log says it."""
        if note.uid not in self._views:
            self._views[note.uid] = view_from_log(snapshot, note, self._place)
        return self._views[note.uid]
