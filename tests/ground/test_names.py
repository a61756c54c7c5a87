"""Names as people write them, by their parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.ground.names import key_parts, parts_of


@pytest.mark.parametrize(
    ("symbol", "parts"),
    [
        ("f", ("f",)),
        (" f() ", ("f",)),
        ("Class.method", ("Class", "method")),
        ("Class::method()", ("Class", "method")),
        ("Class#method", ("Class", "method")),
        ("App\\Models\\User::find", ("App", "Models", "User", "find")),
        ("$this->x", ("this", "x")),
        ("(*T).Method", ("T", "Method")),
        ("(&T).Method", ("T", "Method")),
        ("*T.Method", ("T", "Method")),
        ("(T).Method", ("T", "Method")),
        ("Map<K, Vec<V>>::get", ("Map", "get")),
        (".f", ("f",)),
        ("::f", ("f",)),
        ("size=", ("size=",)),
        ("A#ok?", ("A", "ok?")),
        ("save!", ("save!",)),
        ("A::operator==", ("A", "operator==")),
        ("operator ==", ("operator==",)),
        ("A<T>::operator()", ("A", "operator()")),
        ("A::operator()()", ("A", "operator()")),
        ("A::operator==()", ("A", "operator==")),
        ("operator[]", ("operator[]",)),
        ("operator->", ("operator->",)),
        ("operator  bool", ("operator bool",)),
        ("operator==.Local.f", ("operator==", "Local", "f")),
        ('operator "" _km', ('operator""_km',)),
        ("cooperator", ("cooperator",)),
        ("operator", ("operator",)),
        ("~A", ("~A",)),
        ("", ()),
        ("()", ()),
        ("...", ()),
        ("x" * (limits.SYMBOL_MAX_CHARS + 1), ()),
    ],
)
def test_a_symbol_by_its_parts(symbol: str, parts: tuple[str, ...]) -> None:
    """As it is written in that language, or as it is written of it."""
    assert parts_of(symbol) == parts


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("a.b", ("a", "b")),
        ("tool.ruff.line-length", ("tool", "ruff", "line-length")),
        ('"a.b".c', ("a.b", "c")),
        ("'a b'", ("a b",)),
        ('a["b.c"]', ("a", "b.c")),
        ("Class::NAME", ("Class", "NAME")),
        ("$this->x", ("this", "x")),
        (":sym", ("sym",)),
        ("a:b", ("a:b",)),
        ("", ()),
    ],
)
def test_a_key_by_its_parts(key: str, parts: tuple[str, ...]) -> None:
    """Quoted parts hold dots; a single colon is part of a name."""
    assert key_parts(key) == parts


@given(st.text())
def test_any_text_has_parts(text: str) -> None:
    """None of them empty."""
    assert all(parts_of(text))
    assert all(key_parts(text))
