"""Fetches all pages of a list, correctly even if pages overlap or the total changes meanwhile.

Entries are deduplicated by identity. Fetching ends with an empty page, a page without new entries, or when the last
known total is reached. Without a total, a page that is too short is the last. If a total says that several pages are
left, they are fetched concurrently.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any, Final

Item = dict[str, Any]
Page = tuple[list[Item], int | None]
MOST_PAGES: Final = 1_000
AT_ONCE: Final = 8
"""Few, so that a wrong total costs little."""


async def fetch_all_pages(
    page: Callable[[int], Awaitable[Page]], identity: Callable[[Item], Any], shortest: int = 1
) -> list[Item]:
    """All entries. `page` returns the entries from an offset on and the total, if known. A page without a total that
    has fewer than `shortest` entries is the last."""
    found: dict[Any, Item] = {}
    offset, offsets, at_once = 0, [0], AT_ONCE
    for _ in range(MOST_PAGES):
        pages = await asyncio.gather(*map(page, offsets)) if len(offsets) > 1 else [await page(offset)]
        size, total = 0, None
        for start, (items, reported) in zip(offsets, pages, strict=True):
            if start != offset:  # a page was shorter than the ones before, so the rest were at wrong offsets
                at_once = 1
                break
            before, size, total = len(found), len(items), reported
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
