"""Whether a caller may follow a resource or hear of a list: asked when it subscribes, and again before it is told.

A stream can outlive the rights it was opened with. A change that may not be heard is left out; nobody is told why.
"""

from collections.abc import Awaitable, Callable

from pentad.kernel.errors import NotFound, PentadError
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.principal import Principal
from pentad.mcp.registry import Registry
from pentad.mcp.rights import check_right
from pentad.mcp.subscriptions import Change

Who = Callable[[], Awaitable[Principal]]
"""Who a stream belongs to, by what its credentials are worth now."""


async def check_follow(registry: Registry, uri: str, principal: Principal, *, told: bool = False) -> None:
    """Refuse a subscription as reading would be refused: NotFound, Forbidden, or what the room says.

    `told`: the caller follows already and is about to hear of a change.
    """
    found = registry.resource(uri)
    if found is None:
        raise NotFound(f"Unknown resource: {uri[:200]!r}.")
    bound, variables = found
    check_right(principal, bound.room, "read")
    if bound.guard is not None:
        await bound.guard(bound.service, principal, variables, told)


async def may_follow(registry: Registry, uri: str, principal: Principal) -> bool:
    """The same as a question."""
    try:
        await check_follow(registry, uri, principal)
    except PentadError:
        return False
    return True


async def may_hear(registry: Registry, change: Change, who: Who) -> bool:
    """Whether a follower may still be told. When that cannot be found out, it is not.

    Where a change was announced for an audience that decides, as there may be nothing left to look at.
    """
    try:
        principal = await who()
        if change.kind == "list":
            listed = registry.lists(change.subject, change.room, principal)
            return listed and await registry.hears(change.room, principal, change.audience)
        if not change.audience:
            await check_follow(registry, change.subject, principal, told=True)
            return True
        found = registry.resource(change.subject)
        return (
            found is not None
            and principal.may(found[0].room, "read")
            and await registry.hears(found[0].room, principal, change.audience)
        )
    except PentadError as error:
        ensure_logged(error, "Telling a follower of a change")
        return False
