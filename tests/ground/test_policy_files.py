"""Which files are out of a user's reach: real folders of root's, judged by a process of another user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client.policy_signing import CONTENT_MAX_BYTES
from memd_daemon import limits
from memd_daemon.ground import policy_files
from memd_daemon.ground.policy_files import Unfit
from memd_daemon.model.policy import Why

NOBODY = 65534
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="another user is root's to be"
)
JUDGE = """
import json, sys
from memd_daemon.ground.policy_files import why_in_reach
print(json.dumps([why_in_reach(path) for path in sys.argv[1:]]))
"""


def judged(paths: list[Path], *options: str) -> list[str]:
    """What a process of nobody says of these paths."""
    who = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", *(options or ("--clear-groups",)))
    environ = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PATH": os.environ["PATH"]}
    words = [*who, sys.executable, "-c", JUDGE, *map(str, paths)]
    ran = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
    told: list[str] = json.loads(ran.stdout)
    return told


@pytest.fixture
def far() -> Iterator[Path]:
    """A folder of root's with a policy file in `policy.d`, on a way that root alone can write."""
    home = Path(tempfile.mkdtemp(prefix="memd-far-", dir="/usr/local"))
    try:
        home.chmod(0o755)
        (home / "policy.d").mkdir(mode=0o755)
        file(home / "policy.d" / "team.toml")
        yield home
    finally:
        shutil.rmtree(home)


def file(path: Path) -> Path:
    path.write_text("")
    path.chmod(0o644)
    return path


def as_it_should_be(home: Path, path: Path) -> Path:
    return path


def behind_roots_links(home: Path, path: Path) -> Path:
    """Folder and file named by links of root's, relative and absolute, with `..`."""
    (home / "real").mkdir(mode=0o755)
    (home / "real" / "x.toml").symlink_to(f"{home}/policy.d/../policy.d/./team.toml")
    (home / "linked").symlink_to("real")
    return home / "linked" / "x.toml"


def owned_by_the_user(home: Path, path: Path) -> Path:
    os.chown(path, NOBODY, 0)
    path.chmod(0o444)
    return path


def in_the_users_group(home: Path, path: Path) -> Path:
    os.chown(path, 0, NOBODY)
    path.chmod(0o664)
    return path


def in_a_strangers_group(home: Path, path: Path) -> Path:
    """Whether the user is in it may change at any time."""
    os.chown(path, 0, 12345)
    path.chmod(0o664)
    return path


def for_everybody(home: Path, path: Path) -> Path:
    path.chmod(0o666)
    return path


def in_a_folder_of_the_user(home: Path, path: Path) -> Path:
    """Its mode can be changed back by its owner."""
    os.chown(path.parent, NOBODY, 0)
    path.parent.chmod(0o555)
    return path


def in_a_folder_of_the_group(home: Path, path: Path) -> Path:
    os.chown(path.parent, 0, NOBODY)
    path.parent.chmod(0o775)
    return path


def in_a_shared_folder(home: Path, path: Path) -> Path:
    """Sticky or not."""
    path.parent.chmod(0o1777)
    return path


def under_a_folder_of_the_user(home: Path, path: Path) -> Path:
    """Some way up."""
    os.chown(home, NOBODY, 0)
    return path


def under_a_shared_folder(home: Path, path: Path) -> Path:
    home.chmod(0o777)
    return path


def behind_a_link_of_the_user(home: Path, path: Path) -> Path:
    (home / "mine").symlink_to("policy.d")
    os.chown(home / "mine", NOBODY, NOBODY, follow_symlinks=False)
    return home / "mine" / "team.toml"


def behind_a_link_into_the_users_folder(home: Path, path: Path) -> Path:
    mine = home / "mine"
    mine.mkdir(mode=0o755)
    file(mine / "x.toml")
    os.chown(mine, NOBODY, NOBODY)
    (home / "policy.d" / "x.toml").symlink_to(mine / "x.toml")
    return home / "policy.d" / "x.toml"


def behind_a_link_to_the_temporary_folder(home: Path, path: Path) -> Path:
    (home / "tmp").symlink_to("/tmp")
    return home / "tmp" / "x.toml"


def through_the_folder_of_a_process(home: Path, path: Path) -> Path:
    """The kernel's own links lead where a process stands."""
    (home / "cwd").symlink_to("/proc/self/cwd")
    return home / "cwd" / "x.toml"


def in_a_circle(home: Path, path: Path) -> Path:
    (home / "a").symlink_to("b")
    (home / "b").symlink_to("a")
    return home / "a" / "x.toml"


def behind_a_closed_folder(home: Path, path: Path) -> Path:
    path.parent.chmod(0o700)
    return path


def that_is_not_there(home: Path, path: Path) -> Path:
    return path.with_name("other.toml")


CASES: dict[Callable[[Path, Path], Path], str] = {
    as_it_should_be: "",
    behind_roots_links: "",
    owned_by_the_user: "team.toml belongs to this user",
    in_the_users_group: "team.toml can be written by a group",
    in_a_strangers_group: "team.toml can be written by a group",
    for_everybody: "or by everybody",
    in_a_folder_of_the_user: "policy.d belongs to this user",
    in_a_folder_of_the_group: "policy.d can be written by a group",
    in_a_shared_folder: "policy.d can be written by a group or by everybody",
    under_a_folder_of_the_user: "belongs to this user",
    under_a_shared_folder: "or by everybody",
    behind_a_link_of_the_user: "mine belongs to this user",
    behind_a_link_into_the_users_folder: "mine belongs to this user",
    behind_a_link_to_the_temporary_folder: "/tmp can be written",
    through_the_folder_of_a_process: "belongs to this user",
    in_a_circle: "too many links",
    behind_a_closed_folder: "cannot be looked at",
    that_is_not_there: "cannot be looked at",
}


@needs_root
@pytest.mark.parametrize("made", CASES, ids=lambda made: made.__name__)
def test_a_file_is_out_of_reach_only_where_nothing_on_its_way_is_in_reach(
    far: Path, made: Callable[[Path, Path], Path]
) -> None:
    """The owner, group and others, folders however far up, and links."""
    (told,) = judged([made(far, far / "policy.d" / "team.toml")])
    assert CASES[made] in told
    assert bool(told) == bool(CASES[made])


@needs_root
def test_an_access_list_counts_as_what_it_allows(far: Path) -> None:
    """Also where the mode bits of owner and others say nothing of it."""
    path = far / "policy.d" / "team.toml"
    if (
        shutil.which("setfacl") is None
        or subprocess.run(["setfacl", "-m", f"u:{NOBODY}:rw", str(path)], capture_output=True, check=False).returncode
    ):
        pytest.skip("no access lists here")
    (told,) = judged([path])
    assert "can be written" in told


@needs_root
def test_a_capability_counts_as_what_it_allows(far: Path) -> None:
    """A process that may pass over modes can write it, whoever it is."""
    options = ("--clear-groups", "--inh-caps=+dac_override", "--ambient-caps=+dac_override")
    try:
        (told,) = judged([far / "policy.d" / "team.toml"], *options)
    except subprocess.CalledProcessError:
        pytest.skip("no such capability to give")
    assert "can be written by this user" in told


@needs_root
def test_nothing_is_out_of_roots_reach(far: Path) -> None:
    """Root can change every file, so it is told so and nothing else."""
    assert policy_files.why_in_reach(str(far / "policy.d" / "team.toml")) == "memd runs as root"


# --- reading


def test_a_plain_file_is_read_to_its_bound(tmp_path: Path) -> None:
    """One byte more is too large, and no more than that is read."""
    path = tmp_path / "a.toml"
    path.write_bytes(b"x" * CONTENT_MAX_BYTES)
    assert len(policy_files.read(str(path))) == CONTENT_MAX_BYTES
    path.write_bytes(b"x" * (CONTENT_MAX_BYTES + 1))
    with pytest.raises(Unfit) as refused:
        policy_files.read(str(path))
    assert refused.value.why == Why.TOO_LARGE


@pytest.mark.parametrize("what", ["pipe", "folder", "device", "socketless link", "nothing"])
def test_what_is_no_plain_file_is_not_waited_for(tmp_path: Path, what: str) -> None:
    """A pipe without a writer would hold a reader for ever."""
    path = tmp_path / "a.toml"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "socketless link":
        path.symlink_to(path)
    with pytest.raises(Unfit) as refused:
        policy_files.read(str(path))
    whys = {"socketless link": Why.UNREADABLE, "nothing": Why.GONE}
    assert refused.value.why == whys.get(what, Why.NO_FILE)


def test_a_folder_is_listed_within_bounds(tmp_path: Path) -> None:
    """Known names come first, whatever lies beside them; what is not there has no mark."""
    for number in range(limits.POLICY_FILES_MAX + 3):
        (tmp_path / f"a{number:03}.toml").write_text("")
    (tmp_path / "notes.txt").write_text("")
    found = policy_files.listed(str(tmp_path), ["zz.toml"])
    assert len(found.names) == limits.POLICY_FILES_MAX
    assert "zz.toml" in found.names
    assert len(found.over) == 4
    assert policy_files.listed(str(tmp_path / "nowhere"), []).names == ()
    assert policy_files.mark_of(str(tmp_path / "zz.toml")) == ()


@pytest.mark.parametrize("what", ["write", "replace", "chmod", "touch", "link's target", "sign"])
def test_every_change_shows_in_the_mark(tmp_path: Path, what: str) -> None:
    """Also one that leaves size and mtime as they were."""
    path = tmp_path / "a.toml"
    target = tmp_path / "target"
    target.write_text("one")
    path.symlink_to(target) if what == "link's target" else path.write_text("one")
    os.utime(path, ns=(0, 0))
    before = policy_files.listed(str(tmp_path), []).mark
    assert policy_files.listed(str(tmp_path), []).mark == before
    if what == "write":
        path.write_text("two")
        os.utime(path, ns=(0, 0))
    elif what == "replace":
        (tmp_path / "b").write_text("one")
        os.utime(tmp_path / "b", ns=(0, 0))
        (tmp_path / "b").replace(path)
    elif what == "chmod":
        path.chmod(0o600)
    elif what == "touch":
        path.touch()
    elif what == "link's target":
        target.write_text("two")
    else:
        (tmp_path / "a.toml.sig").write_text("x")
    assert policy_files.listed(str(tmp_path), []).mark != before


@pytest.mark.parametrize(
    ("name", "is_plain"),
    [
        ("team.toml", True),
        ("10-team_rules.v2.toml", True),
        (f"{'a' * 59}.toml", True),
        (f"{'a' * 60}.toml", False),
        (".toml", False),
        ("-a.toml", False),
        ("a b.toml", False),
        ("a].toml", False),
        ("ä.toml", False),
        ("a.toml\n", False),
        ("a.toml.sig", False),
        ("../a.toml", False),
    ],
)
def test_a_name_is_one_that_memds_words_can_hold(name: str, is_plain: bool) -> None:
    """Letters, digits and three signs: nothing in it ends a bracket or a line."""
    assert policy_files.is_plain_name(name) == is_plain


@given(name=st.text(max_size=70))
def test_no_plain_name_could_be_taken_for_more(name: str) -> None:
    """Whatever is plain is one word of ASCII."""
    if policy_files.is_plain_name(name):
        assert name.isascii()
        assert name.isprintable()
        assert not set(name) & set(" []()\"'\\/:,;<>")
