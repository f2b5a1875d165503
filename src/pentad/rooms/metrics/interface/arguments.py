"""The arguments of the tools. Unknown names are refused; nothing is ignored silently.

`collector` and `collectorId` are the same argument and have to agree. `environment` and `region` may be inside
`filters` or next to it; the ones next to it win, and the answer says so.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from pentad.kernel.clock import parse_iso
from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.rooms.metrics.engine.query_engine import QueryOptions
from pentad.rooms.metrics.loaders.formats import Format
from pentad.rooms.metrics.metric_keys import split_list

OneOrMore = str | list[str]

_COLLECTOR: Final = "Collector id or other name."
_COLLECTOR_ID: Final = "Same as `collector`."
_ENVIRONMENT: Final = "By name, id or type (production, sandbox)."
COLLECTORS: Final = (
    "arm", "ch", "apma", "ex", "core", "dc", "rtf", "amq", "osv2", "ap", "apc", "apm", "benefits", "host", "http_json",
    "pentad", "postgres", "prometheus", "sdlc",
)  # fmt: skip
"""The ids every installation has; plug-ins may bring more."""
TOKENS: Final = 4_000
"""The default size limit of an answer, in tokens."""
EXPORT_TOKENS: Final = 25_000
"""The same for an export. A larger one is refused, because part of a file is useless."""
_FOR_PROGRAMS: Final = frozenset({"compat", "details", "timeout_seconds", "dry_run", "raw", "allow_all"})
RARE: Final = _FOR_PROGRAMS | {"collectorId", "filters"}
"""Arguments that few conversations need: second names, and switches for programs."""
RARE_BY_COLLECTOR: Final = _FOR_PROGRAMS
"""The same for the tool that is documented with `collectorId` and `filters`."""
RARE_HISTORY: Final = RARE | {"environment", "chart", "max_points", "max_tokens"}
RARE_EXPORT: Final = RARE | {"max_tokens"}
RARE_PAGING: Final = frozenset({"max_tokens", "offset"})
RARE_QUERY: Final = RARE | {"max_tokens", "offset", "columns", "region", "recursive", "chart"}

ChartKind = Annotated[
    Literal["png", "dark", "svg", "ascii"] | bool | None, Field(description="true: a PNG; dark: a dark one.")
]


def _offering_ids(schema: dict[str, Any]) -> None:
    """Add the known collector ids to the schema; other names and lists stay valid."""
    schema["anyOf"] = [{"enum": list(COLLECTORS)}, *schema["anyOf"]]


class Filters(Arguments):
    """The members of `filters`."""

    environment: OneOrMore | None = None
    region: OneOrMore | None = None


class CollectorArguments(Arguments):
    """Which collector."""

    collector: Annotated[OneOrMore | None, Field(description=_COLLECTOR, json_schema_extra=_offering_ids)] = None
    collector_id: Annotated[OneOrMore | None, Field(alias="collectorId", description=_COLLECTOR_ID)] = None

    def collectors(self) -> tuple[str, ...]:
        """The named collectors, at least one."""
        found = _agreed("collector", self.collector, "collectorId", self.collector_id)
        if not found:
            raise InvalidInput("No collector is named.", hint="Give `collector`; getAvailableCollectors lists them.")
        return found

    def one_collector(self) -> str:
        """The collector, for tools that take only one."""
        found = self.collectors()
        if len(found) != 1:
            raise InvalidInput(f"{len(found)} collectors are named.", hint="This tool takes one at a time.")
        return found[0]


class ScopedArguments(CollectorArguments):
    """Which collector, which part of its data, and whose numbers."""

    bg: Annotated[
        str | None,
        Field(description="Business group: id, unique name or path (`Root/Sub`). Default: the server's, if any."),
    ] = None
    recursive: Annotated[bool, Field(description="Include subgroups.")] = True
    filters: Annotated[Filters | None, Field(description="The arguments next to it win.")] = None
    environment: Annotated[OneOrMore | None, Field(description=_ENVIRONMENT)] = None
    region: OneOrMore | None = None
    timeout_seconds: Annotated[
        float | None, Field(gt=0, le=600, description="Answer with what has arrived by then.")
    ] = None
    compat: Annotated[
        Literal["legacy", "current"] | None,
        Field(description="`legacy`: the Metrics Toolkit's numbers."),
    ] = None

    def environments(self) -> tuple[str, ...]:
        return split_list(self.environment) or split_list(self.filters.environment if self.filters else None)

    def regions(self) -> tuple[str, ...]:
        return split_list(self.region) or split_list(self.filters.region if self.filters else None)

    def query_options(self) -> QueryOptions:
        """The query these arguments describe, with the right numbers."""
        return {
            "bg": self.bg,
            "recursive": self.recursive,
            "environments": self.environments(),
            "regions": self.regions(),
            "seconds": self.timeout_seconds,
        }

    def overridden_filters(self) -> list[str]:
        """Notes about members of `filters` that another argument overrides."""
        given = self.filters or Filters()
        pairs = (("environment", self.environment, given.environment), ("region", self.region, given.region))
        return [
            f"`{name}` is {', '.join(split_list(outer))[:100]!r}; `filters.{name}` is ignored."
            for name, outer, inner in pairs
            if split_list(outer) and split_list(inner) and _folded(split_list(outer)) != _folded(split_list(inner))
        ]


class ShapedArguments(ScopedArguments):
    """How much of the answer to return."""

    details: Annotated[
        bool | None, Field(description="Include lists of environments; default: for up to 3 groups.")
    ] = None
    limit: Annotated[int | None, Field(ge=1, le=10_000, description="Group limit.")] = None
    offset: Annotated[int, Field(ge=0)] = 0
    max_tokens: Annotated[
        int, Field(ge=100, le=1_000_000, description="Cut the answer to fit; it says what was cut.")
    ] = TOKENS
    dry_run: Annotated[bool, Field(description="Return the plan only: facts and number of calls.")] = False


class CollectorMetricsArguments(ShapedArguments):
    """Arguments of getPlatformMetricsByCollector."""

    fields: Annotated[OneOrMore | None, Field(description="Only these metric keys.")] = None
    raw: Annotated[bool, Field(description="The source's own answers, without secrets.")] = False
    allow_all: Annotated[bool, Field(description="Allow the slow collector `all`.")] = False

    def filters_in_use(self) -> frozenset[str]:
        """The filters in use that not every collector supports."""
        given = {
            "bg": self.bg, "environment": self.environments(), "region": self.regions(), "raw": self.raw,
            "compat": self.compat == "legacy",
        }  # fmt: skip
        return frozenset(name for name, value in given.items() if value)


class MetricByKeyArguments(ShapedArguments):
    """Arguments of getPlatformMetricByKey."""

    metric_key: Annotated[
        OneOrMore,
        Field(
            alias="metricKey",
            description="Dotted path (`cloudhub.networking.vpcsUsed`), a name at any depth (`networking`), or wildcards"
            " (`*` one step, `**` any). listMetricKeys has them.",
        ),
    ]
    shape: Annotated[
        Literal["tree", "flat", "value"],
        Field(description="tree, flat rows, or the single value."),
    ] = "tree"


class ListKeysArguments(CollectorArguments):
    """Arguments of listMetricKeys."""

    query: Annotated[str, Field(max_length=200, description="Words to find.")] = ""
    limit: Annotated[int, Field(ge=1, le=1000)] = 50
    offset: Annotated[int, Field(ge=0)] = 0


class ExplainArguments(ScopedArguments):
    """Arguments of explainMetric."""

    metric_key: Annotated[str, Field(alias="metricKey", description="A single key.")]
    max_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = TOKENS


class ExportFileArguments(ScopedArguments):
    """Parameters of an export as a file, which has no size limit."""

    format: Format = "json"
    keys: Annotated[OneOrMore | None, Field(description="Only these metric keys.")] = None


class ExportArguments(ExportFileArguments):
    """Arguments of exportMetrics."""

    max_tokens: Annotated[int, Field(ge=100, le=10_000_000)] = EXPORT_TOKENS


class LoadArguments(ScopedArguments):
    """Arguments of loadMetrics."""

    to: Annotated[str, Field(max_length=100, description="A destination in the settings.")]
    keys: Annotated[OneOrMore | None, Field(description="Only these metric keys.")] = None


class BenefitsArguments(Arguments):
    """Arguments of getPlatformBenefits; times in days."""

    develop_historic: Annotated[
        float, Field(alias="developAPIHistoricTime", ge=0, description="Days before the platform.")
    ]
    develop_current: Annotated[float, Field(alias="developAPICurrentTime", ge=0, description="Days, today.")]
    maintain_historic: Annotated[
        float, Field(alias="maintainAPIHistoricTime", ge=0, description="Days, before the platform.")
    ]
    maintain_current: Annotated[float, Field(alias="maintainAPICurrentTime", ge=0, description="Days, today.")]
    day_rate: Annotated[float, Field(alias="developerDayRate", ge=0, description="Cost of one developer day.")]
    bg: Annotated[str | None, Field(description="Business group: id, name or path.")] = None
    recursive: Annotated[bool, Field(description="Include subgroups.")] = True
    as_rows: Annotated[bool, Field(description="Flat rows, named as in exports.")] = False
    offset: Annotated[int, Field(ge=0)] = 0
    max_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = TOKENS


class SdlcArguments(Arguments):
    """Arguments of getSdlcMetrics."""

    raw: Annotated[bool, Field(description="The systems' own answers, without secrets.")] = False
    max_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = TOKENS


class HistoryArguments(CollectorArguments):
    """Arguments of getMetricHistory."""

    bg: Annotated[str | None, Field(description="Required if several groups have a history.")] = None
    metric_key: Annotated[OneOrMore, Field(alias="metricKey", description="As in getPlatformMetricByKey.")]
    begin: Annotated[str, Field(alias="from", max_length=60, description="now-6h, 7d (ago), a date or ISO time.")] = (
        "now-24h"
    )
    end: Annotated[str, Field(alias="to", max_length=60)] = "now"
    step: Annotated[str | None, Field(max_length=20, description="One point per 5m, 1h, 1d.")] = None
    max_points: Annotated[int, Field(ge=1, le=5_000)] = 100
    environment: Annotated[str | None, Field(max_length=200)] = None
    forecast: Annotated[bool, Field(description="Forecast when a limit is reached.")] = False
    chart: ChartKind = None
    max_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = TOKENS


class ChangesArguments(CollectorArguments):
    """Arguments of whatChanged."""

    since: Annotated[str, Field(max_length=60, description="now-24h, 7d (ago), a date.")] = "now-24h"
    until: Annotated[str, Field(max_length=60)] = "now"
    bg: Annotated[str | None, Field(max_length=200, description="Only this business group.")] = None
    metric_key: Annotated[OneOrMore | None, Field(alias="metricKey", description="Only these keys.")] = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50
    max_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = TOKENS


class QueryArguments(ScopedArguments):
    """Arguments of queryMetrics."""

    metric_key: Annotated[OneOrMore, Field(alias="metricKey", description="As in getPlatformMetricByKey.")]
    of: Annotated[Literal["figures", "items"], Field(description="The figures, or the items they count, by name.")] = (
        "figures"
    )
    where: Annotated[
        OneOrMore | None,
        Field(description="Conditions such as `value > 0`, `businessGroup = Sales`, `runtime ~ 4.4`, `state != ok`."),
    ] = None
    group_by: Annotated[OneOrMore | None, Field(description="Columns, such as businessGroup.")] = None
    aggregate: Annotated[
        OneOrMore | None, Field(description="sum, mean, min, max, count, distinct, values; also sum(vcores).")
    ] = None
    sort: Annotated[OneOrMore | None, Field(description="Columns; `-value` for the greatest first.")] = None
    top: Annotated[int | None, Field(ge=1, le=10_000, description="Row limit.")] = None
    offset: Annotated[int, Field(ge=0)] = 0
    level: Annotated[
        Literal["group", "environment", "region"] | None,
        Field(description="Figures of groups (the default), or of their parts."),
    ] = None
    columns: Annotated[OneOrMore | None, Field(description="Only these columns.")] = None
    max_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = TOKENS

    def conditions(self) -> list[str]:
        return [self.where] if isinstance(self.where, str) else self.where or []


class QueryToolArguments(QueryArguments):
    """The same for the tool, which can also draw the rows."""

    chart: ChartKind = None


class AlertsArguments(Arguments):
    """Arguments of listAlerts."""

    level: Literal["warn", "alarm"] | None = None
    collector: Annotated[str | None, Field(max_length=100)] = None
    since: Annotated[str | None, Field(max_length=60, description="Also list changes since: now-24h, 7d.")] = None
    max_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = TOKENS


class SilenceArguments(Arguments):
    """Arguments of silenceAlerts."""

    collector: Annotated[str | None, Field(max_length=100)] = None
    metric_key: Annotated[str | None, Field(alias="metricKey", max_length=300, description="May contain `*`.")] = None
    bg: Annotated[str | None, Field(max_length=300, description="Business group, by name or id.")] = None
    labels: Annotated[dict[str, str] | None, Field(description="Such as environmentName.", max_length=20)] = None
    duration: Annotated[str, Field(alias="for", max_length=20, description="30m, 2h, 7d.")] = "2h"
    reason: Annotated[str, Field(max_length=500)] = ""
    end: Annotated[str | None, Field(max_length=80, description="Instead: end the silence with this id now.")] = None


def _agreed(name: str, value: OneOrMore | None, other: str, other_value: OneOrMore | None) -> tuple[str, ...]:
    first, second = split_list(value), split_list(other_value)
    if first and second and _folded(first) != _folded(second):
        raise InvalidInput(
            f"{name} is {', '.join(first)[:100]!r} and {other} is {', '.join(second)[:100]!r}.",
            hint="They are the same argument; give only one.",
        )
    return first or second


def _folded(values: Iterable[str]) -> set[str]:
    return {value.casefold() for value in values}


HEADERS: Final = (
    "x-anypnt-org-id",
    "x-anypnt-client-id",
    "x-anypnt-client-secret",
    "x-anypnt-username",
    "x-anypnt-password",
    "x-plaintext-password",
)
"""The Metrics Toolkit's headers for credentials of a request."""


def request_credentials(call: Call[Any]) -> dict[str, str] | None:
    """The credentials in this request's headers, by header name; None if there are none.

    They apply to this request only, are never stored or logged, and are sent only to addresses the operator set.
    """
    return {name: value for name in HEADERS if (value := call.header(name))} or None


UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_AGO: Final = re.compile(r"(?:now)?\s*-?\s*(\d{1,9})\s*([smhdw])", re.ASCII)
_NUMBER: Final = re.compile(r"\d{9,13}(\.\d+)?", re.ASCII)
_HINT: Final = "Write now, now-6h, 2d, 2026-05-01, an ISO time, or seconds since 1970."


def parse_time(text: str, now: float) -> float:
    """A time in seconds since 1970."""
    given = text.strip().lower()
    if given in ("", "now"):
        return now
    if (ago := _AGO.fullmatch(given)) is not None:
        return now - int(ago[1]) * UNITS[ago[2]]
    if _NUMBER.fullmatch(given):
        number = float(given)
        return number / 1000 if number >= 1e11 else number
    try:
        return parse_iso(text.strip()).timestamp()
    except ValueError:
        raise InvalidInput(f"{text[:60]!r} is not a time.", hint=_HINT) from None


def parse_duration(text: str) -> int:
    """A duration in seconds: `5m`, `1h`, or a number of seconds."""
    given = text.strip().lower()
    if given.isascii() and given.isdecimal() and 0 < len(given) < 10 and int(given):
        return int(given)
    found = re.fullmatch(r"(\d{1,9})\s*([smhdw])", given, re.ASCII)
    if found is None or not int(found[1]):
        raise InvalidInput(f"{text[:60]!r} is not a duration.", hint="Write 300, 5m, 1h or 1d.")
    return int(found[1]) * UNITS[found[2]]
