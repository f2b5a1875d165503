"""The command `pentad`: the core's verbs, and the one place where an error becomes text and an exit code.

Rooms declare their verbs themselves (`Room.cli`). No verb is imported before it runs.
"""

import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from pentad import __version__
from pentad.cli.launch import LAUNCHER
from pentad.cli.lazy import LazyGroup
from pentad.entry_points import entry_points, load
from pentad.kernel.errors import PentadError
from pentad.terminal.output import EXIT_CODES, ExitCode, exit_code, print_error, warn
from pentad.terminal.verbs import Verb, Verbs

VERBS: Final[Verbs] = {
    "demo": Verb("pentad.cli.demo:demo", "Start everything with demo data on this machine."),
    "serve": Verb("pentad.cli.serve:serve", "Serve all rooms over HTTP."),
    "mcp": Verb("pentad.cli.mcp:mcp", "Serve MCP over stdio."),
    "list": Verb("pentad.cli.listing:listing", "List tools, resources or prompts."),
    "call": Verb("pentad.cli.call:call", "Call a tool, in process or on a server."),
    "install": Verb("pentad.cli.install:install", "Add Pentad to an MCP client's configuration."),
    "doctor": Verb("pentad.cli.doctor:doctor", "Check this machine, the store and the configuration."),
    "users": Verb("pentad.cli.users:users", "Add, list and remove users; set passwords."),
    "keys": Verb("pentad.cli.keys:keys", "Create, list and revoke API keys."),
    "backup": Verb("pentad.cli.backup:backup", "Copy the store to FILE while it is in use."),
    "restore": Verb("pentad.cli.backup:restore", "Replace the store by the backup FILE, once it is checked."),
    "migrate": Verb("pentad.cli.migrate:migrate", "Bring the store's tables up to date, or show what that would do."),
    "models": Verb("pentad.cli.models:models", "Fetch the embedding model; list what is here."),
}

EPILOG: Final = "\n".join(
    [
        "\b",
        "Exit codes:",
        *(f"  {code.value:>3}  {meaning}" for code, meaning in EXIT_CODES.items()),
        "",
        "\b",
        "Completion:",
        '  bash  eval "$(_PENTAD_COMPLETE=bash_source pentad)"',
        '  zsh   eval "$(_PENTAD_COMPLETE=zsh_source pentad)"',
        "  fish  _PENTAD_COMPLETE=fish_source pentad | source",
    ]
)


def room_verbs() -> dict[str, Verb]:
    """The verbs of every installed room; a room that declares none for the help is asked itself."""
    declared = entry_points("pentad.cli")
    found: dict[str, Verb] = {}
    for room in dict.fromkeys((*declared, *entry_points("pentad.rooms"))):
        try:
            found |= load(declared[room]) if room in declared else _verbs_of(room)
        except Exception as error:  # noqa: BLE001  one broken package must not take the others' verbs away
            warn(f"The verbs of the room {room!r} cannot be loaded: {error}")
    return found


def _verbs_of(room: str) -> Verbs:
    from pentad.rooms.finder import find_room

    return find_room(room).cli


@click.group(
    cls=LazyGroup,
    verbs=VERBS,
    room_verbs=room_verbs,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="pentad", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an unexpected error.")
def cli() -> None:
    """Directory, registers, agents, avatars and metrics for a team's AI agents, behind one MCP server."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code. Every error ends here, as a sentence on stderr."""
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
    except Exception as error:  # noqa: BLE001  the last line of defence: people get a sentence, not a traceback
        return _unexpected(error, debug="--debug" in arguments)


def main() -> NoReturn:
    """Run the command line of this process and end it."""
    sys.exit(run(sys.argv[1:]))


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
        print_error(f"{type(error).__name__}: {error}", "That is a fault of Pentad; `pentad --debug ...` shows where.")
    return ExitCode.FAILED


if __name__ == "__main__":
    main()
