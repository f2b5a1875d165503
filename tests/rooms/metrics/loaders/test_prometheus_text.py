"""The Prometheus export counts nothing twice, and its names and units follow Prometheus' own rules."""

import re

import pytest

from pentad.rooms.metrics.collectors import host, pentad, postgres
from pentad.rooms.metrics.collectors.anypoint.collector import collector_specs
from pentad.rooms.metrics.loaders.formats import export_snapshot
from pentad.rooms.metrics.loaders.prometheus_text import metric_name, metric_names
from pentad.rooms.metrics.models import Info, Metric, Sample, Snapshot
from tests.anypoint.engine import platform_engine
from tests.anypoint.server import Platform
from tests.anypoint.world import World

FAMILY = re.compile(r"^([a-z0-9_]+)\{(.*)\} ([0-9.e+-]+)$")
CATALOGUES = {
    **{name: spec.metrics for name, spec in collector_specs().items()},
    "host": host.CATALOGUE, "pentad": pentad.CATALOGUE, "postgres": postgres.CATALOGUE,
}  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("key", ["applicationsTotal", "vcoresUsed"])
@pytest.mark.requirement("metrics:loaders:prometheus")
async def test_the_environments_add_up_to_the_group(key: str) -> None:
    async with platform_engine(Platform(World())) as one:
        answer = await one.ask("ch", f"applications.sandbox.{key}")
    sums: dict[str, float] = {}
    for line in export_snapshot("prometheus", answer.snapshot, answer.info).body.splitlines():
        if (found := FAMILY.match(line)) is not None:
            (level,) = re.findall(r'level="([a-z]+)"', found[2])
            sums[level] = sums.get(level, 0.0) + float(found[3])
    assert sums.keys() == {"group", "environment"}
    assert sums["environment"] == pytest.approx(sums["group"])


@pytest.mark.parametrize("collector", sorted(CATALOGUES))
@pytest.mark.requirement("metrics:loaders:prometheus")
def test_names_follow_the_rules_of_promtool(collector: str) -> None:
    metrics = {metric.key: metric for metric in CATALOGUES[collector]}
    names = metric_names(collector, metrics)
    assert len(set(names.values())) == len(names), "no two metrics share a name"
    for key, name in names.items():
        words = name.split("_")
        assert (words[-1] == "total") is (metrics[key].kind == "counter"), name
        assert words[-1] not in ("count", "sum", "bucket"), name
        assert not {"gauge", "counter", "summary", "histogram", "days", "hours", "milliseconds"} & set(words), name
        assert not {"s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d"} & set(words), name
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name), name


@pytest.mark.parametrize(("key", "unit", "is_counter", "name"), [
    ("users.total", None, False, "pentad_c_users"),
    ("users.activeMembersLast60Days", None, False, "pentad_c_users_active_members_last60d"),
    ("calls.p95", "ms", False, "pentad_c_calls_p95_seconds"),
    ("memory.percent", "%", False, "pentad_c_memory_ratio"),
    ("calls.total", None, True, "pentad_c_calls_total"),
    ("stats.requestCount", None, False, "pentad_c_stats_request_number"),
    ("coresReservedB", "cores", False, "pentad_c_cores_reservedb"),
    ("heap.usedMb.max", None, False, "pentad_c_heap_usedmb_max"),
])  # fmt: skip
@pytest.mark.requirement("metrics:loaders:prometheus")
def test_a_name_ends_with_its_base_unit(key: str, unit: str | None, is_counter: bool, name: str) -> None:
    assert metric_name("c", key, unit, is_counter=is_counter) == name


@pytest.mark.requirement("metrics:loaders:prometheus")
def test_values_are_in_base_units_and_stale_ones_have_their_time() -> None:
    info = Info(
        id="c", title="", description="",
        catalogue=(Metric(key="p95", description="Slow.", unit="ms"), Metric(key="share", description="S.", unit="%")),
    )  # fmt: skip
    samples = [Sample(key="p95", value=1500, as_of=12.5, state="stale"), Sample(key="share", value=12.5)]
    body = export_snapshot(
        "prometheus", Snapshot(collector="c", scope="", as_of=0, tree={}, samples=samples), info
    ).body
    assert "pentad_c_p95_seconds 1.5 12500\n" in body
    assert "pentad_c_share_ratio 0.125\n" in body
