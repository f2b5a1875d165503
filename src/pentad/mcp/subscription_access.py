"""Decides who may subscribe to a resource, and who may still receive its changes.

Rights are checked twice: when a client subscribes, and before every notification, because a stream can outlive the
rights it was opened with. Changes a caller may not see are omitted silently.
"""

from collections.abc import Awaitable, Callable

from pentad.kernel.errors import NotFound, PentadError
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.principal import Principal
from pentad.mcp.changes import Change
from pentad.mcp.registry import Registry
from pentad.mcp.rights import check_right

CurrentPrincipal = Callable[[], Awaitable[Principal]]
"""The owner of a stream, with the rights its credentials have now."""


async def check_subscription(registry: Registry, uri: str, principal: Principal, *, is_subscribed: bool = False) -> str:
    """The URI under which changes of a resource are announced; `uri` may be another name of it, such as a slug.

    Refuses a subscription wherever reading would be refused: NotFound, Forbidden, or the error of the room's guard.
    `is_subscribed`: the caller subscribed earlier and is about to be notified.
    """
    found = registry.resource(uri)
    if found is None:
        raise NotFound(f"Unknown resource: {uri[:200]!r}.")
    bound, variables = found
    check_right(principal, bound.room, "read")
    announced = None if bound.guard is None else await bound.guard(bound.service, principal, variables, is_subscribed)
    return announced or uri


async def announced_uri(registry: Registry, uri: str, principal: Principal) -> str | None:
    """Like `check_subscription`; None if the caller may not subscribe."""
    try:
        return await check_subscription(registry, uri, principal)
    except PentadError:
        return None


async def may_receive(registry: Registry, change: Change, current_principal: CurrentPrincipal) -> bool:
    """Whether a subscriber may still be notified; False if that cannot be determined.

    If the change was announced to an audience, the audience decides: the resource may not exist any more.
    """
    try:
        principal = await current_principal()
        if change.kind == "list":
            listed = registry.lists(change.subject, change.room, principal)
            return listed and await registry.in_audience(change.room, principal, change.audience)
        if not change.audience:
            await check_subscription(registry, change.subject, principal, is_subscribed=True)
            return True
        found = registry.resource(change.subject)
        if found is None or found[0].in_audience is None or not principal.may(found[0].room, "read"):
            return False
        return await found[0].in_audience(found[0].service, principal, change.audience)
    except PentadError as error:
        ensure_logged(error, "Notifying a subscriber of a change")
        return False
