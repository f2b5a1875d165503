"""A command group that knows its verbs by a table and imports a verb only when it runs.

`pentad --help`, `--version` and shell completion answer from the table alone: importing every verb's module would cost
more than all three together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from pentad.kernel.names import did_you_mean


@dataclass(frozen=True, slots=True)
class Verb:
    """Where a command lives (`module:attribute`) and its line in the help, if it is listed there.

    One that is not listed stands for a name that others' documents use.
    """

    target: str
    help: str
    listed: bool = True


class LazyGroup(click.Group):
    """A group made of a table of verbs."""

    def __init__(self, *args: Any, verbs: Mapping[str, Verb], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.verbs = dict(verbs)
        self.listed = {name: verb for name, verb in verbs.items() if verb.listed}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.listed)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = self.verbs.get(cmd_name)
        if verb is None:
            return None
        module, _, attribute = verb.target.partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{verb.target} is not a command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.verbs and not args[0].startswith("-"):
            meant = did_you_mean(args[0], self.listed) or f"The commands are {', '.join(self.listed)}."
            raise click.UsageError(f"There is no command {args[0]!r}. {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in self.listed.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The verbs from the table, then what any command completes: its options."""
        verbs = [
            CompletionItem(name, help=verb.help) for name, verb in self.listed.items() if name.startswith(incomplete)
        ]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]
