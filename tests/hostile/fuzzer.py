"""One target under atheris, which looks for inputs that reach new code: ``python -m tests.hostile.fuzzer TARGET CORPUS [options]``.

``CORPUS``: a folder of inputs, which grows; the target's seeds are put into it. Options are libFuzzer's (``-max_total_time=60``,
``-runs=…``, ``-artifact_prefix=…``). Ends with another code than 0 at an input that breaks the target's promise, and prints it.
"""

import hashlib
import sys
from pathlib import Path

import atheris  # type: ignore[import-untyped]

with atheris.instrument_imports(include=["memd_client", "memd_hooks", "memd_daemon"]):  # pyright: ignore[reportAttributeAccessIssue]
    from tests.hostile.targets import TARGETS

INPUT_MAX_BYTES = 4_096  # what breaks a parser is small; larger inputs only make it slow


def main(name: str, corpus: Path, options: list[str]) -> None:
    """Runs until the options say that it is enough."""
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in TARGETS[name].seeds:
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)

    def run(raw: bytes) -> None:
        try:
            TARGETS[name].run(raw)
        except Exception:
            print(f"\n{name} breaks on {raw!r}", flush=True)
            raise

    atheris.Setup([sys.argv[0], str(corpus), f"-max_len={INPUT_MAX_BYTES}", *options], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
