"""`pentad directory peers`: the directories that this one follows."""

from typing import TYPE_CHECKING, Any

import click

from pentad.terminal.client import server_options
from pentad.terminal.files import read
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target


@click.group()
def peers() -> None:
    """List and change the directories that this one follows."""


@peers.command("list")
@json_option
@server_options()
def list_peers(as_json: bool, target: "Target") -> None:
    """List the peers, the number of copied records, and the reason for any failure."""
    found = _peers(target, action="list")
    if as_json:
        print_json(found)
        return
    rows = [
        [one["name"], one["url"], one["status"], one["records"], one.get("problem") or one.get("skipped_reason") or ""]
        for one in found
    ]
    print_table(
        ["name", "address", "status", "records", "problem"],
        rows,
        empty="There are no peers. `pentad directory peers add` adds one.",
    )


@peers.command("add")
@click.argument("name")
@click.argument("address")
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAMESPACE",
    help="Copy only these names.",
)
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="Copy only these, such as /skills/...")
@click.option("--token-file", metavar="FILE", help="A file with a Pentad key or another bearer token; - for stdin.")
@click.option("--issuer", metavar="URL", help="OAuth client credentials: the issuer of the tokens.")
@click.option("--client-id", metavar="ID", help="OAuth: the client.")
@click.option("--client-secret-file", metavar="FILE", help="OAuth: a file with its secret; - for stdin.")
@click.option("--scopes", metavar="SCOPES", help="OAuth: the scopes to ask for.")
@click.option("--audience", metavar="AUDIENCE", help="OAuth: the audience to ask for.")
@click.option("--certificate", metavar="FILE", help="The client certificate (PEM).")
@click.option("--private-key", metavar="FILE", help="The private key of that certificate (PEM).")
@click.option("--ca", metavar="FILE", help="The authority that signed the peer's certificate (PEM).")
@json_option
@server_options()
def add_peer(
    name: str,
    address: str,
    namespaces: tuple[str, ...],
    labels: tuple[str, ...],
    token_file: str | None,
    client_secret_file: str | None,
    certificate: str | None,
    private_key: str | None,
    ca: str | None,
    as_json: bool,
    target: "Target",
    **oauth: str | None,
) -> None:
    """Follow the directory at ADDRESS (host:port, or https://host:port) as NAME."""
    files = {
        "token": token_file, "client_secret": client_secret_file, "certificate": certificate,
        "private_key": private_key, "ca": ca,
    }  # fmt: skip
    secrets = {key: read(path).decode("utf-8", "replace").strip() for key, path in files.items() if path is not None}
    filters = {"namespaces": list(namespaces), "labels": list(labels)}
    found = _peers(target, action="add", name=name, url=address, **filters, **oauth, **secrets)
    if as_json:
        print_json(found)
    else:
        say(f"{name} is now a peer. It is followed while a server runs on this store.")


@peers.command("remove")
@click.argument("name")
@json_option
@server_options()
def remove_peer(name: str, as_json: bool, target: "Target") -> None:
    """Stop following NAME. Its copies are removed, unless they were also pushed here."""
    found = _peers(target, action="remove", name=name)
    if as_json:
        print_json(found)
    else:
        say(f"{name} is no longer followed; its copies are being removed.")


def _peers(target: "Target", **arguments: Any) -> list[dict[str, Any]]:
    return target.call_tool("directory_peers", arguments, "directory")["peers"]
