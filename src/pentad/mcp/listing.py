"""Lists that need more than an encoded page: resources that exist only at run time, and completion."""

from typing import Any, Final

import msgspec

from pentad.kernel.principal import Principal
from pentad.mcp.call import Call, Peer
from pentad.mcp.declare import Completer
from pentad.mcp.list_pages import Cursor, Pages, leads_nowhere, visible
from pentad.mcp.messages import CompleteParams, ListParams, RequestId, encode
from pentad.mcp.registry import BoundPrompt, BoundResource, Registry
from pentad.mcp.rights import check_right
from pentad.mcp.wire_errors import INVALID_PARAMS, ProtocolError

SECONDS_FRESH: Final = 300
_METHOD: Final = "resources/list"


async def resources(registry: Registry, params: ListParams, request_id: RequestId, peer: Peer) -> bytes:
    """A page of `resources/list`: first what is declared, then what each room lists at run time.

    A cursor counts the declared pages from 0 and the rooms' listings from -1 downwards, with the listing's own cursor.
    """
    pages = registry.pages(_METHOD, peer.revision, peer.principal)
    position, inner = Cursor(0, None) if params.cursor is None else pages.read(params.cursor)
    readable = [bound for bound in registry.listings if peer.principal.may(bound.room, "read")]
    if position >= 0:
        body, last = pages.at(position)
        if not last or not readable:
            return body
        if not pages.is_empty:
            return body[:-1] + b',"nextCursor":%b}' % encode(pages.cursor(-1))
        position = -1
    while (index := -position - 1) < len(readable):
        bound = readable[index]
        call: Call[Any] = Call(bound.service, peer, request_id, params.meta)
        page = await bound.listing(call, inner)
        following = _following(pages, position, page.cursor, index + 1 < len(readable))
        if page.entries or following is None:
            allowed = peer.revision.named_fields
            shown = [visible(entry, allowed, peer.revision) for entry in page.entries]
            return encode({"resources": shown, **({"nextCursor": following} if following else {})})
        position, inner = (position, page.cursor) if page.cursor else (position - 1, None)
    raise leads_nowhere(_METHOD)


def _following(pages: Pages, position: int, inner: str | None, more: bool) -> str | None:
    if inner is not None:
        return pages.cursor(position, inner)
    return pages.cursor(position - 1) if more else None


def completer(
    registry: Registry, params: CompleteParams, principal: Principal
) -> tuple[Completer | None, BoundPrompt | BoundResource]:
    """Who completes this argument; None when the argument is known but nobody does. Forbidden to who may not read."""
    reference, argument = params.ref, params.argument.name
    if reference.type == "ref/prompt" and reference.name is not None:
        bound = registry.prompt(reference.name, principal)
        check_right(principal, bound.room, "read")
        names = {entry["name"] for entry in bound.prompt.listing().get("arguments", ())}
        found: tuple[Completer | None, BoundPrompt | BoundResource] = bound.prompt.completers.get(argument), bound
    elif reference.type == "ref/resource" and reference.uri is not None:
        template = next((one for one in registry.templates if one.resource.uri == reference.uri), None)
        if template is None or template.resource.template is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown resource template: {reference.uri[:200]!r}.")
        check_right(principal, template.room, "read")
        names = set(template.resource.template.variables)
        found = template.resource.completers.get(argument), template
    else:
        kinds = "a ref/prompt with a name or a ref/resource with a uri"
        raise ProtocolError(INVALID_PARAMS, f"completion/complete needs {kinds}, not {msgspec.to_builtins(reference)}.")
    if argument not in names:
        raise ProtocolError(INVALID_PARAMS, f"No argument {argument[:100]!r}. It takes: {', '.join(sorted(names))}.")
    return found
