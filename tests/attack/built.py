"""The first world, with everything in it; its daemon is down when it is given, for copies to be made."""

import time

from tests.attack.planted import AGENTS, ENDORSED, FALLEN, FALLEN_HUMAN, REASON, SIGNED_REASON, Person, Planted
from tests.attack.siege import Siege
from tests.cli.world import PASSPHRASE, WAIT_S


def built() -> Siege:
    """The first one: its daemon is down when it is given, for copies to be made."""
    siege = Siege()
    answers = [("New passphrase: ", PASSPHRASE), ("again: ", PASSPHRASE)]
    code, shown = siege.at_terminal("human", "init", answers=answers)
    assert code == 0, shown
    siege.person = Person(siege)
    for name, (kind, content, asks, fields) in ENDORSED.items():
        if "level" in fields:
            fields = {**fields, "sources": [str(siege.notes["finding"].id), str(siege.notes["decision"].id)]}
        sealed = siege.person.endorsed(content, kind=kind, **fields)
        siege.notes[name] = Planted(sealed.id, sealed.uid, kind, content, asks)
        siege.human.add(sealed.id)
    for name, (kind, content, asks, fields) in AGENTS.items():
        made = siege.typed.remember(content, kind=kind, **fields)
        siege.notes[name] = Planted(made.id, made.uid, kind, content, asks)
    _plant_fallen(siege)
    siege.before = {name: siege.told(note.id) for name, note in siege.notes.items()}
    siege.recovery = siege.typed.enrol().recovery
    end = time.monotonic() + WAIT_S
    while siege.typed.status().index["waiting"]:  # so that no copy has to load the model for them
        assert time.monotonic() < end, "the notes are not embedded"
        time.sleep(0.05)
    siege.down()
    return siege


def _plant_fallen(siege: Siege) -> None:
    """A tombstone of an agent's, one that a person signed; an endorsed note that is superseded, a closed one, an archived one."""
    content, asks = FALLEN
    made = siege.typed.remember(content)
    siege.typed.act("revoke", str(made.id), reason=REASON)
    siege.notes["fallen"] = Planted(made.id, made.uid, "finding", content, asks)
    content, asks = FALLEN_HUMAN
    sealed = siege.person.endorsed(content)
    siege.person.act("revoke", sealed.id, reason=SIGNED_REASON)
    siege.notes["fallen-human"] = Planted(sealed.id, sealed.uid, "finding", content, asks)
    older = siege.person.endorsed("Deploys are started with make ship.", kind="directive")
    newer = siege.person.endorsed("Deploys are started from the pipeline alone.", kind="directive")
    siege.person.act("supersede", older.id, by=str(newer.id))
    siege.notes["old"] = Planted(older.id, older.uid, "directive", "Deploys are started with make ship.", "make ship?")
    siege.notes["new"] = Planted(
        newer.id,
        newer.uid,
        "directive",
        "Deploys are started from the pipeline alone.",
        "are deploys started from the pipeline alone?",
    )
    closed = siege.person.endorsed("Rotate the certificates of the mail relay.", kind="task", priority="high")
    siege.person.act("done", closed.id)
    siege.notes["closed"] = Planted(
        closed.id, closed.uid, "task", "Rotate the certificates of the mail relay.", "rotate certificates?"
    )
    shelved = siege.person.endorsed("The old billing service answered on port 7070.")
    siege.person.act("archive", shelved.id)
    siege.notes["shelved"] = Planted(
        shelved.id, shelved.uid, "finding", "The old billing service answered on port 7070.", "port of old billing?"
    )
    siege.human |= {sealed.id, older.id, newer.id, closed.id, shelved.id}
