"""Agents to talk to: a Pentad server on a real socket."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pentad.app import open_app
from pentad.http.application import http_application
from pentad.kernel.ids import uuid7
from pentad.net.fetch import HttpFetcher
from pentad.rooms.agents.client.remote_agent import RemoteAgent, fetch_card
from pentad.rooms.agents.models import Dialect, Message, Part
from pentad.settings.model import Settings
from tests.net.raw_http import running

HALL = "tests.behaviour.agents.hall:ROOM"


@asynccontextmanager
async def serving(data: Path, room: str = HALL) -> AsyncGenerator[str]:
    """The address of a running server."""
    async with (
        open_app(Settings(data=data, rooms=(room,), auth="none")) as app,
        running(http_application(app), grace_seconds=1) as server,
    ):
        yield f"http://localhost:{server.port}"


@asynccontextmanager
async def fetching() -> AsyncGenerator[HttpFetcher]:
    fetcher = HttpFetcher()
    try:
        yield fetcher
    finally:
        await fetcher.close()


async def remote_at(url: str, fetcher: HttpFetcher, *, trusted: bool = False, **options: Any) -> RemoteAgent:
    """The agent whose card is at a URL, or below it."""
    card_url, card = await fetch_card(url, fetcher, trusted=trusted)
    return RemoteAgent(card, fetcher, trusted=trusted, card_url=card_url, **options)


async def remote(
    site: str, fetcher: HttpFetcher, agent: str, dialect: Dialect | None = None, binding: str | None = None
) -> RemoteAgent:
    """An agent of the server, spoken to in one way."""
    found = await remote_at(f"{site}/agents/{agent}", fetcher, trusted=True)
    card = dict(found.card)
    if binding is not None:
        card["supportedInterfaces"] = [one for one in card["supportedInterfaces"] if one["protocolBinding"] == binding]
    return RemoteAgent(card, fetcher, trusted=True, dialect=dialect)


def said(text: str, message_id: str | None = None, task_id: str | None = None) -> Message:
    return Message(id=message_id or str(uuid7()), role="user", parts=(Part(text=text),), task_id=task_id)
