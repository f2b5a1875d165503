"""`pentad events`: the event feed of all rooms."""

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, print_text, say

if TYPE_CHECKING:
    from pentad.terminal.client import Client, Target

_FEED: Final = "pentad://events"
_POLL_SECONDS: Final = 1.0


@click.command()
@click.option("--room", help="Only events of this room.")
@click.option(
    "--kind", help="Only events of this kind, e.g. object.created, or object.* for all kinds with that prefix."
)
@click.option(
    "--cursor", default="start", show_default=True, help="Begin after this cursor; now for future events only."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=100,
    show_default=True,
    help="Stop after this many events; the last page may exceed it slightly.",
)
@click.option("--follow", "-f", is_flag=True, help="Keep printing new events as they happen.")
@json_option
@server_options("rooms")
def events(
    room: str | None, kind: str | None, cursor: str, limit: int, follow: bool, as_json: bool, target: "Target"
) -> None:
    """List events in all rooms, oldest first.

    You see events about your own tasks, objects you can read, and anything open to everyone in a room.
    """
    wanted = _Wanted(room, kind)
    if follow:
        asyncio.run(_follow(target, wanted, cursor, as_json))
        return
    found, following = target.run(lambda client: _read(client, wanted, cursor, limit))
    if as_json:
        print_json({"events": found, "cursor": following})
        return
    print_table(("time", "what", "who", "subject"), [_row(one) for one in found], empty="There are no events.")
    say(f"Continue with --cursor {following}")


class _Wanted:
    def __init__(self, room: str | None, kind: str | None) -> None:
        self._room = room
        self._kind = kind

    def fits(self, event: dict[str, Any]) -> bool:
        room, _, kind = event["type"].partition(".")
        if self._room is not None and room != self._room:
            return False
        if self._kind is None:
            return True
        if self._kind.endswith("*"):
            return any(name.startswith(self._kind[:-1]) for name in (kind, event["type"]))
        return self._kind in (kind, event["type"])


async def _read(client: "Client", wanted: _Wanted, cursor: str, limit: int) -> tuple[list[dict[str, Any]], str]:
    found: list[dict[str, Any]] = []
    while True:
        page = await _page(client, cursor)
        cursor = page["cursor"]
        found += [one for one in page["events"] if wanted.fits(one)]
        if not page["has_more"] or len(found) >= limit:
            return found, cursor


async def _follow(target: "Target", wanted: _Wanted, cursor: str, as_json: bool) -> None:
    async with target.open() as client:
        while True:
            page = await _page(client, cursor)
            cursor = page["cursor"]
            for one in page["events"]:
                if wanted.fits(one):
                    print_text(json.dumps(one) if as_json else "  ".join(cell for cell in _row(one) if cell))
            sys.stdout.flush()
            if not page["has_more"]:
                await asyncio.sleep(_POLL_SECONDS)


async def _page(client: "Client", cursor: str) -> dict[str, Any]:
    return json.loads(await client.read(_FEED if cursor == "now" else f"{_FEED}/{cursor}"))


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    return one["time"], one["type"], one.get("principal", ""), one.get("subject", "")
