"""Install and uninstall where something is in the way: bad settings, other writers, a full disk, no right to write."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memd_hooks import install, registry
from tests.hooks.place import Place, names
from tests.hooks.test_install_text import CORPUS


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        (b'{"hooks": []}', "line 1, column 11"),
        (b'{"a": "\xff"}', "line 1, column 8: not UTF-8"),
    ],
)
def test_malformed_settings_are_refused_and_left(place: Place, content: bytes, told: str) -> None:
    """The refusal names the place; file and registry stay as they are."""
    place.write("")
    place.settings.write_bytes(content)
    done = place.install()
    assert done.steps == ()
    assert told in str(done.refusals[0])
    assert place.settings.read_bytes() == content
    assert registry.load(place.home) == registry.Registry()


def test_somebody_who_writes_meanwhile_is_heard(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change between the plan and the writing is read again; both end up in the file."""
    place.write(CORPUS["two blanks"])
    plan = place.plan()
    place.write('{\n  "model": "sonnet"\n}\n')
    save, writes = registry.save, iter(['{\n  "model": "haiku"\n}\n'])

    def save_and_be_overtaken(home: Path, known: registry.Registry) -> None:
        save(home, known)
        for text in writes:
            place.write(text)

    monkeypatch.setattr(registry, "save", save_and_be_overtaken)
    install.apply(plan)
    assert json.loads(place.settings.read_text())["model"] == "haiku"
    assert len(place.commands()) == 10
    place.uninstall()
    assert place.settings.read_text() == '{\n  "model": "haiku"\n}\n'


def test_a_file_that_never_rests_is_given_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """After three tries memd says so, and its record is what it was."""
    place.write("{}")
    save, count = registry.save, iter(range(100))

    def save_and_be_overtaken(home: Path, known: registry.Registry) -> None:
        save(home, known)
        place.write(f'{{"n": {next(count)}}}')

    with monkeypatch.context() as patch:
        patch.setattr(registry, "save", save_and_be_overtaken)
        with pytest.raises(install.Busy, match="changed each time"):
            place.install()
    assert registry.load(place.home) == registry.Registry()
    assert "hooks" not in place.settings.read_text()


def test_two_installs_at_once_are_one(place: Place) -> None:
    """They wait for each other; each hook stands once."""
    place.write(CORPUS["two blanks"])
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: place.install(), range(4)))
    assert sum(len(d.steps) for d in done) == 1
    assert len(place.commands()) == 10


def test_hooks_of_a_home_that_was_deleted_are_taken_out(place: Place) -> None:
    """A person who removed memd's folder by hand can still uninstall, and gets no new folder for it."""
    place.write(CORPUS["two blanks"])
    place.install()
    shutil.rmtree(place.home)
    place.uninstall()
    assert place.settings.read_text() == CORPUS["two blanks"]
    assert not place.home.exists()


def test_settings_that_memd_never_wrote_to_are_no_business_of_a_removal(place: Place) -> None:
    """Malformed settings without a record are passed over."""
    place.write("{")
    assert place.uninstall().refusals == ()


def test_a_failed_write_changes_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk: the file, the record and the folder are as before, and the refusal says why."""
    place.write(CORPUS["two blanks"])
    real = os.replace

    def full(source: str, target: str) -> None:
        if str(target) == str(place.settings):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    done = place.install()
    assert "No space left on device" in str(done.refusals[0])
    assert place.settings.read_text() == CORPUS["two blanks"]
    assert names(place.settings.parent) == ["settings.json"]
    assert registry.load(place.home) == registry.Registry()


def test_a_read_only_file_is_respected(place: Place) -> None:
    """Another uid, or this one without the right to write: a refusal at the plan already, and not a byte is changed."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root, to be somebody else")
    shown = Path(sys.prefix).parent
    if not all(folder.stat().st_mode & 0o005 == 0o005 for folder in (shown, *shown.parents)):
        pytest.skip("another uid cannot read this checkout")
    place.write(CORPUS["two blanks"])
    for folder in (*place.cwd.parents, place.cwd):
        if str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    place.settings.chmod(0o644)
    home = place.user / "memd-of-nobody"
    home.mkdir()
    os.chown(home, 65534, 65534)
    program = (
        "import sys; from pathlib import Path; from memd_hooks import install\n"
        f"plan = install.plan(['claude'], 'user', Path({str(home)!r}), Path('/'), {dict(place.environ)!r})\n"
        "done = install.apply(plan); print(len(plan.refusals), len(done.steps), done.refusals[0])"
    )
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    run = subprocess.run([*nobody, sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd="/")
    assert run.stdout.startswith("1 0 "), run
    assert "may not be written by this user" in run.stdout
    assert place.settings.read_text() == CORPUS["two blanks"]
    assert names(place.settings.parent) == ["settings.json"]


def test_a_newer_list_is_not_touched(place: Place) -> None:
    """What a newer memd wrote is for that one."""
    place.home.mkdir(parents=True)
    (place.home / "install.json").write_text('{"version": 2, "settings": 5}')
    with pytest.raises(registry.RegistryNewer, match="newer memd"):
        place.plan()


def test_a_damaged_list_is_named(place: Place) -> None:
    """The message says where it is and what to do."""
    place.home.mkdir(parents=True)
    (place.home / "install.json").write_text("{")
    with pytest.raises(registry.RegistryDamaged, match="memd install"):
        place.plan()
