"""The manifest an agent reads first: the tools with what they take, the names they are also called by, the collectors,
and answers to what is commonly asked."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from pentad.mcp.declare import Tool
from pentad.rooms.metrics.model import Info
from pentad.rooms.metrics.shown import collector_shown

DESCRIPTION: Final = (
    "What this server can measure, and how to ask. Each tool has a name, a description and the schema of its input;"
    " read them here, choose, and call with `tools/call` (JSON-RPC 2.0, POST to the MCP endpoint or over stdio)."
    " Nothing about the tools has to be known beforehand. `aliases` are further names a tool answers to."
)
FIRST: Final = ("getAvailableCollectors", "getPlatformMetricsByCollector", "getPlatformMetricByKey")
FAQ: Final = (
    (
        "How do I find out what can be measured?",
        "getAvailableCollectors names the collectors, listMetricKeys their metrics with unit and formula.",
    ),
    (
        "How do I read one figure quickly?",
        "getPlatformMetricByKey with a metricKey fetches only what that figure needs; dry_run says what that is.",
    ),
    ("What does a null mean?", "The value could not be had: `problems` says why. A zero is a real zero."),
    (
        "How do I see change?",
        "getMetricHistory and compareMetrics read what was kept; listAlerts says what passed its threshold.",
    ),
    ("Where does a figure come from?", "explainMetric gives its formula, its facts, when they were fetched."),
)


def manifest(tools: Iterable[Tool], infos: Sequence[Info]) -> dict[str, Any]:
    """The manifest; the tools of the original's come first."""
    order = {name: place for place, name in enumerate(FIRST)}
    chosen = sorted(tools, key=lambda tool: order.get(tool.name, len(FIRST)))
    return {
        "description": DESCRIPTION,
        "tools": [_shown(tool) for tool in chosen if tool.name != "getCapabilities"],
        "collectors": [collector_shown(info) for info in infos],
        "faq": [{"question": question, "answer": answer} for question, answer in FAQ],
    }


def _shown(tool: Tool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": dict(tool.input_schema),
    }
    return shown | {"aliases": list(tool.aliases)} if tool.aliases else shown
