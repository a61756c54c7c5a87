"""What the set-up believes about a .venv, and how the checks add up their tests."""

from pathlib import Path

import pytest

from scripts import _setup, _stages


@pytest.fixture
def checkout(tmp_path: Path) -> _setup.Checkout:
    """A checkout whose .venv is there and marked as being built; its interpreter is the one running this."""
    (tmp_path / "pyproject.toml").write_text('[dependency-groups]\ndev = ["pytest", "ruff"]\n')
    made = _setup.Checkout(tmp_path)
    made.python.parent.mkdir(parents=True)
    made.python.symlink_to(_setup.base_python())
    made.building.touch()
    return made


@pytest.mark.parametrize(
    ("finished", "asked", "ready"),
    [("run", "run", True), ("run", "dev", False), ("dev", "run", True), ("dev", "dev", True)],
)
def test_a_finished_set_up_is_believed_for_its_level(
    checkout: _setup.Checkout, finished: str, asked: str, ready: bool
) -> None:
    """dev holds run, not the other way round."""
    checkout.finish(finished)
    assert checkout.is_ready(asked) is ready


def test_a_set_up_that_was_cut_off_is_never_believed(checkout: _setup.Checkout) -> None:
    """The mark of a build in progress makes .venv unusable even as a base to go on from."""
    assert not checkout.is_ready("run")
    assert not checkout.is_usable()


def test_a_changed_project_is_not_ready(checkout: _setup.Checkout) -> None:
    """The copy that was installed from is compared byte for byte."""
    checkout.finish("run")
    (checkout.root / "pyproject.toml").write_text("[project]\n")
    assert not _setup.Checkout(checkout.root).is_ready("run")


def test_a_linked_venv_is_unlinked_and_its_target_left_alone(tmp_path: Path, checkout: _setup.Checkout) -> None:
    """Somebody's .venv may be a link to a folder that serves others too."""
    other = tmp_path / "other"
    checkout.venv.rename(other)
    checkout.venv.symlink_to(other)
    checkout.remove_venv()
    assert not checkout.venv.exists()
    assert (other / "bin").is_dir()


def test_the_tools_come_with_the_dev_level_alone(checkout: _setup.Checkout) -> None:
    """The group is handed to pip as plain requirements."""
    assert (checkout.requirements("run"), checkout.requirements("dev")) == ([], ["pytest", "ruff"])


def test_the_counts_of_all_stages_add_up(tmp_path: Path) -> None:
    """Errors count as failed; what neither failed nor was skipped has passed."""
    first, second = tmp_path / "a.xml", tmp_path / "b.xml"
    suite = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}"/></testsuites>'
    first.write_text(suite.format(10, 1, 2, 3))
    second.write_text(suite.format(5, 0, 0, 5))
    assert _stages.count([first, second]) == (4, 3, 8)


@pytest.mark.parametrize(
    ("arguments", "last", "client_tests"),
    [([], "real clients", True), (["--fast"], "tests", False), (["--fast", "-k", "fold"], "tests", False)],
)
def test_fast_and_chosen_tests_leave_the_real_clients_out(
    tmp_path: Path, arguments: list[str], last: str, client_tests: bool
) -> None:
    """Without words everything runs; pytest's own words replace the two pytest stages by one."""
    stages = _stages.stages(arguments, tmp_path)
    assert stages[-1].name == last
    assert any(_stages.CLIENT_TESTS in stage.command for stage in stages) is client_tests
    assert [stage.name for stage in stages][:5] == ["ruff check", "ruff format", "imports", "mypy", "pyright"]
