"""Real processes that stand as a client and what it starts: memd asks the system, and so do these tests."""

import contextlib
import fcntl
import os
import subprocess
import termios
from collections.abc import Callable, Iterator
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
def client(
    folder: Path, name: str = "claude", *above: str, words: tuple[str, ...] = (), on_terminal: bool = False
) -> Iterator[Client]:
    """A client called ``name``, with the clients ``above`` it, the outermost first, and ``words`` on the first one's command line;
    ``on_terminal``: all of them have one. Every process ends with the block."""
    shells = [_shell(folder, one) for one in (*above, name)]
    script = _CHILDREN
    for shell in reversed(shells[1:]):
        script = f"exec 4<&0; {shell} -c '{script}' <&4 & wait"
    with (
        _terminal(on_terminal) as take,
        subprocess.Popen(
            [shells[0], "-c", script, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=take
        ) as run,
    ):
        assert run.stdout is not None
        assert run.stdin is not None
        try:
            hook, carrier = (int(run.stdout.readline()) for _ in range(2))
            yield Client(run.pid, hook, carrier)
        finally:
            run.stdin.close()


@contextlib.contextmanager
def _terminal(is_wanted: bool) -> Iterator[Callable[[], None]]:
    """How a process comes to have a terminal of its own, or to have none, whatever these tests were started from."""
    if not is_wanted:
        yield os.setsid
        return
    ours, theirs = os.openpty()

    def take() -> None:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    try:
        yield take
    finally:
        os.close(theirs)
        os.close(ours)


def _shell(folder: Path, name: str) -> Path:
    """A shell under another name, by which the system then knows its process."""
    shell = folder / name
    if not shell.exists():
        shell.symlink_to("/bin/sh")
    return shell
