"""`pentad metrics --url`: the figures of a server, by its tools."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pentad.rooms.metrics.interface.cli.formatting import MOST_ROWS
from pentad.terminal.output import ExitCode, print_json, print_table, print_text, say, warn

if TYPE_CHECKING:
    from pentad.terminal.client import Client, Target

_MOST_TOKENS: Final = 1_000_000
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
    rows = [(one["id"], one["title"], count, "ready" if one["ready"] else "not set up") for one, count in found]
    print_table(("id", "title", "metrics", "state"), rows, empty="There are no collectors.")


def show_figures(
    target: "Target", collector: str, keys: Sequence[str], how: Mapping[str, Any], *, dry_run: bool, as_json: bool
) -> ExitCode:
    """The figures as they are now; the plan of an answer is always JSON."""
    asked = {**_scope(collector, how), "max_tokens": _MOST_TOKENS}
    if dry_run or how["raw"] or how["legacy"] or as_json:
        more = {"fields": list(keys) or None, "raw": how["raw"], "dry_run": dry_run}
        found, notes = _ask(target, "getPlatformMetricsByCollector", {**asked, **more})
        _tell(notes)
        print_json(found["plan"] if dry_run else found)
    else:
        flat = {"metricKey": list(keys) or [_EVERYTHING], "shape": "flat"}
        found, notes = _ask(target, "getPlatformMetricByKey", {**asked, **flat})
        _tell(notes)
        rows = [(one["path"], _labels(one), _value(one), one.get("state", "")) for one in found["rows"]]
        print_table(("key", "of", "value", "state"), rows[:MOST_ROWS], empty="There are no figures.")
    coverage: Mapping[str, Any] = found.get("coverage") or {}
    return ExitCode.UNAVAILABLE if coverage.get("failed") and not coverage.get("ok") else ExitCode.OK


def show_history(target: "Target", asked: Mapping[str, Any], as_json: bool) -> None:
    """What the server recorded, as data or as charts."""
    found, blocks = _ask(target, "getMetricHistory", {**asked, "chart": None if as_json else "ascii"})
    if as_json:
        print_json(found["series"])
        return
    for chart in blocks:
        print_text(chart)
    for note in found.get("notes", ()):
        say(note)


def export_figures(
    target: "Target", collector: str, keys: Sequence[str], how: Mapping[str, Any], form: str
) -> tuple[str, int]:
    """The figures in another system's format, and how many records that is."""
    asked = {**_scope(collector, how), "keys": list(keys) or None, "format": form}
    found, notes = _ask(target, "exportMetrics", asked)
    _tell(notes)
    return found["body"], found["records"]


def _ask(target: "Target", tool: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The data of a tool's answer, and the texts behind its first."""

    async def work(client: "Client") -> tuple[dict[str, Any], list[str]]:
        result = await client.call(tool, arguments)
        blocks: list[dict[str, Any]] = result.get("content") or []
        return result["structuredContent"], [one["text"] for one in blocks[1:] if one.get("type") == "text"]

    return target.run(work)


def _scope(collector: str, how: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "collector": collector,
        "bg": how["bg"],
        "environment": list(how["environments"]) or None,
        "region": list(how["regions"]) or None,
        "compat": "legacy" if how.get("legacy") else None,
        "timeout_seconds": how.get("timeout"),
    }


def _labels(row: Mapping[str, Any]) -> str:
    labels: Mapping[str, str] = row.get("labels") or {}
    return ", ".join(labels.values())


def _value(row: Mapping[str, Any]) -> str:
    value, unit = row.get("value"), row.get("unit")
    return "-" if value is None else f"{value} {unit}" if unit else str(value)


def _tell(notes: Sequence[str]) -> None:
    for note in notes:
        for line in note.splitlines():
            warn(line)
