"""Formats figures, lines and charts for the terminal."""

import shutil
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pentad.terminal.output import say

if TYPE_CHECKING:
    from pentad.rooms.metrics.engine.query_engine import Answer, DryRun
    from pentad.rooms.metrics.history.collector_health import CollectorHealth
    from pentad.rooms.metrics.history.history_lines import HistoryLine
    from pentad.rooms.metrics.models import Info, Sample

MOST_ROWS: Final = 2_000
_WIDEST: Final = 100
_PARENTS: Final = ("businessGroupId", "environmentType")


def collector_rows(infos: "Sequence[Info]", health: "Sequence[CollectorHealth]") -> list[tuple[object, ...]]:
    """One row per collector with its state; a single unhealthy scope is reported."""
    unwell = {one.collector: one.state for one in health if one.state != "ok"}
    return [
        (info.id, info.title, len(info.catalogue), unwell.get(info.id) or ("ready" if info.ready else "not set up"))
        for info in infos
    ]


def missing_lines(infos: "Sequence[Info]") -> Iterator[str]:
    """The missing settings of collectors that are not set up; collectors that lack the same share a line."""
    lacking: dict[str, list[str]] = {}
    for info in infos:
        if not info.ready:
            lacking.setdefault(info.missing, []).append(info.id)
    for missing, ids in lacking.items():
        yield f"{', '.join(ids)}: {missing}"


def sample_rows(answer: "Answer", keys: Sequence[str] | None) -> list[tuple[object, ...]]:
    """One row per figure. A missing value has its state instead."""
    chosen = None if keys is None else set(keys)
    rows: list[tuple[object, ...]] = [
        (sample.key, _labels(sample.labels), _value(sample), "" if sample.state == "ok" else sample.state)
        for sample in answer.snapshot.samples
        if chosen is None or sample.key in chosen
    ]
    return rows


def say_rest(count: int) -> None:
    """Say how many rows were not printed."""
    if count > MOST_ROWS:
        say(f"{count - MOST_ROWS} more rows are not shown; name keys, or use --json.")


def plan_lines(plan: "DryRun") -> Iterator[str]:
    """The cost of an answer."""
    for name, count in plan.facts.items():
        yield f"{count:>7}  {name}"
    rounds = f"{plan.calls} calls in {plan.rounds_at_limit} round trips"
    yield f"{plan.to_fetch} facts to fetch, {plan.known} known; {rounds}."
    if plan.later:
        yield f"Facts that depend on these come on top: {', '.join(plan.later)}."


def line_texts(line: "HistoryLine", begin: float, end: float, *, plain: bool) -> Iterator[str]:
    """A chart of a line in this span, or its texts; then the forecast."""
    from pentad.kernel.charts import format_number
    from pentad.kernel.clock import iso
    from pentad.rooms.metrics.interface.presentation import line_chart, series_label

    name = series_label(line.series)
    if line.texts:
        yield name
        for at, value in line.texts:
            yield f"  {iso(at)}  {value}"
        return
    unit = line.series.unit
    yield line_chart(line, begin, end, width=chart_width(), plain=plain)
    forecast = line.forecast
    if forecast is not None:
        yield f"  {format_number(forecast.per_day, unit)} a day" + (
            ""
            if forecast.limit is None
            else f"; beyond {format_number(forecast.limit, unit)} already"
            if forecast.is_reached
            else f"; {format_number(forecast.limit, unit)} is reached on {iso(forecast.reached_at)[:10]}"
            if forecast.reached_at is not None
            else ""
        )


def chart_width() -> int:
    """As wide as the terminal, within reason."""
    return max(20, min(shutil.get_terminal_size().columns - 20, _WIDEST))


def _value(sample: "Sample") -> str:
    from pentad.kernel.charts import format_number

    value = sample.value
    if value is None:
        return "-"
    if isinstance(value, list):
        return " ".join(value)
    return value if isinstance(value, str) else format_number(value, sample.unit)


def _labels(labels: Sequence[tuple[str, str]]) -> str:
    return ", ".join(text for name, text in labels if name not in _PARENTS)
