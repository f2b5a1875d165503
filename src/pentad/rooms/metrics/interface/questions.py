"""Tools that answer questions: queries over figures and items, changes, key search.

REST (`rest.py`) and the command line call the same functions.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput, PentadError
from pentad.mcp.app_views import AppView
from pentad.mcp.call import Call
from pentad.mcp.content import Content, Image, Text
from pentad.mcp.declarations import ToolResult, tool
from pentad.rooms.metrics.engine.metric_rows import FIGURE_COLUMNS, ITEM_COLUMNS, at_one_level
from pentad.rooms.metrics.engine.query_engine import Answer
from pentad.rooms.metrics.engine.query_execution import Progress, shared_progress
from pentad.rooms.metrics.engine.response_budget import CHARACTERS_PER_TOKEN, fit_entries, json_size
from pentad.rooms.metrics.engine.row_query import STATE, VALUE, Row, RowQuery, parse_query, run_query
from pentad.rooms.metrics.history.changes import Change
from pentad.rooms.metrics.interface.arguments import (
    RARE,
    RARE_QUERY,
    TOKENS,
    ChangesArguments,
    ListKeysArguments,
    QueryArguments,
    QueryToolArguments,
    parse_time,
    request_credentials,
)
from pentad.rooms.metrics.interface.bar_charts import BarChart, bar_chart, png_bars, svg_bars, text_bars
from pentad.rooms.metrics.interface.presentation import answer_metadata, change_view, metric_view, to_json
from pentad.rooms.metrics.interface.result_schemas import COMPARED, KEYS, QUERIED
from pentad.rooms.metrics.metric_keys import split_list
from pentad.rooms.metrics.models import Query
from pentad.rooms.metrics.service import Metrics, RowSource

if TYPE_CHECKING:
    from pentad.kernel.pages import Sheet

_SECONDS: Final = 620.0
_LEFT_OUT: Final = frozenset({"key", "level", "businessGroupId"})
"""Long columns that are rarely needed; shown only if `columns` names them."""
_ROOM: Final = 200
"""Characters reserved for notes about what was cut."""
_MOST_KEYS: Final = 5
_LOST: Final = ("missing", "back")


class Origin(NamedTuple):
    """The endpoint of a request, and the credentials in its headers."""

    endpoint: str | None = None
    credentials: Mapping[str, str] | None = None


async def _show_answer(call: Call[Metrics], arguments: QueryToolArguments, found: Mapping[str, Any]) -> "Sheet":
    """The view of an answer."""
    from pentad.rooms.metrics.interface.answer_sheet import answer_sheet

    return await asyncio.to_thread(answer_sheet, call.service, arguments, _row_query(arguments), found)


@tool(
    "queryMetrics",
    title="Ask about figures",
    read_only=True,
    open_world=True,
    seconds=_SECONDS,
    output_schema=QUERIED,
    listed="room",
    rare=RARE_QUERY,
    view=AppView("rows", "Answer to a question about figures", _show_answer),
)
async def query_metrics(arguments: QueryToolArguments, call: Call[Metrics]) -> ToolResult:
    """Filter, group, add up and rank figures; with `of: items`, list what they count: stopped applications, APIs
    without a policy. Missing values are never zeros. `chart` draws the rows as bars."""
    origin = Origin(call.endpoint, request_credentials(call))
    view = await query_view(call.service, arguments, origin, call.progress)
    if not arguments.chart:
        return ToolResult(structured=view)
    try:
        drawn = bar_chart(view, _row_query(arguments), split_list(arguments.metric_key))
    except InvalidInput as error:  # keep the rows, which may have cost many calls
        view["notes"] = [*view.get("notes", ()), f"No chart: {error.sentence()}"]
        return ToolResult(structured=view)
    kind = "png" if arguments.chart is True else arguments.chart
    return ToolResult(content=[Text(text=to_json(view)), await _picture(drawn, kind)], structured=view)


async def _picture(chart: BarChart, kind: str) -> Content:
    if kind == "ascii":
        return Text(text=text_bars(chart))
    if kind == "svg":
        return Image.of(svg_bars(chart).encode(), "image/svg+xml")
    return Image.of(await asyncio.to_thread(png_bars, chart, dark=kind == "dark"), "image/png")


@tool(
    "whatChanged",
    title="What changed",
    aliases=("compareMetrics",),
    read_only=True,
    output_schema=COMPARED,
    listed="room",
    rare=RARE,
)
async def what_changed(arguments: ChangesArguments, call: Call[Metrics]) -> ToolResult:
    """What changed in the recorded metrics since a time, the largest first, in all collectors or one. Compare two times
    with `until`."""
    return ToolResult(structured=await changes_view(call.service, arguments))


@tool("listMetricKeys", title="Metric keys", read_only=True, output_schema=KEYS, rare=RARE)
async def list_metric_keys(arguments: ListKeysArguments, call: Call[Metrics]) -> ToolResult:
    """Find metric keys by words or a question, with unit, description, formula and thresholds."""
    return ToolResult(structured=await keys_view(call.service, arguments))


async def keys_view(metrics: Metrics, arguments: ListKeysArguments) -> dict[str, Any]:
    """A page of catalogue keys."""
    named = split_list(arguments.collector) or split_list(arguments.collector_id)
    found = await metrics.keys(arguments.query, arguments.collectors() if named else ())
    page = found[arguments.offset : arguments.offset + arguments.limit]
    shown = fit_entries([metric_view(owner, metric) for owner, metric in page], TOKENS)
    view: dict[str, Any] = {"keys": shown, "total": len(found)}
    if arguments.offset + len(shown) < len(found):
        view["nextOffset"] = arguments.offset + len(shown)
    return view


async def query_view(
    metrics: Metrics,
    arguments: QueryArguments,
    origin: Origin,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The rows that answer a question, with the calls, ages and problems of the figures behind them."""
    keys = split_list(arguments.metric_key)
    if not keys:
        raise InvalidInput("metricKey is empty.", hint="listMetricKeys finds keys.")
    question = _row_query(arguments)
    sources, errors = await _sources(metrics, arguments, keys, origin, progress)
    rows = [row for source in sources for row in source.rows]
    if arguments.of == "figures":
        known, every = FIGURE_COLUMNS, rows
        rows = at_one_level(every, question.named, arguments.level)
        if every and not rows:
            levels = ", ".join(sorted({row["level"] for row in every if "level" in row})) or "none"
            raise InvalidInput(f"There is no figure at the level {arguments.level!r}.", hint=f"Levels here: {levels}.")
    else:
        known = ITEM_COLUMNS
    found = run_query(rows, question, known)
    view = _metadata([source.answer for source in sources], arguments, errors)
    if found.undecided:
        view["undecided"] = dict(found.undecided)
    hidden = _LEFT_OUT | {"collector"} if len(sources) == 1 else _LEFT_OUT
    shown = _visible_rows(found.rows, question, split_list(arguments.columns), hidden)
    return _fitted(view, shown, arguments, {one.name for one in question.aggregates})


def _row_query(arguments: QueryArguments) -> RowQuery:
    return parse_query(
        arguments.conditions(),
        split_list(arguments.group_by),
        split_list(arguments.aggregate),
        split_list(arguments.sort),
        default="sum" if arguments.of == "figures" else "count",
    )


async def _sources(
    metrics: Metrics,
    arguments: QueryArguments,
    keys: Sequence[str],
    origin: Origin,
    progress: Progress | None,
) -> tuple[list[RowSource], dict[str, str]]:
    """The rows of each collector, and the errors of those that failed. If all fail, the first error is raised."""
    queries = _queries(metrics, arguments, keys, origin)
    reports = shared_progress(progress, len(queries))
    ask = metrics.figure_rows if arguments.of == "figures" else metrics.item_rows

    async def one(place: int, name: str, query: Query) -> RowSource | PentadError:
        try:
            return await ask(name, query, reports[place])
        except PentadError as error:
            return error

    found = await asyncio.gather(*(one(place, *query) for place, query in enumerate(queries)))
    sources = [source for source in found if isinstance(source, RowSource)]
    failed = {name: error for (name, _), error in zip(queries, found, strict=True) if isinstance(error, PentadError)}
    if failed and not sources:
        raise next(iter(failed.values()))
    return sources, {name: error.sentence() for name, error in failed.items()}


def _queries(
    metrics: Metrics, arguments: QueryArguments, keys: Sequence[str], origin: Origin
) -> list[tuple[str, Query]]:
    """The queries to the named collectors, or to all. Of several collectors, only those with the keys are queried."""
    given = split_list(arguments.collector) or split_list(arguments.collector_id)
    names = metrics.select_collectors(arguments.collectors(), allow_all=True) if given else []
    if len(names) != 1:
        capable = metrics.collectors_with(keys)
        chosen = [name for name in capable if not names or name in names]
        if not chosen:
            raise InvalidInput(
                f"None of these collectors is set up and has a metric {', '.join(keys)[:100]!r}.",
                hint="listMetricKeys finds keys.",
            )
        names = chosen
    options = arguments.query_options()
    options.update(keys=keys, credentials=origin.credentials)
    queries: list[tuple[str, Query]] = []
    for name in names:
        compat = metrics.compat(name, arguments.compat, origin.endpoint) if arguments.of == "figures" else None
        queries.append((name, metrics.query(name, **{**options, "compat": compat})))
    return queries


def _metadata(answers: Sequence[Answer], arguments: QueryArguments, errors: Mapping[str, str]) -> dict[str, Any]:
    notes = arguments.overridden_filters()
    if len(answers) == 1:
        view = answer_metadata(answers[0], notes)
    else:
        view = {"answers": [answer_metadata(answer) for answer in answers]}
        view |= {"notes": notes} if notes else {}
    return view | {"errors": dict(errors)} if errors else view


def _visible_rows(rows: Sequence[Row], question: RowQuery, columns: Sequence[str], hidden: frozenset[str]) -> list[Row]:
    """The rows with the visible columns. A missing value is null; other missing members are left out."""
    wanted = set(columns)
    named = {*question.named, *(name for name, _ in question.sort)}

    def is_shown(name: str) -> bool:
        if wanted:
            return name in wanted or name in (VALUE, STATE)
        return name not in hidden or name in named

    return [{name: value for name, value in row.items() if is_shown(name)} for row in rows]


def _fitted(
    view: dict[str, Any], rows: list[Row], arguments: QueryArguments, aggregates: Collection[str]
) -> dict[str, Any]:
    """A page of rows that fits the budget, with columns that all rows share moved to `common`."""
    total = len(rows)
    page = rows[arguments.offset :][: arguments.top]
    common = _common(page, aggregates)
    slim = [{name: value for name, value in row.items() if name not in common} for row in page]
    room = arguments.max_tokens * CHARACTERS_PER_TOKEN - json_size(view) - json_size(common) - _ROOM
    kept: list[Row] = []
    for row in slim:
        room -= json_size(row) + 1
        if room < 0:
            break
        kept.append(row)
    result = {"rows": kept, "total": total, **view}
    if common:
        result["common"] = common
    if len(kept) < len(page):
        end = arguments.offset + len(kept)
        note = f"{len(kept)} of {total} rows fit into {arguments.max_tokens} tokens; continue with offset {end}."
        result["notes"] = [*view.get("notes", ()), note]
    elif arguments.offset + len(kept) < total:
        result["left"] = total - arguments.offset - len(kept)
    return result


def _common(rows: Sequence[Row], aggregates: Collection[str]) -> Row:
    """Columns with the same value in every row, if there are several rows. Values and states stay in the rows."""
    if len(rows) < 2:
        return {}
    first = rows[0]
    return {
        name: value
        for name, value in first.items()
        if name not in (VALUE, STATE, "name", *aggregates) and all(name in row and row[name] == value for row in rows)
    }


async def changes_view(metrics: Metrics, arguments: ChangesArguments) -> dict[str, Any]:
    """What changed between two times."""
    now = metrics.now()
    before, after = parse_time(arguments.since, now), parse_time(arguments.until, now)
    if before > after:
        raise InvalidInput("`since` is after `until`.", hint="Give an earlier `since`.")
    named = split_list(arguments.collector) or split_list(arguments.collector_id)
    chosen = metrics.select_collectors(arguments.collectors()) if named else []
    found = await metrics.history.changes(
        chosen, before, after, scope=arguments.bg, keys=split_list(arguments.metric_key)
    )
    lost = [one for one in found.changes if one.what in _LOST]
    changed = [one for one in found.changes if one.what not in _LOST]
    view: dict[str, Any] = {"before": iso(before), "after": iso(after), "total": len(changed)}
    if lost:
        view["availability"] = _lost_view(lost)
    if found.unrecorded:
        view["notRecorded"] = found.unrecorded
    if not found.changes and not await metrics.history.has_record_of(before):
        view["notes"] = [
            "There is no record from that time. Polls record figures; set their interval in `[rooms.metrics.poll]`."
        ]
    room = arguments.max_tokens - json_size(view) // CHARACTERS_PER_TOKEN
    views = [change_view(one) for one in changed[: arguments.limit]]
    view["changes"] = fit_entries(views, room) if room > 0 else []
    if len(view["changes"]) < len(changed):
        view["left"] = len(changed) - len(view["changes"])
    return view


def _lost_view(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Values that went missing or came back, grouped by collector and state."""
    together = Counter((one.collector, one.what, one.state) for one in changes)
    return [
        {
            "collector": collector, "what": what, "state": state, "count": count,
            "keys": list(
                dict.fromkeys(
                    one.key for one in changes if (one.collector, one.what, one.state) == (collector, what, state)
                )
            )[:_MOST_KEYS],
        }
        for (collector, what, state), count in together.most_common()
    ]  # fmt: skip
