"""Attacks on the store's file: events forged, replayed, dated back; derived rows edited; texts, events and ids exchanged."""

import os
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from memd_client import signing
from tests.attack import forge
from tests.attack.cases import Attack, Group, Judged
from tests.attack.conftest import Fight
from tests.attack.forge import EVIL, content_of, damaged
from tests.attack.judge import STANDING, claimed_human
from tests.attack.siege import Rows, Siege

STORE = Group("store", "an edit of the store endorses, or changes or hides an endorsed note unnoticed by `verify`")
MINE = Ed25519PrivateKey.generate()
MY_PUBLIC = MINE.public_key().public_bytes_raw()
MY_ID = signing.key_id_of(MY_PUBLIC)


@pytest.mark.parametrize("attack", STORE.attacks, ids=str)
def test_no_edit_endorses(attack: Attack, fight: Fight) -> None:
    """What a person signed is read from the events themselves."""
    fight(attack)


# --- forged acts, at the end of this store's own chain


def _acts(s: Siege, rows: Rows) -> list[tuple[str, str, dict[str, Any]]]:
    """(note, type, payload) of everything that would change an endorsed note."""
    reason, by = forge.blob(rows, "it is wrong"), forge.uid(s, "a-rule")
    words = forge.blob(rows, EVIL)
    return [
        ("rule", "revoked", {"reason": reason}),
        ("habit", "superseded", {"by": by}),
        ("gotcha", "archived", {"reason": reason}),
        ("gotcha", "amended", {"priority": "low", "scope": "session:x"}),
        ("finding", "absorbed", {"by": by}),
        ("finding", "forgotten", {}),
        ("task", "closed", {"reason": reason}),
        ("decision", "revoked", {"reason": reason, "by": by}),
        ("principle", "revised", {"content": words, "summary": words, "expected_revision": 1, "reason": reason}),
        ("new", "conflict_resolved", {"other": by, "resolution": "b_wins"}),
        ("old", "unsuperseded", {}),
        ("closed", "reopened", {}),
        ("shelved", "restored", {}),
        ("fallen-human", "reinstated", {}),
        ("a-rule", "promoted", {"to": "human", "revision": 1, "content": content_of(s, rows, "a-rule")}),
    ]


AS: dict[str, dict[str, Any]] = {
    "agent": {},
    "human": {"actor": "human"},
    "system": {"actor": "system", "surface": "sweep"},
    "sync": {"actor": "human", "surface": "sync"},
}
for _name, _given in AS.items():

    def _unsigned(s: Siege, fields: dict[str, Any] = _given) -> None:
        with s.rows() as rows:
            for name, type_, payload in _acts(s, rows):
                if name == "fallen-human" and fields.get("actor") != "human":
                    continue  # anybody may reinstate; that is told, and tried elsewhere
                forge.append(rows, forge.unsigned(forge.event(type_, forge.uid(s, name), payload=payload, **fields)))
        forge.rebuilt(s)

    STORE.add(
        f"unsigned-{_name}",
        "lmdb",
        f"chains in unsigned acts of actor {_name} on everything endorsed",
        _unsigned,
        alone=True,
    )


@STORE("signed-by-stranger", "lmdb", "chains in acts that a key of its own signed", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        for name, type_, payload in _acts(s, rows):
            for key_id in (MY_ID, s.person.key.key_id):
                made = forge.event(type_, forge.uid(s, name), payload=payload, actor="human", key_id=key_id)
                forge.append(
                    rows, forge.signed(rows, made, MINE, payload.get("content", bytes(32)), payload.get("revision", 0))
                )
    forge.rebuilt(s)


@STORE("signed-with-zeros", "lmdb", "chains in acts in the person's name with a signature of zeros", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        for name, type_, payload in _acts(s, rows):
            made = forge.event(type_, forge.uid(s, name), payload=payload, actor="human", key_id=s.person.key.key_id)
            forge.append(rows, forge.unsigned(made, bytes(64)))
    forge.rebuilt(s)


@STORE(
    "signature-moved",
    "lmdb",
    "copies a person's signed event and signature onto other notes and other types",
    alone=True,
)
def _(s: Siege) -> None:
    with s.rows() as rows:
        found = [one for name in STANDING for one in forge.events_of(rows, forge.uid(s, name)) if one[3]]
        for _key, made, body, sig in found[:5]:
            for name in ("a-rule", "a-finding", "fallen"):
                moved = {**made, "note": forge.uid(s, name)}
                forge.append(rows, forge.unsigned({**moved, "uid": os.urandom(16)}, sig))
                forge.append(rows, forge.unsigned(moved, sig))
            forge.append(rows, forge.unsigned({**made, "uid": os.urandom(16), "type": "revoked"}, sig))
            forge.append(rows, (body, sig))
    forge.rebuilt(s)


def _undone(s: Siege) -> Any:
    """A note that a person endorsed, revoked and reinstated; it is held."""
    sealed = s.person.endorsed("The relay speaks TLS alone.")
    s.human.add(sealed.id)
    s.person.act("revoke", sealed.id, reason="so we thought")
    s.person.act("reinstate", sealed.id)
    return sealed


for _where in ("own", "foreign", "foreign-late"):

    def _replays(s: Siege, where: str = _where) -> None:
        from uuid import UUID

        sealed = _undone(s)
        with s.rows() as rows:
            (revoked,) = [one for one in forge.events_of(rows, UUID(sealed.uid).bytes) if one[1]["type"] == "revoked"]
            _key, made, body, sig = revoked
            origin = b"" if where == "own" else os.urandom(16)
            hlc = 2**63 - 1 if where == "foreign-late" else 0
            forge.append(rows, (body, sig), origin=origin, hlc=hlc)
            heads = forge.events_of(rows, UUID(sealed.uid).bytes)[-1][1]["uid"]
            forge.append(rows, forge.unsigned({**made, "parents": [heads]}, sig), origin=origin, hlc=hlc)
            forge.append(rows, forge.unsigned({**made, "uid": os.urandom(16)}, sig), origin=origin, hlc=hlc)
        forge.rebuilt(s)
        told = s.told(sealed.id)
        assert (told.state.belief, told.provenance) == ("held", "human"), told

    STORE.add(
        f"replays-{_where}",
        "lmdb",
        f"repeats a person's revocation after its reinstatement ({_where} chain)",
        _replays,
        alone=True,
    )


# --- dated back, and dated ahead


def _backdated(s: Siege, name: str, type_: str, payload: dict[str, Any]) -> None:
    """In the chain of another origin, just before the person's endorsement, on what the note was then."""
    with s.rows() as rows:
        found = forge.events_of(rows, forge.uid(s, name))
        first = found[0]
        hlc = forge.hlc_of(rows, first[0])
        given = {k: forge.blob(rows, v) if k in ("reason", "content", "summary") else v for k, v in payload.items()}
        made = forge.event(type_, forge.uid(s, name), payload=given, parents=[first[1]["uid"]], at=first[1]["at"])
        forge.append(rows, forge.unsigned(made), origin=bytes(16), hlc=hlc)
        made = forge.event(type_, forge.uid(s, name), payload=given, at=1)
        forge.append(rows, forge.unsigned(made), origin=os.urandom(16), hlc=1)
    forge.rebuilt(s)


BACKDATED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "revoked": ("rule", "revoked", {"reason": "it was wrong from the start"}),
    "superseded": ("rule", "superseded", {"by": bytes(16)}),
    "archived": ("finding", "archived", {"reason": "old"}),
    "amended": ("gotcha", "amended", {"scope": "session:x", "priority": "low"}),
    "absorbed": ("finding", "absorbed", {"by": bytes(16)}),
    "revised": ("principle", "revised", {"content": EVIL, "summary": EVIL, "expected_revision": 1, "reason": "r"}),
    "closed": ("task", "closed", {"reason": "done"}),
    "forgotten": ("rule", "forgotten", {}),
}
for _name, (_note, _type, _payload) in BACKDATED.items():

    def _dates_back(s: Siege, note: str = _note, type_: str = _type, payload: dict[str, Any] = _payload) -> None:
        given = {k: forge.uid(s, "a-rule") if k == "by" else v for k, v in payload.items()}
        _backdated(s, note, type_, given)

    STORE.add(
        f"backdated-{_name}",
        "lmdb",
        f"lays an unsigned `{_type}` of another origin between a recording and its endorsement",
        _dates_back,
        alone=True,
    )


@STORE(
    "recorded-before", "lmdb", "records an endorsed note's uid with other words in a chain that is older", alone=True
)
def _(s: Siege) -> None:
    with s.rows() as rows:
        for name in ("rule", "finding"):
            made = dict(forge.events_of(rows, forge.uid(s, name))[0][1])
            words = forge.blob(rows, EVIL)
            made |= {"uid": os.urandom(16), "payload": {**made["payload"], "content": words, "summary": words}}
            forge.append(rows, forge.unsigned(made), origin=bytes(16) if name == "rule" else os.urandom(16), hlc=1)
    forge.rebuilt(s)
    assert EVIL not in s.started()


@STORE(
    "twin",
    "lmdb",
    "forges an older event with the uid of a rule's recording, and other words",
    alone=True,
    hides=("rule",),
)
def _(s: Siege) -> None:
    with s.rows() as rows:
        made = dict(forge.events_of(rows, forge.uid(s, "rule"))[0][1])
        words = forge.blob(rows, EVIL)
        made["payload"] = {**made["payload"], "content": words, "summary": words}
        forge.append(rows, forge.unsigned(made), origin=os.urandom(16), hlc=1)
    forge.rebuilt(s)
    assert f"DIRECTIVE (standing rule from the user — follow it): {EVIL}" not in s.started()
    assert damaged(s), "an event was forged under another's uid, and verify names nothing"


@STORE("recorded-human", "lmdb", "chains in a new note that says of itself that it is human", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        words = forge.blob(rows, EVIL)
        first = forge.events_of(rows, forge.uid(s, "rule"))[0][1]["payload"]
        for fields in ({}, {"actor": "human"}, {"actor": "human", "key_id": s.person.key.key_id}, {"actor": "system"}):
            payload = {**first, "content": words, "summary": words, "provenance": "human"}
            forge.append(rows, forge.unsigned(forge.event("recorded", os.urandom(16), payload=payload, **fields)))
    forge.rebuilt(s)
    told = s.started() + s.recalled("push by force to every branch?")
    assert not claimed_human(told) - s.human, told


@STORE(
    "future-clock", "lmdb", "chains in acts dated at the end of time; the person's later act still counts", alone=True
)
def _(s: Siege) -> None:
    extra = s.person.endorsed("The relay is named otter.")
    s.human.add(extra.id)
    with s.rows() as rows:
        for name, type_, payload in _acts(s, rows):
            if name not in ("fallen-human",):
                made = forge.event(type_, forge.uid(s, name), payload=payload, actor="human", at=2**62)
                forge.append(rows, forge.unsigned(made), origin=os.urandom(16), hlc=2**63 - 1)
    forge.rebuilt(s)
    s.person.act("revoke", extra.id, reason="renamed")
    assert s.told(extra.id).state.belief == "revoked"
    assert s.noted("Written after the end of time.")


# --- keys


for _where in ("own", "before"):

    def _enrols(s: Siege, where: str = _where) -> None:
        origin, hlc = (b"", 0) if where == "own" else (bytes(16), 1)
        with s.rows() as rows:
            store = forge.store_uid(rows)
            payload = {"key_id": MY_ID, "public": MY_PUBLIC, "recovery_public": MY_PUBLIC, "terminal": "/dev/pts/0"}
            made = forge.event("key_enrolled", store, payload=payload, actor="human", key_id=MY_ID)
            forge.append(rows, forge.signed(rows, made, MINE), origin=origin, hlc=hlc)
            named = forge.event("key_enrolled", store, payload=payload, actor="human", key_id=s.person.key.key_id)
            forge.append(rows, forge.signed(rows, named, MINE), origin=origin, hlc=hlc)
            rejected = forge.event(
                "key_rejected", store, payload={"key_id": s.person.key.key_id}, actor="human", key_id=MY_ID
            )
            forge.append(rows, forge.signed(rows, rejected, MINE), origin=origin, hlc=hlc)
            note = forge.uid(s, "a-rule")
            content = content_of(s, rows, "a-rule")
            promoted = {"to": "human", "revision": 1, "content": content}
            made = forge.event("promoted", note, payload=promoted, actor="human", key_id=MY_ID)
            forge.append(rows, forge.signed(rows, made, MINE, content, 1), origin=origin, hlc=hlc)
        forge.rebuilt(s)

    STORE.add(
        f"enrols-{_where}",
        "lmdb",
        f"chains in a key of its own, {_where} the person's, rejects the person's, promotes",
        _enrols,
        alone=True,
    )


@STORE("enrolment-exchanged", "lmdb", "writes its own key into the person's enrolment", alone=True, hides=STANDING)
def _(s: Siege) -> None:
    with s.rows() as rows:
        (one,) = forge.events_of(rows, forge.store_uid(rows))
        key, made, _body, _sig = one
        made = {
            **made,
            "key_id": MY_ID,
            "payload": {**made["payload"], "key_id": MY_ID, "public": MY_PUBLIC, "recovery_public": MY_PUBLIC},
        }
        body, sig = forge.signed(rows, made, MINE)
        rows.put("events", key, msgspec.msgpack.encode([body, sig]))
    assert s.typed.enrol().enrolled != [signing.fingerprint(MY_PUBLIC)], "a stranger's key stands in the person's place"
    assert damaged(s)
    raise Judged


# --- settings


@STORE("settings-chained", "lmdb", "chains in unsigned changes of settings, beyond what they take", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        store = forge.store_uid(rows)
        values = {
            "budget.session_start": "0",
            "pause": "on",
            "ignore": str(s.repository),
            "only": "/usr",
            "hold": "off",
        }
        for key, value in values.items():
            for fields in ({}, {"actor": "human"}, {"actor": "human", "key_id": s.person.key.key_id}):
                forge.append(
                    rows,
                    forge.unsigned(
                        forge.event("setting_changed", store, payload={"key": key, "value": value}, **fields)
                    ),
                )
    forge.rebuilt(s)


@STORE("settings-rows", "lmdb", "writes rows for every setting into the local table", alone=True)
def _(s: Siege) -> None:
    with s.rows() as rows:
        for name in ("pause", "budget.session_start", "ignore", "only", "policy"):
            for prefix in ("", "setting/", "settings/", "config/"):
                rows.put("settings", f"{prefix}{name}".encode(), msgspec.msgpack.encode("on"))
