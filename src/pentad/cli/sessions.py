"""`pentad sessions`, `clients` and `grants`: browser sessions, and OAuth clients that act for users."""

from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import click

from pentad.cli.keys import mine_option
from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target

_user_option = click.option("--user", metavar="USER", help="Only this user's.")


@click.group()
def sessions() -> None:
    """List browser sessions; log browsers out."""


@sessions.command("list")
@_user_option
@mine_option
@json_option
@server_options(filters_by_user=True)
def list_sessions(user: str | None, mine: bool, as_json: bool, target: "Target") -> None:
    """List the browsers that are logged in, most recently used first."""
    columns = {"id": "id", "user": "user", "method": "method", "browser": "browser", "address": "address",
               "last used": "last_used", "expires": "expires"}  # fmt: skip
    rows = target.call_route("GET", _place("sessions", mine), {"user": user})["sessions"]
    _print(rows, columns, as_json, "No browser is logged in.")


@sessions.command()
@click.argument("session_id", metavar="[ID]", required=False)
@click.option("--all-of", metavar="USER", help="Log this user out in all browsers.")
@mine_option
@server_options()
def end(session_id: str | None, all_of: str | None, mine: bool, target: "Target") -> None:
    """Log a browser out."""
    if (session_id is None) == (all_of is None):
        raise click.UsageError("Name one session, or a user with --all-of.")
    if all_of is not None:
        path = "/api/account/sessions" if mine else f"/api/admin/users/{quote(all_of, safe='@')}/sessions"
        say(f"Ended {target.call_route('DELETE', path)['ended']} sessions.")
        return
    target.call_route("DELETE", f"{_place('sessions', mine)}/{quote(session_id or '', safe='')}")
    say(f"Ended {session_id}.")


@click.group()
def clients() -> None:
    """List and remove OAuth clients."""


@clients.command("list")
@json_option
@server_options()
def list_clients(as_json: bool, target: "Target") -> None:
    """List the registered OAuth clients, newest first."""
    columns = {"id": "id", "name": "name", "kind": "kind", "host": "verified_host", "grants": "grants",
               "created": "created", "last used": "last_used"}  # fmt: skip
    rows = target.call_route("GET", "/api/admin/clients")["clients"]
    _print(rows, columns, as_json, "There are no clients.")


@clients.command()
@click.argument("client_id", metavar="ID")
@server_options()
def remove(client_id: str, target: "Target") -> None:
    """Remove a client and end all its grants."""
    gone = target.call_route("DELETE", f"/api/admin/clients/{quote(client_id, safe='')}")
    say(f"Removed {client_id}, with {gone['grants']} grants.")


@click.group()
def grants() -> None:
    """List and revoke users' grants to OAuth clients."""


@grants.command("list")
@_user_option
@mine_option
@json_option
@server_options(filters_by_user=True)
def list_grants(user: str | None, mine: bool, as_json: bool, target: "Target") -> None:
    """List which clients act for which users, newest first."""
    columns = {"id": "id", "user": "user", "client": "client_name", "scopes": "scopes", "resources": "resources",
               "expires": "expires", "last used": "last_used", "state": "state"}  # fmt: skip
    rows = target.call_route("GET", _place("grants", mine), {"user": user})["grants"]
    _print(rows, columns, as_json, "There are no grants.")


@grants.command()
@click.argument("grant_id", metavar="ID")
@mine_option
@server_options()
def revoke(grant_id: str, mine: bool, target: "Target") -> None:
    """End a grant and its tokens at once."""
    target.call_route("DELETE", f"{_place('grants', mine)}/{quote(grant_id, safe='')}")
    say(f"Revoked {grant_id}.")


def _place(what: str, mine: bool) -> str:
    return f"/api/{'account' if mine else 'admin'}/{what}"


def _print(rows: list[dict[str, Any]], columns: dict[str, str], as_json: bool, empty: str) -> None:
    if as_json:
        print_json(rows)
    else:
        print_table(list(columns), [[_text(row[name]) for name in columns.values()] for row in rows], empty=empty)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, cast("list[object]", value)))
    return "" if value is None else str(value)
