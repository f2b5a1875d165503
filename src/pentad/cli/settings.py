"""`pentad settings`: every setting with its value, where it comes from, and what it does."""

from typing import TYPE_CHECKING

import click

from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table

if TYPE_CHECKING:
    from pentad.terminal.client import Target


@click.command()
@click.argument("prefix", default="")
@click.option("--changed", is_flag=True, help="Only settings that differ from the default.")
@json_option
@server_options()
def settings(prefix: str, changed: bool, as_json: bool, target: "Target") -> None:
    """List the settings: value, source, description.

    PREFIX limits the list to paths that begin with it, e.g. limits. Secrets are masked.
    """
    found = target.call_route("GET", "/api/admin/settings")["settings"]
    rows = [row for row in found if row["path"].startswith(prefix) and not (changed and row["source"] == "default")]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("setting", "value", "source", "description"),
        [(row["path"], row["value"], f"{row['source']} {row['place']}".rstrip(), row["about"]) for row in rows],
        empty="No setting begins with that." if not changed else "All settings have their defaults.",
    )
