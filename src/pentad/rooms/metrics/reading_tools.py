"""The tools that read figures as they are now: the four of the original, and what explains them."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec.structs

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.mcp.call import Call
from pentad.mcp.content import Text
from pentad.mcp.declare import ToolResult, tool
from pentad.rooms.metrics.arguments import (
    ByCollector,
    ByKey,
    Explained,
    Exported,
    KeyQuery,
    Loaded,
    Scoped,
    Shaped,
    listed,
)
from pentad.rooms.metrics.capabilities import manifest
from pentad.rooms.metrics.collectors.anypoint.collector import FAMILY as ANYPOINT
from pentad.rooms.metrics.collectors.anypoint.legacy_keys import by_key
from pentad.rooms.metrics.credentials import credentials_of
from pentad.rooms.metrics.engine.answering import Answer
from pentad.rooms.metrics.engine.explaining import explained
from pentad.rooms.metrics.engine.keys import Match
from pentad.rooms.metrics.engine.shaping import FEWEST_TOKENS, About, Shape, shaped
from pentad.rooms.metrics.engine.shaping import Shaped as Fitting
from pentad.rooms.metrics.loaders.rows import organisations
from pentad.rooms.metrics.model import Wanted
from pentad.rooms.metrics.schemas import CAPABILITIES, COLLECTORS, EXPLAINED, EXPORTED, KEYS, LOADED
from pentad.rooms.metrics.service import Metrics
from pentad.rooms.metrics.shown import (
    ANSWER,
    about,
    answered,
    as_text,
    blocks,
    metric_shown,
    plan_shown,
    problem_shown,
    said,
)

_SECONDS: Final = 620.0


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
    from pentad.rooms.metrics.tools import TOOLS

    return ToolResult(structured=manifest(TOOLS, call.service.infos()))


@tool("getAvailableCollectors", title="Collectors", read_only=True, output_schema=COLLECTORS)
async def get_available_collectors(call: Call[Metrics]) -> ToolResult:
    """The ids of all collectors that metrics can be asked of. Light and cacheable."""
    ids = call.service.catalogue.ids()
    return ToolResult(content=[Text(text=as_text(ids))], structured={"collectors": ids})


@tool(
    "getPlatformMetricsByCollector",
    title="Metrics of a collector",
    read_only=True,
    open_world=True,
    seconds=_SECONDS,
    output_schema=ANSWER,
)
async def get_platform_metrics_by_collector(arguments: ByCollector, call: Call[Metrics]) -> ToolResult:
    """The figures of one collector, filtered by business group, environment and region.

    Values that could not be had are null with the reason in `problems`, never zero.
    """
    metrics = call.service
    ids = metrics.chosen(arguments.collectors(), allow_all=arguments.allow_all, taking=arguments.asked_by())
    if arguments.raw and arguments.compat is not None:
        raise InvalidInput(
            "Raw answers are the platform's own: there are no legacy ones.", hint="Leave one of them out."
        )
    keys = listed(arguments.fields)
    shape = Shape(fields=keys)
    questions = [(one, _question(call, one, arguments, keys=keys, raw=arguments.raw)) for one in ids]
    if arguments.dry_run:
        return await _plans(metrics, questions)
    if len(questions) == 1:
        (one, wanted) = questions[0]
        return _shown(await metrics.collect(one, wanted, call.progress), arguments, shape)
    if not questions:
        raise InvalidInput("No collector here can answer by all of that.", hint="Leave a filter out.")
    answers = await metrics.collect_all(questions, call.progress)
    return _together([(one, answer) for (one, _), answer in zip(questions, answers, strict=True)], arguments, shape)


@tool(
    "getPlatformMetricByKey",
    title="One metric",
    read_only=True,
    open_world=True,
    seconds=_SECONDS,
    aliases=("getPlatformMetricsByKey",),
    output_schema=ANSWER,
)
async def get_platform_metric_by_key(arguments: ByKey, call: Call[Metrics]) -> ToolResult:
    """The value of one metric, or of all below a key such as `networking`; only what it needs is fetched."""
    metrics = call.service
    (one,) = metrics.chosen([arguments.one_collector()])
    keys = listed(arguments.metric_key)
    if not keys:
        raise InvalidInput("metricKey is empty.", hint="listMetricKeys names those there are.")
    wanted = _question(call, one, arguments, keys=keys)
    if arguments.dry_run:
        return await _plans(metrics, [(one, wanted)])
    answer = await metrics.collect(one, wanted, call.progress)
    if wanted.compat == "legacy" and answer.info.family == ANYPOINT and arguments.shape == "tree":
        answer.snapshot.tree = by_key(answer.snapshot.tree, answer.info, keys)
        return _shown(answer, arguments, Shape())
    return _shown(answer, arguments, Shape(form=arguments.shape, keys=keys), wanted.keys or ())


@tool("listMetricKeys", title="Metric keys", read_only=True, output_schema=KEYS)
async def list_metric_keys(arguments: KeyQuery, call: Call[Metrics]) -> ToolResult:
    """What can be asked for by key: metrics with unit, description, formula and thresholds, found by words."""
    named = listed(arguments.collector) or listed(arguments.collector_id)
    found = call.service.keys(arguments.query, arguments.collectors() if named else ())
    page = found[arguments.offset : arguments.offset + arguments.limit]
    shown: dict[str, Any] = {"keys": [metric_shown(owner, metric) for owner, metric in page], "total": len(found)}
    if arguments.offset + len(page) < len(found):
        shown["nextOffset"] = arguments.offset + len(page)
    return ToolResult(structured=shown)


@tool(
    "explainMetric",
    title="Where a figure comes from",
    read_only=True,
    open_world=True,
    seconds=_SECONDS,
    output_schema=EXPLAINED,
)
async def explain_metric(arguments: Explained, call: Call[Metrics]) -> ToolResult:
    """A metric's formula, its values, the facts they were made of, when those were fetched, and what is missing."""
    (one,) = call.service.chosen([arguments.one_collector()])
    wanted = _question(call, one, arguments, keys=[arguments.metric_key])
    answer = await call.service.collect(one, wanted, call.progress)
    return answered(answer, {"explained": explained(answer, wanted.keys or ())})


@tool(
    "exportMetrics",
    title="Export metrics",
    read_only=True,
    open_world=True,
    seconds=_SECONDS,
    output_schema=EXPORTED,
)
async def export_metrics(arguments: Exported, call: Call[Metrics]) -> ToolResult:
    """Figures in another system's words: csv, json, ndjson, prometheus, otlp, splunk, elastic, webhook."""
    (one,) = call.service.chosen([arguments.one_collector()])
    wanted = _question(call, one, arguments, keys=listed(arguments.keys))
    told, answer = await call.service.export(one, wanted, arguments.format, call.progress)
    shown = {"format": arguments.format, "contentType": told.content_type, "records": told.records, "body": told.body}
    problems = [problem_shown(problem) for problem in answer.snapshot.problems]
    missing = [Text(text="\n".join(said(answer)))] if problems else []
    return ToolResult(
        content=[Text(text=told.body), *missing], structured=shown | {"problems": problems} if problems else shown
    )


@tool(
    "loadMetrics",
    title="Send metrics",
    destructive=False,
    open_world=True,
    seconds=_SECONDS,
    output_schema=LOADED,
)
async def load_metrics(arguments: Loaded, call: Call[Metrics]) -> ToolResult:
    """Sends figures to a destination the operator set up: Splunk, Elasticsearch, a webhook, an OTLP collector."""
    (one,) = call.service.chosen([arguments.one_collector()])
    wanted = _question(call, one, arguments, keys=listed(arguments.keys))
    told, answer = await call.service.load(one, wanted, arguments.to, call.progress)
    groups = organisations(answer.snapshot.tree)
    errors = [{"businessGroup": one["businessGroup"], "errors": one.get("errors", [])} for one in groups]
    shown = {"message": "Events loaded successfully", "records": told.records, "errors": errors}
    problems = [problem_shown(problem) for problem in answer.snapshot.problems]
    return ToolResult(structured=shown | {"problems": problems} if problems else shown)


def _question(
    call: Call[Metrics], collector: str, arguments: Scoped, *, keys: Sequence[str] = (), raw: bool = False
) -> Wanted:
    return call.service.wanted(collector, arguments, keys=keys, raw=raw, credentials=credentials_of(call))


async def _plans(metrics: Metrics, questions: Sequence[tuple[str, Wanted]]) -> ToolResult:
    plans = [plan_shown(await metrics.plan(one, wanted)) for one, wanted in questions]
    return ToolResult(structured={"plan": plans[0]} if len(plans) == 1 else {"plan": {"collectors": plans}})


def _together(answers: Sequence[tuple[str, Answer | PentadError]], arguments: Shaped, shape: Shape) -> ToolResult:
    """Several collectors' answers, each with its share of the tokens; what one refuses is said."""
    refused = {one: answer for one, answer in answers if isinstance(answer, PentadError)}
    if len(refused) == len(answers):
        raise next(iter(refused.values()))
    notes = [*arguments.overruled(), *(f"- {one}: {error.sentence()}" for one, error in refused.items())]
    trees: dict[str, Any] = {}
    told: list[dict[str, Any]] = [{"collector": one, "error": error.sentence()} for one, error in refused.items()]
    for one, answer in answers:
        if not isinstance(answer, PentadError):
            found = _fitting(answer, arguments, shape, len(answers) - len(refused))
            trees[one] = found.content
            notes += said(answer, found.notes)
            told.append(about(answer, found.notes) | {"metrics": found.content})
    return ToolResult(content=blocks(trees, notes), structured={"answers": told})


def _shown(answer: Answer, arguments: Shaped, shape: Shape, keys: Sequence[str] = ()) -> ToolResult:
    """The figures in their shape; with the unit of all of these keys, where they have one."""
    found = _fitting(answer, arguments, shape)
    notes = [*arguments.overruled(), *found.notes]
    if shape.form == "flat":
        return answered(answer, {"rows": found.content}, notes)
    if shape.form == "value":
        return answered(answer, {"value": found.content, **_about(answer)(found.matches[0])}, notes)
    units = {metric.unit for metric in answer.info.catalogue if metric.key in keys}
    unit = units.pop() if len(units) == 1 else None
    return answered(answer, {"metrics": found.content, **({"unit": unit} if unit else {})}, notes)


def _about(answer: Answer) -> About:
    """The unit of a figure, and its state where it is not simply there."""
    steps = len(answer.info.root)
    samples = {(sample.key, sample.labels): sample for sample in answer.snapshot.samples}

    def about(match: Match) -> dict[str, Any]:
        path = match.path.split(".")
        inner = ".".join(step for step in path[steps:] if step != "details")
        sample = samples.get((inner, match.labels))
        if sample is None:
            return {}
        unit = {"unit": sample.unit} if sample.unit else {}
        return {**unit, "state": sample.state} if sample.state != "ok" else unit

    return about


def _fitting(answer: Answer, arguments: Shaped, shape: Shape, answers: int = 1) -> Fitting:
    """What of the answer is shown, where it is one of so many; a part of a summary is said to be one."""
    return shaped(
        answer.snapshot.tree,
        answer.info,
        msgspec.structs.replace(
            shape,
            details=arguments.details,
            limit=arguments.limit,
            offset=arguments.offset,
            max_tokens=max(FEWEST_TOKENS, arguments.max_tokens // answers),
        ),
        _about(answer) if shape.form == "flat" else None,
    )
