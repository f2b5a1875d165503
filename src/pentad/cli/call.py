"""`pentad call`: one tool call from a terminal or a script, in this process or on a server."""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from pentad.cli.arguments import arguments_from_words
from pentad.kernel.errors import NotFound
from pentad.kernel.names import did_you_mean
from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_error, print_json, print_text, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target


@click.command()
@click.argument("tool")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--args", "file", metavar="FILE|-", help="A JSON object of arguments; - is stdin. Words go before it.")
@json_option
@server_options("rooms")
def call(
    tool: str,
    words: tuple[str, ...],
    file: str | None,
    as_json: bool,
    target: "Target",
) -> None:
    """Call a tool, in process or on a server.

    Values are read as the tool's schema asks for (`pentad list tools --json` shows it): numbers, true and false, JSON
    for objects and lists; a repeated key adds to a list.
    """
    given = _file_arguments(file)
    result = asyncio.run(_call(target, tool, words, given))
    failed = bool(result.get("isError"))
    if as_json:
        print_json(result)
    elif failed:
        print_error(_text(result) or "The tool failed.")
    else:
        _print(result)
    if failed:
        click.get_current_context().exit(ExitCode.FAILED)


async def _call(target: "Target", tool: str, words: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    async with target.open() as client:
        tools = {entry["name"]: entry for entry in await client.list_all("tools/list", "tools")}
        if tool not in tools:
            meant = did_you_mean(tool, tools) or "`pentad list tools` shows all of them."
            raise NotFound(f"There is no tool {tool!r}.", hint=meant)
        arguments = {**given, **arguments_from_words(words, tools[tool]["inputSchema"])}
        return await client.request("tools/call", {"name": tool, "arguments": arguments})


def _file_arguments(file: str | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        content = json.loads(text)
    except OSError as error:
        raise click.UsageError(f"--args {file} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--args {file} is not JSON: {error}.") from None
    if not isinstance(content, dict):
        raise click.UsageError(f"--args {file} is not a JSON object.")
    return cast("dict[str, Any]", content)


def _print(result: dict[str, Any]) -> None:
    """The texts as they are; of anything else, that it is there."""
    if text := _text(result):
        print_text(text)
    elif "structuredContent" in result:
        print_json(result["structuredContent"])
    for block in cast("list[dict[str, Any]]", result.get("content") or []):
        if block.get("type") != "text":
            place = block.get("uri") or block.get("mimeType") or ""
            say(f"[{block.get('type')} {place}] --json shows it.")


def _text(result: dict[str, Any]) -> str:
    blocks = cast("list[dict[str, Any]]", result.get("content") or [])
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
