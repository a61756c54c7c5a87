"""Functions of languages with braces, and when they count as changed."""

import pytest

from memd_daemon.histories import truth
from memd_daemon.histories.truth import Unreadable

GO = """package a
// func NotOne() {}
type T struct{ f func(int) string }
var v = func(x int) { _ = "}" }
func external(x int) int
func Plain(x interface{ M() }) (y struct{ z int }, err error) {
	s := `}`
	c := '{' // }
}
func (t *T) Method() { if x { y() } }
func (t Tree[K, V]) Walk(f func(K) bool) map[string]interface{} { return nil }
func Map[T any, U comparable](x []T) {
}
"""
RUST = """#![allow(x)]
/// fn not_one() {}
#[derive(Debug)]
pub struct S { f: fn(u8) -> u8 }
use a::{b, c};
#[inline]
pub(crate) async fn plain<'a>(x: &'a str) -> [u8; 4] where [u8; 4]: Sized { b'{'; r#"}"#; }
impl<'a, T: Fn(u8) -> u8> Trait<T> for a::Holder<'a, T> where T: Copy {
    const X: u8 = { 1 };
    fn method(&self) -> impl Iterator<Item = u8> { macro_rules! m { () => { fn no() {} } } }
    type Y = u8;
}
trait Able { fn declared(&self); fn given(&self) {} }
mod tests { use super::*; #[test] fn works() {} }
const F: S = S { f: |x| { x } };
"""
TS = """import { a } from "b";
export default async function plain<T extends { x: number }>(a: { b: string }, c = {}): Promise<{ d: T }> {
  return `}${a.b}` /* } */;
}
function overload(a: string): void;
export const arrow = async <T>(x: T): Promise<{ y: T }> => {
  const inner = () => { };
};
const value = { f() { } }, other = 2;
let typed: (x: number) => { y: string } = function (x) { return /[{]/.test(x); };
const short = (x) => x + 1;
it("tests", () => { function hidden() { } });
export abstract class C<T> extends D<{ e: T }> implements E {
  readonly x: { y: number } = { y: 1 }
  static z = () => { return 1; };
  @dec({ a: 1 })
  async method<K extends keyof T>(k: K, { a } = {}): { [x: string]: K } { return this.x(k); }
  abstract declared(): void;
  #own() { if (a) { b(); } }
  constructor(private a: string) { super(); }
  get p(): number { return 1 }
  set p(v) { }
}
namespace N { export function within(): x is string { return true; } }
"""
JAVA = """package a;
import a.b;
@Ann({1, 2})
public class A<T> extends B {
    private final Map<K, V> m = new HashMap<>() {{ put(1, 2); }};
    static { init(); }
    public A(int x) { this(x, "}"); }
    @Override
    public <K> List<K> get(K k) throws E { return a.b(k); }
    abstract void declared();
    enum X { ONE { void f() {} }, TWO(1); int x() { return 1; } }
    interface I { default void d() {} void e(); }
}
"""
C = """#include <x.h>
#define M(x) { x
struct s { int a; };
static int table[] = { 1, 2 };
#ifdef __cplusplus
extern "C" {
#endif
int linked(void) { return 2; }
#ifdef __cplusplus
}
#endif
int declared(int);
static inline int
plain(struct s *s, int (*f)(int))
{
	if (f(1)) { return '{'; }
	return 0;
}
"""


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.go", GO, ["Plain", "T.Method", "Tree.Walk", "Map"]),
        ("a.rs", RUST, ["plain", "Holder.method", "Able.given", "tests.works"]),
        ("a.ts", TS, ["plain", "arrow", "typed", "C.method", "C.#own", "C.constructor", "C.p", "C.p", "N.within"]),
        ("a.java", JAVA, ["A.A", "A.get", "A.X.x", "A.I.d"]),
        ("a.c", C, ["linked", "plain"]),
    ],
)
def test_functions_are_found_by_qualified_names(path: str, text: str, names: list[str]) -> None:
    """Those with a body, at the level of file, module, class or impl; braces in strings, comments and types mislead nobody."""
    assert [one.name for one in truth.functions(path, text.encode())] == names


@pytest.mark.parametrize(
    ("path", "text", "name", "lines"),
    [
        ("a.go", GO, "Plain", (6, 9)),
        ("a.rs", RUST, "plain", (6, 7)),
        ("a.rs", RUST, "Holder.method", (10, 10)),
        ("a.ts", TS, "plain", (2, 4)),
        ("a.ts", TS, "arrow", (6, 8)),
        ("a.ts", TS, "C.method", (16, 17)),
        ("a.java", JAVA, "A.get", (8, 9)),
        ("a.c", C, "plain", (13, 18)),
    ],
)
def test_a_function_begins_with_what_belongs_to_it(path: str, text: str, name: str, lines: tuple[int, int]) -> None:
    """Attributes, decorators and modifiers, no comment."""
    (found,) = (one for one in truth.functions(path, text.encode()) if one.name == name)
    assert (found.first, found.last) == lines


@pytest.mark.parametrize(
    ("path", "before", "after", "is_change"),
    [
        ("a.go", "func F() { a(b, c) }", "func F() {\n\ta(b,\n\t\tc) // d\n}", False),
        ("a.go", "func F() { a(b, c) }", "func F() { a(b, c,) }", True),
        ("a.go", 'func F() { a("b c") }', 'func F() { a("b  c") }', True),
        ("a.rs", "fn f() { x>>1 }", "/// Doc.\nfn f() {\n    x >> 1 /* c */\n}", False),
        ("a.rs", "fn f() { }", "#[inline]\nfn f() { }", True),
        ("a.rs", "fn f() { }", "pub fn f() { }", True),
        ("a.rs", "#[a(b, c)]\nfn f() { }", "#[a(\n  b, c\n)]\nfn f() { }", False),
        ("a.ts", "function f() { return 'a' }", 'function f() { return "a" }', True),
        ("a.ts", "function f() { return a }", "function f() { return a; }", True),
        ("a.ts", "function f() { return a }", "export function f() { return a }", True),
        ("a.ts", "function f() { return `${a+b} ` }", "function f() {\r\n  return `${a + b} `\r\n}", False),
        (
            "a.java",
            "class A { int f() { return 1; } }",
            "class A {\n  /** Doc. */\n  int f()\n  { return 1; }\n}",
            False,
        ),
        ("a.c", "int f() { return 1; }", "int f() {\n#ifdef X\nreturn 1; }", True),
    ],
)
def test_words_count_and_layout_does_not(path: str, before: str, after: str, is_change: bool) -> None:
    """Each language by one function before and after."""
    (first,), (second,) = truth.functions(path, before.encode()), truth.functions(path, after.encode())
    assert (first.code != second.code) is is_change


@pytest.mark.parametrize("path", ["a.go", "a.rs", "a.ts", "a.java", "a.c"])
@pytest.mark.parametrize("text", ["f(", "}", "{ ( }"])
def test_what_does_not_match_is_unreadable(path: str, text: str) -> None:
    """Nothing is said of a content whose brackets do not match."""
    with pytest.raises(Unreadable):
        truth.functions(path, text.encode())
