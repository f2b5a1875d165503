"""Lists that come in pages, right even when the platform's pages overlap or its totals change on the way.

An entry counts once, by what identifies it. A walk ends with an empty page, with a page that brings nothing new, or
when as many are there as the platform last said there are. Without a total, a page shorter than any can be is the last.
Where a total says that several pages are still to come, they are asked for at once.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any, Final

Item = dict[str, Any]
Page = tuple[list[Item], int | None]
MOST_PAGES: Final = 1_000
AT_ONCE: Final = 8
"""Few enough that a total which is far too large costs little."""


async def walked(
    page: Callable[[int], Awaitable[Page]], identity: Callable[[Item], Any], shortest: int = 1
) -> list[Item]:
    """All entries. `page` gives the entries from an offset on and the total, if there is one; `shortest` is the length
    below which a page without a total is certainly the last."""
    found: dict[Any, Item] = {}
    offset, offsets, at_once = 0, [0], AT_ONCE
    for _ in range(MOST_PAGES):
        pages = await asyncio.gather(*map(page, offsets)) if len(offsets) > 1 else [await page(offset)]
        size, total = 0, None
        for start, (items, said) in zip(offsets, pages, strict=True):
            if start != offset:  # a page was shorter than those before it, so the others were asked for in vain
                at_once = 1
                break
            before, size, total = len(found), len(items), said
            for place, item in enumerate(items):
                key = identity(item)
                found.setdefault(key if key is not None else (start, place), item)
            offset += size
            if len(found) == before:
                return list(found.values())
        if size < shortest if total is None else len(found) >= total:
            break
        left = 1 if total is None else math.ceil((total - offset) / size)
        offsets = [offset + number * size for number in range(max(1, min(left, at_once)))]
    return list(found.values())
