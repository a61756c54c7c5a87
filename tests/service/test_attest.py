"""When a turn is known to have been typed: what was seen of processes, what the transcript says, and what is taken back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memd_client import api, wire
from memd_daemon import limits
from memd_daemon.frames.attested import WHY_NOT_TYPED, why_not_typed
from memd_daemon.model.turn import Raised, Turn, Why
from memd_daemon.service import attest, witness
from tests.hooks.rows import Claude, line
from tests.service import processes
from tests.service.desk import Desk

PERSON = b"CLAUDE_CODE_ENTRYPOINT=cli\n"
WORDS = "Never commit to main."


class Seat:
    """A person at a client whose transcript the test writes, as the client would."""

    def __init__(self, desk: Desk, folder: Path, pid: int, session: str = "s1") -> None:
        self.desk, self.pid, self.session = desk, pid, session
        self.file = folder / ".claude" / "projects" / "-repo" / f"{session}.jsonl"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.made = Claude(session, desk.clock.ms)
        self._written = 0

    def tells(self, text: str = WORDS, prompt_id: str = "p1", path: Path | None = None, env: bytes = PERSON) -> Turn:
        """The prompt's hook is called; the turn as it was stored."""
        payload = self.payload(text, prompt_id, path)
        self.desk.hook("prompt-submit", payload, env=env, pid=self.pid)
        with self.desk.daemon.parts.store.read() as snapshot:
            return next(snapshot.turns(session=self.session))

    def payload(self, text: str, prompt_id: str, path: Path | None = None) -> dict[str, Any]:
        told = self.desk.payload("UserPromptSubmit", self.session, prompt=text, prompt_id=prompt_id)
        return {**told, "transcript_path": str(path or self.file)}

    def types(self, text: str = WORDS, prompt_id: str = "p1", *, answered: bool = True) -> Turn:
        """The whole of it: the hook, the row, the answer."""
        turn = self.tells(text, prompt_id)
        self.made.typed(text, prompt_id)
        if answered:
            self.made.says()
        self.writes()
        return turn

    def writes(self) -> None:
        """What the conversation has grown by goes into the file."""
        with self.file.open("ab") as file:
            file.write(b"".join(line(row) + b"\n" for row in self.made.rows[self._written :]))
        self.file.chmod(0o600)
        self._written = len(self.made.rows)

    def looks(self, turn: Turn) -> attest.Look:
        return attest.look_again(self.desk.daemon.parts, [turn])[turn.number]

    def attested(self, turn: Turn) -> str:
        parts = self.desk.daemon.parts
        with parts.store.read() as snapshot:
            return attest.attested(parts, snapshot, turn)

    def raised(self, turn: Turn) -> Raised | None:
        with self.desk.daemon.parts.store.read() as snapshot:
            return snapshot.raised(turn.number)


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hooks of these tests are called by this very process (test_witness.py asks the system)."""
    monkeypatch.setattr(witness, "is_direct", lambda client, harness: True)


@pytest.fixture
def seat(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: None) -> Iterator[Seat]:
    for marker in witness.MARKERS:
        monkeypatch.delenv(marker, raising=False)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    home = tmp_path / "user"
    monkeypatch.setenv("HOME", str(home))
    with processes.client(tmp_path) as client:
        yield Seat(desk, home, client.hook)


def why(seat: Seat, turn: Turn) -> Why | None:
    look = seat.looks(turn)
    assert (look.attestation == "typed") is (look.why is None)
    return look.why


def test_a_turn_is_typed_once_its_transcript_agrees(seat: Seat) -> None:
    """Until then it is captured, with what is missing; the turn itself stays as it was stored."""
    turn = seat.types(answered=False)
    assert turn.attestation == "captured"
    assert why(seat, turn) is Why.UNANSWERED
    assert seat.attested(turn) == "captured"
    seat.made.says()
    seat.writes()
    assert why(seat, turn) is None
    assert seat.attested(turn) == "typed"
    with seat.desk.daemon.parts.store.read() as snapshot:
        assert snapshot.turn(turn.number) == turn
    raised = seat.raised(turn)
    assert raised is not None
    assert (raised.turn, raised.at, raised.settled) == (turn.uid, seat.desk.clock.ms, False)


def test_what_the_hook_and_the_transcript_say_is_compared_as_it_is_stored(seat: Seat) -> None:
    """Redacted and in NFC on both sides, cut where it is too long."""
    secret = "AKIA" + "Q3EGRIVVTM2KDXWZ"
    for number, text in enumerate([f"deploy with {secret}", "cafe\u0301 is open", "x" * (limits.TURN_MAX_BYTES + 9)]):
        turn = seat.types(text, f"p{number}")
        assert turn.text != text
        assert why(seat, turn) is None


def test_the_next_hooks_of_the_session_look(seat: Seat) -> None:
    """Behind the answer; nobody has to ask."""
    turn = seat.types()
    seat.desk.clock.ms += limits.LOOK_PAUSE_MS
    seat.desk.edit("app.py")
    seat.desk.daemon.parts.behind.join()
    assert seat.attested(turn) == "typed"


def test_a_turn_that_cannot_be_typed_is_not_looked_at_for_ever(seat: Seat) -> None:
    """What its next rows change nothing about, and what did not come in so many hooks, is left to who asks."""
    unsettled = seat.desk.daemon.parts.unsettled
    other = seat.tells(prompt_id="p0")
    seat.made.typed("other words", "p0")
    seat.made.says()
    seat.writes()
    assert why(seat, other) is Why.OTHER_WORDS
    assert not unsettled.is_due("s1", 1 << 62)
    turn = seat.tells("never answered", "p2")
    assert unsettled.due("s1", seat.desk.clock.ms) == []
    pauses = []
    for _ in range(limits.LOOKS_MAX):
        began = seat.desk.clock.ms
        while not unsettled.is_due("s1", seat.desk.clock.ms):
            seat.desk.clock.ms += limits.LOOK_PAUSE_MS
        assert unsettled.due("s1", seat.desk.clock.ms) == [turn.number]
        pauses.append(seat.desk.clock.ms - began)
    assert not unsettled.is_due("s1", 1 << 62)
    assert pauses == [limits.LOOK_PAUSE_MS << n for n in range(limits.LOOKS_MAX)]
    assert sum(pauses) > limits.RAISE_SETTLES_MS


def test_what_goes_on_from_elsewhere_is_taken_back_for_good(seat: Seat) -> None:
    """Rows that agreed, and that the client then writes past: whoever put them in has no second chance."""
    seat.types("good morning", "p0")
    last = seat.made.rows[-1]
    turn = seat.tells()
    forged = seat.made.typed(WORDS, "p1")
    seat.made.says()
    seat.writes()
    assert why(seat, turn) is None
    seat.made.says(parentUuid=last["uuid"])
    seat.writes()
    assert why(seat, turn) is Why.WITHDRAWN
    assert seat.attested(turn) == "captured"
    seat.made.says(parentUuid=forged["uuid"])
    seat.writes()
    assert why(seat, turn) is Why.WITHDRAWN


def test_a_raise_is_settled_after_a_while(seat: Seat) -> None:
    """Once the conversation has gone on longer than any command holds it up, its transcript is not read again."""
    turn = seat.types()
    assert why(seat, turn) is None
    seat.made.says()
    seat.writes()
    assert why(seat, turn) is None
    assert (raised := seat.raised(turn)) is not None
    assert not raised.settled
    seat.desk.clock.ms += limits.RAISE_SETTLES_MS + 1
    seat.made.says()
    seat.writes()
    assert why(seat, turn) is None
    assert (raised := seat.raised(turn)) is not None
    assert raised.settled
    seat.file.unlink()
    assert why(seat, turn) is None
    assert not seat.desk.daemon.parts.unsettled.is_due("s1", 1 << 62)


def test_a_transcript_that_goes_takes_nothing_back(seat: Seat) -> None:
    """Clients throw old ones away."""
    turn = seat.types()
    assert why(seat, turn) is None
    seat.file.unlink()
    assert why(seat, turn) is None


def test_a_transcript_that_has_not_grown_is_read_once(seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found stands until it grows."""
    turn = seat.types(answered=False)
    assert why(seat, turn) is Why.UNANSWERED
    with monkeypatch.context() as patched:
        patched.setattr(attest.transcripts, "stretch", lambda *_: pytest.fail("it was read again"))
        assert why(seat, turn) is Why.UNANSWERED


def test_what_there_is_no_time_for_says_so(seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question about many turns reads so long, and is answered."""
    turn = seat.types()
    with monkeypatch.context() as patched:
        patched.setattr(limits, "TRANSCRIPT_ROUND_MS", -1)
        assert why(seat, turn) is Why.NOT_LOOKED
    assert why(seat, turn) is None


def test_the_transcript_must_be_where_the_client_keeps_it(seat: Seat, tmp_path: Path) -> None:
    """Neither elsewhere nor under another session's name, and no file that somebody else may have made."""
    elsewhere = tmp_path / "s1.jsonl"
    assert why(seat, seat.tells("one", "p1", elsewhere)) is Why.OUTSIDE
    assert why(seat, seat.tells("two", "p2", seat.file.with_name("s2.jsonl"))) is Why.OUTSIDE
    assert why(seat, seat.tells("three", "p3", seat.file.parent / ".." / "-repo" / "s1.jsonl")) is Why.OUTSIDE
    turn = seat.tells("four", "p4")
    assert why(seat, turn) is Why.MISSING
    elsewhere.write_text("")
    seat.file.symlink_to(elsewhere)
    assert why(seat, turn) is Why.UNFIT


def test_a_row_from_before_the_hook_counts_for_nothing(seat: Seat) -> None:
    """The client writes the prompt's row when its hooks have ended."""
    seat.made.typed(WORDS, "p1")
    seat.made.says()
    seat.writes()
    assert why(seat, seat.tells()) is Why.ABSENT


def test_a_file_that_was_put_in_the_place_of_the_transcript(seat: Seat) -> None:
    """Another inode than when the hook was called, or fewer bytes."""
    seat.types("good morning", "p0")
    turn = seat.types()
    content = seat.file.read_bytes()
    new = seat.file.with_name("new")
    new.write_bytes(content)
    new.chmod(0o600)
    new.replace(seat.file)
    assert why(seat, turn) is Why.UNFIT


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nested": True}, Why.NESTED),
        ({"client_pid": 0}, Why.NO_CLIENT),
        ({"marker": "CLAUDECODE"}, Why.MARKED),
        ({"direct": False}, Why.NOT_DIRECT),
        ({"transcript_path": ""}, Why.UNREAD),
        ({"transcripts": ""}, Why.OUTSIDE),
    ],
)
def test_what_was_seen_of_the_processes_counts_first(seat: Seat, change: dict[str, Any], reason: Why) -> None:
    """One thing that was not as it has to be is enough, whatever the transcript says."""
    turn = seat.types()
    turn = msgspec.structs.replace(turn, witness=msgspec.structs.replace(turn.witness, **change))
    assert why(seat, turn) is reason


def test_a_client_that_no_transcript_is_known_of(seat: Seat) -> None:
    """What memd cannot read says nothing for anybody."""
    assert why(seat, msgspec.structs.replace(seat.types(), harness="gemini")) is Why.UNREAD


def test_the_environment_that_the_client_was_started_with_tells_of_a_harness(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: None
) -> None:
    """Also where that harness's process has gone; and an editor's own mark is none."""
    for marker in witness.MARKERS:
        monkeypatch.delenv(marker, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "claude-vscode")
    with processes.client(tmp_path) as client:
        assert Seat(desk, tmp_path / "user", client.hook).tells().witness.marker == ""
    monkeypatch.setenv("CODEX_CI", "1")
    with processes.client(tmp_path) as client:
        seat = Seat(desk, tmp_path / "user", client.hook, "s2")
        assert why(seat, seat.types()) is Why.MARKED


@pytest.mark.parametrize(
    ("above", "env", "reason"),
    [
        ((), b"CLAUDE_CODE_ENTRYPOINT=sdk-cli\n", Why.NO_PERSON),
        ((), b"", Why.NO_PERSON),
        (("claude",), PERSON, Why.NESTED),
    ],
)
def test_headless_stays_headless(
    desk: Desk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    direct: None,
    above: tuple[str, ...],
    env: bytes,
    reason: Why,
) -> None:
    """No transcript raises what no person's client sent."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    with processes.client(tmp_path, "claude", *above) as client:
        seat = Seat(desk, tmp_path / "user", client.hook)
        turn = seat.tells(env=env)
        seat.made.typed(WORDS, "p1")
        seat.made.says()
        seat.writes()
        assert turn.attestation == "headless"
        assert why(seat, turn) is reason
        assert seat.attested(turn) == "headless"


def spool(seat: Seat, text: str, prompt_id: str) -> None:
    """A hook that found nobody has written its call aside."""
    payload = json.dumps(seat.payload(text, prompt_id)).encode()
    call = wire.Hook(b"q" * 16, 0, 0, "claude", "prompt-submit", str(seat.desk.repo).encode(), PERSON, payload)
    folder = seat.desk.home / "spool"
    folder.mkdir(mode=0o700, exist_ok=True)
    at_ns = seat.desk.clock.ms * limits.NS_PER_MS
    (folder / wire.spool_name(call.request_id, at_ns).decode()).write_bytes(
        wire.encode_spool(wire.Spooled(call, at_ns))
    )


def test_a_turn_out_of_the_spool_leans_on_a_live_one(seat: Seat) -> None:
    """Its own processes nobody saw; those of another prompt of its session count, once they were as they have to be."""
    spool(seat, WORDS, "p1")
    seat.made.typed(WORDS, "p1")
    seat.made.says()
    seat.writes()
    seat.desk.prompt("elsewhere", session="s2")  # brings the spool in
    with seat.desk.daemon.parts.store.read() as snapshot:
        (turn,) = snapshot.turns(session="s1")
    assert turn.attestation == "replayed"
    assert why(seat, turn) is Why.UNWITNESSED
    seat.types("go on", "p2")
    assert why(seat, turn) is None
    assert seat.attested(turn) == "typed"


def test_a_headless_turn_is_no_witness_for_a_spooled_one(seat: Seat) -> None:
    """Nor is one that did not pass by itself."""
    spool(seat, WORDS, "p1")
    seat.made.typed(WORDS, "p1")
    seat.made.says()
    seat.writes()
    seat.tells("printed", "p2", env=b"CLAUDE_CODE_ENTRYPOINT=sdk-cli\n")
    with seat.desk.daemon.parts.store.read() as snapshot:
        turn = next(one for one in snapshot.turns(session="s1") if one.witness.spooled)
    assert why(seat, turn) is Why.UNWITNESSED


def test_turns_tells_what_is_known_and_what_is_missing(seat: Seat) -> None:
    """`memd turns` looks itself; one phrase for each reason."""
    seat.types(answered=False)
    (told,) = seat.desk.ask(api.Turns()).turns
    assert (told.attestation, told.not_typed) == ("captured", WHY_NOT_TYPED[Why.UNANSWERED])
    seat.made.says()
    seat.writes()
    (told,) = seat.desk.ask(api.Turns()).turns
    assert (told.attestation, told.not_typed) == ("typed", "")


def test_every_reason_has_its_phrase() -> None:
    """One line each, no two alike."""
    assert set(WHY_NOT_TYPED) == set(Why)
    assert len(set(WHY_NOT_TYPED.values())) == len(Why)
    assert all(phrase == " ".join(phrase.split()) for phrase in WHY_NOT_TYPED.values())
    assert why_not_typed(None) == ""
