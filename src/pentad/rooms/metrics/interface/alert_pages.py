"""Alerts in the console: raised alerts, their history, and silences. A metric's page has the form to silence its
alerts."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput
from pentad.kernel.page_values import filled_table
from pentad.kernel.pages import (
    Block,
    Button,
    Cell,
    Choice,
    Column,
    Event,
    Form,
    Hidden,
    Hint,
    Note,
    Place,
    Section,
    Table,
    TextField,
    Timeline,
    Visit,
    when,
)
from pentad.rooms.metrics.history.alerts import Alert, AlertChange
from pentad.rooms.metrics.history.silences import Silence, silence_of
from pentad.rooms.metrics.interface.dashboards import value_text
from pentad.rooms.metrics.interface.presentation import full_name, label_text
from pentad.rooms.metrics.models import Info
from pentad.rooms.metrics.service import Metrics

_HISTORY_SECONDS: Final = 7 * 86_400
_METRIC_HISTORY_SECONDS: Final = 90 * 86_400
_MOST_CHANGES: Final = 50
_TOOL: Final = "silenceAlerts"
_SPANS: Final = (
    ("30m", "30 minutes"),
    ("2h", "2 hours"),
    ("8h", "8 hours"),
    ("1d", "1 day"),
    ("7d", "7 days"),
    ("30d", "30 days"),
)
_EVERY: Final = "every alert of this metric"


def alert_count(collector: str, alerts: Sequence[Alert]) -> list[Note]:
    """How many alerts a collector has, as a badge."""
    mine = sum(alert.collector == collector for alert in alerts)
    return [Note(counted(mine, "alert"), "bad")] if mine else []


async def alert_sections(metrics: Metrics, visit: Visit, alerts: Sequence[Alert], empty: str | Hint) -> list[Block]:
    """Raised alerts, silences in force, and recent changes."""
    silences = await metrics.silences()
    blocks: list[Block] = [Section("Alerts", [_alert_table(metrics, alerts, silences, empty)])]
    if silences:
        blocks.append(Section("Silences", [_silences(metrics, visit, silences)]))
    changes = await metrics.history.alert_changes(metrics.now() - _HISTORY_SECONDS, _MOST_CHANGES)
    if changes:
        blocks.append(Section("Raised and cleared in the last 7 days", [_change_table(metrics, changes)], folded=True))
    return blocks


async def metric_alerts(metrics: Metrics, visit: Visit, collector: str, key: str) -> list[Block]:
    """The alerts of a metric with a form to silence them, its silences, and its history."""
    alerts = await _alerts_of(metrics, collector, key)
    in_force = await metrics.silences()
    silences = [one for one in in_force if any(one.covers(alert) for alert in alerts) or _is_about(one, collector, key)]
    since = metrics.now() - _METRIC_HISTORY_SECONDS
    changes = await metrics.history.alert_changes(since, _MOST_CHANGES, (collector, key))
    blocks: list[Block] = []
    if alerts:
        table = _alert_table(metrics, alerts, in_force, "", named=False)
        blocks.append(Section("Alerts", [table, *_silence_form(visit, alerts)]))
    if silences:
        blocks.append(Section("Silences", [_silences(metrics, visit, silences)]))
    if changes:
        table = _change_table(metrics, changes, named=False)
        blocks.append(Section("Raised and cleared in the last 90 days", [table], folded=True))
    return blocks


async def silence(metrics: Metrics, visit: Visit) -> None:
    """Silence the alerts chosen on a metric's page."""
    collector, key, wanted = visit.path["collector"], visit.path["key"], visit.typed("of")
    labels = None
    if wanted:
        found = [one for one in await _alerts_of(metrics, collector, key) if label_text(one.labels) == wanted]
        if not found:
            raise InvalidInput("This alert has been cleared.", hint="Reload the page to see the current alerts.")
        labels = dict(found[0].labels)
    arguments = {"collector": collector, "metricKey": key, "for": visit.typed("for"), "reason": visit.typed("reason")}
    await visit.call(_TOOL, arguments if labels is None else {**arguments, "labels": labels})


async def end_silence(_metrics: Metrics, visit: Visit) -> Place:
    """End a silence, and return to the page of the button."""
    await visit.call(_TOOL, {"end": visit.typed("silence")})
    collector, key = visit.typed("collector"), visit.typed("key")
    return Place((collector, key) if collector and key else ())


async def _alerts_of(metrics: Metrics, collector: str, key: str) -> list[Alert]:
    return [one for one in await metrics.history.alerts() if (one.collector, one.key) == (collector, key)]


def _is_about(one: Silence, collector: str, key: str) -> bool:
    """Whether a silence names this metric."""
    return (one.collector, one.key) == (collector, key)


def _silence_form(visit: Visit, alerts: Sequence[Alert]) -> list[Block]:
    if not visit.principal.may("metrics", "write"):
        return []
    collector, key = alerts[0].collector, alerts[0].key
    named = [text for text in dict.fromkeys(label_text(one.labels) for one in alerts) if text]
    which = [Choice("of", "Alert", [("", _EVERY), *((text, text) for text in named)])]
    fields = [
        *(which if named else []),
        Choice("for", "For", _SPANS, "2h"),
        TextField("reason", "Reason", hint="Shown beside the alert.", required=False),
    ]
    path = f"/console/metrics/{quote(collector, safe='')}/{quote(key, safe='')}/silence"
    return [Section("Silence", [Form(fields, [Button("Silence", kind="plain")], path)])]


def _silences(metrics: Metrics, visit: Visit, silences: Sequence[Silence]) -> Timeline:
    """Silences, each with a button to end it."""
    may_end, infos = visit.principal.may("metrics", "write"), metrics.infos()
    return Timeline([_silence(infos, visit, one, may_end) for one in silences])


def _silence(infos: Sequence[Info], visit: Visit, one: Silence, may_end: bool) -> Event:
    named = full_name(infos, one.collector, one.key) if one.collector and one.key else one.collector or one.key
    of = " ".join(filter(None, (named, one.scope, label_text(sorted(one.labels.items())))))
    about = [f"until {when(one.ends)}", f"by {one.created_by.removeprefix('user:')}"]
    back = [Hidden(name, str(visit.path[name])) for name in ("collector", "key") if name in visit.path]
    form = Form([Hidden("silence", one.id), *back], [Button("End silence", kind="plain")], "/console/metrics/silences")
    why = [Note(one.reason)] if one.reason else []
    return Event(of or "every alert", when(one.created_at), about, blocks=[*why, *([form] if may_end else [])])


def _alert_table(
    metrics: Metrics, alerts: Sequence[Alert], silences: Sequence[Silence], empty: str | Hint, *, named: bool = True
) -> Table:
    """Raised alerts; `named` with their metrics, which the page of a metric has in its title."""
    infos = metrics.infos()
    rows = [
        (
            Cell(alert.level, kind="bad"),
            _metric_link(infos, alert.collector, alert.key) if named else "",
            label_text(alert.labels),
            value_text(alert.value, alert.unit),
            value_text(alert.threshold, alert.unit),
            when(alert.since),
            _silenced(alert, silences),
        )
        for alert in alerts
    ]
    columns = (
        Column("Level", short=True),
        "Metric",
        "Of",
        Column("Value", True),
        Column("Threshold", True),
        Column("Since", short=True),
        Column("Silenced", short=True),
    )
    return filled_table(columns, rows, empty)


def _metric_link(infos: Sequence[Info], collector: str, key: str) -> Cell:
    return Cell(full_name(infos, collector, key), Place((collector, key)))


def _silenced(alert: Alert, silences: Sequence[Silence]) -> Cell:
    found = silence_of(alert, silences)
    return Cell("") if found is None else Cell(f"until {when(found.ends)}", kind="plain")


def _change_table(metrics: Metrics, found: Sequence[AlertChange], *, named: bool = True) -> Table:
    """Alerts that were raised or cleared."""
    infos = metrics.infos()
    units = {(info.id, metric.key): metric.unit for info in infos for metric in info.catalogue}
    rows = [
        (
            when(one.at),
            _metric_link(infos, one.collector, one.key) if named else "",
            label_text(one.labels),
            Cell(f"{one.before} to {one.after}", kind="good" if one.after == "ok" else "bad"),
            value_text(one.value, units.get((one.collector, one.key))),
        )
        for one in found
    ]
    columns = (Column("Time", short=True), "Metric", "Of", Column("Level", short=True), Column("Value", True))
    return filled_table(columns, rows)
