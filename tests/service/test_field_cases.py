"""Cases that other memories failed in the field, each by its number: AT15, AT17, AT18, AT19, AT22, AT25, AT28."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.model import event as ev
from memd_hooks.harness import claude
from tests.redact.corpus import KEY_LINES
from tests.service.bulk import Planted, plant
from tests.service.desk import Desk, context_of, desk_at, git, reason_of
from tests.service.matrix import told
from tests.service.test_people import Person

RULE = "Always run the tests with the project's own virtual environment."
GOTCHA = "add() is called with strings by the importer: keep it duck-typed."
SENTENCE = (
    "keep module {:05d} free of cycles, say so in its docstring, and have somebody else read it before it is merged."
)
LEFT = "more qualified and did not fit"


@pytest.fixture
def person(desk: Desk) -> Person:
    made = Person(desk)
    desk.clock.ms += (limits.ENROLMENT_TOLD_DAYS + 1) * limits.TIME_MS_PER_DAY  # no start tells of the key any more
    return made


def rule(number: int, priority: str = "medium") -> Planted:
    return Planted(kind="directive", priority=priority, content=SENTENCE.format(number))


# --- AT15: a note about a file that only a branch has


NOVEL = "def novel(a):\n" + "".join(f"    step_{n} = a * {n}\n" for n in range(20)) + "    return a\n"
ABSENT = "NOTE: anchored to a file that is absent on this branch: novel.py"


@pytest.mark.parametrize("anchor", ["novel.py", "novel.py::novel"])
@pytest.mark.parametrize(
    "merge", [("merge", "-q", "--no-ff", "--no-edit", "topic"), ("merge", "-q", "--squash", "topic")]
)
@pytest.mark.parametrize("is_recorded_first", [True, False])
def test_a_note_about_a_file_of_a_branch_waits_for_the_merge(
    desk: Desk, anchor: str, merge: tuple[str, ...], *, is_recorded_first: bool
) -> None:
    """On main it is withheld, and labelled where it is asked for; never called stale. After the merge it is delivered as before."""
    git(desk.repo, "switch", "-qc", "topic")
    (desk.repo / "novel.py").write_text(NOVEL)
    recorded = [desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=[anchor])] if is_recorded_first else []
    git(desk.repo, "add", "-A")
    git(desk.repo, "commit", "-qm", "topic")
    ref = (recorded or [desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=[anchor])])[0].id
    assert "status: matches current state" in context_of(desk.read("novel.py"))
    git(desk.repo, "switch", "-q", "main")
    desk.start("on main")
    desk.daemon.parts.behind.join()
    assert desk.edit("novel.py", session="on main") == ""
    told_on_main = desk.recall("called with strings by the importer").text
    assert ABSENT in told_on_main
    assert "[STALE]" not in told_on_main
    assert "VERDICT" not in told_on_main
    git(desk.repo, *merge)
    git(desk.repo, "commit", "--allow-empty", "-qm", "merged")
    git(desk.repo, "branch", "-D", "topic")
    assert "status: matches current state" in context_of(desk.read("novel.py", session="merged"))
    assert ABSENT not in desk.recall("called with strings by the importer").text
    desk.daemon.parts.flags.behind.join()
    assert not [one for one in desk.ask(api.Log(ref=str(ref))).events if one.type.startswith("stale_")]


# --- AT17: a store of any size, one bounded block


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, dict[str, str]]]:
    """Twenty notes of a repository, what they were told as, and then 10,000 more that bear on none of it."""
    with desk_at(tmp_path_factory.mktemp("crowded")) as desk:
        for number in range(10):
            desk.remember(SENTENCE.format(number), kind="directive", priority="high")
            desk.remember(f"Task number {number}: rename part {number}.", kind="task", priority="high")
        desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"])
        desk.remember("The importer retries three times on a locked database.")
        first = moments(desk, "few")
        elsewhere = ev.Anchor(path="other.py", digest=bytes(limits.ANCHOR_DIGEST_BYTES))
        kinds: list[dict[str, Any]] = [
            {"kind": "finding"},
            {"kind": "decision"},
            {"kind": "task", "priority": "low"},
            {"kind": "gotcha", "priority": "high", "anchors": (elsewhere,)},
        ]
        about = "Part {} of the billing service is owned by team {}."
        plant(desk, (Planted(content=about.format(n, n % 7), **kinds[n % len(kinds)]) for n in range(9_980)))
        yield desk, first


def moments(desk: Desk, session: str) -> dict[str, str]:
    """What each moment of a session is answered, to the byte."""
    subagent = desk.payload("SubagentStart", session, agent_id="a1", agent_type="general-purpose", prompt_id="p1")
    return {
        "start": desk.start(session),
        "prompt": desk.prompt("how often does the importer retry on a locked database?", session),
        "read": desk.read("app.py", session),
        "subagent": desk.hook("subagent-start", subagent),
        "compaction": desk.start(session, "compact"),
        "edit": desk.edit("app.py", session),
    }


def test_at17_ten_thousand_notes_deliver_what_twenty_would(crowded: tuple[Desk, dict[str, str]]) -> None:
    """The same bytes at every moment, where the notes that bear on it are the same."""
    desk, first = crowded
    assert all(first.values())
    assert moments(desk, "many") == first
    assert desk.ask(api.Status()).store["notes"] > 10_000


def test_at17_a_start_stays_in_its_budget_and_ends_between_two_notes(desk: Desk, person: Person) -> None:
    """Ten thousand rules: under 2,000 tokens and 10,000 characters, each note whole or only named, the rest counted."""
    for number in range(12):
        person.rule(SENTENCE.format(number), priority="low")
    plant(desk, (rule(n, ("high", "medium", "low")[n % 3]) for n in range(100, 10_088)))
    text = context_of(desk.start())
    came = told(text)
    assert desk.daemon.parts.cost(text) <= limits.BUDGET_START_TOKENS
    assert claude.cost_units(text) < 10_000
    assert text.splitlines()[-1].startswith(f"memd: end; {10_000 - len(came)} {LEFT}: ")
    assert text.splitlines()[-1].endswith(
        f"and {10_000 - len(came) - limits.LEFT_OUT_IDS_MAX} others (ask for them with recall or show)."
    )
    for line, id_ in zip(text.splitlines()[1:-1], came, strict=True):
        note = desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo))).note
        assert line.startswith(f"[{id_}] ")
        assert line.endswith(f": {note.content}")


def test_at17_dropped_first_are_agents_rules_of_low_priority_and_the_older_ones(desk: Desk, person: Person) -> None:
    """Then the user's own, by the same order: what is told is the head of one list, whatever number of each there is."""
    wanted: list[int] = []
    planted = plant(desk, (rule(n, ("low", "medium", "high")[n % 3]) for n in range(60)))
    by_priority = [[id_ for n, id_ in enumerate(planted) if n % 3 == rank] for rank in (2, 1, 0)]
    agents = [id_ for ids in by_priority for id_ in reversed(ids)]
    for human in (0, 20, 60):
        while len(wanted) < human:
            desk.clock.ms += 1
            wanted.insert(0, person.rule(SENTENCE.format(1_000 + len(wanted))))
        desk.clock.ms += 60_000
        came = told(context_of(desk.start()))
        assert came == (wanted + agents)[: len(came)]
        assert 20 < len(came) < 60


def test_at17_staleness_decides_nothing(desk: Desk) -> None:
    """A changed file under every second rule drops none of them, and puts none behind another."""
    for number in range(60):
        desk.clock.ms += 1
        anchors = ["app.py"] if number % 2 else []
        desk.remember(SENTENCE.format(number), kind="directive", anchors=anchors)
    fresh = told(context_of(desk.start("s1")))
    (desk.repo / "app.py").write_text("changed = True\n")
    assert told(context_of(desk.start("s2"))) == fresh


@pytest.mark.parametrize("crowd", range(20, 60, 4))
def test_at17_a_correction_is_never_dropped_before_what_it_corrects(desk: Desk, crowd: int) -> None:
    """However many rules stand before it: the tombstone comes with its correction, or not at all, and then by that rule."""
    wrong = desk.remember("Deploy from the main branch on fridays.", kind="directive", priority="high")
    words = {"kind": "directive", "priority": "low", "reason": "nobody is there on saturday"}
    right = desk.remember("Never deploy on fridays, from no branch.", contradicts=str(wrong.id), **words)
    plant(desk, (rule(n) for n in range(crowd)))
    came = told(context_of(desk.start()))
    assert (wrong.id in came) <= (right.id in came)
    left = {one.id: one.rule for one in desk.ask(api.Deliveries()).deliveries[0].left_out}
    if right.id in left:
        assert left[wrong.id] == "correction-first"
    else:
        assert came[-1] == wrong.id or left[wrong.id] == "budget"


def test_at17_the_write_that_crosses_the_cap_warns(desk: Desk, person: Person) -> None:
    """From the first rule that leaves one without room; for a rule that is endorsed once it is signed; for no other kind."""
    warned = "the rules that hold here do not all fit into the start of a session any more (2,000 tokens): "
    told_of: dict[int, list[str]] = {}
    for number in range(60):
        made = desk.remember(SENTENCE.format(number), kind="directive")
        told_of[made.id] = made.told
        if made.told:
            break
    crossed = max(told_of)
    assert [id_ for id_, lines in told_of.items() if lines] == [crossed]
    named = told_of[crossed][0].removeprefix(warned).partition(" will only be named there. ")[0]
    assert named in ("[1]", "[2] [1]")  # the line that names them takes room of its own
    assert LEFT in context_of(desk.start())
    assert desk.remember(SENTENCE.format(70), kind="gotcha", anchors=["app.py"]).told == []
    plan = desk.remember(SENTENCE.format(71), kind="directive", endorse=True)
    assert plan.told == []
    assert person.seal(plan.plan).told[0].startswith(f"{warned}[3] [2] [1] will only be named there. ")
    plant(desk, (rule(n) for n in range(100, 100 + limits.ROOM_RULES_MAX)))
    assert (
        desk.remember(SENTENCE.format(72), kind="directive").told[0].startswith(f"{warned}most of them are not told. ")
    )


# --- AT18: what is repeated is repeated to the byte


def test_at18_a_resume_injects_nothing_and_repeated_blocks_are_the_same_bytes(desk: Desk, person: Person) -> None:
    """Startup, clear, fork, compaction and another session a year later: one output. No clock stands in it."""
    person.rule(RULE)
    desk.remember("Deploys go through staging first.", kind="directive", anchors=["app.py"])
    desk.remember("Rename the ledger table.", kind="task", priority="high")
    first = desk.start("s1")
    assert first
    for source in ("clear", "fork", "compact", "clear"):
        desk.clock.ms += 3_600_000
        assert desk.start("s1", "resume") == ""
        assert desk.start("s1", source) == first
    assert desk.start("s1", "resume") == ""
    desk.clock.ms += 365 * limits.TIME_MS_PER_DAY
    assert desk.start("s2") == first
    assert "ago" not in first


# --- AT19: the same thing said nine times is one note

CLAIM = "The nightly importer retries three times when the database is locked."
PARAPHRASES = (
    "The nightly importer retries three times when the database is locked by a backup.",
    "When the database is locked, the nightly importer retries three times.",
    "The nightly importer retries three times if the database is locked.",
    "The nightly importer retries exactly three times when the database is locked.",
    "The nightly importer job retries three times when the database is locked.",
    "The importer retries three times at night when the database is locked.",
    "The nightly importer retries three times while the database is locked.",
    "The nightly importer still retries three times when the database is locked.",
)


def asked(session: str) -> dict[str, str]:
    return {"CLAUDE_CODE_SESSION_ID": session}


def test_at19_nine_paraphrases_are_one_note_seen_in_nine_sessions(desk: Desk) -> None:
    """Each write is told of the note that says so already; said to be the same, it is folded in, and one line comes back."""
    desk.start("n0")
    first = desk.remember(CLAIM, env=asked("n0"))
    for number, words in enumerate(PARAPHRASES, 1):
        session = f"n{number}"
        desk.start(session)
        draft = desk.remember(words + " It seems.", provenance="auto", env=asked(session))
        assert draft.near == [first.id], words
        desk.act("archive", draft.id)
        told_of = desk.remember(words, same_as=str(first.id), env=asked(session)).told
        assert told_of == [f"note [{first.id}] says so already: your words were folded into it, and corroborate it"]
    asking = "how often does the nightly importer retry when the database is locked?"
    assert told(context_of(desk.prompt(asking, "fresh"))) == [first.id]
    text = desk.ask(api.Show(ref=str(first.id), cwd=str(desk.repo))).text
    assert text.count("(seen in 9 sessions)") == 1
    again = [one.note.id for one in desk.recall(asking, k=20).found if one.note.provenance == "agent"]
    assert again == [first.id]


@pytest.mark.parametrize(
    "other",
    [
        "The nightly importer retries five times when the database is locked.",
        "The nightly importer does not retry three times when the database is locked.",
        "The nightly importer retries three times when db/ledger.sql is locked.",
    ],
)
def test_at19_contradictions_are_not_merged(desk: Desk, other: str) -> None:
    """Another number, a negation, a path: two claims, whatever the writer says, and a prompt brings both."""
    first = desk.remember(CLAIM)
    with pytest.raises(errors.NotTheSame):
        desk.remember(other, same_as=str(first.id))
    second = desk.remember(other)
    asking = "how often does the nightly importer retry when the database is locked?"
    assert sorted(one.note.id for one in desk.recall(asking).found) == [first.id, second.id]
    assert sorted(told(context_of(desk.prompt(asking)))) == [first.id, second.id]


def test_at19_small_talk_brings_nothing_but_what_is_due(desk: Desk) -> None:
    """The rules with the first prompt that is heard, since they are owed; then silence, whatever the store holds."""
    desk.remember(RULE, kind="directive")
    desk.remember(CLAIM)
    plant(desk, (Planted(content=f"Part {n} of the billing service is owned by team {n % 7}.") for n in range(200)))
    assert told(context_of(desk.prompt("hi"))) == [1]
    for number, talk in enumerate(("hi", "thanks", "thank you!", "ok", "yes", "go on", "hello there", "great work")):
        assert desk.prompt(talk, prompt_id=f"t{number}") == ""


# --- AT22: what a hook before an edit may do

EDIT_KEYS = [
    {"hookEventName", "additionalContext"},
    {"hookEventName", "permissionDecision", "permissionDecisionReason"},
]


def said(out: str) -> dict[str, str]:
    """A pre-edit hook's output, checked: nothing, or these keys; a decision is always a denial with its reason."""
    if not out:
        return {}
    told_ = json.loads(out)
    assert set(told_) == {"hookSpecificOutput"}
    output: dict[str, str] = told_["hookSpecificOutput"]
    assert set(output) in EDIT_KEYS
    assert output["hookEventName"] == "PreToolUse"
    assert output.get("permissionDecision", "deny") == "deny"
    return output


MODES = ("default", "acceptEdits", "auto", "bypassPermissions", "dontAsk", "plan")


@pytest.mark.parametrize(("priority", "mode"), list(itertools.product(("high", "medium", "low"), MODES)))
def test_at22_an_edit_is_never_changed_allowed_or_asked_about(desk: Desk, priority: str, mode: str) -> None:
    """The hook adds text or denies once; each gotcha once per context and rendering, and nothing otherwise."""
    desk.start()
    assert desk.edit("app.py", permission_mode=mode) == ""
    desk.remember(GOTCHA, kind="gotcha", priority=priority, anchors=["app.py"])
    first = said(desk.edit("app.py", permission_mode=mode))
    assert ("permissionDecision" in first) == (priority == "high" and mode != "plan")
    assert GOTCHA in (first.get("additionalContext") or first["permissionDecisionReason"])
    for turn in ("p1", "p2", "p3"):
        assert desk.edit("app.py", prompt_id=turn, permission_mode=mode) == ""
    assert desk.edit("other.py", permission_mode=mode) == ""


def test_at22_one_denial_for_a_note_in_a_context(desk: Desk) -> None:
    """Not again for another rendering, in a later turn, or after a resume; a new context has its own, and so has a subagent."""
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"])
    desk.start()
    assert GOTCHA in reason_of(desk.edit("app.py", prompt_id="p1"))
    (desk.repo / "app.py").write_text("def add(a, b):\n    return b + a\n")
    assert "permissionDecision" not in said(desk.edit("app.py", prompt_id="p2"))
    desk.act("revoke", 1, reason="the importer is gone")
    fallen = said(desk.edit("app.py", prompt_id="p3"))
    assert "permissionDecision" not in fallen
    assert "Previously believed" in fallen["additionalContext"]
    desk.act("reinstate", 1)
    assert "permissionDecision" not in said(desk.edit("app.py", prompt_id="p4"))
    assert desk.start(source="resume") == ""
    assert desk.edit("app.py", prompt_id="p5") == ""
    assert GOTCHA in reason_of(desk.edit("app.py", prompt_id="p5", agent_id="a1"))
    assert desk.edit("app.py", prompt_id="p6", agent_id="a1") == ""
    desk.clock.ms += 60_000
    desk.start(source="compact")
    assert GOTCHA in reason_of(desk.edit("app.py", prompt_id="p7"))


def test_at22_where_holding_is_off_it_is_context(desk: Desk) -> None:
    """The setting takes the denial, and nothing else."""
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"])
    desk.ask(api.ChangeSetting(key="hold", how="set", values=["off"], cwd=str(desk.repo)))
    desk.start()
    assert GOTCHA in said(desk.edit("app.py"))["additionalContext"]
    assert desk.edit("app.py") == ""


# --- AT25: a directive, verbatim, once in each context


@pytest.mark.parametrize("event", ["post-compaction", "session-start"])
def test_at25_a_directive_is_verbatim_and_once_after_a_compaction(desk: Desk, person: Person, event: str) -> None:
    """Whichever matcher of the client's settings brings the hook; with it no finding, and nothing more on what follows."""
    person.rule(RULE)
    desk.remember("The importer retries three times on a locked database.")
    assert context_of(desk.start()).count(RULE) == 1
    for number in range(3):
        desk.clock.ms += 60_000
        after = context_of(desk.hook(event, desk.payload("SessionStart", "s1", source="compact")))
        assert (
            after
            == f"memd: 1 note, endorsed by the user.\n[1] DIRECTIVE (standing rule from the user — follow it): {RULE}\nmemd: end."
        )
        assert desk.prompt("go on", prompt_id=f"p{number}") == ""
        assert desk.read("app.py", prompt_id=f"p{number}") == ""


def test_at25_every_subagent_has_the_directives_once_within_a_budget_of_its_own(desk: Desk, person: Person) -> None:
    """600 tokens each and 4,000 a turn for all of them, whatever the session's own start has taken; no findings there."""
    person.rule(RULE)
    desk.remember("The importer retries three times on a locked database.")
    plant(desk, (rule(n) for n in range(40)))
    desk.start()
    spent = []
    for number in range(9):
        payload = desk.payload(
            "SubagentStart", "s1", agent_id=f"a{number}", agent_type="general-purpose", prompt_id="p1"
        )
        text = context_of(desk.hook("subagent-start", payload))
        spent.append(desk.daemon.parts.cost(text) if text else 0)
        assert spent[-1] <= limits.BUDGET_SUBAGENT_TOKENS
        assert "importer" not in text
        if number < 6:
            assert text.count(RULE) == 1
            assert desk.edit("app.py", agent_id=f"a{number}") == ""
    assert limits.BUDGET_SUBAGENTS_TURN_TOKENS * 3 // 4 < sum(spent) <= limits.BUDGET_SUBAGENTS_TURN_TOKENS


def test_at25_findings_come_only_where_a_prompt_is_about_them(desk: Desk) -> None:
    """Once; not at the start, not after a compaction, and not with a prompt about something else."""
    desk.remember("The importer retries three times on a locked database.")
    assert desk.start() == ""
    assert desk.prompt("please format the readme", prompt_id="p1") == ""
    asking = "how often does the importer retry on a locked database?"
    assert told(context_of(desk.prompt(asking, prompt_id="p2"))) == [1]
    desk.clock.ms += 60_000
    assert desk.start(source="compact") == ""
    assert told(context_of(desk.prompt(asking, prompt_id="p3"))) == [1]


# --- AT28: credentials in a prompt


SURVIVES = "apiKey: import.meta.env.VITE_API_KEY"
CREDENTIALS = (
    "AKIA" + "QYLPMN5HHJ4XRTZW",
    "sk-" + "abcdefghijklmnopqrstuvwxyz123456",
    "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "tr33" + "house99",
)


def test_no_credential_of_a_prompt_is_kept_or_told(tmp_path: Path) -> None:
    """A key, a token, a key in armour, a password in an address: in no file, no answer; code that names a variable survives."""
    key = f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{KEY_LINES[0]}\n{KEY_LINES[1]}\n-----END RSA {'PRIVATE'} KEY-----"
    aws, openai, token, password = CREDENTIALS
    said = f"Deploy with {aws}\n{openai}\n{token}\npostgres://dev:{password}@db.example/x\n{key}\n{SURVIVES}"
    with desk_at(tmp_path) as desk:
        desk.start("s1")
        desk.prompt(said)
        desk.remember(f"The deployment reads this: {said}")
        answers = [desk.recall("what does the deployment read").text, desk.ask(api.Turns()).turns[0].text]
        answers.append(context_of(desk.prompt("what does the deployment read", prompt_id="p2")))
    assert SURVIVES in answers[0]
    assert SURVIVES in answers[1]
    files = [file.read_bytes() for file in (tmp_path / "home").rglob("*") if file.is_file()]
    for secret in (*CREDENTIALS, *KEY_LINES):
        assert not any(secret in answer for answer in answers), secret
        assert not any(secret.encode() in raw for raw in files), secret
