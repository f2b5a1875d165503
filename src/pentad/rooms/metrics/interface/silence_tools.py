"""`silenceAlerts`: stop sending some alerts to receivers for a while."""

from typing import Annotated, Any, Final

from pydantic import Field

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, tool
from pentad.rooms.metrics.history.silences import Silence
from pentad.rooms.metrics.interface.arguments import parse_duration
from pentad.rooms.metrics.service import Metrics

LONGEST_SECONDS: Final = 90 * 86_400
SILENCED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"silence": {"type": "object"}, "ended": {"type": "string"}},
}


class SilenceArguments(Arguments):
    """Arguments of silenceAlerts."""

    collector: Annotated[str | None, Field(max_length=100)] = None
    metric_key: Annotated[str | None, Field(alias="metricKey", max_length=300, description="May contain `*`.")] = None
    bg: Annotated[str | None, Field(max_length=300, description="Business group, by name or id.")] = None
    labels: Annotated[dict[str, str] | None, Field(description="Such as environmentName.", max_length=20)] = None
    duration: Annotated[str, Field(alias="for", max_length=20, description="30m, 2h, 7d.")] = "2h"
    reason: Annotated[str, Field(max_length=500)] = ""
    end: Annotated[str | None, Field(max_length=80, description="Instead: end the silence with this id now.")] = None


@tool(
    "silenceAlerts",
    title="Silence alerts",
    destructive=False,
    listed="room",
    output_schema=SILENCED,
)
async def silence_alerts(arguments: SilenceArguments, call: Call[Metrics]) -> ToolResult:
    """Stop sending alerts to receivers for a while, or end a silence. listAlerts still lists them."""
    metrics = call.service
    if arguments.end is not None:
        await metrics.end_silence(arguments.end)
        return ToolResult(structured={"ended": arguments.end})
    seconds = parse_duration(arguments.duration)
    if seconds > LONGEST_SECONDS:
        raise InvalidInput("A silence lasts at most 90 days.", hint="Change the threshold instead.")
    made = await metrics.silence(
        call.principal.id,
        collector=arguments.collector,
        key=arguments.metric_key,
        scope=arguments.bg,
        labels=arguments.labels,
        seconds=seconds,
        reason=arguments.reason,
    )
    return ToolResult(structured={"silence": silence_view(made)})


def silence_view(one: Silence) -> dict[str, Any]:
    """A silence without its empty fields."""
    view: dict[str, Any] = {
        "id": one.id, "collector": one.collector, "metricKey": one.key, "bg": one.scope, "labels": one.labels,
        "until": iso(one.ends), "reason": one.reason, "by": one.created_by, "since": iso(one.created_at),
    }  # fmt: skip
    return {name: value for name, value in view.items() if value not in ("", {})}
