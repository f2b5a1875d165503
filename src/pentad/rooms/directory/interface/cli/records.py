"""Shared by the commands of `pentad directory`: opening the room or only the schemas, and loading records.

A record is given as a file, as `-` for stdin, as a CID, or as name[:version][@cid].
"""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pentad.kernel.cid import is_cid
from pentad.kernel.errors import PentadError
from pentad.terminal.files import is_file, read
from pentad.terminal.launcher import open_fetcher, run_in_room
from pentad.terminal.output import print_json, print_text

if TYPE_CHECKING:
    from pentad.rooms.directory.oasf.schema_source import SchemaSource
    from pentad.rooms.directory.service import Directory
    from pentad.settings.model import Settings
    from pentad.terminal.client import Client

T = TypeVar("T")


def with_schemas(settings: "Settings", work: "Callable[[SchemaSource], Coroutine[Any, Any, T]]") -> T:
    """Run `work` with the OASF schemas. Neither opens nor creates a store."""
    import asyncio

    async def run() -> T:
        async with open_schemas(settings) as schemas:
            return await work(schemas)

    return asyncio.run(run())


@asynccontextmanager
async def open_schemas(settings: "Settings") -> "AsyncGenerator[SchemaSource]":
    """The OASF schemas: the embedded ones, or those of the server in the settings."""
    from pentad.kernel.clock import SystemClock
    from pentad.rooms.directory.service import configured_schemas
    from pentad.rooms.directory.settings import DirectorySettings
    from pentad.settings.rooms import resolve_room

    own: DirectorySettings = resolve_room(settings, "directory", DirectorySettings).values
    async with open_fetcher(settings) as fetcher:
        yield configured_schemas(own, fetcher, SystemClock())


def run_in_directory(settings: "Settings", work: "Callable[[Directory], Coroutine[Any, Any, T]]") -> T:
    """Run `work` with the opened directory."""
    return run_in_room(settings, work, "directory")


def reported_error(answer: dict[str, Any]) -> PentadError | None:
    """The error in the answer of one of the original's tools, if any."""
    message = str(answer.get("error_message") or "")
    return PentadError(message[:1].lower() + message[1:]) if message else None


async def record_text(client: "Client", reference: str) -> str:
    """The canonical text of a record, by CID or name."""
    given = reference.strip()
    cid = given if is_cid(given) else (await client.call_tool("directory_resolve", {"reference": given}))["cid"]
    return await client.read(f"directory://records/{cid}")


async def load_record(client: "Client", given: str) -> dict[str, Any]:
    """A record from a file, from stdin, or by CID or name."""
    from pentad.rooms.directory.oasf.parsing import parse_record

    return parse_record(read(given) if is_file(given) else (await record_text(client, given)).encode())


def print_result(value: Any, as_json: bool, lines: Callable[[], list[str]]) -> None:
    """Print the value as JSON for programs, or its lines for people."""
    if as_json:
        print_json(value)
    else:
        for line in lines():
            print_text(line)
