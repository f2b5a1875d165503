"""`pentad directory`: look into the directory, and everything a record goes through; on the store itself, as its owner.

Verbs for files are in `directory_files.py`. Where another directory is named in the settings, records go there.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pentad.cli.directory_files import export, import_sources, migrate, push, validate
from pentad.cli.directory_room import indented, out_option, record_given, tell, with_schemas, within, write
from pentad.cli.options import json_option, store_options
from pentad.cli.output import ExitCode, print_json, print_table, say
from pentad.cli.signing_keys import RECORD_KEYS

if TYPE_CHECKING:
    from pentad.rooms.directory.search.query import Query
    from pentad.rooms.directory.service import Directory
    from pentad.settings.model import Settings


@click.group()
def directory() -> None:
    """Validate, push, find, translate and sign agent records."""


for verb in (validate, push, import_sources, export, migrate, RECORD_KEYS):
    directory.add_command(verb)


@directory.command()
@json_option
@store_options
def versions(as_json: bool, settings: "Settings") -> None:
    """List the OASF versions that are known; the default is marked."""
    available, default = with_schemas(settings, lambda schemas: schemas.versions())
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
@store_options
def search(
    words: tuple[str, ...],
    any_of: bool,
    sort: Literal["recency", "popularity", "relevance"] | None,
    limit: int,
    offset: int,
    as_json: bool,
    settings: "Settings",
    **filters: tuple[str, ...],
) -> None:
    """Find records by WORDS, by filters, or both. Values of one filter are alternatives."""
    from pentad.rooms.directory.search.query import asked

    given = {name: list(values) for name, values in filters.items()}
    if not words and not any(given.values()):
        given["names"] = ["*"]
    query = asked(
        given, words=" ".join(words), match="any" if any_of else "all", sort=sort, limit=limit, offset=offset
    )  # fmt: skip
    found = within(settings, lambda room: _found(room, query))
    if as_json:
        print_json(found)
        return
    rows = [(one["cid"], one["name"], one["version"], one.get("score", "")) for one in found["records"]]
    print_table(("cid", "name", "version", "score"), rows, empty="No record was found.")
    if found["has_more"]:
        say(f"{found['total']:,} in all; --offset {offset + len(rows)} goes on.")


async def _found(room: "Directory", query: "Query") -> dict[str, Any]:
    found = await room.node.search(query)
    records = {one.cid: one.data for one in await room.node.pull_many([hit.cid for hit in found.hits])}
    listed = [
        {**hit.as_json(), **{key: records[hit.cid].get(key) for key in ("name", "version", "schema_version")}}
        for hit in found.hits
        if hit.cid in records
    ]
    shown = {"records": listed, "total": found.total, "has_more": found.has_more}
    return shown if found.retrieval is None else {**shown, "retrieval": found.retrieval}


@directory.command()
@click.argument("record")
@click.option("--canonical", is_flag=True, help="The exact text the CID is the hash of.")
@out_option
@store_options
def pull(record: str, canonical: bool, out: Path | None, settings: "Settings") -> None:
    """Print RECORD (a CID, or name[:version][@cid]) after checking its hash."""
    from pentad.rooms.directory.record_references import find_record

    found = within(settings, lambda room: find_record(room, record))
    write(found.text if canonical else indented(found.data), out)


@directory.command()
@click.argument("reference")
@json_option
@store_options
def resolve(reference: str, as_json: bool, settings: "Settings") -> None:
    """Say which record REFERENCE (name[:version][@cid]) means."""
    from pentad.rooms.directory.record_references import resolve_reference

    found = within(settings, lambda room: resolve_reference(room, reference))
    tell({"name": found.name, "version": found.version, "cid": found.cid}, as_json, lambda: [found.cid])


@directory.command()
@click.argument("reference")
@json_option
@store_options
def lineage(reference: str, as_json: bool, settings: "Settings") -> None:
    """List the history of an agent, oldest first."""
    steps = within(settings, lambda room: room.naming.lineage(reference))
    if as_json:
        print_json(
            [
                {
                    "name": one.name, "version": one.version, "cid": one.cid, "created_at": one.created_at,
                    "previous": one.previous,
                }
                for one in steps
            ]
        )  # fmt: skip
    else:
        rows = [(one.version, one.created_at, one.cid, one.previous or "") for one in steps]
        print_table(("version", "created", "cid", "replaces"), rows, empty="There is no such record.")


@directory.command()
@click.argument("before")
@click.argument("after")
@json_option
@store_options
def diff(before: str, after: str, as_json: bool, settings: "Settings") -> None:
    """Compare two records (files, CIDs or name:version) by meaning."""
    from pentad.rooms.directory.translate.difference import Difference, difference

    async def work(room: "Directory") -> Difference:
        return difference(await record_given(room, before), await record_given(room, after))

    found = within(settings, work)
    tell(found.as_json(), as_json, found.lines)


@directory.command()
@click.argument("reference")
@click.option("--key", metavar="FILE", help="A private key (PEM), env://NAME, or the server's own key by default.")
@click.option("--password", "ask", is_flag=True, help="Ask for the password of the key.")
@json_option
@store_options
def sign(reference: str, key: str | None, ask: bool, as_json: bool, settings: "Settings") -> None:
    """Sign a record and attach the signature and the public key to it."""
    from pentad.kernel.principal import LOCAL
    from pentad.rooms.directory.record_references import resolve_reference

    password: str | None = click.prompt("Password", hide_input=True, err=True) if ask else None

    async def work(room: "Directory") -> dict[str, Any]:
        found = await resolve_reference(room, reference)
        given = key or await room.signing_keys.private_key()
        made = await room.trust.sign(LOCAL, found.cid, given, password, local=True)
        return {"cid": found.cid, **made.to_json()}

    signed = within(settings, work)
    if as_json:
        print_json(signed)


@directory.command()
@click.argument("reference")
@click.option("--key", metavar="FILE", help="Only a signature by this public key counts.")
@click.option("--name", "by_name", is_flag=True, help="Also ask the domain in the name whether it knows the key.")
@json_option
@store_options
def verify(reference: str, key: str | None, by_name: bool, as_json: bool, settings: "Settings") -> int:
    """Check the signatures of a record. The exit code is 1 when it is not trusted."""
    from pentad.rooms.directory.record_references import resolve_reference

    async def work(room: "Directory") -> dict[str, Any]:
        found = await resolve_reference(room, reference)
        verdict = await room.trust.verify(found.cid, key, local=True)
        signers = [{"identity": one.identity, "issuer": one.issuer} for one in verdict.signers]
        told: dict[str, Any] = {"cid": found.cid, "success": verdict.success, "message": verdict.message}
        told["signers"] = signers
        if by_name:
            named = await room.trust.verify_name(found.cid, None, None)
            told |= {"success": verdict.success and named.verified, "name": named.error_message or named.domain}
        return told

    told = within(settings, work)
    tell(told, as_json, lambda: [told["message"], *([str(told["name"])] if "name" in told else [])])
    return ExitCode.OK if told["success"] else ExitCode.FAILED


@directory.command()
@click.argument("reference")
@json_option
@store_options
def delete(reference: str, as_json: bool, settings: "Settings") -> None:
    """Delete one record with its signatures, for good."""
    from pentad.kernel.principal import LOCAL
    from pentad.rooms.directory.record_references import resolve_reference

    async def work(room: "Directory") -> str:
        found = await resolve_reference(room, reference)
        await room.records.delete(LOCAL, found.cid)
        return found.cid

    cid = within(settings, work)
    if as_json:
        print_json({"cid": cid, "deleted": True})
