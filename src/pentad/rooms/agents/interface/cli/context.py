"""`pentad agents context`: checks and prepares contexts in files, without a server.

Only `resolve` needs more: it reads Pentad's own references in the store as its owner, or on a server with --url. It
fetches references to the web from this machine.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from pentad.kernel.errors import InvalidInput
from pentad.terminal.client import server_options
from pentad.terminal.files import indented, out_option, read, write
from pentad.terminal.launcher import open_fetcher
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_json, print_text, say

if TYPE_CHECKING:
    from pentad.kernel.principal import Principal
    from pentad.mcp.content import Contents
    from pentad.rooms.agents.context.findings import Level
    from pentad.settings.model import Settings
    from pentad.terminal.client import Client, Target

level_option = click.option(
    "--level",
    type=click.Choice(["lenient", "standard", "strict"]),
    default="standard",
    show_default=True,
    help="lenient accepts what AgentVault accepts.",
)


@click.group()
def context() -> None:
    """Check, hash, clean, fit and resolve an `mcp_context`. FILE is JSON; - reads it from stdin."""


@context.command()
@click.argument("file")
@level_option
@json_option
def lint(file: str, level: "Level", as_json: bool) -> int:
    """List every issue of a context, with its place."""
    from pentad.rooms.agents.context.lint import lint_text

    report = lint_text(read(file), level, now=time.time())
    if as_json:
        print_json(report.as_json())
    else:
        for issue in report.issues:
            print_text(f"{issue.severity.upper()} {issue.code} {issue.line()}")
        if report.more:
            say(f"{report.more} more are not listed.")
    return ExitCode.OK if report.valid else ExitCode.FAILED


@context.command(name="hash")
@click.argument("file")
@json_option
def hash_of(file: str, as_json: bool) -> int:
    """Print the hash of a context, over its canonical form (RFC 8785)."""
    from pentad.rooms.agents.context.integrity import seal_items

    seal = seal_items(_items(file))
    if as_json:
        print_json(seal)
    else:
        print_text(seal["sha256"])
    return ExitCode.OK


@context.command()
@click.argument("file")
@click.option("--target", default="agent", show_default=True, help="The receiver: the name of an agent, or store.")
@json_option
@out_option
def redact(file: str, target: str, as_json: bool, out: Path | None) -> int:
    """Print a context without its secrets; stderr lists what was masked."""
    from pentad.rooms.agents.context.redaction import redact_items

    clean = redact_items(_items(file), target)
    report = [{"path": one.path, "what": one.what, "action": one.action} for one in clean.report]
    if as_json:
        print_json({"context": {"items": clean.items}, "masked": report})
        return ExitCode.OK
    write(indented({"items": clean.items}), out)
    for one in report:
        say(f"{one['path']}: {one['what']} masked")
    return ExitCode.OK


@context.command()
@click.argument("file")
@click.option("--max-bytes", type=click.IntRange(min=64), help="The maximum number of bytes.  [default: 65536]")
@click.option("--max-tokens", type=click.IntRange(min=16), help="The maximum number of tokens, four bytes each.")
@click.option("--no-refs", is_flag=True, help="The receiver cannot resolve references: cut or leave out instead.")
@json_option
@out_option
def plan(
    file: str, max_bytes: int | None, max_tokens: int | None, no_refs: bool, as_json: bool, out: Path | None
) -> int:
    """Print a context that fits a budget; stderr says what happened to each item."""
    from pentad.rooms.agents.context.budget import plan_context

    if max_bytes is None and max_tokens is None:
        max_bytes = 65_536
    made = plan_context(_items(file), max_bytes=max_bytes, max_tokens=max_tokens, refer=not no_refs)
    if as_json:
        print_json({**made.as_json(), "context": {"items": made.items}})
        return ExitCode.OK
    write(indented({"items": made.items}), out)
    for one in made.decisions:
        why = f": {one.why}" if one.why else ""
        say(f"{one.name}: {one.fate}, {one.size} -> {one.sent} bytes{why}")
    return ExitCode.OK


@context.command()
@click.argument("file")
@click.option("--item", "names", multiple=True, metavar="NAME", help="Only this item; may be repeated.")
@json_option
@out_option
@server_options("rooms")
def resolve(file: str, names: tuple[str, ...], as_json: bool, out: Path | None, target: "Target") -> int:
    """Print a context with the contents of its references put in, hashes verified."""
    items = _items(file)
    unknown = [name for name in names if name not in items]
    if unknown:
        raise click.UsageError(f"There is no item {unknown[0]!r} in the context.")
    whole = target.run(lambda client: _resolved(client, target.settings, items, names))
    if as_json:
        print_json({"items": whole})
    else:
        write(indented({"items": whole}), out)
    return ExitCode.OK


async def _resolved(
    client: "Client", settings: "Settings", items: dict[str, Any], names: tuple[str, ...]
) -> dict[str, Any]:
    from pentad.kernel.principal import LOCAL
    from pentad.mcp.references import scheme_of
    from pentad.rooms.agents.context.refs import Resolver

    templates = await client.list_all("resources/templates/list", "resourceTemplates")
    resources = _ClientResources(client, [scheme_of(one["uriTemplate"]) for one in templates])
    async with open_fetcher(settings) as fetcher:
        resolver = Resolver(resources, None, fetcher)
        return await resolver.open(LOCAL, items).all(names or None)


class _ClientResources:
    """Reads resources through a client; the login decides about rights."""

    def __init__(self, client: "Client", schemes: list[str]) -> None:
        self._client = client
        self._schemes = schemes

    async def read(self, principal: "Principal", uri: str) -> "list[Contents]":
        import msgspec

        from pentad.mcp.content import Contents

        found = await self._client.request("resources/read", {"uri": uri})
        return msgspec.convert(found.get("contents"), list[Contents])

    def schemes(self) -> list[str]:
        return self._schemes


def _items(file: str) -> dict[str, Any]:
    """The items of the context in a file; InvalidInput with the reasons if it is not valid."""
    from pentad.rooms.agents.context.findings import Issues, refusal
    from pentad.rooms.agents.context.lint import parse, unwrapped
    from pentad.rooms.agents.context.shape import shape

    issues = Issues("lenient")
    try:
        value = unwrapped(parse(read(file), issues))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file} is not JSON: {error}.", hint="A context is one JSON object.") from None
    shaped = shape(value, issues)
    if shaped is None or not issues.valid:
        raise refusal(issues.errors)
    for issue in issues.found:
        say(issue.line())
    return cast("dict[str, Any]", shaped.get("items", {}))
