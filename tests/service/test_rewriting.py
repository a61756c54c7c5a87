"""A deliberate rewrite of the log, chain and all, by another program of the same user: what signed events tell of it."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from memd_client import api
from memd_daemon.model import event as ev
from memd_daemon.store import keys
from memd_daemon.store.log_read import decode_commit, decode_header
from tests.service.test_tampering import Rows, Scene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    one = Scene(tmp_path)
    yield one
    one.desk.close()


def rewrite(rows: Rows) -> None:
    """The last note of an agent is made one of another session, and the chain is made anew behind it: nothing naive is left."""
    prev, mine = ev.GENESIS, rows.get(keys.IDS, keys.number(3))
    for key, raw in rows.all(keys.COMMITS):
        header, digests = decode_header(decode_commit(raw)[0]), list(decode_commit(raw)[1])
        for event_key, row in rows.all(keys.EVENTS):
            body, sig = msgspec.msgpack.decode(row, type=tuple[bytes, bytes])
            made = ev.decode_event(body)
            if event_key.startswith(key) and made.note == mine:
                body = ev.encode_event(msgspec.structs.replace(made, session="another"))
                rows.put(keys.EVENTS, event_key, msgspec.msgpack.encode((body, sig)))
                digests[keys.of_event_key(event_key)[2]] = ev.event_digest(body, sig)
        head = msgspec.msgpack.encode(msgspec.structs.replace(header, prev=prev))
        rows.put(keys.COMMITS, key, msgspec.msgpack.encode((head, digests)))
        prev = ev.commit_digest(head, digests)
        rows.put(keys.META, keys.META_HEAD, header.seq.to_bytes(8, "big") + prev)


@pytest.mark.parametrize("signed_after", [True, False])
def test_a_deliberate_rewrite_is_found_up_to_the_last_signed_event(scene: Scene, signed_after: bool) -> None:
    """A signed event names the commit behind which it was signed, and nobody else can make it name another."""
    if signed_after:
        scene.person.rule("A rule of another day.")
    scene.edit(rewrite)
    scene.desk.ask(api.Reindex(despite_damage=signed_after))
    found = [fault for fault in scene.faults() if "was signed over other commits than stand before it" in fault]
    assert (len(found), len(scene.faults())) == ((1, 1) if signed_after else (0, 0))
