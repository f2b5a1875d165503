"""Figures from any JSON document over HTTP: a URL, and a path for each figure.

    [rooms.metrics.http_json.shop]
    url = "https://shop.example/status"
    values = { orders = "/today/orders", slowest = "queues[0].seconds" }
    headers = { authorization = "Bearer ..." }

A path is a JSON pointer (`/today/orders`) or has dots and indexes (`queues[0].seconds`).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.errors import Misconfigured
from pentad.kernel.json_pointer import steps_of
from pentad.rooms.metrics.collectors.contract import Collector, CollectorContext, Upstream, plan_facts
from pentad.rooms.metrics.models import (
    Fact,
    Facts,
    Info,
    Metric,
    Plan,
    Problem,
    Query,
    Sample,
    Scalar,
    Snapshot,
    state_of,
)

_STEP: Final = re.compile(r"[^.\[\]]+|\[\d+\]")
_LONGEST_TEXT: Final = 500


class Missing(LookupError):
    """The document has no figure at this path."""


def steps(place: str) -> tuple[str, ...]:
    """The steps of a pointer or a path."""
    if place.startswith("/"):
        return tuple(steps_of(place))
    return tuple(step.strip("[]") for step in _STEP.findall(place))


def figure_at(value: Any, place: str) -> Scalar:
    """The figure at a path; raises `Missing` if there is none."""
    for step in steps(place):
        if isinstance(value, dict) and step in value:
            value = cast("dict[str, Any]", value)[step]
        elif (
            isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(cast("list[Any]", value))
        ):
            value = cast("list[Any]", value)[int(step)]
        else:
            raise Missing(place)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, list) and all(isinstance(entry, str) for entry in cast("list[Any]", value)):
        return cast("list[str]", value)[:100]
    if isinstance(value, str):
        return value[:_LONGEST_TEXT]
    if value is None or isinstance(value, (int, float)):
        return value
    raise Missing(place)


class HttpJson:
    """Figures from JSON answers."""

    id = "http_json"
    title = "JSON over HTTP"
    aliases = ("http-json", "json")

    def __init__(self, sources: Mapping[str, Mapping[str, Any]]) -> None:
        self._sources = dict(sources)
        self._info = Info(
            id=self.id,
            takes=frozenset(),
            title=self.title,
            description="Figures from JSON documents over HTTP, by path.",
            catalogue=tuple(
                Metric(
                    key=f"{name}.{key}", description=f"{key} of {name}, at {place}.", formula=place,
                    facts=(f"http_json.{name}",),
                )
                for name, given in self._sources.items()
                for key, place in given["values"].items()
            ),
            ttl=15.0,
            ready=bool(self._sources),
            missing="" if self._sources else "Set a table [rooms.metrics.http_json.NAME] with url and values.",
            poll_seconds=60.0,
        )  # fmt: skip

    def info(self) -> Info:
        return self._info

    def plan(self, query: Query, known: Facts) -> Plan:
        return plan_facts(self._info.catalogue, query, known)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        """Keeps only the configured figures of an answer."""
        name = fact.name.removeprefix("http_json.")
        given = self._sources[name]
        body = await upstream.get(given["url"], headers=given.get("headers"), scope=name, call=f"GET {name}")
        found: dict[str, Any] = {}
        for key, place in given["values"].items():
            try:
                found[key] = {"value": figure_at(body, place)}
            except Missing:
                found[key] = {"missing": place}
        return found

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        tree: dict[str, Any] = {}
        samples: list[Sample] = []
        problems: list[Problem] = []
        for name, given in self._sources.items():
            fact = Fact(f"http_json.{name}")
            problem = facts.problem(fact)
            found: dict[str, dict[str, Any]] = facts.value(fact) or {}
            for key in given["values"]:
                full = f"{name}.{key}"
                if fact not in facts or not query.wants(full):
                    continue
                missing = found.get(key, {}).get("missing")
                if missing is not None:
                    problem = Problem(
                        scope=name, call=f"GET {name}", kind="parse", message=f"There is no figure at {missing!r}.",
                        affects=(full,),
                    )  # fmt: skip
                    problems.append(problem)
                value = found.get(key, {}).get("value")
                state = "unsupported" if value is None else "ok"
                if problem is not None and value is None:
                    state = state_of([problem])
                tree.setdefault(name, {})[key] = value
                samples.append(Sample(key=full, value=value, state=state))
                problem = facts.problem(fact)
        return Snapshot(
            collector=self.id, scope="", as_of=query.now, tree=tree, samples=samples, problems=problems
        )  # fmt: skip


def collectors(source: CollectorContext) -> Sequence[Collector]:
    sources: dict[str, dict[str, Any]] = {}
    for name, given in source.settings.http_json.items():
        one = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        if not isinstance(one.get("url"), str) or not isinstance(one.get("values"), dict):
            raise Misconfigured(f"rooms.metrics.http_json.{name} has no url or no values.", hint="Set both.")
        source.trust(one["url"])
        sources[name] = one
    return (HttpJson(sources),)
