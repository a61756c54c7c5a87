"""Processes that are killed in the middle of a write: one per step, forked from one that has imported all and opened nothing.

    python -m tests.crash.victims FOLDER NAME     the scene NAME in FOLDER (acts.py); then, line by line on stdin:
    HOME STEP                                     open HOME, do the scene's act, be killed at STEP
                                                  -> one line: what was seen of the victim

STEP is `at N`, the N-th of the steps of steps.py, or `nested N`, the N-th in a nested transaction: the victim stops there and
waits to be killed. Or, with dying.c preloaded, `before N` and `within N`, the N-th call of LMDB that writes to the store's file or
syncs it: there the victim kills itself, within a write behind its first half. N 0 is none: the victim does its act, answers, and
waits.

What is seen: `stopped` at a step; `died` by a kill of its own; `answered ID CALLS`, where the write was acknowledged first, with
the id that its writer was told and how many calls there were. Nothing but SIGKILL ends a victim; else nothing is seen.
"""

import ctypes
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Final

from memd_daemon.index import vectors, words  # noqa: F401 - once for all victims, as in `main`
from memd_daemon.index.embed import QueryTable
from tests.crash.acts import Scene
from tests.crash.steps import Steps, watch
from tests.service.desk import Desk

STOPPED: Final = "stopped"
DIED: Final = "died"
ANSWERED: Final = "answered"
AT, NESTED, BEFORE, WITHIN = "at", "nested", "before", "within"
STOPPING = (AT, NESTED)


def victim(scene: Scene, home: Path, how: str, step: int, told: int) -> None:
    """Does the act and never returns. What is seen of it is written to ``told``, in one write."""

    def stop(number: int, name: str) -> None:
        if number == step:
            os.write(told, STOPPED.encode())
            threading.Event().wait()

    def arm(desk: Desk) -> None:
        if how in STOPPING:
            watch(desk.daemon.parts.store, Steps(stop), nested=how == NESTED)
        else:
            ctypes.CDLL(None).memd_arm(step, int(how == WITHIN))

    with scene.opened(home) as (desk, signer):
        answer = scene.act.run(desk, signer, lambda: arm(desk))
        calls = 0 if how in STOPPING else ctypes.CDLL(None).memd_taken()
        os.write(told, f"{ANSWERED} {answer.id} {calls}".encode())
        while True:
            signal.pause()


def seen_of_victim(scene: Scene, home: Path, how: str, step: int) -> str:
    """See the module's docstring."""
    seen, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(seen)
        try:
            victim(scene, home, how, step, told)
        finally:
            os._exit(1)
    os.close(told)
    said = os.read(seen, 256).decode()  # nothing, where it is dead
    os.close(seen)
    os.kill(child, signal.SIGKILL)  # nobody waited for it yet, so the number is still its own
    _, status = os.waitpid(child, 0)
    return (said or DIED) if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else ""


def main() -> None:
    scene = Scene(Path(sys.argv[1]), sys.argv[2])
    QueryTable()  # with numpy and the table's words, which a victim would load for a tenth of a second
    for line in sys.stdin:
        home, how, step = line.strip().rsplit(" ", 2)
        print(seen_of_victim(scene, Path(home), how, int(step)), flush=True)


if __name__ == "__main__":
    main()
