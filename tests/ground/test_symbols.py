"""Symbols: found by every spelling, the same under another layout, changed by whatever else is edited (staleness.md)."""

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import errors, limits
from memd_daemon.ground import syntax
from memd_daemon.ground.languages import LANGUAGES
from memd_daemon.ground.source import Block, Source
from memd_daemon.model.event import Anchor
from tests.ground.tongue import Tongue
from tests.ground.tongues import PYTHON, TONGUES

each_tongue = pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.path)
EDITS = [
    pytest.param(tongue, *edit, id=f"{tongue.path}:{edit[0].strip()}") for tongue in TONGUES for edit in tongue.edits
]


def source(tongue: Tongue, body: str | None = None, before: str = "") -> Source:
    return Source(tongue.path, (tongue.head + before + (tongue.body if body is None else body)).encode())


def only(of: Source, symbol: str) -> Block:
    (block,) = of.named(symbol)
    return block


def python(text: str) -> Source:
    return Source("a.py", text.encode())


def anchored(of: Source, symbol: str) -> Anchor:
    block = only(of, symbol)
    return Anchor(
        form="symbol",
        path=of.path,
        part=symbol,
        digest=block.digest,
        text=block.text,
        grammar=of.grammar,
        first=block.first,
    )


@each_tongue
def test_every_definition_has_its_qualified_name(tongue: Tongue) -> None:
    """In the order of the source; what is only declared is left out where it is defined."""
    assert [block.name for block in source(tongue).symbols()] == tongue.names.split()


@each_tongue
def test_a_symbol_is_found_by_every_spelling(tongue: Tongue) -> None:
    """The whole name, its end, and the ways in which people of that language write it."""
    assert {only(source(tongue), asked).name for asked in tongue.asked} == {tongue.name}


@each_tongue
def test_what_is_not_there_is_not_found(tongue: Tongue) -> None:
    """Neither a name that does not occur nor one that occurs as something else."""
    assert source(tongue).named("missing") == ()
    assert source(tongue).named(f"Nowhere.{tongue.asked[0]}") == ()


@each_tongue
def test_layout_and_comments_are_no_change(tongue: Tongue) -> None:
    """The text differs, the tree does not."""
    before, after = only(source(tongue), tongue.name), only(source(tongue, tongue.laid_out), tongue.name)
    assert after.digest == before.digest
    assert after.text != before.text


@pytest.mark.parametrize(("tongue", "old", "new"), EDITS)
def test_an_edit_is_a_change(tongue: Tongue, old: str, new: str) -> None:
    """Literals, operators, decorators, attributes, quotes, commas, types: each counts."""
    assert tongue.body.count(old) == 1
    before, after = source(tongue), source(tongue, tongue.body.replace(old, new))
    assert only(after, tongue.name).digest != only(before, tongue.name).digest


@each_tongue
def test_a_block_that_moved_is_the_same(tongue: Tongue) -> None:
    """Lines before it change where it stands, and nothing else of it."""
    before, after = only(source(tongue), tongue.name), only(source(tongue, before="\n\n\n"), tongue.name)
    assert (after.first, after.last) == (before.first + 3, before.last + 3)
    assert (after.digest, after.text) == (before.digest, before.text)


@each_tongue
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_are_no_change(tongue: Tongue, end: str) -> None:
    """A checkout with other line ends has the same text and tree."""
    content = (tongue.head + tongue.body).replace("\n", end).encode()
    assert Source(tongue.path, b"\xef\xbb\xbf" + content).symbols() == source(tongue).symbols()


@each_tongue
def test_a_block_has_its_lines_and_text(tongue: Tongue) -> None:
    """First and last line are those of its text, attributes included."""
    here = source(tongue)
    for block in here.symbols():
        stretch = here.lines(block.first, block.last)
        assert stretch is not None
        assert here.text_of(block) in here.text_of(stretch)


STRINGS = {
    "a.py": "def f():\n    return %s\n",
    "a.ts": "function f() { return %s; }",
    "a.js": "function f() { return %s; }",
    "a.go": "package a\nfunc f() string { return %s }",
    "a.rs": "fn f() -> &str { %s }",
    "a.java": "class A { String f() { return %s; } }",
    "a.c": "char *f() { return %s; }",
    "a.cpp": "char *f() { return %s; }",
    "a.cs": "class A { string f() { return %s; } }",
    "a.rb": "def f\n  %s\nend",
    "a.php": "<?php function f() { return %s; }",
}


@pytest.mark.parametrize("path", STRINGS)
@pytest.mark.parametrize(
    ("one", "other"),
    [('"\\n  \\n"', '"\\n \\n"'), ('"  "', '" "'), ('" a"', '"  a"'), ('"a\\n  "', '"a\\n "'), ('"#"', '"# "')],
)
def test_white_space_in_strings_counts(path: str, one: str, other: str) -> None:
    """Also between two escapes, where a grammar has no node of its own for it."""
    before, after = (Source(path, (STRINGS[path] % text).encode()) for text in (one, other))
    assert only(before, "f").digest != only(after, "f").digest


@pytest.mark.parametrize(
    ("text", "symbol", "lines"),
    [
        ("class A:\n  @property\n  def x(self): return 1\n  @x.setter\n  def x(self, v): pass\n", "A.x", [2, 4]),
        ("if W:\n  def f(): return 1\nelse:\n  def f(): return 2\n", "f", [2, 4]),
        ("try:\n  import x as X\nexcept E:\n  X = None\nX = 1\n", "X", [4, 5]),
        ("def f(): pass\nclass A:\n  def f(self): pass\n", "f", [1]),
        ("class A:\n  def f(self): pass\nclass B:\n  def f(self): pass\n", "f", [2, 4]),
        ("a, (b) = 1, 2\nc = d = 3\n", "d", [2]),
        ("type Pair[T] = tuple[T, T]\n", "Pair", [1]),
        ("def f():\n  local = 1\n  def inner(): pass\n", "local", []),
        ("def f():\n  local = 1\n  def inner(): pass\n", "f.inner", [3]),
        ("async def f(): pass\n", "f", [1]),
    ],
)
def test_python_names_that_are_there_twice_and_names_of_all_kinds(text: str, symbol: str, lines: list[int]) -> None:
    """All blocks of an ambiguous name come back; one that is the whole name goes before those that end so."""
    assert [block.first for block in python(text).named(symbol)] == lines


@pytest.mark.parametrize(
    ("path", "text", "symbol", "lines"),
    [
        ("a.c", "#ifdef X\nint f() { return 1; }\n#else\nint f() { return 2; }\n#endif\n", "f", [2, 4]),
        ("a.h", "struct A { int a; };\nvoid f(int);\n", "f", [2]),
        ("a.rs", "impl A for S { fn f() {} }\nimpl B for S { fn f() {} }\n", "S::f", [1, 2]),
        ("a.rs", "impl A for S { fn f() {} }\nimpl B for S { fn f() {} }\n", "B::S::f", [2]),
        ("a.rs", "impl A for S { fn f() {} }\nimpl S { fn f() {} }\n", "S::f", [2]),
        ("a.ts", "interface A { f(a: string): void;\nf(a: number): void }\n", "A.f", [1, 2]),
        ("a.java", "class A { void f(int a) {}\n void f(String a) {} }\n", "A.f", [1, 2]),
        ("a.cs", "namespace N { class A { class B {} } \n class B {} }\n", "B", [2]),
        ("a.cpp", "namespace n { int f() { return 1; } }\nnamespace m { int f() { return 1; } }", "f", [1, 2]),
        ("a.cpp", "namespace n { int f() { return 1; } }\nnamespace m { int f() { return 1; } }", "m::f", [2]),
        ("Rakefile", "def f; end\n", "f", [1]),
        ("a.rb", "class A\n def ok; end\n def ok?; end\n def ok!; end\nend\n", "A#ok?", [3]),
        ("tool", "#!/usr/bin/env -S node --x\nfunction f() {}\n", "f", [2]),
    ],
)  # fmt: skip
def test_names_that_are_there_twice(path: str, text: str, symbol: str, lines: list[int]) -> None:
    """Branches of a preprocessor, overloads, implementations of two traits, namespaces."""
    assert [block.first for block in Source(path, text.encode()).named(symbol)] == lines


@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        ("f", "function f(a: string): void;\nfunction f(a: number): void;\nfunction f(a: any) {}\nf(1)\n"),
        ("f", "export function f(a: string): void;\n/* so */\nexport function f(a: number) {}\n"),
        ("A.f", "class A {\n  f(a: string): void;\n  f(a: any) {}\n  g() {}\n}\n"),
    ],
)
def test_overloads_are_part_of_their_function(symbol: str, text: str) -> None:
    """An edit of a signature alone is one of the function; what stands behind it is another's."""
    block = only(Source("a.ts", text.encode()), symbol)
    assert only(Source("a.ts", text.replace("a: string", "a: Date").encode()), symbol).digest != block.digest
    assert (
        only(Source("a.ts", text.replace("f(1)", "f(2)").replace("g()", "h()").encode()), symbol).digest == block.digest
    )


def test_a_prototype_far_from_its_function_is_left_out() -> None:
    """Only what stands right before a definition is part of it."""
    source = Source("a.c", b"int f(int);\nint g(void) { return 1; }\nint f(int a) { return a; }\n")
    assert only(source, "f").first == 3


def test_a_python_block_is_the_same_in_another_indentation() -> None:
    """Its docstring moves with it; another text of several lines is a value, and does not."""
    flat = python('def f():\n    """A\n      b\n    """\n    return 1\n')
    deep = python(
        'class C:\n        def f():\n                """A\n                  b\n                """\n                return 1\n'
    )
    assert only(flat, "f").digest == only(deep, "f").digest
    assert (
        only(python('def f():\n    x = """a\n    b"""\n'), "f").digest
        != only(python('def f():\n    x = """a\n      b"""\n'), "f").digest
    )


def test_a_heredoc_belongs_to_its_constant() -> None:
    """Ruby's text stands behind the statement that begins it."""
    said, other = (Source("a.rb", f"T = <<~E\n  {word}\nE\nU = 1\n".encode()) for word in ("said", "other"))
    assert only(said, "T").digest != only(other, "T").digest


def test_the_same_block_is_chosen_among_several() -> None:
    """Of two equal names the one that is unchanged is the anchor's, wherever it stands; else the nearest."""
    setter = "class A:\n  @property\n  def x(self): return 1\n  @x.setter\n  def x(self, v): self.v = v\n"
    here = python(setter)
    first, second = here.named("A.x")
    anchor = Anchor(
        form="symbol", path="a.py", part="A.x", digest=second.digest, text=second.text, grammar=here.grammar, first=4
    )
    moved = python(setter.replace("return 1", "return 2"))
    assert moved.block(anchor) == moved.named("A.x")[1]
    broken = python(setter.replace("self.v = v", "pass"))
    nearest = broken.block(anchor)
    assert nearest == broken.named("A.x")[1]
    assert nearest is not None
    assert not broken.is_same(anchor, nearest)
    assert first.digest != second.digest


def test_a_method_that_gets_a_namesake_is_still_the_anchors() -> None:
    """An anchor on `run` stands while that method does, though a function `run` has come that the name says better."""
    anchor = anchored(python("class A:\n  def run(self): return 1\n"), "run")
    now = python("def run(): pass\nclass A:\n  def run(self): return 1\n")
    block = now.block(anchor)
    assert block is not None
    assert (block.name, now.is_same(anchor, block)) == ("A.run", True)


def test_what_has_gone_has_no_block() -> None:
    """A name that is defined no more, though it is still called."""
    assert python("run()\n").block(anchored(python("def run(): pass\n"), "run")) is None


@pytest.mark.parametrize(
    ("text", "grammar", "same"),
    [("def f(): return 1", "", True), ("def f():  return 1", "", False), ("def f():  return 1", "same", True)],
)
def test_another_grammar_compares_by_text_alone(text: str, grammar: str, same: bool) -> None:
    """Equal text is no change whatever reads it; trees of two grammars are not compared."""
    before = python("def f(): return 1\n")
    block = only(before, "f")
    anchor = Anchor(
        form="symbol",
        path="a.py",
        part="f",
        digest=block.digest,
        text=block.text,
        grammar=before.grammar if grammar else "python 0/1",
    )
    now = python(text + "\n")
    assert now.is_same(anchor, only(now, "f")) is same


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.txt", b"def f(): pass"),
        ("a", b"def f(): pass"),
        ("a.py", b"def f(): pass\0"),
        ("a.py", b"#" * (limits.SYNTAX_FILE_MAX_BYTES + 1)),
        ("a.py", "def f(): pass".encode("utf-16")),
    ],
)  # fmt: skip
def test_what_no_grammar_reads_says_so(path: str, content: bytes) -> None:
    """The refusal tells to anchor lines instead; a value is not found there."""
    here = Source(path, content)
    assert (here.language, here.grammar) == ("", "")
    for asked in (
        lambda: here.named("f"),
        here.symbols,
        lambda: here.block(Anchor(form="symbol", path=path, part="f")),
    ):
        with pytest.raises(errors.NoGrammar, match="#L10-L42"):
            asked()
    assert here.values("f") == []


def test_source_that_nests_beyond_all_use_is_refused() -> None:
    """Reading is given up after a number of steps or nodes, and the answer is that no symbols are read there."""
    here = python("x = " + "(" * 300_000 + ")" * 300_000)
    with pytest.raises(errors.NoGrammar):
        here.named("x")
    assert here.values("x") == []


def test_nesting_takes_no_stack() -> None:
    """A tree far deeper than the interpreter's stack is read, hashed and compared."""
    deep = sys.getrecursionlimit() * 20
    one, other = (python(f"x = {'-' * deep}{value}") for value in (1, 2))
    assert only(one, "x").digest != only(other, "x").digest


def test_names_within_names_end_somewhere() -> None:
    """Functions nested deeper than anybody writes are no symbols; those around them are."""
    text = "".join(f"{' ' * level}def f{level}():\n" for level in range(50)) + " " * 50 + "pass\n"
    names = [block.name.count(".") for block in python(text).symbols()]
    assert max(names) == limits.SYMBOL_DEPTH_MAX - 1


def test_broken_source_is_compared_as_it_is() -> None:
    """What a grammar cannot place counts by its text, and what is whole around it is found."""
    broken = "def f():\n    return ((1 +\n\ndef g():\n    return 2\n"
    assert only(python(broken), "g").digest == only(python("def g():\n    return 2\n"), "g").digest
    here, there = (Source("a.js", f"function f() {{ return {text}; }}".encode()) for text in ("a @@ b", "a @@@ b"))
    assert only(here, "f").digest != only(there, "f").digest


def test_no_two_trees_have_the_tokens_of_each_other() -> None:
    """Nesting counts as such: the same leaves under other nodes are another digest."""
    assert only(python("x = (a + b) * c"), "x").digest != only(python("x = a + (b * c)"), "x").digest
    assert (
        only(python("def f():\n  if a:\n    b\n    c\n"), "f").digest
        != only(python("def f():\n  if a:\n    b\n  c\n"), "f").digest
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_which_grammar_reads_it(language: str) -> None:
    """Its name, the version of its wheel, the format of the digest."""
    name, rest = syntax.grammar_of(language).name.split()
    assert name == language
    assert rest.endswith(f"/{limits.SYNTAX_DIGEST_FORMAT}")
    assert rest.count(".") == 2


# --- properties

LINES = st.lists(st.sampled_from(["", "# said", "import os", "y = 1", "def other():\n    return 1"]), max_size=8)


@given(LINES)
def test_whatever_stands_before_a_block_leaves_it_the_same(lines: list[str]) -> None:
    """Its digest and text are its own."""
    before, after = source(PYTHON), source(PYTHON, before="".join(line + "\n" for line in lines))
    assert [(b.digest, b.text) for b in after.named(PYTHON.name)] == [
        (b.digest, b.text) for b in before.named(PYTHON.name)
    ]


WORDS = [
    "total",
    "=",
    "compute",
    "(",
    "first",
    ",",
    "second",
    "[",
    "0",
    "]",
    "+",
    "3",
    "*",
    "third",
    ")",
    "-",
    "fourth",
    ".",
    "fifth",
]


@given(st.randoms(use_true_random=False))
def test_any_layout_of_a_statement_within_brackets_is_the_same(chance: random.Random) -> None:
    """White space, line breaks and comments between the tokens of an expression in brackets change nothing."""
    gaps = ["", " ", "  ", "\n  ", "\n      ", "  # why\n   ", "\n\n   "]
    laid_out = "".join(word + (chance.choice(gaps) if 3 <= index < 14 else "") for index, word in enumerate(WORDS))
    plain = only(python(f"def f():\n    {''.join(WORDS)}\n    return total\n"), "f")
    assert only(python(f"def f():\n  {laid_out} # so\n\n  # then\n  return total\n"), "f").digest == plain.digest


@given(st.integers(0, len(WORDS) - 1), st.sampled_from(["other", "4", "'x'", "/", "None"]))
def test_any_token_that_is_another_is_a_change(index: int, token: str) -> None:
    """Also where the edit breaks the code."""
    edited = [*WORDS[:index], f" {token} ", *WORDS[index + 1 :]]
    before, after = (python(f"def f():\n    {' '.join(words)}\n    return total\n") for words in (WORDS, edited))
    assert only(after, "f").digest != only(before, "f").digest


@given(st.sampled_from([tongue.path for tongue in TONGUES]), st.binary(max_size=300))
def test_any_bytes_have_symbols_or_say_that_they_have_none(path: str, content: bytes) -> None:
    """No content raises anything but NoGrammar, and whatever is found is within it."""
    here = Source(path, content)
    try:
        found = here.symbols()
    except errors.NoGrammar:
        assert here.language == ""
        return
    assert all(1 <= block.first <= block.last <= here.content.count(b"\n") + 1 for block in found)


@given(st.sampled_from(TONGUES), st.data())
def test_a_file_cut_and_pasted_anywhere_is_still_read(tongue: Tongue, data: st.DataObject) -> None:
    """Half-written code is what a working tree holds: symbols come back, and each of their names leads to them."""
    text = tongue.head + tongue.body
    cut, at = data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))))
    here = Source(tongue.path, (text[:cut] + text[at:]).encode())
    for block in here.symbols():
        assert block in here.named(block.name)


CHAINS = {
    "a.py": "a[0] = " * 20_000 + "1",
    "a.js": "exports = " * 20_000 + "1",
    "a.c": "int " + "".join(f"v{number}, " for number in range(20_000)) + "last;",
    "a.rb": "X = <<E\n  a\nE\n" * 5_000,
    "a.tsx": "const x = <a>" + " " * 200_000 + "b</a>;",
    "a.cpp": "int x = " + "a<" * 20_000 + "b;",
}


@pytest.mark.parametrize("path", CHAINS)
def test_reading_ends_whatever_a_file_repeats(path: str) -> None:
    """Each node is looked at a few times at most: were it once for every other one, this would not end."""
    here = Source(path, CHAINS[path].encode())
    assert len(here.symbols()) <= limits.SYMBOLS_MAX
    assert isinstance(here.values("a"), list)
