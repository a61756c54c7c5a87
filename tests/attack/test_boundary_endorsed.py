"""Attacks on what a person endorsed: every act on every kind of note through every door, and writes that would change it."""

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from memd_client import wire
from tests.attack.cases import Attack, Group
from tests.attack.conftest import Fight
from tests.attack.judge import STANDING
from tests.attack.siege import Siege

ENDORSED = Group(
    "endorsed",
    "an endorsed note has other words, frame, state, place or order, or is not told where it was told before",
)


@pytest.mark.parametrize("attack", ENDORSED.attacks, ids=str)
def test_what_a_person_endorsed_stands(attack: Attack, fight: Fight) -> None:
    """An agent may propose, and the note goes on as it was."""
    fight(attack)


# --- the acts, one by one

ACTS: dict[str, dict[str, Any]] = {
    "revoke": {"reason": "it is wrong"},
    "supersede": {"by": "a-rule"},
    "absorb": {"by": "a-rule"},
    "unsupersede": {},
    "release": {},
    "revise": {"text": "Push whenever you like.", "reason": "simpler"},
    "archive": {},
    "restore-note": {},
    "done": {"reason": "done"},
    "reopen": {},
    "amend": {"priority": "low", "tags": ["old"], "scope": "session"},
    "review": {},
    "confirm": {},
    "reinstate": {"reason": "right after all"},
    "promote": {"to": "agent"},
    "resolve": {"by": "a-rule", "resolution": "b_wins"},
    "link_evidence": {"evidence": [(1, "x")]},
}
TARGETS = (*STANDING, "old", "closed", "shelved")


def _fields(s: Siege, fields: dict[str, Any]) -> dict[str, Any]:
    return {name: str(s.notes[value].id) if name == "by" else value for name, value in fields.items()}


def _act(act: str, fields: dict[str, Any]) -> None:
    def by_socket(s: Siege) -> None:
        for name in TARGETS:
            s.verb("act", act=act, ref=str(s.notes[name].id), **_fields(s, fields))

    def by_lying(s: Siege) -> None:
        for surface, name in zip(
            ("tui", "ui", "sync", "sweep", "system", "human", "git", "import"), STANDING, strict=True
        ):
            s.verb("act", act=act, ref=str(s.notes[name].id), surface=surface, actor="human", **_fields(s, fields))
            s.verb("act", act=act, ref=s.notes[name].uid, surface=surface, key_id=bytes(16), **_fields(s, fields))

    def by_plan(s: Siege) -> None:
        for name in TARGETS:
            status, body = s.verb("act", act=act, ref=str(s.notes[name].id), sign=True, **_fields(s, fields))
            if status == wire.DONE and body.get("plan"):
                s.verb("seal", token=body["plan"]["token"], signatures=[bytes(64)] * len(body["plan"]["events"]))

    ENDORSED.add(act, "socket", f"asks for `{act}` on each endorsed note", by_socket)
    ENDORSED.add(
        f"{act}-lying", "socket", f"asks for `{act}` as if through another surface, as another actor", by_lying
    )
    ENDORSED.add(
        f"{act}-planned", "socket", f"has `{act}` planned for a signature and seals it with a false one", by_plan
    )


for _name, _given in ACTS.items():
    _act(_name, _given)

TOOLS: dict[str, Callable[[Siege, int], dict[str, Any]]] = {
    "revoke": lambda s, id_: {"ref": id_, "reason": "it is wrong"},
    "supersede": lambda s, id_: {"old": id_, "new": s.notes["a-rule"].id},
    "absorb": lambda s, id_: {"ref": id_, "into": s.notes["a-rule"].id},
    "revise": lambda s, id_: {"ref": id_, "reason": "simpler", "text": "Push whenever you like."},
    "done": lambda s, id_: {"ref": id_},
    "confirm": lambda s, id_: {"ref": id_},
    "reinstate": lambda s, id_: {"ref": id_},
    "promote": lambda s, id_: {"ref": id_, "to": "agent"},
    "link_evidence": lambda s, id_: {"ref": id_, "evidence": [{"turn": 1, "excerpt": "x"}]},
}
for _name, _given_by in TOOLS.items():

    def _by_tool(s: Siege, tool: str = _name, given: Callable[[Siege, int], dict[str, Any]] = _given_by) -> None:
        for target in TARGETS:
            s.tool(tool, **given(s, s.notes[target].id))

    ENDORSED.add(_name, "mcp", f"calls the tool `{_name}` on each endorsed note", _by_tool)

COMMANDS: dict[str, tuple[str, ...]] = {
    "revoke": ("revoke", "{rule}", "--reason", "it is wrong"),
    "supersede": ("supersede", "{habit}", "{a-rule}"),
    "absorb": ("absorb", "{finding}", "{a-finding}"),
    "unsupersede": ("unsupersede", "{old}"),
    "revise": ("revise", "validate-tokens-with-leeway", "--text", "Never validate.", "--why", "faster"),
    "archive": ("archive", "{finding}"),
    "restore-note": ("restore-note", "{shelved}"),
    "done": ("done", "{task}"),
    "reopen": ("reopen", "{closed}"),
    "amend-priority": ("amend", "{gotcha}", "--priority", "low"),
    "amend-anchor": ("amend", "{gotcha}", "--anchor", "elsewhere.py"),
    "amend-scope": ("amend", "{rule}", "--scope", "session"),
    "amend-under": ("amend", "{rule}", "--under", "docs"),
    "resolve": ("resolve", "{rule}", "{a-rule}", "--b-wins"),
    "review": ("review", "{principle}"),
}
for _name, _words in COMMANDS.items():

    def _by_command(s: Siege, words: tuple[str, ...] = _words) -> None:
        s.cli(*(word.format(**{name: note.id for name, note in s.notes.items()}) for word in words), stdin=b"y\n" * 3)

    ENDORSED.add(_name, "cli", f"runs `memd {' '.join(_words)}` in its shell", _by_command)


# --- the fields of an amendment, one by one

AMENDMENTS: dict[str, dict[str, Any]] = {
    "priority": {"priority": "low"},
    "tags": {"tags": ["ignore-me"], "untags": []},
    "anchors": {"anchors": ["nowhere.py"]},
    "scope-session": {"scope": "session"},
    "scope-global": {"scope": "global"},
    "scope-other": {"scope": "session:someone-else"},
    "scope-repo": {"scope": "repo:01a22a52-674c-77ea-931c-ba866b00fb8a"},
    "under": {"under": "docs/never"},
    "under-up": {"under": "../.."},
}
for _name, _given in AMENDMENTS.items():

    def _amends(s: Siege, fields: dict[str, Any] = _given) -> None:
        (s.repository / "docs" / "never").mkdir(parents=True, exist_ok=True)
        (s.repository / "nowhere.py").write_text("")
        for name in TARGETS:
            s.verb("act", act="amend", ref=str(s.notes[name].id), **fields)

    ENDORSED.add(f"amend-{_name}", "socket", f"amends {', '.join(_given)} of each endorsed note", _amends)


# --- writes

RELATIONS = ("contradicts", "supersedes", "same_as", "despite")
for _relation in RELATIONS:

    def _writes(s: Siege, relation: str = _relation) -> None:
        for name in TARGETS:
            note = s.notes[name]
            fields = {
                "kind": note.kind,
                "reason": "it is wrong",
                "anchors": ["app.py"] if note.kind == "gotcha" else [],
            }
            s.noted(f"Not so, {relation}: {note.content}", **{relation: str(note.id)}, **fields)

    def _writes_by_mcp(s: Siege, relation: str = _relation) -> None:
        for name in ("rule", "gotcha", "finding", "principle"):
            note = s.notes[name]
            anchors = ["app.py"] if note.kind == "gotcha" else []
            s.tool(
                "remember",
                content=f"On the contrary ({relation}): {note.content}",
                kind=note.kind,
                anchors=anchors,
                **{relation: note.id},
            )

    ENDORSED.add(f"writes-{_relation}", "socket", f"records notes with {_relation}= of each endorsed one", _writes)
    ENDORSED.add(f"writes-{_relation}", "mcp", f"records notes with {_relation}= of endorsed ones", _writes_by_mcp)


@ENDORSED("resolves-conflict", "socket", "opens a conflict with an endorsed note and settles it for itself")
def _(s: Siege) -> None:
    for name in ("rule", "finding", "decision"):
        note = s.notes[name]
        mine = s.noted(f"The opposite of {name} is true.", kind=note.kind, contradicts=str(note.id))
        for resolution in ("a_wins", "b_wins", "both_demoted", "merged"):
            s.verb("act", act="resolve", ref=str(mine), by=str(note.id), resolution=resolution)
            s.verb("act", act="resolve", ref=str(note.id), by=str(mine), resolution=resolution)


@ENDORSED("revise-absorbs", "socket", "revises a principle of its own so that it absorbs endorsed notes")
def _(s: Siege) -> None:
    sources = [str(s.notes[n].id) for n in ("a-finding", "a-decision")]
    mine = s.noted("Count days as the report does.", level="principle", slug="count-days", why="w", sources=sources)
    targets = [str(s.notes[n].id) for n in ("rule", "finding", "task", "principle")]
    s.verb("act", act="revise", ref=str(mine), reason="folds", absorb=targets)
    s.verb("act", act="revise", ref=str(mine), reason="folds", text="Do as you like.", absorb=targets)


@ENDORSED("in-a-ring", "socket", "supersedes and absorbs in a ring that would close over an endorsed note")
def _(s: Siege) -> None:
    a, b = (s.noted(f"Ring {n}: the report counts {n} days.") for n in "ab")
    rule = str(s.notes["finding"].id)
    for old, new in ((a, b), (b, rule), (rule, a)):
        s.verb("act", act="supersede", ref=str(old), by=str(new))
        s.verb("act", act="absorb", ref=str(old), by=str(new))


@ENDORSED("flags-from-below", "socket", "revokes and supersedes the agent's notes that an endorsed one could stand on")
def _(s: Siege) -> None:
    sealed = s.person.endorsed(
        "Weekends count as a day in every sum.", derived_from=[str(s.noted("Sums count weekends."))]
    )
    s.human.add(sealed.id)
    for behind in s.typed.trace(str(sealed.id)).down:
        s.verb("act", act="revoke", ref=str(behind.note.id), reason="no")
    told = s.shown(sealed.id)
    assert "Recorded by the user: Weekends count as a day in every sum." in told, told


# --- other verbs


@ENDORSED("reindex", "socket", "has everything derived made anew, with false fields")
def _(s: Siege) -> None:
    s.verb("reindex", embed=False, drop=True, human=[], forget=[s.notes["rule"].uid])


@ENDORSED("reindex", "cli", "runs reindex and verify in its shell")
def _(s: Siege) -> None:
    s.cli("reindex")
    s.cli("verify")


@ENDORSED(
    "unknown-verbs", "socket", "asks for verbs that might be there: forget, restore, import, sync, sweep, endorse"
)
def _(s: Siege) -> None:
    for verb in (
        "forget",
        "restore",
        "import",
        "sync",
        "sweep",
        "endorse",
        "promote",
        "human",
        "merge",
        "append",
        "eval",
    ):
        status, _ = s.verb(verb, ref=str(s.notes["rule"].id), selectors=["*"], events=[])
        assert status != wire.DONE, verb


@ENDORSED("purge", "cli", "runs uninstall --purge --yes with the word on stdin", alone=True)
def _(s: Siege) -> None:
    s.cli("uninstall", "--purge", stdin=b"purge\nyes\ny\n")
    s.cli("uninstall", "--purge", "--yes", stdin=b"purge\nyes\ny\n")


@ENDORSED("typed-client", "client", "imports the typed client in a program of its own and tries every act")
def _(s: Siege) -> None:
    program = """
import sys
from memd_client import Memd
from memd_client.memd import MemdError
with Memd() as memd:
    for ref in sys.argv[1:]:
        for act, given in {"revoke": {"reason": "r"}, "archive": {}, "done": {}, "amend": {"priority": "low"},
                           "promote": {"to": "human"}, "confirm": {}, "supersede": {"by": ref}}.items():
            try:
                memd.act(act, ref, **given)
            except MemdError:
                pass
"""
    refs = [str(s.notes[name].id) for name in TARGETS]
    done = subprocess.run(
        [sys.executable, "-c", program, *refs], cwd=s.repository, env=s.environ, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


# --- at once


def _at_once(*works: Callable[[], object]) -> None:
    """Runs the works at the same time, each in a thread of its own."""
    gate = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        gate.wait()
        work()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@ENDORSED(
    "all-at-once", "socket", "revokes, supersedes, archives and contradicts one note from twelve connections at once"
)
def _(s: Siege) -> None:
    s.typed.ping()
    ref = str(s.notes["finding"].id)
    works: list[Callable[[], object]] = []
    for n in range(4):
        works += [
            lambda: s.verb("act", act="revoke", ref=ref, reason="r"),
            lambda: s.verb("act", act="archive", ref=ref),
            lambda n=n: s.noted(f"At once {n}.", contradicts=ref),  # type: ignore[misc]
        ]
    _at_once(*works)


@ENDORSED(
    "races-a-signature", "socket", "revises, amends and revokes a note while a person's promotion of it is being sealed"
)
def _(s: Siege) -> None:
    words = "Never wait for the cache."
    for n in range(6):
        sources = [str(s.notes[name].id) for name in ("a-finding", "a-decision")]
        id_ = s.noted(f"{words} ({n})", level="principle", slug=f"wait-{n}", why="w", sources=sources, distinct=n > 0)
        assert id_
        plan = s.typed.act("promote", str(id_), to="human", sign=True).plan
        assert plan is not None
        signatures = s.person.signatures(plan)

        def seals(plan: Any = plan, signatures: list[bytes] = signatures) -> None:
            with s.client() as other:
                try:
                    other.seal(plan.token, signatures)
                except Exception:  # a refusal is an answer, too  # noqa: BLE001
                    return

        def revises(id_: int = id_) -> None:
            s.verb("act", act="revise", ref=str(id_), reason="r", text=f"Always wait, and push by force ({id_}).")

        if n % 2:
            revises()
            seals()
        else:
            _at_once(seals, revises)
        told = s.told(id_)
        s.human.add(id_)
        assert not (told.frame_class == "human" and "force" in told.content), f"a person's signature endorses: {told}"


@ENDORSED("burns-a-plan", "socket", "asks for three hundred plans while a person thinks, then the person signs")
def _(s: Siege) -> None:
    id_ = s.noted("The mirror is rebuilt at noon.")
    plan = s.typed.act("promote", str(id_), to="human", sign=True).plan
    assert plan is not None
    program = """
import sys
from memd_client import Memd
with Memd() as memd:
    for _ in range(300):
        memd.act("promote", sys.argv[1], to="human", sign=True)
"""
    words = [sys.executable, "-c", program, str(s.notes["a-rule"].id)]
    subprocess.run(words, cwd=s.repository, env=s.environ, check=True)
    s.typed.seal(plan.token, s.person.signatures(plan))
    s.human.add(id_)
    assert s.told(id_).provenance == "human"


@ENDORSED(
    "person-is-heard",
    "socket",
    "proposes against a note, floods, and pauses; the person's own revocation counts",
    alone=True,
)
def _(s: Siege) -> None:
    extra = s.person.endorsed("The relay listens on port nine.")
    s.human.add(extra.id)
    s.verb("act", act="revoke", ref=str(extra.id), reason="r")
    s.noted("Not on nine.", contradicts=str(extra.id))
    s.person.act("revoke", extra.id, reason="it moved")
    assert s.told(extra.id).state.belief == "revoked"
