"""memd's block in a post-commit hook: real repositories, real commits, and every byte back."""

import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from memd_hooks import install, install_git, registry
from memd_hooks.install import Done

IDENTITY = {"GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e@x", "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "e@x"}


class Repository:
    """A fresh repository of a person without git settings, and a memd home whose launcher writes down its calls."""

    def __init__(self, root: Path) -> None:
        self.user = root / "it's home"
        self.user.mkdir()
        self.home = self.user / "memd"
        self.top = root / "repo"
        self.environ: Mapping[str, str] = {
            "HOME": str(self.user),
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            **IDENTITY,
        }
        subprocess.run(["git", "init", "-q", str(self.top)], check=True, env=dict(self.environ))
        self.hook = self.top / ".git/hooks/post-commit"
        self.hook.parent.mkdir(exist_ok=True)
        self.calls = root / "calls"

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        run = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.top,
            env=dict(self.environ),
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run
        return run.stdout

    def commit(self, name: str, cwd: Path | None = None) -> str:
        """Commits; returns what the person at the terminal sees."""
        (cwd or self.top).joinpath(name).write_text(name)
        self.git("add", name, cwd=cwd)
        run = subprocess.run(
            ["git", "commit", "-q", "-m", name],
            cwd=cwd or self.top,
            env=dict(self.environ),
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0
        return run.stdout + run.stderr

    def write_hook(self, text: str, mode: int = 0o755) -> None:
        self.hook.write_text(text)
        self.hook.chmod(mode)

    def install(self, cwd: Path | None = None) -> Done:
        done = install.apply(install.plan(["git"], "user", self.home, cwd or self.top, self.environ))
        launcher = self.home / "bin/hook"
        launcher.write_text(f'#!/bin/sh\necho "$*:$(cat)" >>"{self.calls}"\necho noise; echo noise >&2; exit 3\n')
        return done

    def uninstall(self) -> Done:
        return install.uninstall(["git"], self.home, self.user, self.environ)

    def told(self) -> int:
        return self.calls.read_text().count("git-commit git:\n") if self.calls.exists() else 0


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def hooks_tree(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    return {
        str(f.relative_to(folder)): (
            f.lstat().st_mode,
            str(f.readlink()) if f.is_symlink() else f.read_bytes() if f.is_file() else "",
        )
        for f in folder.rglob("*")
    }


SAYS = 'echo "mine $# $(basename "$0") $(pwd)" >>.git/said'

HOOKS = {
    "none": None,
    "sh": f"#!/bin/sh\n{SAYS}\n",
    "ends with exec": f"#!/usr/bin/env bash\n# a dispatcher\n{SAYS}\nexec true\n",
    "ends with exit": f"#!/bin/sh -e\nset -u\n{SAYS}\nexit 7\n",
    "no line end": f"#!/bin/sh\n{SAYS}",
    "first line only": "#!/bin/sh",
    "another language": "#!/usr/bin/env python3\nimport sys\nopen('.git/said', 'a').write('mine ' + sys.argv[0])\n",
    "windows": "#!/bin/sh\r\ntrue\r\n",
    "no first line": f"{SAYS}\n",
}


@pytest.mark.parametrize("name", HOOKS)
def test_in_and_out_is_byte_equal_and_commits_are_told(repository: Repository, name: str) -> None:
    """Whatever hook was there: memd is told of each commit in silence, the hook still runs, and all comes back, mode and all."""
    text = HOOKS[name]
    if text is not None:
        repository.write_hook(text, 0o750)
    before = hooks_tree(repository.hook.parent)
    seen_before = repository.commit("a").replace("a", "")
    said = repository.top / ".git/said"
    expected = said.read_text() if said.exists() else ""
    assert repository.install().refusals == ()
    assert repository.commit("b").replace("b", "") == seen_before or name in ("windows",)
    assert repository.told() == 1
    assert "noise" not in seen_before
    if expected:
        assert said.read_text().count("mine") == 2
        assert "post-commit" in said.read_text().removeprefix(expected)
    assert repository.git("status", "--porcelain") == ""
    repository.uninstall()
    assert hooks_tree(repository.hook.parent) == before
    assert registry.load(repository.home) == registry.Registry()
    repository.commit("c")
    assert repository.told() == 1


@pytest.mark.parametrize("name", ["ends with exit", "another language"])
def test_the_hooks_own_exit_status_is_kept(repository: Repository, name: str) -> None:
    """git gets from the hook what it got before."""
    repository.write_hook(
        HOOKS["ends with exit"] if name == "ends with exit" else "#!/usr/bin/env python3\nraise SystemExit(7)\n"
    )
    repository.install()
    run = subprocess.run(
        [".git/hooks/post-commit"], cwd=repository.top, env=dict(repository.environ), capture_output=True, check=False
    )
    assert run.returncode == 7


def test_a_new_hook_ends_well(repository: Repository) -> None:
    """memd's own hook has exit status 0, with its launcher there, failing or gone."""
    repository.install()
    for _ in range(2):
        assert subprocess.run([repository.hook], cwd=repository.top, capture_output=True, check=False).returncode == 0
        (repository.home / "bin/hook").unlink(missing_ok=True)


@pytest.mark.parametrize("target", ["../../tools/on-commit", "/nowhere/at/all"])
def test_a_link_is_put_aside_and_drawn_again(repository: Repository, target: str) -> None:
    """What a link leads to may be tracked: it is called, not edited."""
    tool = repository.top / "tools/on-commit"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{SAYS}\n")
    tool.chmod(0o755)
    repository.git("add", "tools")
    repository.git("commit", "-qm", "tools")
    repository.hook.symlink_to(target)
    before = hooks_tree(repository.hook.parent)
    repository.install()
    repository.commit("a")
    assert repository.told() == 1
    assert (repository.top / ".git/said").exists() is target.startswith("..")
    assert repository.git("status", "--porcelain") == ""
    repository.uninstall()
    assert hooks_tree(repository.hook.parent) == before


def test_a_hook_that_is_switched_off_stays_off(repository: Repository) -> None:
    """A hook without the right to run is not woken up."""
    repository.write_hook(f"#!/bin/sh\n{SAYS}\n", 0o644)
    repository.install()
    repository.commit("a")
    assert repository.told() == 1
    assert not (repository.top / ".git/said").exists()
    repository.uninstall()
    assert stat.S_IMODE(repository.hook.stat().st_mode) == 0o644


def test_twice_is_once(repository: Repository) -> None:
    """A second install, also from a worktree of the same repository, has nothing to do."""
    repository.commit("a")
    repository.git("worktree", "add", "-q", "../tree")
    repository.write_hook(f"#!/bin/sh\n{SAYS}\n")
    repository.install()
    before = hooks_tree(repository.hook.parent)
    assert repository.install().steps == ()
    assert repository.install(repository.top.parent / "tree").steps == ()
    assert hooks_tree(repository.hook.parent) == before


def test_a_worktree_installs_for_the_whole_repository(repository: Repository) -> None:
    """git looks for hooks in the common directory; commits on both sides are told."""
    repository.commit("a")
    repository.git("worktree", "add", "-q", "../tree")
    tree = repository.top.parent / "tree"
    repository.install(tree)
    repository.commit("b")
    repository.commit("c", cwd=tree)
    assert repository.told() == 2


def test_a_folder_that_is_missing_is_made_and_goes(repository: Repository) -> None:
    """A repository made without templates has no hooks folder."""
    repository.hook.parent.rename(repository.top / "away")
    repository.install()
    assert repository.hook.exists()
    repository.uninstall()
    assert not repository.hook.parent.exists()


def test_hooks_path_is_followed(repository: Repository, tmp_path: Path) -> None:
    """A person's own folder outside every work tree is where git looks, so the block goes there."""
    folder = tmp_path / "my hooks"
    folder.mkdir()
    repository.git("config", "core.hooksPath", str(folder))
    repository.install()
    repository.commit("a")
    assert repository.told() == 1
    assert not repository.hook.exists()
    repository.uninstall()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["tracked hook", "tracked neighbour", "would be untracked", "untracked hook"])
def test_a_projects_folder_is_left_alone(repository: Repository, kind: str) -> None:
    """core.hooksPath into the work tree: refused with the very line to add, and git status as before."""
    folder = repository.top / ".githooks"
    folder.mkdir()
    if kind != "would be untracked":
        hook = folder / ("post-commit" if kind.endswith("hook") else "pre-push")
        hook.write_text("#!/bin/sh\n")
        hook.chmod(0o755)
    if kind.startswith("tracked"):
        (repository.top / ".gitignore").write_text(".githooks/post-commit\n")
        repository.git("add", "-f", ".githooks", ".gitignore")
        repository.git("commit", "-qm", "hooks")
    repository.git("config", "core.hooksPath", ".githooks")
    before = repository.git("status", "--porcelain"), hooks_tree(folder)
    refusal = repository.install().refusals[0]
    assert install_git.hook_line(repository.home) in str(refusal)
    assert (repository.git("status", "--porcelain"), hooks_tree(folder)) == before


def test_an_ignored_folder_of_a_tool_is_fine(repository: Repository) -> None:
    """husky's generated folder ignores itself: the block is not seen by git status."""
    folder = repository.top / ".husky/_"
    folder.mkdir(parents=True)
    (folder / ".gitignore").write_text("*")
    (folder / "post-commit").write_text('#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
    (folder / "post-commit").chmod(0o755)
    (folder / "h").write_text(f"{SAYS}\nexit 0\n")
    repository.git("config", "core.hooksPath", ".husky/_")
    before = hooks_tree(folder)
    assert repository.install().refusals == ()
    repository.commit("a")
    assert repository.told() == 1
    assert (repository.top / ".git/said").exists()
    assert repository.git("status", "--porcelain") == ""
    repository.uninstall()
    assert hooks_tree(folder) == before


def test_outside_a_repository_there_is_nothing_to_hook(repository: Repository) -> None:
    """The refusal says where to go; nothing is made."""
    assert "git repository" in str(repository.install(repository.user).refusals[0])


def test_hooks_switched_off_are_respected(repository: Repository) -> None:
    """core.hooksPath=/dev/null is how people switch hooks off."""
    repository.git("config", "core.hooksPath", "/dev/null")
    assert "runs hooks" in str(repository.install().refusals[0])


def test_a_surrounding_git_command_does_not_mislead(repository: Repository) -> None:
    """GIT_DIR of a hook that memd was called from speaks of another repository."""
    repository.environ = {
        **repository.environ,
        "GIT_DIR": "/nowhere",
        "GIT_WORK_TREE": "/nowhere",
        "GIT_INDEX_FILE": "x",
    }
    assert install_git.hooks_folder(repository.top, repository.environ) == repository.hook.parent


def test_what_others_added_meanwhile_stays(repository: Repository) -> None:
    """A tool that appended to memd's hook, and one that put a line above, keep their lines."""
    repository.install()
    text = repository.hook.read_text()
    repository.hook.write_text(text.replace("#!/bin/sh\n", "#!/bin/sh\n# top\n") + "echo theirs\n")
    repository.uninstall()
    assert repository.hook.read_text() == "#!/bin/sh\n# top\necho theirs\n"


def test_two_homes_share_a_hook(repository: Repository) -> None:
    """Each takes out its own block, in whatever order."""
    repository.write_hook("#!/usr/bin/env python3\n")
    before = hooks_tree(repository.hook.parent)
    other = repository.user / "other"
    repository.install()
    install.apply(install.plan(["git"], "user", other, repository.top, repository.environ))
    assert repository.hook.read_text().count("# >>> memd") == 2
    repository.uninstall()
    assert str(other).encode() not in repository.hook.read_bytes()  # its apostrophe is written otherwise
    assert repository.hook.read_text().count("# >>> memd") == 1
    install.uninstall(["git"], other, repository.user, repository.environ)
    assert hooks_tree(repository.hook.parent) == before


def test_something_in_the_way_is_named(repository: Repository) -> None:
    """A folder called post-commit, or one where the old hook would go, is not overwritten."""
    repository.hook.mkdir()
    assert "is not a file" in str(repository.install().refusals[0])
    repository.hook.rmdir()
    repository.write_hook("#!/usr/bin/env python3\n")
    aside = repository.hook.parent / "post-commit.before-memd/post-commit"
    aside.parent.mkdir()
    aside.touch()
    assert "is in the way" in str(repository.install().refusals[0])


@pytest.mark.parametrize("theirs", ["#!/usr/bin/env python3\n", "#!/bin/sh\necho theirs\n"])
def test_a_failure_in_between_puts_all_back(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, theirs: str
) -> None:
    """The old hook is in its place again when the new one could not be written, and no copy of it is kept."""
    repository.write_hook(theirs)
    before = hooks_tree(repository.hook.parent)

    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(install_git, "replace_file", fails)
        assert "No space left" in str(repository.install().refusals[0])
    assert hooks_tree(repository.hook.parent) == before
    assert registry.load(repository.home) == registry.Registry()
    assert not (repository.home / "backup").exists()


def test_a_repository_that_is_gone_is_forgotten(repository: Repository) -> None:
    """The record of a deleted repository does not keep the removal from ending."""
    repository.install()
    repository.top.rename(repository.user / "elsewhere")
    assert repository.uninstall().refusals == ()
    assert registry.load(repository.home) == registry.Registry()
