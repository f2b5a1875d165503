"""`pentad metrics query`, `changes` and `keys`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import click

from pentad.rooms.metrics.interface.cli.options import MOST_TOKENS, where_options
from pentad.rooms.metrics.interface.cli.server_answers import call_tool
from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, print_text, say, warn

if TYPE_CHECKING:
    from pentad.terminal.client import Client, Target

_CHANGE_COLUMNS: Final = ("collector", "key", "of", "before", "after", "delta")


@click.command()
@click.argument("key")
@click.option("--collector", "-c", multiple=True, help="By default all that have the key; may be repeated.")
@click.option("--items", is_flag=True, help="List the items that the figures count.")
@click.option("--where", "-w", multiple=True, help="A condition such as 'value > 0'; may be repeated.")
@click.option("--group-by", "-g", multiple=True, help="A column; may be repeated.")
@click.option(
    "--aggregate", "-a", multiple=True, help="sum, mean, min, max, count, distinct, values; also sum(column)."
)
@click.option("--sort", "-s", multiple=True, help="A column; 'value desc' for the greatest first.")
@click.option("--top", type=click.IntRange(1), help="Maximum number of rows.")
@click.option(
    "--level", type=click.Choice(("group", "environment", "region")), help="Figures of groups, or of their parts."
)
@click.option("--chart", is_flag=True, help="Draw the rows as bars.")
@where_options
@json_option
@server_options()
def query(key: str, items: bool, as_json: bool, target: "Target", **how: Any) -> None:
    """Filter, group and rank the figures of a KEY, or list what they count."""
    arguments = {
        "metricKey": key, "of": "items" if items else "figures", "collector": list(how["collector"]) or None,
        "where": list(how["where"]) or None, "group_by": list(how["group_by"]) or None,
        "aggregate": list(how["aggregate"]) or None, "sort": list(how["sort"]) or None, "top": how["top"],
        "level": how["level"], "bg": how["bg"], "environment": list(how["environments"]) or None,
        "region": list(how["regions"]) or None, "max_tokens": MOST_TOKENS,
    }  # fmt: skip
    if how["chart"] and not as_json:
        found, charts = call_tool(target, "queryMetrics", {**arguments, "chart": "ascii"}, "metrics")
        for chart in charts:
            print_text(chart)
    else:
        found = _call(target, "queryMetrics", arguments)
        if as_json:
            print_json(found)
            return
        _print_rows(found)
    for line in _warnings(found):
        warn(line)


def _print_rows(found: Mapping[str, Any]) -> None:
    rows = [{**found.get("common", {}), **row} for row in found["rows"]]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    print_table(columns, [[_cell(row.get(name)) for name in columns] for row in rows], empty="No rows match.")


@click.command()
@click.argument("collectors", nargs=-1)
@click.option("--since", default="now-24h", show_default=True, help="now-6h, 7d (ago), a date.")
@click.option("--until", default="now", show_default=True)
@click.option("--bg", help="Only this business group.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@json_option
@server_options()
def changes(
    collectors: tuple[str, ...], since: str, until: str, bg: str | None, limit: int, as_json: bool, target: "Target"
) -> None:
    """List what changed since a time, the largest changes first. Without COLLECTORS, covers all."""
    arguments = {
        "collector": list(collectors) or None, "since": since, "until": until, "bg": bg, "limit": limit,
        "max_tokens": MOST_TOKENS,
    }  # fmt: skip
    found = _call(target, "whatChanged", arguments)
    if as_json:
        print_json(found)
        return
    rows = [
        [one["collector"], one["key"], ", ".join(_labels(one)), _cell(one.get("before")), _cell(one.get("after")),
         _cell(one.get("delta"))]
        for one in found["changes"]
    ]  # fmt: skip
    print_table(_CHANGE_COLUMNS, rows, empty="Nothing changed.")
    for one in found.get("availability", ()):
        warn(f"{one['collector']}: {one['count']} figures are {one['what']} ({one['state']}): {', '.join(one['keys'])}")
    if found.get("notRecorded"):
        say(f"No record from that time for: {', '.join(found['notRecorded'])}.")
    if found.get("left"):
        say(f"{found['left']} smaller changes are not shown.")
    for note in found.get("notes", ()):
        say(note)


@click.command()
@click.argument("words", nargs=-1)
@click.option("--collector", "-c", multiple=True, help="Only of this collector; may be repeated.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
@server_options()
def keys(words: tuple[str, ...], collector: tuple[str, ...], limit: int, as_json: bool, target: "Target") -> None:
    """Find metric keys by WORDS or a question; without words, list them."""

    async def work(client: "Client") -> dict[str, Any]:
        """The requested number of keys, page by page."""
        given: dict[str, Any] = {"query": " ".join(words), **({"collector": list(collector)} if collector else {})}
        found = await client.call_tool("listMetricKeys", {**given, "limit": limit})
        shown = found["keys"]
        while len(shown) < limit and (offset := found.get("nextOffset")) is not None:
            found = await client.call_tool("listMetricKeys", {**given, "limit": limit - len(shown), "offset": offset})
            shown += found["keys"]
        return {**found, "keys": shown}

    found = target.run(work, "metrics")
    if as_json:
        print_json(found)
        return
    rows = [[one["collector"], one["key"], one["description"], one.get("unit", "")] for one in found["keys"]]
    print_table(("collector", "key", "description", "unit"), rows, empty="No key matches.")
    if len(rows) < found["total"]:
        say(f"{found['total'] - len(rows)} more keys match; raise --limit to see them.")


def _call(target: "Target", tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in arguments.items() if value is not None}
    return target.run(lambda client: client.call_tool(tool, given), "metrics")


def _warnings(found: Mapping[str, Any]) -> list[str]:
    """Warnings besides the rows: missing values, failed calls, undecided rows."""
    lines: list[str] = list(found.get("notes", ()))
    for state, count in found.get("undecided", {}).items():
        lines.append(f"{count} rows are undecided: {state}.")
    for answer in found.get("answers", [found]):
        if answer.get("source") == "stale":
            lines.append(f"Stale: the source is failing; the oldest figure is from {answer['asOf']}.")
        lines += [f"{problem['call']}: {problem['message']}" for problem in answer.get("problems", ())]
    return lines + [f"{collector}: {error}" for collector, error in found.get("errors", {}).items()]


def _labels(change: Mapping[str, Any]) -> Sequence[str]:
    labels: Mapping[str, str] = change.get("labels") or {}
    return [value for name, value in labels.items() if name not in ("businessGroupId", "environmentType")]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(str(one) for one in cast("list[Any]", value))
    return str(value)
