"""The format of the log is for ever: its bytes, its digests, its vocabulary, and how old payloads are read."""

import hashlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon.model import event as ev
from memd_daemon.model import fold, ids, proof
from tests.daemon.lives import payload_for, states
from tests.store.making import digest_of, event, recorded

UID = b"U" * 16


def test_the_digests_are_what_the_format_says() -> None:
    """Framed, tagged and big-endian; computed here a second time, by hand."""
    body, sig, head = b"body", b"sig", b"head"
    by_hand = hashlib.sha256(b"memd/event/1" + (4).to_bytes(4, "big") + body + sig).digest()
    assert ev.event_digest(body, sig) == by_hand
    assert ev.commit_digest(head, [by_hand] * 2) == hashlib.sha256(b"memd/commit/1\0\0\0\4head" + by_hand * 2).digest()
    assert ev.blob_digest(b"s" * 16, b"text") == hashlib.sha256(b"memd/blob/1" + b"s" * 16 + b"text").digest()


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_body_and_signature_cannot_be_shifted(body: bytes, sig: bytes) -> None:
    """The length in the frame keeps a byte of the signature from passing for one of the body."""
    if sig:
        assert ev.event_digest(body, sig) != ev.event_digest(body + sig[:1], sig[1:])


def test_an_event_keeps_its_bytes() -> None:
    """A golden body: whoever changes it changes the format of every store there is."""
    made = ev.Event(
        uid=UID, note=b"N" * 16, type="revoked", at=1_772_000_000_000, actor="agent", surface="mcp",
        parents=(b"P" * 16,), payload=ev.make_payload(ev.Reasoned(by=b"B" * 16)),
    )  # fmt: skip
    body = ev.encode_event(made)
    assert hashlib.sha256(body).hexdigest() == "95e5e585ae48a1579383eb225a9ea2113d940c5b883e4cd57ef597979a9ac33b"
    assert ev.decode_event(body) == made


def test_every_type_has_a_payload_a_version_and_a_fate() -> None:
    """Types are stable strings; each that concerns a note has a transition, and local ones never stand in a commit."""
    assert set(ev.PAYLOADS) == set(ev.VERSIONS)
    about_the_store = {"key_enrolled", "key_rejected", "setting_changed"}
    assert set(fold.TRANSITIONS) == set(ev.PAYLOADS) - about_the_store
    assert set(ev.LOCAL_TYPES).isdisjoint(ev.PAYLOADS)
    assert set(proof.PERSON_ONLY) <= set(fold.TRANSITIONS)


@pytest.mark.parametrize("type_", sorted(fold.TRANSITIONS))
def test_payloads_come_back_as_they_went(type_: str) -> None:
    """Encoded, stored, decoded: the same value."""
    payload = payload_for(type_, states()["agent"].now)
    assert ev.payload_of(event(type_, UID, payload)) == payload


@pytest.mark.parametrize(
    ("made", "known"),
    [
        (event("levitated", UID), False),
        (event("delivered", UID), False),
        (event("revoked", UID, v=2), False),
        (event("revoked", UID, v=0), False),
        (event("revoked", UID, v=-1), False),
        (event("revoked", UID), True),
    ],
)
def test_what_is_not_known_is_none(made: ev.Event, known: bool) -> None:
    """A type or a version of a newer memd is kept and says nothing."""
    assert (ev.payload_of(made) is not None) is known


@pytest.mark.parametrize("payload", [b"\xc0", b"\x81\xa6reason\x01", b"\x93\1\2\3", b"\x81"])
def test_a_payload_that_does_not_fit_is_an_error(payload: bytes) -> None:
    """Never a value with other types in its fields."""
    with pytest.raises((msgspec.ValidationError, msgspec.DecodeError)):
        ev.payload_of(event("revoked", UID, payload=msgspec.Raw(payload)))


def test_old_payloads_are_read_one_version_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1 goes through every step to version 3; a newer one goes through the rest alone."""
    steps: list[int] = []

    def step(to: int) -> ev.Upcaster:
        def upcaster(payload: dict[str, Any]) -> dict[str, Any]:
            steps.append(to)
            return payload | {"value": f"{payload['value']}>{to}"}

        return upcaster

    monkeypatch.setitem(ev.VERSIONS, "setting_changed", 3)
    monkeypatch.setitem(ev.UPCASTERS, ("setting_changed", 1), step(2))
    monkeypatch.setitem(ev.UPCASTERS, ("setting_changed", 2), step(3))
    for version, value, taken in ((1, "x>2>3", [2, 3]), (2, "x>3", [3]), (3, "x", [])):
        steps.clear()
        made = event("setting_changed", UID, ev.SettingChanged(key="k", value="x"), v=version)
        assert ev.payload_of(made) == ev.SettingChanged(key="k", value=value)
        assert steps == taken


def test_an_old_payload_that_its_step_cannot_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken old bytes do not break the fold: they raise what broken new ones raise."""
    monkeypatch.setitem(ev.VERSIONS, "setting_changed", 2)
    monkeypatch.setitem(ev.UPCASTERS, ("setting_changed", 1), lambda payload: {"key": payload["gone"]})
    for payload in (ev.Nothing(), ev.SettingChanged(key="k", value="v")):
        with pytest.raises(msgspec.ValidationError):
            ev.payload_of(event("setting_changed", UID, payload, v=1))


def test_every_step_between_versions_is_there() -> None:
    """No stored version is without a way to the newest."""
    for type_, newest in ev.VERSIONS.items():
        assert all((type_, version) in ev.UPCASTERS for version in range(1, newest))


def test_the_texts_of_a_payload_are_all_named() -> None:
    """Whatever field of any payload holds a blob is found, so that forgetting takes it and verifying looks for it."""
    blobs = {"content", "summary", "reason"}
    for shape in ev.PAYLOADS.values():
        fields = {f.name for f in msgspec.structs.fields(shape)}
        named = {f.name: digest_of(f.name) for f in msgspec.structs.fields(shape) if f.name in blobs}
        if "evidence" in fields:
            continue
        required = {f.name: _any(f.type) for f in msgspec.structs.fields(shape) if f.required and f.name not in named}
        assert sorted(ev.texts_of(shape(**named, **required))) == sorted(named.values())
    bound = ev.Evidence(turn=1, turn_uid=UID, excerpt=digest_of("e"), start=0, end=1, attestation="typed")
    assert ev.texts_of(ev.EvidenceBound(evidence=(bound,))) == [digest_of("e")]
    assert set(ev.texts_of(recorded(evidence=(bound,)))) == {digest_of(w) for w in ("content", "summary", "e")}


def _any(type_: object) -> object:
    return {bytes: b"", str: "", int: 0}.get(type_, ())  # type: ignore[call-overload]  # unknown ones are tuples


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_uids_are_version_seven(unix_ms: int, chance: bytes) -> None:
    """48 bits of time in front, so that they sort by it; version and variant in their places; text and back."""
    uid = ids.uuid7(unix_ms, chance)
    text = ids.uid_text(uid)
    assert int.from_bytes(uid[:6], "big") == unix_ms
    assert (text[14], text[19] in "89ab") == ("7", True)
    assert ids.uid_from_text(text) == uid


@given(st.lists(st.integers(0, 2**47), min_size=1, max_size=30))
def test_hybrid_time_never_goes_back(walls: list[int]) -> None:
    """Whatever the wall clock does, and it is never behind the wall."""
    last = 0
    for wall in walls:
        following = ids.hybrid_next(last, wall)
        assert following > last
        assert ids.hybrid_ms(following) >= wall
        last = following
