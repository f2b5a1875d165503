"""What the verbs of `pentad directory` share: the room opened for its owner, and the records people point at.

A record is given as a file, as `-` for what comes in, as a CID, or as name[:version][@cid].
"""

import json
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pentad.cli.output import print_json, print_text
from pentad.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from pentad.rooms.directory.oasf.schema_source import SchemaSource
    from pentad.rooms.directory.service import Directory
    from pentad.settings.model import Settings

T = TypeVar("T")

LARGEST_FILE: Final = 16 * 1024 * 1024
out_option: Final = click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="The file to write.  [default: stdout]"
)


@asynccontextmanager
async def opened(settings: "Settings") -> "AsyncGenerator[Directory]":
    """The directory alone."""
    from pentad.app import open_app

    async with open_app(replace(settings, rooms=("directory",))) as app:
        yield app.rooms[0].service


def with_schemas(settings: "Settings", work: "Callable[[SchemaSource], Coroutine[Any, Any, T]]") -> T:
    """Do something that asks about OASF alone: no store is opened, nor made where there is none."""
    import asyncio

    from pentad.kernel.clock import SystemClock
    from pentad.net.fetch import HttpFetcher
    from pentad.rooms.directory.service import configured_schemas

    async def run() -> T:
        fetcher = HttpFetcher(settings.fetch)
        try:
            return await work(configured_schemas(settings.room("directory"), fetcher, SystemClock()))
        finally:
            await fetcher.close()

    return asyncio.run(run())


def within(settings: "Settings", work: "Callable[[Directory], Coroutine[Any, Any, T]]") -> T:
    """Do something with the opened directory."""
    import asyncio

    async def run() -> T:
        async with opened(settings) as directory:
            return await work(directory)

    return asyncio.run(run())


def read(source: str) -> bytes:
    """The content of a file, or of stdin for `-`."""
    try:
        if source == "-":
            content = sys.stdin.buffer.read(LARGEST_FILE + 1)
        else:
            with Path(source).open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise click.UsageError(f"{source} cannot be read: {error.strerror}.") from None
    if len(content) > LARGEST_FILE:
        raise InvalidInput(f"{source} has more than {LARGEST_FILE} bytes.", hint="No record is that large.")
    return content


async def record_given(directory: "Directory", given: str) -> dict[str, Any]:
    """The record somebody points at."""
    from pentad.rooms.directory.oasf.parsing import parse_record
    from pentad.rooms.directory.record_references import find_record

    if _is_file(given):
        return parse_record(read(given))
    return (await find_record(directory, given)).data


def _is_file(given: str) -> bool:
    try:
        return given == "-" or Path(given).is_file()
    except (OSError, ValueError):  # too long for a path, or not one
        return False


def write(text: str, out: Path | None) -> None:
    """Give out a text: to stdout, or to a file that appears only when it is complete."""
    if out is None:
        print_text(text.removesuffix("\n"))
        return
    unfinished = out.with_name(f".{out.name}.part")
    try:
        unfinished.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
        unfinished.replace(out)
    except OSError as error:
        raise click.UsageError(f"{out} cannot be written: {error.strerror}.") from None
    finally:
        unfinished.unlink(missing_ok=True)


def indented(record: Any) -> str:
    return json.dumps(record, ensure_ascii=False, indent=2)


def tell(value: Any, as_json: bool, lines: Callable[[], list[str]]) -> None:
    """The value as JSON for programs, or its lines for people."""
    if as_json:
        print_json(value)
    else:
        for line in lines():
            print_text(line)
