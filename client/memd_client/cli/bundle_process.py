"""Of a report: the process of the daemon as the system sees it, which a daemon that does not answer cannot tell itself."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from memd_client import address, wire
from memd_client.cli.bundle_scene import Scene, Section, tried

PROC = Path("/proc")
DAEMON = b"memd_daemon"
HOME = b"MEMD_HOME="
STATES: Mapping[str, str] = {
    "R": "runs",
    "S": "waits",
    "D": "waits for the disk",
    "T": "stopped",
    "t": "stopped by a debugger",
    "Z": "has ended",
    "X": "has ended",
}
_FACTS = {"threads": "Threads", "resident kB": "VmRSS", "swapped kB": "VmSwap", "waits": "voluntary_ctxt_switches"}


def process(scene: Scene) -> Section:
    """Who announced itself and whether it lives; how many daemons of this user there are, and how many of this home."""
    if scene.home is None:
        return {"announced": "no home"}
    home = os.fsencode(scene.home)
    raw = address.read_file(address.path(home))
    known = address.read(home)
    if known is None:
        return {"announced": raw is not None and "in another form", "daemons": tried(_daemons, home)}
    return {
        "announced": True,
        "of this protocol": known.protocol == wire.PROTOCOL,
        "socket": scene.clean.path(os.fsdecode(known.socket)),
        "socket is there": os.path.exists(known.socket),
        "lives": address.is_alive(known),
        "it": tried(_facts, known.pid),
        "daemons": tried(_daemons, home),
    }


def _facts(pid: int) -> Section:
    told = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    status = (PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    found = {name: re.search(rf"^{field}:\s+(\d+)", status, re.MULTILINE) for name, field in _FACTS.items()}
    ticks = os.sysconf("SC_CLK_TCK")
    return {
        "state": STATES.get(told[0], "another"),
        "processor seconds": round((int(told[11]) + int(told[12])) / ticks, 1),
        "open files": tried(_open_files, pid),
        **{name: int(number.group(1)) for name, number in found.items() if number},
    }


def _open_files(pid: int) -> int:
    return len(os.listdir(PROC / str(pid) / "fd"))


def _daemons(home: bytes) -> Section:
    found = [*_homes()]
    return {"of this user": len(found), "of this home": sum(one == home for one in found)}


def _homes() -> Iterator[bytes]:
    """The home of each of this user's daemons, b"" where the system does not say."""
    for folder in PROC.iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            if folder.stat().st_uid != os.geteuid() or DAEMON not in (folder / "cmdline").read_bytes().split(b"\0"):
                continue
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # gone meanwhile, or not to be read
            continue
        yield next((one.removeprefix(HOME) for one in variables if one.startswith(HOME)), b"")
