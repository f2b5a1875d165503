"""`pentad directory`: find, compare, sign and delete records, in the store or with --url on a server.

Commands for files are in `files.py`. If the settings name another directory, records go there.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pentad.rooms.directory.interface.cli.files import export, import_sources, migrate, push, validate
from pentad.rooms.directory.interface.cli.install import install
from pentad.rooms.directory.interface.cli.namespaces import namespaces
from pentad.rooms.directory.interface.cli.peers import peers
from pentad.rooms.directory.interface.cli.records import (
    load_record,
    print_result,
    record_text,
    reported_error,
    run_in_directory,
    with_schemas,
)
from pentad.rooms.directory.interface.cli.states import state
from pentad.rooms.directory.interface.cli.trust import quarantine, trust
from pentad.rooms.directory.verbs import FIRST_CONTENT
from pentad.terminal.client import server_options
from pentad.terminal.files import indented, out_option, write
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_json, print_table, say
from pentad.terminal.signing_keys import signing_keys

if TYPE_CHECKING:
    from pentad.access.signing_keys import KeyRing
    from pentad.kernel.ports import Database
    from pentad.rooms.directory.service import Directory
    from pentad.settings.model import Settings
    from pentad.terminal.client import Client, Target


@click.group()
def directory() -> None:
    """Validate, push, find, translate and sign agent records."""


for verb in (validate, push, import_sources, export, migrate, state, install):
    directory.add_command(verb)


@directory.command()
@json_option
@server_options()
def versions(as_json: bool, target: "Target") -> None:
    """List the known OASF versions and mark the default."""
    if target.server is None:
        available, default = with_schemas(target.settings, lambda schemas: schemas.versions())
    else:
        found = target.call_tool("agntcy_oasf_list_versions", {})
        available, default = found["available_versions"], found["default_version"]
    print_result(
        {"available_versions": available, "default_version": default},
        as_json,
        lambda: [f"{version} (default)" if version == default else version for version in available],
    )


@directory.command()
@click.argument("words", nargs=-1)
@click.option("--name", "names", multiple=True, metavar="PATTERN", help="Agent names; * ? [a-z] are wildcards.")
@click.option("--version", "versions", multiple=True, metavar="PATTERN", help="Versions, also >=1.2.0.")
@click.option("--skill", "skill_names", multiple=True, metavar="PATTERN", help="Full skill names.")
@click.option("--skill-id", "skill_ids", multiple=True, metavar="ID", help="Skill ids.")
@click.option("--domain", "domain_names", multiple=True, metavar="PATTERN", help="Full domain names.")
@click.option("--domain-id", "domain_ids", multiple=True, metavar="ID", help="Domain ids.")
@click.option("--module", "module_names", multiple=True, metavar="PATTERN", help="Module names.")
@click.option("--module-id", "module_ids", multiple=True, metavar="ID", help="Module ids.")
@click.option("--locator", "locators", multiple=True, metavar="PATTERN", help="A type, an address, or type:address.")
@click.option("--created", "created_ats", multiple=True, metavar="PATTERN", help="When created, also >=2026-05-17.")
@click.option("--author", "authors", multiple=True, metavar="PATTERN", help="Authors.")
@click.option("--schema-version", "schema_versions", multiple=True, metavar="PATTERN", help="OASF versions.")
@click.option("--any", "any_of", is_flag=True, help="Match any kind of filter; by default all must match.")
@click.option(
    "--latest/--all-versions",
    default=None,
    help="Only the newest version of each agent, or all of them. By default WORDS find the newest, filters alone all.",
)
@click.option("--quarantined", is_flag=True, help="Also find records in quarantine, with the reason.")
@click.option("--sort", type=click.Choice(["recency", "popularity", "relevance"]), help="Newest first by default.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Maximum number of records.")
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True, help="Number of records to skip.")
@json_option
@server_options()
def search(
    words: tuple[str, ...],
    any_of: bool,
    latest: bool | None,
    quarantined: bool,
    sort: Literal["recency", "popularity", "relevance"] | None,
    limit: int,
    offset: int,
    as_json: bool,
    target: "Target",
    **filters: tuple[str, ...],
) -> None:
    """Find records by WORDS, by filters, or both. Values of one filter are alternatives."""
    given: dict[str, Any] = {name: list(values) for name, values in filters.items()}
    if not words and not any(given.values()):
        given["names"] = ["*"]
    given |= {"query": " ".join(words), "match": "any" if any_of else "all", "sort": sort}
    given |= {} if latest is None else {"latest": latest}
    given |= {"quarantined": True} if quarantined else {}
    found = target.run(
        lambda client: _search(client, {**given, "limit": limit, "offset": offset, "return": "records"}), "directory"
    )
    if as_json:
        print_json(found)
        return
    head, shown = ("cid", "name", "version", "score"), ("cid", "name", "version", "score")
    if quarantined:
        head, shown = (*head, "in quarantine"), (*shown, "quarantined")
    if any("state" in one for one in found["records"]):
        head, shown = (*head, "state"), (*shown, "state")
    rows = [tuple(one.get(name, "") for name in shown) for one in found["records"]]
    is_narrowed = bool(words) or any(filters.values()) or offset
    empty = "No records found." if is_narrowed else f"There are no records; `{FIRST_CONTENT}` adds some."
    if rows and found.get("no_good_match"):
        say("No good match. The nearest:")
    print_table(head, rows, empty=empty)
    if found["has_more"]:
        say(rest_line(found["total"], offset + len(rows)))


def rest_line(total: int | None, end: int) -> str:
    """How to continue after a page. Not every remote directory gives a total."""
    count = "There are more" if total is None else f"{total:,} in total"
    return f"{count}; continue with --offset {end}."


async def _search(client: "Client", arguments: dict[str, Any]) -> dict[str, Any]:
    answer = await client.call_tool("agntcy_dir_search_local", arguments)
    if (error := reported_error(answer)) is not None:
        raise error
    records = {one["cid"]: one["record"] for one in answer.get("records", ())}
    hits = answer.get("hits") or [{"cid": cid} for cid in answer.get("record_cids", ())]
    listed = [
        {**hit, **{key: records[hit["cid"]].get(key) for key in ("name", "version", "schema_version")}}
        for hit in hits
        if hit["cid"] in records
    ]
    page = {"records": listed, "total": answer.get("total_count"), "has_more": answer["has_more"]}
    return page | {name: answer[name] for name in ("retrieval", "waiting", "no_good_match") if name in answer}


@directory.command()
@click.argument("record")
@click.option("--canonical", is_flag=True, help="Print the exact text that the CID is the hash of.")
@out_option
@server_options()
def pull(record: str, canonical: bool, out: Path | None, target: "Target") -> None:
    """Print RECORD (a CID, or name[:version][@cid]) after checking its hash."""
    text = target.run(lambda client: record_text(client, record), "directory")
    write(text if canonical else indented(json.loads(text)), out)


@directory.command()
@click.argument("reference")
@json_option
@server_options()
def resolve(reference: str, as_json: bool, target: "Target") -> None:
    """Print the CID of the record that REFERENCE (name[:version][@cid]) names."""
    found = target.call_tool("directory_resolve", {"reference": reference}, "directory")
    print_result({name: found[name] for name in ("name", "version", "cid")}, as_json, lambda: [found["cid"]])


@directory.command()
@click.argument("reference")
@json_option
@server_options()
def lineage(reference: str, as_json: bool, target: "Target") -> None:
    """List the history of an agent, oldest first."""
    steps = target.call_tool("directory_lineage", {"reference": reference}, "directory")["records"]
    if as_json:
        names = ("name", "version", "cid", "created_at", "previous")
        print_json([{name: one.get(name) for name in names} for one in steps])
    else:
        rows = [(one["version"], one["created_at"], one["cid"], one.get("previous") or "") for one in steps]
        print_table(("version", "created", "cid", "replaces"), rows, empty="No such record.")


@directory.command()
@click.argument("before")
@click.argument("after")
@json_option
@server_options()
def diff(before: str, after: str, as_json: bool, target: "Target") -> None:
    """Compare two records (files, CIDs or name:version) by meaning."""
    from pentad.rooms.directory.translate.difference import Difference, difference

    async def work(client: "Client") -> Difference:
        return difference(await load_record(client, before), await load_record(client, after))

    found = target.run(work, "directory")
    print_result(found.as_json(), as_json, found.lines)


@directory.command()
@click.argument("reference")
@click.option("--key", metavar="FILE", help="A private key (PEM file or env://NAME); by default the server's own key.")
@click.option("--password", "ask", is_flag=True, help="Ask for the password of the key.")
@json_option
@server_options()
def sign(reference: str, key: str | None, ask: bool, as_json: bool, target: "Target") -> None:
    """Sign a record and attach the signature and the public key to it."""
    if target.server is not None:
        if key is not None or ask:
            raise click.UsageError(
                "A private key is not sent to a server. Leave out --key: the server signs with its own key."
            )
        signed = target.call_tool("directory_sign", {"reference": reference})
    else:
        password: str | None = click.prompt("Password", hide_input=True, err=True) if ask else None
        signed = run_in_directory(target.settings, lambda room: _sign(room, reference, key, password))
    if as_json:
        print_json(signed)


async def _sign(room: "Directory", reference: str, key: str | None, password: str | None) -> dict[str, Any]:
    from pentad.kernel.principal import LOCAL

    found = await room.find_last_pushed(reference)
    if key is None and not room.is_local:
        signature = await room.node.sign(LOCAL, found.cid, await room.signing_keys.private_key())
    else:
        room.require_local()
        private_key = key or await room.signing_keys.private_key()
        signature = await room.trust.sign(LOCAL, found.cid, private_key, password, local=True)
    return {"cid": found.cid, **signature.to_json()}


@directory.command()
@click.argument("reference")
@click.option("--key", metavar="FILE", help="Accept only signatures by this public key.")
@click.option("--name", "by_name", is_flag=True, help="Also check that the domain in the name vouches for the key.")
@json_option
@server_options()
def verify(reference: str, key: str | None, by_name: bool, as_json: bool, target: "Target") -> int:
    """Check the signatures of a record. The exit code is 1 if it is not trusted."""
    if target.server is None:
        result = run_in_directory(target.settings, lambda room: _verify_locally(room, reference, key, by_name))
    elif key is None:
        result = target.run(lambda client: _verify_on_server(client, reference, by_name))
    else:
        raise click.UsageError("A server accepts any key. Leave out --key, or pull the record and verify it locally.")
    print_result(result, as_json, lambda: [result["message"], *([str(result["name"])] if "name" in result else [])])
    return ExitCode.OK if result["success"] else ExitCode.FAILED


async def _verify_locally(room: "Directory", reference: str, key: str | None, by_name: bool) -> dict[str, Any]:

    room.require_local()
    found = await room.naming.find(reference)
    verdict = await room.trust.verify(found.cid, key, local=True)
    signers = [{"identity": one.identity, "issuer": one.issuer} for one in verdict.signers]
    result: dict[str, Any] = {"cid": found.cid, "success": verdict.success, "message": verdict.message}
    result["signers"] = signers
    if by_name:
        named = await room.trust.verify_name(found.cid, None, None)
        result |= {"success": verdict.success and named.verified, "name": named.error_message or named.domain}
    return result


async def _verify_on_server(client: "Client", reference: str, by_name: bool) -> dict[str, Any]:
    cid = (await client.call_tool("directory_resolve", {"reference": reference}))["cid"]
    verdict = await client.call_tool("agntcy_dir_verify_record", {"cid": cid})
    result = {"cid": cid, "success": verdict["success"], "message": verdict["message"]}
    result["signers"] = verdict.get("signers", [])
    if by_name:
        named = await client.call_tool("agntcy_dir_verify_name", {"cid": cid})
        domain = named.get("domain_verification", {}).get("domain", "")
        result |= {"success": result["success"] and named["verified"], "name": named.get("error_message") or domain}
    return result


@directory.command()
@click.argument("reference")
@json_option
@server_options()
def delete(reference: str, as_json: bool, target: "Target") -> None:
    """Permanently delete one record and its signatures."""
    deleted = target.call_tool("directory_delete", {"reference": reference}, "directory")
    if as_json:
        print_json({"cid": deleted["cid"], "deleted": True})


async def _record_ring(database: "Database", settings: "Settings") -> "KeyRing":
    from pentad.kernel.clock import SystemClock
    from pentad.rooms.directory.trust.server_key import adopt_key_file, record_ring

    ring = record_ring(database, settings.secret_box(), SystemClock())
    await adopt_key_file(ring, settings.data)
    return ring


def _fingerprint(public: str) -> str:
    from pentad.rooms.directory.trust.keys import read_public_key

    return read_public_key(public).fingerprint


directory.add_command(namespaces)
directory.add_command(trust)
directory.add_command(peers)
directory.add_command(quarantine)
directory.add_command(signing_keys("directory", "records", _record_ring, _fingerprint))
