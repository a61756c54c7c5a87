"""The demo proves its own claims; these tests prove that it does, that it leaves nothing, and that it can fail."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from memd_client import address
from memd_client.cli.demo import play, scratch
from memd_client.cli.demo.stage import NotShown, Stage
from memd_client.memd import MemdError
from tests.cli.world import PROGRAM, WAIT_S


def demo(*words: str, temp: Path, **environ: str) -> "subprocess.CompletedProcess[bytes]":
    """`memd demo` with its scratch world under ``temp``."""
    given = {"HOME": "/nowhere", "PATH": os.environ["PATH"], "TMPDIR": str(temp), **environ}
    return subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM, "demo", *words],
        env=given,
        capture_output=True,
        timeout=WAIT_S * 2,
        check=False,
    )


def test_every_scene_shows_what_it_should_and_nothing_is_left(tmp_path: Path) -> None:
    """Also under an agent's shell; the exact words of memd are in it, and the last line says how to go on."""
    done = demo(temp=tmp_path, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="s", MEMD_OFF="1")
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert [f"{n}/7" in text for n in range(1, 8)] == [True] * 7
    for words in (play.DIRECTIVE + play.RULE, play.HELD_ONCE, play.CHANGED, play.STRUCK, play.AUTO):
        assert words in text
    assert text.splitlines()[-1] == "`memd install` puts it into your own client."
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_is_named_and_stopped(tmp_path: Path) -> None:
    """--keep leaves the files and no process."""
    done = demo("--keep", "--json", temp=tmp_path)
    assert done.returncode == 0, done.stderr
    told = msgspec.json.decode(done.stdout)
    assert len(told["scenes"]) == len(play.SCENES)
    kept = Path(told["kept"])
    assert (kept / "repository" / "agent" / "resolver.py").is_file()
    assert address.read(os.fsencode(kept / "home" / "memd")) is None


def test_a_scene_that_does_not_show_it_ends_the_demo() -> None:
    """The message names the scene and what was to be seen."""
    stage = Stage(7, silent=True)
    with pytest.raises(NotShown, match="scene 1 did not show that the rule opens the session"), stage.scene("One"):
        stage.expect("", "the rule opens the session")


@pytest.mark.parametrize("index", range(len(play.SCENES)))
def test_no_scene_passes_when_memd_says_nothing(monkeypatch: pytest.MonkeyPatch, index: int) -> None:
    """Every scene fails with hooks that answer nothing and commands that print nothing."""
    nothing = scratch.Answer("", False, 0.0)

    class Mute:
        session, start = "s", nothing

        def memd(self, *_: str) -> scratch.Ran:
            return scratch.Ran(0, '{"id": 1}' if "--json" in _ else "", "")

        def prompt(self, _: str) -> scratch.Answer:
            return nothing

        def read(self, *_: object) -> scratch.Answer:
            return nothing

        edit = compact = read

    class Nowhere(Mute):
        repository = Path("/nowhere")

        class source:  # noqa: N801 - stands for a path
            parent = Path("/nowhere")
            read_text = staticmethod(lambda: "")
            write_text = staticmethod(lambda _: None)
            relative_to = staticmethod(lambda _: "agent/resolver.py")

        passphrase = "p"
        environ = os.environ

        def agent(self) -> Mute:
            return Mute()

        def client(self) -> "Nowhere":
            return self

        def git(self, *_: str, **__: str) -> str:
            return ""

        def __enter__(self) -> "Nowhere":
            return self

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(play, "enrol", lambda *_: None)
    monkeypatch.setattr(play, "endorse", lambda *_, **__: 1)
    monkeypatch.setattr(play, "forged", lambda *_: None)
    monkeypatch.setattr(scratch, "PATIENCE_S", 0.0)
    monkeypatch.setattr(play, "_commit_note", lambda _: None)
    stage = Stage(7, silent=True)
    title, scene = play.SCENES[index]
    world = play.World(Nowhere(), stage)  # type: ignore[arg-type]
    with pytest.raises(MemdError), stage.scene(title):
        scene(world)
