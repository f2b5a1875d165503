"""Options and arguments that several verbs of `pentad registers` share."""

import json
from typing import Any, Final

import click

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
