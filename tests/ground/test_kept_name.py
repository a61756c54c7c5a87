"""By which name an anchor keeps a symbol."""

import pytest

from memd_daemon.ground.judged import judged, taken
from memd_daemon.ground.source import Source
from memd_daemon.model.event import Anchor

JAVA = "package org.one;\nclass Shop {\n  int open() { return 9; }\n}\n"
TWICE = "namespace n { class A { void f() {} }; }\nnamespace q { class A { void f() { g(); } }; }\n"
PROPERTY = "class A:\n  @property\n  def x(self): return 1\n  @x.setter\n  def x(self, v): pass\n"


@pytest.mark.parametrize(
    ("path", "text", "written", "kept"),
    [
        ("A.java", JAVA, "open", "Shop.open"),
        ("A.java", JAVA, "org.one.Shop.open", "Shop.open"),
        ("a.cs", "namespace N.M { class A { int F() { return 1; } } }", "F", "A.F"),
        ("a.cpp", TWICE, "n::A::f", "n.A.f"),
        ("a.rs", "mod tests { fn works() {} }", "works", "tests.works"),
        ("a.py", "class A:\n  def f(self): pass\nclass B:\n  def f(self): pass\n", "A.f", "A.f"),
        ("a.py", PROPERTY, "x", "x"),
    ],
)
def test_a_symbol_is_kept_by_its_whole_name_namespaces_aside(path: str, text: str, written: str, kept: str) -> None:
    """With them where only they lead to it alone; as it was written where nothing does."""
    source = Source(path, text.encode())
    assert source.kept_name(source.named(written)[0], written) == kept


def test_a_package_s_new_name_changes_no_symbol_in_it() -> None:
    """A file that goes to another package has another name in its first line, and nothing else."""
    source = Source("one/Shop.java", JAVA.encode())
    (block,) = source.named("open")
    part = source.kept_name(block, "open")
    anchor = taken(Anchor(form="symbol", path="one/Shop.java", part=part), source, block)
    moved = JAVA.replace("org.one", "org.another.two")
    assert judged(anchor, Source("two/Shop.java", moved.encode())).signal == ""
    assert judged(anchor, Source("two/Shop.java", moved.replace("9", "8").encode())).signal == "block_changed"
    assert judged(anchor, Source("two/Shop.java", moved.replace("open", "close").encode())).signal == "block_missing"
