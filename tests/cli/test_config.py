"""`memd config`, `pause`, `resume`, `ignore` and `only` as a shell runs them, and as a person at a terminal signs them."""

import os

import msgspec
import pytest

from memd_client import api, signing
from memd_client.cli.config import checked, shown
from memd_client.cli.sign import PlanDiffers
from tests.cli.world import PASSPHRASE, World

KEYS = [
    "budget.session_start",
    "budget.prompt",
    "budget.edit",
    "budget.subagent",
    "gate.cosine",
    "gate.idf_share",
    "hold",
    "idle_exit_hours",
    "retention.turns_days",
    "pause",
    "ignore",
    "only",
]


def test_every_setting_is_listed_with_what_it_is(world: World) -> None:
    """As JSON and for a reader; a key that does nothing is no key."""
    told = world.memd("config", "list", "--json").json
    assert [one["key"] for one in told] == KEYS
    assert not any(one["is_set"] for one in told)
    plain = world.memd("config", "list").out.decode()
    assert [line.split()[0] for line in plain.splitlines()] == KEYS
    assert "default" in plain


def test_a_setting_is_changed_read_and_taken_back(world: World) -> None:
    """`get` says what it takes; `log` has every change; the change says that it is not signed."""
    changed = world.memd("config", "set", "budget.prompt", "300", "--json").json
    assert (changed["setting"]["value"], changed["setting"]["signed"], changed["effect"]) == (300, False, "applied")
    assert "not signed" in changed["told"][0]
    got = world.memd("config", "get", "budget.prompt").out.decode()
    assert got.startswith("budget.prompt = 300\n")
    assert "default 800; takes 0 to 8000 tokens" in got
    assert world.memd("config", "set", "budget.prompt", "300", "--json").json["effect"] == "kept"
    assert world.memd("config", "unset", "budget.prompt").out == b"budget.prompt = 800\n  " + (
        b"not signed: no session is told of it\n"
    )
    log = world.memd("config", "log", "budget.prompt", "--json").json
    assert [(one["value"], one["effect"], one["surface"]) for one in log] == [
        ("300", "applied", "cli"),
        ("", "applied", "cli"),
    ]
    assert "back to default" in world.memd("config", "log").out.decode()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("config", "set", "budget.session_start", "100"), "bad-setting", "500 to 8000 tokens"),
        (("config", "get", "budget.promt"), "unknown-setting", "did you mean `budget.prompt`?"),
        (("config", "set", "retention.notes_days", "3"), "unknown-setting", "memd config list"),
        (("pause", "--for", "soon"), "bad-setting", "30m, 2h, 1d"),
        (("config", "set", "hold"), "usage", "VALUE"),
    ],
)
def test_a_mistake_is_answered_with_what_would_be_right(
    world: World, words: tuple[str, ...], code: str, says: str
) -> None:
    """Exit 2: the command itself is wrong."""
    ran = world.memd(*words, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, code)
    assert says in ran.err


def test_a_pause_has_an_end_or_is_ended(world: World) -> None:
    """`status` names it meanwhile."""
    assert world.memd("pause", "--json").json["setting"]["value"] == "on"
    assert "setting   pause on" in world.memd("status").out.decode()
    assert world.memd("status", "--json").json["settings"]["changed"][0]["key"] == "pause"
    ended = world.memd("pause", "--for", "2h", "--json").json["setting"]["value"]
    assert ended.endswith("Z")
    assert world.memd("resume").out.startswith(b"pause = off\n")
    assert world.memd("status", "--json").json["settings"] == {"changed": []}


def test_a_repository_is_ignored_by_where_one_stands(world: World) -> None:
    """From any of its folders; the list shows its path, and nothing is changed by showing it."""
    inside = world.repository / "deep"
    inside.mkdir()
    assert world.memd("ignore", cwd=inside).code == 0
    assert world.memd("ignore", "--list").out.decode() == f"{world.repository}\n"
    assert world.memd("ignore", "--list", "--json").json["value"] == [str(world.repository)]
    assert world.memd("ignore", "--undo").out.startswith(b"ignore = none\n")
    assert world.memd("ignore", "--list").err.strip() == "the list `ignore` is empty"
    assert world.memd("only", str(inside), "--json").json["setting"]["value"] == [str(world.repository)]
    assert world.memd("only", "--undo", "--json").json["setting"]["value"] == []
    refused = world.memd("ignore", "nowhere", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "not-ignorable")


def test_to_sign_needs_a_person(world: World) -> None:
    """Without a terminal, or without a key, nothing is changed."""
    ran = world.memd("pause", "--sign", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "no-terminal")
    code, seen = world.at_terminal("pause", "--sign")
    assert code == 1
    assert "memd human init" in seen
    assert world.memd("config", "get", "pause", "--json").json["value"] == "off"


def test_a_person_signs_a_pause_and_only_a_person_ends_it(fresh: World) -> None:
    """What is signed is shown whole; unsigned `resume` is refused with the day."""
    code, seen = fresh.at_terminal("human", "init", answers=[("New passphrase: ", PASSPHRASE), ("again: ", PASSPHRASE)])
    assert code == 0, seen
    code, seen = fresh.at_terminal("pause", "--sign", answers=[("Passphrase: ", PASSPHRASE)])
    assert code == 0, seen
    for line in ("  setting  pause", "  value    on", "  change   off -> on", "pause = on"):
        assert line in seen
    ran = fresh.memd("resume", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "setting-signed")
    code, seen = fresh.at_terminal("resume", "--sign", answers=[("Passphrase: ", PASSPHRASE)])
    assert code == 0, seen
    assert "back to its default" in seen
    assert fresh.memd("config", "get", "pause", "--json").json["is_set"] is False
    assert fresh.memd("verify").code == 0


def test_a_stop_while_nothing_runs_is_marked_too(fresh: World) -> None:
    """The next daemon finds when it was."""
    fresh.memd("start")
    with fresh.client(starts=False) as memd:
        memd.stop(announced=False)
    assert not (fresh.home / "run" / "stopped").exists()
    assert fresh.memd("stop").code == 0
    mark = msgspec.json.decode((fresh.home / "run" / "stopped").read_bytes())
    assert mark["at"] > 1_700_000_000_000
    fresh.memd("start")
    assert not (fresh.home / "run" / "stopped").exists()


# --- what is believed of a plan


STORE, KEY = os.urandom(16), os.urandom(16)


def plan(**changes: object) -> api.Plan:
    """The plan of `config set hold off`; ``changes`` of its body, its payload or itself."""
    payload = {"key": "hold", "value": "off", **{k: v for k, v in changes.items() if k in ("key", "value")}}
    body = {"note": STORE, "type": "setting_changed", "payload": payload, "key_id": KEY}
    body |= {k: v for k, v in changes.items() if k in body}
    event = api.PlanEvent(
        body=msgspec.msgpack.encode(body),
        content="",
        content_salt=b"",
        content_digest=changes.get("content_digest", signing.NO_CONTENT),  # type: ignore[arg-type]  # a test's own
        revision=changes.get("revision", 0),  # type: ignore[arg-type]  # likewise
        act="set",
        id=0,
        change="on -> off",
        kind="",
        scope="",
        priority="",
    )
    return api.Plan(token=b"t", store=STORE, events=[event] * int(str(changes.get("events", 1))), key_id=KEY)


@pytest.mark.parametrize(
    "changes",
    [
        {"note": b"N" * 16},
        {"type": "promoted"},
        {"key": "pause"},
        {"value": ""},
        {"key_id": b"K" * 16},
        {"content_digest": b"c" * 32},
        {"revision": 1},
        {"events": 2},
        {"events": 0},
        {"payload": 1},
    ],
)
def test_a_plan_that_is_not_what_was_asked_for_is_not_signed(changes: dict[str, object]) -> None:
    """Another subject, act, setting, key or content, no value, or another number of events."""
    with pytest.raises(PlanDiffers):
        checked(plan(**changes), "hold", "set")


def test_the_plan_that_was_asked_for_is_shown() -> None:
    """The value as it stands in the event, not as the daemon words it."""
    body = checked(plan(), "hold", "set")
    assert shown(plan().events[0], body.payload.value, "hold")[1:3] == ["  setting  hold", "  value    off"]
    with pytest.raises(PlanDiffers):
        checked(plan(), "hold", "unset")
