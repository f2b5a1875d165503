"""Reads paged lists to their end. A list that ends early is an error: a count of it would be too small."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any, Final

Item = dict[str, Any]
Page = tuple[list[Item], int | None]
MOST_PAGES: Final = 1_000
AT_ONCE: Final = 8
"""Few, so that a wrong total costs little."""


class IncompleteList(Exception):
    """A list that ends before its total, or that never ends."""


def check_complete(read: int, total: Any) -> None:
    """Refuse a list with fewer entries than the total that came with it, if one came."""
    if isinstance(total, int) and read < total:
        raise IncompleteList(f"The list ends after {read} of {total} entries.")


async def fetch_all_pages(
    page: Callable[[int], Awaitable[Page]], identity: Callable[[Item], Any], shortest: int = 1
) -> list[Item]:
    """All entries. `page` returns the entries from an offset on and the total, if known. A page without a total that
    has fewer than `shortest` entries is the last. A page that adds nothing although the total says more is requested
    once more, because the total may have changed since; then the list is incomplete."""
    found: dict[Any, Item] = {}
    offset, offsets, at_once = 0, [0], AT_ONCE
    known_total: int | None = None
    is_repeated = False
    for _ in range(MOST_PAGES):
        pages = await asyncio.gather(*map(page, offsets)) if len(offsets) > 1 else [await page(offset)]
        before, size, total = 0, 0, None
        for start, (items, reported) in zip(offsets, pages, strict=True):
            if start != offset:  # a page was shorter than the ones before, so the rest were at wrong offsets
                at_once = 1
                break
            before, size, total = len(found), len(items), reported
            known_total = known_total if total is None else total
            for place, item in enumerate(items):
                key = identity(item)
                found.setdefault(key if key is not None else (start, place), item)
            offset += size
            if len(found) == before:
                break
        if len(found) == before:
            if is_repeated or known_total is None or len(found) >= known_total:
                check_complete(len(found), known_total)
                return list(found.values())
            is_repeated, offsets = True, [offset]
            continue
        is_repeated = False
        if size < shortest if total is None else len(found) >= total:
            return list(found.values())
        left = 1 if total is None else math.ceil((total - offset) / size)
        offsets = [offset + number * size for number in range(max(1, min(left, at_once)))]
    raise IncompleteList(f"The list does not end after {MOST_PAGES} pages.")
