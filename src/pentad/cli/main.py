"""The command `pentad`: the table of verbs, and the one place where an error becomes text and an exit code.

A room adds its verbs with one line in VERBS and a module of its own; nothing here imports them before they run.
"""

import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from pentad import __version__
from pentad.cli.lazy import LazyGroup, Verb
from pentad.cli.output import EXIT_CODES, ExitCode, exit_code, print_error
from pentad.kernel.errors import PentadError

VERBS: Final = {
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
    "directory": Verb("pentad.cli.directory:directory", "Validate, push, find, translate and sign agent records."),
    "avatars": Verb(
        "pentad.cli.avatars:avatars", "Ingest documents, ask avatars, examine them, publish them, serve one."
    ),
    "agents": Verb("pentad.cli.agents:agents", "Find agents, hand them tasks, follow and cancel tasks."),
    "registers": Verb("pentad.cli.registers:registers", "List registers; import and export objects."),
    "metrics": Verb(
        "pentad.cli.metrics:metrics", "Figures by collector and by key, their history, charts and exports."
    ),
    "@avatar-sdk/mcp-server": Verb(
        "pentad.cli.avatars:serve",
        "Serve one avatar over stdin and stdout, under the name and version its config.json gives it.",
        listed=False,
    ),
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


@click.group(cls=LazyGroup, verbs=VERBS, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pentad", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an unexpected error.")
def cli() -> None:
    """Directory, registers, agents, avatars and metrics for a team's AI agents, behind one MCP server."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code. Every error ends here, as a sentence on stderr."""
    try:
        result = cli.main(list(arguments), prog_name="pentad", standalone_mode=False)
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
