"""Remotes on hosts that are named by a number in brackets."""

import pytest

from memd_daemon.ground.repository import normalize_remote


@pytest.mark.parametrize(
    "shape", ["https://{}/tools/app.git", "ssh://git@{}:2222/tools/app.git", "git@{}:tools/app.git"]
)
def test_two_hosts_that_are_numbers_in_brackets_are_two(shape: str) -> None:
    """Else two repositories of one name, each on its own, are one here, and share their notes."""
    one, two = (normalize_remote(shape.format(host)) for host in ("[2001:db8::1]", "[2001:db8::2]"))
    assert one != two


def test_such_a_host_is_the_same_however_the_address_is_written() -> None:
    """As by a name."""
    written = (
        "https://[2001:DB8::1]/tools/app",
        "git@[2001:db8::1]:tools/app.git",
        "ssh://git@[2001:db8::1]:22/tools/app.git",
    )
    assert len({normalize_remote(one) for one in written}) == 1
