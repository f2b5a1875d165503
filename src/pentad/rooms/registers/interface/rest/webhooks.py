"""Webhooks over REST, for administrators of the room and those who may define a register or schema."""

from typing import Any, Final

from pydantic import Field
from starlette.responses import Response

from pentad.kernel.errors import NotFound
from pentad.rooms.registers.interface.rest.answers import answer, nothing
from pentad.rooms.registers.interface.rest.ask import Ask
from pentad.rooms.registers.interface.rest.bodies import body_as
from pentad.rooms.registers.interface.rest.models import Open, PageAnswer
from pentad.rooms.registers.interface.rest.pages import envelope
from pentad.rooms.registers.interface.rest.table import RestRoute
from pentad.rooms.registers.webhooks.webhooks import refuse_strangers


class WebhookChange(Open):
    """What of a webhook is to be another."""

    register_: int | str | None = Field(None, alias="register")
    schema_: int | str | None = Field(None, alias="schema")
    events: list[str] | None = None
    secret: str | None = None


class WebhookData(WebhookChange):
    """An address to tell of changes."""

    url: str


async def _checked(ask: Ask, model: type[WebhookChange]) -> dict[str, Any]:
    """The body as it came, if what it names is of the right kind and the caller may have webhooks at all."""
    refuse_strangers(ask.caller)
    given = await ask.object()
    body_as(model, given)
    return given


async def list_webhooks(ask: Ask) -> Response:
    """List your webhooks; administrators see all."""
    found = await ask.registers.webhooks.list(ask.caller)
    return answer(envelope([one.wire() for one in found], len(found), max(1, len(found)), 0))


async def create_webhook(ask: Ask) -> Response:
    """Register an address; the answer holds its signing secret, for the only time."""
    made = await ask.registers.webhooks.create(ask.caller, await _checked(ask, WebhookData))
    return answer(made.wire(with_secret=True), 201)


async def get_webhook(ask: Ask) -> Response:
    """Get a webhook."""
    return answer((await ask.registers.webhooks.get(ask.caller, ask.path("id"))).wire())


async def update_webhook(ask: Ask) -> Response:
    """Change a webhook; fields that are not named stay."""
    given = await _checked(ask, WebhookChange)
    return answer((await ask.registers.webhooks.update(ask.caller, ask.path("id"), given)).wire())


async def delete_webhook(ask: Ask) -> Response:
    """Remove a webhook with its log."""
    await ask.registers.webhooks.delete(ask.caller, ask.path("id"))
    return nothing()


async def list_deliveries(ask: Ask) -> Response:
    """Show what was sent and what came of it, newest first."""
    limit, _ = ask.window()
    found = await ask.registers.webhooks.deliveries(ask.caller, ask.path("id"), limit)
    return answer({"results": [one.wire() for one in found]})


async def retry_delivery(ask: Ask) -> Response:
    """Send a delivery once more."""
    number = ask.path("delivery")
    if not number.isdecimal() or len(number) > 18:
        raise NotFound(f"Delivery {number[:40]!r} not found.")
    return answer((await ask.registers.webhooks.retry(ask.caller, ask.path("id"), int(number))).wire())


ROUTES: Final = (
    RestRoute("GET", "/webhooks", "webhooks", list_webhooks, answer=PageAnswer),
    RestRoute("POST", "/webhooks", "webhooks", create_webhook, body=WebhookData, status=201),
    RestRoute("GET", "/webhooks/{id}", "webhooks", get_webhook),
    RestRoute("PUT", "/webhooks/{id}", "webhooks", update_webhook, body=WebhookChange),
    RestRoute("DELETE", "/webhooks/{id}", "webhooks", delete_webhook, status=204),
    RestRoute("GET", "/webhooks/{id}/logs", "webhooks", list_deliveries),
    RestRoute("POST", "/webhooks/{id}/logs/{delivery}/retry", "webhooks", retry_delivery),
)
