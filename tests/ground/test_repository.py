"""git is asked about repositories that anybody may have made."""

import subprocess
from pathlib import Path

import pytest

from memd_daemon.ground import repository
from tests.service.desk import git, make_repo

SIGNED = """tree {tree}
parent {parent}
author Dev <dev@example.invalid> 1772600000 +0000
committer Dev <dev@example.invalid> 1772600000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 AAAA
 -----END PGP SIGNATURE-----

Signed by nobody
"""

QUESTIONS = [
    ("log", "-g", "-n", "1", "--format=%H", "HEAD", "--"),
    ("show", "--no-patch", "--format=%H", "HEAD", "--"),
    ("show", "--format=", "--name-only", "-z", "--no-renames", "HEAD", "--"),
    ("rev-list", "--max-parents=0", "HEAD"),
]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A repository whose settings name a program wherever git would run one; it leaves a file behind."""
    repo = make_repo(tmp_path / "repo")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\nexit 1\n")
    trap.chmod(0o755)
    body = SIGNED.format(
        tree=git(repo, "rev-parse", "HEAD^{tree}").strip(), parent=git(repo, "rev-parse", "HEAD").strip()
    )
    made = subprocess.run(
        ["git", "-C", str(repo), "hash-object", "-t", "commit", "-w", "--stdin"],
        input=body.encode(),
        capture_output=True,
        check=True,
    )
    git(repo, "update-ref", "-m", "commit: Signed by nobody", "HEAD", made.stdout.decode().strip())
    for name in ("core.fsmonitor", "gpg.program", "core.sshCommand", "core.pager", "diff.external", "core.gitProxy"):
        git(repo, "config", name, str(trap))
    git(repo, "config", "log.showSignature", "true")
    return repo


@pytest.mark.parametrize("words", QUESTIONS, ids=" ".join)
def test_no_program_that_a_repository_names_is_run(hostile: Path, words: tuple[str, ...]) -> None:
    """The answer comes, and the trap was not touched."""
    told = repository.git(str(hostile), *words)
    assert told is not None
    assert not (hostile.parent / "sprung").exists()


def test_nothing_is_fetched(hostile: Path) -> None:
    """A partial clone that lacks an object would fetch it, through a program that its remote names."""
    tree = git(hostile, "rev-parse", "HEAD^{tree}").strip()
    (hostile / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    git(hostile, "config", "core.repositoryFormatVersion", "1")
    git(hostile, "config", "extensions.partialClone", "origin")
    git(hostile, "config", "remote.origin.promisor", "true")
    git(hostile, "config", "remote.origin.url", f"ext::{hostile.parent}/trap")
    git(hostile, "config", "protocol.ext.allow", "always")
    repository.git(str(hostile), "show", "--format=", "--name-only", "HEAD", "--")
    assert not (hostile.parent / "sprung").exists()
