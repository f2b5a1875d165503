"""`pentad directory state`: propose, approve, deprecate and withdraw records, in the store or with --url."""

from typing import TYPE_CHECKING, Any

import click

from pentad.rooms.directory.models import STATES
from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, print_text, say, warn

if TYPE_CHECKING:
    from pentad.terminal.client import Target


@click.group()
def state() -> None:
    """Show and change the states of records. MCP hosts get only approved ones."""


@state.command("list")
@click.argument("name", metavar="STATE", type=click.Choice(STATES), default="proposed")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Maximum number of records.")
@json_option
@server_options()
def list_states(name: str, limit: int, as_json: bool, target: "Target") -> None:
    """List the records in STATE, by default those that wait for approval."""
    found = target.call_tool("directory_states", {"state": name, "limit": limit}, "directory")
    if as_json:
        print_json(found)
        return
    rows = [[one["name"], one["version"], one["pushed_by"], one["pushed_at"], one["cid"]] for one in found["records"]]
    print_table(["name", "version", "pushed by", "pushed", "cid"], rows, empty=f"No record is {name}.")
    if found.get("next_cursor"):
        say(f"There are more than {limit}.")


@state.command("show")
@click.argument("record")
@json_option
@server_options()
def show_state(record: str, as_json: bool, target: "Target") -> None:
    """Show the state of RECORD (a CID or name:version), and who changed it and why."""
    (found,) = target.call_tool("directory_states", {"reference": record}, "directory")["records"]
    if as_json:
        print_json(found)
        return
    first = found["history"][0]["old_state"] if found["history"] else found["state"]
    print_text(f"{found['name']} {found['version']} is {found['state']}.")
    _say_quarantine(found)
    print_table(
        ["when", "who", "state", "why"],
        [[found["pushed_at"], found["pushed_by"], first, "pushed"], *map(_change_row, found["history"])],
        empty="",
    )


def _change_row(change: dict[str, Any]) -> list[str]:
    return [change["changed_at"], change["changed_by"], change["new_state"], change["reason"]]


@state.command("set")
@click.argument("record")
@click.argument("name", metavar="STATE", type=click.Choice(STATES))
@click.option("--reason", default="", help="The reason. Hosts show it for a deprecated server.")
@json_option
@server_options()
def set_state(record: str, name: str, reason: str, as_json: bool, target: "Target") -> None:
    """Make RECORD (a CID or name:version) a draft, proposed, approved, deprecated or withdrawn."""
    given = {"reference": record, "state": name, "reason": reason}
    found = target.call_tool("directory_set_state", given, "directory")
    if as_json:
        print_json(found)
        return
    say(f"{found['name']} {found['version']} is now {name}.")
    _say_quarantine(found)


def _say_quarantine(found: dict[str, Any]) -> None:
    if found.get("quarantined"):
        warn(f"It is in quarantine, and hosts do not see it: {found['quarantined']}.")
