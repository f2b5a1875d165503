"""Resources to read and subscribe to: the catalogue, the figures of a collector, the alerts."""

from collections.abc import Mapping
from typing import Any, Final

from pentad.mcp.call import Call
from pentad.mcp.declarations import ResourcePage, resource
from pentad.rooms.metrics.engine.response_budget import ResponseShape, shape_response
from pentad.rooms.metrics.history.metric_history import ALERTS_URI, DEFAULT_SCOPE, figures_uri
from pentad.rooms.metrics.interface.arguments import request_credentials
from pentad.rooms.metrics.interface.presentation import (
    alert_view,
    answer_metadata,
    collector_view,
    metric_view,
    to_json,
)
from pentad.rooms.metrics.service import Metrics

_JSON: Final = "application/json"


async def complete_collector(typed: str, call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    """Collector ids that begin with the typed text."""
    metrics: Metrics = call.service
    return [one for one in metrics.catalogue.ids() if one.startswith(typed.casefold())]


async def complete_scope(typed: str, call: Call[Any], others: Mapping[str, str]) -> list[str]:
    """Scopes that have a history and begin with the typed text."""
    metrics: Metrics = call.service
    known = await metrics.history.scopes(others["collector"]) if others.get("collector") else []
    return [one for one in (DEFAULT_SCOPE, *known) if one and one.startswith(typed)]


@resource("metrics://catalog", name="metric catalogue", mime_type=_JSON, seconds_fresh=60.0)
async def catalog(call: Call[Metrics]) -> str:
    """Every collector with its metrics: key, unit, description, formula, thresholds."""
    metrics = call.service
    entries = [
        collector_view(info) | {"metrics": [metric_view(info.id, metric) for metric in info.catalogue]}
        for info in metrics.infos()
    ]
    return to_json({"collectors": entries})


@resource(ALERTS_URI, name="alerts", mime_type=_JSON)
async def alerts(call: Call[Metrics]) -> str:
    """Metrics beyond their thresholds. Subscribers are notified when an alert is raised or cleared."""
    return to_json({"alerts": [alert_view(one) for one in await call.service.history.alerts()]})


@resource(
    "metrics://{collector}/{bg}",
    name="figures",
    mime_type=_JSON,
    complete={"collector": complete_collector, "bg": complete_scope},
)
async def figures(collector: str, bg: str, call: Call[Metrics]) -> str:
    """The figures of a collector for a business group, or `default`; a summary if there are more than three groups.
    Subscribers are notified of every poll.
    """
    metrics = call.service
    (one,) = metrics.select_collectors([collector])
    group = None if bg == DEFAULT_SCOPE else bg
    query = metrics.query(one, bg=group, credentials=request_credentials(call))
    answer = await metrics.collect(one, query)
    found = shape_response(answer.snapshot.tree, answer.info, ResponseShape())
    return to_json(answer_metadata(answer, found.notes) | {"metrics": found.content})


async def listing(call: Call[Any], cursor: str | None) -> ResourcePage:
    """The collectors that are set up."""
    metrics: Metrics = call.service
    entries = [
        {"uri": figures_uri(info.id, DEFAULT_SCOPE), "name": info.title, "mimeType": _JSON}
        for info in metrics.infos()
        if info.ready
    ]
    return ResourcePage(entries)


RESOURCES: Final = (catalog, alerts, figures)
