"""Webhooks over REST, for administrators of the room and those who may define a register or schema."""

from typing import Any, Final, Literal

from pydantic import BaseModel, Field
from starlette.responses import Response

from pentad.kernel.errors import NotFound
from pentad.rooms.registers.interface.rest.models import Name, Open, WindowAnswer
from pentad.rooms.registers.interface.rest.request import RestRequest, body_as
from pentad.rooms.registers.interface.rest.responses import json_response, no_content, whole_list
from pentad.rooms.registers.interface.rest.route_group import PAGING, RouteGroup
from pentad.rooms.registers.webhooks.service import refuse_strangers

ROUTES: Final = RouteGroup("webhooks")


class WebhookChange(Open):
    """The fields of a webhook to change."""

    register_: Name | None = Field(None, alias="register")
    schema_: Name | None = Field(None, alias="schema")
    events: list[str] | None = None
    secret: str | None = None


class WebhookData(WebhookChange):
    """A URL that gets a request for each change."""

    url: str


class WebhookAnswer(BaseModel):
    """A webhook; only the answer to its creation has the secret."""

    id: str
    url: str
    events: list[str]
    register_: int | None = Field(alias="register")
    schema_: int | None = Field(alias="schema")
    headers: list[str]
    max_attempts: int = Field(alias="maxAttempts")
    timeout: float
    enabled: bool
    failures: int
    problem: str | None
    owner: str
    created: str
    updated: str
    secret: str | None = None


class WebhooksAnswer(WindowAnswer):
    """Your webhooks."""

    results: list[WebhookAnswer]


class DeliveryAnswer(BaseModel):
    """One change for a webhook, and what came of it."""

    id: int
    message_id: str = Field(alias="messageId")
    change: int
    attempt: int
    state: Literal["waiting", "delivered", "failed"]
    status: int | None = None
    problem: str | None = None
    at: str
    due: str | None = None


class DeliveriesAnswer(BaseModel):
    """Deliveries, newest first."""

    results: list[DeliveryAnswer]


async def _checked(request: RestRequest, model: type[WebhookChange]) -> dict[str, Any]:
    """The body, if its fields have the right types and the caller may have webhooks."""
    refuse_strangers(request.caller)
    given = await request.object()
    body_as(model, given)
    return given


@ROUTES.add("GET", "/webhooks", answer=WebhooksAnswer)
async def list_webhooks(request: RestRequest) -> Response:
    """List your webhooks; administrators see all."""
    found = await request.registers.webhooks.list(request.caller)
    return json_response(whole_list([one.wire() for one in found]))


@ROUTES.add("POST", "/webhooks", body=WebhookData, answer=WebhookAnswer, status=201)
async def create_webhook(request: RestRequest) -> Response:
    """Register a URL. Only this answer contains its signing secret."""
    made = await request.registers.webhooks.create(request.caller, await _checked(request, WebhookData))
    return json_response(made.wire(with_secret=True), 201)


@ROUTES.add("GET", "/webhooks/{id}", answer=WebhookAnswer)
async def get_webhook(request: RestRequest) -> Response:
    """Get a webhook."""
    return json_response((await request.registers.webhooks.get(request.caller, request.path("id"))).wire())


@ROUTES.add("PUT", "/webhooks/{id}", body=WebhookChange, answer=WebhookAnswer)
async def update_webhook(request: RestRequest) -> Response:
    """Change a webhook; fields that are not named stay."""
    given = await _checked(request, WebhookChange)
    return json_response((await request.registers.webhooks.update(request.caller, request.path("id"), given)).wire())


@ROUTES.add("DELETE", "/webhooks/{id}", status=204)
async def delete_webhook(request: RestRequest) -> Response:
    """Remove a webhook with its log."""
    await request.registers.webhooks.delete(request.caller, request.path("id"))
    return no_content()


@ROUTES.add("GET", "/webhooks/{id}/logs", [PAGING[0]], answer=DeliveriesAnswer)
async def list_deliveries(request: RestRequest) -> Response:
    """List the deliveries of a webhook and their results, newest first."""
    limit, _ = request.window()
    found = await request.registers.webhooks.deliveries(request.caller, request.path("id"), limit)
    return json_response({"results": [one.wire() for one in found]})


@ROUTES.add("POST", "/webhooks/{id}/logs/{delivery}/retry", answer=DeliveryAnswer)
async def retry_delivery(request: RestRequest) -> Response:
    """Send a delivery once more."""
    number = request.path("delivery")
    if not number.isdecimal() or len(number) > 18:
        raise NotFound(f"Delivery {number[:40]!r} not found.")
    return json_response(
        (await request.registers.webhooks.retry(request.caller, request.path("id"), int(number))).wire()
    )
