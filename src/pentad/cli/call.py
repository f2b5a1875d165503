"""`pentad call`: one tool call from a terminal or a script, in this process or on a server."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import click

from pentad.cli.arguments import arguments_from_words
from pentad.cli.options import json_option, settings_options
from pentad.cli.output import ExitCode, print_error, print_json, print_text, say
from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.names import did_you_mean

if TYPE_CHECKING:
    from pentad.settings.model import Settings


class Caller(Protocol):
    """The client's side of a conversation."""

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]: ...

    async def list_all(self, method: str, key: str) -> list[dict[str, Any]]: ...


@click.command()
@click.argument("tool")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--args", "file", metavar="FILE|-", help="A JSON object of arguments; - is stdin. Words go before it.")
@json_option
@click.option("--url", help="Call a server over HTTP instead, e.g. http://127.0.0.1:8700/mcp.")
@click.option("--token", envvar="PENTAD_TOKEN", help="The API key for --url; PENTAD_TOKEN keeps it out of sight.")
@click.option("--user", metavar="NAME[:PASSWORD]", help="The login for --url; the password is asked for.")
@settings_options("rooms", "data", "database")
def call(
    tool: str,
    words: tuple[str, ...],
    file: str | None,
    as_json: bool,
    url: str | None,
    token: str | None,
    user: str | None,
    settings: "Settings",
) -> None:
    """Call a tool, in process or on a server.

    Values are read as the tool's schema asks for (`pentad list tools --json` shows it): numbers, true and false, JSON
    for objects and lists; a repeated key adds to a list.
    """
    given = _file_arguments(file)
    result = asyncio.run(_call(settings, tool, words, given, url, authorization_of(url, token, user)))
    failed = bool(result.get("isError"))
    if as_json:
        print_json(result)
    elif failed:
        print_error(_text(result) or "The tool failed.")
    else:
        _print(result)
    if failed:
        click.get_current_context().exit(ExitCode.FAILED)


async def _call(
    settings: "Settings",
    tool: str,
    words: Sequence[str],
    given: Mapping[str, Any],
    url: str | None,
    authorization: str | None,
) -> dict[str, Any]:
    async with caller_of(settings, url, authorization) as caller:
        tools = {entry["name"]: entry for entry in await caller.list_all("tools/list", "tools")}
        if tool not in tools:
            meant = did_you_mean(tool, tools) or "`pentad list tools` shows all of them."
            raise NotFound(f"There is no tool {tool!r}.", hint=meant)
        arguments = {**given, **arguments_from_words(words, tools[tool]["inputSchema"])}
        return await caller.request("tools/call", {"name": tool, "arguments": arguments})


@asynccontextmanager
async def caller_of(settings: "Settings", url: str | None, authorization: str | None) -> AsyncGenerator[Caller]:
    """A conversation with the server at a URL, or without one with the rooms opened in this process."""
    if url is not None:
        from pentad.cli.remote import remote_server

        async with remote_server(url, authorization) as server:
            yield server
        return
    from pentad.app import open_app
    from pentad.mcp.memory import RemoteError
    from pentad.mcp.wire_errors import RESOURCE_NOT_FOUND

    async with open_app(settings) as app, app.client() as client:
        try:
            yield client
        except RemoteError as error:
            kind = NotFound if error.code == RESOURCE_NOT_FOUND else InvalidInput
            raise kind(error.message) from None


def authorization_of(url: str | None, token: str | None, user: str | None) -> str | None:
    """What to log in with; a password that is missing is asked for."""
    from pentad.cli.remote import authorization_header

    if url is None:
        return None
    if user is None:
        return authorization_header(token, None, None)
    name, colon, password = user.partition(":")
    if not colon:
        password = click.prompt("Password", hide_input=True, err=True)
    return authorization_header(None, name, password)


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
