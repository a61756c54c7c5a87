"""Nothing leaves the machine, and nothing of a library's own appears in a person's home."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

THROUGH_MEMD = """
from memd_daemon.index.embed import Embedder
one = Embedder(); one.load(); one.embed("a text")
"""

BY_ITSELF = """
import onnxruntime
from memd_daemon.index.embed import MODEL_DATA
onnxruntime.InferenceSession(str(MODEL_DATA / "model.onnx"))
"""


def files_left(code: str, home: Path) -> list[str]:
    """What a process that runs ``code`` leaves in an empty home."""
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], env=env, check=True, cwd=home)
    return sorted(str(p.relative_to(home)) for p in home.rglob("*") if p.is_file())


def test_a_model_run_leaves_no_identifier_and_no_cache(tmp_path: Path) -> None:
    """The runtime's uploader keeps a device id and a database of events in the home where it is on; memd turns it off."""
    assert files_left(THROUGH_MEMD, tmp_path) == []


def test_the_runtime_by_itself_shows_that_the_test_can_see_it(tmp_path: Path) -> None:
    """Without memd's switch the same model leaves such files; where a version does not, there is nothing to turn off."""
    if not files_left(BY_ITSELF, tmp_path):
        pytest.skip("this onnxruntime keeps no device id")
