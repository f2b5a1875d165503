"""`pentad users`: accounts. Passwords are prompted for or read from stdin, never given as arguments."""

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from pentad.kernel.clock import iso
from pentad.terminal.options import json_option, settings_options, store_options
from pentad.terminal.output import print_json, print_table, print_text, say

if TYPE_CHECKING:
    from pentad.access.users import User
    from pentad.settings.model import Settings

password_option = click.option("--password-stdin", is_flag=True, help="Read the password from stdin.")


@click.group()
def users() -> None:
    """Add, list and remove users; set passwords; make login links."""


@users.command()
@click.argument("name")
@click.option("--role", type=click.Choice(["reader", "writer", "admin"]), default="reader", show_default=True)
@password_option
@store_options
def add(name: str, role: str, password_stdin: bool, settings: "Settings") -> None:
    """Add a user."""
    asyncio.run(_add(settings, name, _password(password_stdin), role))
    say(f"Added {name} as {role}.")


@users.command("list")
@json_option
@store_options
def list_users(as_json: bool, settings: "Settings") -> None:
    """List all users."""
    found = asyncio.run(_all(settings))
    rows = [(user.name, user.role, ",".join(sorted(user.scopes)), iso(user.created_at)) for user in found]
    columns = ("name", "role", "scopes", "created")
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table(columns, rows, empty="There are no users.")


@users.command()
@click.argument("name")
@store_options
def remove(name: str, settings: "Settings") -> None:
    """Remove a user and revoke the keys it owns."""
    asyncio.run(_remove(settings, name))
    say(f"Removed {name}.")


@users.command()
@click.argument("name")
@password_option
@store_options
def passwd(name: str, password_stdin: bool, settings: "Settings") -> None:
    """Set a user's password; logins with the old one end."""
    asyncio.run(_set_password(settings, name, _password(password_stdin)))
    say(f"Changed the password of {name}.")


@users.command()
@click.argument("name")
@settings_options("port", "data", "database")
def link(name: str, settings: "Settings") -> None:
    """Print a link that logs a user in with a browser. It works once, for ten minutes."""
    print_text(asyncio.run(_link(settings, name)))
    say("The link works once, for ten minutes. Give it to nobody else.")


async def _link(settings: "Settings", name: str) -> str:
    from pentad.cli.store import open_sessions
    from pentad.http.login import link_path

    async with open_sessions(settings) as sessions:
        return settings.url(link_path(await sessions.make_link(name)))


async def _add(settings: "Settings", name: str, password: str, role: str) -> None:
    from pentad.cli.store import open_users

    async with open_users(settings) as known:
        await known.add(name, password, role=role)


async def _all(settings: "Settings") -> "list[User]":
    from pentad.cli.store import open_users

    async with open_users(settings) as known:
        return await known.all()


async def _remove(settings: "Settings", name: str) -> None:
    from pentad.cli.store import open_users

    async with open_users(settings) as known:
        await known.remove(name)


async def _set_password(settings: "Settings", name: str, password: str) -> None:
    from pentad.cli.store import open_users

    async with open_users(settings) as known:
        await known.set_password(name, password)


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to prompt for a password; use --password-stdin.")
    return click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
