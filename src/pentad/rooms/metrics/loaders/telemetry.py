"""Samples for telemetry systems: the text exposition of Prometheus, and OTLP over HTTP as JSON.

Only numbers are exported. Missing values are left out, not given as zero.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pentad import __version__
from pentad.rooms.metrics.models import Metric, Sample, Snapshot

_STRANGE: Final = re.compile(r"[^A-Za-z0-9]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_UNITS: Final = {"By": "bytes", "s": "seconds", "%": "percent", "ms": "milliseconds", "MHz": "megahertz"}
_CUMULATIVE: Final = 2


def prometheus_text(snapshot: Snapshot, catalogue: Iterable[Metric]) -> str:
    """The text a Prometheus server scrapes, grouped by metric."""
    metrics = {metric.key: metric for metric in catalogue}
    families: dict[str, list[str]] = {}
    for sample, number in _numbers(snapshot):
        metric = metrics.get(sample.key)
        name = metric_name(snapshot.collector, sample, metric)
        if name not in families:
            families[name] = _head(name, metric)
        families[name].append(f"{name}{_labels(snapshot, sample)} {_number(number)}")
    return "".join(f"{line}\n" for lines in families.values() for line in lines)


def otlp_body(snapshot: Snapshot, catalogue: Iterable[Metric]) -> dict[str, Any]:
    """The body of an OTLP export request to `/v1/metrics`."""
    metrics = {metric.key: metric for metric in catalogue}
    told: dict[str, dict[str, Any]] = {}
    for sample, number in _numbers(snapshot):
        metric = metrics.get(sample.key)
        name = f"{snapshot.collector}.{sample.key}"
        if name not in told:
            told[name] = _instrument(name, sample, metric)
        data = told[name].get("sum") or told[name]["gauge"]
        data["dataPoints"].append(_point(snapshot, sample, number))
    resource = {"service.name": "pentad", "service.version": __version__, "pentad.collector": snapshot.collector}
    scope = {"name": "pentad.metrics", "version": __version__}
    entry = {
        "resource": {"attributes": _attributes(resource)},
        "scopeMetrics": [{"scope": scope, "metrics": list(told.values())}],
    }
    return {"resourceMetrics": [entry]}


def metric_name(collector: str, sample: Sample, metric: Metric | None) -> str:
    """A Prometheus metric name: lower-case words, then the unit, then `total` for counters."""
    words = _STRANGE.sub("_", _CAMEL.sub("_", f"pentad_{collector}_{sample.key}")).strip("_").lower()
    unit = _UNITS.get((metric.unit if metric else sample.unit) or "", "")
    if unit and not words.endswith(unit):
        words = f"{words}_{unit}"
    counts = metric is not None and metric.kind == "counter"
    return f"{words}_total" if counts and not words.endswith("_total") else words


def _numbers(snapshot: Snapshot) -> Iterable[tuple[Sample, float]]:
    for sample in snapshot.samples:
        value = sample.value
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield sample, value


def _head(name: str, metric: Metric | None) -> list[str]:
    kind = "counter" if metric is not None and metric.kind == "counter" else "gauge"
    if metric is None:
        return [f"# TYPE {name} {kind}"]
    said = metric.description.replace("\\", "\\\\").replace("\n", "\\n")
    return [f"# HELP {name} {said}", f"# TYPE {name} {kind}"]


def _labels(snapshot: Snapshot, sample: Sample) -> str:
    told = {**({"scope": snapshot.scope} if snapshot.scope else {}), **dict(sample.labels)}
    if not told:
        return ""
    inner = ",".join(f'{_label_name(name)}="{_quoted(text)}"' for name, text in told.items())
    return f"{{{inner}}}"


def _label_name(name: str) -> str:
    words = _STRANGE.sub("_", _CAMEL.sub("_", name)).lower()
    return f"_{words}" if words[:1].isdigit() else words or "_"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return repr(value)


def _instrument(name: str, sample: Sample, metric: Metric | None) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "description": metric.description if metric else ""}
    told["unit"] = (metric.unit if metric else sample.unit) or "1"
    if metric is not None and metric.kind == "counter":
        told["sum"] = {"dataPoints": [], "aggregationTemporality": _CUMULATIVE, "isMonotonic": True}
    else:
        told["gauge"] = {"dataPoints": []}
    return told


def _point(snapshot: Snapshot, sample: Sample, number: float) -> dict[str, Any]:
    labels = {**({"scope": snapshot.scope} if snapshot.scope else {}), **dict(sample.labels)}
    at = round((sample.as_of or snapshot.as_of) * 1000) * 1_000_000
    value = {"asInt": str(number)} if isinstance(number, int) else {"asDouble": number}
    return {"timeUnixNano": str(at), "attributes": _attributes(labels), **value}


def _attributes(values: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": name, "value": {"stringValue": text}} for name, text in values.items()]
