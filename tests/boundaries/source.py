"""Reads the project's own source: every module of the packages with its name, text and syntax tree."""

import ast
import functools
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"memd_client": ROOT / "client", "memd_hooks": ROOT / "hooks", "memd_daemon": ROOT / "daemon"}


@dataclass(frozen=True)
class Module:
    """One module: its dotted name, its file's text, whether it is a package's __init__."""

    name: str
    text: str
    is_package: bool = False

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    def is_under(self, *prefixes: str) -> bool:
        return any(self.name == prefix or self.name.startswith(f"{prefix}.") for prefix in prefixes)


@functools.cache
def modules() -> tuple[Module, ...]:
    """Every module of the three packages."""
    found = []
    for package, folder in PACKAGES.items():
        for file in sorted((folder / package).rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            found.append(Module(name, file.read_text(encoding="utf-8"), is_package))
    return tuple(found)


def imports(module: Module) -> Iterator[str]:
    """Every dotted name that the module imports anywhere in its text, relative ones resolved.

    `from a import b` gives `a` and `a.b`, since b may be a module.
    """
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.name.split(".")
                parts = parts[: len(parts) - node.level + module.is_package]
                base = ".".join([*parts, *([base] if base else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def comments(text: str) -> dict[int, str]:
    """Line number -> the comment on that line, without its mark."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
