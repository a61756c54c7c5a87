"""The same small file in every language that memd reads: what is defined, how else it may be laid out, what would be a change."""

from tests.ground.tongue import Tongue
from tests.ground.tongues_compiled import COMPILED

PYTHON = Tongue(
    "a.py",
    "import os\n",
    '''class Outer:
    """Doc."""

    LIMIT: int = 30

    class Inner:
        @cached(5)
        def run(self, a, b=2):
            """Says
            what it does.
            """
            return a + "x"

    def other(self):
        return 1
''',
    ("Outer.Inner.run", "Inner.run", "run", "Outer::Inner::run()", "run()"),
    "Outer.Inner.run",
    '''class Outer:
  """Doc."""
  LIMIT: int = 30
  class Inner:

      # a comment above
      @cached( 5 )  # one behind
      def run(
          self,
          a, b = 2
      ):
          """Says
          what it does.
          """

          # why
          return a \\
              + "x"
  def other(self): return 1
''',
    (
        ("@cached(5)", "@cached(6)"),
        ("@cached(5)", "@cached"),
        ("b=2", "b=3"),
        ("Says", "Tells"),
        ("a + ", "a - "),
        ('"x"', "'x'"),
        ("self, a, b=2)", "self, a, b=2,)"),
        ("return a", "yield a"),
    ),
    "Outer Outer.LIMIT Outer.Inner Outer.Inner.run Outer.other",
)

TYPESCRIPT = Tongue(
    "a.ts",
    "import x from 'x';\n",
    """@Injectable({ n: 1 })
export class Outer<T> {
  static readonly LIMIT = 30;
  @Log('a')
  run(a: string, b = 2): number {
    return go(`${a}  b`, "x");
  }
  private field = () => 1;
}
export const arrow = async (a: number) => a + 1;
interface Shape { area(): number }
type Pair = [string, string];
enum Colour { Red = 1 }
const bag = { stir() { return 1; } };
namespace Deep { export function fn() {} }
""",
    ("Outer.run", "run", "Outer::run", "Outer#run"),
    "Outer.run",
    """@Injectable({ n: 1 }) export class Outer<T> {
    static readonly LIMIT = 30;
    // why
    @Log( 'a' ) run( a: string,
         b = 2 /* two */ ): number
    { return go(`${a}  b`,
                "x"); }
    private field = () => 1;
}
export const arrow = async (a: number) =>
  // one more
  a + 1;
interface Shape { area(): number }
type Pair = [string, string];
enum Colour { Red = 1 }
const bag = { stir() { return 1; } };
namespace Deep { export function fn() {} }
""",
    (
        ("@Log('a')", "@Log('b')"),
        ("b = 2", "b = 3"),
        ("number {", "string {"),
        ("}  b", "} b"),
        ('"x")', "'x')"),
        ('"x")', '"x",)'),
        ("return go", "await go"),
    ),
    "Outer Outer.LIMIT Outer.run Outer.field arrow Shape Shape.area Pair Colour Colour.Red bag bag.stir Deep Deep.fn",
)

TSX = Tongue(
    "a.tsx",
    "",
    """export const Card = ({ name }: Props) => (
  <div className="card" key={1}>
    Hello <b>{name}</b>, welcome
    <Foot />
  </div>
);
""",
    ("Card",),
    "Card",
    """export const Card = (
  { name }: Props // the props
) => (
  <div
    className="card"
    key={1}
  >
    Hello <b>{name}</b>, welcome
    <Foot/></div>
);
""",
    (
        ("Hello", "Hi"),
        ('"card"', "'card'"),
        ("key={1}", "key={2}"),
        ("<Foot />", "<Head />"),
        ("Hello <b>", "Hello<b>"),
    ),
    "Card",
)

JAVASCRIPT = Tongue(
    "a.mjs",
    "'use strict';\n",
    """class Outer extends Base {
  #hidden = 1;
  static async run(a, b = 2) {
    return a + "x";
  }
}
function top() { function nested() {} }
const arrow = (a) => a;
module.exports.shared = function () { return 1; };
Outer.prototype.late = function () {};
export default function named() {}
""",
    ("Outer.run", "run"),
    "Outer.run",
    """class Outer extends Base {
  #hidden = 1;
  static async run( a, b = 2 ) { /* why */ return a
      + "x"; }
}
function top() { function nested() {} }
const arrow = (a) => a;
module.exports.shared = function () { return 1; };
Outer.prototype.late = function () {};
export default function named() {}
""",
    (("static ", ""), ("async ", ""), ("b = 2", "b = 3"), ("a + ", "a - "), ('"x"', "`x`")),
    "Outer Outer.hidden Outer.run top top.nested arrow shared Outer.late named",
)

RUBY = Tongue(
    "a.rb",
    "require 'x'\n",
    """module Deep
  class Outer < Base
    LIMIT = 30
    def self.make; end
    def run(a, b = 2)
      return a + "x" if a
      <<~SQL
        select #{a}
      SQL
    end
    private def hidden; end
    def ==(other); end
    def size=(n); end
  end
end
TEXT = <<~T
  said
T
""",
    ("Deep::Outer#run", "Outer.run", "run", "Outer#run"),
    "Deep.Outer.run",
    """module Deep
  class Outer < Base
    LIMIT = 30
    def self.make; end
    # Runs.
    def run( a, b = 2 )

      return a +
        "x" if a # why

      <<~SQL
        select #{a}
      SQL
    end
    private def hidden; end
    def ==(other); end
    def size=(n); end
  end
end
TEXT = <<~T
  said
T
""",
    (("b = 2", "b = 3"), ("select", "delete"), ('"x" if', "'x' if"), ("if a", "unless a")),
    "Deep Deep.Outer Deep.Outer.LIMIT Deep.Outer.make Deep.Outer.run Deep.Outer.hidden Deep.Outer.== Deep.Outer.size= TEXT",
)

PHP = Tongue(
    "a.php",
    "<?php\n",
    """namespace App;
const TOP = 1;
abstract class Outer extends Base {
    public const LIMIT = 30;
    private ?int $size = 4;
    #[Cached(5)]
    public function run(int $a, $b = 2): string {
        return "$a  b" . 'x';
    }
}
interface Tells { public function tell(); }
enum Kind: string { case Small = 's'; }
function top() {}
$closure = fn($x) => $x;
""",
    ("Outer::run", "App\\Outer::run", "run", "Outer->run()"),
    "App.Outer.run",
    """namespace App;
const TOP = 1;
abstract class Outer extends Base {
    public const LIMIT = 30;
    private ?int $size = 4;
    /** Runs. */
    #[Cached( 5 )] public function run(
        int $a, $b = 2
    ): string
    {
        // why
        return "$a  b"
            . 'x'; # so
    }
}
interface Tells { public function tell(); }
enum Kind: string { case Small = 's'; }
function top() {}
$closure = fn($x) => $x;
""",
    (
        ("#[Cached(5)]", "#[Cached(6)]"),
        ("$b = 2", "$b = 3"),
        ("$a  b", "$a b"),
        ("'x'", '"x"'),
        ("2): string", "2): int"),
    ),
    "App.TOP App.Outer App.Outer.LIMIT App.Outer.size App.Outer.run App.Tells App.Tells.tell App.Kind App.Kind.Small App.top "
    "App.closure",
)

TONGUES = (PYTHON, TYPESCRIPT, TSX, JAVASCRIPT, RUBY, PHP, *COMPILED)
