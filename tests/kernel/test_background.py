"""Work beside everything else: it is over when its owner says so, however it ended."""

import asyncio

import pytest

from pentad.kernel.background import Background

pytestmark = pytest.mark.anyio


async def test_stopping_ends_the_work_and_waits_for_its_end() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()

    background = Background()
    background.start(work(), "work")
    await begun.wait()
    assert "work" in {task.get_name() for task in asyncio.all_tasks()}
    await background.stop()
    assert ended.is_set()
    await background.stop()


async def test_work_that_failed_or_never_began_is_stopped_quietly() -> None:
    async def fails() -> None:
        raise ValueError("broken")

    background = Background()
    await background.stop()
    background.start(fails(), "fails")
    await asyncio.sleep(0)
    await background.stop()
