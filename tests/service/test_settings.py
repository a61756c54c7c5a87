"""Settings in a whole daemon: what a pause, a list, a budget, a gate and the hold do to what was endorsed and to the rest."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memd_client import api, wire
from memd_daemon import errors, limits
from memd_daemon.model.setting_keys import KEYS
from memd_daemon.service.refused import NotIgnorable
from tests.service.desk import Desk, context_of, git, make_repo, reason_of
from tests.service.test_people import Person

RULE = "Never push to main without asking."
HUNCH = "The importer is probably slow because of the locale."
CAVEAT = "add() is called with strings by the importer: keep it duck-typed."
OWN_CAVEAT = "add() must stay free of imports: the installer copies it."
HOUR_MS = 3600 * 1000


@pytest.fixture
def person(desk: Desk) -> Person:
    made = Person(desk)
    desk.clock.ms += (limits.ENROLMENT_TOLD_DAYS + 1) * limits.TIME_MS_PER_DAY  # no start tells of the key any more
    return made


def change(desk: Desk, key: str, *values: str, how: str = "set", sign: bool = False) -> api.ChangedSetting:
    request = api.ChangeSetting(key=key, how=how, values=list(values), sign=sign, cwd=str(desk.repo))
    return desk.ask(request)


def signed(desk: Desk, person: Person, key: str, *values: str, how: str = "set") -> None:
    person.seal(change(desk, key, *values, how=how, sign=True).plan)


def pause(desk: Desk) -> None:
    change(desk, "pause", "on")


def ignore(desk: Desk) -> None:
    change(desk, "ignore", ".", how="add")


def only_elsewhere(desk: Desk) -> None:
    elsewhere = make_repo(desk.repo.parent / "elsewhere")
    change(desk, "only", str(elsewhere))


SILENCES: list[Callable[[Desk], None]] = [pause, ignore, only_elsewhere]


def endorsed(desk: Desk, person: Person, content: str, **words: Any) -> int:
    made = desk.remember(content, **words)
    person.seal(desk.act("promote", made.id, to="human", sign=True).plan)
    return made.id


def turns(desk: Desk) -> list[str]:
    return [turn.text for turn in desk.ask(api.Turns()).turns]


# --- silence that nobody signed


@pytest.mark.parametrize("be_silent", SILENCES)
def test_what_a_person_endorsed_is_told_through_every_unsigned_silence(
    desk: Desk, person: Person, be_silent: Callable[[Desk], None]
) -> None:
    """At the start, after a compaction, at the read, at the edit (held), and on a prompt; everything else is silent."""
    person.rule(RULE)
    desk.remember(HUNCH, kind="directive")
    endorsed(desk, person, OWN_CAVEAT, kind="gotcha", priority="high", anchors=["app.py"])
    desk.remember(CAVEAT, kind="gotcha", priority="high", anchors=["app.py"])
    be_silent(desk)
    told = context_of(desk.start())
    assert RULE in told
    assert HUNCH not in told
    again = context_of(desk.start(source="compact"))
    assert RULE in again
    assert HUNCH not in again
    held = reason_of(desk.edit("app.py"))
    assert OWN_CAVEAT in held
    assert CAVEAT not in held
    read = context_of(desk.read("app.py", session="s2"))
    assert OWN_CAVEAT in read
    assert CAVEAT not in read


def test_an_endorsed_finding_comes_on_its_prompt_under_a_pause(desk: Desk, person: Person) -> None:
    """A prompt about it brings the endorsed one, and not the other."""
    question = "why is the nightly import of the ledger so slow on the staging server"
    endorsed(desk, person, "The nightly import of the ledger is slow on the staging server because of its disk.")
    desk.remember("The nightly import of the ledger on the staging server is slow: its locale is wrong.")
    desk.start()
    loud = context_of(desk.prompt(question))
    assert "its disk" in loud
    assert "its locale" in loud
    pause(desk)
    desk.start("s2")
    told = context_of(desk.prompt(question, session="s2"))
    assert "its disk" in told
    assert "its locale" not in told


@pytest.mark.parametrize("be_silent", SILENCES)
def test_nothing_is_kept_in_a_silence(desk: Desk, be_silent: Callable[[Desk], None]) -> None:
    """No turn and no commit; what a session asks to remember is kept, since somebody asked."""
    desk.prompt("before")
    be_silent(desk)
    desk.prompt("during", prompt_id="p2")
    (desk.repo / "new.py").write_text("1\n")
    git(desk.repo, "add", ".")
    git(desk.repo, "commit", "-qm", "during")
    desk.hook("git-commit", b"")
    assert turns(desk) == ["before"]
    assert desk.ask(api.Status()).store["notes"] == 0
    assert desk.remember(HUNCH).id == 1


@pytest.mark.parametrize("undo", [("pause", "unset", ()), ("ignore", "remove", (".",))])
def test_what_a_silence_kept_back_is_owed(desk: Desk, undo: tuple[str, str, tuple[str, ...]]) -> None:
    """Once it is over, the context's next hook brings the rules of its start."""
    key, how, values = undo
    desk.remember(HUNCH, kind="directive")
    {"pause": pause, "ignore": ignore}[key](desk)
    desk.start()
    assert desk.prompt("during") == ""
    change(desk, key, *values, how=how)
    desk.clock.ms += 60_000
    assert HUNCH in context_of(desk.prompt("after", prompt_id="p2"))
    assert desk.prompt("and on", prompt_id="p3") == ""


def test_a_pause_is_over_by_the_clock(desk: Desk) -> None:
    """`--for`: nobody has to end it."""
    change(desk, "pause", "1h30m")
    desk.prompt("during")
    desk.clock.ms += 3 * HOUR_MS // 2 + 1000
    desk.prompt("after", prompt_id="p2")
    assert turns(desk) == ["after"]
    (setting,) = desk.ask(api.Settings(key="pause")).settings
    assert (setting.value, setting.is_set) == ("off", False)


def test_a_pause_may_have_its_end_named(desk: Desk) -> None:
    """Within the same bounds as its length."""
    change(desk, "pause", "2027-03-03T12:00:00Z")
    (setting,) = desk.ask(api.Settings(key="pause")).settings
    assert setting.value == "2027-03-03T12:00:00Z"


def test_a_list_knows_repositories_from_directories(desk: Desk, tmp_path: Path) -> None:
    """A directory in a repository stands for it, clones and worktrees included; any other for itself and all below."""
    work = desk.repo
    git(work, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    (tmp_path / "plain" / "deep").mkdir(parents=True)
    (tmp_path / "plainer").mkdir()
    change(desk, "ignore", str(work), str(tmp_path / "plain"))
    for folder, is_kept in (("tree", False), ("plain", False), ("plain/deep", False), ("plainer", True)):
        desk.repo = tmp_path / folder
        desk.prompt(f"in {folder}", session=folder)
        assert (f"in {folder}" in turns(desk)) is is_kept
    (setting,) = desk.ask(api.Settings(key="ignore")).settings
    assert setting.value == [str(work), str(tmp_path / "plain")]


def test_files_of_an_ignored_repository_bring_nothing(desk: Desk) -> None:
    """A session that works elsewhere and edits a file there hears nothing of its caveats."""
    desk.remember(CAVEAT, kind="gotcha", priority="high", anchors=["app.py"])
    elsewhere, ignored = make_repo(desk.repo.parent / "elsewhere"), desk.repo
    path = str(ignored / "app.py")
    desk.repo = elsewhere
    desk.start()
    assert CAVEAT in reason_of(desk.edit(path))
    change(desk, "ignore", str(ignored), how="add")
    desk.start("s2")
    assert desk.edit(path, session="s2") == ""


# --- silence that a person signed


@pytest.mark.parametrize(("key", "values"), [("pause", ("on",)), ("ignore", (".",))])
def test_a_signed_silence_is_whole(desk: Desk, person: Person, key: str, values: tuple[str, ...]) -> None:
    """Nothing at all is told and nothing announced, until a signature ends it; then the start is owed."""
    person.rule(RULE)
    endorsed(desk, person, OWN_CAVEAT, kind="gotcha", priority="high", anchors=["app.py"])
    signed(desk, person, key, *values)
    assert desk.start() == ""
    assert desk.prompt("during") == ""
    assert desk.edit("app.py") == ""
    assert desk.ask(api.Deliveries()).deliveries == []
    with pytest.raises(errors.SettingSigned):
        change(desk, key, how="unset")
    signed(desk, person, key, how="unset")
    assert RULE in context_of(desk.prompt("after", prompt_id="p2"))
    assert turns(desk) == ["after"]


def test_a_signature_says_what_it_is_for(desk: Desk, person: Person) -> None:
    """The plan names the change; asking for it records nothing, and a signature over another change is refused."""
    before = desk.ask(api.Status()).store["events"]
    plan = change(desk, "budget.prompt", "100", sign=True).plan
    other = change(desk, "budget.prompt", "0", sign=True).plan
    assert plan is not None
    assert other is not None
    assert [(e.act, e.change) for e in plan.events] == [("set", "800 -> 100")]
    assert desk.ask(api.Status()).store["events"] == before
    with pytest.raises(errors.BadSignature):
        desk.ask(api.Seal(token=plan.token, signatures=person.signatures(other)))
    person.seal(other)
    (setting,) = desk.ask(api.Settings(key="budget.prompt")).settings
    assert (setting.value, setting.signed, setting.actor) == (0, True, "human")
    assert desk.ask(api.Verify()).faults == []


def test_without_a_key_nothing_is_signed(desk: Desk) -> None:
    """The way to a key is named."""
    with pytest.raises(errors.NoKey):
        change(desk, "pause", "on", sign=True)


# --- the spool


def spooled(desk: Desk, text: str, at_ms: int) -> None:
    payload = json.dumps(desk.payload("UserPromptSubmit", "s9", prompt=text)).encode()
    request = text.encode().ljust(16, b"-")
    call = wire.Hook(request, 2**62, 0, "claude", "prompt-submit", bytes(desk.repo), b"", payload)
    (desk.home / "spool").mkdir(exist_ok=True)
    file = desk.home / "spool" / wire.spool_name(request, at_ms * limits.NS_PER_MS).decode()
    file.write_bytes(wire.encode_spool(wire.Spooled(call, at_ms * limits.NS_PER_MS)))


@pytest.mark.parametrize("is_over", [False, True])
def test_what_was_spooled_in_a_pause_is_dropped(desk: Desk, is_over: bool) -> None:
    """By the moment it was said, whenever it is taken in: what came before the pause is kept, also during it."""
    begun = desk.clock.ms
    pause(desk)
    desk.clock.ms += HOUR_MS
    if is_over:
        change(desk, "pause", how="unset")
    desk.clock.ms += HOUR_MS
    spooled(desk, "before", begun - 1000)
    spooled(desk, "during", begun + 1000)
    spooled(desk, "after", begun + HOUR_MS + 1000)
    desk.prompt("now")
    assert turns(desk) == (["now", "after", "before"] if is_over else ["before"])
    assert list((desk.home / "spool").iterdir()) == []


# --- asking and refusing


@pytest.mark.parametrize(
    ("key", "values", "says"),
    [
        ("budget.session_start", ("499",), "500 to 8000 tokens (no fewer, so that directives can be counted on)"),
        ("budget.prompt", ("8001",), "0 to 8000 tokens"),
        ("budget.edit", ("many",), "0 to 8000 tokens"),
        ("budget.edit", ("1", "2"), "one value"),
        ("gate.cosine", ("0.1",), "0.2 to 1"),
        ("hold", ("maybe",), "on, off or interactive"),
        ("idle_exit_hours", ("0",), "1 to 720 hours"),
        ("pause", ("30s",), "30m, 2h, 1d"),
        ("pause", ("366d",), "a minute to 365 days"),
        ("pause", ("9999-12-31T23:59:59Z",), "a minute to 365 days"),
        ("pause", ("2027-03-04T12:00:00Z",), "a minute to 365 days"),
        ("pause", ("2026-03-03T00:00:00Z",), "a minute to 365 days"),
        ("pause", ("1969-12-31T23:59:59Z",), "a minute to 365 days"),
        *((key, ("",), KEYS[key].takes) for key in KEYS),
        ("hold", ("  ",), "on, off or interactive"),
        ("ignore", (".", " "), "directories"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_the_bounds(
    desk: Desk, key: str, values: tuple[str, ...], says: str
) -> None:
    """Nothing is recorded."""
    with pytest.raises(errors.BadSetting) as refused:
        change(desk, key, *values)
    assert says in refused.value.message
    assert desk.ask(api.SettingsLog()).events == []


def test_an_unknown_key_is_answered_with_the_nearest(desk: Desk) -> None:
    """As a mistyped command is."""
    with pytest.raises(errors.UnknownSetting, match=r"did you mean `budget\.prompt`"):
        change(desk, "budget.promt", "100")
    with pytest.raises(errors.UnknownSetting):
        desk.ask(api.Settings(key="retention.notes_days"))


@pytest.mark.parametrize("given", ["nowhere", "app.py", "n" * 300, "a\0b", "token=ghp_" + "a1B2" * 9])
def test_only_directories_that_may_be_kept_are_listed(desk: Desk, given: str) -> None:
    """No such directory, a file, names that no system has, and a path in which a credential stands."""
    if "ghp" in given:
        (desk.repo.parent / given).mkdir()
        given = str(desk.repo.parent / given)
    with pytest.raises(NotIgnorable):
        change(desk, "ignore", given, how="add")


def test_the_same_change_again_is_no_change(desk: Desk, person: Person) -> None:
    """Kept as it is, without a commit; a signature under the same value is one."""
    before = desk.ask(api.Status()).store["commits"]
    assert change(desk, "hold", "off").effect == "applied"
    assert change(desk, "hold", "off").effect == "kept"
    assert change(desk, "pause", how="unset").effect == "kept"
    assert change(desk, "ignore", ".", how="remove").effect == "kept"
    assert desk.ask(api.Status()).store["commits"] == before + 1
    signed(desk, person, "hold", "off")
    assert change(desk, "hold", "off", sign=True).effect == "kept"


def test_every_change_stands_in_the_log(desk: Desk, person: Person) -> None:
    """When, through what and by whom, whether signed, and what it did."""
    desk.start("s1")
    change(desk, "hold", "off")
    desk.clock.ms += 1000
    env = {"CLAUDE_CODE_SESSION_ID": "s1"}
    desk.ask(api.ChangeSetting(key="hold", how="unset", env=env, cwd=str(desk.repo)))
    signed(desk, person, "hold", "interactive")
    told = desk.ask(api.SettingsLog(key="hold")).events
    assert [(e.value, e.actor, e.session, e.signed, e.effect) for e in told] == [
        ("off", "agent", "", False, "applied"),
        ("", "agent", "s1", False, "applied"),
        ("interactive", "human", "", True, "applied"),
    ]
    assert desk.ask(api.SettingsLog(key="pause")).events == []
    assert desk.ask(api.Verify()).faults == []


def test_the_status_names_what_is_not_its_default(desk: Desk) -> None:
    """And nothing else."""
    assert desk.ask(api.Status()).settings == {"changed": []}
    pause(desk)
    (told,) = desk.ask(api.Status()).settings["changed"]
    assert (told["key"], told["value"], told["signed"], told["surface"]) == ("pause", "on", False, "cli")


def test_a_daemon_stays_as_long_as_it_is_told(desk: Desk) -> None:
    """The setting in hours, the default in limits.py."""
    assert desk.daemon.idle_exit_s() == limits.IDLE_EXIT_S
    change(desk, "idle_exit_hours", "2")
    assert desk.daemon.idle_exit_s() == 2 * 3600


def test_settings_survive_a_restart_and_a_rebuild(desk: Desk) -> None:
    """They are made from the log, and from nothing else."""
    change(desk, "hold", "off")
    desk.ask(api.Reindex())
    (setting,) = desk.ask(api.Settings(key="hold")).settings
    desk.daemon.parts.known_settings.hold_fast({})  # forgets what it kept
    assert desk.ask(api.Settings(key="hold")).settings == [setting]
    assert setting.value == "off"


def test_settings_are_changed_without_a_signature_only_so_often(desk: Desk, person: Person) -> None:
    """Each change is read again with every later one: a model that flaps one slows no hook down. Taking back and signing go on."""
    for n in range(limits.SETTINGS_UNSIGNED_MAX // 2):
        for how in ("set", "unset"):
            desk.clock.ms += 1
            change(desk, "hold" if n % 2 else "pause", *(["off" if n % 2 else "on"] if how == "set" else []), how=how)
    for key, value in (("pause", "on"), ("ignore", "."), ("hold", "off")):
        with pytest.raises(errors.SettingsChurned):
            change(desk, key, value)
    signed(desk, person, "hold", "off")
    desk.clock.ms += limits.TIME_MS_PER_DAY
    change(desk, "pause", "on")
    desk.clock.ms -= limits.TIME_MS_PER_DAY
    assert change(desk, "pause", how="unset").effect == "applied"
    assert change(desk, "pause", "off").effect == "kept"
    with pytest.raises(errors.SettingsChurned):
        change(desk, "pause", "on")
