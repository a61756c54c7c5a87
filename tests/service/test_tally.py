"""The counts of a status: at any time what a count of all notes would say."""

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd_client import api
from memd_daemon import errors
from memd_daemon.model.note import Note
from memd_daemon.service.tally import Tally, Told
from memd_daemon.store.port import Snapshot
from tests.service.desk import Desk

ACTS = ("remember", "task", "revoke", "reinstate", "supersede", "absorb", "done", "promote", "look", "auto")


def counted(snapshot: Snapshot) -> Told:
    """All of them, one by one."""
    notes: list[Note] = [note for _, note in snapshot.notes() if not note.forgotten]
    return Told(
        by_kind=dict(Counter(n.kind for n in notes)),
        by_provenance=dict(Counter(n.provenance for n in notes)),
        marks={
            "revoked": sum(n.revoked for n in notes),
            "superseded": sum(n.currency == "superseded" for n in notes),
            "absorbed": sum(n.currency == "absorbed" for n in notes),
            "proposals": sum(len(n.proposals) for n in notes),
            "conflicts": sum(bool(n.conflicts) for n in notes),
            "review": sum(bool(n.flags) for n in notes),
        },
        waiting={
            "proposed": tuple(sorted(n.uid for n in notes if n.proposals)),
            "in_conflict": tuple(sorted(n.uid for n in notes if n.conflicts)),
            "to_review": tuple(sorted(n.uid for n in notes if n.flags)),
        },
    )


def act(desk: Desk, what: str, number: int) -> None:
    text = f"The service number {desk.ask(api.Status()).store['notes']} listens."
    match what:
        case "remember":
            desk.remember(text)
        case "auto":
            desk.remember(text, provenance="auto")
        case "task":
            desk.remember(text, kind="task", derived_from=[str(number)] if number > 1 else [])
        case "supersede" | "absorb":
            desk.act(what, number, by=str(desk.remember(text).id))
        case "revoke" | "reinstate":
            desk.act(what, number, reason="measured")
        case _:
            desk.act(what, number, to="agent")


@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(1, 6)), max_size=12))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_kept_up_is_what_is_counted(desk: Desk, acts: list[tuple[str, int]]) -> None:
    """After any acts, looked at in between or not, also by one that looks for the first time."""
    tally = Tally()
    for what, number in acts:
        if what == "look":
            with desk.daemon.parts.store.read() as snapshot:
                assert tally.at(snapshot) == counted(snapshot)
            continue
        try:
            act(desk, what, number)
        except errors.MemdError:  # a note that is not there, or an act that does not fit
            continue
    with desk.daemon.parts.store.read() as snapshot:
        assert tally.at(snapshot) == Tally().at(snapshot) == counted(snapshot)


def test_an_older_snapshot_is_counted_as_it_was(desk: Desk) -> None:
    """A look that began before a write does not see it, though another look came first."""
    parts = desk.daemon.parts
    desk.remember("One.")
    with parts.store.read() as before:
        desk.remember("Two.")
        with parts.store.read() as after:
            assert parts.tally.at(after).by_kind == {"finding": 2}
        assert parts.tally.at(before).by_kind == {"finding": 1}
