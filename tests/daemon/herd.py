"""Many sessions of a client in a PID namespace of their own, hooks and clients killed at any moment; run as its first process.

usage: herd.py HOME REPOSITORY SESSIONS SEED

Each session is a process group: a client (a shell) that runs its hooks one after the other. Clients and hooks get SIGKILL at any
moment, as the seed has it. Prints one JSON object: the processes left when all hooks have had their time ({pid: command}, this
process apart), those of them that this one has adopted, how many clients were killed, and the processes left after `memd stop`.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from memd_client import Memd

EVENTS = ("session-start", "prompt-submit", "pre-edit", "stop", "session-end")
AT_ONCE = 10
STRIKES = 0.1  # of the looks at a full herd: about a third of the clients do not come to their end
WAIT_S = 60.0


def processes() -> dict[int, str]:
    """Every process of this namespace but this one; a zombie is none."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            try:
                stat = (process / "stat").read_text()
                if stat[stat.rindex(")") + 2] not in "ZX":
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # gone meanwhile
                continue
    return found


def reap() -> None:
    """What has ended: this process adopts orphans, as init does."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def session(home: Path, repository: Path, number: int) -> "subprocess.Popen[bytes]":
    """A client that runs its hooks, the stdin of some never closed."""
    payload = json.dumps({"session_id": f"s{number}", "cwd": str(repository), "prompt": f"prompt {number}"})
    lines = [f"printf %s '{payload}' | '{home}/bin/hook' {event} claude" for event in EVENTS]
    if number % 5 == 0:  # a client that forgets to close
        lines.append(f"(printf %s '{payload}'; exec sleep 3) | '{home}/bin/hook' prompt-submit claude")
    return subprocess.Popen(
        ["/bin/sh", "-c", " ; ".join(lines)],
        cwd=repository,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def strike(chance: random.Random, clients: "list[subprocess.Popen[bytes]]") -> None:
    """kill -9 of a client, or of one of the hooks that run."""
    hooks = [pid for pid, command in processes().items() if "/bin/hook" in command or "hook.pyc" in command]
    struck = [client.pid for client in clients if client.poll() is None] if chance.random() < 0.5 else hooks
    if struck:
        try:
            os.kill(chance.choice(struck), signal.SIGKILL)
        except ProcessLookupError:
            return


def settled(most: int) -> dict[int, str]:
    """What is left when no more ends: at most so many, or what there is when the time is up."""
    end = time.monotonic() + WAIT_S
    while len(left := processes()) > most and time.monotonic() < end:
        reap()
        time.sleep(0.02)
    return left


def main() -> None:
    home, repository, sessions, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    chance = random.Random(seed)
    clients: list[subprocess.Popen[bytes]] = []
    for number in range(sessions):
        clients.append(session(home, repository, number))
        if number % 3:
            strike(chance, clients)
        while sum(client.poll() is None for client in clients) >= AT_ONCE:
            if chance.random() < STRIKES:
                strike(chance, clients)
            time.sleep(0.02)
    for client in clients:
        client.wait()
    left = settled(1)
    orphans = [pid for pid in left if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1] == "1"]
    with Memd(home) as memd:
        served = memd.ping().pid
        memd.stop()
    killed = sum(client.returncode < 0 for client in clients)
    print(json.dumps({"left": left, "orphans": orphans, "served": served, "killed": killed, "stopped": settled(0)}))


if __name__ == "__main__":
    main()
