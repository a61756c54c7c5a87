"""What somebody forges beside the log, or takes from beside it: named by verify, and made good where the log says how it was."""

from pathlib import Path

import msgspec
from tests.store.making import digest_of, foreign_commit, recorded
from tests.store.test_check import Scene
from tests.store.test_check import scene as scene

from memd_daemon.model import event as ev
from memd_daemon.store import keys
from memd_daemon.store.check import verify
from memd_daemon.store.kv import Writing
from memd_daemon.store.lmdb_log import open_store


def test_an_event_under_anothers_uid_is_named(scene: Scene) -> None:
    """Of another origin and dated before it, with other words: the one that it would pass for is named where it stands."""
    with scene.store.read() as snapshot:
        (first, *_) = snapshot.events_of(scene.first)
    changed = recorded(content=digest_of("other"), summary=digest_of("other"))
    twin = msgspec.structs.replace(first.event, payload=ev.make_payload(changed))
    commit = foreign_commit([(twin, b"")], origin=b"e" * 16, seq=1, hlc=1, store=scene.store.info.store)
    scene.store.write(lambda txn: txn.receive(*commit))
    (fault,) = (fault for fault in verify(scene.store) if "called as another event is" in fault.what)
    assert (fault.origin, fault.seq, fault.notes) == (scene.origin, 1, (1,))


def test_a_store_under_another_name_is_named(home: Path) -> None:
    """Whose signatures then stand for nothing: each commit says in which store it was written."""
    store = open_store(home)
    scene = Scene(store)
    scene.tamper(lambda kv: kv.put(keys.META, keys.META_STORE, b"x" * 16))
    store.close()
    store = open_store(home)
    found = {fault.seq for fault in verify(store) if "was written in the store" in fault.what}
    store.close()
    assert found == set(range(1, 7))


def test_a_note_keeps_its_number_when_all_is_made_anew(scene: Scene) -> None:
    """Also where somebody emptied the table that says which number it has."""
    with scene.store.read() as snapshot:
        before = [(id_, note.uid) for id_, note in snapshot.notes()]

    def work(kv: Writing) -> None:
        for key, _ in list(kv.scan(keys.ALIASES)):
            kv.delete(keys.ALIASES, key)

    assert scene.tamper(work) != []
    scene.store.rebuild()
    assert verify(scene.store) == []
    with scene.store.read() as snapshot:
        assert [(id_, note.uid) for id_, note in snapshot.notes()] == before
