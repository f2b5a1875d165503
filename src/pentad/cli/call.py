"""`pentad call`: one tool call from a terminal or a script, in this process or on a server."""

import asyncio
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.names import did_you_mean
from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_error, print_json, print_text, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target

_ANY: Final = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})
_DEEPEST_REFERENCE: Final = 20
_NO_MATCH: Final = object()


@click.command()
@click.argument("tool")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--args", "file", metavar="FILE|-", help="A JSON object of arguments; - is stdin. key=value arguments override it."
)
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

    Values are converted by the tool's schema (`pentad list tools --json` shows it): numbers, true and false, JSON for
    objects and lists; a repeated key adds to a list.
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
        if "describe_tool" in tools:  # the list is not complete
            found = await client.call_tool("describe_tool", {"name": tool})
        elif (found := tools.get(tool)) is None:
            there = "" if target.server is None else f" --url {target.server.url}"
            meant = did_you_mean(tool, tools) or f"`pentad list tools{there}` shows all of them."
            raise NotFound(f"There is no tool {tool!r}.", hint=meant)
        arguments = {**given, **arguments_from_words(words, found["inputSchema"])}
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
    """Print texts as they are, and name every other block."""
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


def arguments_from_words(words: Iterable[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Convert `key=value` words to arguments by the tool's schema.

    A repeated key adds to a list. Only values that cannot be converted are refused here; the server validates the rest.
    """
    found: dict[str, Any] = {}
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name:
            raise InvalidInput(f"{word!r} is not an argument.", hint="Write arguments as key=value.")
        if name not in properties and schema.get("additionalProperties") is False:
            meant = did_you_mean(name, properties) or f"The arguments are {', '.join(properties) or 'none'}."
            raise InvalidInput(f"There is no argument {name!r}.", hint=meant)
        value = _value(name, text, properties.get(name, {}), schema)
        if isinstance(value, list) and isinstance(found.get(name), list):
            found[name] += value
        elif name in found:
            raise InvalidInput(f"{name!r} is given more than once.", hint="Only a list argument may be repeated.")
        else:
            found[name] = value
    return found


def _value(name: str, text: str, schema: Any, root: Mapping[str, Any]) -> Any:
    types = _types(schema, root)
    for kind in ("boolean", "integer", "number", "null", "object", "array"):
        if kind in types and (value := _read(kind, text)) is not _NO_MATCH:
            return value
    if "string" in types:
        return text
    if "array" in types and not text.lstrip().startswith("["):
        return [_value(name, text, _items(schema, root), root)]
    raise InvalidInput(
        f"{name!r} cannot be {text[:80]!r}.", hint=f"It must be {' or '.join(sorted(types))}; see its schema."
    )


def _read(kind: str, text: str) -> Any:
    """Convert the text to that type; `_NO_MATCH` if that is not possible."""
    try:
        value = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return _NO_MATCH
    fits = {
        "boolean": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value),
        "null": value is None,
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
    }
    return value if fits[kind] else _NO_MATCH


def _reject_constant(_: str) -> Any:
    raise ValueError


def _types(schema: Any, root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """The JSON types a schema allows."""
    resolved = _resolved(schema, root)
    if resolved is None or depth > _DEEPEST_REFERENCE:
        return _ANY
    if isinstance(kind := resolved.get("type"), str):
        return frozenset({kind})
    if isinstance(kind, list):
        return frozenset(str(one) for one in cast("list[Any]", kind))
    for keyword in ("anyOf", "oneOf"):
        if isinstance(branches := resolved.get(keyword), list):
            return frozenset[str]().union(*(_types(one, root, depth + 1) for one in cast("list[Any]", branches)))
    if isinstance(choices := resolved.get("enum", [resolved["const"]] if "const" in resolved else None), list):
        return frozenset(_type_of(choice) for choice in cast("list[Any]", choices))
    return _ANY


def _items(schema: Any, root: Mapping[str, Any]) -> Any:
    resolved = _resolved(schema, root) or {}
    branches = cast("list[Any]", resolved.get("anyOf") or [])
    for one in [resolved, *(_resolved(branch, root) or {} for branch in branches)]:
        if "items" in one:
            return one["items"]
    return {}


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema with references within the document resolved; None if a reference cannot be resolved."""
    for _ in range(_DEEPEST_REFERENCE):
        if not isinstance(schema, Mapping):
            return None
        known = cast("Mapping[str, Any]", schema)
        reference = known.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return known
        schema = root
        for part in reference[2:].split("/"):
            schema = cast("Mapping[str, Any]", schema).get(part) if isinstance(schema, Mapping) else None
    return None


def _type_of(value: Any) -> str:
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "boolean"),
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (dict, "object"),
        (list, "array"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")
