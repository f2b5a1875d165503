"""Turns results into the JSON data of tool answers.

The first text block of an answer has the figures alone, as in the Metrics Toolkit. A second block follows only if
values are missing or something was left out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from pentad.kernel.charts import text_chart
from pentad.kernel.clock import iso
from pentad.kernel.pages import Chart
from pentad.kernel.pages import Series as ChartSeries
from pentad.mcp.content import Content, Text
from pentad.mcp.declarations import ToolResult
from pentad.rooms.metrics.engine.query_engine import Answer, DryRun
from pentad.rooms.metrics.history.alerts import Alert, AlertChange
from pentad.rooms.metrics.history.changes import Change
from pentad.rooms.metrics.history.collector_health import CollectorHealth
from pentad.rooms.metrics.history.forecast import Forecast
from pentad.rooms.metrics.history.history_lines import HistoryLine
from pentad.rooms.metrics.history.silences import Silence
from pentad.rooms.metrics.models import Difference, Info, Metric, Problem, Sample, Snapshot
from pentad.rooms.metrics.store import Gap, Latest, Point, Series

_MOST_PROBLEMS: Final = 8
_MOST_PLACES: Final = 5
_MOST_AFFECTED: Final = 5
_MOST_DIFFERENCES: Final = 20
_MOST_FACTS: Final = 10
_MOST_VALUES: Final = 20
_MOST_GAPS: Final = 20
_MOST_MOMENT_VALUES: Final = 50
_PROBLEMS_IN_TEXT: Final = 5
PARENT_LABELS: Final = frozenset({"businessGroupId", "environmentType"})
"""Labels that another label implies; people do not need to see them."""


def to_json(value: Any) -> str:
    """A value as JSON text."""
    return msgspec.json.encode(value).decode()


def tool_result(answer: Answer, figures: Mapping[str, Any], notes: Sequence[str] = ()) -> ToolResult:
    """One collector's answer. `figures` become data under their names; the first one is also the text."""
    return ToolResult(
        content=content_blocks(next(iter(figures.values())), answer_notes(answer, notes)),
        structured=answer_metadata(answer, notes) | dict(figures),
        is_error=is_denied(answer),
    )


def is_denied(answer: Answer) -> bool:
    """Whether every fact is missing for lack of permission: the login is wrong or has no rights."""
    problems = answer.snapshot.problems
    return not answer.snapshot.coverage.ok and bool(problems) and all(one.kind == "permission" for one in problems)


def content_blocks(figures: Any, notes: Sequence[str]) -> list[Content]:
    """The figures as JSON, then the notes, if any."""
    found: list[Content] = [Text(text=to_json(figures))]
    if notes:
        found.append(Text(text="\n".join(notes)))
    return found


def answer_metadata(answer: Answer, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The age, source, calls and problems of an answer."""
    snapshot = answer.snapshot
    view: dict[str, Any] = {
        "collector": snapshot.collector,
        "asOf": iso(snapshot.as_of),
        "ageSeconds": round(answer.age, 3),
        "source": answer.source,
        "calls": answer.calls,
        "coverage": msgspec.to_builtins(snapshot.coverage),
        "problems": problem_views(snapshot),
    }
    if answer.states:
        view["states"] = dict(answer.states)
    if snapshot.differences:
        view["differences"] = [difference_view(one) for one in snapshot.differences[:_MOST_DIFFERENCES]]
        if len(snapshot.differences) > _MOST_DIFFERENCES:
            view["moreDifferences"] = len(snapshot.differences) - _MOST_DIFFERENCES
    if notes:
        view["notes"] = list(notes)
    return view


def figure_metadata(answer: Answer, sample: Sample) -> dict[str, Any]:
    """The state of a figure unless it is ok, and its time unless it is the answer's."""
    view: dict[str, Any] = {} if sample.state == "ok" else {"state": sample.state}
    if sample.value is not None and sample.as_of != answer.snapshot.as_of:
        age = max(0.0, answer.snapshot.computed_at - sample.as_of)
        view |= {"asOf": iso(sample.as_of), "ageSeconds": round(age, 3)}
    return view


def answer_notes(answer: Answer, notes: Sequence[str] = ()) -> list[str]:
    """Notes that a reader needs besides the figures."""
    lines = list(notes)
    coverage, problems = answer.snapshot.coverage, problem_views(answer.snapshot)
    if coverage.stale:
        lines.append(
            f"Stale: {coverage.stale} of {coverage.planned} facts could not be fetched now. Their last known values are"
            f" used, the oldest from {iso(answer.snapshot.as_of)} ({answer.age:.0f} s ago)."
        )
    if answer.is_partial:
        lines.append(
            f"Partial: {coverage.ok} of {coverage.planned} facts were fetched, {coverage.failed} failed,"
            f" {coverage.skipped} were skipped. Figures that depend on the others are missing, not zero."
        )
    for problem in problems[:_PROBLEMS_IN_TEXT]:
        places = problem.get("places", [])
        more = f" and {problem['count'] - len(places)} more" if problem["count"] > len(places) > 0 else ""
        needs = f" It needs: {problem['needs']}." if "needs" in problem else ""
        lines.append(f"- {', '.join(places) or 'all'}{more}: {problem['message']} ({problem['call']}){needs}")
    if len(problems) > _PROBLEMS_IN_TEXT:
        lines.append(f"- and {len(problems) - _PROBLEMS_IN_TEXT} more in `problems`.")
    return lines


def problem_views(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The problems, grouped by kind: what happened, how often, where, and which metrics are affected."""
    return _grouped_problems(snapshot.problems, snapshot.names)


def _grouped_problems(problems: Iterable[Problem], names: Mapping[str, str]) -> list[dict[str, Any]]:
    together: dict[tuple[Any, ...], list[Problem]] = {}
    for problem in problems:
        kind = (problem.fact or problem.call, problem.kind, problem.message, problem.http, problem.needs)
        together.setdefault(kind, []).append(problem)
    views = [_problem_view(some, names) for some in together.values()]
    if len(views) > _MOST_PROBLEMS:
        rest = sum(view["count"] for view in views[_MOST_PROBLEMS:])
        message = f"{rest} more problems of {len(views) - _MOST_PROBLEMS} kinds; explainMetric lists those of a metric."
        views[_MOST_PROBLEMS:] = [{"kind": "more", "call": "", "message": message, "count": rest}]
    return views


def _problem_view(some: Sequence[Problem], names: Mapping[str, str]) -> dict[str, Any]:
    first = some[0]
    call = first.call if len(some) == 1 else _shared_call(first, names)
    affects = list(dict.fromkeys(key for problem in some for key in problem.affects))
    scopes = list(dict.fromkeys(problem.scope for problem in some if problem.scope))
    view: dict[str, Any] = {
        "kind": first.kind, "call": call, "message": first.message, "http": first.http, "needs": first.needs,
        "count": len(some), "places": [_place(scope, names) for scope in scopes[:_MOST_PLACES]],
        "affects": affects[:_MOST_AFFECTED], "moreAffected": max(0, len(affects) - _MOST_AFFECTED) or None,
    }  # fmt: skip
    return {name: value for name, value in view.items() if value not in (None, [])}


def _place(scope: str, names: Mapping[str, str]) -> str:
    """A scope with names in place of ids, where they are known."""
    return "/".join(names.get(part, part) for part in scope.split("/"))


def _shared_call(problem: Problem, names: Mapping[str, str]) -> str:
    """A call with its ids replaced by `{id}`."""
    ids = {part for part in problem.scope.split("/") if part} | names.keys()
    return "/".join("{id}" if part in ids or part.isdecimal() else part for part in problem.call.split("/"))


def difference_view(difference: Difference) -> dict[str, Any]:
    """A figure that differs in the Metrics Toolkit, and why."""
    return {**msgspec.to_builtins(difference), "labels": dict(difference.labels)}


def plan_view(plan: DryRun) -> dict[str, Any]:
    """The cost of an answer."""
    return {
        "collector": plan.collector,
        "facts": plan.facts,
        "known": plan.known,
        "toFetch": plan.to_fetch,
        "calls": plan.calls,
        "callsMade": plan.calls_made,
        "roundTrips": plan.rounds_at_limit,
        **({"later": plan.later} if plan.later else {}),
    }


def collector_view(info: Info, health: Sequence[CollectorHealth] = ()) -> dict[str, Any]:
    """A short description of a collector, with the health of its polls."""
    view: dict[str, Any] = {"id": info.id, "title": info.title, "description": info.description, "ready": info.ready}
    if not info.ready:
        view["missing"] = info.missing
    polls = [health_view(one) for one in health if one.collector == info.id]
    return view | {"polls": polls} if polls else view


def collector_views(infos: Iterable[Info], health: Sequence[CollectorHealth]) -> list[dict[str, Any]]:
    """All collectors. If several lack the same setting, only the first one explains it."""
    views = [collector_view(info, health) for info in infos]
    explained: dict[str, str] = {}
    for view in views:
        if "missing" in view and (first := explained.setdefault(view["missing"], view["id"])) != view["id"]:
            view["missing"] = f"The same as for {first}."
    return views


def health_view(one: CollectorHealth) -> dict[str, Any]:
    """The health of a collector's polls."""
    view: dict[str, Any] = {"collector": one.name, "state": one.state, "since": iso(one.since)}
    view |= {"lastTry": iso(one.tried_at)}
    if one.succeeded_at is not None:
        view["lastSuccess"] = iso(one.succeeded_at)
    view |= {"seconds": round(one.seconds, 3), "calls": one.calls, "throttled": one.throttled}
    return view if one.state == "ok" or one.problem is None else view | {"problem": one.problem}


def metric_view(collector: str, metric: Metric) -> dict[str, Any]:
    """An entry of a catalogue."""
    return {"collector": collector, **msgspec.to_builtins(metric)}


def moment_view(collector: str, key: str, moment: float, values: Sequence[Latest]) -> dict[str, Any]:
    """The values of a metric at a moment, each with the time it was recorded."""
    shown = [
        {
            "key": one.series.key,
            "scope": one.series.scope,
            "labels": dict(one.series.labels),
            "value": one.value,
            "unit": one.series.unit,
            "state": one.state,
            "recorded": iso(one.at),
        }
        for one in values[:_MOST_MOMENT_VALUES]
    ]
    view = {"collector": collector, "key": key, "at": iso(moment), "values": shown}
    return view | {"left": len(values) - len(shown)} if len(shown) < len(values) else view


def explanations(answer: Answer, keys: Sequence[str]) -> list[dict[str, Any]]:
    """For each key: formula, values, the facts used, when they were fetched, and what is missing."""
    wanted = set(keys)
    by_key: dict[str, list[Sample]] = {}
    for sample in answer.snapshot.samples:
        by_key.setdefault(sample.key, []).append(sample)
    return [
        _explanation(answer, metric, by_key.get(metric.key, []))
        for metric in answer.info.catalogue
        if metric.key in wanted
    ]


def _explanation(answer: Answer, metric: Metric, samples: Sequence[Sample]) -> dict[str, Any]:
    facts, troubles = answer.facts, answer.facts.troubles()
    skipped = [(fact, why) for fact, why in answer.skipped.items() if fact.name in metric.facts]
    used = [fact for fact in facts if fact.name in metric.facts]
    view: dict[str, Any] = {
        "key": metric.key,
        "description": metric.description,
        "kind": metric.kind,
        "unit": metric.unit,
        "formula": metric.formula or "reported by the source",
        "values": [
            {
                "value": sample.value,
                "state": sample.state,
                "as_of": iso(sample.as_of),
                "source": "stale" if sample.state == "stale" else "cache" if sample.cached else "live",
                **({"labels": dict(sample.labels)} if sample.labels else {}),
            }
            for sample in samples[:_MOST_VALUES]
        ],
        "facts": [
            {
                "fact": fact.text(),
                "fetched": iso(facts.at(fact)),
                "age_seconds": round(max(0.0, facts.now - facts.at(fact)), 3),
                "source": "stale" if facts.is_stale(fact) else "cache" if facts.was_cached(fact) else "live",
                **({"problem": problem.message, "kind": problem.kind} if (problem := troubles.get(fact)) else {}),
            }
            for fact in used[:_MOST_FACTS]
        ],
        "missing": _grouped_problems(
            [problem for problem in answer.snapshot.problems if metric.key in problem.affects], answer.snapshot.names
        ),
        "skipped": [{"fact": fact.text(), "why": why} for fact, why in skipped[:_MOST_FACTS]],
    }
    cut = (("more_values", len(samples) - _MOST_VALUES), ("more_facts", len(used) - _MOST_FACTS))
    view |= {name: count for name, count in (*cut, ("more_skipped", len(skipped) - _MOST_FACTS)) if count > 0}
    if metric.warn is not None or metric.alarm is not None:
        view["thresholds"] = {"warn": metric.warn, "alarm": metric.alarm, "better": metric.better}
    return view


def label_text(labels: Sequence[tuple[str, str]]) -> str:
    """Labels as readable text."""
    return ", ".join(text for name, text in labels if name not in PARENT_LABELS)


def metric_names(info: Info) -> dict[str, str]:
    """Display names of the metrics, by key: their descriptions, with the key if several are the same. Metrics named in
    the settings keep that name."""
    counts = Counter(one.description for one in info.catalogue)
    return {
        one.key: one.key
        if not one.description or (one.formula and one.formula in one.description)
        else one.description.rstrip(".") + ("" if counts[one.description] == 1 else f" ({one.key})")
        for one in info.catalogue
    }


def metric_name(info: Info, key: str) -> str:
    """The display name of one metric."""
    return metric_names(info).get(key, key)


def full_name(infos: Iterable[Info], collector: str, key: str) -> str:
    """The display name with the collector, which may not be installed any more."""
    info = next((one for one in infos if one.id == collector), None)
    return f"{collector} {key}" if info is None else f"{info.title}: {metric_name(info, key)}"


def series_label(series: Series) -> str:
    """The name of a line: its key and labels."""
    labels = label_text(series.labels)
    return f"{series.key} ({labels})" if labels else series.key


def legend_labels(lines: Sequence[HistoryLine]) -> list[str]:
    """The names of lines in one chart. If they share a key, which is in the title, the labels are enough."""
    shared = len(lines) > 1 and len({line.series.key for line in lines}) == 1
    return [(label_text(line.series.labels) if shared else "") or series_label(line.series) for line in lines]


def plot_points(line: HistoryLine) -> list[tuple[float, float | None]]:
    """The points to draw: values, or rates for a counter. A gap has the value None."""
    points = line.rates if line.series.kind == "counter" else [(point.last_at, point.mean) for point in line.points]
    return sorted([*points, *((gap.begin, None) for gap in line.gaps)], key=lambda point: (point[0], point[1] is None))


def history_chart(
    title: str, lines: Sequence[HistoryLine], begin: float, end: float, marks: Sequence[tuple[str, float]] = ()
) -> Chart:
    """The lines as a chart of this span; counters as their rate per second. `marks` are thresholds and limits.

    Lines with the same points would hide one another, so they are one line: a group and its only environment."""
    first = lines[0].series
    unit = (first.unit or "").replace("By", "B") + ("/s" if first.kind == "counter" else "")
    names: dict[tuple[tuple[float, float | None], ...], list[str]] = {}
    for name, line in zip(legend_labels(lines), lines, strict=True):
        if points := tuple(plot_points(line)):
            names.setdefault(points, []).append(name)
    drawn = [ChartSeries(" = ".join(some), points) for points, some in names.items()]
    gaps = dict.fromkeys(
        (max(gap.begin, begin), end if gap.end is None else min(gap.end, end), gap.reason)
        for line in lines
        for gap in line.gaps
    )
    return Chart(title, drawn, unit, span=(begin, end), gaps=sorted(gaps), marks=marks)


def line_chart(line: HistoryLine, begin: float, end: float, **options: Any) -> str:
    """A line as a chart for terminals; a counter as its rate per second."""
    name = series_label(line.series)
    gaps = [(max(gap.begin, begin), end if gap.end is None else min(gap.end, end), gap.reason) for gap in line.gaps]
    title = f"{name}, each second" if line.series.kind == "counter" else name
    return text_chart(title, plot_points(line), span=(begin, end), gaps=gaps, unit=line.series.unit, **options)


def gap_view(gap: Gap) -> dict[str, Any]:
    """A gap; without `to` it is still open."""
    view = {"from": iso(gap.begin), "reason": gap.reason}
    return view if gap.end is None else {**view, "to": iso(gap.end)}


def line_view(line: HistoryLine) -> dict[str, Any]:
    """A series with its points."""
    series = line.series
    view: dict[str, Any] = {"collector": series.collector, "key": series.key, "kind": series.kind}
    view |= {"scope": series.scope} if series.scope else {}
    view |= {"labels": dict(series.labels)} if series.labels else {}
    view |= {"unit": series.unit} if series.unit else {}
    if line.texts:
        return view | {"values": [{"at": iso(at), "value": value} for at, value in line.texts]}
    view["points"] = [point_view(point) for point in line.points]
    if line.rates:
        view["perSecond"] = [{"at": iso(at), "value": _rounded(value)} for at, value in line.rates]
    if line.rise is not None:
        view["rise"] = _rounded(line.rise)
    if line.gaps:
        view["gaps"] = [gap_view(gap) for gap in line.gaps[-_MOST_GAPS:]]
    if more := line.earlier_gaps + max(0, len(line.gaps) - _MOST_GAPS):
        view["earlierGaps"] = more
    if line.forecast is not None:
        view["forecast"] = forecast_view(line.forecast)
    return view


def point_view(point: Point) -> dict[str, Any]:
    """A single sample as its value; several as minimum, mean, maximum and last value."""
    if point.samples == 1:
        return {"at": iso(point.at), "value": _rounded(point.last)}
    return {
        "at": iso(point.at),
        "min": _rounded(point.lowest),
        "avg": _rounded(point.mean),
        "max": _rounded(point.highest),
        "last": _rounded(point.last),
        "samples": point.samples,
    }


def forecast_view(forecast: Forecast) -> dict[str, Any]:
    """A forecast."""
    view: dict[str, Any] = {
        "perDay": _rounded(forecast.per_day), "now": _rounded(forecast.value), "points": forecast.points
    }  # fmt: skip
    if forecast.limit is not None:
        view |= {"limit": _rounded(forecast.limit), "isReached": forecast.is_reached}
    times = (("reachedAt", forecast.reached_at), ("earliest", forecast.earliest), ("latest", forecast.latest))
    return view | {name: iso(at) for name, at in times if at is not None}


def change_view(change: Change) -> dict[str, Any]:
    """A difference between two times."""
    fields: dict[str, Any] = msgspec.to_builtins(change) | {"labels": dict(change.labels)}
    view = {name: _rounded(value) if isinstance(value, float) else value for name, value in fields.items()}
    if not change.labels:
        del view["labels"]
    if change.kind != "counter":
        view.pop("kind", None)
    return view


def alert_view(alert: Alert) -> dict[str, Any]:
    """An alert without its empty fields."""
    view: dict[str, Any] = msgspec.to_builtins(alert)
    figures = {name: _rounded(view[name]) for name in ("value", "threshold") if view[name] is not None}
    times = {"since": iso(alert.since), "checked": iso(alert.checked)}
    return _filled({**view, **figures, **times, "labels": dict(alert.labels)})


def silence_view(one: Silence) -> dict[str, Any]:
    """A silence without its empty fields."""
    view: dict[str, Any] = {
        "id": one.id, "collector": one.collector, "metricKey": one.key, "bg": one.scope, "labels": one.labels,
        "until": iso(one.ends), "reason": one.reason, "by": one.created_by, "since": iso(one.created_at),
    }  # fmt: skip
    return {name: value for name, value in view.items() if value not in ("", {})}


def alert_change_view(change: AlertChange) -> dict[str, Any]:
    """An alert that was raised or cleared."""
    view: dict[str, Any] = msgspec.to_builtins(change)
    return _filled({**view, "labels": dict(change.labels), "at": iso(change.at)})


def _filled(view: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in view.items() if value not in (None, "", {})}


def _rounded(value: float) -> float | int:
    """Six significant digits; whole numbers stay exact."""
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(f"{value:.6g}")
