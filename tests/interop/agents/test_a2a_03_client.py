"""The official A2A library of version 0.3 against Pentad. Unlike its successor, it reads only events in streams."""

from typing import Any

import pytest

from tests.interop.agents.tours import Site, a2a_03, stops

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def seen(site: Site) -> dict[str, Any]:
    return stops(a2a_03(site.url, "proof"))


@pytest.mark.requirement("agents:interop:a2a-03")
def test_a_stream_is_read_to_its_end(seen: dict[str, Any]) -> None:
    assert seen["stream"] == ["task", "status-update", *["artifact-update"] * 3, "status-update"]


@pytest.mark.requirement("agents:dialects:stream-errors")
def test_errors_of_streams_arrive_as_what_they_are(seen: dict[str, Any]) -> None:
    assert seen["refusals"] == {
        "resubscribe": -32001, "resubscribe over": -32004, "stream": -32001, "stream over": -32004,
        "stream nothing": -32602, "send": -32001,
    }  # fmt: skip


@pytest.mark.requirement("agents:tasks:cancel-again")
def test_a_task_may_be_canceled_twice_but_not_after_its_end(seen: dict[str, Any]) -> None:
    assert seen["cancel"] == {"twice": ["canceled", "canceled"], "over": -32002}


@pytest.mark.requirement("agents:push:default")
def test_the_only_push_config_is_also_called_default(seen: dict[str, Any]) -> None:
    url = "https://example.com/hook"
    assert seen["push"] == {"nothing": -32001, "default": url, "none": url, "other": -32001}
