"""`memd why` of notes that no write makes: what an import can bring, and what a person has had forgotten."""

import pytest

from memd_client import api, signing
from memd_daemon.model import event as ev
from memd_daemon.model import trust
from memd_daemon.model.words import SourceType, Surface
from memd_daemon.rules import WHY
from memd_daemon.service.asker import system
from memd_daemon.store.port import Draft, Txn
from tests.service.bulk import Planted, plant
from tests.service.desk import Desk
from tests.service.test_people import PASSPHRASE, Person

RULE = "Always run the tests with the project's own virtual environment."
APP = (ev.Anchor(path="app.py", digest=bytes(32)),)
IMPORTED = [
    (Planted(kind="directive", content=RULE, scope="global"), "session-start", "everywhere"),
    (Planted(kind="gotcha", content=RULE, scope="global", anchors=APP), "read", "everywhere"),
    *[
        (Planted(kind="directive", content=RULE, source=source), "post-compaction", "second-hand")
        for source in (SourceType.DOCUMENT, SourceType.TOOL, SourceType.COMMIT)
    ],
]


def rule_of(desk: Desk, id_: int, moment: str) -> tuple[str, str]:
    (one,) = desk.ask(api.Why(ref=str(id_), cwd=str(desk.repo), at=(moment,))).foreseen
    return one.rule, one.says


@pytest.mark.parametrize(("note", "moment", "rule"), IMPORTED)
def test_a_rule_that_no_write_makes(desk: Desk, note: Planted, moment: str, rule: str) -> None:
    """It is kept back at the moment that would be its own, and `why` says so."""
    desk.start()
    (id_,) = plant(desk, [note])
    assert rule_of(desk, id_, moment) == (rule, WHY[rule])


def test_a_note_that_was_forgotten(desk: Desk) -> None:
    """Its number goes on answering, at its own moment by that rule; none of its words is left."""
    person = Person(desk)
    made = desk.remember(RULE, kind="directive")
    desk.start()
    forget(desk, person, made.id)
    reply = desk.ask(api.Why(ref=str(made.id), cwd=str(desk.repo), at=("session-start",)))
    assert [(one.rule, one.says) for one in reply.foreseen] == [("forgotten", WHY["forgotten"])]
    assert [row.told for row in reply.decided] == [True]
    assert RULE not in repr(reply)


def forget(desk: Desk, person: Person, id_: int) -> None:
    """As another machine's person did it, whose log came here."""
    parts = desk.daemon.parts

    def forgotten(txn: Txn) -> None:
        uid = txn.uid_of(id_) or b""
        note = txn.note(uid)
        asker = system(Surface.CLI)
        event = parts.event("forgotten", uid, ev.Nothing(), asker=asker, after=note, key_id=person.key.key_id)
        body = ev.encode_event(event)
        digest = signing.signed_digest(parts.store.info.store, body, *trust.what_is_signed(event, note))
        txn.append([Draft(body=body, sig=signing.sign(person.key, PASSPHRASE, digest))], at=parts.now_ms())

    parts.store.write(forgotten)
