"""Settings as text: what is put in and taken out, and that no other byte moves."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_hooks import jsonc, settings
from memd_hooks.settings import Group

GROUPS = (
    Group("SessionStart", "startup|resume", "memd session-start", 10),
    Group("SessionStart", "compact", "memd post-compaction", 10),
    Group("UserPromptSubmit", None, "memd prompt-submit", 5),
)
COMMANDS = frozenset(group.command for group in GROUPS)

CORPUS = {
    "empty object": "{}",
    "empty object with a line": "{}\n",
    "open object": "{\n}\n",
    "minified": '{"model":"opus","hooks":{"Stop":[{"hooks":[]}]}}',
    "two blanks": '{\n  "model": "opus"\n}\n',
    "four blanks": '{\n    "model": "opus",\n    "env": {\n        "A": "1"\n    }\n}\n',
    "tabs": '{\n\t"model": "opus"\n}\n',
    "no line at the end": '{\n  "model": "opus"\n}',
    "windows": '{\r\n  "model": "opus",\r\n  "hooks": {}\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
    "empty hooks": '{\n  "hooks": {}\n}\n',
    "empty event": '{\n  "hooks": {\n    "SessionStart": []\n  }\n}\n',
    "others at the same event": (
        '{\n  "hooks": {\n    "SessionStart": [\n      { "hooks": [ { "type": "command", "command": "x" } ] }\n    ]\n  },\n'
        '  "z": 1\n}\n'
    ),
    "comments": (
        '// mine\n{\n  // the model\n  "model": "opus", // the best\n  /* hooks */ "hooks": {\n    // none\n  }, // end\n}\n'
        "// done\n"
    ),
    "comment after the last member": '{\n  "a": 1 // one\n}\n',
    "trailing commas": '{\n  "hooks": {\n    "Stop": [],\n  },\n}\n',
    "keys twice": '{\n  "hooks": {"Stop": []},\n  "hooks": {\n    "Stop": []\n  }\n}\n',
    "escapes": '{\n  "a\\u0041": "\\ud83d\\ude00 \\\\ // no comment",\n  "n": -1.5e+3\n}\n',
    "braces on their own": '{\n  "hooks":\n  {\n    "SessionStart":\n    [\n    ]\n  }\n}\n',
}


def taken_out(text: str) -> str:
    merged, made = settings.merged(text, GROUPS)
    return settings.stripped(merged, COMMANDS, made)


@pytest.mark.parametrize("name", CORPUS)
def test_what_was_put_in_means_what_it_should(name: str) -> None:
    """The groups stand at the end of their events, and all else means what it meant."""
    before = jsonc.parse(CORPUS[name]).data
    text, _ = settings.merged(CORPUS[name], GROUPS)
    after = jsonc.parse(text).data
    ours = [group.data() for group in GROUPS]
    assert after["hooks"]["SessionStart"][-2:] == ours[:2]
    assert after["hooks"]["UserPromptSubmit"][-1] == ours[2]
    hooks = {e: [g for g in groups if g not in ours] for e, groups in after["hooks"].items()}
    old_hooks = before.get("hooks", {})
    assert {e: g for e, g in hooks.items() if g or e in old_hooks} == old_hooks
    assert {k: v for k, v in after.items() if k != "hooks"} == {k: v for k, v in before.items() if k != "hooks"}


@pytest.mark.parametrize("name", CORPUS)
def test_putting_in_only_inserts(name: str) -> None:
    """Every character of the old text stands in the new one, in the same order."""
    text, _ = settings.merged(CORPUS[name], GROUPS)
    rest = iter(text)
    assert all(character in rest for character in CORPUS[name])
    assert ("\r\n" in CORPUS[name]) == ("\r\n" in text)
    assert text.count("\n") == text.count("\r\n") or "\r" not in text


@pytest.mark.parametrize(
    "name", sorted(CORPUS.keys() - {"open object", "comments", "trailing commas", "braces on their own"})
)
def test_taking_out_gives_the_bytes_back(name: str) -> None:
    """Also without the copy of the old text, where the style leaves no doubt."""
    assert taken_out(CORPUS[name]) == CORPUS[name]


@pytest.mark.parametrize("name", CORPUS)
def test_taking_out_gives_the_meaning_and_the_comments_back(name: str) -> None:
    """Blank space between empty brackets and a trailing comma may go; nothing else may."""

    def bare(text: str) -> str:
        return "".join(text.split()).replace(",}", "}").replace(",]", "]")

    assert bare(taken_out(CORPUS[name])) == bare(CORPUS[name])


def test_the_style_of_the_file_is_kept() -> None:
    """New lines are indented as the old ones are."""
    text, _ = settings.merged('{\n\t"model": "opus" // best\n}\n', GROUPS[2:])
    assert text == (
        '{\n\t"model": "opus", // best\n\t"hooks": {\n\t\t"UserPromptSubmit": [\n\t\t\t{\n\t\t\t\t"hooks": [\n\t\t\t\t\t{\n'
        '\t\t\t\t\t\t"type": "command",\n\t\t\t\t\t\t"command": "memd prompt-submit",\n\t\t\t\t\t\t"timeout": 5\n'
        "\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}\n"
    )


def test_a_file_on_one_line_stays_on_one_line() -> None:
    """Minified settings get no line breaks."""
    text, _ = settings.merged('{"a":1}', GROUPS)
    assert "\n" not in text


def test_an_empty_text_counts_as_no_settings() -> None:
    """A file of no bytes gets an object."""
    text, made = settings.merged("", GROUPS)
    assert [group.command for group in settings.standing(text, COMMANDS)] == [group.command for group in GROUPS]
    assert () in made


def test_a_missing_matcher_is_left_out() -> None:
    """Copilot rejects a whole file for an empty matcher."""
    assert "matcher" not in GROUPS[2].data()


def test_a_hook_that_a_person_moved_is_found_and_taken_out_alone() -> None:
    """In another's group, with other keys: memd's hook goes, the group stays."""
    group = {
        "matcher": "x",
        "hooks": [{"command": "other"}, {"command": "memd prompt-submit", "timeout": 1}, {"command": "last"}],
    }
    text = json.dumps(
        {"hooks": {"Stop": [group, "odd", {"hooks": 3}, {"hooks": [4, {"command": ["memd"]}]}]}}, indent=2
    )
    assert settings.standing(text, COMMANDS) == [Group("Stop", "x", "memd prompt-submit", 1)]
    kept = json.loads(settings.stripped(text, COMMANDS, ()))["hooks"]["Stop"]
    assert kept[0] == {"matcher": "x", "hooks": [{"command": "other"}, {"command": "last"}]}
    assert kept[1:] == ["odd", {"hooks": 3}, {"hooks": [4, {"command": ["memd"]}]}]


def test_what_others_added_after_ours_stays() -> None:
    """Another tool's group behind memd's, and its event beside memd's, are untouched by the removal."""
    text, made = settings.merged('{\n  "a": 1\n}\n', GROUPS)
    theirs = {"hooks": [{"type": "command", "command": "theirs"}]}
    text = jsonc.add(text, ("hooks", "SessionStart"), theirs)
    text = jsonc.add(text, ("hooks",), [theirs], key="Stop")
    left = settings.stripped(text, COMMANDS, made)
    assert json.loads(left) == {"a": 1, "hooks": {"SessionStart": [theirs], "Stop": [theirs]}}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("{", 1, 2),
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3),
        ("{\n  'a': 1\n}", 2, 3),
        ('{"a": }', 1, 7),
        ('{"a": 01}', 1, 7),
        ('{"a" 1}', 1, 6),
        ('{"a": "\n"}', 1, 7),
        ("{} x", 1, 4),
        ("{,}", 1, 2),
        ("[1,,2]", 1, 4),
        ("{} /* open", 1, 4),
        ("[]", 1, 1),
        ('{"hooks": []}', 1, 11),
        ('{\n "hooks": {"Stop": {}}}', 2, 20),
        ('{"hooks": null}', 1, 11),
    ],
)
def test_what_cannot_hold_hooks_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    """Line and column, from 1, of the first character that is wrong."""
    with pytest.raises((jsonc.Malformed, settings.WrongShape), match=f"^line {line}, column {column}: "):
        settings.merged(text, GROUPS)


def test_bottomless_nesting_is_malformed() -> None:
    """A hundred thousand brackets are a refusal, not a crash."""
    with pytest.raises(jsonc.Malformed):
        jsonc.parse("[" * 100_000)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=12,
)
OTHER_GROUPS = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(st.fixed_dictionaries({"command": st.text()}), min_size=1)}), max_size=3
)
OTHER_HOOKS = st.dictionaries(st.sampled_from(["SessionStart", "UserPromptSubmit", "Stop"]), OTHER_GROUPS, max_size=3)
SETTINGS = st.builds(
    lambda rest, hooks: {**rest, **({} if hooks is None else {"hooks": hooks})},
    st.dictionaries(st.text().filter(lambda key: key != "hooks"), JSON, max_size=4),
    st.none() | OTHER_HOOKS,
)


@given(SETTINGS, st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans())
def test_in_and_out_is_nothing(data: dict[str, Any], indent: int | str | None, ascii_only: bool) -> None:
    """Whatever stands in the settings, in any style a program writes: to the byte, and the reader reads what json reads."""
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    assert jsonc.parse(text).data == data
    assert taken_out(text) == text


@given(SETTINGS, st.integers(0, 10))
def test_taking_out_twice_is_once(data: dict[str, Any], seed: int) -> None:
    """There is nothing left to be found."""
    text, made = settings.merged(json.dumps(data, indent=seed % 3), GROUPS)
    once = settings.stripped(text, COMMANDS, made)
    assert settings.stripped(once, COMMANDS, made) == once
    assert settings.standing(once, COMMANDS) == []


@given(st.text(alphabet='{}[]":,/*\n 1a\\tnull', max_size=30))
def test_the_reader_takes_all_that_json_takes(text: str) -> None:
    """What json accepts it reads alike; what neither takes is Malformed and nothing else."""
    try:
        expected = json.loads(text)
    except ValueError:
        with suppress(jsonc.Malformed):  # comments and trailing commas are read, anything else is Malformed
            jsonc.parse(text)
    else:
        assert jsonc.parse(text).data == expected
