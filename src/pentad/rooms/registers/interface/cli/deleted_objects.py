"""List, restore and purge deleted objects."""

from typing import TYPE_CHECKING, Any

import click

from pentad.kernel.counts import counted
from pentad.rooms.registers.interface.cli.options import call_tool, parse_filter, register_option, schema_option
from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_json, print_table, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target


@click.command("deleted")
@register_option
@schema_option
@click.option("--filter", "filters", metavar="JSON", help='Which deleted objects: {"status": "old"}.  [default: all]')
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--cursor", help="The cursor of the last page.")
@json_option
@server_options()
def list_deleted(
    register: str, schema: str, filters: str | None, limit: int, cursor: str | None, as_json: bool, target: "Target"
) -> None:
    """List deleted objects that can still be restored."""
    arguments = {"action": "list", "register": register, "schema": schema, "deleted": "only", "limit": limit}
    found = call_tool(target, "objects", {**arguments, "filter": parse_filter(filters), "cursor": cursor})
    if as_json:
        print_json(found)
        return
    about: list[dict[str, Any]] = [row["@self"] for row in found["results"]]
    print_table(
        ("id", "name", "deleted", "by"),
        [(one["id"], one.get("name"), one["deleted"]["deletedAt"], one["deleted"]["deletedBy"]) for one in about],
        empty="There are no deleted objects.",
    )
    if "cursor" in found:
        say(f"{len(about):,} of {found['total']:,}. There is more: --cursor {found['cursor']}")


@click.command("restore")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@register_option
@schema_option
@click.option("--filter", "filters", metavar="JSON", help="Those that a filter finds; '{}' finds all.")
@json_option
@server_options()
def restore_objects(
    ids: tuple[str, ...], register: str, schema: str, filters: str | None, as_json: bool, target: "Target"
) -> int:
    """Restore deleted objects: those named by uuid, slug or unique value, or those that --filter finds."""
    chosen = parse_filter(filters)
    if bool(ids) == (chosen is not None):
        raise click.UsageError("Name the objects to restore, or give --filter; --filter '{}' restores all.")
    arguments = {"action": "restore", "register": register, "schema": schema}
    if ids:
        answers = [call_tool(target, "objects", {**arguments, "id": one}) for one in ids]
        answer: dict[str, Any] = {"results": answers, "restored": len(answers)}
    else:
        answer = call_tool(target, "objects", {**arguments, "filter": chosen})
    failed = [row for row in answer["results"] if row.get("status") == "failed"]
    if as_json:
        print_json(answer)
    else:
        if failed:
            print_table(("id", "problem"), [(row["id"], row["error"]["message"]) for row in failed], empty="")
        say(f"{counted(answer.get('restored', 0), 'object was', 'objects were')} restored.")
    return ExitCode.FAILED if failed else ExitCode.OK


@click.command("purge")
@register_option
@schema_option
@click.option("--filter", "filters", metavar="JSON", help='Which deleted objects: {"status": "old"}.  [default: all]')
@click.option("--confirm", metavar="TOKEN", help="The token that the first run shows.")
@json_option
@server_options()
def purge_objects(
    register: str, schema: str, filters: str | None, confirm: str | None, as_json: bool, target: "Target"
) -> None:  # fmt: skip
    """Erase deleted objects for good. The first run says how many there are and gives the token for --confirm."""
    arguments = {"action": "purge", "register": register, "schema": schema, "confirm": confirm}
    answer = call_tool(target, "objects", {**arguments, "filter": parse_filter(filters)})
    if as_json:
        print_json(answer)
    else:
        say(f"{counted(answer['purged'], 'deleted object was', 'deleted objects were')} purged.")
