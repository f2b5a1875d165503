"""What a filter excludes is absent or null; it never becomes a zero."""

from typing import Any

import pytest

from tests.anypoint.engine import platform_engine
from tests.anypoint.server import Platform
from tests.anypoint.world import World

pytestmark = pytest.mark.anyio


async def cloudhub(**filters: Any) -> tuple[dict[str, Any], dict[str, str]]:
    async with platform_engine(Platform(World())) as one:
        (group,) = (await one.ask("ch", **filters)).snapshot.tree
        return group["runtimeManagerMetrics"]["cloudhub"]["applications"], group.get("states", {})


@pytest.mark.requirement("metrics:filters:no-zeros")
async def test_an_environment_filter_makes_no_zeros_elsewhere() -> None:
    whole, _ = await cloudhub()
    found, states = await cloudhub(environments="Live")
    assert whole["sandbox"]["applicationsTotal"] == 6
    assert found["sandbox"]["applicationsTotal"] is None
    assert "details" not in found["sandbox"]
    assert states["applications.sandbox.applicationsTotal"] == "not_selected"
    assert found["production"]["applicationsTotal"] == whole["production"]["applicationsTotal"]


@pytest.mark.requirement("metrics:filters:no-zeros")
async def test_the_vcores_that_are_left_are_known_only_if_all_environments_are_selected() -> None:
    whole, _ = await cloudhub()
    production, _ = await cloudhub(environments="production")
    assert production["production"]["vcoresAvailable"] == whole["production"]["vcoresAvailable"]
    one_of_three, states = await cloudhub(environments="Trial 2")
    assert one_of_three["sandbox"]["vcoresAvailable"] is None
    assert states["applications.sandbox.vcoresAvailable"] == "not_selected"
    assert one_of_three["sandbox"]["vcoresTotal"] == whole["sandbox"]["vcoresTotal"]
    _, by_region = await cloudhub(regions="us-east-2")
    assert by_region["applications.sandbox.vcoresAvailable"] == "not_selected"


@pytest.mark.requirement("metrics:filters:no-zeros")
@pytest.mark.parametrize("collector", ["apm", "ap", "apma", "arm", "amq", "osv2", "core", "rtf"])
async def test_no_collector_makes_zeros_of_what_is_not_selected(collector: str) -> None:
    async with platform_engine(Platform(World())) as one:
        answer = await one.ask(collector, environments="Live")
    left_out = [sample for sample in answer.snapshot.samples if "sandbox" in sample.key.split(".")]
    assert left_out
    assert {(sample.value, sample.state) for sample in left_out} == {(None, "not_selected")}


@pytest.mark.requirement("metrics:filters:no-zeros")
async def test_what_the_original_does_not_collect_has_no_details_in_legacy_mode() -> None:
    async with platform_engine(Platform(World())) as one:
        (group,) = (await one.ask("arm", compat="legacy")).snapshot.tree
    applications = group["runtimeManagerMetrics"]["cloudhub"]["applications"]
    assert applications["production"]["details"] == applications["sandbox"]["details"] == []
    assert applications["production"]["applicationsTotal"] == 0, "the toolkit fills in zeros"
