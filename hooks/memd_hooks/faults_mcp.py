"""What is wrong with memd's MCP server at a client: gone, or something else in its place. Looking and judging are apart.

The client starts one server of a name: the one of the project's own file before the person's own for that project, that before the
user's. Another ``memd`` in an earlier place takes the calls, and one that is switched off or denied is not started at all.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from memd_hooks import install_git, install_mcp, jsonc, registry
from memd_hooks.harness import claude
from memd_hooks.launcher import MCP
from memd_hooks.settings import WrongShape

_NAME = claude.MCP_SERVER
_PROJECTS_FILE = ".mcp.json"


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What ``look`` saw."""

    wanted: bool = False  # an install put it in, or put hooks in without being told to leave it out
    launcher: bool = True
    missing: tuple[tuple[str, str], ...] = ()  # (file, place) where it should stand
    unreadable: tuple[tuple[str, str], ...] = ()  # (file, why)
    before: tuple[tuple[str, str], ...] = ()  # (file, place) of other servers of the name that the client takes for it
    off: tuple[tuple[str, str], ...] = ()  # (file, key) that keeps it from being started


class ServerFault(msgspec.Struct, frozen=True):
    """One thing that is wrong: a stable word, what is wrong, what to do."""

    code: str
    what: str
    fix: str


def look(home: Path, known: registry.Registry, cwd: Path, environ: Mapping[str, str]) -> ServerFacts:
    """Looks at files only. Raises OSError for one that may not be read."""
    wanted = {(record.path, place) for record in known.servers for place in record.places}
    if not wanted and any(record.server for record in known.settings):
        wanted = {(str(claude.global_config(environ)), install_mcp.USERS)}
    missing: list[tuple[str, str]] = []
    unreadable: list[tuple[str, str]] = []
    for path, place in sorted(wanted):
        try:
            stands = place in install_mcp.standing(Path(path).read_bytes().decode(), home)
        except FileNotFoundError:
            stands = False
        except (jsonc.Malformed, WrongShape, UnicodeDecodeError) as error:
            unreadable.append((path, str(error)))
            continue
        if not stands:
            missing.append((path, _dotted(place)))
    return ServerFacts(
        wanted=bool(wanted),
        launcher=(home / MCP).is_file(),
        missing=tuple(missing),
        unreadable=tuple(dict.fromkeys(unreadable)),
        before=tuple(_before(home, cwd, environ)) if wanted else (),
        off=tuple(_off(cwd, environ)) if wanted else (),
    )


def judge(facts: ServerFacts) -> Iterator[ServerFault]:
    """The faults, the gravest first; pure."""
    for path, why in facts.unreadable:
        yield ServerFault(
            "server-file-malformed", f"{path} cannot be read: {why}", "correct it, then run `memd install`"
        )
    taken = {place for place in facts.before if place in facts.missing}
    for path, place in facts.missing:
        if (path, place) not in taken:
            what = f"{path} lacks memd's MCP server at `{place}`, so no agent can call memd's tools"
            yield ServerFault("server-missing", what, "run `memd install`")
    for path, place in facts.before:
        what = f"another program's MCP server stands at `{place}` in {path}, and the client takes it for memd's"
        yield ServerFault("server-overridden", what, "give that one another name, then run `memd install`")
    for path, key in facts.off:
        fix = f"take `{_NAME}` out of it, or ask who manages this machine"
        yield ServerFault("server-switched-off", f"`{key}` in {path} keeps memd's MCP server from being started", fix)
    if facts.wanted and not facts.launcher:
        what = "the program that the client starts as memd's MCP server is gone"
        yield ServerFault("server-launcher-missing", what, "run `memd install`")


# --- looking


def _before(home: Path, cwd: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    config, top = claude.global_config(environ), install_git.top(cwd, environ) or cwd
    places = ((top / _PROJECTS_FILE, install_mcp.USERS), *((config, place) for place in _own_places(top)))
    for path, place in places:
        found = _at(path, place)
        if found is not None and not (isinstance(found, dict) and found.get("command") == str(home / MCP)):
            yield str(path), _dotted(place)


def _own_places(top: Path) -> tuple[install_mcp.Place, ...]:
    return (install_mcp.PROJECTS, str(top), *install_mcp.USERS), install_mcp.USERS


def _off(cwd: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    top = install_git.top(cwd, environ) or cwd
    config = claude.global_config(environ)
    disabled = _at(config, (install_mcp.PROJECTS, str(top), "disabledMcpServers"))
    if isinstance(disabled, list) and _NAME in disabled:
        yield str(config), "disabledMcpServers"
    own = (claude.user_settings(environ), top / ".claude/settings.json", claude.project_settings(top))
    for path in dict.fromkeys((*claude.managed_settings(), *own)):
        denied = _at(path, ("deniedMcpServers",))
        if isinstance(denied, list) and {"serverName": _NAME} in denied:
            yield str(path), "deniedMcpServers"


def _at(path: Path, place: install_mcp.Place) -> Any:
    """What stands there; None for nothing, and for a file that holds no such thing: told elsewhere where it matters."""
    try:
        found = jsonc.find(jsonc.parse(path.read_bytes().decode()), place)
    except (OSError, ValueError):
        return None
    return None if found is None else found.data


def _dotted(place: install_mcp.Place) -> str:
    return ".".join(place)
