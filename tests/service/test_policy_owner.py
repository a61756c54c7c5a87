"""Policy files of another user: a whole daemon under a user of its own, and folders that only root can write."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ground.test_policy_files import NOBODY, file, needs_root

pytestmark = needs_root

RULE = "Never push to main."
TEAM = f'[[directive]]\ntext = "{RULE}"\n[settings]\nhold = "off"\n'
FRAME = "DIRECTIVE (standing rule from a policy file that this user cannot write — follow it): "
# A daemon as `Daemon.open` makes it, its system's folder exchanged before the first look; then one session's start, and a restart.
LIFE = """
import json, sys, time
from pathlib import Path
from memd_client import api
from memd_daemon.service import parts, policy
from tests.service.desk import Desk, context_of, make_repo
home, system = Path(sys.argv[1]), sys.argv[2]
parts.Policies.__init__.__defaults__ = (system,)
(home / "repo").exists() or make_repo(home / "repo")
desk = Desk(home / "home", home / "repo")
desk.clock.ms = time.time_ns() // 10**6 + int(sys.argv[3]) * 24 * 3600 * 1000
told = context_of(desk.start(sys.argv[4]))
hold = desk.ask(api.Settings(key="hold")).settings[0]
files = desk.ask(api.Policies()).files
problems = [one["what"] for one in desk.ask(api.Status()).problems]
desk.close()
print(json.dumps({
    "told": told,
    "hold": [hold.value, hold.policy],
    "files": [[one.name, one.counts, one.behind, one.why, one.detail] for one in files],
    "problems": problems,
}))
"""


class Life:
    """Sessions of a user who is not root, under a system's folder that is root's."""

    def __init__(self, mine: Path, far: Path) -> None:
        self.mine, self.folder, self.sessions = mine, far / "policy.d", 0
        self.path = self.folder / "team.toml"

    def start(self, days: int = 0) -> Any:
        self.sessions += 1
        who = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        environ = {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), *sys.path])),
            "PATH": os.environ["PATH"],
            "HOME": str(self.mine),
        }
        words = [*who, sys.executable, "-c", LIFE, self.mine, self.folder, days, f"s{self.sessions}"]
        ran = subprocess.run(
            list(map(str, words)), env=environ, cwd=self.mine, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)


@pytest.fixture
def life() -> Iterator[Life]:
    far = Path(tempfile.mkdtemp(prefix="memd-far-", dir="/usr/local"))
    mine = Path(tempfile.mkdtemp(prefix="memd-mine-", dir="/tmp"))
    try:
        far.chmod(0o755)
        os.chown(mine, NOBODY, NOBODY)
        (far / "policy.d").mkdir(mode=0o755)
        made = Life(mine, far)
        file(made.path).write_text(TEAM)
        yield made
    finally:
        shutil.rmtree(far)
        shutil.rmtree(mine)


def test_what_this_user_cannot_write_counts_without_any_key(life: Life) -> None:
    """Told in a frame that says so, and locked; the user's own folder is no such place."""
    own = life.mine / "home" / "policy"
    own.mkdir(parents=True)
    for folder in (own, own.parent):
        os.chown(folder, NOBODY, NOBODY)
    file(own / "root.toml").write_text(TEAM)
    seen = life.start()
    assert seen["told"] == (
        f"memd: 1 standing rule from a policy file.\n[policy team.toml] {FRAME}{RULE}\nmemd: end of the policy."
    )
    assert seen["hold"] == ["off", str(life.path)]
    assert seen["files"] == [
        ["team.toml", True, "owner", "", ""],
        ["root.toml", False, "", "it is not signed", ""],
    ]


def test_what_this_user_comes_to_own_counts_no_more_and_is_announced_for_a_week(life: Life) -> None:
    """Over restarts, with the reason; what is mended counts again, and an edit of root's is no loss."""
    life.start()
    life.folder.chmod(0o775)
    for days in (0, 6):
        seen = life.start(days)
        assert seen["told"].startswith(
            "memd: the policy file team.toml no longer counts: this user can change it, and it is not signed (seen on "
        )
        assert "1 standing rule, 1 locked setting" in seen["told"]
        assert seen["hold"] == ["on", ""]
        assert seen["files"][0][3:] == [
            "this user can change it, and it is not signed",
            f"{life.folder} can be written by a group or by everybody",
        ]
    assert life.start(8)["told"] == ""
    life.folder.chmod(0o755)
    life.path.write_text(TEAM.replace("main", "trunk"))
    seen = life.start(9)
    assert "Never push to trunk." in seen["told"]
    assert "no longer counts" not in seen["told"]
    assert seen["problems"] == []


def test_a_folder_that_this_user_may_not_look_into_breaks_nothing(life: Life) -> None:
    """Nobody knows then what stands there; what counted is missed."""
    life.start()
    life.folder.chmod(0o700)
    assert "team.toml no longer counts: it cannot be read" in life.start()["told"]
    life.folder.chmod(0o755)
    life.path.chmod(0o600)
    assert "team.toml no longer counts: it cannot be read" in life.start()["told"]
    life.path.unlink()
    os.mkfifo(life.path)
    assert "what stands in its place is no plain file" in life.start()["told"]
