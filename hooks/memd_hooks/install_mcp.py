"""memd's MCP server in the file that Claude Code keeps for itself: put in, found again, taken out.

The file (`claude.global_config`) is the client's: it writes it at each start and now and then between. So one key goes in, as
text, at the end of what is there, ``mcpServers.memd`` for all projects or ``projects.<path>.mcpServers.memd`` for one, which git
never sees; and one key comes out, with the objects that memd made for it when they are empty again.

A server is memd's when its command is the launcher of this home, under whatever name; another program's that is called memd is left
alone and named.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memd_hooks import install_git, jsonc, registry
from memd_hooks.files import missing_folders
from memd_hooks.harness import claude
from memd_hooks.install_file import FileStep, content, place_of_bytes
from memd_hooks.launcher import MCP, word
from memd_hooks.registry import ServerRecord, digest
from memd_hooks.settings import WrongShape
from memd_hooks.steps import Refusal, Step, write_refusal

Place = tuple[str, ...]
"""A server's path in the file."""

NAME = "mcp"
SERVERS = "mcpServers"
PROJECTS = "projects"
USERS: Place = (SERVERS, claude.MCP_SERVER)


def server(home: Path) -> dict[str, Any]:
    """The server as it stands in the file. Raises UnspeakableHome."""
    word(str(home))  # the launcher's own lines name it
    return {"type": "stdio", "command": str(home / MCP), "args": []}


def place_of(level: str, cwd: Path, environ: Mapping[str, str]) -> Place:
    """Where the server of this level belongs. The client goes by the top of the work tree, else by the directory."""
    if level == "user":
        return USERS
    return (PROJECTS, str(install_git.top(cwd, environ) or cwd), *USERS)


def standing(text: str, home: Path) -> list[Place]:
    """Where memd's server stands in this text. Raises Malformed, WrongShape."""
    if _is_blank(text):
        return []
    data, command = _checked(text).data, str(home / MCP)
    boxes: list[tuple[Place, Any]] = [((SERVERS,), data.get(SERVERS))]
    projects = data.get(PROJECTS)
    for name, project in projects.items() if isinstance(projects, dict) else ():
        boxes.append(((PROJECTS, name, SERVERS), project.get(SERVERS) if isinstance(project, dict) else None))
    return [
        (*path, name)
        for path, box in boxes
        if isinstance(box, dict)
        for name, one in box.items()
        if isinstance(one, dict) and one.get("command") == command
    ]


def held(text: str, place: Place) -> Any:
    """What stands at ``place``; None for nothing. Raises Malformed, WrongShape."""
    found = None if _is_blank(text) else jsonc.find(_checked(text), place)
    return None if found is None else found.data


def merged(text: str, places: Iterable[Place], data: Mapping[str, Any]) -> tuple[str, tuple[Place, ...]]:
    """``text`` with the server at each of ``places``, and the paths of what had to be made for it. Raises Malformed, WrongShape."""
    made: list[Place] = []
    if _is_blank(text):
        text, made = text + "{}\n", [()]
    for place in places:
        for path in (place[:end] for end in range(1, len(place))):
            box = jsonc.find(_checked(text), path)
            if box is None:
                text = jsonc.add(text, path[:-1], {}, key=path[-1])
                made.append(path)
            elif not isinstance(box.data, dict):
                raise WrongShape(text, box.start, f"`{'.'.join(path)}` is an object")
        text = jsonc.add(text, place[:-1], dict(data), key=place[-1])
    return text, tuple(made)


def stripped(text: str, home: Path, made: Iterable[Place]) -> str:
    """``text`` without memd's servers, and those of the ``made`` objects that are then empty. Raises Malformed, WrongShape."""
    for place in standing(text, home):
        text = jsonc.remove(text, place)
    for path in sorted(made, key=len, reverse=True):
        box = jsonc.find(_checked(text), path) if path else None
        if box is not None and not box.data:
            text = jsonc.remove(text, path)
    return text


# --- planning


def addition(home: Path, level: str, cwd: Path, environ: Mapping[str, str]) -> Step | Refusal | None:
    """The step that registers the server; None where it is. Raises UnspeakableHome, OSError."""
    path, place = claude.global_config(environ), place_of(level, cwd, environ)
    before = content(path)
    try:
        text = (before or b"").decode()
        there = standing(text, home)
        if place in there:
            return None
        if held(text, place) is not None:
            return Refusal(NAME, path, _taken(place))
        if refusal := write_refusal(NAME, path):
            return refusal
        return _put_in(home, level, path, before, [*there, place])
    except (jsonc.Malformed, WrongShape, UnicodeDecodeError) as error:
        return _unreadable(path, before, error)


def removal(home: Path, path: Path) -> Step | Refusal | None:
    """The step that takes the server out of ``path``, at every place; None where memd is not in it. Raises OSError."""
    before, record = content(path), _record(home, path)
    try:
        after = None if before is None else _without_ours(before, record, home, path)
    except (jsonc.Malformed, WrongShape, UnicodeDecodeError) as error:
        return None if record is None else _unreadable(path, before, error)
    if record is None and after == before:
        return None
    if before != after and (refusal := write_refusal(NAME, path)):
        return refusal
    line = f"{path}: {'take the MCP server of memd out' if before != after else 'the MCP server of memd is out of it already'}"
    return FileStep(harness=NAME, path=path, lines=(line,), brief=line, before=before, after=after, old=record)


def _put_in(home: Path, level: str, path: Path, before: bytes | None, places: Sequence[Place]) -> Step:
    record = _record(home, path)
    base = None if before is None else _without_ours(before, record, home, path)
    text, made = merged((base or b"").decode(), places, server(home))
    after = text.encode()
    lines = (f"{path}: register the MCP server:", *(f"  {'.'.join(place)}: {home / MCP}" for place in places[-1:]))
    return FileStep(
        harness=NAME,
        path=path,
        lines=lines,
        brief=f"the MCP server into {path}",
        before=before,
        after=after,
        base=base,
        record=ServerRecord(
            harness=claude.NAME,
            level=level,
            path=str(path),
            places=tuple(places),
            made=made,
            folders=record.folders if record else tuple(str(f) for f in missing_folders(path)),
            existed=base is not None,
            after=digest(after),
        ),
    )


def _without_ours(before: bytes, record: ServerRecord | None, home: Path, path: Path) -> bytes | None:
    """What the file holds without memd; None when that is no file at all."""
    if record and digest(before) == record.after:
        original = registry.backup_of(home, path) if record.existed else None
        if original is not None or not record.existed:
            return original
    if not standing(before.decode(), home):
        return before
    text = stripped(before.decode(), home, record.made if record else ((SERVERS,),))
    if record and not record.existed and text.strip() == "{}":
        return None
    return text.encode()


def _taken(place: Place) -> str:
    return (
        f"has another program's MCP server at `{'.'.join(place)}`, so memd's was not registered. Give that one another name,"
        " then run this again; or install with --no-mcp"
    )


def _unreadable(path: Path, before: bytes | None, error: ValueError) -> Refusal:
    place = place_of_bytes(before or b"", error) if isinstance(error, UnicodeDecodeError) else error
    return Refusal(NAME, path, f"cannot be read: {place}. Nothing was written; correct it and run this again")


def _record(home: Path, path: Path) -> ServerRecord | None:
    record = registry.load(home).of(path)
    return record if isinstance(record, ServerRecord) else None


def _checked(text: str) -> jsonc.Value:
    root = jsonc.parse(text)
    if not isinstance(root.data, dict):
        raise WrongShape(text, root.start, "this file is one object in braces")
    return root


def _is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")
