"""Pages are merged correctly, whatever their lengths."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.rooms.metrics.collectors.anypoint.pagination import AT_ONCE, IncompleteList, Page, fetch_all_pages


def run(coroutine: Any) -> Any:
    """To its end; nothing here waits for anything."""
    import asyncio

    return asyncio.run(coroutine)


@given(
    count=st.integers(0, 300), lengths=st.lists(st.integers(1, 40), min_size=1), lies=st.integers(-50, 5_000),
    overlap=st.integers(0, 3), has_total=st.booleans(),
)  # fmt: skip
def test_every_entry_is_found_once_however_long_the_pages_are(
    count: int, lengths: list[int], lies: int, overlap: int, has_total: bool
) -> None:
    calls = 0

    async def page(offset: int) -> Page:
        nonlocal calls
        length = lengths[calls % len(lengths)] + overlap
        calls += 1
        start = max(0, offset - overlap)
        total = count + (lies if calls == 1 and lies > 0 else 0)
        return [{"id": number} for number in range(start, min(start + length, count))], total if has_total else None

    found = run(fetch_all_pages(page, lambda item: item["id"]))
    assert sorted(item["id"] for item in found) == list(range(count))


@pytest.mark.parametrize("total", [1_000_000, 10**12])
@pytest.mark.requirement("metrics:lists:complete")
def test_a_total_that_is_far_too_large_costs_few_calls_and_the_list_is_incomplete(total: int) -> None:
    asked: list[int] = []

    async def page(offset: int) -> Page:
        asked.append(offset)
        return [{"id": number} for number in range(offset, min(offset + 10, 25))], total

    with pytest.raises(IncompleteList, match=f"ends after 25 of {total}"):
        run(fetch_all_pages(page, lambda item: item["id"]))
    assert len(asked) <= 2 * AT_ONCE + 1
