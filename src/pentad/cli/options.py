"""Options several verbs share, so that a flag is spelt, explained and checked once.

Importing this module must stay as cheap as `--help`: settings are read when a verb runs.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pentad.cli.output import warn

if TYPE_CHECKING:
    from pentad.settings import Settings

C = TypeVar("C", bound=Callable[..., Any])

data_option: Final = click.option(
    "--data", type=click.Path(file_okay=False, path_type=Path), help="The folder that holds everything Pentad keeps."
)
database_option: Final = click.option(
    "--database",
    metavar="URL",
    help="A postgresql:// address instead of SQLite; PENTAD_DATABASE keeps it out of the process list.",
)
config_option: Final = click.option(
    "--config", type=click.Path(dir_okay=False, path_type=Path), help="The configuration file (TOML)."
)
rooms_option: Final = click.option(
    "--rooms", metavar="A,B,...", help="Rooms to open, by name or as my.module:ROOM; all by default."
)
json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def store_options(command: C) -> C:
    """`--data`, `--database` and `--config`, for every verb that touches the store."""
    return data_option(database_option(config_option(command)))


def read_settings(config: Path | None = None, **flags: Any) -> "Settings":
    """The settings under these flags (by path; None is not given); warnings are told on the way."""
    from pentad.settings_sources import load_settings

    settings = load_settings(flags, config=config)
    for warning in settings.warnings:
        warn(warning)
    return settings
