"""The log and the health of the room name the agent that blocks the event loop."""

import asyncio
import threading
import time
from typing import Any

import pytest

from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.tasks.loop_watchdog import LoopWatchdog
from tests.waiting import until_true

pytestmark = pytest.mark.anyio


async def blocks_the_loop(turn: Turn) -> str:
    deadline = time.monotonic() + float(turn.text)
    while time.monotonic() < deadline:
        threading.Event().wait(0.01)  # as time.sleep would
    return "done"


async def starts_more(turn: Turn) -> Any:
    return await asyncio.create_task(blocks_the_loop(turn))


@pytest.mark.requirement("agents:watchdog:named")
@pytest.mark.parametrize("agent", [blocks_the_loop, starts_more])
async def test_the_agent_that_blocks_the_loop_is_named(agent: Any, caplog: pytest.LogCaptureFixture) -> None:
    made = hosted(agent, "blocker")
    watchdog = LoopWatchdog({"blocker": made}, every=0.01, blocked=0.1)
    watchdog.start()
    try:
        await until_true(lambda: watchdog.lag > 0.0)
        assert watchdog.health()["loop_blocked_seconds"] == 0.0
        turn: Any = type("Said", (), {"text": "0.5"})
        await made.run(turn)
        await until_true(lambda: watchdog.last is not None)
    finally:
        watchdog.stop()
    assert watchdog.last is not None
    assert "the agent 'blocker' (blocks_the_loop in " in watchdog.last.culprit
    assert watchdog.last.seconds > 0.1
    health = watchdog.health()
    assert health["status"] == "degraded"
    assert "the agent 'blocker'" in health["message"]
    said = [one.getMessage() for one in caplog.records]
    assert any("is blocked by the agent 'blocker'" in text for text in said)
