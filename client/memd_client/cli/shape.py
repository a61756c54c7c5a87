"""What every command has in common: `--json`, `-h`, and being imported only when it is called."""

import difflib
import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

HELP = {"help_option_names": ["-h", "--help"]}


class LazyGroup(click.Group):
    """A group whose commands are named with their place (``module:attribute``) and a line for `--help`.

    ``sections`` has the headings of that, by the command that each stands before; without any there is one.
    A command whose module is not there does not exist.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, tuple[str, str]], sections: Mapping[str, str] | None = None, **attrs: Any
    ) -> None:
        super().__init__(*args, context_settings=HELP, **attrs)
        self._lazy = lazy
        self._sections = sections or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Alone, the group's name asks for its help; that is no mistake."""
        if not args:
            click.echo(self.get_help(ctx))
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, or a usage error that names the one that was probably meant."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            meant = f" Did you mean `{near[0]}`?" if near else ""
            ctx.fail(f"No such command '{name}'.{meant}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table, which is that of a person's first hour."""
        return [name for name, (place, _) in self._lazy.items() if _exists(place)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place, _ = self._lazy.get(cmd_name, ("", ""))
        if not place or not _exists(place):
            return None
        module, _, attribute = place.partition(":")
        found = getattr(importlib.import_module(module), attribute)
        return found if isinstance(found, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: list[tuple[str, list[tuple[str, str]]]] = []
        for name in self.list_commands(ctx):
            if name in self._sections or not sections:
                sections.append((self._sections.get(name, "Commands"), []))
            sections[-1][1].append((name, self._lazy[name][1]))
        column = max(len(name) for name in self._lazy)  # one column of names for all of them
        for heading, rows in sections:
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(column), line) for name, line in rows])


def _exists(place: str) -> bool:
    return importlib.util.find_spec(place.partition(":")[0]) is not None


def command(name: str | None = None, **attrs: Any) -> Callable[[Callable[..., int | None]], click.Command]:
    """A command with `--json`. The function gets ``as_json`` and gives its exit code, None for 0."""

    def made(function: Callable[..., int | None]) -> click.Command:
        shaped = click.command(name, cls=click.Command, context_settings=HELP, **attrs)(function)
        shaped.params.append(
            click.Option(["--json", "as_json"], is_flag=True, help="One JSON document (docs/json.md).")
        )
        return shaped

    return made


def page(function: F) -> F:
    """`--limit` and `--all` of what lists."""
    with_all = click.option("--all", "all_", is_flag=True, help="All of them, not a page.")(function)
    return click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many.")(with_all)


def evidence_of(given: str) -> tuple[int, str]:
    """(turn, excerpt) of TURN:EXCERPT. Raises click.UsageError."""
    turn, colon, excerpt = given.partition(":")
    if not colon or not turn.strip().isdecimal():
        raise click.UsageError(f"evidence is TURN:EXCERPT, TURN a number that `memd turns` shows, not {given[:40]!r}")
    return int(turn), excerpt.strip()
