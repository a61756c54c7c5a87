"""What a file may have come to hold since its note was written is told without the credentials in it."""

import pytest

from memd_daemon.ground.claims import claim_of, holds_secret, verdict
from memd_daemon.ground.differing import differing
from memd_daemon.ground.source import Source
from memd_daemon.redact import Redactor

SECRET = "8f3kq9vz71mxp20acd7e"
OTHER = "zzf3kq9vz71mxp20acd7"
KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + ("MIIEowIBAAKCAQEAx7Zq3Wm9" * 2 + "\n") * 4
    + "-----END RSA PRIVATE KEY-----\n"
)
ANTHROPIC = "sk-ant-api03-" + "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY" * 3
BROKEN = {
    "a setting": (".env", "API_KEY=x", f"API_KEY={SECRET}\n"),
    "a word that the name says is one": (".env", "PASSWORD=changeme", "PASSWORD=Tr0ub4dor&3\n"),
    "a value that is one by its looks": (".env", "MODE=dev", f"MODE={ANTHROPIC}\n"),
    "the second of several values": (
        "a.py",
        "B.password=1",
        f'class A:\n  class B:\n    password = "{SECRET}"\nclass C:\n  class B:\n    password = "{OTHER}"\n',
    ),
    "an outer name is the sign": ("a.json", "token.value=1", f'{{"auth": {{"token": {{"value": "{SECRET}"}}}}}}'),
    "inside a table": ("a.json", "db={}", f'{{"db": {{"password": "{SECRET}", "host": "h"}}}}'),
    "cut in two by the end of the line": ("a.py", "KEY=1", f'KEY = "{"y " * 60}{ANTHROPIC}"\n'),
    "cut in two by what is looked through": ("a.py", "KEY=1", f'KEY = """{KEY}{KEY * 12}{ANTHROPIC}"""\n'),
    "of several lines": ("a.py", "KEY=1", f'KEY = """{KEY}"""\n'),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_value_that_became_a_credential_is_not_told(what: str) -> None:
    """Whatever says that it is one, and wherever the line ends."""
    path, part, content = BROKEN[what]
    told = verdict(claim_of(path, part), Source(path, content.encode()))
    assert not told.holds
    assert "[redacted:" in told.now
    assert not any(secret[:12] in told.now for secret in (SECRET, OTHER, ANTHROPIC, "Tr0ub4dor", "MIIEowIBAAKC"))


def test_a_value_that_is_none_is_told_whole() -> None:
    """A number under a name that has a credential's word in it, too."""
    found = verdict(claim_of("a.py", "token_limit=1"), Source("a.py", b"token_limit = 4096\n"))
    assert found.now == "4096"


@pytest.mark.parametrize(
    ("path", "part", "content", "is_secret"),
    [
        (".env", f"API_KEY={SECRET}", f"API_KEY={SECRET}\n", True),
        ("a.json", f"value={SECRET}", f'{{"token": {{"value": "{SECRET}"}}}}', True),
        (".env", f'~ "{SECRET}"', f"A=1\nAPI_KEY={SECRET}\n", True),
        (".env", f'~ "{SECRET[4:16]}"', f"A=1\nAPI_KEY={SECRET}\n", True),
        (".env", '~ "A=1"', f"A=1\nAPI_KEY={SECRET}\n", False),
        ("a.py", "token_limit=4096", "token_limit = 4096\n", False),
    ],
)
def test_a_claim_is_a_credential_by_where_it_stands_in_its_file(
    path: str, part: str, content: str, is_secret: bool
) -> None:
    """The words of the claim alone need not say so: a name's last part, some characters of the value."""
    claim, source = claim_of(path, part), Source(path, content.encode())
    assert verdict(claim, source).holds
    assert holds_secret(claim, source) is is_secret


def test_a_credential_of_several_lines_leaves_each_of_them_in_its_place() -> None:
    """So that lines have the numbers that they have in the file."""
    shown = Redactor.default().redact_lines(f"a\n{KEY}b\nAPI_KEY={SECRET}\n")
    lines = shown.split("\n")
    assert lines[0] == "a"
    assert lines[1 : 1 + KEY.count("\n")] == ["[redacted:private-key]"] * KEY.count("\n")
    assert lines[1 + KEY.count("\n") :] == ["b", "API_KEY=[redacted:api-key]", ""]


def test_a_line_that_differs_in_its_credential_alone_is_told_to_differ() -> None:
    """What differs is decided by the texts, what is shown of it is not."""
    diff = differing(f"a\nAPI_KEY={SECRET}\n", f"a\nAPI_KEY={OTHER}\n", shown=Redactor.default().redact_lines)
    assert diff.lines == ("@@ -1,2 +1,2 @@", " a", "-API_KEY=[redacted:api-key]", "+API_KEY=[redacted:api-key]")
