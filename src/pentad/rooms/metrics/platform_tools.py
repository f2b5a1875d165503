"""Two further parts of the Metrics Toolkit as tools: what the platform is worth, and how software is delivered."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pentad.mcp.call import Call
from pentad.mcp.declare import ToolResult, tool
from pentad.rooms.metrics.arguments import Benefits, Delivery, Scoped
from pentad.rooms.metrics.collectors.anypoint.benefits import Inputs, with_benefits
from pentad.rooms.metrics.credentials import credentials_of
from pentad.rooms.metrics.loaders.rows import benefit_rows
from pentad.rooms.metrics.service import Metrics
from pentad.rooms.metrics.shown import ANSWER, answered

_SECONDS: Final = 620.0


@tool(
    "getPlatformBenefits",
    title="What the platform is worth",
    read_only=True,
    open_world=True,
    seconds=_SECONDS,
    output_schema=ANSWER,
)
async def get_platform_benefits(arguments: Benefits, call: Call[Metrics]) -> ToolResult:
    """Savings by using APIs again and by less work to keep them, for each business group, from the times you give.

    What cannot be had, as with a division by zero, is null with the reason in `errors`.
    """
    metrics = call.service
    scoped = Scoped(bg=arguments.bg, recursive=arguments.recursive)
    wanted = metrics.wanted("benefits", scoped, credentials=credentials_of(call))
    answer = await metrics.collect("benefits", wanted, call.progress)
    given = Inputs(
        arguments.develop_historic,
        arguments.develop_current,
        arguments.maintain_historic,
        arguments.maintain_current,
        arguments.day_rate,
    )
    found = [with_benefits(entry, given) for entry in answer.snapshot.tree]
    if arguments.as_rows:
        rows: list[dict[str, Any]] = msgspec.to_builtins(benefit_rows(found, metrics.now()))
        return answered(answer, {"rows": [_without(row, "environmentName") for row in rows]})
    return answered(answer, {"metrics": found})


@tool(
    "getSdlcMetrics",
    title="How software is delivered",
    read_only=True,
    open_world=True,
    seconds=_SECONDS,
    output_schema=ANSWER,
)
async def get_sdlc_metrics(arguments: Delivery, call: Call[Metrics]) -> ToolResult:
    """Figures of Bitbucket, Confluence, Jenkins, Jira, Splunk and Azure DevOps, as far as they are set up."""
    metrics = call.service
    answer = await metrics.collect("sdlc", metrics.wanted("sdlc", Scoped(), raw=arguments.raw), call.progress)
    return answered(answer, {"metrics": answer.snapshot.tree})


def _without(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}
