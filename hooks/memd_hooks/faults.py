"""What is wrong with the hooks of this home, each fault with its fix: ``diagnose(gather(…))``. Looking and judging are apart."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from memd_hooks import faults_mcp, install, install_git, jsonc, registry, settings
from memd_hooks.harness import claude
from memd_hooks.launcher import HOOK, SCRIPTS, UnspeakableHome, hook_command, named_interpreters

_HELD_BACK = ("disableAllHooks", "allowManagedHooksOnly")


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong: a stable word, what is wrong, what to do."""

    code: str
    what: str
    fix: str


class SettingsFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One settings file that should hold hooks: what is missing of them, or what keeps it from being read."""

    path: str
    missing: tuple[str, ...] = ()  # the client event of each
    unreadable: str = ""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What ``gather`` saw."""

    home: str
    installed: bool = True  # something of memd's is recorded or stands in the user's settings
    launcher: bool = True
    launcher_executable: bool = True
    interpreters: tuple[str, ...] = ()  # those that the launcher names
    interpreter_runs: bool = True
    settings: tuple[SettingsFacts, ...] = ()
    held_back: tuple[tuple[str, str], ...] = ()  # (settings file, the key in it that keeps hooks from running)
    server: faults_mcp.ServerFacts = faults_mcp.ServerFacts()
    git_missing: tuple[str, ...] = ()
    git_switched_off: tuple[str, ...] = ()


def gather(home: Path, cwd: Path, environ: Mapping[str, str]) -> Facts:
    """Looks at files only. Raises RegistryDamaged, RegistryNewer, UnspeakableHome, OSError (a file that may not be read)."""
    known = registry.load(home)
    launcher = home / HOOK
    looked_at = [_settings_facts(home, Path(record.path)) for record in known.settings]
    user = claude.user_settings(environ)
    if str(user) not in [facts.path for facts in looked_at]:
        unrecorded = _settings_facts(home, user)
        looked_at += (
            [unrecorded] if len(unrecorded.missing) < len(claude.REGISTRATIONS) and not unrecorded.unreadable else []
        )
    repositories = [Path(record.path) for record in known.git if Path(record.path).parent.parent.is_dir()]
    named = _named_interpreters(launcher)
    return Facts(
        home=str(home),
        installed=bool(known.settings or known.git)
        or any(len(f.missing) < len(claude.REGISTRATIONS) for f in looked_at),
        launcher=launcher.is_file(),
        launcher_executable=os.access(launcher, os.X_OK),
        interpreters=named,
        interpreter_runs=not named or any(os.access(python, os.X_OK) for python in named),
        settings=tuple(looked_at),
        held_back=tuple(_held_back(cwd, environ)),
        server=faults_mcp.look(home, known, cwd, environ),
        git_missing=tuple(str(path) for path in repositories if not _holds_line(home, path)),
        git_switched_off=tuple(str(path) for path in repositories if path.is_file() and not os.access(path, os.X_OK)),
    )


def lacks_git_hook(home: Path, cwd: Path, environ: Mapping[str, str]) -> bool:
    """Whether ``cwd`` is in a repository that does not tell memd of its commits: no fault, for somebody may want it so."""
    try:
        return install_git.holds_hook(home, cwd, environ) is False
    except (OSError, UnspeakableHome):  # not to be read: nothing can be said
        return False


def diagnose(facts: Facts) -> tuple[Fault, ...]:
    """The faults in ``facts``, the gravest first; pure."""
    if not facts.installed:
        return (Fault("hooks-not-installed", "no hook of memd is installed", "run `memd install`"),)
    servers = (Fault(fault.code, fault.what, fault.fix) for fault in faults_mcp.judge(facts.server))
    return (*_launcher_faults(facts), *_settings_faults(facts), *servers, *_git_faults(facts))


def _launcher_faults(facts: Facts) -> Iterator[Fault]:
    path = f"{facts.home}/{HOOK}"
    if not facts.launcher:
        yield Fault("launcher-missing", f"{path} is gone, so every hook is silent", "run `memd install`")
    elif not facts.launcher_executable:
        fix = f"run `chmod 755 {path}`; on a disk mounted noexec set MEMD_HOME to another"
        yield Fault("launcher-not-executable", f"{path} cannot be run, so every hook is silent", fix)
    if not facts.interpreter_runs:
        what = f"the Python that the hooks start is gone: {', '.join(facts.interpreters)}"
        yield Fault("interpreter-gone", what, "install memd again, then run `memd install`")


def _settings_faults(facts: Facts) -> Iterator[Fault]:
    for seen in facts.settings:
        if seen.unreadable:
            yield Fault(
                "settings-malformed",
                f"{seen.path} is not valid settings: {seen.unreadable}",
                "correct it, then run `memd install`",
            )
        elif seen.missing:
            what = f"{seen.path} lacks the hooks of memd for {', '.join(dict.fromkeys(seen.missing))}"
            yield Fault("hooks-missing", what, "run `memd install`")
    for path, key in facts.held_back:
        yield Fault(
            "hooks-held-back",
            f"`{key}` in {path} keeps hooks from running",
            f"take `{key}` out of it, or ask who manages this machine",
        )


def _git_faults(facts: Facts) -> Iterator[Fault]:
    for path in facts.git_missing:
        yield Fault(
            "git-hook-missing",
            f"{path} no longer calls memd, so commits go unrecorded",
            "run `memd install` in that repository",
        )
    for path in facts.git_switched_off:
        yield Fault("git-hook-switched-off", f"{path} is not executable, so git skips it", f"run `chmod +x {path}`")


# --- looking


def _settings_facts(home: Path, path: Path) -> SettingsFacts:
    wanted = install.claude_groups(home)
    commands = {hook_command(home, event, claude.NAME) for event in SCRIPTS}
    try:
        present = settings.standing(path.read_bytes().decode(), commands)
    except FileNotFoundError:
        present = []
    except (jsonc.Malformed, settings.WrongShape, UnicodeDecodeError) as error:
        return SettingsFacts(path=str(path), unreadable=str(error))
    return SettingsFacts(path=str(path), missing=tuple(group.event for group in settings.missing(present, wanted)))


def _named_interpreters(launcher: Path) -> tuple[str, ...]:
    try:
        return named_interpreters(launcher.read_text(errors="replace"))
    except (OSError, ValueError):  # gone, or not a launcher's text: told by what does not work
        return ()


def _held_back(cwd: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Where a setting that bears on this session keeps hooks from running; only an administrator's counts for the second key."""
    top = install_git.top(cwd, environ) or cwd
    own = (claude.user_settings(environ), top / ".claude/settings.json", claude.project_settings(top))
    for path in dict.fromkeys((*claude.managed_settings(), *own)):
        held = _data(path)
        for key in _HELD_BACK if path not in own else _HELD_BACK[:1]:
            if held.get(key) is True:
                yield str(path), key


def _data(path: Path) -> dict[str, Any]:
    try:
        data = jsonc.parse(path.read_bytes().decode()).data
    except (OSError, ValueError):  # not there, or no settings: told elsewhere where it matters
        return {}
    return data if isinstance(data, dict) else {}


def _holds_line(home: Path, path: Path) -> bool:
    try:
        return install_git.hook_line(home).encode() in path.read_bytes()
    except OSError:
        return False
