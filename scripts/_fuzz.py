"""Fuzzes each target of tests/hostile/targets.py for its share of the time, then tries every attack there. Called by scripts/fuzz.

Prints a line for each target: how many executions, how many inputs its corpus has, and what was found. Exit 0 where nothing was.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_MINUTES = 10.0
INPUT_S = 20  # for one input: what takes longer is a fault
MEMORY_MB = 2_048
EXECUTIONS = re.compile(rb"(?:stat::number_of_executed_units:\s+|Done )(\d+)")


def corpus() -> Path:
    return Path(os.environ.get("MEMD_FUZZ_CORPUS") or Path.home() / ".cache" / "memd-fuzz")


def fuzz(target: str, seconds: int) -> bool:
    """Whether nothing was found in this time."""
    folder, found = corpus() / target, corpus() / "found"
    found.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds}",
        f"-timeout={INPUT_S}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-artifact_prefix={found}/{target}-",
    ]
    command = [sys.executable, "-m", "tests.hostile.fuzzer", target, str(folder), "-print_final_stats=1", *options]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    counts = EXECUTIONS.findall(done.stdout)
    told = f"{int(counts[-1]) if counts else 0:>10,} executions  {len(list(folder.iterdir())):>6,} inputs"
    print(f"{target:<20}{told}  {'ok' if done.returncode == 0 else 'BROKEN'}", flush=True)
    if done.returncode:
        sys.stdout.buffer.write(done.stdout[-4_000:] + b"\n")
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    sys.path.insert(0, str(ROOT))
    from tests.hostile.targets import TARGETS

    minutes = float(arguments[0]) if arguments else DEFAULT_MINUTES
    chosen = arguments[1:] or list(TARGETS)
    passed = True
    if importlib.util.find_spec("atheris"):
        share = max(1, round(minutes * 60 / len(chosen)))
        passed = False not in [fuzz(target, share) for target in chosen]
    else:
        print(
            "NOTE: atheris is not to be had for this Python or machine; the mutations of tests/hostile alone are run",
            file=sys.stderr,
        )
    if arguments[1:]:
        return 0 if passed else 1
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests/hostile"],
        cwd=ROOT,
        env=os.environ | {"MEMD_FUZZ_LONG": "1"},
        check=False,
    )
    return 0 if passed and tests.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
