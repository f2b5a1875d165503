"""Options that several verbs of `pentad registers` share, and the calls of the room's tools."""

import json
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.kernel.errors import PentadError

if TYPE_CHECKING:
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
    """--format, with what it is by default."""
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
    """The answer of one of the room's tools. The hint of an error is in the words of the command line."""
    try:
        return target.call_tool(name, arguments, "registers")
    except PentadError as error:
        if (token := error.details.get("confirm")) is not None:
            error.hint = f"To go ahead, repeat the command with --confirm {token}."
        elif "next_step" in error.details:
            error.hint = WHAT_THERE_IS
        raise
