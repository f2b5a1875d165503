"""`pentad audit`: reads, follows, exports and verifies the audit trail. Reading it leaves an entry in it."""

import asyncio
import functools
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.terminal.client import error_from_answer, server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_error, print_json, print_table, print_text, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target

_AUDIT: Final = "/api/admin/audit"
_COLUMNS: Final = ("time", "who", "room", "what", "outcome", "ms", "about")
_FILTERS: Final = (
    click.option("--user", metavar="USER", help="A user's name, or a principal or key such as key:..."),
    click.option("--tool", help="A tool, route or event."),
    click.option("--room", help="A room, or access for logins and administration."),
    click.option("--outcome", help="ok, an error code, or failed for any error."),
    click.option("--trace", metavar="ID", help="A trace id, or the id of a request or incident."),
    click.option("--since", metavar="TIME", help="ISO 8601, or a period before now: 30m, 24h, 7d."),
    click.option("--until", metavar="TIME", help="The same."),
)


def filter_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the filter options; it receives them as `filters`, ready for a query."""

    @functools.wraps(verb)
    def run(*args: Any, **given: Any) -> Any:
        names = ("user", "tool", "room", "outcome", "trace", "since", "until")
        filters = {name: given.pop(name) for name in names}
        return verb(*args, filters=filters, **given)

    decorated: Callable[..., Any] = run
    for option in reversed(_FILTERS):
        decorated = option(decorated)
    return decorated


@click.group(invoke_without_command=True)
@filter_options
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Number of entries.")
@click.option("--follow", "-f", is_flag=True, help="Keep printing new entries as they arrive.")
@json_option
@server_options(filters_by_user=True)
@click.pass_context
def audit(
    context: click.Context,
    filters: dict[str, Any],
    limit: int,
    follow: bool,
    as_json: bool,
    target: "Target",
) -> None:
    """Read, follow, export and verify the audit trail.

    Without a subcommand, prints the last entries, oldest first. The trail records every call, login and administrative
    action, and everyone who reads it.
    """
    if context.invoked_subcommand is not None:
        return
    entries, head = _last(target, filters, limit)
    if as_json and not follow:
        print_json(entries)
        return
    show: Callable[[dict[str, Any]], None] = _print_line if not as_json else lambda one: print_text(json.dumps(one))
    if not follow:
        print_table(_COLUMNS, [_row(one) for one in entries], empty="No entry matches.")
        return
    for one in entries:
        show(one)
    asyncio.run(_follow(target, {**filters, "after": head, "follow": "true"}, show))


@audit.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@filter_options
@server_options(filters_by_user=True)
def export(file: Path, filters: dict[str, Any], target: "Target") -> None:
    """Export the trail as JSON lines, oldest first, to FILE; - is stdout."""
    count = asyncio.run(_export(target, filters, file))
    say(f"Exported {count:,} entries.")


@audit.command()
@click.option("--head", metavar="NUMBER:HASH", help="A head you kept elsewhere; it must be in the chain.")
@json_option
@server_options()
@click.pass_context
def verify(context: click.Context, head: str | None, as_json: bool, target: "Target") -> None:
    """Verify the hash chain of the trail, and print its head.

    Keep the head where people who can write to the store cannot change it. Later, --head proves that everything up to
    it is unchanged. Exit code 1 if the chain is broken.
    """
    found = target.call_route("GET", f"{_AUDIT}/verify", {"head": head})
    if as_json:
        print_json(found)
    else:
        _print_verification(found, head)
    if not found["ok"]:
        context.exit(ExitCode.FAILED)


def _last(target: "Target", filters: dict[str, Any], limit: int) -> tuple[list[dict[str, Any]], int]:
    """The last entries that match, oldest first, and the trail's head."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    head: int | None = None
    while True:
        query = {**filters, "limit": min(1000, limit - len(found)), "cursor": cursor}
        page = target.call_route("GET", _AUDIT, query)
        head = page["head"] if head is None else head
        found += page["entries"]
        cursor = page["cursor"]
        if cursor is None or len(found) >= limit:
            return sorted(found, key=lambda one: one["at"]), head or 0


async def _follow(target: "Target", query: dict[str, Any], show: Callable[[dict[str, Any]], None]) -> None:
    async with target.stream_route("GET", f"{_AUDIT}/export", query) as chunks:
        async for line in _lines(chunks):
            show(_entry(line))


async def _export(target: "Target", query: dict[str, Any], file: Path) -> int:
    count = 0
    async with target.stream_route("GET", f"{_AUDIT}/export", query) as chunks:
        with click.open_file(str(file), "wb") as out:
            async for line in _lines(chunks):
                if line.startswith(b'{"error"'):
                    _entry(line)
                out.write(line + b"\n")
                count += 1
    return count


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line


def _entry(line: bytes) -> dict[str, Any]:
    """Parse an entry. Raises the error if the line reports why the stream ended."""
    one = json.loads(line)
    if "error" in one:
        raise error_from_answer(503, one)
    return one


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    about = [one.get(name, "") for name in ("target", "login", "address", "reason")]
    times = f"{one['times']} times" if "times" in one else ""
    duration = f"{one['duration_ms']:.1f}" if one["duration_ms"] else ""
    who = " ".join(filter(None, (one["principal"], one.get("credential", ""))))
    return (
        one["at"], who, one.get("room", ""), one["tool"], one["outcome"], duration,
        " ".join(filter(None, [*about, times])),
    )  # fmt: skip


def _print_line(one: dict[str, Any]) -> None:
    print_text("  ".join(cell.replace("\n", " ") for cell in _row(one) if cell))
    sys.stdout.flush()


def _print_verification(found: dict[str, Any], head: str | None) -> None:
    if not found["ok"]:
        print_error(f"The audit trail is broken. {found['fault']}", "Compare it with an export or a backup.")
        return
    what = f"{found['batches']:,} batches with {found['entries']:,} entries"
    since = f" since {found['since']}" if found["since"] else ""
    say(f"The audit trail is whole: {what}{since}." + (" It contains the given head." if head else ""))
    if found["checkpoint"]:
        say(f"Retention removed everything up to batch {found['checkpoint'].partition(':')[0]}.")
    if found["uncovered"]:
        say(f"{found['uncovered']:,} batches are older than the chain and not covered by it.")
    print_text(found["head"])
