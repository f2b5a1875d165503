"""Options that several verbs of the room share."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

MOST_TOKENS: Final = 1_000_000
"""The token limit of verbs: a terminal needs none."""

F = TypeVar("F", bound=Callable[..., Any])


def where_options(command: F) -> F:
    """Options that select a part of a collector's data."""
    for option in (
        click.option("--region", "regions", multiple=True, help="Only this region; may be repeated."),
        click.option("--environment", "environments", multiple=True, help="Only this one, by name, id or type."),
        click.option("--bg", help="The business group: id, name or path."),
    ):
        command = option(command)
    return command
