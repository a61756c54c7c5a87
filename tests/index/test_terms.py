"""From a text to the terms that it is found by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.index.terms import identifiers_of, is_identifier, terms_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Lock the Workspace", ["lock", "the", "workspace"]),
        ("lockWorkspace", ["lock", "workspace", "lockworkspace"]),
        ("lock_workspace", ["lock", "workspace", "lockworkspace"]),
        ("LOCK_WORKSPACE", ["lock", "workspace", "lockworkspace"]),
        ("HTTPServerError2", ["http", "server", "error", "2", "httpservererror2"]),
        ("os.path.join", ["os", "path", "join"]),
        ("src/agent/resolver.rs", ["src", "agent", "resolver", "rs"]),
        ("C:\\src\\main.c", ["c", "src", "main", "c"]),
        ("std::vec", ["std", "vec"]),
        ("--dry-run", ["dry", "run"]),
        ("café_Straße", ["café", "strasse", "caféstrasse"]),
        ("__init__", ["init"]),
        ("it's", ["it", "s"]),
        ("(),;…", []),
        ("", []),
    ],
)
def test_words_are_what_a_person_would_say(text: str, words: list[str]) -> None:
    """Pieces of identifiers, and the joined form where there are several."""
    assert terms_of(text).words == words


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("lock_workspace()", {"lock_workspace", "lockworkspace"}),
        ("lockWorkspace", {"lockworkspace"}),
        ("agent/resolver.rs:214", {"agent/resolver.rs:214", "agent/resolver.rs", "resolver.rs"}),
        ("self.user_name", {"self.user_name", "user_name", "username"}),
        ("E0499", {"e0499"}),
        ("sha256", {"sha256"}),
        ("run with --dry-run", {"dry-run"}),
        ("--force", {"force"}),
        ("std::vec", {"std::vec"}),
        ("The Server HTTP DOWN", set()),
        ("e.g. i.e. a/b 1.2 3rd 20ms v2 x", set()),
        ("re-read a well-known text — so", set()),
        ("I stopped. Then it ran.", set()),
    ],
)
def test_identifiers_are_what_prose_does_not_write(text: str, identifiers: set[str]) -> None:
    """Each with the forms that another text may use for it; none in plain prose."""
    found = terms_of(text)
    assert found.identifiers == identifiers
    assert found.identifiers <= set(found.exact)


@pytest.mark.parametrize(
    ("text", "grams", "words"),
    [
        ("認証サーバー", ["認証", "証サ", "サー", "ーバ", "バー"], []),
        ("証", ["証"], []),
        ("の lock は必須", ["の", "は必", "必須"], ["lock"]),
        ("authを更新", ["を更", "更新"], ["auth"]),
        ("잠금 파일", ["잠금", "파일"], []),
        ("ไฟล์", ["ไฟ", "ฟล", "ล์"], []),
    ],
)
def test_scripts_without_spaces_give_pairs(text: str, grams: list[str], words: list[str]) -> None:
    """Pairs of neighbours, a lone character as it is; Latin words beside them stay words."""
    found = terms_of(text)
    assert (found.grams, found.words) == (grams, words)


def test_an_endless_word_is_cut() -> None:
    """At the length that the index takes."""
    assert terms_of("a" * 5000).exact == ["a" * limits.TERM_MAX_CHARS]


@given(st.text(max_size=200))
def test_no_term_has_a_space_in_it_and_none_is_empty(text: str) -> None:
    """For any text: the index splits fields at spaces, so a term may hold none; and case never matters."""
    found = terms_of(text)
    terms = found.words + found.exact + found.grams
    assert all(term and not any(one.isspace() for one in term) for term in terms)
    assert all(term == term.casefold()[: len(term)] or len(term) == limits.TERM_MAX_CHARS for term in found.words)


@given(st.from_regex(r"[a-z]{1,12}", fullmatch=True))
def test_a_plain_word_is_no_identifier(word: str) -> None:
    """Lower-case letters alone, with or without a capital in front."""
    assert not is_identifier(word)
    assert not is_identifier(word.title())


@given(st.text(alphabet=st.sampled_from("aZ9_./:-# \n\u00df\u4e00"), max_size=60) | st.text(max_size=60))
def test_identifiers_alone_are_those_among_all_terms(text: str) -> None:
    """Whoever asks for them alone is told the same."""
    assert identifiers_of(text) == terms_of(text).identifiers
