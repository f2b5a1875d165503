"""A command group that knows its verbs by declaration and imports a verb only when it runs."""

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from pentad.entry_points import load
from pentad.kernel.names import did_you_mean
from pentad.terminal.verbs import Verb, Verbs


class LazyGroup(click.Group):
    """A group made of the core's verbs and of those that rooms declare. Rooms are looked for only when a word is not
    one of the core's, or when all verbs are listed."""

    def __init__(self, *args: Any, verbs: Verbs, room_verbs: Callable[[], Verbs], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.core = verbs
        self.room_verbs = room_verbs

    def find(self, name: str) -> Verb | None:
        """The verb a word calls."""
        return self.core.get(name) or self.room_verbs().get(name)

    def listed(self) -> dict[str, Verb]:
        """Every verb that the help shows."""
        verbs = {**self.room_verbs(), **self.core}
        ordered = {**self.core, **verbs}
        return {name: verb for name, verb in ordered.items() if verb.listed}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.listed())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = self.find(cmd_name)
        if verb is None:
            return None
        command = load(verb.target)
        if not isinstance(command, click.Command):
            raise TypeError(f"{verb.target} is not a command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.find(args[0]) is None:
            listed = self.listed()
            meant = did_you_mean(args[0], listed) or f"The commands are {', '.join(listed)}."
            raise click.UsageError(f"There is no command {args[0]!r}. {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in self.listed().items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The declared verbs, then what any command completes: its options."""
        verbs = [
            CompletionItem(name, help=verb.help) for name, verb in self.listed().items() if name.startswith(incomplete)
        ]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]
