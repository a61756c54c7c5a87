"""The loop of a measuring child (memd_client/cli/bench_process.py): a request a line in, an answer a line out, both JSON."""

import sys
from typing import Any, Protocol, TypeVar

import msgspec

W = TypeVar("W", contravariant=True)


class Inside(Protocol[W]):
    """What is measured. ``close`` is called when nobody asks any more."""

    def answer(self, wanted: W, /) -> Any: ...
    def close(self) -> None: ...


def serve(inside: Inside[W], wanted: type[W]) -> None:
    """Answers one request after the other until stdin ends. Raises msgspec.DecodeError for what is no request."""
    try:
        for line in sys.stdin.buffer:
            answer = inside.answer(msgspec.json.decode(line, type=wanted))
            sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
            sys.stdout.buffer.flush()
    finally:
        inside.close()
