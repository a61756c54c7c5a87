"""The typed client: its methods mirror the requests, and it copes with a daemon that is not there, not its own, or not well."""

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

import memd_client
from memd_client import Memd, __version__, api
from memd_client.memd import BadUsage, Refused, Unreachable
from memd_client.reach import home_of
from tests.cli.world import World

OTHER = Path(__file__).with_name("other_daemon.py")
ASKER = {"cwd", "env", "surface"}
METHODS = {
    api.Remember: Memd.remember,
    api.Recall: Memd.recall,
    api.ListNotes: Memd.notes,
    api.Show: Memd.show,
    api.Log: Memd.log,
    api.Decisions: Memd.decisions,
    api.Trace: Memd.trace,
    api.Act: Memd.act,
    api.Turns: Memd.turns,
    api.Deliveries: Memd.deliveries,
    api.Why: Memd.why,
    api.Stale: Memd.stale,
    api.Enrol: Memd.enrol,
    api.Seal: Memd.seal,
    api.Reindex: Memd.reindex,
    api.Stop: Memd.stop,
    api.Ping: Memd.ping,
    api.Status: Memd.status,
    api.Verify: Memd.verify,
    api.Settings: Memd.settings,
    api.ChangeSetting: Memd.set,
    api.SettingsLog: Memd.settings_log,
    api.Policies: Memd.policies,
    api.PolicyCheck: Memd.check_policy,
    api.FiredAt: Memd.fired,
    api.Backup: Memd.backup,
    api.Export: Memd.export,
}


@contextmanager
def other_daemon(world: World, version: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A daemon of another version that serves the world's home."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    environ = {**world.environ, "PYTHONPATH": path}
    process = subprocess.Popen([sys.executable, str(OTHER), version], env=environ, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_it_is_exported_by_the_package() -> None:
    """At its first use, and nothing else is."""
    assert memd_client.Memd is Memd
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = memd_client.nothing_of_the_kind


def test_every_verb_has_its_method() -> None:
    """A verb that is added to the wire is added here."""
    assert set(METHODS) == set(api.VERBS.values())


@pytest.mark.parametrize("request_", METHODS, ids=lambda request: request.VERB)
def test_a_method_takes_what_its_request_holds(request_: type[api.Request]) -> None:
    """Every field but those of the asker is a parameter of the same name and default."""
    fields = {f.name: f for f in msgspec.structs.fields(request_) if f.name not in ASKER}
    parameters = dict(list(inspect.signature(METHODS[request_]).parameters.items())[1:])
    assert set(parameters) == set(fields)
    for name, parameter in parameters.items():
        default = fields[name].default
        if isinstance(default, str | int | bool | bytes):
            assert parameter.default == default


def test_an_older_daemon_is_asked_to_finish_and_replaced(fresh: World) -> None:
    """Once, unannounced, and the request goes to the daemon of this version."""
    with other_daemon(fresh, "0.0.9") as older, fresh.client() as memd:
        pong = memd.ping()
        assert older.wait(10) == 0
    assert (pong.version, pong.home) == (__version__, str(fresh.home))
    assert "stop {'announced': False}" in (fresh.home / "asked").read_text()
    assert not (fresh.home / "run" / "stopped").exists()


@pytest.mark.parametrize("version", ["0.2.0", "1.0", "99.0.0"])
def test_a_newer_daemon_is_left_alone(fresh: World, version: str) -> None:
    """Refused with a clear line; it is asked nothing but who it is."""
    with other_daemon(fresh, version) as newer, fresh.client() as memd:
        with pytest.raises(Refused, match="newer memd") as refused:
            memd.remember("Not for this daemon.")
        assert newer.poll() is None
    assert refused.value.code == "daemon-newer"
    assert {line.split()[0] for line in (fresh.home / "asked").read_text().splitlines()} == {"ping"}


def test_a_daemon_of_any_version_can_be_stopped(fresh: World) -> None:
    """`memd stop` means the daemon that runs."""
    with other_daemon(fresh, "99.0.0") as newer, fresh.client(starts=False) as memd:
        assert memd.stop() == newer.pid
        assert newer.wait(10) == 0


def test_without_a_daemon_it_says_so(fresh: World) -> None:
    """And where it may start none, starts none."""
    with fresh.client(starts=False) as memd, pytest.raises(Unreachable) as gone:
        memd.notes()
    assert (gone.value.code, gone.value.exit_code) == ("not-running", 3)
    assert not fresh.home.exists()


def test_a_home_that_cannot_be_written_is_said(fresh: World) -> None:
    """Named, with what to do."""
    fresh.home.write_text("a file stands here")
    with fresh.client() as memd, pytest.raises(Unreachable) as failed:
        memd.notes()
    assert failed.value.code == "home-unwritable"
    assert str(fresh.home) in failed.value.message


def test_only_named_variables_leave_the_process(fresh: World) -> None:
    """A client's shell holds its API keys; the daemon is told of sessions alone."""
    fresh.environ |= {"ANTHROPIC_API_KEY": "sk-secret", "CLAUDE_CODE_SESSION_ID": "s1"}
    with other_daemon(fresh, __version__), fresh.client() as memd, pytest.raises(Unreachable):
        memd.show("1")
    asked = (fresh.home / "asked").read_text()
    assert "'env': {'CLAUDE_CODE_SESSION_ID': 's1'}" in asked
    assert f"'cwd': '{fresh.repository}'" in asked
    assert "sk-secret" not in asked


@pytest.mark.parametrize(
    ("environ", "home"),
    [
        ({b"MEMD_HOME": b"/a/b"}, "/a/b"),
        ({b"HOME": b"/home/ann", b"XDG_DATA_HOME": b"/x"}, "/home/ann/.local/share/memd"),
        ({b"MEMD_HOME": b"relative", b"HOME": b"/home/ann"}, None),
        ({}, None),
    ],
)
def test_the_home_is_one_directory(environ: dict[bytes, bytes], home: str | None) -> None:
    """MEMD_HOME, else under HOME, whatever XDG says; a relative one is refused."""
    if home is not None:
        assert home_of(environ) == Path(home)
        return
    with pytest.raises(BadUsage):
        home_of(environ)
