"""What a report may say: memd's own words, small numbers, names for places; everything else is gone, however it is written."""

import base64
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client.cli.bundle_clean import GONE, Clean, folders_named, version, vocabulary
from memd_client.cli.bundle_said import sources
from memd_daemon import errors
from tests.cli.canaries import canary, pieces

HOME, USER, REPOSITORY = "/home/ann/.local/share/memd", "/home/ann", "/home/ann/the project"
ROOTS = {HOME: "<home>", REPOSITORY: "<repository 1>", USER: "~", "/opt/py": "<python>"}
CLEAN = Clean(ROOTS, private=("ann", "store", "Box-77"))


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (HOME, "<home>"),
        (f"{HOME}/", "<home>"),
        (f"{HOME}/run/memd.sock", "<home>/run/memd.sock"),
        (f"{HOME}/run/other.sock", "<home>/…"),
        (f"{HOME}/logs/daemon.log.3", "<home>/logs/daemon.log.3"),
        (f"{HOME}/keys/ann.json", "<home>/…"),
        (f"{HOME}2/run", "~/…"),
        (f"{REPOSITORY}/.git/hooks/post-commit", "<repository 1>/.git/hooks/post-commit"),
        (f"{REPOSITORY}/src/app.py", "<repository 1>/…"),
        (f"{USER}/.claude/settings.json", "~/.claude/settings.json"),
        (f"{USER}/letters/run/memd.sock", "~/…"),
        ("/opt/py/bin/python3.11", "<python>/bin/python3.11"),
        ("/opt/python", "<path>"),
        ("/etc/memd/policy.d", "/etc/memd/policy.d"),
        ("/etc/memd/policy.d/team.toml", "<path>"),
        ("/srv/home/ann/x", "<path>"),
        ("relative/name", "<path>"),
        ("", "<path>"),
        ("/", "/"),
    ],
)
def test_a_path_is_told_by_the_name_of_its_folder(path: str, told: str) -> None:
    """And what follows only where memd gave it."""
    assert CLEAN.path(path) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("serving, version 0.1.0", "serving, version 0.1.0"),
        ("took in 3 spooled calls", "took in 3 spooled calls"),
        (f"{REPOSITORY}/x qwy qwz.py lacks the hooks", "<repository 1>/… <…> lacks the hooks"),
        (f"'{HOME}/run' cannot be written", "'<home>/run' cannot be written"),
        ("run `memd install`; if it stays, `memd logs`", "run `memd install`; if it stays, `memd logs`"),
        ("the store could not be opened", "the <…> could not be opened"),
        ("qwx1 qwx2 cannot be opened", "<…> cannot be opened"),
        ("hook claude prompt-submit failed", "hook claude prompt-submit failed"),
        ("hook qwx1 qwx2 qwx3 failed", "hook <…> failed"),
        ("person revoked passphrase endorsed branch", GONE),
        ("the user of this machine is a lawyer", "the user of this machine is a <…>"),
        ("Mark Page: it could not be read", "<…> could not be read"),
        ("call 555 0173 17", GONE),
        ("4929 1177 2034 8851", GONE),
        ("serving, version 10.77.31.204", "serving, version <…>"),
        ("12345678 notes", "<…> notes"),
        ("No space left on device", "No space left on device"),
        ("mcpServers.memd", "mcpServers.memd"),
        ("mcpServers.qwx", GONE),
        ("took in\n3\x00spooled calls", "took in 3 spooled calls"),
        ("", ""),
    ],
)
def test_a_line_keeps_what_memd_can_say(line: str, told: str) -> None:
    """Words of its own source and of the system, small numbers, versions, places in its code."""
    assert CLEAN.line(line) == told


@pytest.mark.parametrize(
    ("trace", "told"),
    [
        ("RuntimeError at server.py:288 _hook > qwx.py:3 main", "RuntimeError at server.py:288 _hook > <…> main"),
        ("RuntimeError at server.py:288 _hook qwx", "RuntimeError at server.py:288 <…>"),
        ("qwx at json.py:3 loads", "<…> at json.py:3 loads"),
        ("the store of ann", GONE),
        ("", GONE),
    ],
)
def test_a_trace_is_its_kind_and_its_places(trace: str, told: str) -> None:
    """In memd's own source and Python's, each with its function; what has another form is none."""
    assert CLEAN.trace(trace) == told


LOGGED = re.compile(r'log\.(?:debug|info|warning|error|exception)\(\s*"([^"]+)"')


def test_what_memd_logs_comes_through() -> None:
    """Each line that its source writes into the log, with a name or a number filled in: no word of it is lost."""
    said = [template for text in sources() for template in LOGGED.findall(text)]
    assert len(said) > 40
    clean = Clean({})
    for template in said:
        line = template.replace("%s", "PermissionError").replace("%d", "7")
        assert clean.line(line) == line


STARTING = (
    *(errors.StoreNewer, errors.StoreDamaged, errors.LogDamaged, errors.StoreMoved, errors.StoreFull),
    *(errors.StoreReadOnly, errors.NetworkFileSystem, errors.SocketFolderUnsafe, errors.FolderUnsafe),
)


@pytest.mark.parametrize("refusal", STARTING)
def test_why_a_daemon_does_not_start_comes_through(refusal: type) -> None:
    """Apart from what stands in its braces: a report that hides why is none."""
    text = " ".join((refusal.__doc__ or "").split())
    lost = [word for word in Clean({}).line(text).split() if GONE in word or "<path>" in word]
    assert len(lost) <= text.count("{"), lost


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("hooks/pre-edit", "hooks/pre-edit"),
        ("base/bare", "base/bare"),
        ("hooks/qwx", GONE),
        ("hooks/ann", GONE),
        ("/", GONE),
        ("", GONE),
        ("guard/many, 8 notes/shown", "guard/many, 8 notes/shown"),
        ("person revoked the passphrase", GONE),
        ("person/revoked/the/passphrase", GONE),
        ("hooks//pre-edit", GONE),
    ],
)
def test_a_name_of_what_is_measured_is_made_of_memds_words(name: str, told: str) -> None:
    """All of it, or nothing."""
    assert CLEAN.name(name) == told


WRITTEN = st.sampled_from(
    [
        str,
        str.upper,
        lambda s: s[::-1],
        lambda s: base64.b64encode(s.encode()).decode(),
        lambda s: base64.b64encode(b"x" + s.encode()).decode(),
        lambda s: s.encode().hex(),
        lambda s: "".join(f"%{b:02x}" for b in s.encode()),
        lambda s: quote(f"/a b/{s}", safe=""),
        lambda s: f"{s[:8]}-{s[8:]}",
        lambda s: f"memd.{s}",
        lambda s: f"{s}.py:12",
        lambda s: f"<home>/{s}",
        lambda s: f"{HOME}/run/{s}",
        lambda s: f"`{s}`",
    ]
)
AROUND = st.text(st.sampled_from("abz 019.,:;/\\'\"`()<>[]{}=~@%-_+\n\t\x00é…\u202e"), max_size=6)


@given(st.lists(st.tuples(AROUND, WRITTEN, AROUND), min_size=1, max_size=4))
def test_a_text_that_is_not_memds_never_comes_through(parts: list[tuple[str, object, str]]) -> None:
    """Whatever stands around it and however it is written: as a line, a word, a path."""
    secret = canary("clean")
    text = "".join(f"{before}{written(secret)}{after}" for before, written, after in parts)  # type: ignore[operator]
    for told in (CLEAN.line(text), CLEAN.trace(text), CLEAN.word(text), CLEAN.path(text), CLEAN.name(text)):
        assert not [piece for piece in pieces(secret) if piece in told.lower()], told


@given(st.text())
def test_a_line_is_one_line(text: str) -> None:
    """Nothing in it steers a terminal or begins another section, and cleaning it twice changes no word."""
    told = CLEAN.line(text)
    assert told.isprintable()
    assert "\n" not in told


def test_a_report_is_swept_once_more() -> None:
    """A private name that no section should tell goes wherever it stands, in whatever case, unless memd has the word too."""
    assert CLEAN.sweep("of box-77: Box-77x, BOX-77, the store") == f"of {GONE}: Box-77x, {GONE}, the store"


@pytest.mark.parametrize(
    ("given_version", "told"),
    [
        ("1.2.3", "1.2.3"),
        ("1.2.3+ann", "1.2.3"),
        ("2.0rc1", "2.0rc1"),
        ("ann", GONE),
        ("", GONE),
        (None, GONE),
        ("7", GONE),
    ],
)
def test_a_version_is_its_numbers(given_version: object, told: str) -> None:
    """A local build's name is its maker's."""
    assert version(given_version) == told


def test_the_innermost_folder_gives_the_name() -> None:
    """A home below the user's, a repository below that; a link's other name too; the whole disk is none."""
    named = folders_named(Path("/home/ann/memd"), "/home/ann", ["/home/ann/a", "/home/ann/b", "/home/ann/a"])
    clean = Clean(named | {"/": "~"})
    told = [clean.path(path) for path in ("/home/ann/memd/run", "/home/ann/b/x", "/home/ann/x", "/x")]
    assert told == ["<home>/run", "<repository 2>/…", "~/…", "<path>"]


def test_a_link_to_a_folder_has_its_name(tmp_path: Path) -> None:
    """Both spellings of a home."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    clean = Clean({str(tmp_path / "link"): "<home>"})
    assert [clean.path(str(tmp_path / name / "run")) for name in ("link", "real")] == ["<home>/run"] * 2


def test_the_vocabulary_is_memds() -> None:
    """It has what the log says and no canary; a few thousand words."""
    assert {"serving", "spooled", "PermissionError", "ENOSPC"} <= vocabulary()
    assert not [word for word in vocabulary() if canary("note") in word]
