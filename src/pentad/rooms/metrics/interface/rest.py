"""REST routes: queries, changes, keys, exports, PromQL, `POST /api/metrics/poll`, and the page for Prometheus."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.mcp.arguments import Arguments, argument_error
from pentad.platform import Operation, Parameter, protected_route
from pentad.rooms.metrics.history.scrape import OPENMETRICS, PLAIN_TEXT
from pentad.rooms.metrics.interface.arguments import (
    HEADERS,
    ChangesArguments,
    ExportFileArguments,
    ListKeysArguments,
    QueryArguments,
)
from pentad.rooms.metrics.interface.promql_tools import (
    PrometheusMetricsArguments,
    PromqlArguments,
    run_listing,
    run_query,
)
from pentad.rooms.metrics.interface.questions import Origin, changes_view, keys_view, query_view
from pentad.rooms.metrics.loaders.formats import EXPORT_PATH, FORMATS, SUFFIXES
from pentad.rooms.metrics.metric_keys import split_list
from pentad.rooms.metrics.service import Metrics

A = TypeVar("A", bound=Arguments)

_COLLECTOR: Final = Parameter("collector", "The collector, by id.", required=True)
_ANY_COLLECTOR: Final = Parameter(
    "collector", "One or several collectors, separated by commas; by default all that have the key."
)
_BG: Final = Parameter("bg", "The business group: id, name or path.")
_MAX_TOKENS: Final = Parameter("max_tokens", "Maximum size of the answer.", "integer", minimum=100, maximum=1_000_000)
_POLL: Final = Operation("Poll a collector now and record its figures.", "metrics", (_COLLECTOR, _BG))
_QUERY: Final = Operation(
    "Filter, group, add up and rank figures, or list what they count.",
    "metrics",
    (
        _ANY_COLLECTOR,
        Parameter("metricKey", "The figure: a dotted key, a name at any depth, or a pattern.", required=True),
        Parameter("of", "The figures, or the items they count.", choices=("figures", "items")),
        Parameter("where", "A condition such as `value > 0`; may be repeated."),
        Parameter("group_by", "Columns, separated by commas."),
        Parameter("aggregate", "sum, mean, min, max, count, distinct or values; also sum(column)."),
        Parameter("sort", "Columns, separated by commas; -value for the greatest first."),
        Parameter("top", "Maximum number of rows.", "integer", minimum=1, maximum=10_000),
        Parameter("offset", "How many rows to skip.", "integer", minimum=0),
        Parameter("level", "Figures of groups, or of their parts.", choices=("group", "environment", "region")),
        Parameter("columns", "Only these columns, separated by commas."),
        _BG,
        Parameter("recursive", "Include the groups below it; default true.", "boolean"),
        Parameter("environment", "Only these environments, by name, id or type."),
        Parameter("region", "Only these regions."),
        Parameter("compat", "The Metrics Toolkit's numbers, or the right ones.", choices=("legacy", "current")),
        Parameter("timeout_seconds", "Answer with what has arrived by then.", "number"),
        _MAX_TOKENS,
    ),
)
_CHANGES: Final = Operation(
    "What changed in the recorded metrics since a time, the largest changes first.",
    "metrics",
    (
        _ANY_COLLECTOR,
        Parameter("since", "now-24h, 7d (ago), a date."),
        Parameter("until", "The later time; now unless given."),
        Parameter("metricKey", "Only these keys, with commas."),
        _BG,
        Parameter("limit", "The most changes.", "integer", minimum=1, maximum=1_000),
        _MAX_TOKENS,
    ),
)
_KEYS: Final = Operation(
    "Find metric keys by words or a question.",
    "metrics",
    (
        Parameter("query", "Words, or a question."),
        _ANY_COLLECTOR,
        Parameter("limit", "The most keys.", "integer", minimum=1, maximum=1_000),
        Parameter("offset", "How many keys to pass over.", "integer", minimum=0),
    ),
)
_EXPORT: Final = Operation(
    "The figures of a collector as a file, in another system's format.",
    "metrics",
    (
        _COLLECTOR,
        Parameter("format", "The format; default json.", choices=FORMATS),
        Parameter("keys", "Only these metric keys, separated by commas."),
        _BG,
        Parameter("recursive", "Include the groups below it; default true.", "boolean"),
        Parameter("environment", "Only these environments, by name, id or type."),
        Parameter("region", "Only these regions."),
        Parameter("compat", "The Metrics Toolkit's numbers, or the right ones.", choices=("legacy", "current")),
        Parameter("timeout_seconds", "Answer with what has arrived by then.", "number"),
    ),
    produces=["application/json", "application/x-ndjson", "text/csv", "text/plain"],
    headers=["Content-Disposition"],
)
_SCRAPE: Final = Operation(
    "What the last poll of each collector recorded, for Prometheus; asks no source.",
    "metrics",
    (
        Parameter("collector", "Only these collectors, with commas between them, or repeated."),
        Parameter("bg", "Only this business group, by name or id."),
    ),
    produces=["application/openmetrics-text", "text/plain"],
)
_PROMQL: Final = Operation(
    "Run PromQL on the Prometheus server of the settings: at a moment or, with `from`, over a period.",
    "metrics",
    (
        Parameter("query", "PromQL.", required=True),
        Parameter("from", "For a range: now-6h, 7d (ago), an ISO time."),
        Parameter("to", "Its end, or the moment; by default now."),
        Parameter("step", "15s, 5m, 1h; widened if too fine."),
        Parameter("max_series", "The most series.", "integer", minimum=1, maximum=500),
        Parameter("max_points", "The most points of a series.", "integer", minimum=2, maximum=5_000),
        _MAX_TOKENS,
    ),
)
_PROMETHEUS_METRICS: Final = Operation(
    "Metrics that the Prometheus server has, the labels of one, or the values of a label.",
    "metrics",
    (
        Parameter("query", "Words in names or descriptions."),
        Parameter("metric", "Instead: the labels of this metric."),
        Parameter("label", "Instead: the values of this label."),
        _MAX_TOKENS,
    ),
)


def routes(metrics: Metrics) -> list[BaseRoute]:
    """The routes of the room."""

    async def poll(request: Request, _principal: Principal) -> dict[str, Any]:
        collector = request.query_params.get("collector")
        if not collector:
            raise InvalidInput("collector is missing.", hint="Add ?collector=host.")
        return {"recorded": await metrics.poll(collector, request.query_params.get("bg") or None)}

    async def query(request: Request, _principal: Principal) -> dict[str, Any]:
        origin = Origin(credentials=_credentials(request))
        return await query_view(metrics, _arguments(QueryArguments, request), origin)

    async def export(request: Request, _principal: Principal) -> Response:
        given = _arguments(ExportFileArguments, request)
        (one,) = metrics.select_collectors([given.one_collector()])
        options = given.query_options()
        options.update(
            keys=split_list(given.keys), compat=metrics.compat(one, given.compat), credentials=_credentials(request)
        )
        found, _ = await metrics.export(one, metrics.query(one, **options), given.format)
        name = quote(f"{one}.{SUFFIXES[given.format]}", safe="")
        headers = {
            "cache-control": "no-store",
            "content-disposition": f"attachment; filename*=UTF-8''{name}",
            "x-content-type-options": "nosniff",
        }
        return Response(found.body, headers=headers, media_type=found.content_type)

    def answer(
        model: type[A], view: Callable[[Metrics, A], Awaitable[Mapping[str, Any]]]
    ) -> Callable[[Request, Principal], Awaitable[Mapping[str, Any]]]:
        async def handle(request: Request, _principal: Principal) -> Mapping[str, Any]:
            return await view(metrics, _arguments(model, request))

        return handle

    async def scrape(request: Request, _principal: Principal) -> Response:
        openmetrics = _accepts_openmetrics(request.headers.get("accept", ""))
        chosen = split_list(",".join(request.query_params.getlist("collector")))
        text = await metrics.scrape(chosen, request.query_params.get("bg") or None, openmetrics=openmetrics)
        headers = {"cache-control": "no-cache", "vary": "accept", "x-content-type-options": "nosniff"}
        return Response(text, headers=headers, media_type=OPENMETRICS if openmetrics else PLAIN_TEXT)

    async def promql(request: Request, _principal: Principal) -> dict[str, Any]:
        return await run_query(metrics, _arguments(PromqlArguments, request))

    async def prometheus_metrics(request: Request, _principal: Principal) -> dict[str, Any]:
        return await run_listing(metrics, _arguments(PrometheusMetricsArguments, request))

    return [
        protected_route("GET", "/api/metrics/query", "metrics:read", _QUERY, query),
        protected_route(
            "GET", "/api/metrics/changes", "metrics:read", _CHANGES, answer(ChangesArguments, changes_view)
        ),
        protected_route("GET", "/api/metrics/keys", "metrics:read", _KEYS, answer(ListKeysArguments, keys_view)),
        protected_route("GET", "/api/metrics/promql", "metrics:read", _PROMQL, promql),
        protected_route("GET", "/api/metrics/promql/metrics", "metrics:read", _PROMETHEUS_METRICS, prometheus_metrics),
        protected_route("GET", EXPORT_PATH, "metrics:read", _EXPORT, export),
        protected_route("GET", "/metrics/collectors", "metrics:read", _SCRAPE, scrape),
        protected_route("POST", "/api/metrics/poll", "metrics:write", _POLL, poll),
    ]


def _arguments(model: type[A], request: Request) -> A:
    """A tool's arguments from the query string; a repeated name becomes a list."""
    given: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in given:
            given[name] = [*(given[name] if isinstance(given[name], list) else [given[name]]), value]
        else:
            given[name] = value
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise argument_error(model, error, given) from None


def _credentials(request: Request) -> dict[str, str] | None:
    """The credentials in the request's headers, for this request only."""
    return {name: value for name in HEADERS if (value := request.headers.get(name))} or None


def _accepts_openmetrics(accept: str) -> bool:
    """Whether to answer in OpenMetrics: always, unless the client accepts only text/plain."""
    return "application/openmetrics-text" in accept or "text/plain" not in accept
