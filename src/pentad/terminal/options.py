"""Options that several verbs share.

A verb names the settings that may be given as flags and receives the whole `Settings`. Importing this module must stay
cheap for `--help`: settings are read when a verb runs.
"""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.terminal.output import warn

if TYPE_CHECKING:
    from pentad.settings.model import Settings
    from pentad.terminal.running_servers import RunningStores

Verb = Callable[..., Any]
Decorator = Callable[[Verb], Verb]

_OPTIONS: Final[dict[str, Decorator]] = {
    "host": click.option("--host", help="The address to listen on.  [default: 127.0.0.1]"),
    "port": click.option("--port", type=int, help="The HTTP port; 0 picks a free one.  [default: 8700]"),
    "grpc_port": click.option("--grpc-port", type=int, help="The gRPC port; 0 switches it off.  [default: 8888]"),
    "data": click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        help="Pentad's data folder.",
    ),
    "database": click.option(
        "--database",
        metavar="URL",
        help="A postgresql:// address instead of SQLite; PENTAD_DATABASE keeps it out of the process list.",
    ),
    "auth": click.option(
        "--auth",
        type=click.Choice(["required", "none"]),
        help="Whether callers must log in; none works only on this machine.  [default: required]",
    ),
    "workers": click.option("--workers", type=int, metavar="N", help="Number of server processes.  [default: 1]"),
    "rooms": click.option(
        "--rooms", metavar="A,B,...", help="Rooms to open, by name or as my.module:ROOM; all by default."
    ),
    "agent": click.option(
        "--agent",
        multiple=True,
        metavar="AGENT",
        help="An agent to host: my.module:Agent, a card's URL, a registered id, or command: ...; may be repeated.",
    ),
}
_CONFIG: Final = click.option(
    "--config", type=click.Path(dir_okay=False, path_type=Path), help="The configuration file (TOML)."
)

json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
profile_option: Final = click.option(
    "--profile", metavar="NAME", help="A selection of tools: core, full, read-only, or one of your settings."
)


def settings_options(*names: str, logs_warnings: bool = False, running: "RunningStores" = "use") -> Decorator:
    """Give a verb the options for these settings and `--config`; it receives all settings as `settings`.

    Verbs that run a server log the warnings themselves; others print them. Without `--data`, a verb uses the store of a
    running server, unless `running` says otherwise.
    """

    def decorate(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def run(*args: Any, config: Path | None, **given: Any) -> Any:
            flags = {name: _given(given.pop(name)) for name in names}
            use = running if given.get("server") is None else "ignore"
            settings = read_settings(config, prints_warnings=not logs_warnings, running=use, **flags)
            return verb(*args, settings=settings, **given)

        decorated: Verb = _CONFIG(run)
        for name in reversed(names):
            decorated = _OPTIONS[name](decorated)
        return decorated

    return decorate


store_options: Final = settings_options("data", "database")
"""For every verb that touches the store."""


def read_settings(
    config: Path | None = None, *, prints_warnings: bool = True, running: "RunningStores" = "ignore", **flags: Any
) -> "Settings":
    """Load the settings with these flags; None means not given."""
    from pentad.settings.sources import load_settings
    from pentad.terminal.running_servers import find_store

    settings, _ = find_store(load_settings(flags, config=config), running, flags=flags, config=config)
    for warning in settings.warnings if prints_warnings else ():
        warn(warning)
    if any(":" in name for name in (*settings.rooms, *settings.agent)):
        # A user's own room or agent may be in the current folder.
        sys.path.insert(0, str(Path.cwd()))
    return settings


def _given(value: Any) -> Any:
    """None for a repeatable option that was not given: an empty list would override the file."""
    return None if value == () else value
