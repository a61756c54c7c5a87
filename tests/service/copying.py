"""Tools that give a session words, and notes that have them."""

from pathlib import Path
from typing import Any

from memd_client import api
from memd_daemon.model.tool_result import ToolResult
from memd_daemon.model.turn import Turn, Witness
from memd_daemon.model.words import Attestation
from tests.service.desk import Desk

ENV = {"CLAUDE_CODE_SESSION_ID": "s1"}
URL = "https://docs.example/importer"
PAGE = (
    "The importer reads its queue in batches of fifty rows. When a batch fails it is tried three times more with a growing "
    "pause, and after the third failure the whole batch is parked until a person has looked at the first row that was refused."
)
COPY = (
    "When a batch fails it is tried three times more, with a growing pause, "
    "and after the third failure the whole batch is parked."
)
README = "Always run the whole test suite before you push a branch, since the nightly build cannot tell whose change broke it.\n"
RULE = "Always run the whole test suite before you push a branch."


def page(desk: Desk, session: str = "s1", **more: Any) -> None:
    assert desk.result("WebFetch", {"url": URL, "prompt": "what"}, {"result": PAGE}, session, **more) == ""


def shell(desk: Desk, command: str, said: str, session: str = "s1", **more: Any) -> None:
    assert desk.result("Bash", {"command": command}, {"stdout": said, "stderr": ""}, session, **more) == ""


def read(desk: Desk, file: Path, session: str = "s1", **more: Any) -> None:
    said = {"type": "text", "file": {"filePath": str(file), "content": file.read_text()}}
    payload = desk.payload(
        "PostToolUse", session, tool_name="Read", tool_input={"file_path": str(file)}, tool_response=said, **more
    )
    desk.hook("read", payload)


def written(desk: Desk, content: str = COPY, *, env: dict[str, str] = ENV, **words: Any) -> tuple[str, str]:
    """(type, ref) of the source that a note is recorded with."""
    made = desk.remember(content, env=env, **words)
    source = desk.ask(api.Show(ref=str(made.id))).note.source
    return source.type, source.ref


def say(desk: Desk, words: str, attestation: str = Attestation.TYPED, session: str = "s1") -> None:
    """A turn of the user's."""
    parts = desk.daemon.parts
    turn = Turn(
        uid=parts.new_uid(),
        number=0,
        session=session,
        n=1,
        harness="claude",
        at=parts.now_ms(),
        text=words,
        attestation=attestation,
        witness=Witness(),
    )
    parts.store.write(lambda txn: txn.add_turn(turn))


def results(desk: Desk, session: str = "s1") -> list[ToolResult]:
    desk.daemon.parts.reading.join()
    return desk.daemon.parts.ledger.results_of(session)
