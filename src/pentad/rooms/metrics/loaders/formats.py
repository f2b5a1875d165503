"""Exports a snapshot in one of eight formats: csv, json, ndjson, prometheus, otlp, splunk, elastic, webhook."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import msgspec

from pentad import __version__
from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean
from pentad.rooms.metrics.loaders.prometheus_text import level_of, prometheus_text
from pentad.rooms.metrics.loaders.rows import Row, business_groups, snapshot_rows
from pentad.rooms.metrics.models import Info, Metric, Sample, Snapshot

_CUMULATIVE: Final = 2


def otlp_body(snapshot: Snapshot, catalogue: Iterable[Metric]) -> dict[str, Any]:
    """The body of an OTLP export request to `/v1/metrics`."""
    metrics = {metric.key: metric for metric in catalogue}
    instruments: dict[str, dict[str, Any]] = {}
    for sample, number in _numbers(snapshot):
        metric = metrics.get(sample.key)
        name = f"{snapshot.collector}.{sample.key}"
        if name not in instruments:
            instruments[name] = _instrument(name, sample, metric)
        data = instruments[name].get("sum") or instruments[name]["gauge"]
        data["dataPoints"].append(_point(snapshot, sample, number))
    resource = {"service.name": "pentad", "service.version": __version__, "pentad.collector": snapshot.collector}
    scope = {"name": "pentad.metrics", "version": __version__}
    entry = {
        "resource": {"attributes": _attributes(resource)},
        "scopeMetrics": [{"scope": scope, "metrics": list(instruments.values())}],
    }
    return {"resourceMetrics": [entry]}


def _numbers(snapshot: Snapshot) -> Iterable[tuple[Sample, float]]:
    for sample in snapshot.samples:
        value = sample.value
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield sample, value


def _instrument(name: str, sample: Sample, metric: Metric | None) -> dict[str, Any]:
    instruments: dict[str, Any] = {"name": name, "description": metric.description if metric else ""}
    instruments["unit"] = (metric.unit if metric else sample.unit) or "1"
    if metric is not None and metric.kind == "counter":
        instruments["sum"] = {"dataPoints": [], "aggregationTemporality": _CUMULATIVE, "isMonotonic": True}
    else:
        instruments["gauge"] = {"dataPoints": []}
    return instruments


def _point(snapshot: Snapshot, sample: Sample, number: float) -> dict[str, Any]:
    level = level_of(sample.labels)
    labels = {
        **({"scope": snapshot.scope} if snapshot.scope else {}),
        **({"level": level} if level else {}),
        **({"state": sample.state} if sample.state != "ok" else {}),
        **dict(sample.labels),
    }
    at = round((sample.as_of or snapshot.as_of) * 1000) * 1_000_000
    value = {"asInt": str(number)} if isinstance(number, int) else {"asDouble": number}
    return {"timeUnixNano": str(at), "attributes": _attributes(labels), **value}


def _attributes(values: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": name, "value": {"stringValue": text}} for name, text in values.items()]


Format = Literal["csv", "json", "ndjson", "prometheus", "otlp", "splunk", "elastic", "webhook"]
FORMATS: Final[tuple[str, ...]] = get_args(Format)
COLUMNS: Final = ("name", "value", "businessGroup", "date", "group", "environmentType", "environmentName")
EXPORT_PATH: Final = "/api/metrics/export"
"""The route that returns an export as a file."""
SUFFIXES: Final[Mapping[Format, str]] = {
    "csv": "csv", "json": "json", "ndjson": "ndjson", "prometheus": "prom", "otlp": "otlp.json",
    "splunk": "splunk.json", "elastic": "elastic.ndjson", "webhook": "webhook.json",
}  # fmt: skip
"""How the names of exported files end."""
_DANGEROUS: Final = ("=", "+", "-", "@", "\t", "\r")
_NDJSON: Final = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Export:
    """An exported body."""

    body: str
    content_type: str
    records: int


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Metadata that some formats carry."""

    source: str = "metrics-toolkit"
    sourcetype: str = "_json"
    index: str = ""
    legacy: bool = False
    """Whether to write an organisation's rows as the Metrics Toolkit does."""


def export_snapshot(form: str, snapshot: Snapshot, info: Info, options: ExportOptions | None = None) -> Export:
    """A snapshot in one of the formats."""
    if (write := _WRITERS.get(form)) is None:
        guess = did_you_mean(form, FORMATS)
        raise InvalidInput(
            f"There is no format {form[:40]!r}.{' ' + guess if guess else ''}", hint=f"Formats: {', '.join(FORMATS)}."
        )
    return write(snapshot, info, options or ExportOptions())


def csv_text(rows: Sequence[Row]) -> str:
    """Rows as CSV. A text that a spreadsheet would read as a formula gets an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        fields = msgspec.to_builtins(row)
        writer.writerow([_escape_formula(fields[name]) for name in COLUMNS])
    return out.getvalue()


def _escape_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_DANGEROUS) else value


def _csv(snapshot: Snapshot, info: Info, options: ExportOptions) -> Export:
    rows = snapshot_rows(snapshot, info.title, legacy=options.legacy)
    return Export(csv_text(rows), "text/csv; charset=utf-8", len(rows))


def _json(snapshot: Snapshot, info: Info, options: ExportOptions) -> Export:
    rows = snapshot_rows(snapshot, info.title, legacy=options.legacy)
    return Export(msgspec.json.encode(rows).decode(), "application/json", len(rows))


def _ndjson(snapshot: Snapshot, info: Info, options: ExportOptions) -> Export:
    rows = snapshot_rows(snapshot, info.title, legacy=options.legacy)
    return Export(_json_lines(rows), _NDJSON, len(rows))


def _prometheus(snapshot: Snapshot, info: Info, options: ExportOptions) -> Export:
    text = prometheus_text(snapshot, info.catalogue, _numbers(snapshot))
    count = sum(1 for line in text.splitlines() if not line.startswith("#"))
    return Export(text, "text/plain; version=0.0.4; charset=utf-8", count)


def _otlp(snapshot: Snapshot, info: Info, options: ExportOptions) -> Export:
    body = otlp_body(snapshot, info.catalogue)
    count = len(body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"])
    return Export(_json_text(body), "application/json", count)


def _splunk(snapshot: Snapshot, info: Info, options: ExportOptions) -> Export:
    """Events for an HTTP Event Collector."""
    events = [_event(document, snapshot, options) for document in _documents(snapshot)]
    return Export("".join(map(_json_text, events)), "application/json", len(events))


def _event(document: Any, snapshot: Snapshot, options: ExportOptions) -> dict[str, Any]:
    event = {"time": round(snapshot.as_of, 3), "source": options.source, "sourcetype": options.sourcetype}
    return {**event, **({"index": options.index} if options.index else {}), "event": document}


def _elastic(snapshot: Snapshot, info: Info, options: ExportOptions) -> Export:
    """A bulk request: an action line before each document."""
    documents = _documents(snapshot)
    action = {"index": {"_index": options.index} if options.index else {}}
    return Export(_json_lines([line for one in documents for line in (action, one)]), _NDJSON, len(documents))


def _webhook(snapshot: Snapshot, info: Info, options: ExportOptions) -> Export:
    body = {
        "collector": snapshot.collector,
        "title": info.title,
        "scope": snapshot.scope,
        "asOf": iso(snapshot.as_of),
        "metrics": snapshot.tree,
        "coverage": snapshot.coverage,
        "problems": snapshot.problems,
    }
    return Export(_json_text(body), "application/json", len(_documents(snapshot)))


def _documents(snapshot: Snapshot) -> list[Any]:
    """One document per business group; a single one for other collectors."""
    groups = business_groups(snapshot.tree)
    return list(groups) or [{"date": iso(snapshot.as_of), "collector": snapshot.collector, "metrics": snapshot.tree}]


def _json_lines(values: Sequence[Any]) -> str:
    return "".join(f"{_json_text(value)}\n" for value in values)


def _json_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_WRITERS: Final[dict[str, Callable[[Snapshot, Info, ExportOptions], Export]]] = {
    "csv": _csv, "json": _json, "ndjson": _ndjson, "prometheus": _prometheus, "otlp": _otlp,
    "splunk": _splunk, "elastic": _elastic, "webhook": _webhook,
}  # fmt: skip
