"""memd's block in a repository's ``post-commit`` hook, wherever git looks for that: put in, and taken out to the byte.

Where: ``git rev-parse --git-path hooks``, which knows worktrees, submodules and ``core.hooksPath``. A place that `git status`
would tell of, or a folder with tracked files in it, is refused with the line to add by hand: it belongs to the project.

How: a hook that is a shell script gets the block right **after its first line**, since whatever stands at its end may never
be reached (``exec``, ``exit``); the block changes neither ``$@`` nor stdin, and the exit status stays that of the hook's own last
command. Any other hook (another language, a binary, a symbolic link, one that is switched off by its mode) is put aside as
``post-commit.before-memd/post-commit``, under its own name since dispatchers go by it, and called as git would call it.

The block itself is silent and without effect on the commit: it waits for the hook's deadline at most.
"""

import contextlib
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from memd_hooks import registry
from memd_hooks.events import Moment
from memd_hooks.files import missing_folders, remove_folders, replace_file, sync_folder
from memd_hooks.harness import git
from memd_hooks.launcher import HOOK, hook_command, word
from memd_hooks.registry import GitRecord, digest
from memd_hooks.steps import Changed, Refusal, Step, write_refusal

HOOK_NAME = "post-commit"
_ASIDE = "post-commit.before-memd"
_BEGIN = "# >>> memd >>>"
_END = "# <<< memd <<<"
_SHEBANG = "#!/bin/sh\n"
_IS_SHELL = re.compile(
    rb"#![ \t]*(?:/\S*/)?(?:env[ \t]+(?:-S[ \t]+)?)?(?:sh|bash|dash|ash|ksh|zsh)(?:[ \t][^\r\n]*)?(?:\n|\Z)"
)
_BLOCK = re.compile(rf"{re.escape(_BEGIN)}\n(.*?){re.escape(_END)}\n".encode(), re.DOTALL)


def hook_line(home: Path) -> str:
    """The line that tells memd of a commit; it prints nothing and its status is 0."""
    return f"{hook_command(home, Moment.GIT_COMMIT, git.NAME)} </dev/null >/dev/null 2>&1 || :"


def block(home: Path) -> str:
    """The marked lines that go into a hook."""
    return f"{_BEGIN}\n{hook_line(home)}\n{_END}\n"


# --- what git knows


def hooks_folder(cwd: Path, environ: Mapping[str, str]) -> Path | None:
    """The folder in which git looks for hooks; None outside a repository, without git, or where hooks are switched off."""
    answer = _git(cwd, environ, "rev-parse", "--path-format=absolute", "--git-path", "hooks")
    if answer is None or answer == os.devnull:
        return None
    return Path(os.path.normpath(answer))


def holds_hook(home: Path, cwd: Path, environ: Mapping[str, str]) -> bool | None:
    """Whether the repository of ``cwd`` tells memd of its commits; None outside one, and where hooks are switched off."""
    folder = hooks_folder(cwd, environ)
    if folder is None:
        return None
    return hook_line(home).encode() in (_content(folder / HOOK_NAME) or b"")


def top(cwd: Path, environ: Mapping[str, str]) -> Path | None:
    """The top of the work tree; None outside one."""
    answer = _git(cwd, environ, "rev-parse", "--show-toplevel")
    return Path(answer) if answer else None


def would_show(path: Path, environ: Mapping[str, str]) -> bool:
    """Whether `git status` would tell of memd's writing ``path``; what is untracked and there already shows as it did."""
    place = _place(path, environ)
    return place == "tracked" or (place == "untracked" and not path.exists())


def _place(path: Path, environ: Mapping[str, str]) -> Literal["outside", "tracked", "ignored", "untracked"]:
    """What the work tree around ``path`` makes of it; a git directory is no work tree."""
    folder = next(f for f in path.parents if f.is_dir())
    if _git(folder, environ, "rev-parse", "--is-inside-work-tree") != "true":
        return "outside"
    if _git(folder, environ, "ls-files", "--error-unmatch", "--", str(path)) is not None:
        return "tracked"
    return "untracked" if _git(folder, environ, "check-ignore", "-q", "--", str(path)) is None else "ignored"


def _is_the_projects(path: Path, environ: Mapping[str, str]) -> bool:
    """Whether a hook at ``path`` is tracked, would be, or lies among others that are."""
    place = _place(path, environ)
    if place != "ignored":
        return place != "outside"
    return path.parent.is_dir() and bool(_git(path.parent, environ, "ls-files", "--", "."))


def _git(cwd: Path, environ: Mapping[str, str], *arguments: str) -> str | None:
    """git's answer without its last line end; None when it fails. What a surrounding git command left in the environment
    would make it speak of another repository."""
    kept = {
        name: value for name, value in environ.items() if not name.startswith("GIT_") or name.startswith("GIT_CONFIG")
    }
    try:
        run = subprocess.run(
            ["git", *arguments],
            cwd=cwd,
            env=kept,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(run.stdout).removesuffix("\n") if run.returncode == 0 else None


# --- putting it in


def addition(home: Path, cwd: Path, environ: Mapping[str, str]) -> Step | Refusal | None:
    """The step that adds the block to the repository of ``cwd``; None when it is there (also switched off, by a mode)."""
    folder = hooks_folder(cwd, environ)
    if folder is None:
        return Refusal(git.NAME, cwd, "is not in a git repository that runs hooks; go to one and run this again")
    path = folder / HOOK_NAME
    before = _content(path)
    if before is not None and block(home).encode() in before:
        return None
    if _is_the_projects(path, environ):
        why = "belongs to the project, so memd leaves it alone. Add this line to it"
        return Refusal(git.NAME, path, why, paste=hook_line(home))
    if os.path.lexists(path) and not (path.is_symlink() or path.is_file()):
        return Refusal(git.NAME, path, "is not a file; move it elsewhere and run this again")
    return write_refusal(git.NAME, folder / _ASIDE) or _addition(home, path, before)


def _addition(home: Path, path: Path, before: bytes | None) -> Step | Refusal:
    theirs = _without_memd(home, before)
    calls_aside = before is not None and theirs is None and _call_aside().encode() in before
    moves = os.path.lexists(path) and not (before is not None and theirs is None) and not _takes_a_block(path, theirs)
    if moves and os.path.lexists(_aside(path)):
        return Refusal(git.NAME, _aside(path), "is in the way; move it elsewhere and run this again")
    if theirs is None or moves:
        after = (_SHEBANG + block(home) + (_call_aside() if moves or calls_aside else "")).encode()
    else:
        first, _, rest = theirs.partition(b"\n")
        after = first + b"\n" + block(home).encode() + rest
    how = (
        f"put what is there aside in {_ASIDE}/ and call it; then"
        if moves
        else "create it with"
        if theirs is None
        else "add"
    )
    return _Addition(
        harness=git.NAME,
        path=path,
        lines=(f"{path}: {how}:", f"  {hook_line(home)}"),
        brief=f"1 hook into {path}" + (f"; what is there goes aside into {_ASIDE}/ and is called" if moves else ""),
        before=before,
        original=None if moves else theirs,
        after=after,
        moves=moves,
        record=GitRecord(
            path=str(path),
            folders=tuple(str(folder) for folder in missing_folders(path)),
            after=digest(after),
        ),
    )


def _takes_a_block(path: Path, content: bytes | None) -> bool:
    """Whether this hook is a shell script of its own that is switched on."""
    return content is not None and not path.is_symlink() and os.access(path, os.X_OK) and bool(_IS_SHELL.match(content))


class _Addition(Step, frozen=True, kw_only=True):
    """``original``: the bytes to give back one day; ``moves``: put aside what is there first."""

    before: bytes | None
    original: bytes | None
    after: bytes
    moves: bool
    record: GitRecord

    def run(self, home: Path) -> None:
        if _content(self.path) != self.before:
            raise Changed
        known = registry.load(home)
        backup = registry.backup_of(home, self.path)
        with contextlib.ExitStack() as undo:
            undo.callback(registry.keep_backup, home, self.path, backup)
            registry.keep_backup(home, self.path, self.original)
            undo.callback(registry.save, home, known)
            registry.save(home, known.with_record(self.record))
            for folder in missing_folders(self.path):
                folder.mkdir()
            if self.moves:
                undo.callback(_put_back_if_aside, self.path)
                _put_aside(self.path)
            replace_file(self.path, self.after, mode=0o755 if self.original is None else None)
            undo.pop_all()


# --- taking it out


def removal(home: Path, path: Path) -> Step | Refusal | None:
    """The step that takes memd out of the hook at ``path``; None when it is neither there nor known to have been."""
    record = registry.load(home).of(path)
    record = record if isinstance(record, GitRecord) else None
    before = _content(path)
    after = _without_memd(home, before)
    if before is not None and record and digest(before) == record.after:
        original = registry.backup_of(home, path)
        after = after if original is None else original
    if record is None and before == after:
        return None
    refusal = write_refusal(git.NAME, path) if before != after and path.parent.is_dir() else None
    line = f"{path}: {_how(path, before, after)}"
    return refusal or _Removal(
        harness=git.NAME, path=path, lines=(line,), brief=line, before=before, after=after, record=record
    )


def _how(path: Path, before: bytes | None, after: bytes | None) -> str:
    if after is not None:
        return "take the block of memd out" if after != before else "memd is out of it already"
    if _has_aside(path):
        return "put back what was there"
    return "remove it" if before is not None else "it is gone already"


class _Removal(Step, frozen=True, kw_only=True):
    """``after`` None: nothing of anybody else's is in the hook."""

    before: bytes | None
    after: bytes | None
    record: GitRecord | None

    def run(self, home: Path) -> None:
        if _content(self.path) != self.before:
            raise Changed
        if self.after is None:
            if _has_aside(self.path):
                _put_back(self.path)
            elif self.before is not None:
                self.path.unlink()
        elif self.after != self.before:
            replace_file(self.path, self.after)
        remove_folders(tuple(Path(folder) for folder in (self.record.folders if self.record else ())))
        registry.save(home, registry.load(home).without(self.path))
        registry.keep_backup(home, self.path, None)


def _without_memd(home: Path, content: bytes | None) -> bytes | None:
    """The hook without this home's block; None when it is not there, or memd's alone (also where it calls the one put aside)."""
    if content is None:
        return None
    launcher = word(str(home / HOOK)).encode()
    rest = _BLOCK.sub(lambda found: b"" if launcher in found[1] else found[0], content)
    is_memds = rest != content and rest in (_SHEBANG.encode(), (_SHEBANG + _call_aside()).encode())
    return None if is_memds else rest


# --- the hook put aside


def _aside(path: Path) -> Path:
    return path.parent / _ASIDE / HOOK_NAME


def _has_aside(path: Path) -> bool:
    return os.path.lexists(_aside(path))


def _call_aside() -> str:
    return f'hook="${{0%/*}}/{_ASIDE}/{HOOK_NAME}"\n[ ! -x "$hook" ] || exec "$hook" "$@"\n'


def _put_aside(path: Path) -> None:
    """A relative link would lead elsewhere from a folder further down, so it is drawn anew."""
    aside = _aside(path)
    aside.parent.mkdir(exist_ok=True)
    if path.is_symlink():
        aside.symlink_to(os.path.join("..", os.readlink(path)))
        path.unlink()
    else:
        os.replace(path, aside)


def _put_back_if_aside(path: Path) -> None:
    if os.path.lexists(_aside(path)):
        _put_back(path)


def _put_back(path: Path) -> None:
    aside = _aside(path)
    if aside.is_symlink():
        draft = path.with_name(f".{path.name}.memd")
        draft.symlink_to(os.readlink(aside).removeprefix("../"))
        os.replace(draft, path)
        aside.unlink()
    else:
        os.replace(aside, path)
    remove_folders((aside.parent,))
    sync_folder(path.parent)


def _content(path: Path) -> bytes | None:
    """What the hook holds; None for none, and for what is no file or a link that leads nowhere."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        return None
