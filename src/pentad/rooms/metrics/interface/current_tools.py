"""Tools for current figures: the toolkit's four, and those that explain, export or send figures."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
import msgspec.structs

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.mcp.app_views import AppView
from pentad.mcp.call import Call
from pentad.mcp.content import Text
from pentad.mcp.declarations import ToolResult, tool
from pentad.rooms.metrics.collectors.anypoint.collector import FAMILY as ANYPOINT
from pentad.rooms.metrics.collectors.anypoint.figures import Inputs, with_benefits
from pentad.rooms.metrics.collectors.anypoint.legacy import legacy_by_key
from pentad.rooms.metrics.engine.query_engine import Answer
from pentad.rooms.metrics.engine.response_budget import (
    CHARACTERS_PER_TOKEN,
    FEWEST_TOKENS,
    ResponseShape,
    RowDetails,
    ShapedResponse,
    fit_entries,
    shape_response,
)
from pentad.rooms.metrics.interface.arguments import (
    RARE,
    RARE_BY_COLLECTOR,
    RARE_EXPORT,
    RARE_PAGING,
    TOKENS,
    BenefitsArguments,
    CollectorMetricsArguments,
    ExplainArguments,
    ExportArguments,
    LoadArguments,
    MetricByKeyArguments,
    ScopedArguments,
    SdlcArguments,
    ShapedArguments,
    request_credentials,
)
from pentad.rooms.metrics.interface.presentation import (
    answer_metadata,
    answer_notes,
    content_blocks,
    explanations,
    figure_metadata,
    health_view,
    plan_view,
    to_json,
    tool_result,
)
from pentad.rooms.metrics.interface.result_schemas import ANSWER, COLLECTORS, EXPLAINED, EXPORTED, LOADED
from pentad.rooms.metrics.loaders.rows import benefit_rows, business_groups
from pentad.rooms.metrics.metric_keys import Match, figure_key, split_list
from pentad.rooms.metrics.models import Query
from pentad.rooms.metrics.service import Metrics

if TYPE_CHECKING:
    from pentad.kernel.pages import Sheet

_SECONDS: Final = 620.0
"""A query may take ten minutes; the tool needs a little more to answer."""

_remote_read = partial(tool, read_only=True, open_world=True, seconds=_SECONDS, rare=RARE)
"""Declares a tool that reads figures from their sources."""


@tool("getAvailableCollectors", title="Collectors", read_only=True, output_schema=COLLECTORS)
async def get_available_collectors(call: Call[Metrics]) -> ToolResult:
    """List all collector ids. Light and cacheable."""
    ids = call.service.catalogue.ids()
    unwell = [health_view(one) for one in await call.service.history.health() if one.state != "ok"]
    structured = {"collectors": ids, "unwell": unwell} if unwell else {"collectors": ids}
    notes = [Text(text=f"Polls of {one['collector']} have been {one['state']} since {one['since']}.") for one in unwell]
    return ToolResult(content=[Text(text=to_json(ids)), *notes], structured=structured)


async def _show_figures(
    call: Call[Metrics], arguments: CollectorMetricsArguments, _found: Mapping[str, Any]
) -> "Sheet | None":
    """The view of one collector's figures. Its facts are cached by the answer, so it costs no further calls."""
    from pentad.rooms.metrics.interface.dashboards import collector_sheet, sample_rows

    filters = arguments.filters_in_use()
    ids = call.service.select_collectors(arguments.collectors(), allow_all=arguments.allow_all, filters=filters)
    if len(ids) != 1 or arguments.dry_run or arguments.raw:
        return None
    query = _query(call, ids[0], arguments, keys=split_list(arguments.fields))
    answer = await call.service.collect(ids[0], query)
    return await collector_sheet(call.service, answer.info, sample_rows(answer.info, answer.snapshot.samples))


@_remote_read(
    "getPlatformMetricsByCollector",
    title="Metrics of a collector",
    output_schema=ANSWER,
    rare=RARE_BY_COLLECTOR,
    view=AppView("figures", "Metrics of a collector", _show_figures),
)
async def get_platform_metrics_by_collector(arguments: CollectorMetricsArguments, call: Call[Metrics]) -> ToolResult:
    """All current figures of one collector, by business group, environment and region.

    Missing values are null; `problems` says why. For one figure use getPlatformMetricByKey.
    """
    metrics = call.service
    ids = metrics.select_collectors(
        arguments.collectors(), allow_all=arguments.allow_all, filters=arguments.filters_in_use()
    )
    if arguments.raw and arguments.compat == "legacy":
        raise InvalidInput(
            "`raw` and `compat` cannot be combined: raw answers are the platform's own.", hint="Leave one of them out."
        )
    keys = split_list(arguments.fields)
    shape = ResponseShape(fields=keys)
    queries = [(one, _query(call, one, arguments, keys=keys, raw=arguments.raw)) for one in ids]
    if arguments.dry_run:
        return await _plans(metrics, queries)
    if len(queries) == 1:
        (one, query) = queries[0]
        return _shaped_result(await metrics.collect(one, query, call.progress), arguments, shape)
    if not queries:
        raise InvalidInput("No collector supports all of these filters.", hint="Leave a filter out.")
    answers = await metrics.collect_all(queries, call.progress)
    return _combined_result(
        [(one, answer) for (one, _), answer in zip(queries, answers, strict=True)], arguments, shape
    )


@_remote_read("getPlatformMetricByKey", title="One metric", aliases=("getPlatformMetricsByKey",), output_schema=ANSWER)
async def get_platform_metric_by_key(arguments: MetricByKeyArguments, call: Call[Metrics]) -> ToolResult:
    """The current value of one metric, or of all below a key such as `networking`. Fetches only what it needs."""
    metrics, keys = call.service, split_list(arguments.metric_key)
    (one,) = metrics.select_collectors([arguments.one_collector()])
    if not keys:
        raise InvalidInput("metricKey is empty.", hint="listMetricKeys lists them.")
    query = _query(call, one, arguments, keys=keys)
    if arguments.dry_run:
        return await _plans(metrics, [(one, query)])
    answer = await metrics.collect(one, query, call.progress)
    if query.compat == "legacy" and answer.info.family == ANYPOINT and arguments.shape == "tree":
        answer.snapshot.tree = legacy_by_key(answer.snapshot.tree, answer.info, keys)
        return _shaped_result(answer, arguments, ResponseShape())
    return _shaped_result(answer, arguments, ResponseShape(form=arguments.shape, keys=keys), query.keys or ())


@_remote_read(
    "explainMetric", title="Where a figure comes from", output_schema=EXPLAINED, rare=RARE | RARE_PAGING, listed="room"
)
async def explain_metric(arguments: ExplainArguments, call: Call[Metrics]) -> ToolResult:
    """A metric's formula, its values, the facts behind them, when those were fetched, and what is missing."""
    one, query = _one_query(call, arguments, [arguments.metric_key])
    answer = await call.service.collect(one, query, call.progress)
    found = explanations(answer, query.keys or ())
    shown = fit_entries(found, arguments.max_tokens)
    notes = (
        [f"{len(shown)} of {len(found)} metrics fit into {arguments.max_tokens} tokens; name a narrower key."]
        if len(shown) < len(found)
        else []
    )
    return tool_result(answer, {"explained": shown}, notes)


@_remote_read(
    "exportMetrics",
    title="Export metrics",
    output_schema=EXPORTED,
    listed="room",
    tags=("export",),
    rare=RARE_EXPORT,
)
async def export_metrics(arguments: ExportArguments, call: Call[Metrics]) -> ToolResult:
    """Figures in another system's format: csv, json, ndjson, prometheus, otlp, splunk, elastic, webhook."""
    one, query = _one_query(call, arguments, split_list(arguments.keys))
    export, answer = await call.service.export(one, query, arguments.format, call.progress)
    tokens = len(export.body) // CHARACTERS_PER_TOKEN
    if tokens > arguments.max_tokens:
        raise InvalidInput(
            f"The export has {export.records} records, about {tokens} tokens; {arguments.max_tokens} are allowed.",
            hint="Name keys or a business group, raise max_tokens, or send it somewhere with loadMetrics.",
        )
    view = {
        "format": arguments.format, "contentType": export.content_type, "records": export.records, "body": export.body
    }  # fmt: skip
    notes = [Text(text="\n".join(answer_notes(answer)))] if answer.snapshot.problems else []
    return ToolResult(content=[Text(text=export.body), *notes], structured={**answer_metadata(answer), **view})


@tool(
    "loadMetrics",
    title="Send metrics",
    destructive=False,
    open_world=True,
    seconds=_SECONDS,
    output_schema=LOADED,
    listed="room",
    rare=RARE,
    tags=("export",),
)
async def load_metrics(arguments: LoadArguments, call: Call[Metrics]) -> ToolResult:
    """Send figures to a destination the operator set up: Splunk, Elasticsearch, a webhook, an OTLP collector."""
    one, query = _one_query(call, arguments, split_list(arguments.keys))
    export, answer = await call.service.load(one, query, arguments.to, call.progress)
    groups = business_groups(answer.snapshot.tree)
    errors = [{"businessGroup": group["businessGroup"], "errors": group.get("errors", [])} for group in groups]
    shown = fit_entries(errors, TOKENS)
    view: dict[str, Any] = {"message": "Events loaded successfully", "records": export.records, "errors": shown}
    notes = [f"Errors of {len(shown)} of {len(errors)} groups."] if len(shown) < len(errors) else []
    return ToolResult(structured={**answer_metadata(answer, notes), **view} if answer.snapshot.problems else view)


@_remote_read(
    "getPlatformBenefits",
    title="Platform benefits",
    output_schema=ANSWER,
    listed="room",
    rare=RARE | RARE_PAGING,
)
async def get_platform_benefits(arguments: BenefitsArguments, call: Call[Metrics]) -> ToolResult:
    """Savings from API reuse and easier maintenance, per business group, computed from the times you give.

    Values that cannot be computed, for example because of a division by zero, are null with a reason in `errors`.
    """
    metrics = call.service
    query = metrics.query(
        "benefits", bg=arguments.bg, recursive=arguments.recursive, credentials=request_credentials(call)
    )
    answer = await metrics.collect("benefits", query, call.progress)
    given = Inputs(
        arguments.develop_historic,
        arguments.develop_current,
        arguments.maintain_historic,
        arguments.maintain_current,
        arguments.day_rate,
    )
    found = [with_benefits(entry, given) for entry in answer.snapshot.tree]
    if not arguments.as_rows:
        return _budgeted(answer, "metrics", found, arguments)
    rows: list[dict[str, Any]] = msgspec.to_builtins(benefit_rows(found, answer.snapshot.as_of))
    for row in rows:
        del row["environmentName"]
    return _budgeted(answer, "rows", rows, arguments)


@_remote_read("getSdlcMetrics", title="Software delivery", output_schema=ANSWER, listed="room", rare=RARE | RARE_PAGING)
async def get_sdlc_metrics(arguments: SdlcArguments, call: Call[Metrics]) -> ToolResult:
    """Figures of Bitbucket, Confluence, Jenkins, Jira, Splunk and Azure DevOps, if set up."""
    metrics = call.service
    answer = await metrics.collect("sdlc", metrics.query("sdlc", raw=arguments.raw), call.progress)
    shaped = shape_response(answer.snapshot.tree, answer.info, ResponseShape(max_tokens=arguments.max_tokens))
    return tool_result(answer, {"metrics": shaped.content}, shaped.notes)


def _query(
    call: Call[Metrics], collector: str, arguments: ScopedArguments, *, keys: Sequence[str] = (), raw: bool = False
) -> Query:
    options = arguments.query_options()
    compat = None if raw else call.service.compat(collector, arguments.compat, call.endpoint)
    options.update(keys=keys, raw=raw, compat=compat, credentials=request_credentials(call))
    return call.service.query(collector, **options)


def _one_query(call: Call[Metrics], arguments: ScopedArguments, keys: Sequence[str]) -> tuple[str, Query]:
    """The one collector these arguments name, and the query for it."""
    (one,) = call.service.select_collectors([arguments.one_collector()])
    return one, _query(call, one, arguments, keys=keys)


def _budgeted(answer: Answer, name: str, entries: Sequence[Any], arguments: BenefitsArguments) -> ToolResult:
    """As many entries as fit, from an offset on."""
    shape = ResponseShape(details=True, offset=arguments.offset, max_tokens=arguments.max_tokens)
    shaped = shape_response(list(entries), answer.info, shape)
    return tool_result(answer, {name: shaped.content}, shaped.notes)


async def _plans(metrics: Metrics, queries: Sequence[tuple[str, Query]]) -> ToolResult:
    plans = [plan_view(await metrics.plan(one, query)) for one, query in queries]
    return ToolResult(structured={"plan": plans[0]} if len(plans) == 1 else {"plan": {"collectors": plans}})


def _combined_result(
    answers: Sequence[tuple[str, Answer | PentadError]], arguments: ShapedArguments, shape: ResponseShape
) -> ToolResult:
    """The answers of several collectors, each with its share of the tokens; errors become notes."""
    failed = {one: answer for one, answer in answers if isinstance(answer, PentadError)}
    if len(failed) == len(answers):
        raise next(iter(failed.values()))
    notes = [*arguments.overridden_filters(), *(f"- {one}: {error.sentence()}" for one, error in failed.items())]
    trees: dict[str, Any] = {}
    views: list[dict[str, Any]] = [{"collector": one, "error": error.sentence()} for one, error in failed.items()]
    for one, answer in answers:
        if not isinstance(answer, PentadError):
            found = _shaped(answer, arguments, shape, len(answers) - len(failed))
            trees[one] = found.content
            notes += answer_notes(answer, found.notes)
            views.append(answer_metadata(answer, found.notes) | {"metrics": found.content})
    return ToolResult(content=content_blocks(trees, notes), structured={"answers": views})


def _shaped_result(
    answer: Answer, arguments: ShapedArguments, shape: ResponseShape, keys: Sequence[str] = ()
) -> ToolResult:
    """The figures in the requested shape; with a unit if all of these keys share one."""
    found = _shaped(answer, arguments, shape)
    notes = [*arguments.overridden_filters(), *found.notes]
    if shape.form == "flat":
        return tool_result(answer, {"rows": found.content}, notes)
    if shape.form == "value":
        return tool_result(answer, {"value": found.content, **_row_details(answer)(found.matches[0])}, notes)
    units = {metric.unit for metric in answer.info.catalogue if metric.key in keys}
    unit = units.pop() if len(units) == 1 else None
    return tool_result(answer, {"metrics": found.content, **({"unit": unit} if unit else {})}, notes)


def _row_details(answer: Answer) -> RowDetails:
    """Returns the unit of a figure, and its state and time if they differ from the answer's."""
    samples = {(sample.key, sample.labels): sample for sample in answer.snapshot.samples}

    def details(match: Match) -> dict[str, Any]:
        sample = samples.get((figure_key(match.path, answer.info.root), match.labels))
        if sample is None:
            return {}
        unit = {"unit": sample.unit} if sample.unit else {}
        return {**unit, **figure_metadata(answer, sample)}

    return details


def _shaped(answer: Answer, arguments: ShapedArguments, shape: ResponseShape, answers: int = 1) -> ShapedResponse:
    """The answer cut to the caller's limits. Several answers share the tokens."""
    return shape_response(
        answer.snapshot.tree,
        answer.info,
        msgspec.structs.replace(
            shape,
            details=arguments.details,
            limit=arguments.limit,
            offset=arguments.offset,
            max_tokens=max(FEWEST_TOKENS, arguments.max_tokens // answers),
        ),
        _row_details(answer) if shape.form == "flat" else None,
    )
