"""Prompts: a licence renewal report, a capacity review, a morning check."""

from typing import Annotated, Final

from pydantic import Field

from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import prompt
from pentad.rooms.metrics.interface.resources import complete_collector, complete_scope
from pentad.rooms.metrics.service import Metrics

_HONEST: Final = (
    "A null is a missing value: say what is missing and why (`problems`), and never treat it as zero. Say how old"
    " the figures are (`asOf`) and whether the answer is partial (`coverage`). Do not estimate values that no tool"
    " returned."
)


class Renewal(Arguments):
    bg: Annotated[str, Field(description="The business group; by default the one in the settings.", max_length=200)] = (
        ""
    )
    until: Annotated[str, Field(description="When the contract ends, as a date.", max_length=40)] = ""


class Review(Arguments):
    collector: Annotated[str, Field(description="What to review; by default this machine.", max_length=100)] = "host"
    since: Annotated[str, Field(description="How far to look back, such as 30d.", max_length=20)] = "14d"


class Morning(Arguments):
    since: Annotated[str, Field(description="Since when, such as 24h.", max_length=20)] = "24h"


@prompt("licence_renewal_report", title="Report for a licence renewal", complete={"bg": complete_scope})
async def licence_renewal_report(arguments: Renewal, call: Call[Metrics]) -> str:
    """Licensed and used amounts, a forecast for the end of the contract, and recommendations."""
    where = f' with bg "{arguments.bg}"' if arguments.bg else ""
    until = f" The contract ends on {arguments.until}." if arguments.until else ""
    return f"""Write a report for the renewal of the platform's licences.{until}

1. Call getPlatformMetricByKey{where} for collector `ch` with metricKey `networking`, then with \
`vcoresTotal,vcoresUsed,vcoresAvailable`; for `rtf` with `capacity`; for `core` with `users`; for `amq` with `summary`.
2. For each amount that is licensed, call getMetricHistory with `forecast: true` and from `now-90d`: when is it reached?
3. Call whatChanged with since `90d` to see what grew and what is no longer used.
4. Write one table: licensed, used, share, change in 90 days, limit reached on. Below it, in plain words: what to \
renew unchanged, what to reduce, what to increase, each with the figure that supports it.

{_HONEST}
"""


@prompt("capacity_review", title="Review of capacity", complete={"collector": complete_collector})
async def capacity_review(arguments: Review, call: Call[Metrics]) -> str:
    """Which resources are sufficient, for how long, and which are not."""
    info = call.service.info(arguments.collector)
    watched = [
        metric.key for metric in info.catalogue if metric.limit or metric.alarm is not None or metric.warn is not None
    ]
    keys = ", ".join(watched) or "those that matter (listMetricKeys lists all)"
    return f"""Review the capacity of {info.title} (collector `{info.id}`), looking back {arguments.since}.

1. Call getPlatformMetricsByCollector for `{info.id}`: the current figures.
2. Call getMetricHistory with from `{arguments.since}` and `forecast: true` for: {keys}.
3. Call listAlerts with collector `{info.id}` and since `{arguments.since}`.
4. For each resource, report its size, its current and highest usage, the trend, and when it runs out. Order by \
urgency. End with at most three recommendations, each with the figure that supports it.

{_HONEST}
"""


@prompt("morning_check", title="Morning check")
async def morning_check(arguments: Morning, call: Call[Metrics]) -> str:
    """What happened since yesterday, in a one-minute read."""
    return f"""Give a morning overview of everything measured here, looking back {arguments.since}.

1. Call listAlerts with since `{arguments.since}`: what is wrong now, what was raised, what was cleared.
2. Call whatChanged with since `{arguments.since}`; leave out counters that only grow.
3. For each alert, call explainMetric for its key, so that you can say where the figure comes from.
4. Answer in this order: what needs attention today; which changes are worth knowing; what is unchanged. At most ten \
lines.

{_HONEST}
"""


PROMPTS: Final = (licence_renewal_report, capacity_review, morning_check)
