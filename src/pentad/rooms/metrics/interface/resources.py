"""Resources: the catalogue, the figures of a collector, the alerts."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs, quote

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.names import did_you_mean
from pentad.mcp.call import Call
from pentad.mcp.declarations import ResourcePage, resource
from pentad.rooms.metrics.engine.response_budget import (
    CHARACTERS_PER_TOKEN,
    FRAME,
    ResponseShape,
    fit_entries,
    json_size,
    shape_response,
)
from pentad.rooms.metrics.history.metric_history import ALERTS_URI, DEFAULT_SCOPE, figures_uri
from pentad.rooms.metrics.interface.arguments import TOKENS, parse_time, request_credentials
from pentad.rooms.metrics.interface.presentation import (
    alert_view,
    answer_metadata,
    collector_views,
    metric_view,
    moment_view,
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


async def complete_key(typed: str, call: Call[Any], others: Mapping[str, str]) -> list[str]:
    """Keys of the collector that begin with the typed text."""
    metrics: Metrics = call.service
    collector = others.get("collector", "")
    infos = [info for info in metrics.infos() if info.id == collector]
    return [metric.key for info in infos for metric in info.catalogue if metric.key.startswith(typed)]


@resource("metrics://catalog", name="metric catalogue", mime_type=_JSON, seconds_fresh=60.0)
async def catalog(call: Call[Metrics]) -> str:
    """Every collector with the keys of its metrics; `metrics://catalog/{collector}/{key}` has the rest of each."""
    infos = call.service.infos()
    views = fit_entries(collector_views(infos, ()), TOKENS)
    room = TOKENS * CHARACTERS_PER_TOKEN - FRAME - json_size(views)  # the frame is for the notes
    for info, view in zip(infos, views, strict=False):
        keys = [metric.key for metric in info.catalogue]
        view["keys"] = fit_entries(keys, (max(0, room) + FRAME) // CHARACTERS_PER_TOKEN)
        room -= json_size(view["keys"])
        if len(view["keys"]) < len(keys):
            view["left"] = len(keys) - len(view["keys"])
    notes = ["listMetricKeys has units, descriptions, formulas and thresholds, of one collector or by words."]
    if len(views) < len(infos):
        notes.append(f"{len(views)} of {len(infos)} collectors; getAvailableCollectors lists all.")
    if any("left" in view for view in views):
        notes.append("`left` counts keys that did not fit; listMetricKeys pages through all of a collector.")
    return to_json({"collectors": views, "notes": notes})


def metric_uri(collector: str, key: str) -> str:
    """The URI of a metric's definition."""
    return f"metrics://catalog/{quote(collector, safe='')}/{quote(key, safe='')}"


@resource(
    "metrics://catalog/{collector}/{key}",
    name="metric",
    mime_type=_JSON,
    complete={"collector": complete_collector},
    seconds_fresh=60.0,
)
async def metric(collector: str, key: str, call: Call[Metrics]) -> str:
    """One metric: unit, description, formula, thresholds."""
    info = call.service.info(collector)
    found = next((one for one in info.catalogue if one.key == key), None)
    if found is None:
        raise NotFound(
            f"The collector {info.id!r} has no metric {key[:100]!r}.",
            hint=did_you_mean(key, [one.key for one in info.catalogue]) or "listMetricKeys lists them.",
        )
    return to_json(metric_view(info.id, found))


@resource(ALERTS_URI, name="alerts", mime_type=_JSON)
async def alerts(call: Call[Metrics]) -> str:
    """Metrics beyond their thresholds, the worst first. Subscribers are notified when one is raised or cleared."""
    found = [alert_view(one) for one in await call.service.history.alerts()]
    shown = fit_entries(found, TOKENS)
    notes = [f"{len(shown)} of {len(found)} alerts; listAlerts has those of a collector."]
    return to_json({"alerts": shown, **({"notes": notes} if len(shown) < len(found) else {})})


@resource(
    "metrics://{collector}/{bg}",
    name="figures",
    mime_type=_JSON,
    complete={"collector": complete_collector, "bg": complete_scope},
)
async def figures(collector: str, bg: str, call: Call[Metrics]) -> str:
    """The figures of a collector for a business group, or `default`; a summary beyond three groups. Subscribers are
    notified of every poll.
    """
    metrics = call.service
    (one,) = metrics.select_collectors([collector])
    group = None if bg == DEFAULT_SCOPE else bg
    compat = metrics.compat(one, endpoint=call.endpoint)
    query = metrics.query(one, bg=group, compat=compat, credentials=request_credentials(call))
    answer = await metrics.collect(one, query)
    found = shape_response(answer.snapshot.tree, answer.info, ResponseShape(max_tokens=TOKENS))
    return to_json(answer_metadata(answer, found.notes) | {"metrics": found.content})


@resource(
    "metrics://{collector}/{bg}/{key}",
    name="figure at a moment",
    mime_type=_JSON,
    complete={"collector": complete_collector, "bg": complete_scope, "key": complete_key},
)
async def figure(collector: str, bg: str, key: str, call: Call[Metrics]) -> str:
    """The last record of a metric, or with `?at=` (ISO 8601, or seconds) the last one before that time."""
    metrics = call.service
    (one,) = metrics.select_collectors([collector])
    name, moment = split_moment(key, metrics.now())
    scope = None if bg == DEFAULT_SCOPE else bg
    return to_json(moment_view(one, name, moment, await metrics.history.at(one, name, moment, scope=scope)))


def split_moment(last: str, now: float) -> tuple[str, float]:
    """The last part of a URI without its query, and the time in the query; a relative one counts from `now`."""
    name, _, query = last.partition("?")
    given = parse_qs(query, keep_blank_values=True)
    if given.keys() - {"at"} or len(given.get("at", ())) > 1:
        raise InvalidInput(f"The query {query[:100]!r} is not supported.", hint="Write ?at= with one time.")
    return name, parse_time(given["at"][0] if given else "now", now)


async def listing(call: Call[Any], cursor: str | None) -> ResourcePage:
    """The collectors that are set up."""
    metrics: Metrics = call.service
    entries = [
        {"uri": figures_uri(info.id, DEFAULT_SCOPE), "name": info.title, "mimeType": _JSON}
        for info in metrics.infos()
        if info.ready
    ]
    return ResourcePage(entries)


RESOURCES: Final = (catalog, metric, alerts, figures, figure)
