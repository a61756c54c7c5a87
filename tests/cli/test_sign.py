"""What the client demands of a plan before it shows it: a daemon that lies about what will be signed gets no signature."""

import hashlib
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client import api, signing
from memd_client.cli import screen, sign
from memd_client.cli.plan import Named, Read, shown
from memd_client.cli.sign import Asked, PlanDiffers, checked

NOTE, NEWER, OTHER = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
SALT, STORE, KEY = bytes(range(16)), bytes(16), bytes([7] * 16)
CONTENT = "Deploy on Tuesdays."


def digest_of(content: str, salt: bytes = SALT) -> bytes:
    return hashlib.sha256(b"memd/blob/1" + salt + content.encode()).digest()


def body_of(**changes: Any) -> bytes:
    """An event's bytes as the daemon stores them, for the promotion of NOTE unless changed."""
    payload = {"to": "human", "revision": 2, "content": digest_of(CONTENT), **changes.pop("payload", {})}
    fields = {
        "uid": OTHER.bytes,
        "note": NOTE.bytes,
        "type": "promoted",
        "at": 1,
        "actor": "agent",
        "surface": "cli",
        "key_id": KEY,
        "payload": payload,
        **changes,
    }
    return msgspec.msgpack.encode(fields)


def event_of(**changes: Any) -> api.PlanEvent:
    fields = {
        "body": body_of(),
        "content": CONTENT,
        "content_salt": SALT,
        "content_digest": digest_of(CONTENT),
        "revision": 2,
        "act": "promote",
        "id": 47,
        "change": "agent -> human",
        "kind": "directive",
        "scope": "global",
        "priority": "high",
    }
    return api.PlanEvent(**{**fields, **changes})


def plan_of(*events: api.PlanEvent, key_id: bytes = KEY) -> api.Plan:
    return api.Plan(token=b"t", store=STORE, events=list(events), key_id=key_id)


ASKED = Asked(act="promote", id=47, uid=str(NOTE))


def read(event: api.PlanEvent) -> Read:
    """An event with its bytes read, as it passed."""
    body = msgspec.msgpack.decode(event.body)
    return Read(event, body["type"], body["note"], body["key_id"], body["payload"])


def plain(act: str, type_: str, note: uuid.UUID = NOTE, id_: int = 47, **payload: Any) -> api.PlanEvent:
    """An event that carries only ``payload``."""
    body = msgspec.msgpack.decode(body_of(type=type_, note=note.bytes))
    return event_of(act=act, id=id_, body=msgspec.msgpack.encode({**body, "payload": payload}))


def test_a_plan_that_is_what_was_asked_for_passes() -> None:
    """And is given as it came."""
    event = event_of()
    assert [one.event for one in checked(plan_of(event), ASKED)] == [event]


@pytest.mark.parametrize(
    ("plan", "what"),
    [
        (plan_of(), "0 events"),
        (plan_of(event_of(), event_of()), "2 events"),
        (plan_of(event_of(content="Deploy on Fridays.")), "another content"),
        (plan_of(event_of(content_salt=bytes(16))), "another content"),
        (
            plan_of(event_of(content="Deploy on Fridays.", content_digest=digest_of("Deploy on Fridays."))),
            "another content",
        ),
        (plan_of(event_of(id=48)), "another note"),
        (plan_of(event_of(body=body_of(note=OTHER.bytes))), "another note"),
        (plan_of(event_of(act="revoke")), "another act"),
        (plan_of(event_of(body=body_of(type="revoked"))), "another act"),
        (plan_of(event_of(body=body_of(type="key_enrolled"))), "another act"),
        (plan_of(event_of(body=body_of(payload={"to": "system"}))), "another class"),
        (plan_of(event_of(body=body_of(payload={"content": digest_of("Other.")}))), "another content"),
        (plan_of(event_of(body=body_of(payload={"revision": 3}))), "another revision"),
        (plan_of(event_of(revision=3)), "another revision"),
        (plan_of(event_of(body=body_of(key_id=bytes(16)))), "another key"),
        (plan_of(event_of(), key_id=bytes([9] * 16)), "another key"),
        (plan_of(event_of(body=b"\xc1 no msgpack")), "cannot be read"),
        (plan_of(event_of(body=msgspec.msgpack.encode([1, 2]))), "cannot be read"),
    ],
)
def test_a_plan_that_differs_is_not_shown(plan: api.Plan, what: str) -> None:
    """Each part in which the daemon could say one thing and have another signed."""
    with pytest.raises(PlanDiffers, match=what):
        checked(plan, ASKED)


@pytest.mark.parametrize("by", [str(NEWER), str(OTHER)])
def test_a_supersession_names_the_newer_note(by: str) -> None:
    """The newer note in the event is the one that was asked for."""
    body = body_of(type="superseded", payload={"by": NEWER.bytes})
    plan = plan_of(event_of(act="supersede", body=body))
    asked = Asked(act="supersede", id=47, uid=str(NOTE), by=by)
    if by == str(NEWER):
        assert checked(plan, asked)
        return
    with pytest.raises(PlanDiffers, match="another newer note"):
        checked(plan, asked)


def test_a_reason_is_the_one_that_its_digest_names() -> None:
    """What is shown as the reason is what the signature covers; none may be added and none left out."""
    salt = bytes([9] * 16)
    body = body_of(type="revoked", payload={"reason": digest_of("we moved on", salt)})
    asked = Asked(act="revoke", id=47, uid=str(NOTE), reason="we moved on")
    fair = event_of(act="revoke", body=body, reason="we moved on", reason_salt=salt)
    assert [one.event for one in checked(plan_of(fair), asked)] == [fair]
    for changes in ({"reason": "we were wrong"}, {"reason": ""}, {"reason_salt": bytes(16)}):
        event = event_of(**{"act": "revoke", "body": body, "reason": "we moved on", "reason_salt": salt, **changes})
        with pytest.raises(PlanDiffers, match="reason"):
            checked(plan_of(event), asked)
    with pytest.raises(PlanDiffers, match="reason"):
        checked(plan_of(fair), Asked(act="revoke", id=47, uid=str(NOTE)))


@given(st.text(min_size=1))
def test_the_whole_content_is_shown_with_nothing_hidden(content: str) -> None:
    """Every visible character of it, every line behind its bar, nothing that could move a cursor."""
    lines = sign.shown([read(event_of(content=content))], ASKED)
    shown = lines[lines.index("  content") + 1 :]
    assert all(line.startswith("  │ ") for line in shown)
    assert [line.removeprefix("  │ ") for line in shown] == screen.safe(content).split("\n")


def test_what_is_shown_names_every_part() -> None:
    """Act, id, uid, change, kind, scope, priority, revision, reason and the newer note."""
    asked = Asked(
        act="supersede", id=47, uid=str(NOTE), by=str(NEWER), others={str(NEWER): Named(id=52, words="newer")}
    )
    event = plain("supersede", "superseded", by=NEWER.bytes)
    event = msgspec.structs.replace(event, reason="because\x1b[8m", change="current -> superseded")
    text = "\n".join(sign.shown([read(event)], asked))
    for part in (
        "[47]",
        str(NOTE),
        "current -> superseded",
        "directive",
        "global",
        "high",
        "2",
        "[52] newer",
        str(NEWER),
    ):
        assert part in text
    assert "because\\u{1b}[8m" in text


CONFLICT = Asked(
    act="resolve",
    id=47,
    uid=str(NOTE),
    by=str(OTHER),
    resolution="a_wins",
    others={str(OTHER): Named(id=52, words="the other")},
)
REVISION = Asked(
    act="revise", id=47, uid=str(NOTE), folded=(str(OTHER),), others={str(OTHER): Named(id=52, words="atom")}
)


@pytest.mark.parametrize(
    ("asked", "events"),
    [
        (Asked(act="archive", id=47, uid=str(NOTE)), [plain("archive", "archived")]),
        (Asked(act="release", id=47, uid=str(NOTE)), [plain("release", "released", by=OTHER.bytes)]),
        (Asked(act="review", id=47, uid=str(NOTE)), [plain("review", "reviewed", causes=[OTHER.bytes])]),
        (Asked(act="amend", id=47, uid=str(NOTE), options=("priority",)), [plain("amend", "amended", priority="low")]),
        (CONFLICT, [plain("resolve", "conflict_resolved", other=OTHER.bytes, resolution="a_wins")]),
        (
            CONFLICT,
            [
                plain("resolve", "conflict_resolved", OTHER, 52, other=NOTE.bytes, resolution="b_wins"),
                plain("resolve", "revoked", OTHER, 52, by=NOTE.bytes),
            ],
        ),
        (
            REVISION,
            [
                event_of(act="revise"),
                plain("revise", "absorbed", OTHER, 52, by=NOTE.bytes),
            ],
        ),
    ],
)
def test_a_plan_of_each_act_passes(asked: Asked, events: list[api.PlanEvent]) -> None:
    """One event or several, each shown with its own note."""
    seen = checked(plan_of(*events), asked)
    assert [one.event for one in seen] == events
    text = "\n".join(sign.shown(seen, asked))
    assert all(f"[{event.id}]" in text for event in events)


@pytest.mark.parametrize(
    ("asked", "event", "what"),
    [
        (CONFLICT, plain("resolve", "conflict_resolved", other=OTHER.bytes, resolution="b_wins"), "another outcome"),
        (CONFLICT, plain("resolve", "conflict_resolved", other=NEWER.bytes, resolution="a_wins"), "another outcome"),
        (CONFLICT, plain("resolve", "revoked", by=OTHER.bytes), "another note"),
        (Asked(act="revoke", id=47, uid=str(NOTE)), plain("revoke", "revoked", by=OTHER.bytes), "another newer note"),
        (
            Asked(act="archive", id=47, uid=str(NOTE)),
            plain("archive", "archived", by=OTHER.bytes),
            "another newer note",
        ),
        (CONFLICT, plain("resolve", "absorbed", OTHER, 52, by=NOTE.bytes), "another act"),
        (REVISION, plain("revise", "absorbed", NEWER, 52, by=NOTE.bytes), "another note"),
        (REVISION, plain("revise", "absorbed", OTHER, 53, by=NOTE.bytes), "another note"),
        (REVISION, plain("revise", "absorbed", OTHER, 52, by=NEWER.bytes), "another newer note"),
        (REVISION, plain("revise", "revoked"), "another act"),
        (
            Asked(act="amend", id=47, uid=str(NOTE), options=("tag",)),
            plain("amend", "amended", scope="global"),
            "another change",
        ),
        (
            Asked(act="amend", id=47, uid=str(NOTE), options=("priority",)),
            plain("amend", "amended", priority="low", tags=[]),
            "another change",
        ),
    ],
)
def test_a_plan_does_nothing_beside_what_was_asked(asked: Asked, event: api.PlanEvent, what: str) -> None:
    """No other outcome, note, act or field than the person named."""
    with pytest.raises(PlanDiffers, match=what):
        checked(plan_of(event), asked)


def test_what_is_signed_is_told_in_words() -> None:
    """The repository by where it is, escaped, beside its uid; how a conflict ends as it is for the note of the event."""
    plain_one = plain("resolve", "conflict_resolved", other=OTHER.bytes, resolution="b_wins")
    event = msgspec.structs.replace(plain_one, scope="repo:01a2", scope_name="/home/anna/\x1b[31mshop")
    lines = shown([read(event)], CONFLICT)
    assert "  scope    repo:01a2 (/home/anna/\\u{1b}[31mshop)" in lines
    assert "  outcome  the other one holds, this note is revoked" in lines


@pytest.mark.parametrize("ref", ["47", "[47]", " 47 ", str(NOTE), str(NOTE).upper(), "a-slug"])
def test_a_plan_is_about_the_note_that_was_named(ref: str) -> None:
    """By number or by uid; what a slug means only the daemon knows."""
    sign.hold_to(ref, 47, str(NOTE))
    if ref != "a-slug":
        with pytest.raises(PlanDiffers, match=r"another note, \[48\]"):
            sign.hold_to(ref, 48, str(OTHER))


def test_a_key_file_is_the_one_that_its_name_says(tmp_path: Path) -> None:
    """Another's in its place is refused before any passphrase is asked."""
    mine, other = (signing.create_key(b"eight or more", n=signing.SCRYPT_N_MIN) for _ in range(2))
    signing.write_key(signing.key_path(tmp_path, mine.key_id), mine)
    assert sign.load(tmp_path, mine.key_id) == mine
    signing.write_key(signing.key_path(tmp_path, other.key_id), mine)
    with pytest.raises(signing.KeyDamaged, match="another key"):
        sign.load(tmp_path, other.key_id)


def test_the_signature_covers_the_very_bytes() -> None:
    """The digest is signing's, over the body, the content's digest and the revision of the plan."""
    event = event_of()
    (digest,) = sign.digests(plan_of(event))
    assert digest == signing.signed_digest(STORE, event.body, event.content_digest, 2)


def test_keys_are_the_files_of_the_home(tmp_path: Path) -> None:
    """None where there is no folder."""
    assert sign.keys(tmp_path) == []
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "ab.json").write_text("{}")
    (tmp_path / "keys" / ".draft").write_text("")
    assert [path.name for path in sign.keys(tmp_path)] == ["ab.json"]
