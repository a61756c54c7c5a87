"""What tests of the user's own words share: something is said in a session, and is then known to have been typed."""

from memd_client import api
from memd_daemon.model import event as ev
from memd_daemon.model.turn import Raised
from memd_daemon.model.words import Surface
from memd_daemon.service.asker import system
from memd_daemon.store.port import Txn
from memd_hooks.harness.sessions import SESSION_NAMES
from tests.service.desk import Desk

ENV_OF = {SESSION_NAMES["claude"][0]: "s1"}
"""What a command of session s1 has in its environment."""

RULE = "Never commit to main without asking me first."
HEADLESS = "headless"


def said(desk: Desk, text: str, session: str = "s1", prompt_id: str = "", *, is_typed: bool = True) -> int:
    """The number of the turn in which it was said."""
    desk.prompt(text, session, prompt_id or f"p{desk.clock.ms}")
    desk.clock.ms += 1
    newest: api.TurnsReply = desk.ask(api.Turns(session=session, limit=1))
    number = newest.turns[0].turn
    if is_typed:
        typed(desk, number)
    return number


def typed(desk: Desk, number: int) -> None:
    """The client's transcript has agreed, as service/attest.py would keep it."""

    def keep(txn: Txn) -> None:
        turn = txn.turn(number)
        assert turn is not None
        txn.put_raised(number, Raised(turn=turn.uid, at=turn.at, transcript_bytes=0, settled=True))

    desk.daemon.parts.store.write(keep)


def withdrawn(desk: Desk, number: int) -> None:
    """The conversation has gone on from elsewhere."""

    def keep(txn: Txn) -> None:
        turn = txn.turn(number)
        assert turn is not None
        txn.put_raised(number, Raised(turn=turn.uid, at=turn.at, transcript_bytes=0, withdrawn=True))

    desk.daemon.parts.store.write(keep)


def evidence_forged(desk: Desk, id_: int, evidence: ev.Evidence, texts: list[tuple[bytes, str]]) -> None:
    """An event of evidence that nobody checked, as one from another store may be."""
    parts = desk.daemon.parts

    def add(txn: Txn) -> None:
        note = txn.note(txn.uid_of(id_) or b"")
        assert note is not None
        for salt, words in texts:
            txn.put_text(words, salt)
        draft = parts.draft(
            "evidence_bound", note.uid, ev.EvidenceBound(evidence=(evidence,)), asker=system(Surface.SYNC), after=note
        )
        txn.append([draft], at=parts.now_ms())

    parts.store.write(add)


def told(desk: Desk, id_: int) -> list[str]:
    """The note as recall gives it, without its header."""
    reply: api.ShowReply = desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo)))
    lines = reply.text.rstrip("\n").split("\n")
    return lines[1 : next(at for at, line in enumerate(lines) if line.startswith("  uid: "))]


def header(desk: Desk, id_: int) -> str:
    reply: api.ShowReply = desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo)))
    return reply.text.split("\n")[0]
