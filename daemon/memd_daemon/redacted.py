"""What `memd doctor --bundle` passes the log's lines through: a process of its own, since the client may not load the redactor.

It is started as ``python -m memd_daemon.redacted``. In: one JSON list of texts on stdin. Out: one JSON list of the same length,
each of them redacted. It opens nothing of memd's home.
"""

import sys

import msgspec

from memd_daemon.redact import Redactor


def main() -> None:
    redact = Redactor.default().redact
    texts = msgspec.json.decode(sys.stdin.buffer.read(), type=list[str])
    sys.stdout.buffer.write(msgspec.json.encode([redact(text) for text in texts]))


if __name__ == "__main__":
    main()
