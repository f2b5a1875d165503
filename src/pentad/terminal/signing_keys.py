"""`pentad directory keys` and `pentad agents keys`: a room's signing keys. Running servers notice a rotation.

`pentad keys` is about API keys, so each room has its signing keys under its own verb.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from pentad.kernel.clock import iso
from pentad.terminal.client import server_options
from pentad.terminal.launcher import launcher
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.access.signing_keys import KeyRing, SigningKey
    from pentad.kernel.ports import Database
    from pentad.settings.model import Settings
    from pentad.terminal.client import Target

OpenRing = Callable[["Database", "Settings"], Awaitable["KeyRing"]]
"""The room's ring of keys in a store."""
NameKey = Callable[[str], str]
"""Returns the name under which verifiers know a public key (PEM text)."""


def signing_keys(room: str, what: str, open_ring: OpenRing, name_key: NameKey) -> click.Group:
    """The verbs for one room's keys. A server serves them at `/api/<room>/keys` and never sends a private key."""

    @click.group("keys", help=f"List and rotate the keys {what} are signed with.")
    def keys() -> None:
        pass

    def run(
        target: "Target",
        work: "Callable[[KeyRing], Awaitable[list[SigningKey]]]",
        method: str,
        path: str,
        query: dict[str, Any],
    ) -> list[dict[str, Any]]:
        async def work_on_store() -> list[dict[str, Any]]:
            async with _ring(target.settings, open_ring) as ring:
                return [_row(one, name_key) for one in await work(ring)]

        if target.server is None:
            return asyncio.run(work_on_store())
        found = target.run(lambda client: client.call_route(method, f"/api/{room}/keys{path}", query))
        return [
            {
                "key": one["fingerprint"],
                "created": one["created"],
                "retired": one["retired"],
                "public_key": one["publicKey"],
            }
            for one in found["keys"]
        ]

    @keys.command("list")
    @json_option
    @server_options()
    def list_keys(as_json: bool, target: "Target") -> None:
        """List the keys, the one in use first."""
        _show(run(target, lambda ring: ring.known(), "GET", "", {}), as_json)

    @keys.command()
    @click.option("--forget-old", is_flag=True, help="Also stop publishing the replaced keys, e.g. after a theft.")
    @json_option
    @server_options()
    def rotate(forget_old: bool, as_json: bool, target: "Target") -> None:
        """Sign with a new key from now on.

        The replaced public keys stay published, so that existing signatures can still be verified.
        """
        query = {"forget_old": str(forget_old).lower()}
        found = run(target, lambda ring: ring.rotate(forget=forget_old), "POST", "/rotate", query)
        _show(found, as_json)
        say(f"{found[0]['key']} signs from now on.")

    return keys


@asynccontextmanager
async def _ring(settings: "Settings", open_ring: OpenRing) -> AsyncGenerator["KeyRing"]:
    from pentad.access.sealed_columns import CORE_COLUMNS, check_sealed

    async with launcher().open_store(settings) as database:
        await check_sealed(database, settings.secret_box(), CORE_COLUMNS)
        yield await open_ring(database, settings)


def _row(one: "SigningKey", name_key: NameKey) -> dict[str, Any]:
    return {
        "key": name_key(one.public),
        "created": iso(one.created_at),
        "retired": None if one.retired_at is None else iso(one.retired_at),
        "public_key": one.public,
    }


def _show(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    print_table(
        ("key", "created", "state"),
        [(row["key"], row["created"], f"replaced {row['retired']}" if row["retired"] else "in use") for row in rows],
        empty="There is no key yet; the first signature creates one.",
    )
