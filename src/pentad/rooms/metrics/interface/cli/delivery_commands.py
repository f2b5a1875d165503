"""`pentad metrics alerts`, `silence`, `dashboard` and `promql`: alerts, Grafana and Prometheus."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pentad.rooms.metrics.interface.cli.options import MOST_TOKENS
from pentad.rooms.metrics.interface.cli.server_answers import all_keys
from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.rooms.metrics.models import Info
    from pentad.terminal.client import Client, Target


@click.command()
@click.option("--collector", help="Only alerts of this collector.")
@json_option
@server_options()
def alerts(collector: str | None, as_json: bool, target: "Target") -> None:
    """List the alerts, the worst first, and the silences."""
    found = _call(target, "listAlerts", {"collector": collector, "max_tokens": MOST_TOKENS})
    if as_json:
        print_json(found)
        return
    rows = [
        (
            one["level"], one["collector"], one["key"], ", ".join(one.get("labels", {}).values()),
            one.get("value", ""), one["since"], one.get("silence", ""),
        )
        for one in found["alerts"]
    ]  # fmt: skip
    print_table(("level", "collector", "key", "of", "value", "since", "silence"), rows, empty="There are no alerts.")
    for one in found.get("silences", ()):
        say(f"Silence {one['id']} until {one['until']}, by {one['by']}. {one.get('reason', '')}".rstrip())
    for note in found.get("notes", ()):
        say(note)


@click.command()
@click.option("--collector", help="Alerts of this collector.")
@click.option("--key", help="Alerts of this metric; may contain *.")
@click.option("--bg", help="Alerts of this business group, by name or id.")
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="Alerts with this label; may be repeated.")
@click.option("--for", "duration", default="2h", show_default=True, help="30m, 2h, 7d.")
@click.option("--reason", default="", help="Why.")
@click.option("--end", metavar="ID", help="Instead: end this silence now.")
@json_option
@server_options()
def silence(
    collector: str | None,
    key: str | None,
    bg: str | None,
    labels: tuple[str, ...],
    duration: str,
    reason: str,
    end: str | None,
    as_json: bool,
    target: "Target",
) -> None:
    """Stop sending some alerts to receivers for a while."""
    pairs = dict(one.split("=", 1) for one in labels if "=" in one)
    if len(pairs) != len(labels):
        raise click.BadParameter("Write NAME=VALUE.", param_hint="--label")
    arguments: dict[str, Any] = {"end": end} if end else {
        "collector": collector, "metricKey": key, "bg": bg, "labels": pairs or None, "for": duration, "reason": reason,
    }  # fmt: skip
    found = _call(target, "silenceAlerts", arguments)
    if as_json:
        print_json(found)
    elif end:
        say(f"Ended the silence {end}.")
    else:
        say(f"Silence {found['silence']['id']} until {found['silence']['until']}.")


@click.command()
@click.argument("collectors", nargs=-1)
@click.option(
    "--output", "-o", type=click.Path(file_okay=False, path_type=Path), help="A folder; without it, one to stdout."
)
@server_options()
def dashboard(collectors: tuple[str, ...], output: Path | None, target: "Target") -> None:
    """Write Grafana dashboards of COLLECTORS, by default of all that are set up."""
    from pentad.rooms.metrics.loaders.grafana import dashboard as make

    infos = _catalogue(target)
    if unknown := [name for name in collectors if name not in infos]:
        raise click.UsageError(f"There is no collector {unknown[0]!r}. Collectors: {', '.join(infos)}.")
    chosen = [infos[name] for name in collectors] or [info for info in infos.values() if info.ready]
    made = {info.id: make(info) for info in chosen}
    if output is None:
        if len(made) != 1:
            raise click.UsageError("Name one collector, or give --output a folder.")
        print_json(next(iter(made.values())))
        return
    output.mkdir(parents=True, exist_ok=True)
    for name, one in made.items():
        (output / f"{name}.json").write_text(json.dumps(one, indent=1) + "\n", encoding="utf-8")
    say(f"Wrote {len(made)} dashboards to {output}.")


@click.command()
@click.argument("query")
@click.option("--from", "begin", help="For a range: now-6h, 7d (ago), an ISO time.")
@click.option(
    "--to", "end", default="now", show_default=True, help="The end of the range, or the time of an instant query."
)
@click.option("--step", help="15s, 5m, 1h; widened if too fine.")
@click.option("--find", is_flag=True, help="Instead: find metrics by the words of QUERY.")
@json_option
@server_options()
def promql(
    query: str, begin: str | None, end: str, step: str | None, find: bool, as_json: bool, target: "Target"
) -> None:
    """Run a PromQL QUERY on the Prometheus server of the settings."""
    if find:
        found = _call(target, "listPrometheusMetrics", {"query": query})
        rows: list[tuple[Any, ...]] = [(one["name"], one["type"], one["help"]) for one in found["metrics"]]
        heads: tuple[str, ...] = ("name", "type", "help")
    else:
        found = _call(target, "queryPrometheus", {"query": query, "from": begin, "to": end, "step": step})
        rows = [
            (", ".join(f"{name}={text}" for name, text in one["labels"].items()), point["at"], _prom_value(point))
            for one in found["series"]
            for point in one.get("points", [one])
        ]
        heads = ("series", "at", "value")
    if as_json:
        print_json(found)
        return
    print_table(heads, rows, empty="No series matches.")
    for note in found.get("notes", ()):
        say(note)


def _prom_value(point: dict[str, Any]) -> Any:
    return point.get("text", point["value"])


def _catalogue(target: "Target") -> "dict[str, Info]":
    """All collectors with their metrics."""
    import msgspec

    from pentad.rooms.metrics.models import Info, Metric

    async def work(client: "Client") -> "dict[str, Info]":
        infos: dict[str, Info] = {}
        for one in (await client.call_tool("getCapabilities", {}))["collectors"]:
            keys = await all_keys(client, one["id"])
            infos[one["id"]] = Info(
                id=one["id"], title=one["title"], description=one["description"], ready=one["ready"],
                catalogue=tuple(msgspec.convert(keys, list[Metric])),
            )  # fmt: skip
        return infos

    return target.run(work, "metrics")


def _call(target: "Target", tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return target.call_tool(tool, arguments, "metrics")
