"""What can be read and followed by address: the catalogue, the figures of a collector, the alerts."""

from collections.abc import Mapping
from typing import Any, Final

from pentad.mcp.call import Call
from pentad.mcp.declare import ResourcePage, resource
from pentad.rooms.metrics.arguments import Shaped
from pentad.rooms.metrics.credentials import credentials_of
from pentad.rooms.metrics.engine.shaping import Shape, shaped
from pentad.rooms.metrics.past import ALERTS, DEFAULT_SCOPE, address
from pentad.rooms.metrics.past_tools import alert_shown
from pentad.rooms.metrics.service import Metrics
from pentad.rooms.metrics.shown import about, as_text, collector_shown, metric_shown

_JSON: Final = "application/json"


async def complete_collector(typed: str, call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    """Ids that begin like what was typed."""
    metrics: Metrics = call.service
    return [one for one in metrics.catalogue.ids() if one.startswith(typed.casefold())]


async def complete_scope(typed: str, call: Call[Any], others: Mapping[str, str]) -> list[str]:
    """Scopes there is a history of."""
    metrics: Metrics = call.service
    known = await metrics.past.scopes(others["collector"]) if others.get("collector") else []
    return [one for one in (DEFAULT_SCOPE, *known) if one and one.startswith(typed)]


@resource("metrics://catalog", name="metric catalogue", mime_type=_JSON, seconds_fresh=60.0)
async def catalog(call: Call[Metrics]) -> str:
    """Every collector with its metrics: key, unit, description, formula, thresholds."""
    metrics = call.service
    entries = [
        collector_shown(info) | {"metrics": [metric_shown(info.id, metric) for metric in info.catalogue]}
        for info in metrics.infos()
    ]
    return as_text({"collectors": entries})


@resource(ALERTS, name="alerts", mime_type=_JSON)
async def alerts(call: Call[Metrics]) -> str:
    """Metrics beyond their thresholds. Followed, it tells when one rises or falls."""
    return as_text({"alerts": [alert_shown(one) for one in await call.service.past.alerts()]})


@resource(
    "metrics://{collector}/{bg}",
    name="figures",
    mime_type=_JSON,
    complete={"collector": complete_collector, "bg": complete_scope},
)
async def figures(collector: str, bg: str, call: Call[Metrics]) -> str:
    """The figures of a collector for a business group, or `default`; a summary beyond three groups. Followed, it tells
    of every poll.
    """
    metrics = call.service
    (one,) = metrics.chosen([collector])
    given = Shaped(bg=None if bg == DEFAULT_SCOPE else bg)
    answer = await metrics.collect(one, metrics.wanted(one, given, credentials=credentials_of(call)))
    found = shaped(answer.snapshot.tree, answer.info, Shape())
    return as_text(about(answer, found.notes) | {"metrics": found.content})


async def listing(call: Call[Any], cursor: str | None) -> ResourcePage:
    """The collectors that are set up."""
    metrics: Metrics = call.service
    entries = [
        {"uri": address(info.id, DEFAULT_SCOPE), "name": info.title, "mimeType": _JSON}
        for info in metrics.infos()
        if info.ready
    ]
    return ResourcePage(entries)


RESOURCES: Final = (catalog, alerts, figures)
