"""What a person may write as an anchor, and claims that hold or not (staleness.md, "Anchors")."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.ground.claims import Claim, Given, Verdict, claim_of, parse_anchor, verdict
from memd_daemon.ground.source import Source


@pytest.mark.parametrize(
    ("given", "form", "path", "part"),
    [
        ("src/a.py", "file", "src/a.py", ""),
        ("src/a.py#L10-L42", "lines", "src/a.py", "L10-L42"),
        ("src/a.py#L10-42", "lines", "src/a.py", "L10-L42"),
        ("src/a.py#l10", "lines", "src/a.py", "L10"),
        ("src/a.py#L42-L10", "lines", "src/a.py", "L10-L42"),
        ("src/a.py#L10-L10", "lines", "src/a.py", "L10"),
        ("a#b.py#L1", "lines", "a#b.py", "L1"),
        ("docs/a.md#install", "file", "docs/a.md#install", ""),
        ("a.py#10", "file", "a.py#10", ""),
        ("#L10", "file", "#L10", ""),
        ("a.py::f", "symbol", "a.py", "f"),
        ("a.py::Class.method", "symbol", "a.py", "Class.method"),
        ("a.rs::Pool<T>::take", "symbol", "a.rs", "Pool<T>::take"),
        ("a.go::(*T).Method", "symbol", "a.go", "(*T).Method"),
        ("a.cpp::A::operator==", "symbol", "a.cpp", "A::operator=="),
        ("a.cpp::operator=", "symbol", "a.cpp", "operator="),
        ("a.cpp::A::operator +=", "symbol", "a.cpp", "A::operator +="),
        ("a.rb::A#==", "symbol", "a.rb", "A#=="),
        ("a.rb::A.<=>", "symbol", "a.rb", "A.<=>"),
        ("a.rb::A.[]=", "symbol", "a.rb", "A.[]="),
        ("a.rb::A.size=", "symbol", "a.rb", "A.size="),
        ("a.rs::Iter<Item=u8>::next", "symbol", "a.rs", "Iter<Item=u8>::next"),
        ("a.py::LIMIT=30", "claim", "a.py", "LIMIT=30"),
        ("a.py::Class.LIMIT = 30", "claim", "a.py", "Class.LIMIT = 30"),
        ("a.py::f.timeout=30", "claim", "a.py", "f.timeout=30"),
        ("a.py::URL=http://x?a=b::c", "claim", "a.py", "URL=http://x?a=b::c"),
        ("a.py::WORD='a=b'", "claim", "a.py", "WORD='a=b'"),
        ('a.json::"a=b".c=1', "claim", "a.json", '"a=b".c=1'),
        (".env::EMPTY=", "claim", ".env", "EMPTY="),
        ("a.toml::tool.ruff.line-length=120", "claim", "a.toml", "tool.ruff.line-length=120"),
        ("!src/gone.py", "claim", "src/gone.py", "!"),
        ("! src/gone.py", "claim", "src/gone.py", "!"),
        ("!a::b#L1", "claim", "a::b#L1", "!"),
        ("!", "file", "!", ""),
        ('a.md ~ "some text"', "claim", "a.md", '~ "some text"'),
        ("a.md ~ 'it is = x::y#L1'", "claim", "a.md", "~ 'it is = x::y#L1'"),
        ("a.md ~ text", "claim", "a.md", "~ text"),
        ("a~b.md", "file", "a~b.md", ""),
        ("~/a.md", "file", "~/a.md", ""),
        ("a.py::", "file", "a.py::", ""),
        ("::f", "file", "::f", ""),
        ("", "file", "", ""),
    ],
)
def test_what_is_written_is_split(given: str, form: str, path: str, part: str) -> None:
    """Every form, and what only looks like one."""
    found = parse_anchor(given)
    assert (found.form, found.path, found.part) == (form, path, part)


def test_lines_have_their_numbers() -> None:
    """From 1, the smaller first; other forms have none."""
    assert parse_anchor("a#L3") == Given("lines", "a", "L3", 3, 3)
    assert parse_anchor("a#L9-L3") == Given("lines", "a", "L3-L9", 3, 9)
    assert parse_anchor("a::b") == Given("symbol", "a", "b")


@given(st.one_of(st.text(), st.text(alphabet="ab!#:=~L01-\"'<> \n", max_size=30)))
def test_any_text_is_split(given: str) -> None:
    """Never an exception, never an empty path where something was written; a claim can be read back."""
    found = parse_anchor(given)
    assert found.form == "file" or found.path
    if found.form == "claim":
        assert claim_of(found.path, found.part).path == found.path
        verdict(claim_of(found.path, found.part), None)


@pytest.mark.parametrize(
    ("part", "claim"),
    [
        ("!", Claim("a", "absent")),
        ('~ "some  text"', Claim("a", "text", wanted="some  text")),
        ("~ 'it''s'", Claim("a", "text", wanted="it''s")),
        ('~ "', Claim("a", "text", wanted='"')),
        ("A = 1", Claim("a", "value", "A", "1")),
        ("A=b=c", Claim("a", "value", "A", "b=c")),
        ("A=", Claim("a", "value", "A", "")),
    ],
)
def test_a_claim_is_read_back(part: str, claim: Claim) -> None:
    """From what an anchor keeps."""
    assert claim_of("a", part) == claim


def test_a_file_that_is_absent_or_not() -> None:
    """`!path` holds while there is none."""
    assert verdict(Claim("a", "absent"), None) == Verdict(True)
    assert verdict(Claim("a", "absent"), Source("a", b"")) == Verdict(False, "exists")


@pytest.mark.parametrize("kind", ["value", "text"])
def test_other_claims_about_a_file_that_has_gone(kind: str) -> None:
    """They are broken, and say so."""
    assert verdict(claim_of("a", "A=1" if kind == "value" else '~ "x"'), None) == Verdict(False, "gone")


@pytest.mark.parametrize(
    ("text", "content", "holds"),
    [
        ("some text", "say some\n\ttext here", True),
        ("some text", "sometext", False),
        ("Some text", "some text", False),
        ("a.b", "axb", False),
        ("", "anything", True),
        ("é", "é", True),
    ],
)
def test_a_text_that_still_occurs(text: str, content: str, holds: bool) -> None:
    """Runs of white space are one blank; all else is verbatim."""
    assert verdict(Claim("a", "text", wanted=text), Source("a", content.encode())) == Verdict(
        holds, "" if holds else "gone"
    )


PY = """LIMIT: int = 30
NAME = 'x=y'
A, B = 1, 2
FLAG = True
NOTHING = None
CALL = make(1,
            2)
TABLE = {"deep": {"er": 5}, "a.b": 6}
if W:
    SYSTEM = 1
else:
    SYSTEM = 2
class Pool:
    size = 4
    def take(self, n=3, *, wait: float = 1.5): pass
def take(n=9):
    size = 8
"""


@pytest.mark.parametrize(
    ("path", "content", "part", "now"),
    [
        ("a.py", PY, "LIMIT=30", None),
        ("a.py", PY, "LIMIT=0x1e", None),
        ("a.py", PY, "LIMIT=31", "30"),
        ("a.py", PY, 'NAME="x=y"', None),
        ("a.py", PY, "NAME=x=y", None),
        ("a.py", PY, "B=2", None),
        ("a.py", PY, "B=1", "2"),
        ("a.py", PY, "FLAG=true", "True"),
        ("a.py", PY, "NOTHING=None", None),
        ("a.py", PY, "CALL=make(1, 2)", None),
        ("a.py", PY, "CALL=make(1)", "make(1, 2)"),
        ("a.py", PY, "TABLE.deep.er=5", None),
        ("a.py", PY, 'TABLE."a.b"=6', None),
        ("a.py", PY, "deep.er=5", None),
        ("a.py", PY, "SYSTEM=1", "1, 2"),
        ("a.py", PY, "Pool.size=4", None),
        ("a.py", PY, "size=4", "4, 8"),
        ("a.py", PY, "take.size=8", None),
        ("a.py", PY, "Pool.take.n=3", None),
        ("a.py", PY, "take.n=9", None),
        ("a.py", PY, "take.wait=1.5", None),
        ("a.py", PY, "MISSING=1", "gone"),
        ("a.py", PY, "take=1", "gone"),
        ("a.py", "x = (", "x=1", "gone"),
        ("a.py", "", "x=1", "gone"),
        (
            "a.ts",
            "export const A = 30; class C { static B = 'x'; f(n = 3) {} } enum E { D = 1 } const o = { k: 5, 'q-r': 6 };",
            "A=30",
            None,
        ),
        ("a.ts", "class C { static readonly B: string = 'x'; f(n = 3, m: number = 4) {} }", 'C.B="x"', None),
        ("a.ts", "class C { f(n = 3, m: number = 4) {} }", "C.f.m=4", None),
        ("a.ts", "enum E { D = 1 } const o = { k: 5, 'q-r': 6 };", "E.D=2", "1"),
        ("a.js", "const o = { k: 5, 'q-r': 6 };", "o.q-r=6", None),
        ("a.js", "function f(n = 3) {} module.exports.X = 1;", "f.n=3", None),
        ("a.js", "module.exports.X = 1;", "X=1", None),
        ("a.go", 'package a\nconst (\n A = 1\n B = "x"\n)\nvar x, y = 1, 2\nvar s = T{Port: 80}\n', "B=x", None),
        ("a.go", "package a\nvar x, y = 1, 2\nvar s = T{Port: 80}\n", "y=2", None),
        ("a.go", "package a\nvar s = T{Port: 80}\n", "s.Port=80", None),
        ("a.rs", 'const A: u64 = 1_000; impl P { pub const B: &str = "x"; } enum E { C = 3 }', "A=1000", None),
        ("a.rs", 'impl P { pub const B: &str = "x"; } enum E { C = 3 }', "P::B=x", None),
        ("a.rs", "enum E { C = 3 }", "E.C=4", "3"),
        ("A.java", "class A { static final int M = 30, N = 1; @interface I { int v() default 3; } }", "A.N=1", None),
        ("A.java", "class A { @interface I { int v() default 3; } }", "I.v=3", None),
        (
            "a.c",
            "#define MAX 30 /* c */\nstatic const int k = 3, *p = 0;\nint a[2] = {1, 2};\nenum e { X = 4 };",
            "MAX=30",
            None,
        ),
        ("a.c", "static const int k = 3, *p = 0;\nint a[2] = {1, 2};", "p=0", None),
        ("a.c", "int a[2] = {1, 2};", "a={1,2}", None),
        (
            "a.cpp",
            "namespace n { class C { static constexpr int K = 3; void f(int a = 5); }; } void g(int w = 6);",
            "C::K=3",
            None,
        ),
        ("a.cpp", "class C { void f(int a = 5); }; void g(int w = 6);", "C.f.a=5", None),
        ("a.cpp", "void g(int w = 6);", "g.w=6", None),
        (
            "A.cs",
            "class A { const int K = 3; int P { get; } = 4; void M(int a = 5) {} } enum E { X = 6 }",
            "A.K=3",
            None,
        ),
        ("A.cs", "class A { int P { get; } = 4; void M(int a = 5) {} }", "M.a=5", None),
        ("A.cs", "enum E { X = 6 }", "E.X=7", "6"),
        ("a.rb", "module M\n K = 3\n def f(a = 1, b: 2); end\nend\nH = { k: 5, 'q' => 6 }", "M::K=3", None),
        ("a.rb", "def f(a = 1, b: 2); end\nH = { k: 5, 'q' => 6 }", "f.b=2", None),
        ("a.rb", "H = { k: 5, 'q' => 6 }", "H.q=6", None),
        (
            "a.php",
            "<?php class A { const K = 3; public $p = 4; function f($a = 5) {} } $v = ['k' => 6];",
            "A::K=3",
            None,
        ),
        ("a.php", "<?php class A { public $p = 4; function f($a = 5) {} }", "A.$p=4", None),
        ("a.php", "<?php $v = ['k' => 6];", "v.k=6", None),
        ("a.sh", "export PORT=80\nreadonly NAME='x y'\n", "PORT=80", None),
        ("a.sh", "readonly NAME='x y'\n", "NAME=x y", None),
    ],
)
def test_a_name_that_still_has_its_value(path: str, content: str, part: str, now: str | None) -> None:
    """Constants, fields, defaults, keys, members of enums; where it has another one, that is told."""
    assert verdict(claim_of(path, part), Source(path, content.encode())) == (
        Verdict(True) if now is None else Verdict(False, now)
    )


def test_a_long_value_is_cut() -> None:
    """It stands in a line of memd's own."""
    told = verdict(claim_of("a.py", "X=1"), Source("a.py", b"X = '" + b"x" * 500 + b"'")).now
    assert len(told) == limits.LINE_MAX_CHARS
    assert told.endswith("…")


@given(
    st.sampled_from(["a.py", "a.ts", "a.rb", "a.json", "a.yaml", "a.toml", "a.ini", ".env", "Dockerfile"]),
    st.binary(max_size=200),
    st.text(max_size=20),
)
def test_any_claim_about_any_bytes_has_a_verdict(path: str, content: bytes, part: str) -> None:
    """Nothing raises."""
    claim = claim_of(path, f"{part}=1")
    assert isinstance(verdict(claim, Source(path, content)).holds, bool)


@pytest.mark.parametrize(
    "given",
    ["a" + " " * 50_000 + "b", "a::" + "<" * 50_000 + ">" * 50_000, "a::" + "." * 50_000 + "=1", "a ~" * 20_000],
)
def test_splitting_takes_one_look_at_each_character(given: str) -> None:
    """However long it is and whatever it repeats; and so does looking for it."""
    found = parse_anchor(given)
    if found.form == "symbol":
        assert Source("a.py", b"x").named(found.part) == ()
    if found.form == "claim":
        assert verdict(claim_of(found.path, found.part), Source("a.py", b"x")).holds is False
