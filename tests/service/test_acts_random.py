"""Any sequence of acts, by sessions and by a person: the cached folds are those of the log, and no class rises by itself."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd_client import api
from memd_daemon import errors
from memd_daemon.model.event import Promoted, payload_of
from tests.service.desk import Desk, desk_at
from tests.service.test_people import Person

NOTES = 5
ACTS = (
    "promote", "revoke", "reinstate", "confirm", "review", "resolve", "supersede", "unsupersede", "absorb", "release",
    "revise", "archive", "restore-note", "amend", "done", "reopen",
)  # fmt: skip
which = st.integers(1, NOTES)
steps = st.lists(
    st.fixed_dictionaries(
        {
            "act": st.sampled_from(ACTS),
            "ref": which.map(str),
            "by": which.map(str),
            "absorb": st.lists(which.map(str), max_size=2),
            "to": st.sampled_from(("agent", "human")),
            "reason": st.sampled_from(("", "because")),
            "text": st.sampled_from(("", "Other words.", "Other words yet.")),
            "resolution": st.sampled_from(("a_wins", "b_wins", "both_demoted", "merged")),
            "priority": st.sampled_from(("", "low", "high")),
            "tags": st.lists(st.sampled_from("ab"), max_size=1),
            "scope": st.sampled_from(("", "global", "repo")),
            "sign": st.booleans(),
        }
    ),
    min_size=5,
    max_size=25,
)


def begun(desk: Desk) -> Person:
    """A person, a rule, a task, an auto note, a principle built on both, and one that contradicts."""
    person = Person(desk)
    person.seal(desk.remember("Ask before a push.", kind="directive", endorse=True).plan)
    desk.remember("Rename the table.", kind="task")
    desk.remember("The cache lies in tmp.", provenance="auto")
    desk.remember(
        "Caches are cleared at night.", level="principle", slug="caches", sources=["2", "3"], why="two outages"
    )
    desk.remember("Push whenever you like.", contradicts="1")
    return person


def carry_out(desk: Desk, person: Person, step: dict[str, Any]) -> None:
    """One act; a refusal is an answer, and anything else that is raised is a fault."""
    try:
        acted = desk.ask(api.Act(cwd=str(desk.repo), **step))
        if acted.plan is not None:
            person.seal(acted.plan)
    except errors.MemdError:
        pass


def classes(desk: Desk) -> dict[int, list[str]]:
    with desk.daemon.parts.store.read() as snapshot:
        return {id_: [r.provenance for r in note.revisions] for id_, note in snapshot.notes()}


def refuse_risen(desk: Desk, before: dict[int, list[str]], after: dict[int, list[str]]) -> None:
    """Each wording that has risen was promoted by an event, to `human` by a signed one; none has sunk."""
    ladder = ("auto", "agent", "human")
    with desk.daemon.parts.store.read() as snapshot:
        for id_, rungs in after.items():
            uid = snapshot.uid_of(id_)
            promoted = [s for s in snapshot.events_of(uid or b"") if s.event.type == "promoted"]
            for place, (was, now) in enumerate(zip(before[id_], rungs, strict=False), 1):
                assert ladder.index(now) >= ladder.index(was)
                if was != now:
                    payloads = [(payload_of(s.event), s.signed) for s in promoted]
                    to_it = [
                        signed
                        for p, signed in payloads
                        if isinstance(p, Promoted) and (p.revision, p.to) == (place, now)
                    ]
                    assert to_it
                    assert now != "human" or any(to_it)
            assert all(rung != "human" for rung in rungs[len(before[id_]) :]) or any(s.signed for s in promoted)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps)
def test_any_sequence_of_acts_leaves_a_sound_store(sequence: list[dict[str, Any]]) -> None:
    """Every fold, index row and signature is what the log gives, whatever was asked, signed or refused."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, desk_at(Path(folder)) as desk:
        person = begun(desk)
        for step in sequence:
            before = classes(desk)
            carry_out(desk, person, step)
            refuse_risen(desk, before, classes(desk))
        assert desk.ask(api.Verify()).faults == []
        for id_ in range(1, NOTES + 1):
            desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo)))
            desk.ask(api.Trace(ref=str(id_), cwd=str(desk.repo)))
