"""`pentad metrics`: current figures, their history, live charts and exports.

Without --url the collectors run in this process; with it the server's tools answer.
"""

import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pentad.entry_points import entry_points
from pentad.rooms.metrics.interface.cli.delivery_commands import alerts, dashboard, promql, silence
from pentad.rooms.metrics.interface.cli.formatting import (
    MOST_ROWS,
    collector_rows,
    line_texts,
    missing_lines,
    plan_lines,
    sample_rows,
    say_rest,
)
from pentad.rooms.metrics.interface.cli.options import where_options
from pentad.rooms.metrics.interface.cli.questions import changes, keys, query
from pentad.rooms.metrics.interface.cli.server_answers import (
    catalogue_of,
    chosen_compat,
    export_figures,
    list_collectors,
    scope_arguments,
    show_figures,
    show_history,
)
from pentad.terminal.client import server_options
from pentad.terminal.launcher import run_in_room
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_json, print_table, print_text, say, warn

if TYPE_CHECKING:
    from pentad.rooms.metrics.engine.query_engine import Answer
    from pentad.rooms.metrics.history.history_lines import HistoryLines
    from pentad.rooms.metrics.models import Metric, Query
    from pentad.rooms.metrics.service import Metrics
    from pentad.settings.model import Settings
    from pentad.terminal.client import Client, Target


T = TypeVar("T")
FORMATS: Final = ("csv", "json", "ndjson", "prometheus", "otlp", "splunk", "elastic", "webhook")
_COLUMNS: Final = ("key", "of", "value", "state")


@click.group()
def metrics() -> None:
    """Figures by collector and by key, their history, charts, alerts and exports."""


for _verb in (alerts, silence, dashboard, promql):
    metrics.add_command(_verb)


for _question in (query, changes, keys):
    metrics.add_command(_question)


@metrics.command()
@json_option
@server_options()
def collectors(as_json: bool, target: "Target") -> None:
    """List the collectors and their state."""
    if target.server is not None:
        list_collectors(target, as_json)
        return

    async def work(room: "Metrics") -> None:
        from pentad.rooms.metrics.interface.presentation import collector_views

        infos, health = room.infos(), await room.history.health()
        if as_json:
            print_json(collector_views(infos, health))
        else:
            rows = collector_rows(infos, health)
            print_table(("id", "title", "metrics", "state"), rows, empty="There are no collectors.")
            for line in missing_lines(infos):
                say(line)

    run_in_metrics(target.settings, work)


@metrics.command()
@click.argument("collector")
@click.argument("keys", nargs=-1)
@where_options
@click.option("--raw", is_flag=True, help="Print the source's own answers as JSON, with secrets removed.")
@click.option("--legacy/--current", default=None, help="Use the Metrics Toolkit's numbers (as JSON), or Pentad's.")
@click.option("--dry-run", is_flag=True, help="Print the cost of the answer without fetching it.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 600), metavar="SECONDS", help="Answer with what has arrived by then."
)
@json_option
@server_options()
def show(collector: str, keys: tuple[str, ...], dry_run: bool, as_json: bool, target: "Target", **how: Any) -> int:
    """Print the current figures of a COLLECTOR, or only those of some KEYS."""
    if target.server is not None:
        return show_figures(target, collector, keys, how, dry_run=dry_run, as_json=as_json)

    async def work(room: "Metrics") -> int:
        query = _query(room, collector, keys, how)
        if dry_run:
            from pentad.rooms.metrics.interface.presentation import plan_view

            plan = await room.plan(collector, query)
            if as_json:
                print_json(plan_view(plan))
            for line in () if as_json else plan_lines(plan):
                print_text(line)
            return ExitCode.OK
        answer = await room.collect(collector, query)
        _show(answer, keys, query, as_json or how["raw"] or how["legacy"])
        return _outcome(answer)

    return run_in_metrics(target.settings, work, everything=_needs_all_rooms(collector))


@metrics.command()
@click.argument("collector")
@click.argument("keys", nargs=-1, required=True)
@click.option("--from", "begin", default="now-24h", show_default=True, help="now-6h, 7d (ago), a date, an ISO time.")
@click.option("--to", "end", default="now", show_default=True)
@click.option("--step", help="One point per interval: 5m, 1h, 1d.")
@click.option("--bg", help="The business group, if several have a history.")
@click.option("--forecast", is_flag=True, help="Forecast when a limit is reached.")
@json_option
@server_options()
def history(
    collector: str,
    keys: tuple[str, ...],
    begin: str,
    end: str,
    step: str | None,
    bg: str | None,
    forecast: bool,
    as_json: bool,
    target: "Target",
) -> None:
    """Draw the recorded history of some KEYS of a COLLECTOR."""
    if target.server is not None:
        arguments = {"collector": collector, "metricKey": list(keys), "from": begin, "to": end, "step": step, "bg": bg}
        show_history(target, {**arguments, "forecast": forecast}, as_json)
        return

    async def work(room: "Metrics") -> "HistoryLines":
        from pentad.rooms.metrics.interface.arguments import parse_duration, parse_time

        now = room.now()
        return await room.lines(
            collector,
            keys,
            parse_time(begin, now),
            parse_time(end, now),
            scope=bg,
            step=None if step is None else parse_duration(step),
            with_forecast=forecast,
        )

    found = run_in_metrics(target.settings, work)
    for note in found.notes:
        say(note)
    if found.left_out:
        say(f"{found.left_out} more lines are left out; name a narrower key, or --bg.")
    if as_json:
        from pentad.rooms.metrics.interface.presentation import line_view

        print_json([line_view(line) for line in found.lines])
        return
    for line in found.lines:
        for text in line_texts(line, found.begin, found.end, plain=not _prints_unicode()):
            print_text(text)
    if not found.lines:
        nothing = (
            "Nothing has been recorded yet. Run `pentad metrics poll COLLECTOR`; a running server polls regularly."
        )
        say(found.absence or nothing)


@metrics.command()
@click.argument("collector")
@click.option("--bg", help="The business group: id, name or path.")
@server_options()
def poll(collector: str, bg: str | None, target: "Target") -> None:
    """Poll a COLLECTOR now and record its figures."""
    if target.server is None:
        recorded = run_in_metrics(
            target.settings, lambda room: room.poll(collector, bg), everything=_needs_all_rooms(collector)
        )
    else:
        query = {"collector": collector, "bg": bg}
        recorded = target.run(lambda client: client.call_route("POST", "/api/metrics/poll", query))["recorded"]
    say(f"Recorded {recorded} samples.")


@metrics.command()
@click.argument("collector")
@click.argument("keys", nargs=-1)
@where_options
@click.option("--every", type=click.FloatRange(0.1, 3600), default=2.0, show_default=True, metavar="SECONDS")
@click.option("--count", type=click.IntRange(1), help="Stop after this many rounds; by default Ctrl-C stops.")
@json_option
@server_options()
def watch(
    collector: str,
    keys: tuple[str, ...],
    every: float,
    count: int | None,
    as_json: bool,
    target: "Target",
    **how: Any,
) -> None:
    """Draw live charts of the figures of a COLLECTOR. With --json, print a line per round."""
    from pentad.rooms.metrics.interface.cli.watch import (
        Round,
        round_of_answer,
        round_of_explanations,
        watch_figures,
    )

    async def watch_rounds(collect: Callable[[], Awaitable[Round]]) -> None:
        await watch_figures(collect, every=every, count=count, as_json=as_json, plain=not _prints_unicode())

    async def watch_room(room: "Metrics") -> None:
        chosen = keys or _worth_watching(room.info(collector).catalogue)

        async def collect() -> Round:
            query = _query(room, collector, chosen, how)
            return round_of_answer(await room.collect(collector, query), query.keys or ())

        await watch_rounds(collect)

    async def watch_server(client: "Client") -> None:
        title, catalogue = await catalogue_of(client, collector)
        chosen, scope = keys or _worth_watching(catalogue), scope_arguments(collector, how)

        async def collect() -> Round:
            answers = [await client.call_tool("explainMetric", {**scope, "metricKey": key}) for key in chosen]
            return round_of_explanations(title, answers)

        await watch_rounds(collect)

    if target.server is not None:
        target.run(watch_server)
    else:
        run_in_metrics(target.settings, watch_room, everything=_needs_all_rooms(collector))


@metrics.command()
@click.argument("collector")
@click.argument("keys", nargs=-1)
@where_options
@click.option("--format", "form", type=click.Choice(FORMATS), default="csv", show_default=True)
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="A file; without it, stdout.")
@server_options()
def export(collector: str, keys: tuple[str, ...], form: str, output: Path | None, target: "Target", **how: Any) -> int:
    """Write the figures of a COLLECTOR in another system's format."""
    if target.server is not None:
        _write(*export_figures(target, collector, keys, how, form), output)
        return ExitCode.OK
    from pentad.rooms.metrics.interface.presentation import answer_notes

    export, answer = run_in_metrics(
        target.settings,
        lambda room: room.export(collector, _query(room, collector, keys, how), form),
        everything=_needs_all_rooms(collector),
    )
    _write(export.body, export.records, output)
    for note in answer_notes(answer):
        warn(note)
    return _outcome(answer)


def _write(body: str, records: int, output: Path | None) -> None:
    if output is None:
        click.echo(body, nl=not body.endswith("\n"))
    else:
        output.write_text(body, encoding="utf-8")
        say(f"Wrote {records} records to {output}.")


def run_in_metrics(
    settings: "Settings", work: "Callable[[Metrics], Coroutine[Any, Any, T]]", *, everything: bool = False
) -> T:
    """Run `work` with the opened room; with `everything` also open the other rooms, because they report figures."""

    opened = settings.rooms or tuple(entry_points("pentad.rooms"))
    others = [name for name in opened if name != "metrics"] if everything and "metrics" in opened else []
    return run_in_room(settings, work, "metrics", *others)


def _needs_all_rooms(collector: str) -> bool:
    """Whether the collector is Pentad itself, by any of its names."""
    from pentad.rooms.metrics.collectors.pentad import Pentad

    return collector.strip().casefold() in (Pentad.id, *Pentad.aliases)


def _query(room: "Metrics", collector: str, keys: tuple[str, ...], how: dict[str, Any]) -> "Query":
    raw = bool(how.get("raw"))
    return room.query(
        collector,
        keys=keys,
        bg=how["bg"],
        environments=how["environments"],
        regions=how["regions"],
        compat=None if raw and not how["legacy"] else room.compat(collector, chosen_compat(how)),
        seconds=how.get("timeout"),
        raw=raw,
    )


def _worth_watching(catalogue: "Iterable[Metric]") -> tuple[str, ...]:
    """The figures with a threshold, else the first ones; only those without labels, so that each is one line."""
    plain = [one for one in catalogue if one.kind in ("gauge", "counter") and not one.labels]
    judged = [one.key for one in plain if one.warn is not None or one.alarm is not None or one.limit]
    return tuple((judged or [one.key for one in plain])[:4])


def _show(answer: "Answer", keys: tuple[str, ...], query: "Query", as_json: bool) -> None:
    from pentad.rooms.metrics.interface.presentation import answer_metadata, answer_notes
    from pentad.rooms.metrics.metric_keys import select

    for note in answer_notes(answer):
        warn(note)
    if as_json:
        tree = select(answer.snapshot.tree, answer.info, keys)[0] if keys else answer.snapshot.tree
        print_json(answer_metadata(answer) | {"metrics": tree})
        return
    rows = sample_rows(answer, query.keys)
    print_table(_COLUMNS, rows[:MOST_ROWS], empty="There are no figures.")
    say_rest(len(rows))


def _outcome(answer: "Answer") -> ExitCode:
    """A partial answer counts as success; an empty one as failure."""
    coverage = answer.snapshot.coverage
    return ExitCode.UNAVAILABLE if coverage.failed and not coverage.ok else ExitCode.OK


def _prints_unicode() -> bool:
    """Whether stdout supports more than ASCII."""
    return (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "").startswith("utf")
