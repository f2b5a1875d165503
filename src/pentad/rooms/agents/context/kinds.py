"""The kind of an item: stated in `metadata.kind` or inferred from its members, and validated against MCP's own types.

Readers rely on the kind (a tool, a picture), so an item must match the kind it states. Content blocks,
tools and prompts are validated by MCP's rules.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.problems import Place
from pentad.rooms.agents.context.findings import Issues, place_at
from pentad.rooms.agents.context.shape import kind_word

KINDS: Final = (
    "text", "json", "file", "image", "audio", "resource", "resource_link", "content", "tool", "prompt", "schema",
    "memory", "history", "instruction", "mcp_server",
)  # fmt: skip
BLOCKS: Final = ("text", "image", "audio", "resource", "resource_link")
TEXT_TYPES: Final = ("text/plain", "text/markdown")
USUAL_TYPES: Final = ("application/json", *TEXT_TYPES)
"""Media types that need no check."""
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_ROLES: Final = ("user", "assistant")

Rule = Callable[[Any, Place, Issues], None]


def stated_kind(item: Mapping[str, Any]) -> Any:
    """The kind an item states, if any."""
    metadata = item.get("metadata")
    if not (type(metadata) is dict or isinstance(metadata, Mapping)):
        return item.get("kind")
    stated = cast("Mapping[str, Any]", metadata).get("kind")
    return item.get("kind") if stated is None else stated


def media_of(item: Mapping[str, Any]) -> str:
    """The media type of an item in lower case without parameters; empty if it has none."""
    media = item.get("mediaType")
    if media in USUAL_TYPES:
        return media
    return str(media).partition(";")[0].strip().lower() if media else ""


def kind_of(item: Mapping[str, Any]) -> str:
    """The kind of an item: stated or inferred."""
    stated = stated_kind(item)
    return stated if isinstance(stated, str) and stated in KINDS else inferred_kind(item, media_of(item))


def inferred_kind(item: Mapping[str, Any], media: str) -> str:
    """The kind of an item that states none."""
    content = item.get("content")
    if content is None and item.get("ref") is not None:
        return "resource_link"
    if media.startswith(("image/", "audio/")):
        return media.partition("/")[0]
    if media == "application/schema+json":
        return "schema"
    if isinstance(content, dict):
        return _object_kind(cast("dict[str, Any]", content))
    if isinstance(content, str) and not is_json_type(media):
        return "file" if is_binary(media) else "text"
    return "json"


def _object_kind(content: dict[str, Any]) -> str:
    if isinstance(content.get("name"), str) and isinstance(content.get("inputSchema"), dict):
        return "tool"
    if "$schema" in content:
        return "schema"
    if content.get("type") in BLOCKS:
        trial = Issues("standard")
        check_block(content, None, trial)
        if trial.valid:
            return "content"
    return "json"


def is_json_type(media: str) -> bool:
    return media == "application/json" or media.endswith("+json")


def is_binary(media: str) -> bool:
    """Whether content of this type is bytes, sent as base64."""
    if media.startswith(("image/", "audio/", "video/", "font/")):
        return not media.endswith("+xml")
    return media in _BINARY or media.startswith(("application/vnd.openxmlformats", "application/vnd.ms-"))


_BINARY: Final = frozenset(
    f"application/{name}" for name in ("pdf", "zip", "gzip", "octet-stream", "x-tar", "msword", "epub+zip", "wasm")
)


def is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def check_kind(item: Mapping[str, Any], kind: str, place: Place, issues: Issues) -> None:
    """Check that the item matches its kind."""
    content = item.get("content")
    if content is None:
        return
    if kind in ("image", "audio"):
        media = str(item.get("mediaType") or "")
        if media and not media.lower().startswith(f"{kind}/"):
            issues.add("kind-mismatch", (place, "mediaType"), f"{media[:80]!r} is not the type of {_an(kind)}.")
    if (rule := _RULES.get(kind)) is not None:
        rule(content, (place, "content"), issues)


def check_block(block: Any, place: Place, issues: Issues) -> None:
    """Check a content block of MCP."""
    given = _object(block, place, "A content block", "bad-block", issues)
    if given is None:
        return
    kind = given.get("type")
    if kind not in BLOCKS:
        message = f"A content block has a `type`: {', '.join(BLOCKS)}."
        issues.add_value("bad-block", (place, "type"), message, kind, BLOCKS)
    elif kind == "text":
        _texts(given, ("text",), (), place, "bad-block", issues)
    elif kind in ("image", "audio"):
        _texts(given, ("data", "mimeType"), (), place, "bad-block", issues)
        if isinstance(data := given.get("data"), str) and not is_base64(data):
            issues.add("not-base64", (place, "data"), "The data is not base64.")
    elif kind == "resource_link":
        _texts(given, ("uri", "name"), ("title", "description", "mimeType"), place, "bad-block", issues)
    else:
        check_contents(given.get("resource"), (place, "resource"), issues)
    _annotations(given.get("annotations"), (place, "annotations"), issues)


def check_contents(resource: Any, place: Place, issues: Issues) -> None:
    """Check the contents of an embedded resource: a URI, and text or bytes."""
    given = _object(resource, place, "An embedded resource", "bad-block", issues)
    if given is None:
        return
    _texts(given, ("uri",), ("mimeType", "text", "blob"), place, "bad-block", issues)
    if ("text" in given) == ("blob" in given):
        issues.add("bad-block", place, "An embedded resource has either `text` or `blob`.")
    elif isinstance(blob := given.get("blob"), str) and not is_base64(blob):
        issues.add("not-base64", (place, "blob"), "The blob is not base64.")


def check_tool(tool: Any, place: Place, issues: Issues) -> None:
    """Check a tool as MCP describes it."""
    given = _object(tool, place, "A tool", "bad-tool", issues)
    if given is None:
        return
    _texts(given, ("name",), ("title", "description"), place, "bad-tool", issues)
    if isinstance(name := given.get("name"), str) and not _TOOL_NAME.fullmatch(name):
        issues.add("bad-tool", (place, "name"), "A tool's name has 1 to 128 letters, digits or _ - . /.")
    for member in ("inputSchema", "outputSchema"):
        if member in given or member == "inputSchema":
            _object_schema(given.get(member), (place, member), issues)
    annotations = given.get("annotations", {})
    if not isinstance(annotations, dict):
        issues.add("bad-tool", (place, "annotations"), f"Annotations are an object, not {kind_word(annotations)}.")
        return
    for hint in _HINTS:
        if not isinstance(value := cast("dict[str, Any]", annotations).get(hint, False), bool):
            message = f"A hint is true or false, not {kind_word(value)}."
            issues.add_scalar("bad-tool", ((place, "annotations"), hint), message, value, "boolean")


def check_prompt(prompt: Any, place: Place, issues: Issues) -> None:
    """Check a prompt as MCP lists it, or as it returns it (with messages)."""
    given = _object(prompt, place, "A prompt", "bad-prompt", issues)
    if given is None:
        return
    if "messages" not in given:
        _texts(given, ("name",), ("title", "description"), place, "bad-prompt", issues)
    for at, argument in enumerate(_list(given, "arguments", place, "bad-prompt", issues)):
        where = ((place, "arguments"), at)
        if (known := _object(argument, where, "An argument", "bad-prompt", issues)) is not None:
            _texts(known, ("name",), ("title", "description"), where, "bad-prompt", issues)
            if not isinstance(required := known.get("required", False), bool):
                message = "`required` is true or false."
                issues.add_scalar("bad-prompt", (where, "required"), message, required, "boolean")
    for at, message in enumerate(_list(given, "messages", place, "bad-prompt", issues)):
        where = ((place, "messages"), at)
        if (turn := _object(message, where, "A message", "bad-prompt", issues)) is not None:
            if turn.get("role") not in _ROLES:
                roles = f"A role is one of {', '.join(_ROLES)}."
                issues.add_value("bad-prompt", (where, "role"), roles, turn.get("role"), _ROLES)
            check_block(turn.get("content"), (where, "content"), issues)


def check_schema(schema: Any, place: Place, issues: Issues) -> None:
    """Check that a JSON Schema is usable."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        issues.add("bad-schema", place, f"A schema is an object, not {kind_word(schema)}.")
        return
    from pentad.kernel.schema import compile_json_schema

    try:
        compile_json_schema(cast("dict[str, Any]", schema))
    except InvalidInput as error:
        problems: list[dict[str, Any]] = error.details.get("problems") or []
        for problem in problems[:5]:
            where = place_at(str(problem.get("path", "")), place)
            issues.add("bad-schema", where, f"The schema is not valid: {problem.get('message')}.")
        if not problems:
            issues.add("bad-schema", place, error.message, error.hint or "")


def _text(content: Any, place: Place, issues: Issues) -> None:
    if not isinstance(content, str):
        issues.add("kind-mismatch", place, f"This kind of item holds a text, not {kind_word(content)}.")


def _bytes(content: Any, place: Place, issues: Issues) -> None:
    if not isinstance(content, str):
        issues.add("kind-mismatch", place, f"This kind of item holds base64, not {kind_word(content)}.")
    elif not is_base64(content):
        issues.add("not-base64", place, "The content is not base64.")


def _resource(content: Any, place: Place, issues: Issues) -> None:
    if not isinstance(content, str):
        check_contents(content, place, issues)


def _each(rule: Rule) -> Rule:
    """One thing, or a list of them."""

    def check(content: Any, place: Place, issues: Issues) -> None:
        if isinstance(content, list):
            for at, one in enumerate(cast("list[Any]", content)):
                rule(one, (place, at), issues)
        else:
            rule(content, place, issues)

    return check


def _turns(content: Any, place: Place, issues: Issues) -> None:
    if not isinstance(content, str | list | dict):
        issues.add("kind-mismatch", place, f"This kind of item holds texts or messages, not {kind_word(content)}.")


def _server(content: Any, place: Place, issues: Issues) -> None:
    if isinstance(content, str):
        content = {"url": content}
    given = _object(content, place, "An MCP server", "kind-mismatch", issues)
    if given is None:
        return
    url, command = given.get("url"), given.get("command")
    if isinstance(url, str) and url.lower().startswith(("https://", "http://")):
        return
    if not (isinstance(command, str) and command):
        issues.add("kind-mismatch", place, "An MCP server has an http(s) `url`, or a `command`.")


_RULES: Final[dict[str, Rule]] = {
    "text": _text,
    "instruction": _text,
    "image": _bytes,
    "audio": _bytes,
    "resource": _resource,
    "content": _each(check_block),
    "tool": _each(check_tool),
    "prompt": _each(check_prompt),
    "schema": check_schema,
    "memory": _turns,
    "history": _turns,
    "mcp_server": _server,
}


def _object_schema(schema: Any, place: Place, issues: Issues) -> None:
    if not isinstance(schema, dict):
        issues.add("bad-tool", place, f"The schema of a tool is an object, not {kind_word(schema)}.")
        return
    known = cast("dict[str, Any]", schema)
    if known.get("type") != "object":
        issues.add("bad-tool", (place, "type"), 'The schema of a tool has "type": "object".')
    check_schema(known, place, issues)


def _annotations(annotations: Any, place: Place, issues: Issues) -> None:
    if annotations is None:
        return
    given = _object(annotations, place, "Annotations", "bad-block", issues) or {}
    audience, priority = given.get("audience", []), given.get("priority", 0)
    if not isinstance(audience, list) or any(one not in _ROLES for one in cast("list[Any]", audience)):
        issues.add("bad-block", (place, "audience"), f"An audience is a list of {' and '.join(_ROLES)}.")
    if isinstance(priority, bool) or not isinstance(priority, int | float) or not 0 <= priority <= 1:
        issues.add_scalar("bad-block", (place, "priority"), "A priority is a number from 0 to 1.", priority, "number")


def _object(value: Any, place: Place, what: str, code: str, issues: Issues) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    issues.add(code, place, f"{what} is an object, not {kind_word(value)}.")
    return None


def _list(given: dict[str, Any], member: str, place: Place, code: str, issues: Issues) -> list[Any]:
    value = given.get(member, [])
    if isinstance(value, list):
        return cast("list[Any]", value)
    issues.add(code, (place, member), f"`{member}` is a list, not {kind_word(value)}.")
    return []


def _texts(
    given: dict[str, Any], required: tuple[str, ...], optional: tuple[str, ...], place: Place, code: str, issues: Issues
) -> None:
    for member in required:
        if not isinstance(given.get(member), str):
            issues.add(code, (place, member), f"`{member}` is missing or not a text.")
    for member in optional:
        if member in given and not isinstance(given[member], str):
            issues.add(code, (place, member), f"`{member}` is a text, not {kind_word(given[member])}.")


def _an(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
