"""`pentad users`: accounts. Passwords are prompted for or read from stdin, never given as arguments."""

import sys
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click

from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, print_text, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target

_USERS: Final = "/api/admin/users"
_ROLES: Final = click.Choice(["reader", "writer", "admin"])
password_option = click.option("--password-stdin", is_flag=True, help="Read the password from stdin.")
scope_option = click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="ROOM:ACTION",
    help="A scope in addition to the role's; may be repeated.",
)


@click.group()
def users() -> None:
    """Add, list, change and remove users; set passwords; make login links."""


@users.command()
@click.argument("name")
@click.option("--role", type=_ROLES, default="reader", show_default=True)
@scope_option
@password_option
@server_options()
def add(name: str, role: str, scopes: tuple[str, ...], password_stdin: bool, target: "Target") -> None:
    """Add a user."""
    body = {"name": name, "password": _password(password_stdin), "role": role, "scopes": scopes}
    target.call_route("POST", _USERS, body=body)
    say(f"Added {name} as {role}.")


@users.command("list")
@json_option
@server_options()
def list_users(as_json: bool, target: "Target") -> None:
    """List all users."""
    found = target.call_route("GET", _USERS)["users"]
    rows = [(user["name"], user["role"], ",".join(user["scopes"]), user["created"]) for user in found]
    columns = ("name", "role", "scopes", "created")
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table(columns, rows, empty="There are no users.")


@users.command()
@click.argument("name")
@click.option("--role", type=_ROLES, help="The new role.")
@scope_option
@click.option("--no-scopes", is_flag=True, help="Remove all scopes except the role's.")
@server_options()
def change(name: str, role: str | None, scopes: tuple[str, ...], no_scopes: bool, target: "Target") -> None:
    """Give a user another role, or other extra scopes."""
    if scopes and no_scopes:
        raise click.UsageError("--scope and --no-scopes exclude each other.")
    body: dict[str, Any] = {} if role is None else {"role": role}
    if scopes or no_scopes:
        body["scopes"] = scopes
    if not body:
        raise click.UsageError("Say what to change: --role, --scope or --no-scopes.")
    user = target.call_route("PATCH", _path(name), body=body)
    extra = f" with {' '.join(user['scopes'])}" if user["scopes"] else ""
    say(f"{user['name']} is {user['role']} now{extra}.")


@users.command()
@click.argument("name")
@server_options()
def remove(name: str, target: "Target") -> None:
    """Remove a user and revoke the keys it owns."""
    target.call_route("DELETE", _path(name))
    say(f"Removed {name}.")


@users.command()
@click.argument("name")
@password_option
@server_options()
def passwd(name: str, password_stdin: bool, target: "Target") -> None:
    """Set a user's password. This ends logins with the old one."""
    target.call_route("PUT", f"{_path(name)}/password", body={"password": _password(password_stdin)})
    say(f"Changed the password of {name}.")


@users.command()
@click.argument("name")
@server_options("port")
def link(name: str, target: "Target") -> None:
    """Print a link that logs a user in with a browser. It works once, within ten minutes."""
    print_text(target.site(target.call_route("POST", f"{_path(name)}/link")["path"]))
    say("The link works once, within ten minutes. Give it only to that user.")


def _path(name: str) -> str:
    return f"{_USERS}/{quote(name, safe='@')}"


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to prompt for a password; use --password-stdin.")
    return click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
