"""Pentad's own figures."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.access.call_totals import BOUNDS_US, grouped
from pentad.kernel.errors import InvalidInput
from pentad.mcp.connection import RemoteError
from pentad.rooms.metrics.collectors.pentad import CATALOGUE, WINDOW, Pentad, collectors, quantile
from tests.rooms.metrics.collectors.opening import opened
from tests.rooms.metrics.sources import TurnedClock
from tests.stores import Stores


@pytest.mark.anyio
@pytest.mark.requirement("metrics:collectors:built-in")
async def test_calls_errors_store_rooms_and_process_are_measured_on_both_stores(stores: Stores):
    async with opened(stores.data, collectors, database=stores.url) as room:
        async with room.app.client() as client:
            for _ in range(3):
                await client.request("tools/list")
            with pytest.raises(RemoteError):
                await client.request("tools/call", {"name": "no_such_tool"})
        await room.app.audit.flush()
        answer = await room.answer("self")
        tree = answer.snapshot.tree
        called = {tool["id"]: tool for tool in tree["tools"]}
        total = sum(tool["calls"] for tool in called.values())
        assert tree["calls"]["total"] == total
        assert (called["tools/list"]["calls"], called["tools/list"]["errors"]) == (3, 0)
        assert (called["(unknown tool)"]["calls"], called["(unknown tool)"]["errors"]) == (1, 1)
        assert tree["calls"]["errors"] == 1
        assert tree["calls"]["p50"] <= tree["calls"]["p95"] <= tree["calls"]["p99"]
        assert {figure["id"]: figure["figure"] for figure in tree["rooms"]} == {"directory.records": 0}
        assert tree["store"]["dialect"] == room.app.database.dialect
        assert tree["store"]["bytes"] > 10_000
        assert tree["process"]["memory"] > 1_000_000
        assert tree["search"] == {"pending": 0}
        assert {sample.key for sample in answer.snapshot.samples} <= {metric.key for metric in CATALOGUE}


@pytest.mark.anyio
@pytest.mark.requirement("metrics:pentad:errors")
async def test_the_share_of_errors_is_recent_and_leaves_out_the_mistakes_of_callers(tmp_path: Path):
    clock = TurnedClock()
    platform: Any = SimpleNamespace(clock=clock)
    collector = Pentad(platform)
    assert collector.error_percent(1_000, 900) is None, "what was before the first look is not recent"
    clock.turn(60)
    assert collector.error_percent(1_010, 901) == 10
    clock.turn(WINDOW)
    assert collector.error_percent(1_020, 901) == 0
    clock.turn(WINDOW)
    assert collector.error_percent(1_020, 901) is None, "no calls, no share"
    async with opened(tmp_path, collectors) as room:
        async with room.app.client() as client:
            with pytest.raises(RemoteError):
                await client.request("tools/call", {"name": "no_such_tool"})
        await room.app.audit.flush()
        tree = (await room.answer("self", keys="calls")).snapshot.tree
        assert (tree["calls"]["errors"], tree["calls"]["faults"]) == (1, 0), "a typo is no fault of the server"


@pytest.mark.anyio
async def test_a_fresh_store_has_no_calls_and_says_nothing_of_their_times(tmp_path: Path):
    async with opened(tmp_path, collectors) as room:
        answer = await room.answer("pentad", keys="calls")
        assert answer.snapshot.tree["calls"] == {
            "total": 0, "faults": 0, "errorPercent": None, "errors": 0, "mean": None, "p50": None, "p95": None,
            "p99": None,
        }  # fmt: skip
        assert [fact.name for fact in answer.facts] == ["pentad.calls"]


@pytest.mark.anyio
async def test_a_key_that_is_misspelt_is_met_with_the_right_one(tmp_path: Path):
    async with opened(tmp_path, collectors) as room:
        with pytest.raises(InvalidInput) as refused:
            await room.answer("pentad", keys="store.byte")
        assert refused.value.details["nearest"][0] == "store.bytes"


@given(st.lists(st.integers(0, 9_000_000), min_size=1, max_size=200))
def test_a_quantile_lies_in_the_bucket_of_the_true_one(times: list[int]):
    (sums,) = grouped((("r", "t", "ok"), time) for time in times).values()
    bounds = (0, *BOUNDS_US)
    for share in (0.5, 0.95, 0.99):
        true = sorted(times)[max(0, -(-len(times) * share // 1).__int__() - 1)]
        found = quantile(sums[2:], share)
        upper = next(bound for bound in BOUNDS_US if true <= bound)
        lower = bounds[bounds.index(upper) - 1]
        assert found is not None
        assert lower / 1000 <= found <= upper / 1000
