"""What is over (a pause, what a list did, a stop) is told to the next start it bears on, however late that is, and not for ever."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memd_daemon import errors, limits
from memd_daemon.service import notices
from tests.service.desk import Desk
from tests.service.processes import Client, client
from tests.service.test_notices import restarted, stop, told
from tests.service.test_people import Person
from tests.service.test_settings import change, signed

MINUTE_MS = limits.MS_PER_MINUTE
DAY_MS = limits.TIME_MS_PER_DAY
AGENTS_ENTRY = b"CLAUDE_CODE_ENTRYPOINT=sdk-cli"


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client that another one has started, with nobody in front of it."""
    with client(tmp_path_factory.mktemp("agents"), "claude", "claude") as nested:
        yield nested


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A directory that is no part of the repository."""
    (tmp_path / "plain").mkdir()
    return tmp_path / "plain"


def silenced(desk: Desk, key: str) -> None:
    """An hour of it, taken back by the same hand."""
    change(desk, key, "on" if key == "pause" else str(desk.repo))
    desk.clock.ms += 60 * MINUTE_MS
    change(desk, key, how="unset")


def paused(desk: Desk) -> None:
    silenced(desk, "pause")


def starts_at(desk: Desk, place: Path, session: str, **words: Any) -> list[str]:
    """memd's lines to a session that starts at a place."""
    repo, desk.repo = desk.repo, place
    try:
        return told(desk.start(session, **words))
    finally:
        desk.repo = repo


def starts(desk: Desk, session: str, **words: Any) -> list[str]:
    return starts_at(desk, desk.repo, session, **words)


@pytest.mark.parametrize("is_restarted", [False, True], ids=["same daemon", "another daemon"])
@pytest.mark.parametrize("since", ["", "person here", "person elsewhere", "agent here", "agent elsewhere"])
@pytest.mark.parametrize("ended", [5 * MINUTE_MS, DAY_MS, 3 * DAY_MS, 30 * DAY_MS], ids=["minutes", "1d", "3d", "30d"])
@pytest.mark.parametrize("key", ["pause", "ignore"])
def test_the_next_start_is_told_of_what_is_over(
    desk: Desk, tmp_path: Path, plain: Path, agents: Client, key: str, ended: int, since: str, is_restarted: bool
) -> None:
    """For a day every one; after that as long as no person's start that it bears on was told: an agent's own start uses nothing up,
    nor does one where a list kept nothing out. A pause bears on every place."""
    silenced(desk, key)
    over_ms = desk.clock.ms
    who, _, where = since.partition(" ")
    place = plain if where == "elsewhere" else desk.repo
    bears = key == "pause" or where == "here"
    with client(tmp_path, on_terminal=True) as persons:
        if since:
            desk.clock.ms += MINUTE_MS
            hook = persons.hook if who == "person" else agents.hook
            assert bool(starts_at(desk, place, "between", pid=hook)) == bears
    if is_restarted:
        restarted(desk)
    desk.clock.ms = over_ms + ended
    is_used_up = who == "person" and bears
    assert bool(starts(desk, "later")) == (ended < DAY_MS or not is_used_up)
    desk.clock.ms = max(desk.clock.ms, over_ms + DAY_MS)
    assert starts(desk, "at last") == []


@pytest.mark.parametrize(
    ("above", "on_terminal", "env", "uses_up"),
    [
        ((), True, b"", True),
        ((), False, b"", True),
        ((), True, b"CLAUDE_CODE_ENTRYPOINT=cli", True),
        ((), False, b"CLAUDE_CODE_ENTRYPOINT=claude-vscode", True),
        ((), True, AGENTS_ENTRY, False),
        ((), False, AGENTS_ENTRY, False),
        (("claude",), False, b"", False),
        (("claude",), True, b"CLAUDE_CODE_ENTRYPOINT=cli", False),
    ],
)
def test_whose_start_uses_a_notice_up(
    desk: Desk, tmp_path: Path, above: tuple[str, ...], on_terminal: bool, env: bytes, uses_up: bool
) -> None:
    """A client where somebody types and that no other one has started; a terminal is nothing that an agent cannot have."""
    paused(desk)
    desk.clock.ms += 3 * DAY_MS
    with client(tmp_path, "claude", *above, on_terminal=on_terminal) as of:
        assert len(starts(desk, "s1", pid=of.hook, env=env)) == 1
    assert bool(starts(desk, "s2")) != uses_up


@pytest.mark.parametrize("source", ["startup", "clear", "compact", "resume"])
@pytest.mark.parametrize("session", ["own", "made-up"])
def test_a_client_that_was_heard_of_uses_nothing_up(desk: Desk, tmp_path: Path, session: str, source: str) -> None:
    """A model in its shell hands memd a start of its own session, or of one that there is not, under the user's own client."""
    with client(tmp_path, on_terminal=True) as of:
        starts(desk, "own", pid=of.hook)
        paused(desk)
        desk.clock.ms += MINUTE_MS
        assert len(starts(desk, session, source=source, pid=of.carrier)) == 1
    desk.clock.ms += 3 * DAY_MS
    assert len(starts(desk, "s2")) == 1


def test_a_hook_that_was_cut_loose_uses_nothing_up(desk: Desk, tmp_path: Path) -> None:
    """Below no client at all; nor does one whose process has gone."""
    with client(tmp_path, "sh") as loose:
        paused(desk)
        desk.clock.ms += 3 * DAY_MS
        assert len(starts(desk, "s1", pid=loose.hook)) == 1
    assert len(starts(desk, "s2", pid=loose.hook)) == 1
    assert len(starts(desk, "s3")) == 1
    assert starts(desk, "s4") == []


def test_where_no_process_is_known_the_client_is_believed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without /proc: else every start would be told for ever."""
    monkeypatch.setattr(notices, "process", lambda pid: None)
    monkeypatch.setattr("memd_daemon.service.clients.process", lambda pid: None)
    paused(desk)
    desk.clock.ms += 3 * DAY_MS
    assert len(starts(desk, "s1", env=AGENTS_ENTRY, pid=7)) == 1
    assert len(starts(desk, "s2", pid=7)) == 1
    assert starts(desk, "s3", pid=7) == []


def test_a_session_that_is_taken_up_in_a_new_client_is_a_persons(desk: Desk, tmp_path: Path) -> None:
    """Monday begins with the session of Friday."""
    with client(tmp_path, on_terminal=True) as friday:
        starts(desk, "s1", pid=friday.hook)
        paused(desk)
    desk.clock.ms += 3 * DAY_MS
    with client(tmp_path, on_terminal=True) as monday:
        assert len(starts(desk, "s1", source="resume", pid=monday.hook)) == 1
    assert starts(desk, "s2") == []


def test_what_never_arrived_is_told_again(desk: Desk) -> None:
    """Offered is not told; a receipt that comes to the next daemon is one."""
    paused(desk)
    desk.clock.ms += 3 * DAY_MS
    assert len(told(desk.start("s1", receipt=False))) == 1
    assert len(told(desk.start("s2", receipt=False))) == 1
    delivery = next(iter(desk.daemon.parts.ledger.deliveries(session="s2")))
    restarted(desk)
    desk.daemon.receipt(delivery.request)
    assert starts(desk, "s3") == []


def test_neither_a_question_nor_a_subagent_uses_a_notice_up(desk: Desk) -> None:
    """`memd why` and a probe only foresee, and a subagent is told nothing of it."""
    desk.start("s1")
    paused(desk)
    desk.clock.ms += 3 * DAY_MS
    assert len(told(desk.start("s2", probe=True))) == 1
    payload = desk.payload("SubagentStart", "s1", agent_id="a1", agent_type="Explore")
    assert desk.hook("subagent-start", payload) == ""
    assert len(starts(desk, "s3")) == 1


def test_a_pause_is_over_from_when_it_ended(desk: Desk) -> None:
    """Of a year, taken back after a minute: a day later only who was not told yet is."""
    change(desk, "pause", "365d")
    desk.clock.ms += MINUTE_MS
    change(desk, "pause", how="unset")
    assert len(starts(desk, "s1")) == 1
    desk.clock.ms += DAY_MS
    assert starts(desk, "s2") == []


def test_a_pause_that_was_told_of_while_it_stood_is_told_of_once_it_is_over(desk: Desk) -> None:
    """What it cost is known only then."""
    change(desk, "pause", "2d")
    assert "paused since" in starts(desk, "s1")[0]
    desk.clock.ms += 9 * DAY_MS
    assert "paused from 2026-03-04 to 2026-03-06" in starts(desk, "s2")[0]
    assert starts(desk, "s3") == []


def test_a_pause_that_goes_on_after_it_was_told_of_is_another(desk: Desk) -> None:
    """The next one begins in the very millisecond in which it ended: the days that follow are told of as well."""
    change(desk, "pause", "1h")
    desk.clock.ms += 60 * MINUTE_MS
    assert len(starts(desk, "s1")) == 1
    change(desk, "pause", "5d")
    desk.clock.ms += 30 * DAY_MS
    assert "paused from 2026-03-04 to 2026-03-09" in starts(desk, "s2")[0]
    assert starts(desk, "s3") == []


def test_a_pause_waits_behind_the_one_that_stands(desk: Desk) -> None:
    """No new pause hides an old one: both are told when that is over, and what was told before is not told with them."""
    paused(desk)
    starts(desk, "s1")
    desk.clock.ms += 3 * DAY_MS
    paused(desk)
    desk.clock.ms += 3 * DAY_MS
    change(desk, "pause", "1h")
    assert "paused since 2026-03-10" in starts(desk, "s2")[0]
    desk.clock.ms += 9 * DAY_MS
    assert "paused 2 times between 2026-03-07 and 2026-03-10" in starts(desk, "s3")[0]
    assert starts(desk, "s4") == []


def test_a_list_is_told_of_in_each_repository_that_it_kept_memd_out_of(desk: Desk, plain: Path) -> None:
    """One list kept two out; the start in one tells nobody in the other."""
    change(desk, "ignore", str(desk.repo), str(plain))
    desk.clock.ms += 60 * MINUTE_MS
    change(desk, "ignore", how="unset")
    desk.clock.ms += 3 * DAY_MS
    for place in (desk.repo, plain):
        (line,) = starts_at(desk, place, f"first at {place}")
        assert "kept out of this repository on 2026-03-04 by the list `ignore`" in line
        assert starts_at(desk, place, f"second at {place}") == []


def test_the_list_only_is_told_of_where_it_kept_memd_out(desk: Desk, plain: Path) -> None:
    """Days after it was taken back, and not where it let memd be."""
    change(desk, "only", str(plain))
    desk.clock.ms += 60 * MINUTE_MS
    change(desk, "only", how="unset")
    desk.clock.ms += 3 * DAY_MS
    assert starts_at(desk, plain, "s1") == []
    assert "by the list `only`" in starts(desk, "s2")[0]
    assert starts(desk, "s3") == []


def test_an_old_silence_does_not_hide_a_new_change_of_the_list(desk: Desk, plain: Path) -> None:
    """Both are told where nobody was told of either."""
    silenced(desk, "ignore")
    desk.clock.ms += 3 * DAY_MS
    change(desk, "ignore", str(plain))
    lines = starts(desk, "s1")
    assert ["kept out" in line for line in lines] == [True, False]
    assert "the list `ignore` of repositories was changed on 2026-03-07" in lines[1]


@pytest.mark.parametrize("is_persons", [False, True])
def test_a_stop_is_told_of_whenever_the_next_start_comes(desk: Desk, agents: Client, is_persons: bool) -> None:
    """A command has started memd again, and nobody a session for three days."""
    stop(desk)
    restarted(desk)
    (desk.home / "run" / "stopped").unlink()
    starts(desk, "s1", pid=0 if is_persons else agents.hook)
    desk.clock.ms += 3 * DAY_MS
    restarted(desk)
    assert ["memd: stopped on 2026-03-04" in line for line in starts(desk, "s2")] == [True] * (not is_persons)
    assert starts(desk, "s3") == []


def test_a_stop_that_nobody_was_told_of_is_told_with_the_next(desk: Desk) -> None:
    """A second stop, days later, takes nothing away."""
    stop(desk)
    restarted(desk)
    desk.clock.ms += 3 * DAY_MS
    stop(desk)
    restarted(desk)
    assert "stopped 2 times between 2026-03-04 and 2026-03-07" in starts(desk, "s1")[0]
    desk.clock.ms += 3 * DAY_MS
    stop(desk)
    restarted(desk)
    assert "stopped on 2026-03-10" in starts(desk, "s2")[0]


def test_a_line_that_found_no_room_is_not_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted in the answer, and told to the next start that has the room."""
    paused(desk)
    desk.clock.ms += 3 * DAY_MS
    monkeypatch.setattr(limits, "NOTICES_MAX_TOKENS", 30)
    assert "1 more of these did not fit" in starts(desk, "s1")[0]
    monkeypatch.undo()
    assert "paused on 2026-03-04" in starts(desk, "s2")[0]
    assert starts(desk, "s3") == []


def test_a_store_that_takes_nothing_tells_it_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session is told, its receipt harms nothing, and the next one hears of it too."""
    starts(desk, "s0")
    paused(desk)
    desk.clock.ms += 3 * DAY_MS

    def refuses(_: object) -> None:
        raise errors.StoreFull

    with monkeypatch.context() as patch:
        patch.setattr(desk.daemon.parts.store, "write", refuses)
        assert len(starts(desk, "s1")) == 1
    assert len(starts(desk, "s2")) == 1
    assert starts(desk, "s3") == []


@pytest.mark.parametrize("kept", [b"", b"\xc1", msgspec.msgpack.encode({"a": 1}), msgspec.msgpack.encode(["text"])])
def test_what_was_told_and_cannot_be_read_is_told_again(desk: Desk, kept: bytes) -> None:
    """Whatever stands in the store: never silence."""
    paused(desk)
    starts(desk, "s1")
    desk.daemon.parts.store.write(lambda txn: txn.put_setting("notice/told", kept))
    desk.clock.ms += 3 * DAY_MS
    assert len(starts(desk, "s2")) == 1
    assert starts(desk, "s3") == []


def test_what_was_told_is_looked_for_only_where_something_is_long_over(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start stands on the way of a hook: it asks nothing more where nothing was paused, or a pause stands or is just over."""
    asked: list[str] = []

    def nothing(_: object) -> frozenset[bytes]:
        asked.append("told")
        return frozenset()

    monkeypatch.setattr(notices, "_known_told", nothing)
    starts(desk, "s1")
    change(desk, "hold", "off")
    starts(desk, "s2")
    change(desk, "pause", "1h")
    starts(desk, "s3")
    assert asked == []
    desk.clock.ms += 3 * DAY_MS
    assert len(told(desk.start("s4", receipt=False))) == 2
    assert asked == ["told"]


def test_a_person_told_of_nothing_keeps_nothing(desk: Desk) -> None:
    """What a signature began is no news to its own hand, however long ago it was."""
    person = Person(desk)
    desk.clock.ms += (limits.ENROLMENT_TOLD_DAYS + 1) * DAY_MS
    signed(desk, person, "pause", "1h")
    desk.clock.ms += 3 * DAY_MS
    assert starts(desk, "s1") == []
    with desk.daemon.parts.store.read() as snapshot:
        assert snapshot.setting("notice/told") is None


def test_old_deliveries_take_nothing_with_them(desk: Desk) -> None:
    """What was told stays told when the ledger lets the delivery go."""
    paused(desk)
    starts(desk, "s1")
    desk.clock.ms += 200 * DAY_MS
    assert desk.daemon.later.retention.prune(now_ms=desk.clock.ms) >= 1
    assert starts(desk, "s2") == []
