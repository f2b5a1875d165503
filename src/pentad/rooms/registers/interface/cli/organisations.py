"""Manage organisations and their members, in the local store or over HTTP on a server."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click

from pentad.rooms.registers.interface.cli.options import open_locally
from pentad.terminal.client import error_from_answer, parse_answer, server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.rooms.registers.models import Caller
    from pentad.rooms.registers.service import Registers
    from pentad.terminal.client import Client, Target

_FIRST_ERROR: Final = 400


@click.group()
def organisations() -> None:
    """List organisations; create and delete them; move users in and out."""


@organisations.command("list")
@json_option
@server_options()
def list_organisations(as_json: bool, target: "Target") -> None:
    """List the organisations."""

    async def listed(room: "Registers", caller: "Caller") -> dict[str, Any]:
        return {"results": [one.wire() for one in await room.organisations.list(caller)]}

    rows: list[dict[str, Any]] = _organisations(target, "GET", "", listed)["results"]
    if as_json:
        print_json(rows)
    else:
        columns = ("slug", "title", "created")
        print_table(columns, [[row[name] for name in columns] for row in rows], empty="There are no organisations.")


@organisations.command()
@click.argument("slug")
@click.option("--title", default="", help="Its name for people; by default SLUG.")
@server_options()
def create(slug: str, title: str, target: "Target") -> None:
    """Create an organisation."""
    body = {"slug": slug, "title": title or slug}
    _organisations(target, "POST", "", lambda room, caller: room.organisations.create(caller, slug, title), body)
    say(f"Created {slug}.")


@organisations.command()
@click.argument("slug")
@server_options()
def delete(slug: str, target: "Target") -> None:
    """Delete an organisation that owns nothing."""
    path = f"/{quote(slug, safe='')}"
    _organisations(target, "DELETE", path, lambda room, caller: room.organisations.delete(caller, slug))
    say(f"Deleted {slug}.")


@organisations.command()
@click.argument("slug")
@json_option
@server_options()
def members(slug: str, as_json: bool, target: "Target") -> None:
    """List the members of an organisation."""
    path = f"/{quote(slug, safe='')}/members"

    async def listed(room: "Registers", caller: "Caller") -> dict[str, Any]:
        return {"results": await room.organisations.members(caller, slug)}

    rows: list[str] = _organisations(target, "GET", path, listed)["results"]
    if as_json:
        print_json(rows)
    else:
        print_table(("principal",), [(row,) for row in rows], empty="It has no members.")


@organisations.command()
@click.argument("slug")
@click.argument("principal")
@server_options()
def add(slug: str, principal: str, target: "Target") -> None:
    """Move PRINCIPAL, such as user:ada, into an organisation."""
    path = f"/{quote(slug, safe='')}/members"
    body = {"principal": principal}
    _organisations(
        target, "POST", path, lambda room, caller: room.organisations.add_member(caller, slug, principal), body
    )
    say(f"{principal} is in {slug} now.")


@organisations.command()
@click.argument("slug")
@click.argument("principal")
@server_options()
def remove(slug: str, principal: str, target: "Target") -> None:
    """Move PRINCIPAL back to the default organisation."""
    path = f"/{quote(slug, safe='')}/members/{quote(principal, safe='')}"
    _organisations(
        target, "DELETE", path, lambda room, caller: room.organisations.remove_member(caller, slug, principal)
    )
    say(f"{principal} is no longer in {slug}.")


def _organisations(
    target: "Target",
    method: str,
    path: str,
    work: "Callable[[Registers, Caller], Awaitable[Any]]",
    body: dict[str, Any] | None = None,
) -> Any:
    """Run an operation on organisations, in the local store or through a route of the server."""

    async def local() -> Any:
        async with open_locally(target.settings) as (room, caller):
            return await work(room, caller)

    async def remote(client: "Client") -> Any:
        sent = None if body is None else json.dumps(body).encode()
        status, answer = await client.send_file(method, f"/api/organisations{path}", {}, sent, "application/json")
        parsed = parse_answer(status, answer) if answer else None
        if status >= _FIRST_ERROR:
            raise error_from_answer(status, parsed)
        return parsed

    return asyncio.run(local()) if target.server is None else target.run(remote)
