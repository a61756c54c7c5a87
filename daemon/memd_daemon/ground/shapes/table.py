"""How the trees of each grammar are read: one table a language."""

from collections.abc import Mapping
from typing import Final

from memd_daemon.ground.shapes.c import CPP, C
from memd_daemon.ground.shapes.csharp import CSHARP
from memd_daemon.ground.shapes.go import GO
from memd_daemon.ground.shapes.java import JAVA
from memd_daemon.ground.shapes.javascript import JAVASCRIPT, TYPESCRIPT
from memd_daemon.ground.shapes.php import PHP
from memd_daemon.ground.shapes.python import PYTHON
from memd_daemon.ground.shapes.ruby import RUBY
from memd_daemon.ground.shapes.rust import RUST
from memd_daemon.ground.shapes.shape import Shape

SHAPES: Final[Mapping[str, Shape]] = {
    "python": PYTHON,
    "typescript": TYPESCRIPT,
    "tsx": TYPESCRIPT,
    "javascript": JAVASCRIPT,
    "go": GO,
    "rust": RUST,
    "java": JAVA,
    "c": C,
    "cpp": CPP,
    "csharp": CSHARP,
    "ruby": RUBY,
    "php": PHP,
}
