"""`pentad directory namespaces`: where pushed versions are final, and where untrusted records are quarantined. In the
store, or with --url on a server.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from pentad.rooms.directory.interface.cli.records import run_in_directory
from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.rooms.directory.records.namespaces import Namespaces
    from pentad.rooms.directory.service import Directory
    from pentad.terminal.client import Target


@click.group()
def namespaces() -> None:
    """List and change the rules of namespaces: whether versions are final, and whether untrusted records are
    quarantined."""


@namespaces.command("list")
@json_option
@server_options()
def list_namespaces(as_json: bool, target: "Target") -> None:
    """List the namespaces with rules."""
    found = _namespaces(target, "GET", {})
    if as_json:
        print_json(found)
        return
    print_table(
        ["namespace", "versions", "not trusted"],
        [
            [
                one["namespace"] or "(all others)",
                "final" if one["immutable"] else "replaceable",
                "quarantined" if one["quarantine"] else "found",
            ]
            for one in found
        ],
        empty="No namespace has a rule.",
    )


@namespaces.command("set")
@click.argument("namespace")
@click.option("--immutable/--mutable", "immutable", default=None, help="Whether a pushed version is final.")
@click.option(
    "--quarantine/--no-quarantine", "quarantine", default=None,
    help="Whether records that the trust policy does not trust are quarantined: stored, but not found.",
)  # fmt: skip
@server_options()
def set_namespace(namespace: str, immutable: bool | None, quarantine: bool | None, target: "Target") -> None:
    """Set rules of NAMESPACE: example.org covers example.org/any; "" covers all others."""
    if immutable is None and quarantine is None:
        raise click.UsageError("Give --immutable, --mutable, --quarantine or --no-quarantine.")
    given = {"immutable": immutable, "quarantine": quarantine}
    query = {"namespace": namespace, **{key: str(value).lower() for key, value in given.items() if value is not None}}
    _namespaces(target, "PUT", query, lambda rules: rules.set(namespace, **given))
    where = namespace or "all other namespaces"
    if immutable is not None:
        say(f"Versions in {where} are now {'final' if immutable else 'replaceable'}.")
    if quarantine is not None:
        say(f"Untrusted records in {where} are now {'in quarantine' if quarantine else 'found'}.")


@namespaces.command("remove")
@click.argument("namespace")
@server_options()
def remove_namespace(namespace: str, target: "Target") -> None:
    """Remove the rules of NAMESPACE, so that those above it apply."""
    _namespaces(target, "DELETE", {"namespace": namespace}, lambda rules: rules.remove(namespace))
    say(f"{namespace} no longer has its own rules.")


def _namespaces(
    target: "Target",
    method: str,
    query: dict[str, str],
    change: "Callable[[Namespaces], Awaitable[None]] | None" = None,
) -> list[dict[str, Any]]:
    """The rules, after an optional change: in the local store, or through the server's REST API."""

    async def local(room: "Directory") -> list[dict[str, Any]]:
        if change is not None:
            await change(room.namespaces)
            await room.policy.settle()
        return [asdict(one) for one in await room.namespaces.all()]

    if target.server is None:
        return run_in_directory(target.settings, local)
    return target.run(lambda client: client.call_route(method, "/api/directory/namespaces", query))["namespaces"]
