"""The blocks of a page that grows while somebody waits: steps of a work as they are told, then its result."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from pentad.kernel.pages import Block, Step

Tell = Callable[[Step], None]
"""Tells the visitor what goes on. Of steps that are told faster than they are shown, only the last is."""


async def growth(work: Callable[[Tell], Awaitable[Sequence[Block]]]) -> AsyncGenerator[Block]:
    """The steps of a work, then its result. The work ends when nobody waits for it any more."""
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
