"""Routes for programs: the page that Prometheus scrapes, PromQL, and `POST /api/metrics/poll`."""

from typing import Any, Final, TypeVar

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.mcp.arguments import Arguments, argument_error
from pentad.platform import Operation, Parameter, protected_route
from pentad.rooms.metrics.history.scrape import OPENMETRICS, PLAIN_TEXT
from pentad.rooms.metrics.interface.promql_tools import (
    PrometheusMetricsArguments,
    PromqlArguments,
    run_listing,
    run_query,
)
from pentad.rooms.metrics.metric_keys import split_list
from pentad.rooms.metrics.service import Metrics

A = TypeVar("A", bound=Arguments)

_POLL: Final = Operation(
    "Collect everything of a collector now and record it.",
    "metrics",
    (
        Parameter("collector", "The collector, by id.", required=True),
        Parameter("bg", "The business group: id, name or path."),
    ),
)
_SCRAPE: Final = Operation(
    "What the last poll of each collector recorded, for Prometheus; asks no source.",
    "metrics",
    (
        Parameter("collector", "Only these collectors, with commas between them."),
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
        Parameter("max_tokens", "The size of the answer.", "integer", minimum=100, maximum=1_000_000),
    ),
)
_PROMETHEUS_METRICS: Final = Operation(
    "Metrics that the Prometheus server has, the labels of one, or the values of a label.",
    "metrics",
    (
        Parameter("query", "Words in names or descriptions."),
        Parameter("metric", "Instead: the labels of this metric."),
        Parameter("label", "Instead: the values of this label."),
        Parameter("max_tokens", "The size of the answer.", "integer", minimum=100, maximum=1_000_000),
    ),
)


def routes(metrics: Metrics) -> list[BaseRoute]:
    async def poll(request: Request, _principal: Principal) -> dict[str, Any]:
        collector = request.query_params.get("collector")
        if not collector:
            raise InvalidInput("collector is missing.", hint="Add ?collector=host.")
        return {"recorded": await metrics.poll(collector, request.query_params.get("bg") or None)}

    async def scrape(request: Request, _principal: Principal) -> Response:
        openmetrics = _accepts_openmetrics(request.headers.get("accept", ""))
        chosen = split_list(request.query_params.get("collector"))
        text = await metrics.scrape(chosen, request.query_params.get("bg") or None, openmetrics=openmetrics)
        headers = {"cache-control": "no-cache", "vary": "accept", "x-content-type-options": "nosniff"}
        return Response(text, headers=headers, media_type=OPENMETRICS if openmetrics else PLAIN_TEXT)

    async def query(request: Request, _principal: Principal) -> dict[str, Any]:
        return await run_query(metrics, _arguments(PromqlArguments, request))

    async def prometheus_metrics(request: Request, _principal: Principal) -> dict[str, Any]:
        return await run_listing(metrics, _arguments(PrometheusMetricsArguments, request))

    return [
        protected_route("GET", "/api/metrics/promql", "metrics:read", _PROMQL, query),
        protected_route("GET", "/api/metrics/promql/metrics", "metrics:read", _PROMETHEUS_METRICS, prometheus_metrics),
        protected_route("GET", "/metrics/collectors", "metrics:read", _SCRAPE, scrape),
        protected_route("POST", "/api/metrics/poll", "metrics:write", _POLL, poll),
    ]


def _arguments(model: type[A], request: Request) -> A:
    """The query of a request as the arguments of a tool."""
    given = dict(request.query_params)
    try:
        return model.model_validate(given, strict=False)
    except ValidationError as error:
        raise argument_error(model, error, given) from None


def _accepts_openmetrics(accept: str) -> bool:
    """Whether to answer in OpenMetrics: unless the client names text/plain and not OpenMetrics."""
    return "application/openmetrics-text" in accept or "text/plain" not in accept
