"""Add memd's hooks to a client's settings and a repository's git hooks, and its MCP server to the client, and take them out again.

``plan`` looks and decides, ``apply`` does it; ``plan_removal`` is the way back. Nothing is written by a plan, so that a dry run is
``print(plan)``. What cannot be done is a Refusal with its reason and its fix, and holds nothing else up.

- Put in: as text, at the end of what is there (settings.py, install_git.py, install_mcp.py); every other byte, the mode, the owner
  and a symbolic link stay. What is there already, also where a person moved it to, is left alone: twice is once.
- Taken out: the bytes from before where nobody else wrote to the file since, else exactly what is memd's; a file or folder
  that memd made goes when it is empty again. ``registry`` remembers what that takes.
- A file that somebody else writes to meanwhile is read again; a plan is made anew under the lock that installs hold against
  each other, so it may be as old as a person needs to say yes.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from memd_hooks import install_git, install_link, install_mcp, jsonc, registry, settings
from memd_hooks.files import missing_folders
from memd_hooks.harness import claude, git
from memd_hooks.install_file import FileStep, content, place_of_bytes
from memd_hooks.launcher import HOOK, MCP, SCRIPTS, ensure_launchers, hook_command
from memd_hooks.program import PROGRAM
from memd_hooks.registry import SettingsRecord, digest
from memd_hooks.settings import Group
from memd_hooks.steps import Changed, Refusal, Step, write_refusal

Level = Literal["user", "project"]
HARNESSES = (claude.NAME, git.NAME)
_TRIES = 3  # a client writes its settings now and then, not all the time


class Busy(Exception):
    """{} changed each time it was about to be written; close the program that writes it and say it again."""

    def __str__(self) -> str:
        return (self.__doc__ or "").format(*self.args)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for. ``home`` is memd's (absolute), ``cwd`` decides the project and the repository, ``program`` is what
    the word `memd` is to start (None: it is not asked for), ``allowed`` are permissions that a person gives the client."""

    harnesses: tuple[str, ...]
    level: Level
    home: Path
    cwd: Path
    environ: Mapping[str, str]
    program: Path | None = None
    with_server: bool = True
    allowed: tuple[str, ...] = ()
    is_removal: bool = False


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What an install or removal would do; ``str()`` of it is for a person's eyes."""

    request: Request
    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...]

    def __str__(self) -> str:
        lines = [*(line for step in self.steps for line in step.lines), *(str(refusal) for refusal in self.refusals)]
        return "\n".join(lines or ["nothing to change"])


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, what was not and why, and whether a launcher was written."""

    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...]
    launchers_changed: bool


def found(cwd: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The harnesses that are there: Claude Code by its folder or its command, git when ``cwd`` is in a repository."""
    folders = environ.get("PATH", "").split(os.pathsep)
    has_claude = claude.user_settings(environ).parent.is_dir() or any(
        os.access(Path(f, "claude"), os.X_OK) for f in folders if f
    )
    has_git = install_git.hooks_folder(cwd, environ) is not None
    return tuple(name for name, there in ((claude.NAME, has_claude), (git.NAME, has_git)) if there)


def plan(
    harnesses: Sequence[str],
    level: Level,
    home: Path,
    cwd: Path,
    environ: Mapping[str, str],
    program: Path | None = None,
    *,
    with_server: bool = True,
    allowed: Sequence[str] = (),
) -> Plan:
    """What an install would do. Raises UnspeakableHome, RegistryDamaged, OSError (a file that cannot even be read)."""
    return _plan(
        Request(
            harnesses=tuple(harnesses),
            level=level,
            home=home,
            cwd=cwd,
            environ=environ,
            program=program,
            with_server=with_server,
            allowed=tuple(allowed),
        )
    )


def plan_removal(harnesses: Sequence[str], home: Path, cwd: Path, environ: Mapping[str, str]) -> Plan:
    """What taking everything of ``harnesses`` out would do: all that the registry knows, at both levels, and what stands in the
    user's settings without its knowing; with every harness the link to memd's program too. Raises as ``plan``."""
    return _plan(
        Request(harnesses=tuple(harnesses), level="user", home=home, cwd=cwd, environ=environ, is_removal=True)
    )


def apply(plan: Plan) -> Done:
    """Does what ``plan`` was asked for, as things stand now. Raises Busy, UnspeakableHome, RegistryDamaged, OSError (the home)."""
    request = plan.request
    done: list[Step] = []
    refusals: list[Refusal] = []
    with registry.locked(request.home, makes_home=not request.is_removal):
        launchers_changed = not request.is_removal and ensure_launchers(request.home, request.environ)
        for planner in _planners(request):
            outcome = _carried_out(planner, request.home)
            if isinstance(outcome, Refusal):
                refusals.append(outcome)
            elif outcome is not None:
                done.append(outcome)
        if request.is_removal and not registry.load(request.home).has_hooks:
            launchers_changed = _remove_launcher(request.home)
    return Done(steps=tuple(done), refusals=tuple(refusals), launchers_changed=launchers_changed)


def uninstall(harnesses: Sequence[str], home: Path, cwd: Path, environ: Mapping[str, str]) -> Done:
    """``plan_removal`` and ``apply`` in one."""
    return apply(plan_removal(harnesses, home, cwd, environ))


def claude_groups(home: Path) -> tuple[Group, ...]:
    """The groups that stand in Claude Code's settings for ``home``."""
    return tuple(
        Group(r.client_event, r.matcher, hook_command(home, r.event, claude.NAME), r.timeout_s)
        for r in claude.REGISTRATIONS
    )


def not_allowed(level: Level, cwd: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Those of memd's tools that only read which the client asks a person about; none where its settings cannot be read."""
    path = claude.user_settings(environ) if level == "user" else _project_file(cwd, environ)
    try:
        there = settings.allowed((content(path) or b"").decode())
    except (jsonc.Malformed, UnicodeDecodeError, OSError):
        return ()
    return tuple(one for one in claude.READ_PERMISSIONS if one not in there)


# --- planning

Planner = Callable[[], Step | Refusal | None]


def _plan(request: Request) -> Plan:
    outcomes = [planner() for planner in _planners(request)]
    return Plan(
        request=request,
        steps=tuple(o for o in outcomes if isinstance(o, Step)),
        refusals=tuple(o for o in outcomes if isinstance(o, Refusal)),
    )


def _planners(request: Request) -> list[Planner]:
    known = registry.load(request.home)
    planners: list[Planner] = []
    if claude.NAME in request.harnesses:
        files = [_settings_planner(request, level, path) for level, path in _settings_files(request, known)]
        servers = _server_planners(request, known, files)
        planners += (
            [*servers, *files] if request.is_removal else [*files, *servers]
        )  # the folder is the settings' to remove
    if git.NAME in request.harnesses:
        planners += _git_planners(request, known)
    return [*planners, *_link_planners(request, known)]


def _settings_files(request: Request, known: registry.Registry) -> list[tuple[str, Path]]:
    user = ("user", claude.user_settings(request.environ))
    if request.is_removal:
        recorded = [(r.level, Path(r.path)) for r in known.settings if r.harness == claude.NAME]
        return recorded if user in recorded else [*recorded, user]
    if request.level == "user":
        return [user]
    return [("project", _project_file(request.cwd, request.environ))]


def _project_file(cwd: Path, environ: Mapping[str, str]) -> Path:
    return claude.project_settings(install_git.top(cwd, environ) or cwd)


def _server_planners(request: Request, known: registry.Registry, settings_files: Sequence[Planner]) -> list[Planner]:
    home, level, cwd, environ = request.home, request.level, request.cwd, request.environ

    def addition() -> Step | Refusal | None:
        """Where the hooks are refused the server is not wanted either: nobody would know whose calls come through it."""
        refused = any(isinstance(planner(), Refusal) for planner in settings_files)
        return None if refused else install_mcp.addition(home, level, cwd, environ)

    if not request.is_removal:
        return [addition] if request.with_server else []
    paths = [Path(r.path) for r in known.servers]
    paths += [path for path in [claude.global_config(environ)] if path not in paths]
    return [lambda path=path: install_mcp.removal(home, path) for path in paths]  # type: ignore[misc]


def _git_planners(request: Request, known: registry.Registry) -> list[Planner]:
    home, cwd, environ = request.home, request.cwd, request.environ
    if not request.is_removal:
        return [lambda: install_git.addition(home, cwd, environ)]
    paths = [Path(r.path) for r in known.git]
    here = install_git.hooks_folder(cwd, environ)
    if here is not None and here / install_git.HOOK_NAME not in paths:
        paths.append(here / install_git.HOOK_NAME)
    return [lambda path=path: install_git.removal(home, path) for path in paths]  # type: ignore[misc]


def _link_planners(request: Request, known: registry.Registry) -> list[Planner]:
    home, program, environ = request.home, request.program, request.environ
    if request.is_removal:
        paths = [Path(r.path) for r in known.links] if set(request.harnesses) >= set(HARNESSES) else []
        return [lambda path=path: install_link.removal(home, path) for path in paths]  # type: ignore[misc]
    return [lambda: install_link.addition(home, program, environ)] if program is not None else []


def _settings_planner(request: Request, level: str, path: Path) -> Planner:
    def plan_it() -> Step | Refusal | None:
        before = content(path)
        try:
            if request.is_removal:
                return _settings_removal(request.home, path, before)
            return _settings_addition(request, level, path, before)
        except (jsonc.Malformed, settings.WrongShape, UnicodeDecodeError) as error:
            if request.is_removal and _settings_record(request.home, path) is None:
                return None  # never written to by memd, so there is nothing to say about it
            place = error if not isinstance(error, UnicodeDecodeError) else place_of_bytes(before or b"", error)
            why = f"is not valid settings: {place}. Nothing was written; correct it and run this again"
            return Refusal(claude.NAME, path, why)

    return plan_it


def _settings_addition(request: Request, level: str, path: Path, before: bytes | None) -> Step | Refusal | None:
    home = request.home
    wanted, record = claude_groups(home), _settings_record(home, path)
    allowed = _allowed(request, before, record)
    if before is not None and not _lacks(before, wanted, record, home) and not allowed.new:
        return None
    if refusal := _unwelcome(level, path, request.environ) or write_refusal(claude.NAME, path):
        return refusal
    base = None if before is None else _without_ours(before, record, home, path)
    text, made = settings.merged((base or b"").decode(), wanted, allowed.ours)
    after = text.encode()
    record = SettingsRecord(
        harness=claude.NAME,
        level=level,
        path=str(path),
        groups=wanted,
        allowed=allowed.ours,
        server=request.with_server,
        made=made,
        folders=record.folders if record else tuple(str(f) for f in missing_folders(path)),
        existed=base is not None,
        after=digest(after),
    )
    lines = [f"{path}: {'add to' if before is not None else 'create with'} `hooks`:"]
    lines += [f"  {group.event}{f' ({group.matcher})' if group.matcher else ''}: {group.command}" for group in wanted]
    lines += [f"  allow without asking: {permission}" for permission in allowed.new]
    told = ", and leave to call the tools that read," if allowed.new else ""
    return FileStep(
        harness=claude.NAME,
        path=path,
        lines=tuple(lines),
        brief=f"{len({group.command for group in wanted})} hooks ({len(wanted)} entries){told} into {path}",
        before=before,
        after=after,
        base=base,
        record=record,
    )


def _settings_removal(home: Path, path: Path, before: bytes | None) -> Step | Refusal | None:
    record = _settings_record(home, path)
    after = None if before is None else _without_ours(before, record, home, path)
    if record is None and after == before:
        return None
    if before != after and (refusal := write_refusal(claude.NAME, path)):
        return refusal
    how = "take the hooks of memd out" if after != before else "memd is out of it already"
    if after is None:
        how = "remove it, memd made it" if before is not None else "it is gone already"
    line = f"{path}: {how}"
    return FileStep(
        harness=claude.NAME,
        path=path,
        lines=(line,),
        brief=line,
        before=before,
        after=after,
        base=None,
        record=None,
        old=record,
    )


def _lacks(content: bytes, wanted: Sequence[Group], record: SettingsRecord | None, home: Path) -> bool:
    """Whether one of ``wanted`` is missing, or one that stands as an earlier memd wrote it is now to be another."""
    standing = settings.standing(content.decode(), _commands(home))
    outdated = [g for g in standing if record and g in record.groups and g not in wanted]
    return bool(outdated) or bool(settings.missing(standing, wanted))


def _without_ours(content: bytes, record: SettingsRecord | None, home: Path, path: Path) -> bytes | None:
    """What the file holds without memd; None when that is no file at all."""
    if record and digest(content) == record.after:
        original = registry.backup_of(home, path) if record.existed else None
        if original is not None or not record.existed:
            return original
    if record is None and not settings.standing(content.decode(), _commands(home)):
        return content
    made = record.made if record else (("hooks",), *(("hooks", r.client_event) for r in claude.REGISTRATIONS))
    text = settings.stripped(content.decode(), _commands(home), made, record.allowed if record else ())
    if record and not record.existed and text.strip() == "{}":
        return None
    return text.encode()


class _Allowed(msgspec.Struct, frozen=True):
    """Permissions of memd's making that the file is to hold, and those of them that it does not hold yet."""

    ours: tuple[str, ...]
    new: tuple[str, ...]


def _allowed(request: Request, before: bytes | None, record: SettingsRecord | None) -> _Allowed:
    """What a person took away is not put in again unless it was asked for, and what was there before memd is not memd's."""
    there = settings.allowed((before or b"").decode())
    kept = tuple(one for one in (record.allowed if record else ()) if one in there)
    new = tuple(one for one in request.allowed if one not in there)
    return _Allowed((*kept, *new), new)


def _settings_record(home: Path, path: Path) -> SettingsRecord | None:
    record = registry.load(home).of(path)
    return record if isinstance(record, SettingsRecord) else None


def _commands(home: Path) -> frozenset[str]:
    return frozenset(hook_command(home, event, claude.NAME) for event in SCRIPTS)


def _unwelcome(level: str, path: Path, environ: Mapping[str, str]) -> Refusal | None:
    if level != "project" or not install_git.would_show(path, environ):
        return None
    why = (
        "would show up in `git status`, so it was not written. Install at user level (without --project), or run this again"
        " after this line stands in the .gitignore of the project, or in its .git/info/exclude, which is yours alone"
    )
    return Refusal(claude.NAME, path, why, paste=".claude/settings.local.json")


# --- doing


def _carried_out(planner: Planner, home: Path) -> Step | Refusal | None:
    outcome = planner()
    for _ in range(_TRIES):
        if not isinstance(outcome, Step):
            return outcome
        try:
            outcome.run(home)
        except Changed:
            outcome = planner()
        except OSError as error:
            return Refusal(
                outcome.harness, outcome.path, f"could not be written ({error.strerror or error}); nothing was changed"
            )
        else:
            return outcome
    raise Busy("The file" if outcome is None else outcome.path)


def _remove_launcher(home: Path) -> bool:
    """The launchers go with the last hook: a client that still holds the line in its head then runs nothing."""
    (home / PROGRAM).unlink(missing_ok=True)
    (home / MCP).unlink(missing_ok=True)
    try:
        (home / HOOK).unlink()
    except FileNotFoundError:
        return False
    return True
