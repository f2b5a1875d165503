"""The dashboards in the repository match the catalogue."""

import json

import pytest

from pentad.rooms.metrics.collectors import host, pentad, postgres
from pentad.rooms.metrics.collectors.anypoint.collector import collector_specs
from pentad.rooms.metrics.loaders.grafana import dashboard, queries
from pentad.rooms.metrics.loaders.prometheus_text import metric_names
from pentad.rooms.metrics.models import Info, Metric
from tests.conformance.server import REPOSITORY

FOLDER = REPOSITORY / "docs" / "grafana"
ADVICE = "`pentad metrics dashboard NAME ... -o docs/grafana` writes them anew."
CATALOGUES = {
    **{name: spec.metrics for name, spec in collector_specs().items()},
    "host": host.CATALOGUE, "pentad": pentad.CATALOGUE, "postgres": postgres.CATALOGUE,
}  # fmt: skip


def stored(name: str) -> dict[str, object]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.requirement("metrics:dashboards")
def test_there_is_a_dashboard_for_each_collector_with_a_catalogue_of_its_own() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == CATALOGUES.keys(), ADVICE


@pytest.mark.requirement("metrics:dashboards")
@pytest.mark.parametrize("name", sorted(CATALOGUES))
def test_a_dashboard_shows_every_number_that_is_recorded(name: str) -> None:
    catalogue: tuple[Metric, ...] = tuple(CATALOGUES[name])
    kept = stored(name)
    made = dashboard(Info(id=name, title="", description="", catalogue=catalogue))
    assert kept["panels"] == made["panels"], ADVICE
    assert kept["templating"] == made["templating"], ADVICE
    asked = " ".join(queries(made))
    names = metric_names(name, {metric.key: metric for metric in catalogue})
    for metric in catalogue:
        if metric.kept and metric.kind in ("gauge", "counter"):
            assert names[metric.key] in asked
    ids = [panel["id"] for panel in made["panels"]]
    assert len(set(ids)) == len(ids)
