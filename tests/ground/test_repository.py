"""git is asked about repositories that anybody may have made."""

import os
import subprocess
from pathlib import Path

import pytest

from memd_daemon import limits
from memd_daemon.ground import repository
from tests.ground.test_opened import left_open
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


def repr_short(value: object) -> str:
    return repr(value)[:20]


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


@pytest.mark.parametrize(
    ("config", "remote"),
    [
        ('[remote "origin"]\n\turl = https://Host:8443/a/b.git\n', "host/a/b"),
        ('[remote "origin"]\n\turl = https://user:pa@host/a/b.git?private_token=x#y\n', "host/a/b"),
        ('[remote "origin"]\n\turl = git@host:a/b.git\n', "host/a/b"),
        ('[remote "a"]\nurl=https://h/1\n[remote "b"]\nurl=https://h/2\n', ""),
        ('[remote "o"]\nurl = x' + " " * 900_000 + "\x00\n", ""),
        ('[remote "o"]\n' + "url = x\n" * 100_000, "/base/x"),
        ('[remote "o"]\nurl = /tmp/\0x\n', "/tmp/\ufffdx"),
        ('[remote "o"]\nurl = ~nobody\0/x\n', "/base/~nobody\ufffd/x"),
        ('[remote "o"]\nurl =\n', ""),
        ('[remote "' * 10_000 + "\nurl = x\n", ""),
    ],
)
def test_a_remote_is_read_from_whatever_stands_in_a_config(config: str, remote: str) -> None:
    """In time that grows with its length, without credentials and query, and never with an exception."""
    assert repository.primary_remote(config, "/base") == remote


@pytest.mark.parametrize(
    ("given", "real"),
    [
        ("", "/"),
        ("/nowhere/\0x", "/nowhere/\ufffdx"),
        ("/nowhere/\ud800x", "/nowhere/\ufffdx"),
        ("/nowhere/\udce9", "/nowhere/\udce9"),
        ("nowhere", "/nowhere"),
        ("/" + "a/" * 1_000_000, "/" + "a/" * 2_047 + "a"),
    ],
)
def test_every_name_of_a_directory_is_some_path(given: str, real: str) -> None:
    """What no path can hold is replaced or cut; bytes that are no UTF-8 stay, since they lead to a directory."""
    assert repository.real_path(given).rstrip("/") == real.rstrip("/")


@pytest.mark.parametrize("by", ["the system", "its parts"])
@pytest.mark.parametrize(
    "given",
    [
        "d/e",
        "d/../d/e/f.txt",
        "d//e/.",
        "link/e",
        "link/f",
        "d/gone",
        "gone/x",
        "loop/x",
        "d (deleted)/x",
        "d/fifo",
        "d/e/f.txt/x",
    ],
)
def test_a_real_path_is_the_same_whoever_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, by: str
) -> None:
    """Links, what is missing, what is no folder, a loop, a name that ends as the system marks what was removed."""
    (tmp_path / "d/e").mkdir(parents=True)
    (tmp_path / "d (deleted)/x").mkdir(parents=True)
    (tmp_path / "d/e/f.txt").write_text("")
    os.mkfifo(tmp_path / "d/fifo")
    (tmp_path / "link").symlink_to("d")
    (tmp_path / "loop").symlink_to("loop")
    if by == "its parts":
        monkeypatch.setattr(repository, "_NAMING", None)
    assert repository.real_path(f"{tmp_path}/{given}") == os.path.realpath(tmp_path / given)


@pytest.mark.parametrize("name", ["HEAD", "config", "commondir"])
@pytest.mark.parametrize("content", [b"\xe9\0\xff", b"ref: refs/heads/\xe9\n", b"a/" * 400_000, None], ids=repr_short)
def test_a_checkout_comes_out_of_any_bytes(tmp_path: Path, name: str, content: bytes | None) -> None:
    """Latin-1, NUL, a megabyte, a FIFO: the root is found, and what is kept of it is text."""
    repo = make_repo(tmp_path / "repo")
    file = repo / ".git" / name
    if content is None:
        file.unlink(missing_ok=True)
        os.mkfifo(file)
    else:
        file.write_bytes(content)
    found = repository.find_checkout(str(repo))
    assert found.root == str(repo)
    found.branch.encode()
    assert len(found.branch) <= limits.LINE_MAX_CHARS


def test_what_the_system_says_of_a_descriptor_is_a_path_or_nothing(tmp_path: Path) -> None:
    """Of a removed file and of a pipe it says something else; a name that ends as if is found in another way."""
    named = tmp_path.resolve() / "f.py (deleted)"
    for file in (tmp_path / "gone.py", named):
        file.touch()
    gone, there, (pipe, end) = os.open(tmp_path / "gone.py", os.O_RDONLY), os.open(named, os.O_RDONLY), os.pipe()
    (tmp_path / "gone.py").unlink()
    assert [repository.path_of(one) for one in (gone, there, pipe)] == [None, None, None]
    assert repository.resolved(str(named)) == str(named)
    for one in (gone, there, pipe, end):
        os.close(one)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc to count descriptors by")
def test_what_is_opened_to_hear_its_path_is_closed_again(tmp_path: Path) -> None:
    """A daemon that left one open at each look could open nothing more after a thousand."""
    here = tmp_path.resolve()
    assert repository.resolved(str(here)) == repository.resolved_folder(str(here)) == str(here)
    assert left_open(here) == 0
