"""A user with a life: home, repository, client, machine, each full of the private things of guard_rows.py.

`Life` plants what stands in files; what is lived with a daemon, and the states in which a report is made, are in guard_scenes.py.
``private(name)`` gives a row's text and marks it as planted.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from memd_client.reach import Reach
from tests.cli.guard_rows import BY_NAME, Private
from tests.cli.world import PASSPHRASE, PROGRAM, WAIT_S, Ran, World, end_daemons_of

MAY_UNSHARE: Final = subprocess.run(["unshare", "-m", "-u", "true"], capture_output=True, check=False).returncode == 0
"""Whether this user may have mounts and a host name of its own; the machine's are left alone."""

MEMD: Final = Path(sys.executable).with_name("memd")
AS_GIVEN: Final = '"$@"; exit $?'  # the shell stays, so it is the parent
# Mounts of this process's own: what the machine says of itself, and two disks.
ELSEWHERE: Final = """
cd "$1"
mount --bind etc /etc && mount --bind cmdline /proc/cmdline && mount --bind cpuinfo /proc/cpuinfo || exit 91
mount -t tmpfs "$2" "$3" && hostname "$4" && mount --bind cgroup /proc/$$/cgroup || exit 92
cd "$5"
shift 5
"""


def write(path: Path, text: str | bytes) -> Path:
    """A file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
    return path


class Life(World):
    """A world in which everything has a private name."""

    def __init__(self) -> None:
        super().__init__()
        self.planted: set[str] = set()
        self.dynamic: dict[str, str] = {}  # what only the world itself can name: a recovery code, a commit
        self.others: list[Path] = []  # further homes, whose daemons end with this one
        self.machine = self.folder / "machine"
        for made in (self.user_home, self.repository):
            shutil.rmtree(made)
        self.user_home = self.folder / self.private("home.folder")
        self.repository = self.user_home / self.private("repo.folder")
        self.home = self.user_home / self.private("home.name")
        self.repository.mkdir(parents=True)
        self.config = self.user_home / self.private("claude.folder")
        self.environ = {
            "HOME": str(self.user_home),
            "MEMD_HOME": str(self.home),
            "PATH": f"{self.private('env.path')}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "CLAUDE_CONFIG_DIR": str(self.config),
        }

    def close(self) -> None:
        """Ends every daemon that was started, and removes everything."""
        for home in self.others:
            Reach(home, starts=False).end()
            end_daemons_of(home)
        super().close()

    def private(self, name: str) -> str:
        """The text of a row, which stands somewhere from now on."""
        self.planted.add(name)
        return BY_NAME[name].text

    def parts(self, row: Private) -> tuple[str, ...]:
        """What of a row is private."""
        return tuple(self.dynamic.get(part, part) for part in row.parts)

    # --- what the machine says of itself

    def plant_machine(self) -> None:
        """Files that stand in the place of the machine's own, in a namespace of mounts."""
        etc = self.machine / "etc"
        shutil.copytree("/etc", etc, symlinks=True, ignore_dangling_symlinks=True)
        for name in ("passwd", "os-release", "machine-id", "hosts", "hostname"):
            (etc / name).unlink(missing_ok=True)
        login, full = self.private("login"), self.private("full name")
        shell, host = self.private("shell"), self.private("host.name")
        write(etc / "passwd", f"{login}:x:{os.getuid()}:0:{full},,,:{self.user_home}:{shell}\n")
        write(etc / "hostname", f"{host}\n")
        write(etc / "hosts", f"127.0.0.1 localhost {host} {host}.{self.private('host.domain')}\n")
        write(etc / "machine-id", self.private("machine id") + "\n")
        pretty, id_ = self.private("os.pretty"), self.private("os.id")
        write(etc / "os-release", f'PRETTY_NAME="{pretty}"\nNAME="{pretty}"\nID={id_}\nVERSION_ID="7"\n')
        write(etc / "memd/policy.d" / self.private("policy.system"), '[settings]\nhold = "on"\n')
        write(etc / "claude-code/managed-settings.json", json.dumps({"companyNews": self.private("managed")}))
        write(self.machine / "cmdline", f"BOOT_IMAGE=/vmlinuz {self.private('cmdline')} quiet\n")
        write(self.machine / "cpuinfo", f"processor\t: 0\nmodel name\t: {self.private('cpu')}\n")
        write(self.machine / "cgroup", f"0::{self.private('cgroup')}\n")
        self.disk = self.folder / self.private("mount.point")
        self.disk.mkdir()

    # --- what stands in the repository and in git's files

    def git(self, *words: str) -> str:
        """git, in the repository, as whoever its config names."""
        ran = subprocess.run(
            ["git", *words], cwd=self.repository, env=self.environ, capture_output=True, check=True, timeout=WAIT_S
        )
        return ran.stdout.decode("utf-8", "surrogateescape")

    def plant_repository(self) -> None:
        include = self.private("git.include")
        person = f"[user]\n\tname = {self.private('git.name')}\n\temail = {self.private('git.email')}\n"
        person += f"\tsigningkey = {self.private('git.signingkey')}\n[alias]\n\t{self.private('git.alias')[:4]} = "
        person += f"!{self.private('git.alias')}\n[include]\n\tpath = {include}\n"
        person += f'[url "{self.private("git.insteadof")}"]\n\tinsteadOf = https://gitlab.example\n'
        write(self.user_home / ".gitconfig", person)
        self.git("init", "-q", "-b", self.private("branch"))
        url = f"https://{self.private('remote.user')}:{self.private('remote.password')}@{self.private('remote.host')}"
        self.git("remote", "add", "origin", f"{url}/{self.private('remote.path')}")
        self.git("remote", "add", self.private("remote.name"), f"git@{self.private('remote.host')}:x.git")
        source = f"{self.private('anchor.claim')} = 41\n\n\ndef {self.private('anchor.symbol')}():\n    return 1\n"
        write(self.repository / self.private("anchor.path"), source)
        write(self.repository / self.private("anchor.proxy"), "{}\n")
        write(self.repository / self.private("scope.under") / "app.py", "pass\n")
        for name in ("file.spaced", "file.newline", "file.short", "tool.file"):
            write(self.repository / self.private(name), "x\n")
        raw = os.fsencode(self.repository) + b"/\xff" + os.fsencode(self.private("file.bytes"))
        Path(os.fsdecode(raw)).write_text("x\n")
        write(self.repository / self.private("folder.ignored") / "x.txt", "x\n")
        write(self.repository / ".gitignore", self.private("folder.ignored") + "\n")
        write(self.repository / ".git/hooks/post-commit", f"#!/bin/sh\n{self.private('git.hook')}\n").chmod(0o755)
        write(self.repository / ".claude/settings.local.json", json.dumps({"env": {"X": self.private("project.env")}}))
        server = {"command": self.private("mcp.memd"), "args": []}
        write(self.repository / ".mcp.json", json.dumps({"mcpServers": {"memd": server}}))
        self.git("add", ".")
        author = f"{self.private('commit.author')} <x@example.org>"
        self.git("commit", "-q", f"--author={author}", "-m", self.private("commit.message"))
        self.git("tag", self.private("commit.tag"))
        self.git("worktree", "add", "-q", "--detach", str(self.folder / self.private("worktree")))
        short = self.folder / self.private("repo.short")
        subprocess.run(["git", "init", "-q", "-b", self.private("branch.short"), short], env=self.environ, check=True)
        words = self.folder / self.private("repo.vocabulary")
        subprocess.run(["git", "init", "-q", words], env=self.environ, check=True)

    # --- what stands in the client's files

    def plant_client(self) -> None:
        hook = {"type": "command", "command": self.private("claude.hook")}
        settings: dict[str, Any] = {
            "env": {self.private("claude.env.name"): self.private("claude.env")},
            "hooks": {
                "PostToolUse": [{"matcher": self.private("claude.matcher"), "hooks": [hook]}],
                self.private("claude.event"): [{"hooks": [hook]}],
            },
            "permissions": {"allow": [self.private("claude.allow")], "deny": [self.private("claude.deny")]},
            "statusLine": {"type": "command", "command": self.private("claude.status")},
            "apiKeyHelper": self.private("claude.helper"),
            self.private("claude.unknown"): True,
        }
        write(self.config / "settings.json", json.dumps(settings, ensure_ascii=False))
        server = {"type": "sse", "url": self.private("mcp.url"), "headers": {"Auth": self.private("mcp.token")}}
        account = {
            "oauthAccount": {"emailAddress": self.private("claude.email")},
            "mcpServers": {self.private("mcp.name"): server},
            "projects": {self.private("claude.project"): {"mcpServers": {"memd": server}}, str(self.repository): {}},
        }
        write(self.config / ".claude.json", json.dumps(account))
        rows = [{"type": "user", "message": {"role": "user", "content": self.private("transcript.text")}}]
        self.transcript = self.config / "projects" / self.private("transcript.folder") / "t.jsonl"
        write(self.transcript, "".join(json.dumps(row) + "\n" for row in rows))

    # --- what stands in memd's home beside memd's own

    def plant_strays(self) -> None:
        """Files of the user's in memd's home, links too; and the key's folder."""
        write(self.home / self.private("stray.home"), "x")
        write(self.home / self.private("stray.short"), "x")
        write(self.home / "run" / self.private("stray.run"), "x")
        write(self.home / "store" / self.private("stray.store"), "x")
        write(self.home / "logs" / self.private("stray.logs"), "x")
        write(self.home / "bin" / self.private("stray.bin"), "x")
        write(self.home / "replaced" / self.private("stray.replaced") / "log/data.mdb", "x")
        write(self.home / "keys" / self.private("key.stray"), "x").chmod(0o644)
        write(self.home / "spool" / self.private("spool.name"), self.private("spool.wrong"))
        write(self.home / "spool" / self.private("spool.half"), self.private("spool.wrong"))
        write(self.home / "status.json", json.dumps({"state": self.private("status.json")}))
        (self.home / self.private("link.name")).symlink_to(self.private("link.target"))
        policy = f'[[directive]]\ntext = "{self.private("policy.text")}"\nrepo = "{self.private("policy.repo")}"\n'
        write(self.home / "policy" / self.private("policy.name"), policy)
        write(self.home / "policy" / self.private("policy.wrong"), f'"{self.private("policy.key")}" = \n')

    # --- memd, called by such a user

    def callers(self) -> dict[str, str]:
        """The environment of whoever makes the report."""
        told = {
            "GITHUB_TOKEN": self.private("env.token"),
            "AWS_ACCESS_KEY_ID": self.private("env.aws"),
            "HTTPS_PROXY": self.private("env.proxy"),
            "EDITOR": self.private("env.editor"),
            "PYTHONPATH": self.private("env.pythonpath"),
            "DISPLAY": self.private("env.display"),
            "SSH_AUTH_SOCK": self.private("env.ssh"),
            "VIRTUAL_ENV": self.private("env.virtualenv"),
            "CLAUDE_CODE_ENTRYPOINT": self.private("env.claude"),
            "CLAUDE_CODE_SESSION_ID": self.private("session.named"),
            "CLAUDECODE": "1",
            "TERM": self.private("env.term"),
            self.private("env.name"): "x",
            "TZ": self.private("env.tz"),
            "LANG": self.private("env.lang"),
            "XDG_RUNTIME_DIR": self.private("env.xdg"),
            "MEMD_OFF": self.private("env.memd"),
            "MEMD_COMMAND": f"{self.user_home}/bin/{self.private('argv0')}",
            "SHELL": self.private("shell"),
            "USER": self.private("login"),
            "LOGNAME": self.private("login"),
        }
        return {**self.environ, **told}

    def caller(self) -> list[str]:
        """A shell of a private name, with private words, that runs what is behind it; where it may be, on a private machine."""
        shell = self.folder / self.private("parent")
        if not shell.exists():
            shell.symlink_to("/bin/sh")
        words = self.private("caller.command")
        if not MAY_UNSHARE:
            return [str(shell), "-c", AS_GIVEN, words]
        machine = [str(self.machine), self.private("mount.source"), str(self.disk), self.private("host.name")]
        elsewhere = ["unshare", "-m", "-u", str(shell), "-c", ELSEWHERE + AS_GIVEN, words, *machine]
        return [*elsewhere, str(self.repository)]

    def called(
        self,
        *words: str,
        cwd: Path | None = None,
        above: Sequence[str] = (),
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> Ran:
        """`memd` through a link of the user's own name for it; ``above``: what it is run by."""
        link = self.user_home / "bin" / self.private("argv0")
        if not link.is_symlink() and MEMD.exists():
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(MEMD)
        program = [str(link)] if link.is_symlink() else [sys.executable, "-c", PROGRAM]
        return self.ran([*above, *program, *words], cwd, {**self.environ, **environ})

    def ran(self, command: list[str], cwd: Path | None, environ: dict[str, str]) -> Ran:
        """A process that ended."""
        done = subprocess.run(
            command,
            cwd=cwd or self.repository,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WAIT_S,
            start_new_session=True,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode(errors="replace"))

    def enrolled(self) -> tuple[str, str]:
        """A key, made at a terminal: (its recovery code, its fingerprint)."""
        passphrase = self.private("passphrase")
        assert passphrase != PASSPHRASE
        answers = [("New passphrase: ", passphrase), ("again: ", passphrase)]
        code, shown = self.at_terminal("human", "init", answers=answers)
        assert code == 0, shown
        recovery = next(line.strip() for line in shown.splitlines() if line.strip().count("-") == 8)
        (fingerprint,) = self.memd("human", "show", "--json").json["enrolled"]
        answers = [("Passphrase: ", passphrase)]
        code, shown = self.at_terminal("policy", "sign", self.private("policy.name"), answers=answers)
        assert code == 0, shown
        return recovery, fingerprint
