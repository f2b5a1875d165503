"""`pentad directory keys` and `pentad agents keys`: the keys a room signs with. Running servers hear of a rotation.

`pentad keys` is about API keys, so each room has its signing keys under its own verb.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.cli.options import json_option, store_options
from pentad.cli.output import print_json, print_table, say
from pentad.kernel.clock import iso

if TYPE_CHECKING:
    from pentad.access.signing_keys import KeyRing, SigningKey
    from pentad.kernel.ports import Database
    from pentad.settings.model import Settings

OpenRing = Callable[["Database", "Settings"], Awaitable["KeyRing"]]
"""The room's ring of keys in a store."""
NameKey = Callable[[str], str]
"""How a public key, as PEM text, is known to who verifies with it."""


def _signing_keys(what: str, open_ring: OpenRing, name_key: NameKey) -> click.Group:
    """The verbs for one room's keys."""

    @click.group("keys", help=f"List and rotate the keys {what} are signed with.")
    def keys() -> None:
        pass

    @keys.command("list")
    @json_option
    @store_options
    def list_keys(as_json: bool, settings: "Settings") -> None:
        """List the keys, the one in use first."""

        async def work() -> "list[SigningKey]":
            async with _ring(settings, open_ring) as ring:
                return await ring.known()

        _show(asyncio.run(work()), name_key, as_json)

    @keys.command()
    @click.option("--forget-old", is_flag=True, help="Also stop publishing the replaced keys, as after a theft.")
    @json_option
    @store_options
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
    from pentad.app import CORE_SETS
    from pentad.cli.store import open_store
    from pentad.storage.migrations import apply

    async with open_store(settings) as database:
        await apply(database, CORE_SETS)
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
        empty="There is no key yet; the first signature makes one.",
    )


async def _card_ring(database: "Database", settings: "Settings") -> "KeyRing":
    from pentad.kernel.clock import SystemClock
    from pentad.rooms.agents.signing_keys import open_card_ring

    return await open_card_ring(database, settings.secret_box(), SystemClock())


async def _record_ring(database: "Database", settings: "Settings") -> "KeyRing":
    from pentad.kernel.clock import SystemClock
    from pentad.rooms.directory.trust.server_key import adopt_key_file, record_ring

    ring = record_ring(database, settings.secret_box(), SystemClock())
    await adopt_key_file(ring, settings.data)
    return ring


def _key_id(public: str) -> str:
    from pentad.rooms.agents.card_signing import key_id

    return key_id(public)


def _fingerprint(public: str) -> str:
    from pentad.rooms.directory.trust.keys import read_public_key

    return read_public_key(public).fingerprint


CARD_KEYS: Final = _signing_keys("cards", _card_ring, _key_id)
RECORD_KEYS: Final = _signing_keys("records", _record_ring, _fingerprint)
