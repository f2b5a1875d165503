"""All tools of the room, and `getCapabilities`, which describes them."""

from typing import Any, Final

from pentad.mcp.call import Call
from pentad.mcp.declarations import Tool, ToolResult, tool
from pentad.rooms.metrics.interface.current_tools import (
    explain_metric,
    export_metrics,
    get_available_collectors,
    get_platform_benefits,
    get_platform_metric_by_key,
    get_platform_metrics_by_collector,
    get_sdlc_metrics,
    list_metric_keys,
    load_metrics,
)
from pentad.rooms.metrics.interface.history_tools import compare_metrics, get_metric_history, list_alerts
from pentad.rooms.metrics.interface.presentation import CAPABILITIES, collector_view
from pentad.rooms.metrics.service import Metrics

DESCRIPTION: Final = (
    "What this server can measure, and how to ask. Each tool has a name, a description and the schema of its input;"
    " read them here, choose, and call with `tools/call` (JSON-RPC 2.0, POST to the MCP endpoint or over stdio)."
    " You need no other knowledge of the tools. `aliases` are further names a tool answers to."
)
FIRST: Final = ("getAvailableCollectors", "getPlatformMetricsByCollector", "getPlatformMetricByKey")
"""The original's tools; the manifest lists them first."""

FAQ: Final = (
    (
        "How do I find out what can be measured?",
        "getAvailableCollectors names the collectors, listMetricKeys their metrics with unit and formula.",
    ),
    (
        "How do I read one figure quickly?",
        "getPlatformMetricByKey with a metricKey fetches only what that figure needs; dry_run shows the plan.",
    ),
    ("What does a null mean?", "The value is missing: `problems` says why. A zero is a real zero."),
    (
        "How do I see change?",
        "getMetricHistory and compareMetrics read the recorded history; listAlerts lists metrics beyond a threshold.",
    ),
    ("Where does a figure come from?", "explainMetric gives its formula, its facts and when they were fetched."),
)


@tool(
    "getCapabilities",
    title="What can be measured here",
    read_only=True,
    aliases=("getAgentCapabilities",),
    output_schema=CAPABILITIES,
)
async def get_capabilities(call: Call[Metrics]) -> ToolResult:
    """A machine-readable summary of the metrics tools: names, descriptions, input schemas, collectors, common
    questions. Light; read it first when planning.
    """
    order = {name: place for place, name in enumerate(FIRST)}
    described = sorted(TOOLS[1:], key=lambda one: order.get(one.name, len(FIRST)))
    return ToolResult(
        structured={
            "description": DESCRIPTION,
            "tools": [_tool_view(one) for one in described],
            "collectors": [collector_view(info) for info in call.service.infos()],
            "faq": [{"question": question, "answer": answer} for question, answer in FAQ],
        }
    )


def _tool_view(one: Tool) -> dict[str, Any]:
    view: dict[str, Any] = {"name": one.name, "description": one.description, "inputSchema": dict(one.input_schema)}
    return view | {"aliases": list(one.aliases)} if one.aliases else view


TOOLS: Final = (
    get_capabilities,
    get_available_collectors,
    get_platform_metrics_by_collector,
    get_platform_metric_by_key,
    list_metric_keys,
    get_metric_history,
    compare_metrics,
    list_alerts,
    explain_metric,
    get_platform_benefits,
    get_sdlc_metrics,
    export_metrics,
    load_metrics,
)
