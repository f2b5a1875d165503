"""Tools for the Prometheus server of the settings: `queryPrometheus` and `listPrometheusMetrics`."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, tool
from pentad.rooms.metrics.collectors import promql
from pentad.rooms.metrics.collectors.prometheus import Prometheus
from pentad.rooms.metrics.engine.response_budget import CHARACTERS_PER_TOKEN, FRAME, fit_entries, json_size
from pentad.rooms.metrics.interface.arguments import TOKENS, parse_duration, parse_time
from pentad.rooms.metrics.models import FetchError
from pentad.rooms.metrics.service import SECONDS, Metrics

LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_DISCOVERY_SECONDS: Final = 86_400.0
"""How far back to look for the labels of a metric."""
_FEWEST_POINTS: Final = 5
QUERIED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "resultType": {"type": "string"},
        "step": {"type": "number", "description": "Seconds between points."},
        "total": {"type": "integer", "description": "Series before the cut."},
        "series": {"type": "array"},
        "notes": {"type": "array"},
    },
    "required": ["resultType", "series", "total"],
}
LISTED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "metrics": {"type": "array"}, "labels": {"type": "object"}, "values": {"type": "array"},
        "total": {"type": "integer"}, "notes": {"type": "array"},
    },
    "required": ["total"],
}  # fmt: skip


class PromqlArguments(Arguments):
    """Arguments of queryPrometheus."""

    query: Annotated[str, Field(min_length=1, max_length=4_000, description="PromQL.")]
    begin: Annotated[
        str | None, Field(alias="from", max_length=60, description="For a range: now-6h, 7d (ago), an ISO time.")
    ] = None
    end: Annotated[
        str, Field(alias="to", max_length=60, description="End of the range, or time of an instant query.")
    ] = "now"
    step: Annotated[str | None, Field(max_length=20, description="15s, 5m, 1h; widened if too fine.")] = None
    max_series: Annotated[int, Field(ge=1, le=500)] = 20
    max_points: Annotated[int, Field(ge=2, le=5_000)] = 100
    max_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = TOKENS


class PrometheusMetricsArguments(Arguments):
    """Arguments of listPrometheusMetrics."""

    query: Annotated[str, Field(max_length=200, description="Words in names or descriptions.")] = ""
    metric: Annotated[str | None, Field(max_length=300, description="Instead: the labels of this metric.")] = None
    label: Annotated[str | None, Field(max_length=200, description="Instead: the values of this label.")] = None
    max_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = TOKENS


@tool(
    "queryPrometheus",
    title="Query Prometheus",
    read_only=True,
    open_world=True,
    listed="room",
    output_schema=QUERIED,
    rare=("max_series", "max_points", "max_tokens"),
)
async def query_prometheus(arguments: PromqlArguments, call: Call[Metrics]) -> ToolResult:
    """Run PromQL on the Prometheus server: at one time or, with `from`, over a period."""
    view = await run_query(call.service, arguments)
    return ToolResult(structured=view)


@tool(
    "listPrometheusMetrics",
    title="Metrics of Prometheus",
    read_only=True,
    open_world=True,
    listed="room",
    output_schema=LISTED,
    rare=("max_tokens",),
)
async def list_prometheus_metrics(arguments: PrometheusMetricsArguments, call: Call[Metrics]) -> ToolResult:
    """Find metrics of the Prometheus server, the labels of one, or the values of a label."""
    return ToolResult(structured=await run_listing(call.service, arguments))


async def run_query(metrics: Metrics, arguments: PromqlArguments) -> dict[str, Any]:
    """Run a query within the limits."""
    source, session, now = _source(metrics), metrics.engine.session(SECONDS), metrics.now()
    end = parse_time(arguments.end, now)
    try:
        if arguments.begin is None:
            answer = await promql.instant_query(
                source, session, arguments.query, end, max_series=arguments.max_series
            )  # fmt: skip
        else:
            begin = parse_time(arguments.begin, now)
            if begin >= end:
                raise InvalidInput("The period ends before it begins.", hint="Give an earlier `from`.")
            answer = await promql.range_query(
                source, session, arguments.query, begin, end,
                step=None if arguments.step is None else parse_duration(arguments.step),
                max_points=arguments.max_points, max_series=arguments.max_series,
            )  # fmt: skip
    except FetchError as error:
        raise _refused(error) from None
    view: dict[str, Any] = {"resultType": answer.kind, "total": answer.total}
    view |= {"step": answer.step} if answer.step is not None else {}
    notes = list(answer.notes)
    if not answer.series:
        notes.append("No series matches. listPrometheusMetrics finds metrics and labels.")
    view["series"] = _fitting(answer.series, arguments.max_tokens, notes)
    return view | {"notes": notes} if notes else view


async def run_listing(metrics: Metrics, arguments: PrometheusMetricsArguments) -> dict[str, Any]:
    """Metrics, the labels of one, or the values of a label, within the budget."""
    source, session, now = _source(metrics), metrics.engine.session(SECONDS), metrics.now()
    try:
        if arguments.label is not None:
            if LABEL.fullmatch(arguments.label) is None:
                raise InvalidInput(f"{arguments.label[:80]!r} is not a label name.", hint="Use a name such as `job`.")
            values = await promql.label_values(source, session, arguments.label)
            return _listed("values", values, arguments.max_tokens, "Use the label in a query with =~ to narrow it.")
        if arguments.metric is not None:
            total, labels = await promql.metric_labels(source, session, arguments.metric, now - _DISCOVERY_SECONDS, now)
            return _label_view(total, labels, arguments.max_tokens)
        found = await promql.find_metrics(source, session, arguments.query.split())
    except FetchError as error:
        raise _refused(error) from None
    entries = [{"name": one.name, "type": one.kind, "help": one.about} for one in found]
    return _listed("metrics", entries, arguments.max_tokens, "Give more words in `query`.")


def _source(metrics: Metrics) -> Prometheus:
    found = metrics.catalogue.find(Prometheus.id)
    if not isinstance(found, Prometheus) or not found.info().ready:
        raise InvalidInput("No Prometheus server is set up.", hint="Set rooms.metrics.prometheus_url.")
    return found


def _refused(error: FetchError) -> InvalidInput | Unavailable:
    """A wrong query is the caller's mistake; anything else is a failure of the source."""
    problem = error.problem
    if problem.http in (400, 422):
        return InvalidInput(problem.message, hint="Correct the PromQL; listPrometheusMetrics finds names.")
    return Unavailable(f"Prometheus did not answer: {problem.message}")


def _fitting(series: Sequence[promql.PromSeries], max_tokens: int, notes: list[str]) -> list[dict[str, Any]]:
    """Fit the series into the token limit: first with fewer points, then fewer series."""
    room = max_tokens * CHARACTERS_PER_TOKEN - FRAME
    views = [_series_view(one) for one in series]
    points = max((len(one.points) for one in series), default=0)
    stride = 1
    while json_size(views) > room and points // (stride + 1) >= _FEWEST_POINTS:
        stride += 1
        views = [_series_view(one, stride) for one in series]
    if stride > 1:
        notes.append(
            f"Every {stride}th point, to stay within {max_tokens} tokens; shorten the period or raise max_tokens."
        )
    kept = fit_entries(views, max_tokens)
    if len(kept) < len(views):
        notes.append(f"{len(kept)} of {len(views)} series fit; aggregate in the query or raise max_tokens.")
    return kept


def _series_view(series: promql.PromSeries, stride: int = 1) -> dict[str, Any]:
    points = series.points[::-stride][::-1]  # the last point always stays
    if len(points) == 1:
        at, text = points[0]
        return {"labels": series.labels, "at": iso(at), **_value(text)}
    return {"labels": series.labels, "points": [{"at": iso(at), **_value(text)} for at, text in points]}


def _value(text: str) -> dict[str, Any]:
    """A number. NaN and infinity, which JSON does not have, become null with their text."""
    try:
        number = float(text)
    except ValueError:
        return {"value": text}
    if not math.isfinite(number):
        return {"value": None, "text": text}
    return {"value": int(number) if number.is_integer() and abs(number) < 2**53 else number}


def _listed(name: str, entries: Sequence[Any], max_tokens: int, advice: str) -> dict[str, Any]:
    kept = fit_entries(entries, max_tokens)
    view: dict[str, Any] = {name: kept, "total": len(entries)}
    if len(kept) < len(entries):
        view["notes"] = [f"{len(kept)} of {len(entries)} fit. {advice}"]
    return view


def _label_view(total: int, labels: Mapping[str, Sequence[str]], max_tokens: int) -> dict[str, Any]:
    """The labels with as many of their values as fit."""
    most, room = promql.MOST_VALUES, max_tokens * CHARACTERS_PER_TOKEN - FRAME
    shown = _label_values(labels, most)
    while json_size(shown) > room and most > 1:
        most //= 2
        shown = _label_values(labels, most)
    view: dict[str, Any] = {"labels": shown, "total": total}
    if not total:
        view["notes"] = ["No series of this metric in the last day."]
    elif any(len(one["values"]) < one["total"] for one in shown.values()):
        view["notes"] = [f"The first {most} values of each label; `label` lists all of one."]
    return view


def _label_values(labels: Mapping[str, Sequence[str]], most: int) -> dict[str, dict[str, Any]]:
    return {name: {"values": list(values[:most]), "total": len(values)} for name, values in labels.items()}
