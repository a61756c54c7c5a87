"""What stands in `<private>` is stored nowhere, whatever it came in by; under a pause nothing that is captured is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_client import api
from tests.service.desk import Desk, desk_at, git

CANARY = "mallard-canary"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with desk_at(tmp_path) as opened:
        opened.start("s1")
        yield opened


def home_has(desk: Desk, words: str) -> list[str]:
    """Files under the home that have these words; the ledger's and the store's maps are written through by then."""
    return [file.name for file in desk.home.rglob("*") if file.is_file() and words.encode() in file.read_bytes()]


@pytest.mark.parametrize("text", [f"Open <private>{CANARY} x</private> shut.", f"Open <PRIVATE >{CANARY}\nto the end"])
@pytest.mark.parametrize("door", ["turn", "note", "reason", "tag", "excerpt", "commit", "result", "query"])
def test_private_words_are_kept_nowhere(desk: Desk, door: str, text: str) -> None:
    """A block that is never closed runs to the end."""
    line = " ".join(text.split())
    match door:
        case "turn":
            desk.prompt(text)
            assert desk.ask(api.Turns()).turns[0].text.startswith("Open ")
        case "note":
            made = desk.remember(text)
            assert made.redacted
        case "reason":
            desk.act("revoke", desk.remember("Anything at all.").id, reason=text)
        case "tag":
            desk.remember("Anything at all.", tags=[line])
        case "excerpt":
            desk.prompt(text)
            desk.remember("Anything at all.", evidence=[(1, text)])
        case "commit":
            git(desk.repo, "commit", "-q", "--allow-empty", "-m", line)
            desk.hook("git-commit", b"")
        case "result":
            desk.result("WebFetch", {"url": f"https://docs.example/?q={CANARY}-long", "prompt": text}, {"result": text})
            desk.daemon.parts.reading.join()
        case _:
            desk.recall(text, env={"CLAUDE_CODE_SESSION_ID": "s1"})
    assert home_has(desk, CANARY) == []


def test_nothing_is_captured_under_a_pause(desk: Desk) -> None:
    """Neither turn nor commit nor what a tool gave; what somebody asks to record is."""
    desk.ask(api.ChangeSetting(key="pause", values=["on"], cwd=str(desk.repo)))
    desk.prompt(f"Said {CANARY} aloud.")
    git(desk.repo, "commit", "-q", "--allow-empty", "-m", f"{CANARY} in a commit")
    desk.hook("git-commit", b"")
    page = f"{CANARY} on a page that says a few more words than one would think."
    desk.result("WebFetch", {"url": "https://docs.example/", "prompt": "what"}, {"result": page})
    desk.daemon.parts.reading.join()
    assert desk.ask(api.Turns()).turns == []
    assert desk.daemon.parts.ledger.results_of("s1") == []
    assert desk.ask(api.ListNotes(cwd=str(desk.repo))).notes == []
    assert home_has(desk, CANARY) == []
    assert desk.remember("Recorded by hand.").id == 1
