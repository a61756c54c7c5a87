"""The order of native libraries, each order in a process of its own: a wrong one ends in a crash, not in an exception."""

import platform
import subprocess
import sys

import pytest

COUNT = "from memd_daemon.index.embed import TokenCounter; TokenCounter().count('a')"
EMBED = "from memd_daemon.index.embed import Embedder; e = Embedder(); e.load(); e.embed('a')"
GRAPH = (
    "import numpy as np; from memd_daemon.index.vectors import UsearchIndex; "
    "u = UsearchIndex(4, lambda keys: np.ones((len(keys), 4), np.float16)); u.add(1, np.ones(4, np.float32)); "
    "assert u.search(np.ones(4, np.float32), 1)[0][0] == 1"
)
WORDS = "from memd_daemon.index.words import WordIndex; WordIndex().add(1, 's', 'a')"
SERVER = "import zmq, lmdb"


@pytest.mark.parametrize(
    "steps",
    [
        [GRAPH, EMBED],  # a saved index is loaded before the model
        [EMBED, GRAPH],
        [SERVER, GRAPH, EMBED],
        [SERVER, COUNT, WORDS, GRAPH, EMBED],  # a start with everything
        [WORDS, GRAPH, COUNT, EMBED],
        [COUNT, EMBED, GRAPH],
    ],
    ids=["graph-embed", "embed-graph", "server-graph-embed", "all", "words-graph-count-embed", "count-embed-graph"],
)
def test_every_order_the_daemon_can_take_lives(steps: list[str]) -> None:
    """The process ends with 0 rather than with a signal."""
    done = subprocess.run([sys.executable, "-c", "\n".join(steps)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_the_indexes_imports_no_native_library() -> None:
    """The daemon can name them all and answer before any of them is in."""
    code = (
        "import sys; from memd_daemon.index import embed, exact, fuse, native, port, vectors, words; "
        "print(sorted({'onnxruntime', 'usearch', 'tokenizers', 'tantivy', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no such settings")
def test_the_heap_takes_its_settings() -> None:
    """glibc answers that it took all of them, and the process goes on to use every library."""
    code = "from memd_daemon.index import native; assert native.keep_heap_small()"
    done = subprocess.run([sys.executable, "-c", "\n".join([code, WORDS, GRAPH, EMBED])], check=False)
    assert done.returncode == 0
