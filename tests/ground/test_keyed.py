"""Keys of settings files, by their path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.ground.keyed import keyed


def read(path: str, text: str) -> dict[str, str]:
    return {"/".join(one.name): one.value for one in keyed(path, text.encode())[0]}


JSON = '{"a": 1, "b": {"c.d": "x", "e": [1, 2]}, "f": 1.50, "g": null, "h": true}'


@pytest.mark.parametrize("text", [JSON, f"// said\n{JSON[:-1]},\n/* so */ }}"])
def test_json_and_json_with_comments(text: str) -> None:
    """Nested keys; a table's own value is its JSON; numbers by value."""
    assert read("tsconfig.json", text) == {
        "a": "1",
        "b": '{"c.d": "x", "e": [1, 2]}',
        "b/c.d": '"x"',
        "b/e": "[1, 2]",
        "f": "1.5",
        "g": "null",
        "h": "true",
    }


def test_what_looks_like_a_comment_in_a_string_is_none() -> None:
    """A web address has two slashes."""
    assert read("a.json", '{"a": "http://x,}", /* c */ "b": 1,}') == {"a": '"http://x,}"', "b": "1"}


def test_toml() -> None:
    """Tables, dotted keys, numbers by value."""
    text = "[tool.ruff]\nline-length = 1_20\n\"a.b\" = 'x'\n[[x]]\ny = 1\n"
    found = read("pyproject.toml", text)
    assert found["tool/ruff/line-length"] == "120"
    assert found["tool/ruff/a.b"] == '"x"'
    assert "x/y" not in found


YAML = """---
# said
version: "3"
services:
  web:
    image: nginx:1.2   # why
    "quoted key": 'a # b'
    ports:
      - "80:80"
      - name: x
        deep: 1
    command: >
      some: text
      more
    env: {A: 1}
  db: &anchor
    url: http://x:1/y
other : 2
empty:
- a: 1
last: ~
tag: !!str 5
"""


def test_yaml() -> None:
    """Keys by indentation; lists, flow collections and blocks of text are left alone."""
    assert read("compose.yml", YAML) == {
        "version": '"3"',
        "services/web/image": "nginx:1.2",
        "services/web/quoted key": "'a # b'",
        "services/web/env": "{A: 1}",
        "services/db/url": "http://x:1/y",
        "other": "2",
        "last": "~",
        "tag": "5",
    }


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.ini", "[a b]\nx = 1 ; why\n# no = 1\ny: 2\n[c]\nx=3\n", {"a/b/x": "1", "a/b/y": "2", "c/x": "3"}),
        ("setup.cfg", "[tool:x]\nkey = a=b\n", {"tool:x/key": "a=b"}),
        ("a.properties", "a.b.c=1\nurl=http://x\n! no=1\n", {"a/b/c": "1", "url": "http://x"}),
        (
            ".env",
            "# A=0\nA=1\nexport B='x # y'\nC=\nD=a b # why\nE=\"q\" # z\n",
            {"A": "1", "B": "'x # y'", "C": "", "D": "a b", "E": '"q"'},
        ),
        (
            "Makefile",
            "CC := gcc\nFLAGS ?= -O2 \\\n  -g\nall: x\n\t@echo a=b\nexport P = 1\n",
            {"CC": "gcc", "FLAGS": "-O2 -g", "P": "1"},
        ),
        (
            "Dockerfile",
            'FROM x\nARG V=1\nENV A=1 B="x y" \\\n  C=3\nENV OLD some text\nenv d=4\n',
            {"V": "1", "A": "1", "B": '"x y"', "C": "3", "OLD": "some text", "d": "4"},
        ),
        ("nginx.conf", "worker = 4\n", {"worker": "4"}),
    ],
)
def test_files_without_types(path: str, text: str, found: dict[str, str]) -> None:
    """Sections, comments behind values, lines that go on."""
    assert read(path, text) == found


@pytest.mark.parametrize(
    ("path", "is_typed"), [("a.json", True), ("a.toml", True), ("a.yml", True), ("a.ini", False), (".env", False)]
)
def test_which_formats_have_types(path: str, is_typed: bool) -> None:
    """JSON tells 30 from "30"; `.env` does not."""
    assert keyed(path, b"")[1] is is_typed


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.json", b"{"),
        ("a.json", b"[" * 100_000),
        ("a.json", b'{"a":' * 50_000),
        ("a.toml", b"a = "),
        ("a.toml", b"a = " + b"[" * 50_000),
        ("a.json", b'{"a": \0 1}'),
        ("a.toml", b"a = 1\n#" + b"x" * limits.SYNTAX_FILE_MAX_BYTES),
        ("a.toml", b"a = " + b"9" * 5000),
    ],
)
def test_what_cannot_be_read_has_no_keys(path: str, content: bytes) -> None:
    """Broken, nested beyond all use, binary or too large."""
    assert keyed(path, content)[0] == []


@given(
    st.sampled_from(["a.json", "a.toml", "a.yaml", "a.ini", ".env", "Makefile", "Dockerfile"]), st.binary(max_size=200)
)
def test_any_bytes_have_keys_or_none(path: str, content: bytes) -> None:
    """Nothing raises."""
    assert isinstance(keyed(path, content)[0], list)


HOSTILE = {
    "blanks": " " * 200_000 + "x",
    "backslashes": '"' + '\\"' * 100_000,
    "comments": "{/* " * 100_000,
    "quotes": 'A="\\" ' * 50_000,
    "colons": ": " * 100_000,
    "words": "ENV " + "x" * 200_000,
    "brackets": "[" * 200_000,
}


@pytest.mark.parametrize("path", ["a.json", "a.yaml", "a.ini", ".env", "Makefile", "Dockerfile"])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_reading_takes_one_look_at_each_character(path: str, text: str) -> None:
    """What would send a pattern back and forth over the file is read in one go: with any other reader this would not end."""
    assert isinstance(keyed(path, text.encode())[0], list)


def test_a_key_of_thousands_of_parts_is_not_read() -> None:
    """A TOML reader's time grows with the square of their number: a small file would hold the daemon up for minutes."""
    assert keyed("a.toml", (".".join(["a"] * 400_000) + " = 1\n").encode()) == ([], True)
    assert [one.value for one in keyed("a.toml", b'a.b.c = "' + b"so. " * 60 + b'"\n')[0]][-1].startswith('"so. ')


def test_names_are_made_only_so_deep_as_names_go() -> None:
    """Many keys below many others would each have a name as long as the file is deep."""
    found, _ = keyed("a.json", ('{"a":' * 400 + '{"k": 1}' + "}" * 400).encode())
    assert max(len(one.name) for one in found) == limits.SYMBOL_DEPTH_MAX
