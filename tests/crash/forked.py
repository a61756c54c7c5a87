"""A piece of work in a process of its own, forked from one that has imported all and opened nothing."""

import os
import traceback
from collections.abc import Callable
from typing import Final

TOLD_MAX_BYTES: Final = 4_000  # of a trace, the end


def told_by(work: Callable[[], str]) -> str:
    """What ``work`` returns; the trace of what it raises, or how its process ended, where it does not return."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        told = "ended without a word"
        try:
            told = work()
        except BaseException:  # noqa: BLE001 - whatever it is, it is what this process has found
            told = traceback.format_exc()
        finally:
            os.write(writing, told.encode()[-TOLD_MAX_BYTES:])
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    return told if status == 0 else f"ended with status {status}: {told}"
