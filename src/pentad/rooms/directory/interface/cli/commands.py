"""`pentad directory`: find, compare, sign and delete records; on the store or, with --url, on a server.

Verbs for files are in `files.py`. Where another directory is named in the settings, records go there.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pentad.rooms.directory.interface.cli.files import export, import_sources, migrate, push, validate
from pentad.rooms.directory.interface.cli.records import failed, record_given, record_text, tell, with_schemas, within
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


for verb in (validate, push, import_sources, export, migrate):
    directory.add_command(verb)


@directory.command()
@json_option
@server_options()
def versions(as_json: bool, target: "Target") -> None:
    """List the OASF versions that are known; the default is marked."""
    if target.server is None:
        available, default = with_schemas(target.settings, lambda schemas: schemas.versions())
    else:
        found = target.call_tool("agntcy_oasf_list_versions", {})
        available, default = found["available_versions"], found["default_version"]
    tell(
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
@click.option("--created", "created_ats", multiple=True, metavar="PATTERN", help="When made, also >=2026-05-17.")
@click.option("--author", "authors", multiple=True, metavar="PATTERN", help="Authors.")
@click.option("--schema-version", "schema_versions", multiple=True, metavar="PATTERN", help="OASF versions.")
@click.option("--any", "any_of", is_flag=True, help="One kind of filter is enough; by default all must match.")
@click.option("--sort", type=click.Choice(["recency", "popularity", "relevance"]), help="Newest first by default.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many to list.")
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True, help="How many to skip.")
@json_option
@server_options()
def search(
    words: tuple[str, ...],
    any_of: bool,
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
    found = target.run(
        lambda client: _found(client, {**given, "limit": limit, "offset": offset, "return": "records"}), "directory"
    )
    if as_json:
        print_json(found)
        return
    rows = [(one["cid"], one["name"], one["version"], one.get("score", "")) for one in found["records"]]
    print_table(("cid", "name", "version", "score"), rows, empty="No record was found.")
    if found["has_more"]:
        say(f"{found['total']:,} in all; --offset {offset + len(rows)} goes on.")


async def _found(client: "Client", asked: dict[str, Any]) -> dict[str, Any]:
    answer = await client.call_tool("agntcy_dir_search_local", asked)
    if (error := failed(answer)) is not None:
        raise error
    records = {one["cid"]: one["record"] for one in answer.get("records", ())}
    hits = answer.get("hits") or [{"cid": cid} for cid in answer.get("record_cids", ())]
    listed = [
        {**hit, **{key: records[hit["cid"]].get(key) for key in ("name", "version", "schema_version")}}
        for hit in hits
        if hit["cid"] in records
    ]
    shown = {"records": listed, "total": answer.get("total_count"), "has_more": answer["has_more"]}
    return {**shown, "retrieval": answer["retrieval"]} if "retrieval" in answer else shown


@directory.command()
@click.argument("record")
@click.option("--canonical", is_flag=True, help="The exact text the CID is the hash of.")
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
    """Say which record REFERENCE (name[:version][@cid]) means."""
    found = target.call_tool("directory_resolve", {"reference": reference}, "directory")
    tell({name: found[name] for name in ("name", "version", "cid")}, as_json, lambda: [found["cid"]])


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
        print_table(("version", "created", "cid", "replaces"), rows, empty="There is no such record.")


@directory.command()
@click.argument("before")
@click.argument("after")
@json_option
@server_options()
def diff(before: str, after: str, as_json: bool, target: "Target") -> None:
    """Compare two records (files, CIDs or name:version) by meaning."""
    from pentad.rooms.directory.translate.difference import Difference, difference

    async def work(client: "Client") -> Difference:
        return difference(await record_given(client, before), await record_given(client, after))

    found = target.run(work, "directory")
    tell(found.as_json(), as_json, found.lines)


@directory.command()
@click.argument("reference")
@click.option("--key", metavar="FILE", help="A private key (PEM), env://NAME, or the server's own key by default.")
@click.option("--password", "ask", is_flag=True, help="Ask for the password of the key.")
@json_option
@server_options()
def sign(reference: str, key: str | None, ask: bool, as_json: bool, target: "Target") -> None:
    """Sign a record and attach the signature and the public key to it."""
    if target.server is not None:
        if key is not None or ask:
            raise click.UsageError(
                "A private key is not sent to a server. Leave out --key: the server's own key signs."
            )
        signed = target.call_tool("directory_sign", {"reference": reference})
    else:
        password: str | None = click.prompt("Password", hide_input=True, err=True) if ask else None
        signed = within(target.settings, lambda room: _signed(room, reference, key, password))
    if as_json:
        print_json(signed)


async def _signed(room: "Directory", reference: str, key: str | None, password: str | None) -> dict[str, Any]:
    from pentad.kernel.principal import LOCAL

    found = await room.resolve(reference)
    given = key or await room.signing_keys.private_key()
    made = await room.trust.sign(LOCAL, found.cid, given, password, local=True)
    return {"cid": found.cid, **made.to_json()}


@directory.command()
@click.argument("reference")
@click.option("--key", metavar="FILE", help="Only a signature by this public key counts.")
@click.option("--name", "by_name", is_flag=True, help="Also ask the domain in the name whether it knows the key.")
@json_option
@server_options()
def verify(reference: str, key: str | None, by_name: bool, as_json: bool, target: "Target") -> int:
    """Check the signatures of a record. The exit code is 1 when it is not trusted."""
    if target.server is None:
        told = within(target.settings, lambda room: _verified(room, reference, key, by_name))
    elif key is None:
        told = target.run(lambda client: _verified_there(client, reference, by_name))
    else:
        raise click.UsageError("A server checks every key. Leave out --key, or pull the record and check it here.")
    tell(told, as_json, lambda: [told["message"], *([str(told["name"])] if "name" in told else [])])
    return ExitCode.OK if told["success"] else ExitCode.FAILED


async def _verified(room: "Directory", reference: str, key: str | None, by_name: bool) -> dict[str, Any]:

    found = await room.resolve(reference)
    verdict = await room.trust.verify(found.cid, key, local=True)
    signers = [{"identity": one.identity, "issuer": one.issuer} for one in verdict.signers]
    told: dict[str, Any] = {"cid": found.cid, "success": verdict.success, "message": verdict.message}
    told["signers"] = signers
    if by_name:
        named = await room.trust.verify_name(found.cid, None, None)
        told |= {"success": verdict.success and named.verified, "name": named.error_message or named.domain}
    return told


async def _verified_there(client: "Client", reference: str, by_name: bool) -> dict[str, Any]:
    cid = (await client.call_tool("directory_resolve", {"reference": reference}))["cid"]
    verdict = await client.call_tool("agntcy_dir_verify_record", {"cid": cid})
    told = {"cid": cid, "success": verdict["success"], "message": verdict["message"]}
    told["signers"] = verdict.get("signers", [])
    if by_name:
        named = await client.call_tool("agntcy_dir_verify_name", {"cid": cid})
        domain = named.get("domain_verification", {}).get("domain", "")
        told |= {"success": told["success"] and named["verified"], "name": named.get("error_message") or domain}
    return told


@directory.command()
@click.argument("reference")
@json_option
@server_options()
def delete(reference: str, as_json: bool, target: "Target") -> None:
    """Delete one record with its signatures, for good."""
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


directory.add_command(signing_keys("records", _record_ring, _fingerprint))
