"""What happens between a look and the write that goes by it: two calls at once, a plan that waits for a passphrase."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.model import event as ev
from memd_daemon.service.clients import PEER
from memd_daemon.service.standing import KnownSettings
from memd_daemon.store.memory_log import MemoryStore
from tests.service.desk import Desk, context_of
from tests.service.test_acts import endorsed, events, note
from tests.service.test_people import Person
from tests.store.making import NOON, STORE, Pen, commits_of

CLAIM = "The upload retries 3 times before it gives up."
ECHOES = (
    "Before it gives up, the upload retries 3 times.",
    "The upload gives up only after it retries 3 times before.",
)


@pytest.fixture
def person(desk: Desk) -> Person:
    return Person(desk)


def meanwhile(desk: Desk, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Lets something happen after a write was looked at and before it is written."""
    store = desk.daemon.parts.store
    write = store.write_beside

    def later(work: Any, beside: Any) -> Any:
        happens()
        return write(work, beside)

    monkeypatch.setattr(store, "write_beside", later)


def test_two_calls_at_once_of_one_session_are_one_voice(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a write counts is judged in the write itself: else whoever says it twice at once would count twice."""
    desk.start("s2")
    desk.start("s1")
    first = desk.remember(CLAIM, env={"CLAUDE_CODE_SESSION_ID": "s1"}).id
    both = threading.Barrier(len(ECHOES))
    meanwhile(desk, monkeypatch, lambda: both.wait(limits.WORDS_WAIT_S))
    told: list[str] = []

    def say(content: str) -> None:
        told.extend(desk.remember(content, same_as=str(first), env={"CLAUDE_CODE_SESSION_ID": "s2"}).told)

    threads = [threading.Thread(target=say, args=(content,)) for content in ECHOES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert events(desk, first).count("corroborated") == 1
    assert sum("count nothing" in line for line in told) == 1


def test_who_is_shown_the_note_meanwhile_is_an_echo(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is asked as it stands when it is written."""
    desk.start("s2")
    desk.start("s1")
    first = desk.remember(CLAIM, env={"CLAUDE_CODE_SESSION_ID": "s1"}).id
    own = {"CLAUDE_CODE_SESSION_ID": "s2"}
    meanwhile(desk, monkeypatch, lambda: desk.recall("how often does the upload retry", env=own))
    told = desk.remember(ECHOES[0], same_as=str(first), env=own).told
    assert any("was shown the note" in line for line in told)
    assert "corroborated" not in events(desk, first)


@pytest.mark.parametrize("how", ["revoked", "superseded"])
@pytest.mark.parametrize("steps", [1, 2])
def test_what_falls_while_a_note_is_written_that_builds_on_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, how: str, steps: int
) -> None:
    """Who takes an ancestor back can flag no note that is not there yet, so the new one comes with it; coming back clears it."""
    ancestor = source = desk.remember("The gateway listens on port 8080.").id
    newer = desk.remember("Everything listens on a socket.").id
    if steps > 1:
        source = desk.remember("Clients dial the gateway at its port.", derived_from=[str(ancestor)]).id
    acts = {
        "revoked": lambda: desk.act("revoke", ancestor, reason="measured"),
        "superseded": lambda: desk.act("supersede", ancestor, by=str(newer)),
    }
    with monkeypatch.context() as patch:
        meanwhile(desk, patch, acts[how])
        made = desk.remember("So a second gateway cannot start.", derived_from=[str(source)]).id
    text = desk.ask(api.Show(ref=str(made), cwd=str(desk.repo))).text
    assert f"WARNING: derived from [{ancestor}], {how} 2026-03-04: review before relying on it." in text
    back = "reinstate" if how == "revoked" else "unsupersede"
    desk.act(back, ancestor)
    assert "WARNING" not in desk.ask(api.Show(ref=str(made), cwd=str(desk.repo))).text
    assert desk.ask(api.Verify()).faults == []


def test_what_falls_while_a_plan_waits(desk: Desk, person: Person) -> None:
    """Minutes may lie between the plan and its signature."""
    source = desk.remember("The gateway listens on port 8080.").id
    made = desk.remember("So a second gateway cannot start.", derived_from=[str(source)], endorse=True)
    desk.act("revoke", source, reason="measured")
    id_ = person.seal(made.plan).id
    assert f"WARNING: derived from [{source}], revoked" in desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo))).text


def test_a_person_settles_no_proposal_that_came_while_the_passphrase_was_typed(desk: Desk, person: Person) -> None:
    """The act is done, since it was shown as it is; what nobody has seen stays in the queue and in the warning until it is."""
    rule = person.rule()
    plan = desk.act("amend", rule, priority="high", sign=True).plan
    desk.act("revoke", rule, reason="it has been wrong since May")
    person.seal(plan)
    assert note(desk, rule).priority == "high"
    assert desk.ask(api.Status()).queue["proposals"] == 1
    assert "WARNING: somebody at the command line proposed to revoke this" in context_of(desk.start())
    person.seal(desk.act("confirm", rule, sign=True).plan)
    assert desk.ask(api.Status()).queue["proposals"] == 0
    assert desk.ask(api.Verify()).faults == []


def test_who_asks_for_plans_without_end_takes_none_away_from_another(desk: Desk, person: Person) -> None:
    """The book has a bound, and it is the greediest process that loses by it."""
    id_ = endorsed(desk, person, "Deploys run on Tuesdays.")
    own = desk.act("amend", id_, priority="low", sign=True).plan
    token = PEER.set(4_242)
    try:
        greedy = [desk.act("amend", id_, priority="high", sign=True).plan for _ in range(limits.PLANS_WAITING_MAX + 2)]
    finally:
        PEER.reset(token)
    with pytest.raises(errors.BadSignature):
        person.seal(greedy[0])
    person.seal(own)
    assert note(desk, id_).priority == "low"


def test_settings_that_were_withheld_are_not_missed() -> None:
    """An event of a commit that was known before comes beside a commit of this store's own: the settings are folded anew."""
    elsewhere, here = (Pen(MemoryStore(store=STORE), NOON) for _ in range(2))
    elsewhere.act(STORE, "setting_changed", ev.SettingChanged(key="budget.prompt", value="0"))
    ((header, digests, rows),) = commits_of(elsewhere.store)
    here.store.write(lambda txn: txn.receive(header, digests, [None]))
    known = KnownSettings()
    with here.store.read() as snapshot:
        assert known.at(snapshot, STORE).is_default
    here.store.write(lambda txn: txn.receive(header, digests, rows))
    here.record()
    with here.store.read() as snapshot:
        assert known.at(snapshot, STORE).count("budget.prompt", NOON) == 0


def before_it_is_decided(desk: Desk, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Lets something happen once, when a hook's files have been looked at and it is about to wait for its turn."""
    deliverer = desk.daemon._deliverer
    decides = deliverer._answer_session

    def later(*words: Any) -> bytes:
        monkeypatch.setattr(deliverer, "_answer_session", decides)
        happens()
        return decides(*words)

    monkeypatch.setattr(deliverer, "_answer_session", later)


def test_a_hook_that_waited_tells_nothing_that_another_has_told_the_end_of(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls of one session at once: the first to come is the last to be decided, and the note was revoked in between."""
    note = desk.remember("add() overflows on 32 bit", kind="gotcha", anchors=["app.py"])
    assert "add() overflows" in context_of(desk.edit("app.py"))
    told: list[str] = []

    def revoked_and_told() -> None:
        desk.act("revoke", note.id, reason="it does not")
        told.append(context_of(desk.edit("app.py", prompt_id="p3")))

    before_it_is_decided(desk, monkeypatch, revoked_and_told)
    assert desk.edit("app.py", prompt_id="p2") == ""
    assert "it does not" in told[0]


def test_a_hook_that_waits_for_its_turn_holds_no_snapshot(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A map that has to grow waits for snapshots, and who has the turn waits for the map."""
    environment: Any = desk.daemon.parts.store
    gate, open_ = environment._environment._gate, []
    desk.remember("Keep it duck-typed.", kind="gotcha", anchors=["app.py"])
    before_it_is_decided(desk, monkeypatch, lambda: open_.append(gate._inside))
    assert "duck-typed" in context_of(desk.read("app.py"))
    assert open_ == [0]
