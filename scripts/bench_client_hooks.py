"""What a hook costs inside the real Claude Code, by kind: what the client itself counts, and how long a tool call takes with it.

    .venv/bin/python scripts/bench_client_hooks.py [--rounds 5] [--edits 10] [--json]

The client runs in the lab of tests/e2e (namespaces of its own, a scripted model on loopback; scripts/install_clients.sh puts it
there). In each round every kind has one turn of so many edits, each with one PreToolUse hook of that kind:

    none        no hook
    true        a command: /bin/true
    c           a command: the compiled hook of `memd bench all`, answered by a daemon
    c-launched  the same behind memd's launcher, as it would be shipped
    python      a command: the line that an install writes, answered by the same daemon
    http        a loopback http hook, whose server answers {} at once

Two figures of each from the client's own debug log, medians over all calls, quartiles in brackets: **counted**, the milliseconds
that it notes for the hook (of http: from its request to the answer); **ahead**, from the first byte of the model's answer to the
moment at which the client begins the edit.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "client"), str(ROOT / "hooks")]

from tests.e2e.lab import Lab  # noqa: E402
from tests.e2e.model import Rule, answer, text, tool  # noqa: E402

from memd_client.cli import bench_all_compiled, bench_report  # noqa: E402 -- after the path of this checkout
from memd_client.cli.bench_scratch import Scratch  # noqa: E402

KINDS = ("none", "true", "c", "c-launched", "python", "http")
PORT = 8765  # in the lab's own network
COUNTED = re.compile(r"Hooks: PreToolUse:Edit .*\((\d+)ms\)")
ASKED, ANSWERED = (re.compile(rf"^(\S+)Z .*Hooks: HTTP hook {what}", re.MULTILINE) for what in ("POST", "response"))
AHEAD = re.compile(r"^(\S+)Z .*(?:(Stream started)|tool_dispatch_start tool=Edit)", re.MULTILINE)
SERVER = f"""
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{{}}")
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", {PORT}), Handler)
print("ready", flush=True)
server.serve_forever()
"""


def main() -> None:
    """The table, or JSON."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--rounds", type=int, default=5)
    given.add_argument("--edits", type=int, default=10)
    given.add_argument("--json", action="store_true")
    given.add_argument("--keep-log", type=Path, help="copy the client's last debug log of each kind into this folder")
    asked = given.parse_args()
    found = subprocess.run(
        [ROOT / "scripts" / "install_clients.sh", "--where"], capture_output=True, text=True, check=True
    )
    with lab(Path(found.stdout.strip())) as made, hooks(made) as by_kind:
        samples: dict[str, dict[str, list[float]]] = {kind: defaultdict(list) for kind in KINDS}
        for number in range(asked.rounds):
            print(f"round {number + 1} of {asked.rounds}", file=sys.stderr)
            for kind in KINDS:
                turn(made, by_kind[kind], asked.edits, samples[kind])
                if asked.keep_log:
                    shutil.copy(newest_log(made), asked.keep_log / f"{kind}.txt")
    rows = [{"kind": kind, **{name: figures(took) for name, took in samples[kind].items()}} for kind in KINDS]
    report = {"machine": machine(), "rounds": asked.rounds, "edits": asked.edits, "rows": rows}
    print(json.dumps(report, indent=1) if asked.json else told(report))


def machine() -> dict[str, Any]:
    """Where it was measured."""
    return dict(msgspec.to_builtins(bench_report.machine("")))


def figures(took: Sequence[float]) -> dict[str, float]:
    """Median and quartiles, milliseconds."""
    low, middle, high = statistics.quantiles(took, n=4, method="inclusive")
    return {"median": round(middle, 1), "p25": round(low, 1), "p75": round(high, 1), "count": len(took)}


def told(report: dict[str, Any]) -> str:
    """A line for each kind."""
    lines = [json.dumps(report["machine"])]
    for row in report["rows"]:
        parts = [row["kind"].ljust(11)]
        for name in ("counted", "ahead"):
            one = row.get(name)
            said = f"{one['median']} ({one['p25']}-{one['p75']}) ms" if one else "-"
            parts.append(f"{name} {said}".ljust(34))
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


@contextmanager
def lab(claude: Path) -> Iterator[Lab]:
    """A lab that goes with the block."""
    folder = Path(tempfile.mkdtemp(prefix="e2e-", dir="/tmp"))
    made = Lab(folder, claude)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder)


@contextmanager
def hooks(made: Lab) -> Iterator[dict[str, dict[str, Any] | None]]:
    """The hook of each kind, as it stands in the client's settings; the daemon and the http server run."""
    made.memd("install", "--harness", "claude", "--user", "--json")
    made.settings.unlink()  # the launchers are there; which hooks there are is this script's to say
    made.memd("start")
    line = made.memd("hook-command", "pre-edit", "--harness", "claude").out.strip()
    home = made.home / ".local/share/memd"
    binary = bench_all_compiled.compile_hook(made.folder)
    launcher = made.folder / "hook"
    launcher.write_text(bench_all_compiled.launched_text(at(home), binary))
    launcher.chmod(0o755)
    server = subprocess.Popen(
        made.namespace.command([sys.executable, "-I", "-c", SERVER], made.repository), stdout=subprocess.PIPE
    )
    assert server.stdout
    server.stdout.readline()
    by_kind = {
        "none": None,
        "true": command("/bin/true"),
        "c": command(f"{binary} pre-edit claude"),
        "c-launched": command(f"{launcher} pre-edit claude"),
        "python": command(line),
        "http": {"type": "http", "url": f"http://127.0.0.1:{PORT}/"},
    }
    try:
        yield by_kind
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def at(home: Path) -> Scratch:
    """A place with this home, for the launcher's text."""
    made = Scratch(home.parent)
    made.home = home
    return made


def command(line: str) -> dict[str, Any]:
    return {"type": "command", "command": line}


def turn(made: Lab, hook: dict[str, Any] | None, edits: int, into: dict[str, list[float]]) -> None:
    """One headless turn with a read and so many edits."""
    configured = {"PreToolUse": [{"matcher": "Edit", "hooks": [hook]}]} if hook else {}
    settings = made.repository / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"hooks": configured}))
    made.model.script(*script(made, edits))
    made.claude("Swap the terms.", "--debug")
    log = newest_log(made).read_text(errors="replace")
    took = ahead(log)
    assert len(took) == edits, f"the client tells of {len(took)} edits"
    into["ahead"] += took[1:]  # not the first: the client opens what it has not used yet
    if hook:
        into["counted"] += counted(log)[1:]


def ahead(log: str) -> list[float]:
    """The milliseconds between an answer's first byte and its edit."""
    moments = AHEAD.findall(log)
    pairs = itertools.pairwise(moments)
    return [between(began, at) for (began, is_stream), (at, is_next) in pairs if is_stream and not is_next]


def counted(log: str) -> list[float]:
    """The milliseconds of each hook."""
    if told := COUNTED.findall(log):
        return [float(one) for one in told]
    moments = zip(ASKED.findall(log), ANSWERED.findall(log), strict=True)
    return [between(began, at) for began, at in moments]


def between(began: str, at: str) -> float:
    return (datetime.fromisoformat(at) - datetime.fromisoformat(began)).total_seconds() * 1_000


def script(made: Lab, edits: int) -> list[Rule]:
    """What the model says: a read, edits there and back, the end."""
    forms = ("return a + b", "return b + a")
    now = forms.index(next(form for form in forms if form in made.app.read_text()))
    said = [tool("Read", file_path=str(made.app))]
    said += [
        tool("Edit", file_path=str(made.app), old_string=forms[(now + n) % 2], new_string=forms[(now + n + 1) % 2])
        for n in range(edits)
    ]
    return [*map(answer, said), answer(text("Done."))]


def newest_log(made: Lab) -> Path:
    """The client's debug log of its last session."""
    return max((made.home / ".claude" / "debug").glob("*-*.txt"), key=lambda file: file.stat().st_mtime_ns)


if __name__ == "__main__":
    main()
