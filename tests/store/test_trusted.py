"""What a process learns of a store's events without decoding them: signatures, and falls."""

import os
from pathlib import Path

import pytest
from tests.store.making import ANNA, Pen, event, fresh_uid

from memd_daemon.model import event as ev
from memd_daemon.store import keys
from memd_daemon.store.lmdb_log import open_store
from memd_daemon.store.log_write import LogTxn, encode_row
from memd_daemon.store.trusted import FALLS, Trusted, may_be_fall, may_be_signed


@pytest.mark.parametrize("type_", sorted(ev.PAYLOADS))
def test_a_fall_is_seen_in_its_row(type_: str) -> None:
    """Of each type there is: a fall is never overlooked, and another type of event is none."""
    body = ev.encode_event(event(type_, fresh_uid(), session="s" * 40, agent="a"))
    assert may_be_fall(encode_row(body, b"")) == (type_ in FALLS)
    assert may_be_fall(encode_row(body, os.urandom(64))) == (type_ in FALLS)
    assert may_be_signed(encode_row(body, b"s" * 64))


def test_falls_are_told_in_their_order_and_again_after_an_opening(tmp_path: Path) -> None:
    """As they come while the store is open, and all of them at the next opening; what was reinstated is told too."""
    store = open_store(tmp_path)
    pen = Pen(store)
    pen.enrol(ANNA)
    one, two, three = (pen.record(words) for words in ("one", "two", "three"))
    assert store.fallen(0) == []
    pen.revoke(two)
    pen.revoke(one)
    pen.act(two, "reinstated", ev.Reasoned())
    assert store.fallen(0) == [two, one]
    pen.act(three, "forgotten", by=ANNA)
    assert store.fallen(2) == [three]
    store.close()
    again = open_store(tmp_path)
    assert again.fallen(0) == [two, one, three]
    again.rebuild()
    assert again.fallen(3) == []
    again.close()


def test_doubt_comes_behind_what_was_put_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else whoever looks anew because of it finds, and keeps, what stood there before."""
    store = open_store(tmp_path)
    pen = Pen(store)
    pen.enrol(ANNA)
    uid = pen.record("Ask before a push.", kind="directive")
    pen.endorse(uid, ANNA)
    store.write(lambda txn: txn.kv.clear(keys.KINDS))
    store.close()
    order: list[object] = []
    refold = LogTxn.refold

    def put_right(txn: LogTxn, subject: bytes) -> None:
        refold(txn, subject)
        order.append("put right")

    monkeypatch.setattr(LogTxn, "refold", put_right)
    monkeypatch.setattr(Trusted, "raise_doubt", lambda _, what: order.append(what))
    open_store(tmp_path).close()
    assert order == ["put right", uid]
