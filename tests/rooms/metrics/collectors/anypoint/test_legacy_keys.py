"""By key, the toolkit has its own roots, and says less than the right answer."""

from typing import Any

import pytest

from pentad.rooms.metrics.collectors.anypoint.legacy import legacy_by_key
from tests.anypoint.engine import platform_engine
from tests.anypoint.recorded import Recorded
from tests.anypoint.server import Platform

pytestmark = pytest.mark.anyio
NAMES = {"businessGroup": "Lumen Orchards", "businessGroupId": "a0000000-0000-4000-8000-000000000001"}


async def found(collector: str, key: str) -> dict[str, Any]:
    async with platform_engine(Platform(Recorded())) as one:
        answer = await one.ask(collector, key, compat="legacy", recursive=False)
        (entry,) = legacy_by_key(answer.snapshot.tree, answer.info, (key,))
    assert {name: entry.pop(name) for name in NAMES} == NAMES
    return entry


@pytest.mark.requirement("metrics:legacy:roots")
async def test_cloudhub_is_the_root_and_what_is_null_is_not_there() -> None:
    network = (await found("ch", "networking"))["cloudhub"]["networking"]
    assert (network["vpcsTotal"], network["vpcsUsed"], network["vpcsAvailable"]) == (3, None, 3), "nulls too"
    assert await found("ch", "vpcsUsed") == {"cloudhub": None}
    assert await found("ch", "vpcsTotal") == {"cloudhub": {"networking": {"vpcsTotal": 3}}}


@pytest.mark.requirement("metrics:legacy:roots")
async def test_entries_of_environments_lose_their_names() -> None:
    applications = (await found("ch", "vcoresUsed"))["cloudhub"]["applications"]
    assert applications["production"] == {"vcoresUsed": 0.3, "details": [{"vcoresUsed": 0.3}]}


@pytest.mark.requirement("metrics:legacy:roots")
async def test_other_roots_are_those_by_collector() -> None:
    assert (await found("core", "environments")) == {
        "coreServicesMetrics": {"environments": {"total": 2, "production": 1, "sandbox": 1}}
    }
    stats = (await found("osv2", "requestCount"))["osV2Metrics"]["stats"]
    assert stats["sandbox"]["details"] == [{"requestCount": 2500}]


@pytest.mark.requirement("metrics:legacy:roots")
@pytest.mark.parametrize(
    ("collector", "key", "entry"),
    [
        ("apc", "clients", {"clients": None}),
        ("rtf", "capacity", {"rtf": None}),
        ("ap", "automatedPoliciesUsed", {}),
        ("apma", "transactions", {}),
    ],
)
async def test_what_the_original_never_answers_by_key(collector: str, key: str, entry: dict[str, Any]) -> None:
    assert await found(collector, key) == entry
