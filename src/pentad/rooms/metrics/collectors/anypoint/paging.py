"""Lists that come in pages, right even when the platform's pages overlap or its totals change on the way.

An entry counts once, by what identifies it. A walk ends with an empty page, with a page that brings nothing new, or
when as many are there as the platform last said there are. Without a total, a page shorter than any can be is the last.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

Item = dict[str, Any]
Page = tuple[list[Item], int | None]
MOST_PAGES: Final = 1_000


async def walked(
    page: Callable[[int], Awaitable[Page]], identity: Callable[[Item], Any], shortest: int = 1
) -> list[Item]:
    """All entries. `page` gives the entries from an offset on and the total, if there is one; `shortest` is the length
    below which a page without a total is certainly the last."""
    found: dict[Any, Item] = {}
    offset = 0
    for _ in range(MOST_PAGES):
        items, total = await page(offset)
        before = len(found)
        for place, item in enumerate(items):
            key = identity(item)
            found.setdefault(key if key is not None else (offset, place), item)
        offset += len(items)
        if not items or len(found) == before:
            break
        if total is not None and len(found) >= total:
            break
        if total is None and len(items) < shortest:
            break
    return list(found.values())
