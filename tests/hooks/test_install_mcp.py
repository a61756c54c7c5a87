"""The MCP server in the client's own file: one key in, one key out, whatever the client writes meanwhile."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memd_hooks import faults, install, install_mcp, jsonc, registry
from memd_hooks.harness import claude
from memd_hooks.launcher import MCP, mcp_text
from tests.hooks.place import Place, all_files
from tests.hooks.test_install_text import CORPUS

# As the client writes it: what it learnt of a person, of their projects, and of itself.
CLIENTS = {
    "numStartups": 12,
    "userID": "5b1d",
    "projects": {"/r": {"allowedTools": [], "mcpServers": {}, "hasTrustDialogAccepted": True}},
    "oauthAccount": {"emailAddress": "ann@example.invalid"},
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, with_server=True)


def written(place: Place, data: Any) -> str:
    """The client's file with ``data``, as the client formats it."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    place.config.write_text(text)
    return text


def held(place: Place) -> Any:
    return json.loads(place.config.read_text())


def ours(place: Place) -> dict[str, Any]:
    return {"type": "stdio", "command": str(place.home / "bin/mcp"), "args": []}


def git(cwd: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=cwd, capture_output=True, text=True, check=True).stdout


# --- in and out


@pytest.mark.parametrize("name", CORPUS)
def test_in_and_out_is_byte_equal(place: Place, name: str) -> None:
    """Any text that is an object comes back as it was, its mode too."""
    place.config.write_bytes(CORPUS[name].encode())
    place.config.chmod(0o600)
    assert place.install().refusals == ()
    found = jsonc.find(jsonc.parse(place.config.read_text()), ("mcpServers", "memd"))
    assert found is not None
    assert found.data == ours(place)
    place.uninstall()
    assert place.config.read_bytes() == CORPUS[name].encode()
    assert stat.S_IMODE(place.config.stat().st_mode) == 0o600


def test_a_file_that_memd_made_goes(place: Place) -> None:
    """For its owner's eyes alone while it stands: the client will write keys into it."""
    place.install()
    assert held(place) == {"mcpServers": {"memd": ours(place)}}
    assert stat.S_IMODE(place.config.stat().st_mode) == 0o600
    place.uninstall()
    assert not place.config.exists()
    assert set(all_files(place.home)) == {"bin/memd-daemon"}


def test_what_the_client_wrote_meanwhile_stays(place: Place) -> None:
    """It writes its file at each start: then memd's key goes alone, and what memd made for it."""
    before = written(place, CLIENTS)
    place.install()
    changed = {**held(place), "numStartups": 13}
    written(place, changed)
    place.uninstall()
    assert place.config.read_text() == before.replace("12", "13")


def test_another_server_stays(place: Place) -> None:
    """One that was there before, and one that came after memd's."""
    written(place, {"mcpServers": {"theirs": {"command": "x"}}})
    place.install()
    data = held(place)
    assert list(data["mcpServers"]) == ["theirs", "memd"]
    data["mcpServers"]["later"] = {"command": "y"}
    written(place, data)
    place.uninstall()
    assert held(place) == {"mcpServers": {"theirs": {"command": "x"}, "later": {"command": "y"}}}


def test_twice_is_once(place: Place) -> None:
    """Also after the client has written the file anew, and after a person gave the server more to start with."""
    written(place, CLIENTS)
    place.install()
    before = all_files(place.user)
    assert place.install().steps == ()
    assert all_files(place.user) == before
    data = held(place)
    data["mcpServers"]["memd"]["env"] = {"MEMD_HOME": "/elsewhere"}
    written(place, data)
    assert place.install().steps == ()
    assert held(place) == data


def test_a_dry_run_shows_it_and_writes_nothing(place: Place) -> None:
    """The file, the key and the program; nothing else of what the file holds."""
    written(place, CLIENTS)
    before = all_files(place.user)
    plan = place.plan()
    assert f"{place.config}: register the MCP server:" in str(plan)
    assert f"  mcpServers.memd: {place.home / 'bin/mcp'}" in str(plan)
    assert "ann@example.invalid" not in str(plan) + repr(plan.steps)
    assert all_files(place.user) == before


def test_without_it_nothing_is_registered(place: Place) -> None:
    """--no-mcp: the client's file is not looked at."""
    place.with_server = False
    place.install()
    assert not place.config.exists()
    assert diagnosed(place) == []


@pytest.mark.parametrize("content", ["[]", "{", '{"mcpServers": []}', '{"mcpServers": 1}', "\udcff"])
def test_what_cannot_be_read_is_left_alone(place: Place, content: str) -> None:
    """The hooks go in all the same, and the reason is told."""
    place.config.write_bytes(content.encode("utf-8", "surrogateescape"))
    done = place.install()
    assert [refusal.path for refusal in done.refusals] == [place.config]
    assert place.config.read_bytes() == content.encode("utf-8", "surrogateescape")
    assert len(place.commands()) == 10


def test_another_program_of_that_name_is_not_overwritten(place: Place) -> None:
    """Whose it is nobody can know; the refusal says what to do."""
    text = written(place, {"mcpServers": {"memd": {"command": "/opt/other"}}})
    (refusal,) = place.install().refusals
    assert "another program's MCP server at `mcpServers.memd`" in str(refusal)
    assert place.config.read_text() == text
    place.uninstall()
    assert place.config.read_text() == text


def test_where_the_hooks_are_refused_the_server_is_not_registered(place: Place) -> None:
    """Nobody would know whose calls come through it."""
    place.write("{")
    assert [refusal.path for refusal in place.install().refusals] == [place.settings]
    assert not place.config.exists()


def test_a_client_that_writes_meanwhile_is_heard(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its change between the look and the writing is read again; both end up in the file."""
    written(place, CLIENTS)
    save, changes = registry.save, iter([{**CLIENTS, "numStartups": 99}])

    def save_and_be_overtaken(home: Path, known: registry.Registry) -> None:
        save(home, known)
        if known.servers:
            for data in changes:
                written(place, data)

    monkeypatch.setattr(registry, "save", save_and_be_overtaken)
    place.install()
    assert held(place)["numStartups"] == 99
    assert held(place)["mcpServers"]["memd"] == ours(place)
    place.uninstall()
    assert held(place) == {**CLIENTS, "numStartups": 99}


def test_a_server_without_a_record_is_found(place: Place) -> None:
    """With the list of what was installed lost."""
    before = written(place, CLIENTS)
    place.install()
    (place.home / "install.json").unlink()
    place.uninstall()
    assert place.config.read_text() == before


# --- where the file is


def test_the_clients_variable_moves_the_file(place: Place) -> None:
    """As measured: beside the settings then, not in the home; and it is found again without the variable."""
    place.environ = {**place.environ, "CLAUDE_CONFIG_DIR": str(place.user / "cfg")}
    place.install()
    assert (place.user / "cfg/.claude.json").exists()
    assert not place.config.exists()
    place.environ = {name: value for name, value in place.environ.items() if name != "CLAUDE_CONFIG_DIR"}
    place.uninstall()
    assert not (place.user / "cfg").exists()


@pytest.mark.parametrize(("held", "is_it"), [("{}", True), ("", False)])
def test_the_file_of_an_old_client_is_used_where_it_is(place: Place, held: str, is_it: bool) -> None:
    """The client goes by it as long as something is in it."""
    place.write("{}")
    old = place.settings.parent / ".config.json"
    old.write_text(held)
    assert claude.global_config(place.environ) == (old if is_it else place.config)


def test_a_project_has_its_own(place: Place) -> None:
    """In the person's own file under the top of the work tree, so git never sees it; taken out from anywhere."""
    git(place.cwd, "init", "-q")
    (place.cwd / ".git/info").mkdir(exist_ok=True)
    (place.cwd / ".git/info/exclude").write_text(".claude/settings.local.json\n")
    before = written(place, CLIENTS)
    below = place.cwd / "below"
    below.mkdir()
    root, place.cwd = place.cwd, below
    assert place.install("project").refusals == ()
    assert held(place)["projects"][str(root)] == {"mcpServers": {"memd": ours(place)}}
    assert "mcpServers" not in held(place)
    assert git(root, "status", "--porcelain") == ""
    place.cwd = place.user
    place.uninstall()
    assert place.config.read_text() == before


def test_two_projects_and_the_user_are_three_places(place: Place) -> None:
    """Each is added, all of them go."""
    before = written(place, CLIENTS)
    first, second = place.cwd, place.cwd.parent / "second"
    second.mkdir()
    for cwd, level in ((first, "project"), (second, "project"), (first, "user")):
        place.cwd = cwd
        install.apply(install.plan(["claude"], level, place.home, cwd, place.environ))  # type: ignore[arg-type]
    places = install_mcp.standing(place.config.read_text(), place.home)
    assert sorted(places) == sorted(
        [*(("projects", str(p), *install_mcp.USERS) for p in (first, second)), install_mcp.USERS]
    )
    place.uninstall()
    assert place.config.read_text() == before


# --- the launcher


def test_the_launcher_becomes_the_carrier(tmp_path: Path) -> None:
    """The same process, so that the client is its parent; isolated, without site packages, with the home of the file."""
    package = tmp_path / "pack age" / "memd_client"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    told = "os.getpid(), os.environ['MEMD_HOME'], sys.flags.isolated, sys.flags.no_site, sys.argv"
    (package / "mcp.py").write_text(f"import os, sys\ndef main(): print({told})\n")
    home = tmp_path / "it's home"
    launcher = tmp_path / "mcp"
    launcher.write_text(mcp_text(home, False, "/nowhere/python", sys.executable, package))
    launcher.chmod(0o755)
    with subprocess.Popen([launcher], stdout=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"]}) as run:
        out, _ = run.communicate()
    assert out.split(" ", 1) == [str(run.pid), f"{home} 1 1 ['-c']\n"]
    assert run.returncode == 0


@pytest.mark.parametrize("off", ["1", "yes"])
def test_where_memd_is_off_a_server_without_a_tool_answers(place: Place, off: str) -> None:
    """A client tells the model of a server that is not there; of one with nothing to offer it says nothing. No daemon starts."""
    place.install()
    asked = [
        {"jsonrpc": "2.0", "id": "probe", "method": "server/discover", "params": {}},
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    ]
    lines = "".join(json.dumps(one) + "\n" for one in asked) + "no JSON\n[]\n"
    environ = {"MEMD_OFF": off, "HOME": str(place.user)}
    run = subprocess.run([place.home / MCP], input=lines, capture_output=True, check=False, env=environ, text=True)
    first, begun, listed = map(json.loads, run.stdout.splitlines())
    assert (first["id"], first["error"]["code"]) == ("probe", -32601)
    assert (begun["result"]["protocolVersion"], begun["result"]["capabilities"]) == ("2025-06-18", {})
    assert listed == {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}
    assert (run.returncode, run.stderr, (place.home / "run").exists()) == (0, "", False)


@pytest.mark.parametrize("gone", ["interpreter", "package"])
def test_the_launcher_is_silent_where_nothing_can_be_started(tmp_path: Path, gone: str) -> None:
    """The client then says that the server did not answer, and its session goes on."""
    python = "/nowhere/python" if gone == "interpreter" else sys.executable
    launcher = tmp_path / "mcp"
    launcher.write_text(mcp_text(tmp_path, False, python, python, tmp_path / "nowhere"))
    launcher.chmod(0o755)
    run = subprocess.run([launcher], capture_output=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def test_the_launcher_comes_and_goes_with_the_install(place: Place) -> None:
    """And is written anew where it was spoiled."""
    place.install()
    path = place.home / MCP
    text = path.read_text()
    path.write_text("spoiled")
    assert place.install().launchers_changed
    assert path.read_text() == text
    place.uninstall()
    assert not path.exists()


# --- leave to read


def test_leave_to_read_is_given_only_when_asked_for(place: Place) -> None:
    """The four tools that read, beside what a person had allowed, and no other."""
    place.write('{"permissions": {"allow": ["Bash(ls:*)", "mcp__memd__show"]}}')
    place.install()
    assert json.loads(place.settings.read_text())["permissions"] == {"allow": ["Bash(ls:*)", "mcp__memd__show"]}
    place.allowed = claude.READ_PERMISSIONS
    assert "allow without asking: mcp__memd__recall" in str(place.plan())
    place.install()
    allowed = json.loads(place.settings.read_text())["permissions"]["allow"]
    assert allowed == [
        "Bash(ls:*)",
        "mcp__memd__show",
        *(f"mcp__memd__{tool}" for tool in ("recall", "decisions", "trace")),
    ]


@pytest.mark.parametrize("rewritten", [False, True], ids=["as written", "written anew by a person"])
def test_leave_to_read_goes_with_the_hooks(place: Place, rewritten: bool) -> None:
    """What was there before stays."""
    before = '{\n  "permissions": {\n    "allow": [\n      "mcp__memd__show"\n    ]\n  }\n}'
    place.write(before)
    place.allowed = claude.READ_PERMISSIONS
    place.install()
    if rewritten:
        place.write(json.dumps(json.loads(place.settings.read_text()), indent=2))
    place.uninstall()
    assert place.settings.read_text() == before


def test_leave_that_was_taken_away_stays_away(place: Place) -> None:
    """A later install without the word does not give it again, nor does one forget the rest."""
    place.write("{}")
    place.allowed = claude.READ_PERMISSIONS
    place.install()
    data = json.loads(place.settings.read_text())
    data["permissions"]["allow"].remove("mcp__memd__trace")
    del data["hooks"]["SessionEnd"]
    place.write(json.dumps(data, indent=2))
    place.allowed = ()
    place.install()
    assert json.loads(place.settings.read_text())["permissions"] == data["permissions"]
    place.uninstall()
    assert json.loads(place.settings.read_text()) == {}


def test_permissions_of_another_shape_are_refused_only_when_asked_for(place: Place) -> None:
    """The hooks need nothing of them."""
    place.write('{"permissions": []}')
    place.install()
    assert len(place.commands()) == 10
    place.allowed = claude.READ_PERMISSIONS
    assert "`permissions` should be an object" in str(place.install().refusals[0])


# --- the doctor


def diagnosed(place: Place) -> list[faults.Fault]:
    return list(faults.diagnose(faults.gather(place.home, place.cwd, place.environ)))


def test_a_whole_install_has_no_fault(place: Place) -> None:
    """Nor one of a project alone."""
    place.install()
    assert diagnosed(place) == []
    place.uninstall()
    place.install("project")
    assert diagnosed(place) == []


def test_a_server_that_was_taken_out_is_missed(place: Place) -> None:
    """As by `claude mcp remove`."""
    written(place, CLIENTS)
    place.install()
    written(place, CLIENTS)
    (fault,) = diagnosed(place)
    assert (fault.code, fault.fix) == ("server-missing", "run `memd install`")
    assert str(place.config) in fault.what


def test_a_launcher_that_is_gone_is_named(place: Place) -> None:
    """The client would only say that it failed."""
    place.install()
    (place.home / MCP).unlink()
    assert [fault.code for fault in diagnosed(place)] == ["server-launcher-missing"]


THEIRS = {"command": "/opt/other"}


@pytest.mark.parametrize(
    ("file", "content", "code"),
    [
        (".mcp.json", {"mcpServers": {"memd": THEIRS}}, "server-overridden"),
        ("config", {"projects": {"CWD": {"mcpServers": {"memd": THEIRS}}}}, "server-overridden"),
        ("config", {"projects": {"CWD": {"disabledMcpServers": ["memd"]}}}, "server-switched-off"),
        ("settings", {"deniedMcpServers": [{"serverName": "memd"}]}, "server-switched-off"),
        (".mcp.json", {"mcpServers": {"other": THEIRS}}, ""),
        ("settings", {"deniedMcpServers": [{"serverName": "other"}]}, ""),
    ],
    ids=["the project's", "one's own for the project", "switched off", "denied", "another server", "another denied"],
)
def test_what_stands_before_the_server_is_named(place: Place, file: str, content: Any, code: str) -> None:
    """Each as the client was seen to go by it."""
    place.install()
    files = {".mcp.json": place.cwd / ".mcp.json", "config": place.config, "settings": place.settings}
    path = files[file]
    there = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(there | json.loads(json.dumps(content).replace('"CWD"', json.dumps(str(place.cwd))))))
    found = diagnosed(place)
    assert [fault.code for fault in found] == ([code] if code else [])
    assert all(str(path) in fault.what for fault in found)
