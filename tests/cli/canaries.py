"""A world in which everything that a user can name or write holds a canary: a text that is found nowhere else, nor a part of it."""

import base64
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from memd_client import wire
from memd_client.reach import Reach, Unreachable
from tests.cli import runs
from tests.cli.world import World, end_daemons_of

LETTERS = "bcdfghjkmnpqrtvwxz"  # no vowels: no part of one is a word
PIECE_CHARS = 5
ENCODED_CHARS = 8
STARTS = 3


def canary(place: str) -> str:
    """16 characters, the same at every run."""
    digest = hashlib.sha256(place.encode()).digest()[:16]
    return "".join(str(byte % 10) if at % 4 == 3 else LETTERS[byte % len(LETTERS)] for at, byte in enumerate(digest))


def pieces(text: str) -> Iterator[str]:
    """Every part of a canary that says something of it: of itself, of it reversed, in base64 at each alignment, in hex."""
    for plain in (text, text[::-1]):
        yield from _windows(plain, PIECE_CHARS)
    for alignment in range(3):
        yield from _windows(base64.b64encode((" " * alignment + text).encode()).decode()[4:-4], ENCODED_CHARS)
    yield from _windows(text.encode().hex(), ENCODED_CHARS * 2)
    yield from _windows("".join(f"%{byte:02x}" for byte in text.encode()), ENCODED_CHARS * 2)


def _windows(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size].lower() for at in range(len(text) - size + 1))


class Planted:
    """The world, and every canary in it by its place."""

    def __init__(self) -> None:
        self.world = World()
        self.canaries: dict[str, str] = {}
        self._is = ""  # how it stands: as it was kept ("down"), with a daemon besides ("served"), or otherwise ("")
        world = self.world
        world.user_home = world.folder / self.of("user's home")
        world.repository = world.folder / f"{self.of('repository')} with blanks é"
        world.home = world.user_home / "memd"
        for made in (world.user_home, world.repository, world.user_home / ".claude"):
            made.mkdir()
        world.environ |= {
            "HOME": str(world.user_home),
            "MEMD_HOME": str(world.home),
            "USER": self.of("user"),
            "LOGNAME": self.of("user"),
            "SECRET_TOKEN": self.of("variable"),
            "CLAUDE_CODE_SESSION_ID": self.of("session in the environment"),
            "PATH": f"{self._programs()}:{world.environ['PATH']}",
        }
        self._settings()
        self._repository()

    def of(self, place: str) -> str:
        """The canary of a place."""
        self.canaries[place] = canary(place)
        return self.canaries[place]

    def keep(self) -> None:
        """Remembers how everything is, with the daemon stopped."""
        Reach(self.world.home, starts=False).end()
        for folder in self._folders():
            shutil.copytree(folder, self._kept(folder), symlinks=True)

    def down(self) -> None:
        """Everything as it was kept, with litter in every folder and no daemon."""
        if self._is == "down":
            return
        end_daemons_of(self.world.home)
        for folder in self._folders():
            self.put_back(folder)
        self.litter()
        self._is = "down"

    def served(self) -> None:
        """The same, and a daemon that serves it."""
        if self._is == "served":
            return
        self.down()
        with self.world.client() as memd:
            for _ in range(STARTS - 1):
                with contextlib.suppress(Unreachable):  # a busy machine starts it, and too late for whoever waited
                    memd.begin()
                    break
            else:
                memd.begin()
        self.refused()
        self._is = "served"

    def spoil(self) -> None:
        """It is as nobody knows: the next one begins anew."""
        self._is = ""

    def put_back(self, folder: Path) -> None:
        """One folder as it was kept."""
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._kept(folder), folder, symlinks=True)

    def _folders(self) -> tuple[Path, Path]:
        return self.world.user_home, self.world.repository

    def _kept(self, folder: Path) -> Path:
        return folder.with_name(f"kept {folder.name}")

    def found_in(self, report: str) -> list[str]:
        """The places whose canary, or a piece of it, stands in the report."""
        low = report.lower()
        runs_of = {size: set(_windows(low, size)) for size in (PIECE_CHARS, ENCODED_CHARS, ENCODED_CHARS * 2)}
        return [place for place, text in self.canaries.items() if any(one in runs_of[len(one)] for one in pieces(text))]

    def close(self) -> None:
        self.world.close()

    def _programs(self) -> Path:
        """A client that says more than its version."""
        folder = self.world.folder / self.of("folder of programs")
        folder.mkdir()
        program = folder / "claude"
        program.write_text(f"#!/bin/sh\necho '9.8.7 ({self.of('what a client says')})'\n")
        program.chmod(0o755)
        return folder

    def _settings(self) -> None:
        """A client's settings with foreign hooks, keys in the environment, and a project's path."""
        foreign = {
            "type": "command",
            "command": f"/opt/{self.of('foreign hook')} --key {self.of('key of a foreign hook')}",
        }
        settings = {
            "env": {self.of("name in a client's env"): self.of("value in a client's env")},
            "hooks": {
                "PreToolUse": [{"matcher": self.of("foreign matcher"), "hooks": [foreign]}],
                self.of("foreign event"): [{"hooks": [foreign]}],
            },
        }
        (self.world.user_home / ".claude" / "settings.json").write_text(json.dumps(settings))
        servers = {"mcpServers": {self.of("foreign server"): {"command": self.of("foreign server's command")}}}
        (self.world.user_home / ".claude.json").write_text(json.dumps(servers))

    def _repository(self) -> None:
        branch, token = self.of("branch"), self.of("token in a remote")
        remote = f"https://{self.of('user of a remote')}:{token}@{self.of('host of a remote')}.example/{self.of('remote')}.git"
        for words in (
            ("init", "-q", "-b", branch),
            ("config", "user.name", self.of("git's user")),
            ("config", "user.email", f"{self.of('e-mail')}@example.org"),
            ("remote", "add", "origin", remote),
        ):
            self.git(*words)
        file = self.world.repository / f"{self.of('file in the repository')}.py"
        file.write_text(f"def {self.of('symbol')}():\n    return 1\n")

    def git(self, *words: str) -> None:
        subprocess.run(
            ["git", *words], cwd=self.world.repository, env=self.world.environ, check=True, capture_output=True
        )

    # --- what is planted through memd

    def fill(self) -> None:
        """An install, notes, turns, settings, a session that was told something, calls of odd input."""
        world = self.world
        assert world.memd("install", "--json").code == 0
        file = f"{self.canaries['file in the repository']}.py"
        with world.client() as memd:
            anchor, tags = f"{file}::{self.canaries['symbol']}", [self.of("tag")]
            memd.remember(f"The {self.of('note')} is not reentrant.", kind="gotcha", anchors=[anchor], tags=tags)
            memd.remember(f"Always {self.of('directive')}.", kind="directive")
            memd.remember(f"It is {self.of('finding')}.", source=f"document:{self.of('source')}")
            memd.set("hold", values=["interactive"])
            memd.set("budget.prompt", values=["700"])
            (world.folder / self.of("ignored folder")).mkdir()
            memd.set("ignore", "add", [str(world.folder / self.canaries["ignored folder"])])
        self.hook("session-start", {"hook_event_name": "SessionStart", "source": "startup"})
        prompt = f"What about {self.of('turn')}? password={self.of('password in a turn')}"
        self.hook("prompt-submit", {"hook_event_name": "UserPromptSubmit", "prompt": prompt})
        edit = {"tool_name": "Edit", "tool_input": {"file_path": str(world.repository / file)}}
        self.hook("pre-edit", {"hook_event_name": "PreToolUse", **edit})
        self.hook(self.of("event"), {"hook_event_name": self.of("client event")})
        self.hook("prompt-submit", self.of("input that is no JSON"))
        self._commit()

    def _commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"Fix {self.of('commit')}")

    def hook(self, event: str, payload: Any) -> None:
        """Calls the installed launcher as a client does."""
        if isinstance(payload, dict):
            base = {"session_id": self.of("session"), "transcript_path": f"/{self.of('transcript')}.jsonl"}
            payload = json.dumps({**base, "cwd": str(self.world.repository), **payload})
        launcher = self.world.home / "bin" / "hook"
        done = subprocess.run(
            [str(launcher), event, "claude"],
            cwd=self.world.repository,
            env=self.world.environ,
            input=payload.encode(),
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")

    # --- what is planted in files

    def litter(self) -> None:
        """Files of names and contents that nobody expects, wherever one can be put into memd's home."""
        home = self.world.home
        for folder in (
            ".",
            "run",
            "logs",
            "store",
            "store/log",
            "index",
            "keys",
            "spool",
            "policy",
            "backup",
            "bin",
            "bench",
            "replaced",
        ):
            (home / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
            name = self.of(f"file in {folder}")
            (home / folder / f"{name}.txt").write_text(self.of(f"text in {folder}"))
        for name in (f"{self.canaries['file in keys']}.json", f"{self.canaries['file in keys']} key.json"):
            (home / "keys" / name).write_text(json.dumps({"label": self.of("label of a key")}))
        rules = f'[[directive]]\ntext = "{self.of("rule of a policy")}"\n{self.of("key of a policy")} = 3\n'
        (home / "policy" / f"{self.of('name of a policy')}.toml").write_text(rules)
        hook = wire.Hook(bytes(16), 0, 0, "claude", "prompt-submit", b"/", b"", self.of("spooled turn").encode())
        spooled = wire.encode_spool(wire.Spooled(hook, 1))
        (home / "spool" / os.fsdecode(wire.spool_name(bytes(16), 1))).write_bytes(
            spooled[:-3]
        )  # stays: it cannot be read in
        self.refused()
        self._bench()
        self._log()

    def refused(self) -> None:
        """Why the last daemon did not serve; one that starts takes it away."""
        (self.world.home / "run" / "refused").write_text(
            f"The store of {self.of('reason of a refusal')} cannot be opened."
        )

    def _bench(self) -> None:
        """A run whose names and texts somebody has written into."""
        rows = [
            runs.line("hooks/pre-edit", 1.1, bar=1.35, verdict="ok", says=self.of("what a row says")),
            runs.line(
                f"hooks/{self.of('name of a row')}", 0.5, unit=self.of("unit"), base=self.of("base"), why=self.of("why")
            ),
        ]
        place = msgspec.structs.replace(
            runs.PLACE, cpu=self.of("cpu"), system=self.of("system"), at=self.of("time of a run")
        )
        run = runs.run_of(*rows, machine=place)
        (self.world.home / "bench" / "last.json").write_bytes(msgspec.json.encode(run))

    def _log(self) -> None:
        """Lines as failures of odd input would leave them, were memd to log what it must not."""
        home, texts = self.world.home, self._texts()
        with (home / "logs" / "daemon.log").open("ab") as log:
            for text in texts:
                row = {
                    "at": "2026-03-04T10:21:00Z",
                    "level": "error",
                    "from": "memd.server",
                    "say": text,
                    "trace": text,
                }
                log.write(json.dumps(row).encode() + b"\n")
            odd = {
                "at": self.of("time in the log"),
                "level": self.of("level in the log"),
                "from": self.of("source in the log"),
            }
            log.write(json.dumps({**odd, self.of("key in the log"): "x", "say": 7}).encode() + b"\n")
            log.write(f"{self.of('line that is no JSON')}\n\xff{{".encode())

    def _texts(self) -> list[str]:
        world, raw = self.world, self.of("text in the log")
        return [
            f"the hook of {raw} failed",
            f"OSError at server.py:12 {raw} > {raw}.py:3 main",
            base64.b64encode(raw.encode()).decode(),
            f"base64:{base64.b64encode(b'x' + raw.encode()).decode()}",
            raw.encode().hex(),
            quote(raw.encode(), safe="").replace("b", "%62"),
            "".join(f"%{byte:02X}" for byte in raw.encode()),
            raw[::-1],
            f"cannot open '{world.repository}/{raw}/the store/{raw}': No such file or directory",
            f"{world.home}/run/{raw}, {world.home}/../{raw}, file://{raw}@{raw}:{raw}/{raw}?{raw}={raw}",
            f"AWS_SECRET_ACCESS_KEY={raw}{raw}; Bearer {raw}",
            " ".join(raw[at : at + 8] for at in range(0, 16, 8)),
            f"{raw[:8]}\n{raw[8:]}\x00{raw}\u202e{raw}",
            f"`memd show {raw}`, then {raw}.memd.{raw}, memd.{raw}, <home>/{raw}, ~/{raw}, <repository 1>/{raw}",
        ]
