"""Real processes that stand as a client and what it starts: memd asks the system, and so do these tests."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

# Two children that live until their standard input ends. In the background a shell would give them none of its own.
_CHILDREN = "exec 3<&0; cat <&3 & echo $!; cat <&3 & echo $!; wait"


class Client(msgspec.Struct, frozen=True):
    """A client's process, and two that it started: pids."""

    pid: int
    hook: int
    carrier: int


@contextlib.contextmanager
def client(folder: Path, name: str = "claude", *above: str, words: tuple[str, ...] = ()) -> Iterator[Client]:
    """A client called ``name``, with the clients ``above`` it, the outermost first, and ``words`` on the first one's command line.
    Every process ends with the block."""
    shells = [_shell(folder, one) for one in (*above, name)]
    script = _CHILDREN
    for shell in reversed(shells[1:]):
        script = f"exec 4<&0; {shell} -c '{script}' <&4 & wait"
    with subprocess.Popen(
        [shells[0], "-c", script, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdin is not None
        try:
            hook, carrier = (int(run.stdout.readline()) for _ in range(2))
            yield Client(run.pid, hook, carrier)
        finally:
            run.stdin.close()


def _shell(folder: Path, name: str) -> Path:
    """A shell under another name, by which the system then knows its process."""
    shell = folder / name
    if not shell.exists():
        shell.symlink_to("/bin/sh")
    return shell
