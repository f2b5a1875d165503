"""`pentad keys`: API keys for programs. A new key's token is printed once and not stored."""

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click

from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, print_text, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target

_EVERYBODY: Final = "/api/admin/keys"
_MINE: Final = "/api/account/keys"
mine_option = click.option("--mine", is_flag=True, help="Your own keys, with --url; no administrator rights needed.")


@click.group()
def keys() -> None:
    """Create, list and revoke API keys."""


@keys.command()
@click.argument("label")
@click.option("--owner", metavar="USER", help="The owner of the key, which never has more rights than its owner.")
@click.option("--scope", "scopes", multiple=True, metavar="ROOM:ACTION", help="May be repeated.  [default: *:read]")
@click.option("--days", type=click.FloatRange(min=0), default=90, show_default=True, help="0 means never.")
@click.option(
    "--own-only", is_flag=True, help="Confine the key to objects it creates itself; by default it acts as USER."
)
@mine_option
@json_option
@server_options()
def create(
    label: str,
    owner: str | None,
    scopes: tuple[str, ...],
    days: float,
    own_only: bool,
    mine: bool,
    as_json: bool,
    target: "Target",
) -> None:
    """Create a key. LABEL describes its purpose."""
    if mine and owner is not None:
        raise click.UsageError("--mine and --owner exclude each other.")
    body: dict[str, Any] = {"label": label, "days": days, "own_only": own_only}
    body |= {"scopes": scopes} if scopes else {}
    body |= {} if owner is None else {"owner": owner}
    made = target.call_route("POST", _MINE if mine else _EVERYBODY, body=body)
    if as_json:
        print_json(made)
        return
    validity = f"valid until {made['expires']}" if made["expires"] else "without an expiry date"
    say(f"Key {made['id']}, {validity}. This is the only time the token is shown:")
    print_text(made["token"])


@keys.command("list")
@click.option("--owner", metavar="USER", help="Only the keys of this user.")
@mine_option
@json_option
@server_options()
def list_keys(owner: str | None, mine: bool, as_json: bool, target: "Target") -> None:
    """List all keys, newest first."""
    rows = target.call_route("GET", _MINE if mine else _EVERYBODY, {"owner": owner})["keys"]
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
@mine_option
@server_options()
def revoke(key_id: str, mine: bool, target: "Target") -> None:
    """Revoke a key at once and for good."""
    target.call_route("DELETE", f"{_MINE if mine else _EVERYBODY}/{quote(key_id, safe='')}")
    say(f"Revoked {key_id}.")
