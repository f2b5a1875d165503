"""The command `pentad`: the core's verbs, and the one place where an error becomes text and an exit code.

Rooms declare their own verbs (`Room.cli`). No verb, and nothing of the application, is imported before a verb runs.
"""

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click
from click.shell_completion import CompletionItem

from pentad import __version__
from pentad.cli.garbage_collection import collect_no_more, collect_rarely
from pentad.entry_points import entry_points, load
from pentad.kernel.errors import PentadError
from pentad.kernel.names import did_you_mean
from pentad.terminal.launcher import Launcher
from pentad.terminal.output import EXIT_CODES, ExitCode, exit_code, print_error, warn
from pentad.terminal.program import program, remember_program
from pentad.terminal.verbs import Verb, Verbs

if TYPE_CHECKING:
    from pentad.kernel.ports import Database
    from pentad.settings.model import Settings
    from pentad.terminal.launcher import Routes

VERBS: Final[Verbs] = {
    "demo": Verb("pentad.cli.demo:demo", "Start everything with demo data on this machine."),
    "serve": Verb("pentad.cli.serve:serve", "Serve all rooms over HTTP."),
    "mcp": Verb("pentad.cli.mcp:mcp", "Serve MCP over stdio."),
    "list": Verb("pentad.cli.list:listing", "List tools, resources or prompts."),
    "search": Verb("pentad.cli.search:search", "Search all rooms at once."),
    "call": Verb("pentad.cli.call:call", "Call a tool, in process or on a server."),
    "install": Verb("pentad.cli.install:install", "Add Pentad to an MCP client's configuration."),
    "doctor": Verb("pentad.cli.doctor:doctor", "Check this machine, the store and the configuration."),
    "users": Verb("pentad.cli.users:users", "Add, list, change and remove users; set passwords; make login links."),
    "keys": Verb("pentad.cli.keys:keys", "Create, list and revoke API keys."),
    "login": Verb("pentad.cli.login:login", "Log in at a server, for every verb with --url."),
    "logout": Verb("pentad.cli.login:logout", "Log out of a server, or of all of them."),
    "sessions": Verb("pentad.cli.sessions:sessions", "List browser sessions; log browsers out."),
    "clients": Verb("pentad.cli.sessions:clients", "List and remove OAuth clients."),
    "grants": Verb("pentad.cli.sessions:grants", "List and revoke users' grants to OAuth clients."),
    "audit": Verb("pentad.cli.audit:audit", "Read, follow, export and verify the audit trail."),
    "events": Verb("pentad.cli.events:events", "List events in all rooms, oldest first."),
    "rules": Verb("pentad.cli.rules:rules", "Manage event rules: what to do when something happens."),
    "trace": Verb("pentad.cli.trace:trace", "Show everything a request caused, in all rooms."),
    "settings": Verb("pentad.cli.settings:settings", "List the settings: value, source, description."),
    "jobs": Verb("pentad.cli.jobs:jobs", "List jobs; retry or forget dead letters."),
    "backup": Verb("pentad.cli.backup:backup", "Copy the store to FILE while it is in use."),
    "restore": Verb("pentad.cli.backup:restore", "Replace the store with the backup FILE, after checking it."),
    "migrate": Verb("pentad.cli.migrate:migrate", "Bring the store's tables up to date, or show what that would do."),
    "models": Verb("pentad.cli.models:models", "Fetch or list embedding models."),
}

EPILOG: Final = "\n".join(
    [
        "\b",
        "Exit codes:",
        *(f"  {code.value:>3}  {meaning}" for code, meaning in EXIT_CODES.items()),
        "",
        "\b",
        "Completion:",
        '  bash  eval "$(_PENTAD_COMPLETE=bash_source {program})"',
        '  zsh   eval "$(_PENTAD_COMPLETE=zsh_source {program})"',
        "  fish  _PENTAD_COMPLETE=fish_source {program} | source",
    ]
)


class LazyGroup(click.Group):
    """The verbs of the core and of rooms, each imported only when it runs.

    Rooms are looked up only for words that are not core verbs, and to list all verbs.
    """

    def __init__(self, *args: Any, verbs: Verbs, room_verbs: Callable[[], Verbs], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.core = verbs
        self.room_verbs = room_verbs

    def find(self, name: str) -> Verb | None:
        """The verb of that name."""
        return self.core.get(name) or self.room_verbs().get(name)

    def listed(self) -> dict[str, Verb]:
        """Every verb listed in the help."""
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

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.epilog = EPILOG.format(program=program())
        super().format_epilog(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The declared verbs, then the options of the group."""
        verbs = [
            CompletionItem(name, help=verb.help) for name, verb in self.listed().items() if name.startswith(incomplete)
        ]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]


@asynccontextmanager
async def _open_app(settings: "Settings") -> AsyncGenerator[Any]:
    from pentad.app import open_app
    from pentad.terminal.running_servers import makes_default_store, report_new_store

    is_new = makes_default_store(settings)
    async with open_app(settings) as app:
        if is_new:
            report_new_store(settings)
        yield app


@asynccontextmanager
async def _open_store(settings: "Settings") -> "AsyncGenerator[Database]":
    from pentad.app import CORE_SETS
    from pentad.cli.store import open_store
    from pentad.storage.migrations import apply

    async with open_store(settings) as database:
        await apply(database, CORE_SETS)
        yield database


@asynccontextmanager
async def _open_routes(settings: "Settings") -> "AsyncGenerator[Routes]":
    from pentad.cli.local_routes import open_routes

    async with open_routes(settings) as routes:
        yield routes


async def _serve_part(settings: "Settings", room: str, part_of: Callable[[Any], Awaitable[Any]]) -> None:
    from pentad.cli.mcp import serve_part

    await serve_part(settings, room, part_of)


LAUNCHER: Final = Launcher(_open_app, _open_store, _open_routes, _serve_part)
"""How the verbs of rooms open Pentad."""


def room_verbs() -> dict[str, Verb]:
    """The verbs of every installed room, from the entry-point group `pentad.cli` or from the room itself."""
    declared = entry_points("pentad.cli")
    found: dict[str, Verb] = {}
    for room in dict.fromkeys((*declared, *entry_points("pentad.rooms"))):
        try:
            found |= load(declared[room]) if room in declared else _verbs_of(room)
        except Exception as error:  # noqa: BLE001  one broken package must not hide the verbs of others
            warn(f"The verbs of the room {room!r} cannot be loaded: {error}")
    return found


def _verbs_of(room: str) -> Verbs:
    from pentad.rooms.finder import find_room

    return find_room(room).cli


@click.group(
    cls=LazyGroup,
    verbs=VERBS,
    room_verbs=room_verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="pentad", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an unexpected error.")
def cli() -> None:
    """Directory, registers, agents, avatars and metrics for a team's AI agents, behind one MCP server."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code. Every error ends here, as a sentence on stderr."""
    try:
        result = cli.main(list(arguments), prog_name="pentad", standalone_mode=False, obj=LAUNCHER)
        return result if isinstance(result, int) else ExitCode.OK
    except PentadError as error:
        print_error(error.message, error.hint)
        return exit_code(error)
    except click.ClickException as error:
        return _usage(error)
    except (click.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001  users get a sentence, not a traceback
        return _unexpected(error, debug="--debug" in arguments)


def main() -> NoReturn:
    """Run the command line of this process and end it."""
    collect_rarely()
    # gRPC's fork handlers print a line for every child process, and none of ours uses gRPC.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    remember_program(sys.argv[0])
    code = run(sys.argv[1:])
    collect_no_more()
    sys.exit(code)


def _usage(error: click.ClickException) -> ExitCode:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return ExitCode.USAGE
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "pentad"
        print_error(error.format_message(), f"Try `{command} --help`.")
        return ExitCode.USAGE
    print_error(error.format_message())
    return ExitCode.FAILED


def _unexpected(error: Exception, *, debug: bool) -> ExitCode:
    if debug:
        import traceback

        traceback.print_exc()
    else:
        print_error(f"{type(error).__name__}: {error}", "This is a bug in Pentad; `pentad --debug ...` shows where.")
    return ExitCode.FAILED


if __name__ == "__main__":
    main()
