"""memd as it was, or will be, with other versions of some events: what a test "deploys", in a process of its own.

The build of today is called version 3 of three event types here; `deploy` makes this process the build of version 1, 2 or 3.

    revoked    1  {because, by}     2  {why, by}        3  {reason, by}         (and every other type that carries these)
    recorded   1  tags as typed     2  tags as typed    3  tags in lower case
    amended    1  {weight}          2  {weight}         3  {priority}: heavy is high, light is low

    python -m tests.daemon.deployed VERSION write|look|more HOME REPO        prints one JSON object
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from memd_daemon.model import event as ev
from memd_daemon.store import keys

if TYPE_CHECKING:  # at run time what a build imports is imported behind `deploy`
    from tests.service.desk import Desk

WEIGHTS: Final = {"heavy": "high", "light": "low", "": ""}
NEWEST: Final = 3


class Because(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"reason": "because"}):
    reason: bytes = b""
    by: bytes = bytes(16)


class Why(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"reason": "why"}):
    reason: bytes = b""
    by: bytes = bytes(16)


class Weighed(ev.Amended, frozen=True, kw_only=True, omit_defaults=True):
    """What came before `priority`: a word that the older fold does not act on."""

    weight: str = ""


def deploy(version: int) -> None:
    """This process is the build of that version."""
    reasoned: type[msgspec.Struct] = {1: Because, 2: Why, NEWEST: ev.Reasoned}[version]
    carrying = [type_ for type_, shape in ev.PAYLOADS.items() if shape is ev.Reasoned]
    shapes: dict[str, type[msgspec.Struct]] = {type_: reasoned for type_ in carrying}  # noqa: C420 - typed
    shapes |= {"amended": ev.Amended if version == NEWEST else Weighed, "recorded": ev.Recorded}
    ev.Reasoned = reasoned  # type: ignore[misc,assignment]  # what the services of that build make and look for
    for type_, shape in shapes.items():
        ev.PAYLOADS[type_] = shape
        ev._payload_decoders[type_] = msgspec.msgpack.Decoder(shape)  # pyright: ignore
        ev.VERSIONS[type_] = version
    steps: dict[tuple[str, int], ev.Upcaster] = {
        **{(type_, 1): _renamed("because", "why") for type_ in carrying},
        **{(type_, 2): _renamed("why", "reason") for type_ in carrying},
        ("amended", 1): lambda p: p,
        ("amended", 2): lambda p: {"priority": WEIGHTS[p.get("weight", "")]},
        ("recorded", 1): lambda p: p,
        ("recorded", 2): lambda p: {**p, "tags": [tag.lower() for tag in p.get("tags", [])]},
    }
    ev.UPCASTERS.update({(type_, v): step for (type_, v), step in steps.items() if v < version})


def _renamed(old: str, new: str) -> ev.Upcaster:
    return lambda payload: {new if name == old else name: value for name, value in payload.items()}


def write(desk: "Desk", version: int) -> None:
    """A note that stands, one that was revoked, two that a person signed for (one revoked, one weighed)."""
    from tests.service.test_people import Person

    person = Person(desk)
    desk.remember("The queue drains in order.", tags=["Queue", "Order"])
    desk.remember("The cache is never written.", tags=["Cache"])
    _revoke(desk, 2, "it is, at midnight", version)
    for number, content in ((3, "Never push by force."), (4, "Tests run before a commit.")):
        desk.remember(content, tags=["Rule"])
        person.seal(desk.act("promote", number, to="human", sign=True).plan)
    person.seal(desk.act("revoke", 3, reason="it was forced once", sign=True).plan)
    desk.remember("Weigh this.", tags=["Weight"])
    _weigh(desk, 5, "heavy")


def _revoke(desk: "Desk", ref: int, reason: str, version: int) -> None:
    desk.act("revoke", ref, reason=reason)
    with desk.daemon.parts.store.read() as snapshot:
        uid = snapshot.uid_of(ref) or b""
        *_, last = snapshot.events_of(uid)
    assert (last.event.type, last.event.v) == ("revoked", version)


def _weigh(desk: "Desk", ref: int, weight: str) -> None:
    from memd_daemon.service.asker import system

    parts = desk.daemon.parts
    shape = ev.PAYLOADS["amended"]
    fields = {"weight": weight} if "weight" in shape.__struct_fields__ else {"priority": WEIGHTS[weight]}

    def work(txn: Any) -> None:
        uid = txn.uid_of(ref)
        payload = shape(**fields)
        txn.append(
            [parts.draft("amended", uid, payload, asker=system("sweep"), after=txn.note(uid))],  # type: ignore[arg-type]
            at=parts.now_ms(),
        )

    parts.store.write(work)


def more(desk: "Desk", version: int) -> None:
    """What this build writes to a store that another began."""
    desk.remember("Written later.", tags=["Later"])
    _revoke(desk, 6, "and taken back", version)
    desk.remember("Weigh this too.", tags=["Weight"])
    _weigh(desk, 7, "light")


def look(desk: "Desk") -> dict[str, Any]:
    """What this build makes of the store, after it has looked through it as it does behind each start."""
    from memd_daemon.store.check import verify

    before = told(desk)
    desk.daemon.watch.look()
    after = told(desk)
    store = desk.daemon.parts.store
    faults = [f"{fault.where} {fault.what}" for fault in verify(store)]
    store.rebuild()
    return {
        "at first": before,
        "notes": after,
        "rebuilt": told(desk),
        "faults": faults,
        "problems": [problem["what"] for problem in desk.daemon.parts.findings.told()],
        "log": log_of(desk),
    }


def told(desk: "Desk") -> dict[str, list[Any]]:
    """Each note: its words, tags, priority, class, whether it is held, why not, and whether its signatures verify."""
    with desk.daemon.parts.store.read() as snapshot:
        return {
            str(id_): [
                snapshot.text(note.shown.content),
                list(note.tags),
                note.priority,
                note.provenance,
                note.belief,
                [snapshot.text(one.reason) for one in note.revocations],
                all(one.signed for one in snapshot.events_of(note.uid) if one.sig),
            ]
            for id_, note in sorted(snapshot.notes())
        }


def log_of(desk: "Desk") -> dict[str, str]:
    """Each event and each commit, by its place, as a digest of its bytes."""
    with desk.daemon.parts.store.read() as snapshot:
        return {
            f"{table} {key.hex()}": hashlib.sha256(value).hexdigest()
            for table in (keys.COMMITS, keys.EVENTS, keys.BLOBS)
            for key, value in snapshot.kv.scan(table)  # type: ignore[attr-defined]
        }


def main(version: int, what: str, home: Path, repo: Path) -> dict[str, Any]:
    deploy(version)
    from tests.service.desk import Desk, make_repo

    if not repo.exists():
        make_repo(repo)
    desk = Desk(home, repo)
    try:
        if what != "look":
            {"write": write, "more": more}[what](desk, version)
        return look(desk)
    finally:
        desk.close()


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))))
