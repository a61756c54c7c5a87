"""Looks at disks that a power cut left, with the real product: one process that forks for each, as a map that is cut ends one.

    python -m tests.crash.looks JOURNAL SAID     the run's records, and a JSON list of every text that was sent; then, on stdin:
    HOME RECORDS HOW                             what is there, the cut came behind so many records; HOW is `store` or `all`
                                                 -> one line: "" where it is as promised, else what is wrong

A look opens the home as a daemon does on the machine's next run, under another boot id, and asks: is `verify` clean, and every fold
what the log gives; is everything there that somebody was told before the cut; is whatever else is there whole, and something that
was really sent. `all` also: what is found with the indexes as they lie there; does it go on: a note, a prompt, a start, an edit.
"""

import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from memd_client import address, api
from memd_daemon.index import vectors, words  # noqa: F401 - once for all looks
from memd_daemon.index.embed import QueryTable
from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import encode_note
from memd_daemon.service.search import Search
from memd_daemon.store import keys, lmdb_log
from memd_daemon.store.check import verify
from memd_daemon.store.port import Store
from tests.crash.disk import read_journal
from tests.crash.forked import told_by
from tests.crash.recorded import Told, told_in
from tests.crash.wholeness import corrected_by, fallen_by, is_whole
from tests.service.desk import Desk

STORE, ALL = "store", "all"
QUERIES: Final = ("which queue drains into the buffer?", "commit 3", "what does a lane do before the commit?")
FOUND: Final = 3  # notes that are asked for, the newest


def assert_kept(store: Store, told: list[Told], said: set[str]) -> None:
    """What was told is there; what else is there is whole, and nobody's invention."""
    assert verify(store) == []
    with store.read() as snapshot:
        notes = dict(snapshot.notes())
        texts = {id_: snapshot.text(note.shown.content) for id_, note in notes.items()}
        for uid, cached in snapshot.kv.scan(keys.FOLDS):  # type: ignore[attr-defined]  # the adapters stand on tables
            made = snapshot.fold_from_log(uid)  # type: ignore[attr-defined]  # likewise
            assert made is not None
            assert encode_note(made) == cached
    assert sorted(notes) == list(range(1, len(notes) + 1))
    assert {one.id: texts.get(one.id) for one in told if one.id} == {one.id: one.content for one in told if one.id}
    fallen = {one.corrects: one.id for one in told if one.corrects}
    assert {old: corrected_by(notes, old) for old in fallen} == fallen
    assert [id_ for id_ in notes if not is_whole(notes, id_)] == []
    assert set(texts.values()) <= said


def assert_goes_on(desk: Desk, told: list[Told], said: set[str]) -> None:
    """Turns are whole, what waits in the spool comes in or is left, and memd does what it does."""
    desk.daemon._spool.before_prompt()
    turns = {turn.text for turn in desk.ask(api.Turns(limit=0)).turns}
    assert {one.turn for one in told if one.turn} <= turns <= said
    before = len(turns)
    desk.prompt("The power is back.", prompt_id="after")
    assert len(desk.ask(api.Turns(limit=0)).turns) == before + 1
    made = desk.remember("The machine went down and came up again.")
    assert desk.ask(api.Show(ref=str(made.id), cwd=str(desk.repo))).note.id == made.id
    desk.start("a session after the cut")
    desk.edit("app.py", "a session after the cut")
    address.read(os.fsencode(desk.home))  # none, or one that nobody answers at; never an error


def assert_finds(desk: Desk) -> None:
    """Notes are found first by their own words, and vectors as by an index that is made anew."""
    parts = desk.daemon.parts
    with parts.store.read() as snapshot:
        notes = dict(snapshot.notes())
        stand = [id_ for id_, note in notes.items() if fallen_by(note) == NO_UID][:FOUND]
        texts = {id_: snapshot.text(notes[id_].shown.content) or "" for id_ in stand}
    assert {id_: desk.recall(text).found[0].note.id for id_, text in texts.items()} == {id_: id_ for id_ in texts}
    fresh = Search(Path(tempfile.mkdtemp(dir=desk.home)), parts.store)
    fresh.load_vectors()
    scopes = {note.scope for note in notes.values()}
    for query in QUERIES:
        assert near(parts.search, scopes, query) == near(fresh, scopes, query)


def near(search: Search, scopes: set[str], query: str) -> list[int]:
    """The keys of the nearest vectors; a cosine's last bit depends on which others are reckoned with it."""
    assert search._vectors is not None
    assert search._table is not None
    return [key for key, _ in search._vectors.search(sorted(scopes), search._table.vector(query), 10)]


def look(home: Path, repo: Path, told: list[Told], said: set[str], how: str) -> str:
    """ "" where all is as promised. Raises AssertionError, or whatever does not work."""
    lmdb_log.boot_id = lambda: "the run of the machine after the cut"  # no seam: a test cannot start the machine anew
    if how == STORE:
        assert_kept(lmdb_log.open_store(home), told, said)
        return ""
    desk = Desk(home, repo)
    assert_kept(desk.daemon.parts.store, told, said)
    assert_finds(desk)
    assert_goes_on(desk, told, said)
    return ""


def main() -> None:
    journal, said = Path(sys.argv[1]), set(json.loads(Path(sys.argv[2]).read_bytes()))
    told = [(at, one) for at, one in enumerate(map(told_in, read_journal(journal)), 1) if one is not None]
    QueryTable()
    for line in sys.stdin:
        home, records, how = line.split()
        known = [one for at, one in told if at <= int(records)]
        wrong = told_by(partial(look, Path(home), journal.with_name("repo"), known, said, how))
        print(json.dumps(wrong), flush=True)


if __name__ == "__main__":
    main()
