"""The languages that are compiled, likewise (tongues.py)."""

from tests.ground.tongue import Tongue

GO = Tongue(
    "a.go",
    "package a\n",
    """const Limit = 30

const (
	First = iota
	Second
)

type Server struct {
	Port int `json:"port"`
}

type Runner interface {
	Run(a int) error
}

func (s *Server) Serve(a, b int) error {
	if a > b {
		return nil
	}
	return fmt.Errorf("a  %d", a)
}

func (s List[T]) Len() int { return 0 }

func top() {}
""",
    ("Server.Serve", "(*Server).Serve", "Serve", "Serve()", "*Server.Serve"),
    "Server.Serve",
    """const Limit = 30
const (
	First = iota
	Second
)
type Server struct {
	Port int `json:"port"`
}
type Runner interface {
	Run(a int) error
}
// Serve says so.
func (s *Server) Serve(a, b int) error {

	// why
	if a > b { return nil }

	return fmt.Errorf("a  %d",
		a) /* so */
}
func (s List[T]) Len() int { return 0 }
func top() {}
""",
    (("s *Server", "s Server"), ("a > b", "a >= b"), ("nil", "err"), ("a  %d", "a %d"), ("a, b int", "a, b uint")),
    "Limit First Second Server Runner Runner.Run Server.Serve List.Len top",
)

RUST = Tongue(
    "a.rs",
    "#![deny(warnings)]\n",
    """pub struct Pool<T> { max: u32, kept: T }
impl<T> Pool<T> {
    pub const LIMIT: u32 = 30;
    #[inline]
    #[cfg(unix)]
    pub fn take(&mut self, n: u32) -> Option<T> {
        println!("a  {}", n);
        None
    }
}
impl<T> fmt::Display for Pool<T> { fn fmt(&self) -> R { Ok(()) } }
pub enum Kind { Small, Large = 2 }
trait Tells { fn tell(&self); }
mod deep { pub fn inner() {} }
macro_rules! twice { ($x:expr) => { $x + $x } }
""",
    ("Pool::take", "Pool<T>::take", "take", "Pool.take()"),
    "Pool.take",
    """pub struct Pool<T> { max: u32, kept: T }
impl<T> Pool<T> {
    pub const LIMIT: u32 = 30;
    /// Takes one.
    #[inline]
    // on unix
    #[cfg(unix)]
    pub fn take( &mut self,
        n: u32 ) -> Option<T>
    { println!( "a  {}",  n ); /* none */ None }
}
impl<T> fmt::Display for Pool<T> { fn fmt(&self) -> R { Ok(()) } }
pub enum Kind { Small, Large = 2 }
trait Tells { fn tell(&self); }
mod deep { pub fn inner() {} }
macro_rules! twice { ($x:expr) => { $x + $x } }
""",
    (
        ("#[inline]", "#[cold]"),
        ("    #[cfg(unix)]\n", ""),
        ("pub fn take", "fn take"),
        ("u32) ->", "u64) ->"),
        ("a  {}", "a {}"),
        ("&mut self", "&self"),
    ),
    "Pool Pool.LIMIT Pool.take Display.Pool Display.Pool.fmt Kind Kind.Small Kind.Large Tells Tells.tell deep deep.inner twice",
)

JAVA = Tongue(
    "A.java",
    "package com.x;\n",
    """public class Outer<T> {
    static final int LIMIT = 30, LEAST = 1;
    @Override
    @Cached(seconds = 5)
    public <K> K run(int a, String b) throws E {
        return a + "x";
    }
    Outer(int a) {}
    enum Kind { SMALL, LARGE }
    interface Tells { void tell(); }
    record Pair(int a, int b) {}
}
""",
    ("Outer.run", "Outer#run", "run", "com.x.Outer.run", "Outer<T>.run"),
    "com.x.Outer.run",
    """public class Outer<T> {
    static final int LIMIT = 30, LEAST = 1;
    /** Runs. */
    @Override @Cached( seconds=5 ) public <K> K run( int a,
        String b ) throws E { // why
        return a
            + "x"; }
    Outer(int a) {}
    enum Kind { SMALL, LARGE }
    interface Tells { void tell(); }
    record Pair(int a, int b) {}
}
""",
    (
        ("seconds = 5", "seconds = 6"),
        ("@Override\n", ""),
        ("int a, S", "long a, S"),
        ('"x"', '"y"'),
        ("throws E", "throws F"),
    ),
    "com.x.Outer com.x.Outer.LIMIT com.x.Outer.LEAST com.x.Outer.run com.x.Outer.Outer com.x.Outer.Kind com.x.Outer.Kind.SMALL "
    "com.x.Outer.Kind.LARGE com.x.Outer.Tells com.x.Outer.Tells.tell com.x.Outer.Pair",
)

C = Tongue(
    "a.c",
    "#include <x.h>\n",
    """#define LIMIT 30
#define TWICE(x) ((x) + \\
    (x))
struct pair { int a; };
typedef struct { int b; } other_t;
enum kind { SMALL, LARGE = 2 };
int declared(int a);
static const char *word = "a  b";
static int *
run(struct pair *p, int n)
{
    return n > 1 ? p->a : 0;
}
int later(int a);
int later(int a) { return a; }
""",
    ("run", "run()"),
    "run",
    """#define LIMIT 30
#define TWICE(x) ((x) + \\
    (x))
struct pair { int a; };
typedef struct { int b; } other_t;
enum kind { SMALL, LARGE = 2 };
int declared(int a);
static const char *word = "a  b";
/* runs */
static int *run(struct pair *p,
                int n) {
    // why
    return n > 1 ? p->a
                 : 0;
}
int later(int a);
int later(int a) { return a; }
""",
    (("static int", "int"), ("n > 1", "n > 2"), ("p->a", "p->b"), ("int n", "long n")),
    "LIMIT TWICE pair other_t kind kind.SMALL kind.LARGE declared word run later",
)

CPP = Tongue(
    "a.hpp",
    "#pragma once\n",
    """namespace net {
template <typename T>
class Pool : public Base {
 public:
  explicit Pool(int n);
  ~Pool();
  int size() const { return 1; }
  bool operator==(const Pool& o) const;
  static constexpr int kLimit = 30;
};
template <typename T>
bool Pool<T>::operator==(const Pool& o) const {
  return n_ == o.n_ + 1;
}
template <typename T> Pool<T>::~Pool() {}
enum class Kind { kSmall = 1 };
using Alias = Pool<int>;
}
""",
    ("Pool::operator==", "net::Pool<T>::operator ==", "operator==", "Pool.operator=="),
    "net.Pool.operator==",
    """namespace net {
template <typename T>
class Pool : public Base {
 public:
  explicit Pool(int n);
  ~Pool();
  int size() const { return 1; }
  bool operator==(const Pool& o) const;
  static constexpr int kLimit = 30;
};
template <typename T> bool Pool<T>::operator==(const Pool &o) const
{ // why
  return n_ == o.n_ /* one more */ + 1; }
template <typename T> Pool<T>::~Pool() {}
enum class Kind { kSmall = 1 };
using Alias = Pool<int>;
}
""",
    (
        ("o) const {", "o) {"),
        ("n_ + 1", "n_ + 2"),
        ("template <typename T>\nbool", "template <class T>\nbool"),
        ("n_ ==", "n_ !="),
    ),
    "net.Pool net.Pool.Pool net.Pool.size net.Pool.kLimit net.Pool.operator== net.Pool.~Pool net.Kind net.Kind.kSmall net.Alias",
)

CSHARP = Tongue(
    "A.cs",
    "using System;\n",
    """namespace App.Deep;
[Serializable]
public class Outer<T> : Base {
    public const int Limit = 30;
    public int Size { get; set; } = 4;
    [Obsolete("x")]
    public T Run(int a, string b = "y") {
        return a + b;
    }
    public static bool operator ==(Outer a, Outer b) => true;
    public event Handler Done;
}
public enum Kind { Small = 1 }
public record Pair(int A);
""",
    ("Outer.Run", "Run", "App.Deep.Outer.Run", "Deep.Outer.Run"),
    "App.Deep.Outer.Run",
    """namespace App.Deep;
[Serializable]
public class Outer<T> : Base {
    public const int Limit = 30;
    public int Size { get; set; } = 4;
    /// <summary>Runs.</summary>
    [Obsolete( "x" )] public T Run(
        int a, string b = "y"
    )
    {
        #region why
        return a + b; // so
        #endregion
    }
    public static bool operator ==(Outer a, Outer b) => true;
    public event Handler Done;
}
public enum Kind { Small = 1 }
public record Pair(int A);
""",
    (('[Obsolete("x")]', '[Obsolete("z")]'), ('"y"', '"w"'), ("a + b", "a - b"), ("public T", "private T")),
    "App.Deep.Outer App.Deep.Outer.Limit App.Deep.Outer.Size App.Deep.Outer.Run App.Deep.Outer.operator== App.Deep.Outer.Done "
    "App.Deep.Kind App.Deep.Kind.Small App.Deep.Pair",
)

COMPILED = (GO, RUST, JAVA, C, CPP, CSHARP)
