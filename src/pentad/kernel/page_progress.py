"""Blocks of a page that grows while the visitor waits: progress steps as they are reported, then the result."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from pentad.kernel.pages import Block, Step

Tell = Callable[[Step], None]
"""Reports a progress step to the visitor. If steps arrive faster than they can be shown, only the last one is
shown."""


async def growth(work: Callable[[Tell], Awaitable[Sequence[Block]]]) -> AsyncGenerator[Block]:
    """The progress steps of some work, then its result. The work is cancelled when no one is waiting any more."""
    steps: list[Step] = []
    is_news = asyncio.Event()

    def tell(step: Step) -> None:
        steps.append(step)
        is_news.set()

    running = asyncio.ensure_future(work(tell))
    running.add_done_callback(lambda _: is_news.set())
    try:
        while not running.done():
            await is_news.wait()
            is_news.clear()
            if steps and not running.done():
                yield steps[-1]
                steps.clear()
        for block in await running:
            yield block
    finally:
        running.cancel()
        await asyncio.wait([running])
