"""Nothing leaves the machine, and nothing of a library's own appears in a person's home."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from memd_daemon.index import native

THROUGH_MEMD = """
from memd_daemon.index.embed import Embedder
one = Embedder(); one.load(); one.embed("a text")
"""


def files_left(code: str, home: Path) -> list[str]:
    """What a process that runs ``code`` leaves in an empty home."""
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], env=env, check=True, cwd=home)
    return sorted(str(p.relative_to(home)) for p in home.rglob("*") if p.is_file())


def test_a_model_run_leaves_no_identifier_and_no_cache(tmp_path: Path) -> None:
    """The runtime's uploader keeps a device id and a database of events in the home where it is on; memd turns it off."""
    assert files_left(THROUGH_MEMD, tmp_path) == []


def test_the_runtime_still_goes_by_the_name_that_memd_sets() -> None:
    """Were the switch renamed, the test above could pass for another reason; nothing is started to find out."""
    library = find_spec("onnxruntime")
    assert library is not None
    assert library.origin is not None
    extensions = [file.read_bytes() for file in (Path(library.origin).parent / "capi").glob("*.so*")]
    assert extensions
    if not any(b"OneCollector" in extension for extension in extensions):
        pytest.skip("this onnxruntime has no uploader")
    assert any(name.encode() in extension for name in native.NO_TELEMETRY for extension in extensions)
