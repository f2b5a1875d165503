"""The history over REST: who changed what, how it looked before, and whether the chain is whole. Nothing changes it."""

from typing import Any, Final

from starlette.responses import Response

from pentad.kernel.errors import InvalidInput
from pentad.platform import Parameter
from pentad.rooms.registers.objects.change_log import Change
from pentad.rooms.registers.rest.answers import answer
from pentad.rooms.registers.rest.ask import Ask
from pentad.rooms.registers.rest.models import PageAnswer
from pentad.rooms.registers.rest.objects import ITEM
from pentad.rooms.registers.rest.table import PAGING, RestRoute

_CURSOR: Final = Parameter("_cursor", "Where the last answer ended.")


def audit_row(change: Change) -> dict[str, Any]:
    """A change under the names OpenRegister's clients know, beside our own."""
    wire = change.wire()
    return {**wire, "object": change.uuid, "user": change.principal, "created": wire["at"]}


async def audit_feed(ask: Ask) -> Response:
    """Read all changes in the order they happened; go on from a cursor, now or later."""
    limit, _ = ask.window()
    register, schema = ask.text("register"), ask.text("schema")
    catalogue = ask.registers.catalogue
    changes, cursor = await ask.registers.history.feed(
        ask.caller,
        ask.text("_cursor"),
        register=None if register is None else (await catalogue.get_register(ask.caller, register)).id,
        schema=None if schema is None else (await catalogue.get_schema(ask.caller, schema)).id,
        limit=limit,
    )
    return answer({"results": [audit_row(change) for change in changes], "cursor": cursor})


async def audit_entry(ask: Ask) -> Response:
    """Get one change by its id. It cannot be changed or deleted."""
    given = ask.path("id")
    number = int(given) if given.isascii() and given.isdigit() and len(given) < 19 else 0
    return answer(audit_row(await ask.registers.history.entry(ask.caller, number)))


async def history(ask: Ask) -> Response:
    """List the changes of one object, newest first."""
    pair = await ask.pair()
    limit, _ = ask.window()
    before = ask.integer("_before", 0, 2**53) or None
    changes = await ask.registers.history.of(ask.caller, pair, ask.path("id"), limit, before)
    total = await ask.registers.history.count(ask.caller, pair, ask.path("id"))
    return answer({"results": [audit_row(change) for change in changes], "total": total, "limit": limit})


async def compare(ask: Ask) -> Response:
    """Show the difference between two versions of an object as JSON Patch."""
    pair = await ask.pair()
    first = ask.integer("from", 0, 2**53)
    if not first:
        raise InvalidInput("Say which versions to compare.", hint="Give from=1, and to=3 unless now is meant.")
    second = ask.integer("to", 0, 2**53) or None
    return answer(await ask.registers.history.diff(ask.caller, pair, ask.path("id"), first, second))


async def verify(ask: Ask) -> Response:
    """Verify the chain of an object's changes."""
    pair = await ask.pair()
    return answer((await ask.registers.history.verify(ask.caller, pair, ask.path("id"))).wire())


_FEED: Final = (PAGING[0], _CURSOR, Parameter("register", "Only here."), Parameter("schema", "Only of this schema."))
_BEFORE: Final = Parameter("_before", "Only changes with a smaller id.", "integer")
ROUTES: Final = (
    RestRoute("GET", "/audit-trails", "audit", audit_feed, _FEED, exact=True),
    RestRoute("GET", "/audit", "audit", audit_feed, _FEED, exact=True),
    RestRoute("GET", "/audit-trails/{id}", "audit", audit_entry),
    RestRoute("GET", ITEM + "/audit-trails", "audit", history, (PAGING[0], _BEFORE), answer=PageAnswer, exact=True),
    RestRoute("GET", ITEM + "/history", "audit", history, (PAGING[0], _BEFORE), answer=PageAnswer, exact=True),
    RestRoute("GET", ITEM + "/audit-trails/verify", "audit", verify),
    RestRoute(
        "GET",
        ITEM + "/diff",
        "audit",
        compare,
        (
            Parameter("from", "A version.", "integer", required=True),
            Parameter("to", "Another; now if left out.", "integer"),
        ),
    ),
)
