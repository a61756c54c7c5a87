"""Who may import what, where import-linter cannot say it (the floors themselves are in .importlinter)."""

import configparser
import subprocess
import sys

import pytest

from tests.boundaries.source import PACKAGES, ROOT, Module, imports, modules

# Each library has one module that knows it; what it gives others is in memd's own words.
OWNERS: dict[str, str | tuple[str, ...]] = {
    "lmdb": "memd_daemon.store.lmdb_log",
    "onnxruntime": "memd_daemon.index.embed",
    "tokenizers": "memd_daemon.index.embed",
    "usearch": "memd_daemon.index.vectors",
    "tantivy": "memd_daemon.index.words",
    "zmq": "memd_daemon.server",
    "mcp": "memd_daemon.mcp_server",
    "tree_sitter": "memd_daemon.ground.syntax",  # it loads the grammars, each by the name that languages.py has
    "xxhash": (
        "memd_daemon.ground.digests",
        "memd_daemon.index.shingles",
    ),  # floors that hash, and may not see each other
    "pygments": "memd_daemon.histories.truth.words",
}

# The hook path. These modules of the standard library are built into the interpreter or next to free to load.
HOOK_SCRIPTS = tuple(
    f"memd_hooks.{name}" for name in ("prompt_submit", "pre_edit", "session_start", "post_compaction", "git_commit")
)
FIRST_FLOOR = tuple(f"memd_client.{name}" for name in ("wire", "zmtp", "address", "link"))
HOOK_PATH = (*HOOK_SCRIPTS, "memd_hooks.carry", *FIRST_FLOOR)
HOOK_STDLIB = {"posix", "_socket", "_signal", "time", "sys", "errno", "fcntl"}
HOOK_OWN = {*FIRST_FLOOR, "memd_client.spawn", "memd_hooks.carry"}
SLOW = {"os", "socket", "json", "re", "typing", "enum", "pathlib", "msgspec", "zmq"}

# Also on the first floor, but only run where a daemon is started: any of the standard library.
STDLIB_ONLY = ("memd_client.spawn", "memd_client.carried", "memd_client.mcp")

# Reads of a clock or of randomness that no import gives away.
IMPURE_NAMES = {"now", "utcnow", "today", "uuid1", "uuid4"}
PURE = ("memd_daemon.model", "memd_daemon.rules", "memd_daemon.frames", "memd_daemon.redact", "memd_daemon.evidence")


def foreign_owners(module: Module) -> list[str]:
    """The libraries that this module imports although another one owns them."""
    libraries = {name.partition(".")[0] for name in imports(module)}
    return sorted(library for library in libraries if module.name not in _owners(library, module.name))


def _owners(library: str, nobody: str) -> tuple[str, ...]:
    """Its owners; ``nobody`` for a library that has none."""
    owners = OWNERS.get(library, nobody)
    return (owners,) if isinstance(owners, str) else owners


def outside_hook_path(module: Module) -> list[str]:
    """What a module of the hook path imports beyond its whitelist."""
    strange = []
    for name in imports(module):
        top = name.partition(".")[0]
        if top not in PACKAGES:
            strange += [name] if top not in HOOK_STDLIB else []
        elif name not in PACKAGES and not any(name == own or name.startswith(f"{own}.") for own in HOOK_OWN):
            strange.append(name)
    return strange


def outside_stdlib(module: Module) -> list[str]:
    """What a module imports that is neither the standard library nor the hook path's own floor."""
    tops = {name.partition(".")[0] for name in imports(module)}
    return sorted(tops - sys.stdlib_module_names - {"memd_client"})


def impure_calls(module: Module) -> list[str]:
    """Names in the module's text that read a clock or randomness."""
    return sorted({name for name in IMPURE_NAMES if f".{name}(" in module.text})


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_a_library_is_imported_by_its_owner_alone(module: Module) -> None:
    """lmdb, onnxruntime, tokenizers, usearch, tantivy, zmq, mcp, tree_sitter, xxhash and pygments each stand behind one module."""
    assert foreign_owners(module) == []


@pytest.mark.parametrize("module", [m for m in modules() if m.is_under(*HOOK_PATH)], ids=lambda module: module.name)
def test_the_hook_path_imports_only_what_costs_nothing(module: Module) -> None:
    """A hook is a fresh process before the model may go on: each import is paid at every prompt and edit."""
    assert outside_hook_path(module) == []


@pytest.mark.parametrize("module", [m for m in modules() if m.is_under(*STDLIB_ONLY)], ids=lambda module: module.name)
def test_starting_the_daemon_and_carrying_mcp_need_the_standard_library_alone(module: Module) -> None:
    """spawn and mcp run in processes that must start fast and cannot fail for want of a package."""
    assert outside_stdlib(module) == []


@pytest.mark.parametrize("module", [m for m in modules() if m.is_under(*PURE)], ids=lambda module: module.name)
def test_pure_floors_read_no_clock_and_no_randomness(module: Module) -> None:
    """The same log gives the same notes, frames and rules on every machine and at every time."""
    assert impure_calls(module) == []


def test_importing_the_hook_path_loads_nothing_slow() -> None:
    """What the whitelist allows does not pull in a slow module by the back door, __init__ files included."""
    path = [str(folder) for folder in PACKAGES.values()]
    names = [m.name for m in modules() if m.is_under(*FIRST_FLOOR, "memd_hooks.carry")]
    program = f"import sys; sys.path[:0] = {path!r}; import {', '.join(names)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    assert SLOW.isdisjoint(loaded.stdout.split())


def test_every_part_of_the_daemon_stands_on_a_floor() -> None:
    """A new module or package of the daemon has to be given its floor in .importlinter."""
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    layers = config["importlinter:contract:floors"]["layers"]
    placed = {name.strip(" ()") for line in layers.splitlines() for name in line.replace("|", ":").split(":")}
    parts = {".".join(m.name.split(".")[:2]) for m in modules() if m.name.startswith("memd_daemon.")}
    assert parts - placed == set()


@pytest.mark.parametrize(
    ("checker", "module", "found"),
    [
        (foreign_owners, Module("memd_daemon.service.recall", "import lmdb"), ["lmdb"]),
        (foreign_owners, Module("memd_daemon.index.vectors", "def f():\n    from onnxruntime import X"), ["onnxruntime"]),
        (foreign_owners, Module("memd_daemon.index.embed", "import onnxruntime, tokenizers"), []),
        (outside_hook_path, Module("memd_hooks.carry", "import json"), ["json"]),
        (outside_hook_path, Module("memd_hooks.carry", "from __future__ import division"), ["__future__", "__future__.division"]),
        (outside_hook_path, Module("memd_hooks.carry", "from memd_client import api, wire"), ["memd_client.api"]),
        (outside_hook_path, Module("memd_hooks.carry", "from . import events"), ["memd_hooks.events"]),
        (outside_hook_path, Module("memd_hooks.carry", "import posix\nfrom memd_client.link import ask"), []),
        (outside_stdlib, Module("memd_client.mcp", "import os, msgspec"), ["msgspec"]),
        (impure_calls, Module("memd_daemon.rules.gate", "at = datetime.now(UTC)"), ["now"]),
    ],
)  # fmt: skip
def test_the_checkers_see_what_they_are_for(checker, module: Module, found: list[str]) -> None:
    """Each checker is shown a module that breaks its rule, and one that does not."""
    assert checker(module) == found
