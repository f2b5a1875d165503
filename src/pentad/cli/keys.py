"""`pentad keys`: API keys for programs. A new key's token is printed once and not stored."""

import asyncio
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.kernel.clock import iso
from pentad.terminal.options import json_option, store_options
from pentad.terminal.output import print_json, print_table, print_text, say

if TYPE_CHECKING:
    from pentad.access.api_keys import ApiKey, NewKey
    from pentad.settings.model import Settings

_DAY: Final = 86_400.0


@click.group()
def keys() -> None:
    """Create, list and revoke API keys."""


@keys.command()
@click.argument("label")
@click.option("--owner", metavar="USER", help="The owner of the key; it can never do more than they may.")
@click.option("--scope", "scopes", multiple=True, metavar="ROOM:ACTION", help="May be repeated.  [default: *:read]")
@click.option(
    "--days", type=click.FloatRange(min=0), default=90, show_default=True, help="0 means that it never expires."
)
@click.option("--own-only", is_flag=True, help="Confine the key to what it creates itself; by default it acts as USER.")
@json_option
@store_options
def create(
    label: str,
    owner: str | None,
    scopes: tuple[str, ...],
    days: float,
    own_only: bool,
    as_json: bool,
    settings: "Settings",
) -> None:
    """Make a key; LABEL says what it is for."""
    made = asyncio.run(_create(settings, label, owner, scopes, days, own_only))
    if as_json:
        print_json({**_as_json(made.key), "token": made.token})
        return
    say(f"Key {made.key.id}, {_validity(made.key)}. This is the only time the token is shown:")
    print_text(made.token)


@keys.command("list")
@json_option
@store_options
def list_keys(as_json: bool, settings: "Settings") -> None:
    """List all keys, newest first."""
    rows = [_as_json(key) for key in asyncio.run(_all(settings))]
    if as_json:
        print_json(rows)
    else:
        print_table(
            ("id", "label", "owner", "scopes", "own only", "expires", "last used", "state"),
            [
                (
                    row["id"], row["label"], row["owner"] or "", ",".join(row["scopes"]),
                    "yes" if row["own_only"] else "", row["expires"] or "never",
                    row["last_used"] or "never", row["state"],
                )
                for row in rows
            ],
            empty="There are no keys.",
        )  # fmt: skip


@keys.command()
@click.argument("key_id", metavar="ID")
@store_options
def revoke(key_id: str, settings: "Settings") -> None:
    """Revoke a key at once and for good."""
    asyncio.run(_revoke(settings, key_id))
    say(f"Revoked {key_id}.")


async def _create(
    settings: "Settings", label: str, owner: str | None, scopes: tuple[str, ...], days: float, own_only: bool
) -> "NewKey":
    from pentad.access.scopes import READ_ONLY
    from pentad.cli.store import open_keys

    async with open_keys(settings) as known:
        return await known.create(
            label,
            owner=owner,
            scopes=scopes or READ_ONLY,
            lifetime=days * _DAY if days else None,
            own_only=own_only,
        )


async def _all(settings: "Settings") -> "list[ApiKey]":
    from pentad.cli.store import open_keys

    async with open_keys(settings) as known:
        return await known.all()


async def _revoke(settings: "Settings", key_id: str) -> None:
    from pentad.cli.store import open_keys

    async with open_keys(settings) as known:
        await known.revoke(key_id)


def _as_json(key: "ApiKey") -> dict[str, Any]:
    return {
        "id": key.id,
        "label": key.label,
        "owner": key.owner,
        "scopes": sorted(key.scopes),
        "own_only": key.own_only,
        "created": iso(key.created_at),
        "expires": None if key.expires_at is None else iso(key.expires_at),
        "last_used": None if key.last_used_at is None else iso(key.last_used_at),
        "state": _state(key),
    }


def _state(key: "ApiKey") -> str:
    import time

    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= time.time() else "active"


def _validity(key: "ApiKey") -> str:
    return "without an expiry date" if key.expires_at is None else f"valid until {iso(key.expires_at)}"
