"""Shared by the `pentad registers` commands: options, calls of the room's tools, and opening the room locally."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.kernel.errors import NotFound, PentadError
from pentad.terminal.launcher import open_room

if TYPE_CHECKING:
    from pentad.rooms.registers.models import Caller
    from pentad.rooms.registers.service import Registers
    from pentad.settings.model import Settings
    from pentad.terminal.client import Target

WHAT_THERE_IS: Final = "`pentad registers list` shows the registers and their schemas."
"""The hint on the command line if a register, schema or object is missing."""
_FORMATS: Final = ("csv", "xlsx", "json", "jsonl")

register_option: Final = click.option(
    "--register", "-r", "register", required=True, metavar="REF", help="The register: id, uuid or slug."
)
schema_option: Final = click.option(
    "--schema", "-s", "schema", required=True, metavar="REF", help="The schema: id, uuid or slug."
)


def format_option(default: str) -> Any:
    """--format, with its default in words."""
    return click.option("--format", "kind", type=click.Choice(_FORMATS), help=f"By default {default}.")


def parse_json(text: str, option: str, example: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise click.BadParameter(f"is not JSON; write it as {example}.", param_hint=option) from None


def parse_filter(text: str | None) -> Any:
    """The filter of --filter; None if it was not given."""
    return None if text is None else parse_json(text, "--filter", '{"property": value}')


def call_tool(target: "Target", name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call one of the room's tools. Hints in errors are worded for the command line."""
    try:
        return target.call_tool(name, arguments, "registers")
    except PentadError as error:
        if (token := error.details.get("confirm")) is not None:
            error.hint = f"To go ahead, repeat the command with --confirm {token}."
        elif "next_step" in error.details:
            error.hint = WHAT_THERE_IS
        raise


@asynccontextmanager
async def open_locally(settings: "Settings", *, beside_all: bool = False) -> "AsyncGenerator[tuple[Registers, Caller]]":
    """Open the room with the local user as caller; with `beside_all` the other rooms too: data may refer to them."""
    from pentad.kernel.principal import LOCAL
    from pentad.rooms.registers.models import Caller
    from pentad.rooms.registers.not_found import EntityNotFound

    async with open_room(settings, "registers", beside_all=beside_all) as room:
        try:
            yield room, Caller(LOCAL, agent="pentad registers")
        except EntityNotFound as error:
            raise NotFound(error.message, hint=WHAT_THERE_IS, details=error.details) from None
