"""`pentad directory keys` and `pentad agents keys`: a room's signing keys. Running servers notice a rotation.

`pentad keys` is about API keys, so each room has its signing keys under its own verb.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.kernel.clock import iso
from pentad.terminal.client import local_options
from pentad.terminal.launcher import launcher
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.access.signing_keys import KeyRing, SigningKey
    from pentad.kernel.ports import Database
    from pentad.settings.model import Settings

OpenRing = Callable[["Database", "Settings"], Awaitable["KeyRing"]]
"""The room's ring of keys in a store."""
NameKey = Callable[[str], str]
"""The name of a public key (PEM text) for those who verify with it."""


_local: Final = local_options("Run it on a machine that reaches the store; running servers notice a new key.")


def signing_keys(what: str, open_ring: OpenRing, name_key: NameKey) -> click.Group:
    """The verbs for one room's keys."""

    @click.group("keys", help=f"List and rotate the keys {what} are signed with.")
    def keys() -> None:
        pass

    @keys.command("list")
    @json_option
    @_local
    def list_keys(as_json: bool, settings: "Settings") -> None:
        """List the keys, the one in use first."""

        async def work() -> "list[SigningKey]":
            async with _ring(settings, open_ring) as ring:
                return await ring.known()

        _show(asyncio.run(work()), name_key, as_json)

    @keys.command()
    @click.option("--forget-old", is_flag=True, help="Also stop publishing the replaced keys, e.g. after a theft.")
    @json_option
    @_local
    def rotate(forget_old: bool, as_json: bool, settings: "Settings") -> None:
        """Sign with a new key from now on.

        The replaced public keys stay published, so that existing signatures can still be verified.
        """

        async def work() -> "list[SigningKey]":
            async with _ring(settings, open_ring) as ring:
                return await ring.rotate(forget=forget_old)

        found = asyncio.run(work())
        _show(found, name_key, as_json)
        say(f"{name_key(found[0].public)} signs from now on.")

    return keys


@asynccontextmanager
async def _ring(settings: "Settings", open_ring: OpenRing) -> AsyncGenerator["KeyRing"]:
    from pentad.access.sealed_columns import CORE_COLUMNS, check_sealed

    async with launcher().open_store(settings) as database:
        await check_sealed(database, settings.secret_box(), CORE_COLUMNS)
        yield await open_ring(database, settings)


def _show(found: "list[SigningKey]", name_key: NameKey, as_json: bool) -> None:
    rows: list[dict[str, Any]] = [
        {
            "key": name_key(one.public),
            "created": iso(one.created_at),
            "retired": None if one.retired_at is None else iso(one.retired_at),
            "public_key": one.public,
        }
        for one in found
    ]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("key", "created", "state"),
        [(row["key"], row["created"], f"replaced {row['retired']}" if row["retired"] else "in use") for row in rows],
        empty="There is no key yet; the first signature creates one.",
    )
