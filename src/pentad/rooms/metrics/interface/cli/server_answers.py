"""`pentad metrics` with --url: calls the tools of a server and prints their answers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from pentad.rooms.metrics.interface.cli.formatting import MOST_ROWS, say_rest
from pentad.rooms.metrics.interface.cli.options import MOST_TOKENS
from pentad.terminal.output import ExitCode, print_json, print_table, print_text, say, warn

if TYPE_CHECKING:
    from pentad.rooms.metrics.models import Metric
    from pentad.terminal.client import Client, Target

_MOST_KEYS: Final = 1000
_EVERYTHING: Final = "**"


def list_collectors(target: "Target", as_json: bool) -> None:
    """The collectors of the server."""

    async def work(client: "Client") -> list[tuple[dict[str, Any], int]]:
        found = (await client.call_tool("getCapabilities", {}))["collectors"]
        keys = [await client.call_tool("listMetricKeys", {"collector": one["id"], "limit": 1}) for one in found]
        return [(one, known["total"]) for one, known in zip(found, keys, strict=True)]

    found = target.run(work)
    if as_json:
        print_json([one for one, _ in found])
        return
    rows = [(one["id"], one["title"], count, _collector_state(one)) for one, count in found]
    print_table(("id", "title", "metrics", "state"), rows, empty="There are no collectors.")


def _collector_state(view: Mapping[str, Any]) -> str:
    """Whether a collector is set up, or the state of its polls if that is not ok."""
    unwell = [one["state"] for one in view.get("polls", ()) if one["state"] != "ok"]
    return unwell[0] if unwell else "ready" if view["ready"] else "not set up"


def show_figures(
    target: "Target", collector: str, keys: Sequence[str], how: Mapping[str, Any], *, dry_run: bool, as_json: bool
) -> ExitCode:
    """Print the current figures. A plan is always printed as JSON."""
    arguments = {**scope_arguments(collector, how), "max_tokens": MOST_TOKENS}
    if dry_run or how["raw"] or how["legacy"] or as_json:
        more = {"fields": list(keys) or None, "raw": how["raw"], "dry_run": dry_run}
        found, notes = call_tool(target, "getPlatformMetricsByCollector", {**arguments, **more})
        _warn_all(notes)
        print_json(found["plan"] if dry_run else found)
    else:
        flat = {"metricKey": list(keys) or [_EVERYTHING], "shape": "flat"}
        found, notes = call_tool(target, "getPlatformMetricByKey", {**arguments, **flat})
        _warn_all(notes)
        rows = [(one["path"], _row_labels(one), _row_value(one), one.get("state", "")) for one in found["rows"]]
        print_table(("key", "of", "value", "state"), rows[:MOST_ROWS], empty="There are no figures.")
        say_rest(len(rows))
    coverage: Mapping[str, Any] = found.get("coverage") or {}
    return ExitCode.UNAVAILABLE if coverage.get("failed") and not coverage.get("ok") else ExitCode.OK


async def all_keys(client: "Client", collector: str) -> list[dict[str, Any]]:
    """All metrics of a collector, page by page."""
    keys: list[dict[str, Any]] = []
    offset: int | None = 0
    while offset is not None:
        page = {"collector": collector, "limit": _MOST_KEYS, "offset": offset}
        found = await client.call_tool("listMetricKeys", page)
        keys += found["keys"]
        offset = found.get("nextOffset")
    return keys


async def catalogue_of(client: "Client", collector: str) -> "tuple[str, list[Metric]]":
    """The title of a collector on the server, and its figures."""
    import msgspec

    from pentad.rooms.metrics.models import Metric

    keys = await all_keys(client, collector)
    collectors = (await client.call_tool("getCapabilities", {}))["collectors"]
    titles = {one["id"]: one["title"] for one in collectors}
    return titles.get(keys[0]["collector"] if keys else collector, collector), msgspec.convert(keys, list[Metric])


def show_history(target: "Target", arguments: Mapping[str, Any], as_json: bool) -> None:
    """Print the recorded history, as data or as charts."""
    found, blocks = call_tool(
        target, "getMetricHistory", {**arguments, "chart": None if as_json else "ascii", "max_tokens": MOST_TOKENS}
    )
    for note in found.get("notes", ()):
        say(note)
    if as_json:
        print_json(found["series"])
        return
    for chart in blocks:
        print_text(chart)


def export_figures(
    target: "Target", collector: str, keys: Sequence[str], how: Mapping[str, Any], form: str
) -> tuple[str, int]:
    """The figures in another system's format, and the number of records."""
    arguments = {**scope_arguments(collector, how), "keys": list(keys) or None, "format": form}
    found, notes = call_tool(target, "exportMetrics", {**arguments, "max_tokens": MOST_TOKENS})
    _warn_all(notes)
    return found["body"], found["records"]


def call_tool(
    target: "Target", tool: str, arguments: Mapping[str, Any], *rooms: str
) -> tuple[dict[str, Any], list[str]]:
    """The data of a tool's answer, and its text blocks after the first."""

    async def work(client: "Client") -> tuple[dict[str, Any], list[str]]:
        result = await client.call(tool, arguments)
        blocks: list[dict[str, Any]] = result.get("content") or []
        return result["structuredContent"], [one["text"] for one in blocks[1:] if one.get("type") == "text"]

    return target.run(work, *rooms)


def chosen_compat(how: Mapping[str, Any]) -> Literal["legacy", "current"] | None:
    """The value of `compat` that the options choose, if any."""
    legacy: bool | None = how.get("legacy")
    return None if legacy is None else "legacy" if legacy else "current"


def scope_arguments(collector: str, how: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command as arguments of tools."""
    return {
        "collector": collector,
        "bg": how["bg"],
        "environment": list(how["environments"]) or None,
        "region": list(how["regions"]) or None,
        "compat": chosen_compat(how),
        "timeout_seconds": how.get("timeout"),
    }


def _row_labels(row: Mapping[str, Any]) -> str:
    labels: Mapping[str, str] = row.get("labels") or {}
    return ", ".join(labels.values())


def _row_value(row: Mapping[str, Any]) -> str:
    value, unit = row.get("value"), row.get("unit")
    return "-" if value is None else f"{value} {unit}" if unit else str(value)


def _warn_all(notes: Sequence[str]) -> None:
    for note in notes:
        for line in note.splitlines():
            warn(line)
