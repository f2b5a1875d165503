"""The console pages: collectors and alerts, the figures of a collector, a metric with its explanation, exports.

Pages read the recorded history; the page of a metric also asks the source for its own. Only local collectors, which
cost nothing, are asked for current figures; the others show their last poll. Explaining and exporting ask the source,
as the tools do.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pentad.kernel.clock import to_second
from pentad.kernel.counts import figure
from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.page_values import filled_table, label, scalar_text
from pentad.kernel.pages import (
    Action,
    Block,
    Button,
    Card,
    Cards,
    Cell,
    Chart,
    Choice,
    Code,
    Column,
    Download,
    Facts,
    Form,
    Hint,
    Links,
    Note,
    Page,
    Pages,
    Place,
    SearchBox,
    Section,
    Sheet,
    Table,
    Visit,
    when,
)
from pentad.rooms.metrics.history.collector_health import CollectorHealth
from pentad.rooms.metrics.history.metric_history import ALERTS_URI
from pentad.rooms.metrics.interface.alert_pages import (
    alert_count,
    alert_sections,
    end_silence,
    metric_alerts,
    silence,
)
from pentad.rooms.metrics.interface.answer_sheet import QUERY, counts_things, row_facts, row_table
from pentad.rooms.metrics.interface.dashboards import (
    Period,
    Row,
    collector_charts,
    dashboard_period,
    duration,
    figure_blocks,
    latest_rows,
    metric_blocks,
    nothing_recorded,
    page_lines,
    sample_rows,
    time_picker,
    value_text,
    with_earlier,
)
from pentad.rooms.metrics.interface.presentation import full_name, label_text, metric_name, metric_names
from pentad.rooms.metrics.loaders.formats import EXPORT_PATH, FORMATS
from pentad.rooms.metrics.models import Info
from pentad.rooms.metrics.service import Metrics
from pentad.rooms.metrics.verbs import FIRST_CONTENT

REFRESH: Final = 5.0
LOCAL: Final = ("host", "pentad")
_ASKED_FOR: Final = frozenset({"collector", "metric", "key", "businessGroupId"})
"""Members that the page shows anyway, or that nobody reads."""
_MOST_AT_HOME: Final = 5
_FAILING: Final = {"failing": "polls fail", "late": "polls are overdue"}
_NOTHING_TO_COMPARE: Final = "Nothing was recorded at the start of this period. Choose a shorter or later one."
_CUT: Final = ("values", "facts")
"""Lists of an explanation that may be cut."""


async def overview(metrics: Metrics, visit: Visit) -> Sheet:
    """All collectors and alerts."""
    alerts, health, infos = await metrics.history.alerts(), await metrics.history.health(), metrics.infos()
    cards = [
        Card(
            Cell(info.title, Place((info.id,))),
            info.description,
            [figure(len(info.catalogue), "metric")],
            [*alert_count(info.id, alerts), *_poll_state(info.id, health)],
        )
        for info in infos
        if info.ready
    ]
    missing = [Card(Cell(info.title, Place((info.id,))), info.missing or "") for info in infos if not info.ready]
    nothing: str | Hint = (
        Hint("Nothing is recorded yet. Record the figures of this machine with", FIRST_CONTENT)
        if await metrics.history.is_empty()
        else "Everything is within its thresholds."
    )
    blocks = [*await alert_sections(metrics, visit, alerts, nothing), Section("Collectors", [Cards(cards)])]
    if missing:
        blocks.append(Section("Not set up", [Cards(missing)], folded=True))
    return Sheet("Metrics", blocks, lead="Alerts, and everything that is measured here.", refresh=REFRESH)


async def one_collector(metrics: Metrics, visit: Visit) -> Sheet:
    """A collector: charts of the metrics with thresholds or limits, then every figure."""
    info = metrics.info(visit.path["collector"])
    if not info.ready:
        return Sheet(info.title, [Note(f"Not set up. {info.missing}")], lead=info.description)
    words, period = visit.asked().casefold(), await dashboard_period(metrics, visit, info.id)
    ways = [Cell("What changed", Place((info.id, "changes"))), Cell("Export", Place((info.id, "export")))]
    blocks: list[Block] = [Links(ways, actions=True)]
    if not words and (charts := await collector_charts(metrics, info, period)):
        blocks += [*time_picker(period, (info.id,)), *charts]
    try:
        rows = await _figure_rows(metrics, info)
    except PentadError as error:
        rows = []
        blocks.append(Note(error.sentence(), "bad"))
    rows = [row for row in rows if any(words in text.casefold() for text in (row[0].text, _key(row), row[1]))]
    health = [one for one in await metrics.history.health() if one.collector == info.id]
    blocks += [
        SearchBox("Find a metric", visit.asked(), "Find"),
        *figure_blocks(rows, "No metric matches. Try fewer or other words." if words else nothing_recorded(info.id)),
        *([] if words or not health else [Section("Polls", [_poll_table(health)])]),
    ]
    return Sheet(info.title, blocks, lead=info.description, refresh=None if words else REFRESH)


async def one_metric(metrics: Metrics, visit: Visit) -> Sheet:
    """A metric: a chart of its history, gaps, a forecast, and what it means."""
    info, key = metrics.info(visit.path["collector"]), visit.path["key"]
    period, compared = await dashboard_period(metrics, visit, info.id), visit.asked("compare") == "yes"
    try:
        found = await page_lines(metrics, info.id, key, period.begin, period.end)
    except InvalidInput as error:
        hint = f"Pick one of the metrics of {info.title}."
        raise InvalidInput(error.message, hint=hint) from None
    blocks = metric_blocks(metrics, info, [key], found, period)
    if compared:
        blocks = [block for one in blocks for block in await _compared(metrics, info.id, key, one, period)]
    before = f"Compare with the previous {duration(period.seconds).removeprefix('1 ')}"
    other = {**period.asked} if compared else {**period.asked, "compare": "yes"}
    ways = [
        Cell("This period alone" if compared else before, Place((info.id, key), other)),
        Cell("Where it comes from", Place((info.id, key, "explain"))),
        *([Cell("What it counts", Place((info.id, key, "items")))] if counts_things(metrics, info.id, key) else []),
    ]
    blocks = [Links(ways, actions=True), *time_picker(period, (info.id, key)), *blocks]
    blocks += await metric_alerts(metrics, visit, info.id, key)
    trail = [Cell(info.title, Place((info.id,)))]
    return Sheet(metric_name(info, key), blocks, lead=f"{info.title}. {period.title}.", trail=trail, refresh=REFRESH)


async def _compared(metrics: Metrics, collector: str, key: str, block: Block, period: Period) -> list[Block]:
    """A chart with the lines of the previous period, or why there are none."""
    if not isinstance(block, Chart):
        return [block]
    both = await with_earlier(metrics, collector, key, block, period)
    if len(both.series) == len(block.series):
        return [both, Note(f"Nothing was recorded in the previous {duration(period.seconds).removeprefix('1 ')}.")]
    return [both]


async def counted_things(metrics: Metrics, visit: Visit) -> Sheet:
    """The things a metric counts, such as applications, by name."""
    info, key = metrics.info(visit.path["collector"]), visit.path["key"]
    found = await visit.call(QUERY, {"collector": info.id, "metricKey": key, "of": "items"})
    common = [(label(name), scalar_text(value)) for name, value in found.get("common", {}).items() if _is_shown(name)]
    rows = [
        {"name": row.get("name"), **{name: value for name, value in row.items() if _is_shown(name)}}
        for row in found["rows"]
    ]
    blocks: list[Block] = [Note(str(note)) for note in found.get("notes", ())]
    blocks += [Facts(common), row_table(rows), Facts(row_facts(found))]
    trail = [Cell(info.title, Place((info.id,))), Cell(metric_name(info, key), Place((info.id, key)))]
    return Sheet("What it counts", blocks, lead=f"{metric_name(info, key)}.", trail=trail)


def _is_shown(name: str) -> bool:
    return name not in _ASKED_FOR


async def explained(metrics: Metrics, visit: Visit) -> Sheet:
    """Where the figures of a metric come from: formula, values, and the facts behind them."""
    info, key = metrics.info(visit.path["collector"]), visit.path["key"]
    found = await visit.call("explainMetric", {"collector": info.id, "metricKey": key})
    blocks: list[Block] = []
    for one in found.get("explained") or ():
        blocks += [Facts([("Formula", str(one["formula"]))]), *_explained_values(one), *_explained_facts(one)]
        blocks += [Note(f"Missing: {missing['message']} ({missing['call']})", "bad") for missing in one["missing"]]
        blocks += [
            Note(f"{one[f'more_{name}']:,} more {name} are not shown.") for name in _CUT if f"more_{name}" in one
        ]
    coverage: Mapping[str, Any] = found.get("coverage") or {}
    counts = ", ".join(f"{number} {name}" for name, number in coverage.items() if number)
    blocks.append(
        Facts(
            [("As of", to_second(found.get("asOf"))), ("Source", str(found.get("source") or "")), ("Coverage", counts)]
        )
    )
    trail = [Cell(info.title, Place((info.id,))), Cell(metric_name(info, key), Place((info.id, key)))]
    return Sheet("Where it comes from", blocks, lead=f"{metric_name(info, key)}.", trail=trail)


def _explained_values(one: Mapping[str, Any]) -> list[Block]:
    rows = [
        (
            _labels_of(each),
            value_text(each["value"], one.get("unit")),
            each["state"],
            to_second(each["as_of"]),
        )
        for each in one["values"]
    ]
    columns = ("Of", Column("Value", True), Column("State", short=True), Column("As of", short=True))
    return [Section("Values", [filled_table(columns, rows, "There is no value.")])]


def _labels_of(value: Mapping[str, Any]) -> str:
    labels: Mapping[str, str] = value.get("labels") or {}
    return label_text(sorted(labels.items()))


def _explained_facts(one: Mapping[str, Any]) -> list[Block]:
    rows = [
        (
            *_fact_name(str(each["fact"])),
            to_second(each["fetched"]),
            duration(each["age_seconds"]),
            each["source"],
            each.get("problem", ""),
        )
        for each in one["facts"]
    ]
    columns = ("Fact", "Of", Column("Fetched", short=True), Column("Age", True), Column("From", short=True), "Problem")
    return [Section("Facts", [filled_table(columns, rows, "This metric needs no facts.")])]


def _fact_name(fact: str) -> tuple[str, str]:
    """A fact such as `ch.applications(group, environment)`: its name, and what it is about."""
    name, _, about = fact.partition("(")
    return name, about.removesuffix(")")


async def exported(metrics: Metrics, visit: Visit) -> Sheet:
    """The figures of a collector in the format of another system."""
    info, form = metrics.info(visit.path["collector"]), visit.asked("format", 40)
    choice = Choice("format", "Format", [(name, name) for name in FORMATS], form)
    blocks: list[Block] = [Form([choice], [Button("Export")], method="get")]
    if form:
        blocks += await _export_blocks(visit, info.id, form)
    lead = "Current figures in the format of another system."
    return Sheet(f"Export {info.title}", blocks, lead=lead, trail=[Cell(info.title, Place((info.id,)))])


async def _export_blocks(visit: Visit, collector: str, form: str) -> list[Block]:
    """An export as text, and as a file. One that is too large for a page can still be downloaded."""
    query = {"collector": collector, "format": form}
    download = Links([Cell(f"Download as {form}", Download(EXPORT_PATH, query))], actions=True)
    try:
        found = await visit.call("exportMetrics", query)
    except InvalidInput as error:
        if form not in FORMATS:
            raise
        return [download, Note(error.message)]
    facts = Facts([("Records", f"{found['records']:,}"), ("Type", str(found["contentType"]))])
    return [download, facts, Code(str(found["body"]), copy=True)]


async def changes(metrics: Metrics, visit: Visit) -> Sheet:
    """What differs between the start and the end of a period."""
    info = metrics.info(visit.path["collector"])
    period = await dashboard_period(metrics, visit, info.id)
    trail, names = [Cell(info.title, Place((info.id,)))], metric_names(info)
    title, blocks = f"What changed in {info.title}", time_picker(period, (info.id, "changes"))
    try:
        found = await metrics.history.changes([info.id], period.begin, period.end)
    except NotFound:
        return Sheet(title, [*blocks, Note(_NOTHING_TO_COMPARE)], lead=period.title, trail=trail)
    except PentadError as error:
        return Sheet(title, [*blocks, Note(error.sentence())], lead=period.title, trail=trail)
    rows = [
        (
            Cell(names.get(one.key, one.key), Place((info.id, one.key))),
            label_text(one.labels),
            value_text(one.before, one.unit),
            value_text(one.after, one.unit),
            one.what if one.percent is None else f"{one.percent:+g}%",
        )
        for one in found.changes
    ]
    columns = ("Metric", "Of", Column("Before", True), Column("After", True), Column("Change", True))
    blocks.append(filled_table(columns, rows, "Nothing changed in this period."))
    return Sheet(title, blocks, lead=period.title, trail=trail)


async def figures(metrics: Metrics, _visit: Visit) -> Sequence[tuple[str, str]]:
    ready = [info for info in metrics.infos() if info.ready]
    alerts = await metrics.history.alerts()
    return [figure(len(ready), "collector"), figure(len(alerts), "alert")]


async def needs(metrics: Metrics, _visit: Visit) -> Sequence[tuple[Cell, str]]:
    """The collectors that fail, then the raised alerts, the worst first, for the console's home page."""
    alerts, infos = await metrics.history.alerts(), metrics.infos()
    titles = {info.id: info.title for info in infos}
    failing = [one for one in await metrics.history.health() if one.state in _FAILING]
    rows = [
        (
            Cell(f"{titles.get(one.collector, one.collector)} {one.scope}".rstrip(), Place((one.collector,))),
            f"{_FAILING[one.state]} since {when(one.since)}" + (f": {one.problem}" if one.problem else ""),
        )
        for one in failing[:_MOST_AT_HOME]
    ]
    if len(failing) > _MOST_AT_HOME:
        rows.append((Cell("All collectors", Place()), f"{len(failing) - _MOST_AT_HOME:,} more without fresh figures"))
    rows += [
        (
            Cell(full_name(infos, one.collector, one.key), Place((one.collector, one.key))),
            f"{one.level} since {when(one.since)}" + (f", {labels}" if (labels := label_text(one.labels)) else ""),
        )
        for one in alerts[:_MOST_AT_HOME]
    ]
    rest = len(alerts) - _MOST_AT_HOME
    return [*rows, (Cell("All alerts", Place()), f"{rest:,} more")] if rest > 0 else rows


PAGES: Final[Pages[Metrics]] = Pages(
    [
        Page("", overview),
        Page("{collector}", one_collector),
        Page("{collector}/export", exported),
        Page("{collector}/changes", changes),
        Page("{collector}/{key}", one_metric),
        Page("{collector}/{key}/explain", explained),
        Page("{collector}/{key}/items", counted_things),
    ],
    figures,
    actions=[
        Action("{collector}/{key}/silence", one_metric, silence, "{collector}/{key}"),
        Action("silences", overview, end_silence, ""),
    ],
    needs=needs,
    resources={
        "metrics://catalog": "",
        "metrics://catalog/{collector}/{key}": "{collector}/{key}",
        ALERTS_URI: "",
        "metrics://{collector}/{bg}": "{collector}",
        "metrics://{collector}/{bg}/{key}": "{collector}/{key}",
    },
)


async def _figure_rows(metrics: Metrics, info: Info) -> list[Row]:
    """The current figures of a local collector; of others, those of the last poll."""
    if info.id in LOCAL:
        answer = await metrics.collect(info.id, metrics.query(info.id))
        return sample_rows(info, answer.snapshot.samples)
    return latest_rows(info, await metrics.history.latest(info.id))


def _key(row: Row) -> str:
    return str(row[0].link.parts[-1]) if isinstance(row[0].link, Place) else ""


def _poll_state(collector: str, health: Sequence[CollectorHealth]) -> list[Note]:
    """A badge for the polls of a collector, if it is polled."""
    states = [one.state for one in health if one.collector == collector]
    worst = next((state for state in states if state != "ok"), "ok")
    return [Note(f"polls {worst}", "good" if worst == "ok" else "bad")] if states else []


def _poll_table(health: Sequence[CollectorHealth]) -> Table:
    """The state of each poll of a collector."""
    rows = [
        (
            one.name,
            Cell(one.state, kind="good" if one.state == "ok" else "bad"),
            when(one.since),
            when(one.tried_at),
            "never" if one.succeeded_at is None else when(one.succeeded_at),
            f"{one.calls:,}",
            "" if one.state == "ok" else one.problem or "",
        )
        for one in health
    ]
    columns = (
        "Poll",
        *(Column(name, short=True) for name in ("State", "Since", "Last try", "Last success")),
        Column("Calls", True),
        "Problem",
    )
    return filled_table(columns, rows)
