"""`pentad registers`: list registers, change schemas, import and export objects, locally or with --url on a server."""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, cast

import click

from pentad.kernel.counts import counted
from pentad.rooms.registers.interface.cli.deleted_objects import list_deleted, purge_objects, restore_objects
from pentad.rooms.registers.interface.cli.options import call_tool
from pentad.rooms.registers.interface.cli.organisations import organisations
from pentad.rooms.registers.interface.cli.schemas import schemas
from pentad.rooms.registers.interface.cli.transfer import export_file, import_file, undo_import
from pentad.rooms.registers.interface.cli.views import views
from pentad.rooms.registers.verbs import FIRST_CONTENT
from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say, visible

if TYPE_CHECKING:
    from pentad.terminal.client import Client, Target


@click.group()
def registers() -> None:
    """List registers; change schemas; import and export objects; save and run views."""


for verb in (
    import_file, undo_import, export_file, list_deleted, restore_objects, purge_objects, schemas, views, organisations,
):  # fmt: skip
    registers.add_command(verb)


@registers.command("list")
@json_option
@server_options()
def list_registers(as_json: bool, target: "Target") -> None:
    """List registers, their schemas and how many objects each has."""
    rows = target.run(_list_rows, "registers")
    if as_json:
        print_json(rows)
    else:
        print_table(
            ("register", "title", "schema", "objects"),
            [(row["register"], row["title"], row["schema"] or "", row["objects"]) for row in rows],
            empty=f"There are no registers; `{FIRST_CONTENT}` makes one.",
        )


async def _list_rows(client: "Client") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    async for register in _all_registers(client):
        known = {"register": register["slug"], "title": register["title"]}
        for schema in register.get("schemas") or (None,):
            rows.append({**known, "schema": None, "objects": 0})
            if schema is not None:
                named = await client.call_tool("schemas", {"action": "get", "id": schema, "fields": ["slug"]})
                place = {"register": register["id"], "schema": schema}
                found = await client.call_tool("objects", {"action": "list", **place, "limit": 0})
                rows[-1].update(schema=named["slug"], objects=found["total"])
    return rows


async def _all_registers(client: "Client") -> AsyncGenerator[dict[str, Any]]:
    arguments: dict[str, Any] = {"action": "list", "fields": ["slug", "title", "schemas"], "offset": 0}
    while arguments["offset"] is not None:
        page = await client.call_tool("registers", arguments)
        for register in page["results"]:
            yield register
        arguments["offset"] = page.get("next_offset")


@registers.command("describe")
@click.argument("register", metavar="REF")
@click.option("--max-tokens", type=click.IntRange(min=60), help="The size of the answer (default 2000).")
@json_option
@server_options()
def describe(register: str, max_tokens: int | None, as_json: bool, target: "Target") -> None:
    """Describe a register: its schemas, their properties, relations and counts."""
    found = call_tool(target, "registers", {"action": "describe", "id": register, "max_tokens": max_tokens})
    if as_json:
        print_json(found)
        return
    for schema in found["schemas"]:
        click.echo(visible(f"{schema['slug']}: {schema['title']}, {counted(schema['objects'], 'object')}"))
        properties: Any = schema["properties"]  # if the budget is small, only names are left
        rows = [(name, _details(properties, name)) for name in cast("list[str]", properties)]
        rows += [(f"-> {name}", text) for name, text in schema.get("relations", {}).items()]
        print_table(("name", "is"), rows, empty="It has no properties.")
    if "cut" in found:
        say(f"Shortened to fit {found['cut']['max_tokens']} tokens; --max-tokens shows more.")


def _details(properties: Any, name: str) -> str:
    """A property in a few words; empty if only names are known."""
    if not isinstance(properties, dict):
        return ""
    one = cast("dict[str, dict[str, Any]]", properties)[name]
    kind = one.get("type") or "any"
    kinds = [kind] if isinstance(kind, str) else cast("list[str]", kind)
    words = [" or ".join(kinds)]
    if "reference" in one:
        words = [f"{'references' if 'array' in kinds else 'reference'} to {one['reference']}"]
    words += [name for name in ("required", "unique", "computed") if one.get(name)]
    if "enum" in one:
        words.append("one of " + ", ".join(map(str, one["enum"])))
    return ", ".join(words)


@registers.command("delete")
@click.argument("register", metavar="REF")
@click.option("--confirm", metavar="TOKEN", help="The token that the first run shows if there are deleted objects.")
@server_options()
def delete_register(register: str, confirm: str | None, target: "Target") -> None:
    """Delete the register REF (id, uuid or slug) if it has no objects; deleted ones are purged with it."""
    call_tool(target, "registers", {"action": "delete", "id": register, "confirm": confirm})
    say(f"The register {register} is deleted.")
