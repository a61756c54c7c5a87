"""Of a report: which memd, how it was installed, and what it runs on. Versions are cut to their numbers, names to closed lists."""

import os
import platform
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

import msgspec

from memd_client import __version__, wire
from memd_client.cli.bundle_clean import PRODUCT, version
from memd_client.cli.bundle_scene import Scene, Section, tried

DISTRIBUTION = "memd-hooks"
LIBRARIES = (
    *("click", "cryptography", "lmdb", "mcp", "msgspec", "numpy", "onnxruntime", "pyzmq", "rich", "tantivy"),
    *("tokenizers", "tree-sitter", "usearch"),
)
CLIENTS = ("claude", "git")  # those that memd has hooks for; of these the version is asked
OTHER_CLIENTS = ("codex", "gemini", "copilot", "opencode", "cursor")  # of these only whether they are there
CLIENT_WAIT_S = 10  # a client on node takes a second
INSTALLERS = ("pip", "uv", "pipx", "poetry", "conda", "pdm")
MACHINES = ("x86_64", "aarch64", "arm64", "armv7l", "riscv64", "ppc64le", "s390x")
SYSTEMS = ("Linux", "Darwin", "FreeBSD")
DISTRIBUTIONS = (
    *(
        "debian",
        "ubuntu",
        "fedora",
        "rhel",
        "centos",
        "rocky",
        "almalinux",
        "amzn",
        "arch",
        "manjaro",
        "alpine",
        "nixos",
    ),
    *("opensuse-leap", "opensuse-tumbleweed", "sles", "gentoo", "void", "linuxmint", "pop", "ol", "wolfi", "kali"),
)
KERNELS = (
    *("generic", "amd64", "arm64", "x86_64", "aarch64", "microsoft", "standard", "WSL2", "lowlatency", "aws", "azure"),
    *("gcp", "cloud", "linuxkit", "orbstack", "arch1", "lts", "zen1", "virt"),
)
LIMITS = {
    "open files": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "file size": resource.RLIMIT_FSIZE,
    "address space": resource.RLIMIT_AS,
    "locked memory": resource.RLIMIT_MEMLOCK,
    "core size": resource.RLIMIT_CORE,
    "processor seconds": resource.RLIMIT_CPU,
    "stack": resource.RLIMIT_STACK,
}
SHELLS = ("sh", "dash", "bash", "zsh", "fish", "csh", "tcsh", "ksh")  # clients run a hook's line with $SHELL
GROUP = Path("/sys/fs/cgroup")
SWITCHES = ("MEMD_HOME", "MEMD_OFF", "MEMD_PROBE", "MEMD_COMMAND", "CLAUDE_CONFIG_DIR", "PYTHONPATH", "XDG_RUNTIME_DIR")
_SIZE_KB = re.compile(r"^(MemTotal|MemAvailable|SwapTotal):\s+(\d+) kB$", re.MULTILINE)


def memd(scene: Scene) -> Section:
    """Versions, and the way on which memd came here."""
    python = f"{platform.python_implementation()} {version(platform.python_version())}"
    return {
        "memd": version(__version__),
        "python": python,
        "libraries": {name: _of_library(name) for name in LIBRARIES},
        "installed by": tried(_installer),
        "installed from": tried(_origin),
        "environment": _environment(),
        "on the PATH": tried(_on_path),
        "interpreter": scene.clean.path(sys.executable),
        "variables that are set": [*_named_in(scene, SWITCHES), *_named_in(scene, _session_names())],
    }


def _session_names() -> Iterable[str]:
    return (name.decode() for name in wire.ENVIRONMENT_NAMES)


def _named_in(scene: Scene, names: Iterable[str]) -> list[str]:
    return [name for name in names if scene.environ.get(name)]


def _of_library(name: str) -> str:
    try:
        return version(metadata.version(name))
    except metadata.PackageNotFoundError:
        return "not there"


def _installer() -> str:
    told = (metadata.distribution(DISTRIBUTION).read_text("INSTALLER") or "").strip()
    return told if told in INSTALLERS else "another program"


def _origin() -> str:
    """Where from, never the address: one of a repository may hold a token."""
    raw = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    if raw is None:
        return "an index"
    told = msgspec.json.decode(raw, type=dict[str, Any])
    if "vcs_info" in told:
        return "a repository"
    if "archive_info" in told:
        return "a file"
    return "a folder, editable" if told.get("dir_info", {}).get("editable") else "a folder"


def _environment() -> str:
    parts = Path(sys.prefix).parts
    for sign, name in (("pipx", "pipx"), ("uv", "uv"), (".tox", "tox")):
        if sign in parts:
            return name
    if "CONDA_PREFIX" in os.environ:
        return "conda"
    return "virtual environment" if sys.prefix != sys.base_prefix else "the system's Python"


def _on_path() -> str:
    found = shutil.which(PRODUCT)
    if found is None:
        return "no memd"
    is_same = Path(os.path.realpath(found)).parent == Path(os.path.realpath(sys.executable)).parent
    is_same = is_same or Path(os.path.realpath(found)).parent == Path(sys.executable).parent
    return "this memd" if is_same else "another memd"


def machine(scene: Scene) -> Section:
    """Kernel, C library, room and limits. The machine's name is not among them."""
    return {
        "system": _listed(platform.system(), SYSTEMS),
        "kernel": _kernel(platform.release()),
        "processor": _listed(platform.machine(), MACHINES),
        "processors": os.cpu_count() or 0,
        "distribution": tried(_distribution),
        "C library": tried(_libc),
        "container": _container(),
        "clock": {"now": _now(), "boot seconds": tried(_boot_s)},
        "encoding": {"files": _listed(sys.getfilesystemencoding(), ("utf-8", "ascii", "latin-1")), "utf8": _is_utf8()},
        "load": tried(_load),
        "memory kB": tried(_memory),
        "memory of its control group": tried(_group_memory),
        "shell": _shell(scene),
        "limits": {name: _limit(number) for name, number in LIMITS.items()},
        "terminal": {"in": sys.stdin.isatty(), "out": _stdout().isatty()},
        "runs as": "root" if os.geteuid() == 0 else "a user",
    }


def _listed(text: str, known: Iterable[str]) -> str:
    return text if text in known else "another"


def _kernel(release: str) -> str:
    """Its numbers, and what distributions put behind them: whoever builds one may write a name there."""
    parts = re.split(r"[-+]", release)
    return "-".join(part if re.fullmatch(r"[\d.]{1,12}|rc\d{1,2}", part) or part in KERNELS else "…" for part in parts)


def _distribution() -> str:
    told = platform.freedesktop_os_release()
    number = re.match(r"\d{1,4}(\.\d{1,4})*", told.get("VERSION_ID", ""))
    return f"{_listed(told.get('ID', ''), DISTRIBUTIONS)} {number.group() if number else ''}"


def _libc() -> str:
    name, number = platform.libc_ver()
    if name == "glibc":
        return f"glibc {version(number)}"
    return "musl" if any(Path("/lib").glob("ld-musl-*.so.1")) else "another"


def _container() -> str:
    for sign, name in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if os.path.exists(sign):
            return name
    return "WSL" if "microsoft" in platform.release().lower() else "none seen"


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _boot_s() -> int:
    return int(float(Path("/proc/uptime").read_text(encoding="ascii").split()[0]))


def _is_utf8() -> bool:
    return sys.flags.utf8_mode == 1 or _stdout().encoding.lower() == "utf-8"


def _stdout() -> TextIO:
    """As it was given: a sign of progress on the terminal takes its place while all this is looked at."""
    return sys.__stdout__ or sys.stdout


def _memory() -> dict[str, int]:
    text = Path("/proc/meminfo").read_text(encoding="ascii")
    return {name: int(size) for name, size in _SIZE_KB.findall(text)}


def _load() -> list[float]:
    """Over one, five and fifteen minutes: without it no time that was taken says much."""
    return [round(one, 1) for one in os.getloadavg()]


def _group_memory() -> dict[str, int | str]:
    """What a container may have, and how often something in it was ended for want of it."""
    if not (GROUP / "memory.max").is_file():
        return {"limit": "none is seen"}
    limit = (GROUP / "memory.max").read_text(encoding="ascii").strip()
    ended = re.search(r"^oom_kill (\d+)$", (GROUP / "memory.events").read_text(encoding="ascii"), re.MULTILINE)
    return {"limit": int(limit) if limit.isdecimal() else "none", "ended by it": int(ended.group(1)) if ended else 0}


def _shell(scene: Scene) -> str:
    return _listed(Path(scene.environ.get("SHELL", "")).name, SHELLS)


def _limit(number: int) -> str:
    soft, hard = (str(one) if one != resource.RLIM_INFINITY else "none" for one in resource.getrlimit(number))
    return f"{soft} of {hard}"


def clients(scene: Scene) -> Section:
    """Which clients are there, and of those that memd has hooks for the version."""
    asked = {name: tried(_client_version, scene, name) for name in CLIENTS}
    return asked | {name: "there" if shutil.which(name) else "not found" for name in OTHER_CLIENTS}


def _client_version(scene: Scene, name: str) -> str:
    program = shutil.which(name)
    if program is None:
        return "not found"
    said = subprocess.run(
        [program, "--version"],
        cwd="/",
        env={**scene.environ, "MEMD_OFF": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=CLIENT_WAIT_S,
        check=False,
    ).stdout.decode("utf-8", "replace")
    number = re.search(r"(?<![\w.])\d{1,4}\.\d{1,5}(?:\.\d{1,5})?(?![\w])", said)
    return number.group() if number else "there, and says no version"
