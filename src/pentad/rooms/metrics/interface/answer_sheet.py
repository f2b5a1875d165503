"""The view of an answer: its picture, if the question asked for one, its rows, and links to details."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.charts import format_number
from pentad.kernel.clock import to_second
from pentad.kernel.errors import InvalidInput
from pentad.kernel.page_values import label
from pentad.kernel.pages import Block, Cell, Column, Facts, Image, Links, Note, Place, Sheet, Table, ToolCall
from pentad.rooms.metrics.collectors.contract import ListsItems
from pentad.rooms.metrics.engine.row_query import Row, RowQuery
from pentad.rooms.metrics.interface.arguments import QueryToolArguments
from pentad.rooms.metrics.interface.bar_charts import bar_chart, png_bars
from pentad.rooms.metrics.interface.dashboards import MOST_ROWS, metric_call, value_text
from pentad.rooms.metrics.metric_keys import resolve_keys, split_list
from pentad.rooms.metrics.service import Metrics

QUERY: Final = "queryMetrics"
_MOST_HISTORIES: Final = 6
_ROW_LIMITS: Final = frozenset({"where", "group_by", "aggregate", "sort", "columns", "offset", "level", "chart"})
"""Arguments for rows of figures that do not apply to rows of names."""


def answer_sheet(
    metrics: Metrics, arguments: QueryToolArguments, query: RowQuery, found: Mapping[str, Any]
) -> Sheet:  # fmt: skip
    """The rows of an answer as a table. Names of collectors and keys are those of the call."""
    keys = split_list(arguments.metric_key)
    rows: list[Row] = [{**found.get("common", {}), **row} for row in found["rows"]]
    blocks: list[Block] = [Note(str(note)) for note in found.get("notes", ())]
    if arguments.chart and arguments.chart != "ascii":
        try:
            drawn = bar_chart(found, query, keys)
        except InvalidInput:  # `notes` has the reason
            pass
        else:
            png = png_bars(drawn, dark=arguments.chart == "dark")
            blocks.append(Image(base64.b64encode(png).decode(), "image/png", drawn.title))
    blocks += [row_table(rows), Facts(row_facts(found))]
    if links := _links(metrics, arguments, keys):
        blocks.append(Links(links))
    return Sheet(", ".join(keys), blocks, lead="What the figures count." if arguments.of == "items" else "")


def row_table(rows: Sequence[Row]) -> Table:
    """Rows of an answer."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    numeric = {name for name in names if all(_is_number(row[name]) for row in rows if row.get(name) is not None)}
    columns = [Column(label(name), name in numeric) for name in names]
    return Table(columns, [[_text(row.get(name)) for name in names] for row in rows[:MOST_ROWS]], "No rows match.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{count} {name}" for name, count in cast("dict[str, Any]", value).items())
    if isinstance(value, list):
        return ", ".join(_text(one) for one in cast("list[Any]", value))
    return value_text(value)


def row_facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The number of rows, and what is missing."""
    answers: Sequence[Mapping[str, Any]] = found.get("answers") or [found]
    undecided: Mapping[str, int] = found.get("undecided") or {}
    as_of = min((str(answer["asOf"]) for answer in answers if "asOf" in answer), default="")
    problems = [str(one["message"]) for answer in answers for one in answer.get("problems", ())]
    return [
        ("Rows", f"{len(found['rows']):,} of {format_number(found['total'])}"),
        ("As of", to_second(as_of)),
        ("Source", ", ".join(dict.fromkeys(str(answer["source"]) for answer in answers if "source" in answer))),
        ("Undecided", ", ".join(f"{count} {state}" for state, count in undecided.items())),
        ("Problems", " ".join(dict.fromkeys(problems))),
        ("Errors", " ".join(f"{name}: {error}" for name, error in found.get("errors", {}).items())),
    ]


def counts_things(metrics: Metrics, collector: str, key: str) -> bool:
    """Whether the collector can name the things that a metric counts."""
    found = metrics.catalogue.find(collector)
    return isinstance(found, ListsItems) and key in found.item_keys()


def _links(metrics: Metrics, arguments: QueryToolArguments, keys: Sequence[str]) -> list[Cell]:
    """Links to the names behind the figures and to each history, if the question is about one collector."""
    named = split_list(arguments.collector) or split_list(arguments.collector_id)
    if len(named) != 1 or named[0].casefold() == "all":
        return []
    info = metrics.info(named[0])
    known = resolve_keys(info, keys)
    links: list[Cell] = []
    if arguments.of == "figures" and any(counts_things(metrics, info.id, key) for key in known):
        asked = arguments.model_dump(by_alias=True, exclude_unset=True, exclude=set(_ROW_LIMITS))
        links.append(Cell("Names behind these figures", call=ToolCall(QUERY, {**asked, "of": "items"})))
    links += [
        Cell(f"History of {key}", Place((info.id, key)), metric_call(info.id, key)) for key in known[:_MOST_HISTORIES]
    ]
    return links
