"""`pentad search`: one search across all rooms, in this process or on a server."""

import asyncio
from typing import TYPE_CHECKING, Any

import click

from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_text, say, warn

if TYPE_CHECKING:
    from pentad.terminal.client import Target


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "kinds", multiple=True, help="Only this kind: record, object, passage, agent, task ...")
@click.option("--room", "rooms_asked", multiple=True, help="Only this room.")
@click.option("--owner", help="Only things owned by this principal, such as user:ada; me means you.")
@click.option("--since", help="Only things changed since this date or time.")
@click.option("--until", help="Only things changed until this date or time.")
@click.option("--limit", type=int, help="The most hits of each kind.  [default: 5]")
@json_option
@server_options("rooms")
def search(
    words: tuple[str, ...],
    kinds: tuple[str, ...],
    rooms_asked: tuple[str, ...],
    owner: str | None,
    since: str | None,
    until: str | None,
    limit: int | None,
    as_json: bool,
    target: "Target",
) -> None:
    """Search all rooms at once.

    Finds by words and meaning, best match first.
    """
    given = {
        "kinds": list(kinds), "rooms": list(rooms_asked), "owner": owner, "since": since, "until": until,
        "limit": limit,
    }  # fmt: skip
    found = asyncio.run(_search(target, {"query": " ".join(words), **{key: one for key, one in given.items() if one}}))
    if as_json:
        print_json(found)
        return
    for gap in (*found.get("incomplete", ()), *found.get("left_out", ())):
        warn(f"The {gap['kind']}s are missing. {gap['reason']}")
    hits = sorted(((group, hit) for group in found["groups"] for hit in group["hits"]), key=lambda one: one[1]["rank"])
    if found.get("no_good_match"):
        say("No good match." if not hits else "No good match. The nearest:")
    for group, hit in hits:
        print_text(f"{hit['score']:.2f}  {group['kind']}  {hit['title']}\n      {hit['uri']}\n      {hit['snippet']}")


async def _search(target: "Target", arguments: dict[str, Any]) -> dict[str, Any]:
    async with target.open() as client:
        return await client.call_tool("search", arguments)
