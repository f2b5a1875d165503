"""Deleted objects over REST: listed, restored, or gone for good."""

from typing import Final

from starlette.responses import Response

from pentad.rooms.registers.interface.rest.answers import answer, nothing
from pentad.rooms.registers.interface.rest.ask import Ask
from pentad.rooms.registers.interface.rest.models import ObjectAnswer, PageAnswer
from pentad.rooms.registers.interface.rest.pages import envelope, etag
from pentad.rooms.registers.interface.rest.table import PAGING, RestRoute
from pentad.rooms.registers.presentation import shown


async def list_deleted(ask: Ask) -> Response:
    """List deleted objects that can still be restored."""
    limit, offset = ask.window()
    found = await ask.registers.objects.deleted(ask.caller, limit, offset)
    rows = [shown(ask.registers.access, ask.caller, pair, stored) for pair, stored in found.items]
    return answer(envelope(rows, found.total, limit, offset))


async def restore_object(ask: Ask) -> Response:
    """Restore a deleted object."""
    pair, stored = await ask.registers.objects.find_deleted(ask.caller, ask.path("id"))
    back = await ask.registers.objects.restore(ask.caller, pair, stored.uuid)
    return answer(shown(ask.registers.access, ask.caller, pair, back), headers={"etag": etag(back.version)})


async def purge_object(ask: Ask) -> Response:
    """Remove a deleted object for good, with its files."""
    pair, stored = await ask.registers.objects.find_deleted(ask.caller, ask.path("id"))
    await ask.registers.objects.purge(ask.caller, pair, stored.uuid)
    return nothing()


ROUTES: Final = (
    RestRoute("GET", "/deleted", "objects", list_deleted, PAGING, answer=PageAnswer),
    RestRoute("POST", "/deleted/{id}/restore", "objects", restore_object, answer=ObjectAnswer),
    RestRoute("DELETE", "/deleted/{id}", "objects", purge_object, status=204),
)
