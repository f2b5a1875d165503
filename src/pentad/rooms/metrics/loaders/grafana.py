"""Generates Grafana dashboards from a collector's catalogue, for the figures Prometheus scrapes.

Metrics with the same parent key and unit share a panel. Dashboards of organisations have variables for the business
group, and for showing groups or their environments.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from pentad.rooms.metrics.loaders.prometheus_text import base_unit, metric_name, metric_names
from pentad.rooms.metrics.models import Info, Metric

_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
_UNITS: Final = {"bytes": "bytes", "seconds": "s", "ratio": "percentunit", "hertz": "hertz"}
_MOST_LINES: Final = 8
"""The maximum number of metrics in a panel."""
_WIDTH, _HEIGHT, _ACROSS = 8, 8, 3
_UP: Final = "collector.up"
_GROUP: Final = "businessGroup"
_ENVIRONMENT: Final = "environmentName"


def dashboard(info: Info) -> dict[str, Any]:
    """The dashboard of a collector."""
    metrics = [one for one in info.catalogue if one.kept and one.kind in ("gauge", "counter")]
    names = metric_names(info.id, {one.key: one for one in info.catalogue})
    panels = [_up_panel(info), *(_panel(title, some, names) for title, some in _panels(metrics))]
    return {
        "uid": f"pentad-{info.id}",
        "title": f"Pentad: {info.title}",
        "description": info.description,
        "tags": ["pentad"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-7d", "to": "now"},
        "templating": {"list": _variables(metrics, names)},
        "panels": [_placed(panel, place) for place, panel in enumerate(panels)],
    }


def queries(made: dict[str, Any]) -> list[str]:
    """All PromQL expressions of a dashboard."""
    return [target["expr"] for panel in made["panels"] for target in panel["targets"]]


def _variables(metrics: Sequence[Metric], names: dict[str, str]) -> list[dict[str, Any]]:
    source = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    grouped = [one for one in metrics if _GROUP in one.labels]
    if not grouped:
        return [source]
    every = f'label_values({names[grouped[0].key]}{{level="group"}}, business_group)'
    group = {
        "name": "group", "label": "Business group", "type": "query", "datasource": _SOURCE, "query": every,
        "refresh": 2, "includeAll": True, "multi": True, "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }  # fmt: skip
    if not any(_ENVIRONMENT in one.labels for one in grouped):
        return [source, group]
    level = {
        "name": "level", "label": "Level", "type": "custom", "query": "group,environment",
        "current": {"text": "group", "value": "group"},
    }  # fmt: skip
    return [source, group, level]


def _panels(metrics: Iterable[Metric]) -> list[tuple[str, list[Metric]]]:
    """The panels: a title, and the metrics that share it."""
    together: dict[tuple[str, str, str, bool], list[Metric]] = {}
    for one in metrics:
        parent = one.key.rpartition(".")[0] or "all"
        shape = ",".join(one.labels)
        together.setdefault((parent, base_unit(one.unit), shape, one.kind == "counter"), []).append(one)
    return [
        (parent, some[start : start + _MOST_LINES])
        for (parent, _, _, _), some in together.items()
        for start in range(0, len(some), _MOST_LINES)
    ]


def _panel(title: str, metrics: Sequence[Metric], names: dict[str, str]) -> dict[str, Any]:
    first = metrics[0]
    targets = [_target(one, names[one.key], place, single=len(metrics) == 1) for place, one in enumerate(metrics)]
    unit = _UNITS.get(base_unit(first.unit), "short")
    heading = first.key if len(metrics) == 1 else title
    return {
        "type": "timeseries",
        "title": f"{heading}, per second" if first.kind == "counter" else heading,
        "description": " ".join(f"{one.key.rpartition('.')[2]}: {one.description}" for one in metrics),
        "datasource": _SOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": {"unit": unit, **_thresholds(metrics)}, "overrides": []},
        "options": {"tooltip": {"mode": "multi"}, "legend": {"displayMode": "list"}},
    }


def _target(metric: Metric, name: str, place: int, *, single: bool) -> dict[str, Any]:
    selector, legend = "", []
    if _GROUP in metric.labels:
        level = "$level" if _ENVIRONMENT in metric.labels else "group"
        selector = f'{{level="{level}",business_group=~"$group"}}'
        legend = ["{{business_group}}", *(["{{environment_name}}"] if _ENVIRONMENT in metric.labels else [])]
    elif metric.labels:
        legend = [f"{{{{{label}}}}}" for label in metric.labels]
    words = ([] if single and legend else [metric.key.rpartition(".")[2]]) + legend
    expr = f"rate({name}{selector}[$__rate_interval])" if metric.kind == "counter" else f"{name}{selector}"
    return {"refId": chr(ord("A") + place), "expr": expr, "legendFormat": " ".join(words), "datasource": _SOURCE}


def _thresholds(metrics: Sequence[Metric]) -> dict[str, Any]:
    """The thresholds of a panel with a single metric that is bad above them."""
    (metric, *others) = metrics
    levels = [(metric.warn, "orange"), (metric.alarm, "red")]
    if others or metric.better == "higher" or all(level is None for level, _ in levels):
        return {}
    factor = 0.01 if metric.unit == "%" else 0.001 if metric.unit == "ms" else 1
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    steps += [{"color": colour, "value": level * factor} for level, colour in levels if level is not None]
    return {
        "thresholds": {"mode": "absolute", "steps": steps},
        "custom": {"thresholdsStyle": {"mode": "dashed"}},
    }


def _up_panel(info: Info) -> dict[str, Any]:
    name = metric_name(info.id, _UP, None)
    states = {"0": {"text": "failing", "color": "red"}, "1": {"text": "ok", "color": "green"}}
    return {
        "type": "stat",
        "title": "Polls",
        "description": "Whether the last poll of this collector reached its source.",
        "datasource": _SOURCE,
        "targets": [{"refId": "A", "expr": name, "legendFormat": "{{scope}}", "datasource": _SOURCE}],
        "fieldConfig": {"defaults": {"mappings": [{"type": "value", "options": states}]}, "overrides": []},
    }


def _placed(panel: dict[str, Any], place: int) -> dict[str, Any]:
    row, column = divmod(place, _ACROSS)
    where = {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
    return {"id": place + 1, **panel, "gridPos": where}
