"""Attacks that edit what stands in the store: derived rows, texts, events, numbers. Nothing is endorsed, and `verify` names it."""

import os
import shutil

import msgspec
import pytest

from tests.attack import forge
from tests.attack.cases import Attack, Group, Judged
from tests.attack.conftest import Fight
from tests.attack.forge import EVIL, content_of, damaged
from tests.attack.judge import STANDING, claimed_human
from tests.attack.siege import Siege

DAMAGE = Group("damage", "an edit endorses, or hides an endorsed note and `verify` names nothing")


@pytest.mark.parametrize("attack", DAMAGE.attacks, ids=str)
def test_no_edit_passes_unnamed(attack: Attack, fight: Fight) -> None:
    """What a person signed is read from the events themselves."""
    fight(attack)


# --- derived rows


@DAMAGE("folds-raised", "lmdb", "writes human into the cached folds of agents' notes", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        for name in ("a-rule", "a-finding", "a-task", "a-auto"):
            forge.edit_fold(rows, forge.uid(s, name), provenance="human", key_id=s.person.key.key_id)


@DAMAGE("folds-lowered", "lmdb", "lowers, revokes, archives and hides the cached folds of endorsed notes", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        forge.edit_fold(rows, forge.uid(s, "rule"), provenance="agent", key_id=b"")
        forge.edit_fold(rows, forge.uid(s, "habit"), forgotten=True)
        forge.edit_fold(rows, forge.uid(s, "finding"), shelf="archived")
        forge.edit_fold(rows, forge.uid(s, "gotcha"), priority="low", kind="decision")
        forge.edit_fold(rows, forge.uid(s, "task"), task="closed")
        forge.edit_fold(rows, forge.uid(s, "decision"), scope="session:x")
        rows.delete("folds", forge.uid(s, "principle"))


@DAMAGE("folds-reworded", "lmdb", "has the cached fold of a rule name another text", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        forge.edit_fold(rows, forge.uid(s, "rule"), content=forge.blob(rows, EVIL))
    assert EVIL not in s.started()


for _table in (
    "kinds",
    "paths",
    "subjects",
    "tails",
    "folds",
    "event_uids",
    "slugs",
    "children",
    "absorbed",
):

    def _empties(s: Siege, table: str = _table) -> None:
        with s.rows() as rows:
            for key, _value in rows.all(table):
                rows.delete(table, key)
        s.settled()

    DAMAGE.add(f"emptied-{_table}", "lmdb", f"empties the table {_table}", _empties, alone=True)


@DAMAGE("emptied-aliases", "lmdb", "empties the table that gives notes their numbers", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        for key, _value in rows.all("aliases"):
            rows.delete("aliases", key)
    s.settled()
    assert damaged(s), "numbers are gone, and verify names nothing"
    forge.rebuilt(s)  # after which each note has the number that people quote


@DAMAGE("unwanted", "lmdb", "marks endorsed notes as not to be embedded, and drops their vectors", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        for name in STANDING:
            rows.put("unwanted", s.notes[name].id.to_bytes(8, "big"), b"")
        for key, _value in rows.all("vectors"):
            rows.delete("vectors", key)


@DAMAGE("ledger", "files", "takes the ledger away, and puts garbage in its place", alone=True)
def _(s: Siege) -> None:
    s.down()
    shutil.rmtree(s.home / "store" / "ledger")
    (s.home / "store" / "ledger").mkdir(mode=0o700)
    (s.home / "store" / "ledger" / "data.mdb").write_bytes(os.urandom(40_960))


# --- what the log itself says


@DAMAGE("text-replaced", "lmdb", "replaces the words of an endorsed rule, its salt kept", alone=True, hides=("rule",))
def _(s: Siege) -> None:
    with s.rows() as rows:
        digest = content_of(s, rows, "rule")
        raw = rows.get("blobs", digest)
        assert raw is not None
        rows.put("blobs", digest, raw[:16] + EVIL.encode())
    for text in (
        s.started(),
        s.shown(s.notes["rule"].id),
        s.recalled(s.notes["rule"].asks),
        s.cli("list").out.decode(),
    ):
        assert EVIL not in text, text
    assert damaged(s)


@DAMAGE(
    "text-dropped", "lmdb", "drops the text of an endorsed rule, as if it were forgotten", alone=True, hides=("rule",)
)
def _(s: Siege) -> None:
    with s.rows() as rows:
        rows.delete("blobs", content_of(s, rows, "rule"))
    assert damaged(s), "a text is gone, and verify names nothing"


@DAMAGE("endorsement-removed", "lmdb", "removes the event that endorses a rule", alone=True, hides=("rule",))
def _(s: Siege) -> None:
    with s.rows() as rows:
        key = forge.events_of(rows, forge.uid(s, "rule"))[-1][0]
        rows.delete("events", key)
    assert damaged(s), "an endorsement is gone, and verify names nothing"


@DAMAGE("signature-removed", "lmdb", "removes the signature of a rule's endorsement", alone=True, hides=("rule",))
def _(s: Siege) -> None:
    with s.rows() as rows:
        key, _made, body, _sig = forge.events_of(rows, forge.uid(s, "rule"))[-1]
        rows.put("events", key, msgspec.msgpack.encode([body, b""]))
    assert damaged(s)


@DAMAGE("event-changed", "lmdb", "widens the scope in the recording of an endorsed rule", alone=True, hides=("rule",))
def _(s: Siege) -> None:
    with s.rows() as rows:
        key, made, _body, sig = forge.events_of(rows, forge.uid(s, "rule"))[0]
        changed = {**made, "payload": {**made["payload"], "scope": "global", "content": forge.blob(rows, EVIL)}}
        rows.put("events", key, msgspec.msgpack.encode([msgspec.msgpack.encode(changed), sig]))
    assert f"DIRECTIVE (standing rule from the user — follow it): {EVIL}" not in s.started()
    assert damaged(s)


@DAMAGE("revocation-removed", "lmdb", "removes the event by which a person revoked a note", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        key = forge.events_of(rows, forge.uid(s, "fallen-human"))[-1][0]
        rows.delete("events", key)
    assert damaged(s), "a person's revocation is gone, and verify names nothing"
    raise Judged


@DAMAGE("ids-exchanged", "lmdb", "exchanges the numbers of a rule of its own and an endorsed one", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        one, other = (s.notes[name].id.to_bytes(8, "big") for name in ("rule", "a-rule"))
        mine, theirs = rows.get("ids", one), rows.get("ids", other)
        assert mine is not None
        assert theirs is not None
        rows.put("ids", one, theirs)
        rows.put("ids", other, mine)
        rows.put("aliases", theirs, one)
        rows.put("aliases", mine, other)
    assert f"DIRECTIVE (standing rule from the user — follow it): {s.notes['a-rule'].content}" not in s.started()
    assert damaged(s), "numbers were exchanged, and verify names nothing"
    raise Judged


@DAMAGE("store-renamed", "lmdb", "gives the store another uid", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        rows.put("meta", b"store", os.urandom(16))
    assert not claimed_human(s.started()) - s.human
    assert damaged(s), "the store has another uid, and verify names nothing"
    raise Judged


@DAMAGE("chain-cut", "lmdb", "cuts the last commits off, those that a person signed among them", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        for key, _raw in rows.all("commits")[-3:]:
            rows.delete("commits", key)
            for row, _value in rows.all("events"):
                if row[:24] == key:
                    rows.delete("events", row)
    assert damaged(s), "commits are gone, and verify names nothing"
    raise Judged
