"""`pentad directory trust` and `quarantine`: whose signatures count, and which records are in quarantine."""

from typing import TYPE_CHECKING, Any

import click

from pentad.terminal.client import server_options
from pentad.terminal.files import read
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target

_NAMESPACE_HELP = "The namespace it applies to; by default all names."


@click.group()
def trust() -> None:
    """List and change whose signatures make a record trusted."""


@trust.command("list")
@json_option
@server_options()
def list_entries(as_json: bool, target: "Target") -> None:
    """List the keys and issuers that are trusted."""
    found = _trust(target, action="list")
    if as_json:
        print_json(found)
        return
    print_table(
        ["namespace", "name", "trusted", "problem"],
        [
            [
                one["namespace"] or "(all names)",
                one["name"],
                one.get("issuer") or f"sha256:{one['fingerprints'][0]}",
                one.get("problem", ""),
            ]
            for one in found["entries"]
        ],
        empty="The policy has no entries, so any valid signature is trusted.",
    )
    if found["quarantined"]:
        say(f"{found['quarantined']:,} records are in quarantine; `pentad directory quarantine` lists them.")


@trust.command("add")
@click.argument("name")
@click.option("--namespace", default="", metavar="NAMESPACE", help=_NAMESPACE_HELP)
@click.option("--key", metavar="FILE", help="A file with a public key (PEM), or - for stdin.")
@click.option("--issuer", metavar="URL", help="An https origin whose published keys are trusted.")
@json_option
@server_options()
def add_entry(
    name: str, namespace: str, key: str | None, issuer: str | None, as_json: bool, target: "Target"
) -> None:  # fmt: skip
    """Trust a key or an issuer as NAME. Without entries any valid signature is trusted; the first entry ends that."""
    pem = None if key is None else read(key).decode("utf-8", "replace")
    found = _trust(target, action="add", name=name, namespace=namespace, key=pem, issuer=issuer)
    _report(found, as_json, f"{name} is now trusted for {namespace or 'all names'}.")


@trust.command("remove")
@click.argument("name")
@click.option("--namespace", default="", metavar="NAMESPACE", help=_NAMESPACE_HELP)
@json_option
@server_options()
def remove_entry(name: str, namespace: str, as_json: bool, target: "Target") -> None:
    """Stop trusting NAME."""
    found = _trust(target, action="remove", name=name, namespace=namespace)
    _report(found, as_json, f"{name} is no longer trusted for {namespace or 'all names'}.")


@click.command()
@click.option("--after", default="", metavar="CID", help="Continue after this record.")
@json_option
@server_options()
def quarantine(after: str, as_json: bool, target: "Target") -> None:
    """List the records that are stored but not found, and why."""
    found = _trust(target, action="quarantined", after=after)
    records: list[dict[str, Any]] = found["records"]
    if as_json:
        print_json(records)
        return
    rows = [[one["cid"], one["name"], one["version"], one["reason"]] for one in records]
    print_table(["cid", "name", "version", "reason"], rows, empty="No record is in quarantine.")


def _trust(target: "Target", **arguments: Any) -> dict[str, Any]:
    return target.call_tool("directory_trust", arguments, "directory")


def _report(found: dict[str, Any], as_json: bool, text: str) -> None:
    if as_json:
        print_json(found)
        return
    say(text)
    if found["pending"]:
        say("The change is still being applied to the records.")
