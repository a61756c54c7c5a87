"""What is preloaded into victims, built when a test asks for it."""

import shutil
import subprocess
import sys
from pathlib import Path


def built(name: str, folder: Path) -> Path | None:
    """The library made from ``name``.c, in ``folder``; None where there is nothing to build it with."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    library, source = folder / f"{name}.so", Path(__file__).with_name(f"{name}.c")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl", "-lpthread"], check=True
    )
    return library
