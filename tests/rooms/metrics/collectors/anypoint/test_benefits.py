"""Benefits from two figures of production and the caller's numbers; and where legacy figures differ."""

import pytest
from pydantic import ValidationError

from pentad.rooms.metrics.collectors.anypoint.figures import Inputs, benefits, with_benefits
from pentad.rooms.metrics.interface.arguments import BenefitsArguments
from tests.anypoint.engine import platform_engine
from tests.anypoint.faults import Fault
from tests.anypoint.recorded import Recorded
from tests.anypoint.server import Platform

pytestmark = pytest.mark.anyio
GIVEN = {
    "developAPIHistoricTime": 30, "developAPICurrentTime": 12, "maintainAPIHistoricTime": 10,
    "maintainAPICurrentTime": 4, "developerDayRate": 500,
}  # fmt: skip


@pytest.mark.requirement("metrics:benefits")
async def test_benefits_are_computed_from_production_alone() -> None:
    async with platform_engine(Platform(Recorded())) as one:
        answer = await one.ask("benefits", recursive=False)
        (entry,) = answer.snapshot.tree
        # One API is used by more than one; one application runs on CloudHub, two on the fabric, one standalone.
        assert entry["platformBenefits"] == {"reusedApis": 1, "applicationsStarted": 4}
        assert with_benefits(entry, Inputs(30, 12, 10, 4, 500)) == {
            "date": entry["date"], "businessGroup": "Lumen Orchards", "businessGroupId": one.platform.world.root,
            "developerProductivity": 250, "savingFromAPIReuse": 15_000, "savingFromMaintenanceProductivity": 12_000,
            "savingFromReuseInMaintenance": 5_000, "totalSavings": 32_000, "errors": [],
        }  # fmt: skip


@pytest.mark.requirement("metrics:benefits")
def test_a_division_by_zero_has_no_value_and_a_reason() -> None:
    values, errors = benefits(Inputs(30, 0, 10, 4, 500), 1, 4)
    assert values["developerProductivity"] is None
    assert values["totalSavings"] == 32_000
    assert "developAPICurrentTime is 0" in errors[0]


@pytest.mark.requirement("metrics:benefits")
def test_what_could_not_be_counted_saves_nothing_that_is_known() -> None:
    values, errors = benefits(Inputs(30, 12, 10, 4, 500), None, 4)
    assert (values["savingFromAPIReuse"], values["totalSavings"]) == (None, None)
    assert values["savingFromMaintenanceProductivity"] == 12_000
    assert len(errors) == 1


@pytest.mark.requirement("metrics:benefits")
@pytest.mark.parametrize("wrong", [None, -1, "many", float("nan")])
def test_an_input_that_is_no_number_is_refused(wrong: object) -> None:
    assert BenefitsArguments.model_validate(GIVEN).day_rate == 500
    with pytest.raises(ValidationError, match="developerDayRate"):
        BenefitsArguments.model_validate({**GIVEN, "developerDayRate": wrong})


async def differing(collector: str, faults: list[Fault] | None = None) -> dict[str, tuple[object, object, str]]:
    async with platform_engine(Platform(Recorded(), faults=faults)) as one:
        answer = await one.ask(collector, compat="legacy", recursive=False)
        return {one.key: (one.right, one.legacy, one.why) for one in answer.snapshot.differences}


@pytest.mark.requirement("metrics:benefits")
async def test_each_figure_the_original_gets_wrong_is_listed_with_the_reason() -> None:
    found = await differing("ch")
    assert found["runtimeManagerMetrics.cloudhub.networking.vpcsUsed"][:2] == (1, None)
    assert len(found) == 8
    assert "usage" in found["runtimeManagerMetrics.cloudhub.networking.dlbsAvailable"][2]
    delivered = (await differing("amq"))["mqMetrics.stats.summary.production.exchanges.messagesDelivered"]
    assert delivered == (13, 0, "The toolkit adds up a misspelt field, so the sum is always zero.")
    assert set(await differing("apm")) == {
        f"apiManagerMetrics.apis.{kind}.details.{key}"
        for kind in ("production", "sandbox")
        for key in ("apisWithSecurity", "apisWithoutSecurity")
    }
    assert await differing("core") == {}
    assert (await differing("rtf"))["runtimeManagerMetrics.rtf.capacity.fabrics"][:2] == (1, None)


@pytest.mark.requirement("metrics:benefits")
async def test_zeros_for_what_failed_are_listed() -> None:
    trial = "e0000000-0000-4000-8000-000000000003"
    found = await differing("osv2", [Fault("store-stats", status=403, where=trial)])
    assert found["osV2Metrics.stats.production.requestCount"][:2] == (2500, 0)
    assert "zeros" in found["osV2Metrics.stats.production.requestCount"][2]
