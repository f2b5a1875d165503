"""What the tools take. Unknown names are refused; nothing is passed over in silence.

`collector` and `collectorId` are one argument and have to agree. `environment` and `region` may stand in `filters` or
beside it; beside it wins, and the answer says so.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import Arguments
from pentad.rooms.metrics.loaders.formats import Format

Several = str | list[str]

_COLLECTOR: Final = "The collector, by its id or another of its names. `collectorId` is the same; give either one."
_COLLECTOR_ID: Final = "The same as `collector`."
_ENVIRONMENT: Final = (
    "Only these environments: by name, id or type (production, sandbox). One or several. A name written exactly goes"
    " before a type."
)
_REGION: Final = "Only these regions."
COLLECTORS: Final = (
    "arm", "ch", "apma", "ex", "core", "dc", "rtf", "amq", "osv2", "ap", "apc", "apm", "benefits", "host", "http_json",
    "pentad", "postgres", "prometheus", "sdlc",
)  # fmt: skip
"""The ids every installation has; plug-ins may bring more."""


def _offering_ids(schema: dict[str, Any]) -> None:
    """The schema of an argument with the ids to choose from, beside the other names and lists it may also be."""
    schema["anyOf"] = [{"enum": list(COLLECTORS)}, *schema["anyOf"]]


class Filters(Arguments):
    """What `filters` holds."""

    environment: Annotated[Several | None, Field(description=_ENVIRONMENT)] = None
    region: Annotated[Several | None, Field(description=_REGION)] = None


class Collected(Arguments):
    """Which collector."""

    collector: Annotated[Several | None, Field(description=_COLLECTOR, json_schema_extra=_offering_ids)] = None
    collector_id: Annotated[Several | None, Field(alias="collectorId", description=_COLLECTOR_ID)] = None

    def collectors(self) -> tuple[str, ...]:
        """The collectors meant; one at least."""
        found = _agreed("collector", self.collector, "collectorId", self.collector_id)
        if not found:
            raise InvalidInput("No collector is named.", hint="Give `collector`; getAvailableCollectors lists them.")
        return found

    def one_collector(self) -> str:
        """The collector, where only one can be asked."""
        found = self.collectors()
        if len(found) != 1:
            raise InvalidInput(f"{len(found)} collectors are named.", hint="This tool asks one at a time.")
        return found[0]


class Scoped(Collected):
    """Which collector, and what part of what it sees."""

    bg: Annotated[
        str | None,
        Field(
            description="The business group: its id, its name if unique, or a path such as `Root/Sub`. Left out, the"
            " one of the settings; collectors without groups need none."
        ),
    ] = None
    recursive: Annotated[bool, Field(description="With the groups below it.")] = True
    filters: Annotated[
        Filters | None, Field(description="`environment` and `region`, as below; what stands below wins.")
    ] = None
    environment: Annotated[Several | None, Field(description=_ENVIRONMENT)] = None
    region: Annotated[Several | None, Field(description=_REGION)] = None
    compat: Annotated[
        Literal["legacy"] | None,
        Field(description="`legacy`: the numbers and roots of the Metrics Toolkit, its faults included."),
    ] = None
    timeout_seconds: Annotated[
        float | None, Field(gt=0, le=600, description="After that, what is there is answered, marked partial.")
    ] = None

    def environments(self) -> tuple[str, ...]:
        return listed(self.environment) or listed(self.filters.environment if self.filters is not None else None)

    def regions(self) -> tuple[str, ...]:
        return listed(self.region) or listed(self.filters.region if self.filters is not None else None)

    def overruled(self) -> list[str]:
        """What of `filters` does not count, because the same stands beside it with another value."""
        given = self.filters or Filters()
        pairs = (("environment", self.environment, given.environment), ("region", self.region, given.region))
        return [
            f"`{name}` is {', '.join(listed(outer))[:100]!r}; `filters.{name}` is passed over."
            for name, outer, inner in pairs
            if listed(outer) and listed(inner) and _folded(listed(outer)) != _folded(listed(inner))
        ]


class Shaped(Scoped):
    """How much of the answer is wanted."""

    details: Annotated[
        bool | None, Field(description="Lists of environments; by default only for up to three groups.")
    ] = None
    limit: Annotated[int | None, Field(ge=1, le=10_000, description="At most so many groups.")] = None
    offset: Annotated[int, Field(ge=0, description="From this group on.")] = 0
    max_tokens: Annotated[
        int, Field(ge=100, le=1_000_000, description="About so many tokens; what is left out is said.")
    ] = 25_000
    dry_run: Annotated[
        bool, Field(description="The plan instead: which facts, how many calls. Nothing else is fetched.")
    ] = False


class ByCollector(Shaped):
    """What getPlatformMetricsByCollector takes."""

    fields: Annotated[Several | None, Field(description="Only these parts of the answer, as metric keys.")] = None
    raw: Annotated[bool, Field(description="The source's own answers instead of figures, secrets taken out.")] = False
    allow_all: Annotated[bool, Field(description="Whether the collector may be `all`; that can take long.")] = False

    def asked_by(self) -> frozenset[str]:
        """What only some collectors can answer by."""
        given = {
            "bg": self.bg, "environment": self.environments(), "region": self.regions(), "raw": self.raw,
            "compat": self.compat,
        }  # fmt: skip
        return frozenset(name for name, value in given.items() if value)


class ByKey(Shaped):
    """What getPlatformMetricByKey takes."""

    metric_key: Annotated[
        Several,
        Field(
            alias="metricKey",
            description="A dotted path (`cloudhub.networking.vpcsUsed`), a name at any depth (`networking`), wildcards"
            " (`*` one step, `**` any number), or several of these.",
        ),
    ]
    shape: Annotated[
        Literal["tree", "flat", "value"],
        Field(description="tree: pruned to the key; flat: rows of path, value and labels; value: the single value."),
    ] = "tree"


class KeyQuery(Collected):
    """What listMetricKeys takes."""

    query: Annotated[str, Field(max_length=200, description="Words in key, description, unit or formula.")] = ""
    limit: Annotated[int, Field(ge=1, le=1000)] = 50
    offset: Annotated[int, Field(ge=0)] = 0


class Explained(Scoped):
    """What explainMetric takes."""

    metric_key: Annotated[str, Field(alias="metricKey", description="One key.")]


class Exported(Scoped):
    """What exportMetrics takes."""

    format: Annotated[Format, Field(description="In whose words.")] = "json"
    keys: Annotated[Several | None, Field(description="Only these metric keys.")] = None


class Loaded(Scoped):
    """What loadMetrics takes."""

    to: Annotated[str, Field(max_length=100, description="A destination of the settings, by its name.")]
    keys: Annotated[Several | None, Field(description="Only these metric keys.")] = None


class Benefits(Arguments):
    """What getPlatformBenefits takes: times in days, and what a developer's day costs."""

    develop_historic: Annotated[float, Field(alias="developAPIHistoricTime", ge=0, description="Days, before.")]
    develop_current: Annotated[float, Field(alias="developAPICurrentTime", ge=0, description="Days, now.")]
    maintain_historic: Annotated[float, Field(alias="maintainAPIHistoricTime", ge=0, description="Days, before.")]
    maintain_current: Annotated[float, Field(alias="maintainAPICurrentTime", ge=0, description="Days, now.")]
    day_rate: Annotated[float, Field(alias="developerDayRate", ge=0, description="What a day of a developer costs.")]
    bg: Annotated[str | None, Field(description="The business group: id, name or path.")] = None
    recursive: Annotated[bool, Field(description="With the groups below it.")] = True
    as_rows: Annotated[bool, Field(description="As flat rows, in the names the csv and json exports use.")] = False


class Delivery(Arguments):
    """What getSdlcMetrics takes."""

    raw: Annotated[bool, Field(description="The systems' own answers, secrets taken out.")] = False


class Past(Collected):
    """What part of the history is meant."""

    bg: Annotated[str | None, Field(description="The scope; needed only where there is a history of several.")] = None


class HistoryAsked(Past):
    """What getMetricHistory takes."""

    metric_key: Annotated[Several, Field(alias="metricKey", description="As in getPlatformMetricByKey.")]
    begin: Annotated[str, Field(alias="from", max_length=60, description="now-6h, 7d (ago), a date, an ISO time.")] = (
        "now-24h"
    )
    end: Annotated[str, Field(alias="to", max_length=60, description="The same; by default now.")] = "now"
    step: Annotated[str | None, Field(max_length=20, description="One point for each: 5m, 1h, 1d.")] = None
    max_points: Annotated[int, Field(ge=1, le=5_000)] = 100
    environment: Annotated[str | None, Field(max_length=200, description="Only the lines of this environment.")] = None
    forecast: Annotated[bool, Field(description="Say when a limit is reached if things go on like this.")] = False
    chart: Annotated[Literal["svg", "ascii"] | None, Field(description="A drawing of the first lines as well.")] = None


class Compared(Past):
    """What compareMetrics takes."""

    since: Annotated[str, Field(max_length=60, description="The earlier moment: now-24h, 7d, a date.")] = "now-24h"
    until: Annotated[str, Field(max_length=60, description="The later one.")] = "now"
    metric_key: Annotated[Several | None, Field(alias="metricKey", description="Only these keys.")] = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50


class AlertsAsked(Arguments):
    """What listAlerts takes."""

    level: Annotated[Literal["warn", "alarm"] | None, Field(description="Only this level.")] = None
    collector: Annotated[str | None, Field(max_length=100, description="Only of this collector.")] = None
    since: Annotated[
        str | None, Field(max_length=60, description="Also what rose and fell since then: now-24h, 7d.")
    ] = None


def listed(value: Several | None) -> tuple[str, ...]:
    """One or several, however they were written."""
    if value is None:
        return ()
    given = value.split(",") if isinstance(value, str) else value
    return tuple(dict.fromkeys(one.strip() for one in given if one.strip()))


def _agreed(name: str, value: Several | None, other: str, other_value: Several | None) -> tuple[str, ...]:
    first, second = listed(value), listed(other_value)
    if first and second and _folded(first) != _folded(second):
        raise InvalidInput(
            f"{name} is {', '.join(first)[:100]!r} and {other} is {', '.join(second)[:100]!r}.",
            hint="They are the same argument: give one of them.",
        )
    return first or second


def _folded(values: Iterable[str]) -> set[str]:
    return {value.casefold() for value in values}
