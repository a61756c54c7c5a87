"""A plan about keys is checked before it is signed; and a key whose enrolment may stand is never thrown away."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from memd_client import api, signing, terminal
from memd_client.cli import enrolling, keyplan
from memd_client.cli.keyplan import KeyAct
from memd_client.cli.sign import PlanDiffers
from memd_client.memd import MemdError, Refused, Unreachable
from tests.store.making import ANNA, BERT, MALLORY, RECOVERY

STORE = b"S" * 16
ACT = KeyAct(public=BERT.public, recovery_public=RECOVERY.public, where="pts/1", rejects=(ANNA.key_id,))


def body_of(type_: str, payload: dict[str, Any], **changes: Any) -> bytes:
    fields = {"note": STORE, "type": type_, "actor": "human", "key_id": RECOVERY.key_id, "payload": payload}
    return msgspec.msgpack.encode({**fields, **changes})


def enrolled(**changes: Any) -> bytes:
    payload = {"key_id": BERT.key_id, "public": BERT.public, "recovery_public": RECOVERY.public, "terminal": "pts/1"}
    return body_of("key_enrolled", {**payload, **changes.pop("payload", {})}, **changes)


def rejected(**changes: Any) -> bytes:
    payload = {"key_id": ANNA.key_id, "seen": [[b"O" * 16, 4]], **changes.pop("payload", {})}
    return body_of("key_rejected", payload, **changes)


def plan_of(*bodies: bytes, digest: bytes = signing.NO_CONTENT, revision: int = 0) -> api.Plan:
    words = {"act": "enrol", "id": 0, "change": "", "kind": "", "scope": "", "priority": ""}
    events = [
        api.PlanEvent(body=b, content="", content_salt=b"", content_digest=digest, revision=revision, **words)
        for b in bodies
    ]
    return api.Plan(token=b"t", store=STORE, events=events, key_id=RECOVERY.key_id)


def test_a_plan_that_is_what_was_asked_for_gives_what_is_signed() -> None:
    """One digest for each event, in their order."""
    plan = plan_of(enrolled(), rejected())
    wanted = [signing.signed_digest(STORE, body, signing.NO_CONTENT, 0) for body in (enrolled(), rejected())]
    assert keyplan.checked(plan, ACT, RECOVERY.public) == wanted


@pytest.mark.parametrize(
    "plan",
    [
        plan_of(),
        plan_of(enrolled()),
        plan_of(rejected(), enrolled()),
        plan_of(enrolled(), rejected(), rejected(payload={"key_id": MALLORY.key_id})),
        plan_of(enrolled(payload={"public": MALLORY.public}), rejected()),
        plan_of(enrolled(payload={"key_id": MALLORY.key_id}), rejected()),
        plan_of(enrolled(payload={"recovery_public": MALLORY.public}), rejected()),
        plan_of(enrolled(note=b"X" * 16), rejected()),
        plan_of(enrolled(key_id=ANNA.key_id), rejected()),
        plan_of(enrolled(), rejected(payload={"key_id": BERT.key_id})),
        plan_of(enrolled(), rejected(type="forgotten")),
        plan_of(enrolled(), b"\xc1 no msgpack"),
        plan_of(enrolled(), rejected(), digest=b"d" * 32),
        plan_of(enrolled(), rejected(), revision=1),
    ],
)
def test_a_plan_that_differs_is_not_signed(plan: api.Plan) -> None:
    """Fewer events, more, in another order, about another key, store, code or note, under another name."""
    with pytest.raises(PlanDiffers):
        keyplan.checked(plan, ACT, RECOVERY.public)


KEY = signing.create_key(b"correct horse battery", n=1 << 10)
LOST = Unreachable("silent", "The daemon did not answer in time.")


def outcome(path: Path, failure: BaseException, then: list[str] | MemdError, is_shown: bool = True) -> None:
    """What becomes of a key whose enrolment failed like that, where the daemon then says which keys stand."""

    def enrol() -> object:
        if isinstance(then, MemdError):
            raise then
        return SimpleNamespace(enrolled=then)

    def sign() -> None:
        raise failure

    path.write_text("{}")
    paper = enrolling.Paper(())
    paper.is_shown = is_shown
    memd: Any = SimpleNamespace(enrol=enrol)  # all that is asked of it
    with enrolling._undone(path, paper):
        enrolling.signed(memd, sign, KEY, paper)


def test_a_key_whose_answer_was_lost_is_kept_where_it_stands(tmp_path: Path) -> None:
    """The daemon says so; or cannot say, and then that is told."""
    path = tmp_path / "key.json"
    outcome(path, LOST, [signing.fingerprint(KEY.public)])
    assert path.exists()
    outcome(path, KeyboardInterrupt(), [signing.fingerprint(KEY.public)])
    assert path.exists()
    with pytest.raises(enrolling.Unknown, match="keep its code"):
        outcome(path, LOST, LOST)
    assert path.exists()


@pytest.mark.parametrize("is_shown", [True, False])
@pytest.mark.parametrize("failure", [LOST, KeyboardInterrupt(), Refused("not-signed", "no"), signing.WrongPassphrase()])
def test_a_key_that_nobody_enrolled_is_gone(
    tmp_path: Path, failure: BaseException, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is taken away, and what stopped it is said; a code that was shown is said to be void."""
    path = tmp_path / "key.json"
    told: list[object] = []
    monkeypatch.setattr(terminal, "show_lines", told.append)
    with pytest.raises(type(failure)):
        outcome(path, failure, [], is_shown)
    assert not path.exists()
    assert told == [enrolling.CODE_VOID] * is_shown


def test_what_was_not_sealed_was_not_enrolled_whoever_cannot_be_asked(tmp_path: Path) -> None:
    """The code is shown before the seal, so without it there is nothing to keep."""
    path = tmp_path / "key.json"
    with pytest.raises(Unreachable):
        outcome(path, LOST, LOST, is_shown=False)
    assert not path.exists()


def test_nothing_is_sealed_where_the_code_could_not_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the signature and the seal."""
    done: list[str] = []

    def enrol(*_: object, **__: object) -> object:
        return SimpleNamespace(plan=plan_of(enrolled(), rejected()))

    def gone(_: object) -> None:
        done.append("shown")
        raise terminal.NoTerminal

    memd: Any = SimpleNamespace(enrol=enrol, seal=lambda *_: done.append("sealed"))
    code = SimpleNamespace(public=RECOVERY.public, sign=lambda _: done.append("signed"))
    monkeypatch.setattr(terminal, "ask_recovery", lambda *_: code)
    monkeypatch.setattr(terminal, "show_lines", gone)
    with pytest.raises(terminal.NoTerminal):
        keyplan.sign_with_code(memd, ACT, [], [], enrolling.Paper(()).show)
    assert done == ["signed", "signed", "shown"]
