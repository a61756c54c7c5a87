"""What a session is told of memd itself at its start, and how often."""

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon import limits
from memd_daemon.daemon import Daemon
from memd_daemon.service import notices
from tests.frames.grammar import read_policy, read_start
from tests.service.desk import Desk, context_of
from tests.service.policies import enact, made_person
from tests.service.test_people import Person
from tests.service.test_settings import change, signed

HUNCH = "The importer is probably slow because of the locale."
SESSION = {"CLAUDE_CODE_SESSION_ID": "s1"}


def told(out: str) -> list[str]:
    """memd's own lines in a hook's output, which must be one of its blocks."""
    return read_start(context_of(out))[0]


def restarted(desk: Desk) -> None:
    """Another daemon of the same home finds what the last one left."""
    desk.daemon.close()
    mark = desk.home / "run" / "stopped"
    with contextlib.suppress(FileNotFoundError):
        mark.rename(mark.with_name("later"))
    desk.daemon = Daemon.open(desk.home)
    desk.daemon.parts.store.await_look()
    object.__setattr__(desk.daemon.parts, "now_ms", desk.clock)
    with contextlib.suppress(FileNotFoundError):
        mark.with_name("later").rename(mark)
    notices.take_in_stop(desk.daemon.parts)  # by the clock of the test
    desk.daemon.parts.search.load_words()
    desk._verbs = desk.daemon.handlers(lambda: None)


def stop(desk: Desk, **words: Any) -> None:
    (desk.home / "run").mkdir(exist_ok=True)
    desk.ask(api.Stop(**words))


# --- settings


def test_an_unsigned_pause_is_announced_to_every_start_while_it_stands(desk: Desk) -> None:
    """Once in an epoch, byte for byte the same, also where no note qualifies, and after a compaction again."""
    change(desk, "pause", "on")
    (line,) = told(desk.start("s1"))
    assert "memd: paused since 2026-03-04 by a command of no known AI session, not signed" in line
    assert desk.prompt("on", session="s1") == ""
    desk.clock.ms += 30 * limits.TIME_MS_PER_DAY
    assert told(desk.start("s2")) == [line]
    assert told(desk.start("s1", source="compact")) == [line]
    assert told(desk.start("s1", source="resume")) == []


def test_a_pause_that_is_over_is_told_for_a_day(desk: Desk) -> None:
    """Or an agent could pause, say what it likes, and resume before anybody starts a session."""
    desk.start("s1")
    change(desk, "pause", "2h")
    desk.clock.ms += limits.TIME_MS_PER_DAY
    (line,) = told(desk.start("s2"))
    assert line.startswith("memd: paused on 2026-03-04 by ")
    assert line.endswith("prompts and commits of that time were not kept.")
    desk.clock.ms += limits.TIME_MS_PER_DAY
    assert desk.start("s3") == ""


def test_who_paused_is_said_as_far_as_it_is_known(desk: Desk) -> None:
    """A command that names a live session is that session's."""
    desk.start("s1")
    desk.ask(api.ChangeSetting(key="pause", values=["on"], env=SESSION, cwd=str(desk.repo)))
    (line,) = told(desk.start("s2"))
    assert "by a command in an AI session, not signed" in line


def test_a_list_is_told_where_it_keeps_memd_out(desk: Desk, tmp_path: Path) -> None:
    """There for as long as it does, elsewhere for a day."""
    change(desk, "ignore", ".", how="add")
    (tmp_path / "plain").mkdir()
    repo, desk.repo = desk.repo, tmp_path / "plain"
    assert "the list `ignore` of repositories was changed on 2026-03-04" in told(desk.start("s1"))[0]
    desk.clock.ms += 2 * limits.TIME_MS_PER_DAY
    assert desk.start("s2") == ""
    desk.repo = repo
    assert "kept out of this repository by the list `ignore`" in told(desk.start("s3"))[0]
    change(desk, "ignore", ".", how="remove")
    assert "kept out of this repository from 2026-03-04 to 2026-03-06 by the list `ignore`" in told(desk.start("s4"))[0]
    change(desk, "only", str(tmp_path / "plain"))
    assert any("kept out of this repository by the list `only`" in line for line in told(desk.start("s5")))


def test_pauses_of_a_day_are_one_line_each_for_whoever_began_them(desk: Desk) -> None:
    """None hides behind the next one; one that another change prolonged is one."""
    for _ in range(2):
        change(desk, "pause", "1h")
        desk.clock.ms += 10
        change(desk, "pause", "2h")
        desk.clock.ms += 10
        change(desk, "pause", how="unset")
        desk.clock.ms += 10
    desk.start("s1")
    desk.ask(api.ChangeSetting(key="pause", values=["on"], env=SESSION, cwd=str(desk.repo)))
    desk.clock.ms += 10
    change(desk, "pause", how="unset")
    assert [line.partition(", not signed")[0] for line in told(desk.start("s2"))] == [
        "memd: paused 2 times on 2026-03-04 by a command of no known AI session",
        "memd: paused on 2026-03-04 by a command in an AI session",
    ]


def test_a_silence_that_is_prolonged_is_told_from_where_it_began(desk: Desk, tmp_path: Path) -> None:
    """Or days of it could be made the last hour by one more command before it ends."""
    change(desk, "pause", "on")
    desk.clock.ms += 3 * limits.TIME_MS_PER_DAY
    change(desk, "pause", "2h")
    assert told(desk.start("s1"))[0].startswith("memd: paused since 2026-03-04 by ")
    change(desk, "ignore", str(desk.repo), how="add")
    change(desk, "pause", how="unset")
    assert told(desk.start("s2"))[0].startswith("memd: paused from 2026-03-04 to 2026-03-07 by ")
    desk.clock.ms += 3 * limits.TIME_MS_PER_DAY
    (tmp_path / "plain").mkdir()
    change(desk, "ignore", str(tmp_path / "plain"), how="add")
    change(desk, "ignore", how="unset")
    (line, *_) = told(desk.start("s3"))
    assert line.startswith("memd: kept out of this repository from 2026-03-07 to 2026-03-10 by the list `ignore`")


def test_a_list_that_is_back_at_what_it_was_is_told_where_it_kept_memd_out(desk: Desk, tmp_path: Path) -> None:
    """What was said there was not kept; anywhere else nothing has come of it, and nothing is told."""
    (tmp_path / "plain").mkdir()
    repo, plain = desk.repo, tmp_path / "plain"
    change(desk, "ignore", str(repo), how="add")
    desk.clock.ms += 60_000
    change(desk, "ignore", str(repo), how="remove")
    change(desk, "only", str(repo), how="add")
    desk.clock.ms += 60_000
    change(desk, "only", how="unset")
    (line,) = told(desk.start("s1"))
    assert line.startswith("memd: kept out of this repository on 2026-03-04 by the list `ignore`, set by a command of ")
    assert line.endswith("prompts and commits of that time were not kept.")
    desk.repo = plain
    (line,) = told(desk.start("s2"))
    assert line.startswith("memd: kept out of this repository on 2026-03-04 by the list `only`, set by a command of ")
    change(desk, "only", str(repo), str(plain))
    change(desk, "only", how="unset")
    desk.clock.ms += limits.NOTICE_TOLD_MS
    assert desk.start("s3") == ""
    desk.repo = repo
    assert desk.start("s4") == ""


def test_a_list_is_compared_with_what_it_was_a_day_before(desk: Desk, tmp_path: Path) -> None:
    """An old exception that is taken away is news, in whatever order what stands on it is named."""
    places = [tmp_path / name for name in ("a", "b")]
    for place in places:
        place.mkdir()
        change(desk, "ignore", str(place), how="add")
    desk.clock.ms += 2 * limits.TIME_MS_PER_DAY
    change(desk, "ignore", *map(str, places[::-1]))
    assert desk.start("s1") == ""
    change(desk, "ignore", str(places[0]), how="remove")
    assert "the list `ignore` of repositories was changed on 2026-03-06" in told(desk.start("s2"))[0]


@pytest.mark.parametrize(
    ("key", "values", "how", "begun", "back"),
    [
        (
            "pause",
            ["on"],
            "set",
            "every session's start tells of it while it stands, and",
            "next day tell of the pause",
        ),
        ("ignore", ["."], "set", "the session starts of the next day tell of it, and", "where it kept memd out, the"),
        ("only", ["."], "set", "the session starts of the next day tell of it, and", "where it kept memd out, the"),
        ("hold", ["off"], "set", "every session's start tells of it while it stands", "no session is told of it"),
        ("idle_exit_hours", ["1"], "set", "no session is told of it", "no session is told of it"),
    ],
)
def test_a_change_is_answered_with_who_hears_of_it(
    desk: Desk, key: str, values: list[str], how: str, begun: str, back: str
) -> None:
    """As the starts then do; with a key there is, that what was endorsed is told as before."""
    (line,) = change(desk, key, *values, how=how).told
    assert line.startswith("not signed: ")
    assert begun in line
    assert bool(desk.start("s1")) == (key not in ("idle_exit_hours",))
    desk.clock.ms += 60_000
    (line,) = change(desk, key, how="unset").told
    assert back in line
    assert bool(desk.start("s2")) == (key in ("pause", "ignore"))  # only this repository was on the list `only`
    Person(desk)
    (line,) = change(desk, key, *values, how=how).told
    assert line.startswith("not signed: what you endorsed is told as before; ")


def test_other_unsigned_settings_are_told_in_one_line(desk: Desk) -> None:
    """Those that bear on what is told; the daemon's hours do not."""
    change(desk, "idle_exit_hours", "1")
    assert desk.start("s1") == ""
    change(desk, "budget.prompt", "100")
    change(desk, "hold", "off")
    (line,) = told(desk.start("s2"))
    assert "budget.prompt = 100 since 2026-03-04" in line
    assert "hold = off since 2026-03-04" in line


def test_what_is_signed_is_not_announced(desk: Desk) -> None:
    """The user knows."""
    person = Person(desk)
    desk.clock.ms += 8 * limits.TIME_MS_PER_DAY
    for key, value in (("hold", "off"), ("budget.prompt", "0"), ("only", "."), ("pause", "on")):
        signed(desk, person, key, value)
        assert desk.start(key) == ""


# --- keys


def test_an_enrolment_is_told_for_a_week_and_under_any_pause(desk: Desk) -> None:
    """With its day, terminal and fingerprint, and how to reject it: who enrolled a key of his own cannot sign it silent."""
    assert desk.start("s0") == ""
    person = Person(desk)
    (fingerprint,) = [one["fingerprint"] for one in desk.ask(api.Status()).people]
    signed(desk, person, "pause", "on")
    (line,) = told(desk.start("s1"))
    assert line.startswith('memd: a key that endorses for the user was enrolled on 2026-03-04, at "pts/0"')
    assert fingerprint in line
    assert "memd human reject" in line
    signed(desk, person, "pause", how="unset")
    desk.remember(HUNCH, kind="directive")
    assert told(desk.start("s2")) == [line]
    assert HUNCH in context_of(desk.start("s3"))
    desk.clock.ms += 8 * limits.TIME_MS_PER_DAY
    assert told(desk.start("s4")) == []


# --- stops


def test_a_stop_is_told_once_memd_runs_again(desk: Desk) -> None:
    """To the starts of the next day, with the days and who it was."""
    desk.start("s1")
    stop(desk, env=SESSION)
    desk.clock.ms += 2 * limits.TIME_MS_PER_DAY
    restarted(desk)
    (line,) = told(desk.start("s2"))
    assert line.startswith(
        "memd: stopped from 2026-03-04 to 2026-03-06 by a command in an AI session, not signed by the user: "
    )
    desk.clock.ms += limits.NOTICE_TOLD_MS - 1
    assert told(desk.start("s3")) == [line]
    desk.clock.ms += 1
    assert desk.start("s4") == ""


def test_a_second_stop_does_not_hide_the_first(desk: Desk) -> None:
    """Days without memd, then a stop of a moment by the same model or by nobody that is known: those days are told."""
    desk.start("s1")
    stop(desk, env=SESSION)
    desk.clock.ms += 2 * limits.TIME_MS_PER_DAY
    restarted(desk)
    restarted(desk)  # killed before it took the mark away
    (line,) = told(desk.start("s2"))
    assert "stopped from 2026-03-04 to 2026-03-06 by a command in an AI session" in line
    desk.clock.ms += 1
    stop(desk)
    restarted(desk)
    assert told(desk.start("s3")) == [
        line,
        "memd: stopped on 2026-03-06 by a command of no known AI session, not signed by the user: "
        "nothing was told in that time.",
    ]
    desk.clock.ms += 1
    stop(desk, env=SESSION)
    restarted(desk)
    assert "stopped 2 times between 2026-03-04 and 2026-03-06 by a command in an AI" in told(desk.start("s4"))[0]
    desk.clock.ms += limits.NOTICE_TOLD_MS
    restarted(desk)
    (desk.home / "run" / "stopped").unlink()
    assert len(told(desk.start("s5"))) == 1


def test_a_restart_is_no_announced_stop(desk: Desk) -> None:
    """Nothing is marked and nothing told."""
    stop(desk, announced=False)
    assert not (desk.home / "run" / "stopped").exists()
    restarted(desk)
    assert desk.start() == ""


@pytest.mark.parametrize(
    "mark", [b"", b"{", b"\xff" * 10_000, b'{"at": 99999999999999999999}', b'{"at": -5}', b'{"session": 1}']
)
def test_a_mark_that_says_nothing_is_told_by_its_own_time(desk: Desk, mark: bytes) -> None:
    """Whatever stands in it: an older memd's, half of one, or anybody's."""
    (desk.home / "run").mkdir(exist_ok=True)
    file = desk.home / "run" / "stopped"
    file.write_bytes(mark)
    os.utime(file, (1_772_400_000, 1_772_400_000))
    restarted(desk)
    assert "stopped from 2026-03-01 to 2026-03-04 by a command of no known AI session" in told(desk.start())[0]


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_a_mark_that_is_no_file_is_not_read(desk: Desk, kind: str, tmp_path: Path) -> None:
    """No link is followed, and nothing waited for."""
    (desk.home / "run").mkdir(exist_ok=True)
    mark = desk.home / "run" / "stopped"
    (tmp_path / "other").write_text('{"at": 1772400000000}')
    {"link": lambda: mark.symlink_to(tmp_path / "other"), "folder": mark.mkdir, "fifo": lambda: os.mkfifo(mark)}[kind]()
    restarted(desk)
    assert kind == "fifo" or desk.start() == ""


def test_a_folder_in_the_place_of_a_mark_is_closed_again(desk: Desk) -> None:
    """Whatever looks at it again would leave no descriptor for anything else."""
    mark = desk.home / "run" / "stopped"
    mark.parent.mkdir(exist_ok=True)
    mark.mkdir()
    restarted(desk)
    held = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # it is closed again by now
            held.append(descriptor.readlink())
    assert held
    assert mark not in held


# --- as a part of the bundle


def test_notices_stand_in_the_budget_and_leave_directives_their_floor(desk: Desk) -> None:
    """Before the notes, and counted; at the smallest budget 500 tokens of directives come all the same."""
    for n in range(12):
        desk.remember(f"Rule {n}: " + "never touch the generated files of the build. " * 6, kind="directive")
    change(desk, "hold", "off")
    out = context_of(desk.start("s1"))
    lines, notes, left = read_start(out)
    assert len(lines) == 1
    assert desk.daemon.parts.cost(out) <= limits.BUDGET_START_TOKENS
    assert len(notes) + len(left) == 12
    change(desk, "budget.session_start", "500")
    lines, notes, _ = read_start(context_of(desk.start("s2")))
    block = context_of(desk.start("s3")).split("\n", len(lines))[-1]
    assert len(notes) == 4
    assert 400 < desk.daemon.parts.cost(block) <= 500


def unsigned_changes(desk: Desk) -> None:
    """Whatever a session can do to be told of."""
    for key in ("budget.prompt", "budget.edit", "budget.subagent"):
        change(desk, key, "500")
    for key, value in (("gate.cosine", "0.9"), ("gate.idf_share", "0.9"), ("hold", "off"), ("pause", "on")):
        change(desk, key, value)
    change(desk, "ignore", ".", how="add")
    change(desk, "only", str(desk.repo.parent))
    stop(desk)
    restarted(desk)


@pytest.mark.parametrize("budget", [0, 8_000])
def test_no_number_of_notices_silences_the_rules(desk: Desk, budget: int) -> None:
    """Rules of a policy as many as go in, files of it that were taken away, every setting changed: the answer is within the
    client's cap, or it would never be sent; what silences memd is told, and what found no room is counted."""
    person = made_person(desk)
    if budget:
        signed(desk, person, "budget.session_start", str(budget))
    own = [person.rule(f"Ask before you delete a branch, {n}. {'Or a tag. ' * 40}") for n in range(12)]
    text = "documentation instructions administration requirements implementation " * 4
    rule = '[[directive]]\ntext = "{} {}"\n'
    enact(desk, person, "".join(rule.format(n, text) for n in range(1, 50)))
    gone = [enact(desk, person, rule.format(0, "Gone."), f"a-name-of-some-length-{n:02}.toml") for n in range(31)]
    desk.start("s0")
    for file in gone:
        file.unlink()
    unsigned_changes(desk)
    block = context_of(desk.start("s1"))
    lines, notes, _ = read_start(block)
    found, _ = read_policy("\n".join(block.split("\n")[len(lines) :]))
    assert notes
    assert [note.id for note in notes] == own[::-1][: len(notes)]
    assert len(found) > 10
    assert desk.daemon.parts.cost(block) <= (budget or limits.BUDGET_START_TOKENS)
    assert sum(desk.daemon.parts.cost(line) + 1 for line in lines) <= limits.NOTICES_MAX_TOKENS
    assert [line.split("since")[0].split("on 2026")[0] for line in lines[:4]] == [
        "memd: paused ",
        "memd: kept out of this repository by the list `ignore`, set ",
        "memd: the list `only` of repositories was changed ",
        "memd: stopped ",
    ]
    told_of = sum("no longer counts" in line for line in lines)
    assert lines[-1].startswith(f"memd: {31 - told_of} more of these did not fit: ")


def test_a_lost_notice_is_told_again(desk: Desk) -> None:
    """As a note is: what was offered and never arrived is owed."""
    change(desk, "hold", "off")
    desk.start(receipt=False)
    desk.clock.ms += 60_000
    assert len(told(desk.prompt("later"))) == 1
    assert desk.prompt("and on", prompt_id="p2") == ""


def test_the_deliveries_say_that_notices_were_told(desk: Desk) -> None:
    """As a fact of the delivery, not as a note."""
    change(desk, "hold", "off")
    desk.start()
    (delivery,) = desk.ask(api.Deliveries()).deliveries
    assert (delivery.notices, delivery.notes, delivery.state) == (True, [], "delivered")
    assert delivery.tokens > 0


def test_a_subagent_is_told_nothing_of_it(desk: Desk) -> None:
    """Nobody reads what it says."""
    change(desk, "hold", "off")
    desk.start()
    payload = desk.payload("SubagentStart", "s1", agent_id="a1", agent_type="Explore")
    assert desk.hook("subagent-start", payload) == ""


def test_the_mark_of_a_stop_waits_for_nobody(desk: Desk) -> None:
    """Whatever stands in its place: a FIFO has no reader, and the daemon would never go."""
    (desk.home / "run").mkdir(exist_ok=True)
    os.mkfifo(desk.home / "run" / "stopped")
    stop(desk)
    assert (desk.home / "run" / "stopped").is_file()
    restarted(desk)
    assert any("stopped" in line for line in told(desk.start()))
