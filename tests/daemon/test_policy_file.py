"""A policy file's own rules: what it may say, strictly, and nothing beyond."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.model.policy import BadPolicy, Directive, Policy, read
from memd_daemon.model.setting_keys import KEYS, NOT_PAUSED, OPEN_END

WHOLE = """
[settings]
budget.session_start = 1000
"budget.prompt" = 300
gate.cosine = 0.7
gate.idf_share = 1
hold = "interactive"
pause = "off"
ignore = ["/srv/secret"]
only = []

[[directive]]
text = "  Never push to main.\\n"

[[directive]]
text = "Money is counted in cents."
repo = "github.com/acme/app"
under = "services/api/"
priority = "high"
"""


def test_a_whole_file_is_read() -> None:
    """Settings as TOML nests them or in quotes, directives with what they may say."""
    policy = read(WHOLE.encode())
    assert policy.settings == {
        "budget.session_start": ("1000", 1000),
        "budget.prompt": ("300", 300),
        "gate.cosine": ("0.7", 0.7),
        "gate.idf_share": ("1", 1.0),
        "hold": ("interactive", "interactive"),
        "pause": ("off", NOT_PAUSED),
        "ignore": ('["/srv/secret"]', ("/srv/secret",)),
        "only": ("[]", ()),
    }
    assert policy.directives == (
        Directive(number=1, text="Never push to main."),
        Directive(
            number=2,
            text="Money is counted in cents.",
            repo="github.com/acme/app",
            under="services/api",
            priority="high",
        ),
    )
    assert read(b'[settings]\npause = "on"\n').settings["pause"] == ("on", OPEN_END)


def test_an_empty_file_says_nothing_and_is_one() -> None:
    """It is how a policy is ended."""
    assert read(b"") == read(b"# nothing\n") == Policy()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\ufeff[settings]", "not TOML"),
        ("settings = 1", "no table"),
        ("[setting]", "unknown key `setting`"),
        ("directives = []", "unknown key `directives`"),
        ("directive = {}", "no array of tables"),
        ("directive = [1]", "no array of tables"),
        ("[directive]", "no array of tables"),
        ("[settings]\nretention = 1", "no setting `retention`"),
        ("[settings]\nbudget = 1", "no setting `budget`"),
        ("[settings]\nbudget.prompt.x = 1", "takes"),
        ("[settings]\nbudget.prompt = 1\n'budget.prompt' = 2", "set twice"),
        ("[settings]\nbudget.prompt = true", "takes 0 to 8000"),
        ("[settings]\nbudget.prompt = -1", "takes 0 to 8000"),
        ("[settings]\nbudget.prompt = 300.5", "takes 0 to 8000"),
        ("[settings]\nbudget.session_start = 499", "takes 500 to 8000"),
        ("[settings]\nbudget.prompt = 99999999999999999999999", "takes"),
        ("[settings]\nbudget.prompt = []", "takes"),
        ("[settings]\ngate.cosine = nan", "takes"),
        ("[settings]\ngate.cosine = 0.1", "takes"),
        ("[settings]\nhold = 'perhaps'", "on, off or interactive"),
        ("[settings]\nhold = ''", "on, off or interactive"),
        ("[settings]\npause = 0", "takes"),
        ("[settings]\npause = 2026-03-04T12:00:00Z", "takes"),
        ("[settings]\npause = 'soon'", "takes"),
        ("[settings]\nignore = 'x'", "takes"),
        ("[settings]\nignore = ['relative']", "takes"),
        ("[settings]\nignore = [1]", "takes"),
        ("[settings]\nignore = ['/a', '/a']", "takes"),
        ("[[directive]]", "directive 1 has no text"),
        ('[[directive]]\ntext = " \\n"', "directive 1 has no text"),
        ("[[directive]]\ntext = 'x'\n[[directive]]\ntext = 2", "directive 2: `text` is no text"),
        ("[[directive]]\ntext = 'x'\nid = 'y'", "unknown key `id`"),
        ("[[directive]]\ntext = 'x'\npriority = 'urgent'", "`priority` is one of"),
        ("[[directive]]\ntext = 'x'\nrepo = ''", "`repo` is no line"),
        ('[[directive]]\ntext = "x"\nrepo = "a\\nb"', "`repo` is no line"),
        ("[[directive]]\ntext = 'x'\nunder = ''", "`under`"),
        ("[[directive]]\ntext = 'x'\nunder = '/'", "`under`"),
        ("[[directive]]\ntext = 'x'\nunder = '/etc'", "`under`"),
        ("[[directive]]\ntext = 'x'\nunder = 'a/../b'", "`under`"),
        ("[[directive]]\ntext = 'x'\nunder = 'a//b'", "`under`"),
        (f"[[directive]]\ntext = '{'x' * (limits.POLICY_TEXT_MAX_BYTES + 1)}'", "more than 2000 bytes"),
        (f"[[directive]]\ntext = '{'ä' * (limits.POLICY_TEXT_MAX_BYTES // 2 + 1)}'", "more than 2000 bytes"),
        ("[[directive]]\ntext = 'x'\n" * (limits.POLICY_DIRECTIVES_MAX + 1), "51 directives, and 50 are allowed"),
        ("a = " + "[" * 5_000, "not TOML"),
        ("a." * 50 + "a = 1", "unknown key `a`"),
    ],
)
def test_whatever_breaks_a_rule_says_where(text: str, says: str) -> None:
    """A file is read whole or not at all."""
    with pytest.raises(BadPolicy, match=says):
        read(text.encode())


def test_what_is_not_text_is_no_file() -> None:
    """Another encoding, and a byte that stands for nothing."""
    for raw in (b"\xff\xfe", "[settings]".encode("utf-16"), b"\x00"):
        with pytest.raises(BadPolicy):
            read(raw)


@given(raw=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    """It reads them or says that it cannot."""
    with contextlib.suppress(BadPolicy):
        assert isinstance(read(raw), Policy)


@given(
    key=st.sampled_from(sorted(KEYS)),
    value=st.integers(-10, 10_000).map(str)
    | st.floats().map(str)
    | st.sampled_from(["true", "'on'", "'off'", "[]", "['/a']"]),
)
def test_a_value_that_is_read_is_one_that_the_key_takes(key: str, value: str) -> None:
    """Or it is one of the two that only a file can say."""
    try:
        ((name, (text, found)),) = read(f"[settings]\n'{key}' = {value}\n".encode()).settings.items()
    except BadPolicy:
        return
    assert name == key
    assert (text, found) in (("off", NOT_PAUSED), ("[]", ())) or KEYS[key].read(text) == found
