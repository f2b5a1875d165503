"""Listeners: what they subscribe to, what they lose if they do not keep up, and how they end."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from pentad.kernel.errors import Overloaded
from pentad.mcp.changes import Change, SubscriptionHub, matches_filter
from pentad.mcp.messages import SubscriptionFilter
from tests.fakes import UnusedDatabase

pytestmark = pytest.mark.anyio


class Signals(UnusedDatabase):
    """The part of a store that carries signals, within one process."""

    def __init__(self) -> None:
        self.heard: Callable[[str], None] | None = None

    def listen(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        assert channel == "mcp"
        self.heard = callback
        return lambda: None

    def send(self, payload: str) -> None:
        assert self.heard is not None
        self.heard(payload)


def a_hub(most: int = 10) -> tuple[SubscriptionHub, Signals]:
    signals = Signals()
    return SubscriptionHub(signals, most), signals


@pytest.mark.requirement("mcp:subscriptions:overflow")
async def test_who_does_not_keep_up_loses_the_oldest_and_never_the_newest() -> None:
    hub, signals = a_hub()
    listener = hub.add("user:ada", lambda _change: True)
    for number in range(1500):
        signals.send(f"resource lab://{number}")
    kept = [listener.queue.get_nowait().subject for _ in range(listener.queue.qsize())]
    assert len(kept) == 1000
    assert kept[0] == "lab://500"
    assert kept[-1] == "lab://1499"


@pytest.mark.parametrize(
    ("wanted", "heard"),
    [
        ({}, []),
        ({"tools_list_changed": True}, ["list tools"]),
        ({"prompts_list_changed": True, "resources_list_changed": True}, ["list prompts", "list resources"]),
        ({"resource_subscriptions": ("lab://a b",)}, ["resource lab://a b"]),
        ({"resource_subscriptions": ("tools",)}, ["resource tools"]),
    ],
)
@pytest.mark.requirement("mcp:2026:listen:filter")
async def test_a_filter_lets_through_what_was_asked_for(wanted: dict[str, Any], heard: list[str]) -> None:
    wants = matches_filter(SubscriptionFilter(**wanted), wanted.get("resource_subscriptions", ()))
    payloads = [
        "list tools",
        "list prompts",
        "list resources",
        "resource lab://a b",
        "resource lab://a",
        "resource tools",
    ]
    assert [payload for payload in payloads if wants(Change(*payload.split(" ", 1)))] == heard


@pytest.mark.requirement("mcp:limits:streams")
async def test_a_principal_has_its_share_of_streams_and_a_left_one_is_free_again() -> None:
    hub, _ = a_hub(most=2)
    first, _second = hub.add("user:ada", lambda _: True), hub.add("user:ada", lambda _: True)
    with pytest.raises(Overloaded):
        hub.add("user:ada", lambda _: True)
    hub.add("user:bob", lambda _: True)
    hub.remove(first)
    hub.remove(first)
    hub.add("user:ada", lambda _: True)


@pytest.mark.requirement("mcp:subscriptions:end-with-the-server")
async def test_changes_end_when_the_server_stops() -> None:
    hub, signals = a_hub()
    listener = hub.add("user:ada", lambda _change: True)
    stopping = asyncio.Event()
    seen: list[str | None] = []

    async def follow() -> None:
        async for change in hub.changes(listener, stopping, 60):
            seen.append(change.subject if change else None)
            if len(seen) == 2:
                stopping.set()

    signals.send("list tools")
    signals.send("list prompts")
    await asyncio.wait_for(follow(), 60)
    assert seen == ["tools", "prompts"]


@pytest.mark.requirement("mcp:subscriptions:keep-alive")
async def test_an_idle_listener_is_given_occasion_to_show_life() -> None:
    hub, signals = a_hub()
    listener = hub.add("user:ada", lambda _change: True)
    changes = hub.changes(listener, asyncio.Event(), 0.001)
    assert isinstance(changes, AsyncGenerator)
    assert await anext(changes) is None
    signals.send("list tools")
    while (change := await anext(changes)) is None:
        pass
    assert change == Change("list", "tools")
    await changes.aclose()
