"""MCP Apps (`io.modelcontextprotocol/ui`): a host shows the result of a tool as a view in the conversation.

A tool declares a view, and `tools/list` names its document, a static HTML file. The data of one result is an HTML
fragment in the result's `_meta` for clients that declared the extension; others read it at `ui://pentad/rendered/`.
Every client gets the same text.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import internal_error
from pentad.mcp.call import Call, Peer
from pentad.mcp.messages import encode

if TYPE_CHECKING:
    from pentad.kernel.pages import Sheet, ToolCall

EXTENSION: Final = "io.modelcontextprotocol/ui"
MIME_TYPE: Final = "text/html;profile=mcp-app"
SCHEME: Final = "ui://pentad/"
RENDERED: Final = f"{SCHEME}rendered/"
"""The fragment of a call is at this prefix, the tool's name, a slash, and the arguments as percent-encoded JSON."""
FRAGMENT: Final = "pentad/view"
"""The fragment in the `_meta` of a result."""
MOST_BYTES: Final = 130_000
"""The largest fragment. Hosts truncate larger results."""
SECONDS_FRESH: Final = 86_400.0
_SECONDS: Final = 10.0
"""The time limit for rendering a view."""
RESOURCE_META: Final[Mapping[str, Any]] = {
    "ui": {
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}
"""Views load nothing: everything is in the document."""

Show = Callable[[Call[Any], Any, Mapping[str, Any]], Coroutine[Any, Any, "Sheet | None"]]
"""Takes the call, the tool's arguments and its structured result. Returns the view, or None to show only the text."""

CallOf = Callable[["ToolCall"], "ToolCall | None"]
"""Adapts a call to what this caller can use here; None if they cannot make it."""


class AppView(Struct, frozen=True):
    """The view of a tool. Several tools may share one.

    `tool` refreshes the view; by default, the tool that has the view. It gets the arguments of the first call or, with
    `keys`, these members of the result.
    """

    name: str
    title: str
    show: Show
    tool: str = ""
    keys: Sequence[str] = ()


class ViewRenderer(Protocol):
    """Makes the HTML of views. The console implements it."""

    def document(self, view: AppView, tool: str) -> str:
        """The static page of a view. `tool` refreshes it."""
        ...

    def fragment(self, sheet: "Sheet", call_of: CallOf) -> str:
        """The HTML of one result."""
        ...


def shows_views(peer: Peer) -> bool:
    """Whether the client declared that it shows views."""
    extensions = peer.client_capabilities().get("extensions")
    if not isinstance(extensions, dict):
        return False
    declared = cast("dict[str, Any]", extensions).get(EXTENSION)
    if not isinstance(declared, dict):
        return False
    types = cast("dict[str, Any]", declared).get("mimeTypes")
    return not types or (isinstance(types, list) and MIME_TYPE in types)


def rendered_call(uri: str) -> tuple[str, bytes] | None:
    """The tool and the arguments in the URI of a fragment, or None if the URI is malformed."""
    name, _, text = uri.removeprefix(RENDERED).partition("/")
    arguments = unquote(text).encode() or b"{}"
    try:
        is_object = isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return (unquote(name), arguments) if is_object else None


async def with_view(
    view: AppView, views: ViewRenderer, call: Call[Any], arguments: Any, body: bytes, call_of: CallOf
) -> bytes:
    """An encoded result with its view, or without one if rendering fails or the view is too large."""
    members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    structured = members.get("structuredContent")
    if structured is None or bytes(members["isError"]) == b"true":
        return body
    try:
        async with asyncio.timeout(_SECONDS):
            sheet = await view.show(call, arguments, msgspec.json.decode(structured))
        html = "" if sheet is None else views.fragment(sheet, call_of)
    except (PentadError, TimeoutError):  # the item is gone, or the server is busy
        return body
    except Exception as error:  # noqa: BLE001  a failing view must not lose the result
        internal_error(error, f"the view {view.name!r}")
        return body
    if not html or len(html.encode()) > MOST_BYTES:
        return body
    meta: dict[str, Any] = msgspec.json.decode(members["_meta"]) if "_meta" in members else {}
    return encode({**members, "_meta": {**meta, FRAGMENT: html}})


def fragment_in(body: bytes) -> str | None:
    """The view in an encoded result."""
    return msgspec.json.decode(body).get("_meta", {}).get(FRAGMENT)
