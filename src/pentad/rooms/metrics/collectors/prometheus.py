"""Named PromQL queries of a Prometheus server: current figures (`query`) and their history (`query_range`).

Settings: `prometheus_url`, `prometheus_queries` (names, dotted if you like, with their PromQL), `prometheus_token`. A
query with one series and no labels returns a number; any other returns a list with one entry per set of labels.
Errors in a query are reported in Prometheus' own words.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from pentad.kernel.errors import Misconfigured
from pentad.rooms.metrics.collectors.contract import Collector, CollectorContext, SourceHistory, Upstream, plan_facts
from pentad.rooms.metrics.metric_keys import put_path
from pentad.rooms.metrics.models import (
    Fact,
    Facts,
    FetchError,
    Info,
    Labels,
    Metric,
    Plan,
    Problem,
    Query,
    Sample,
    Snapshot,
    State,
    state_of,
)

USUAL: Final = {"targets.up": "sum(up)", "targets.total": "count(up)"}
MOST_SERIES: Final = 500
_LONGEST_ERROR: Final = 300
_MOST_WARNINGS: Final = 5


class QueryResult(NamedTuple):
    """The values of a query by labels, and the warnings that came with them."""

    series: list[tuple[Labels, float | None]]
    warnings: tuple[str, ...]


class Prometheus:
    """A Prometheus server with the queries of the settings."""

    id = "prometheus"
    title = "Prometheus"
    aliases = ("prom", "promql")

    def __init__(self, url: str | None, queries: Mapping[str, str], token: str | None) -> None:
        self._url = url
        self._queries = dict(queries)
        self._headers = {"authorization": f"Bearer {token}"} if token else {}
        self._info = Info(
            id=self.id,
            takes=frozenset(),
            title=self.title,
            description="Named PromQL queries of a Prometheus server.",
            catalogue=tuple(
                Metric(key=name, description=f"PromQL: {query}", formula=query, facts=(f"prometheus.{name}",))
                for name, query in self._queries.items()
            ),
            ttl=15.0,
            ready=url is not None,
            missing="" if url else "Set rooms.metrics.prometheus_url.",
            poll_seconds=60.0,
        )

    def info(self) -> Info:
        return self._info

    def plan(self, query: Query, known: Facts) -> Plan:
        return plan_facts(self._info.catalogue, query, known)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        name = fact.name.removeprefix("prometheus.")
        body = await upstream.get(
            f"{self._url}/api/v1/query",
            params={"query": self._queries[name]},
            headers=self._headers,
            call=f"query {name}",
            explain=query_error,
        )
        series = [(_labels(one), _number(one["value"][1])) for one in _result(body, name)]
        return QueryResult(series, tuple(_warnings(body)))

    async def ask(self, path: str, params: Mapping[str, str], upstream: Upstream) -> tuple[Any, list[str]]:
        """The data of an answer of Prometheus' API, and its warnings that some may be missing."""
        body = await upstream.get(
            f"{self._url}/api/v1/{path}", params=params, headers=self._headers, call=path, explain=query_error
        )
        if not isinstance(body, dict) or "data" not in body:
            raise FetchError.of("parse", "The answer is not one of Prometheus.", call=path)
        return cast("dict[str, Any]", body)["data"], _warnings(body)

    async def history(self, key: str, begin: float, end: float, step: float, upstream: Upstream) -> SourceHistory:
        """Points by labels, as Prometheus itself recorded them, and what it warns of."""
        if key not in self._queries:
            raise FetchError.of("unsupported", "No such query.", call=f"query_range {key}")
        body = await upstream.get(
            f"{self._url}/api/v1/query_range",
            params={"query": self._queries[key], "start": f"{begin:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"},
            headers=self._headers,
            call=f"query_range {key}",
            explain=query_error,
        )
        points = {
            _labels(one): [(float(at), _number(value)) for at, value in one["values"]] for one in _result(body, key)
        }  # fmt: skip
        return SourceHistory(points, _warnings(body))

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        tree: dict[str, Any] = {}
        samples: list[Sample] = []
        problems: list[Problem] = []
        for name in self._queries:
            fact = Fact(f"prometheus.{name}")
            if (problem := facts.problem(fact)) is not None:
                samples.append(Sample(key=name, value=None, state=state_of([problem])))
            elif fact in facts:
                result: QueryResult = facts[fact]
                put_path(tree, name.split("."), _as_tree(result.series))
                state: State = "partial" if result.warnings else "ok"
                samples += [_sample(name, labels, value, state) for labels, value in result.series or [((), None)]]
                if result.warnings:
                    message = " ".join(result.warnings)
                    problems.append(
                        Problem(scope="", call=f"query {name}", kind="server", message=message, affects=(name,))
                    )
                if not result.series:
                    message = "The query gives no series."
                    problems.append(
                        Problem(scope="", call=f"query {name}", kind="unsupported", message=message, affects=(name,))
                    )
        return Snapshot(
            collector=self.id, scope="", as_of=query.now, tree=tree, samples=samples, problems=problems
        )  # fmt: skip


def _result(body: Any, name: str) -> list[dict[str, Any]]:
    found = body["data"]
    if found["resultType"] == "scalar":
        return [{"metric": {}, "value": found["result"]}]
    series = cast("list[dict[str, Any]]", found["result"])
    if len(series) > MOST_SERIES:
        message = f"The query gives {len(series)} series; {MOST_SERIES} are read. Sum over labels in it."
        raise FetchError.of("parse", message, call=f"query {name}")
    return series


def query_error(body: bytes) -> str | None:
    """Prometheus' explanation of what is wrong with a query; None if the body is another kind of error."""
    try:
        answer = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if answer.get("status") != "error" or answer.get("errorType") not in ("bad_data", "execution"):
        return None
    return f"Prometheus refused the query: {str(answer.get('error'))[:_LONGEST_ERROR]}"


def _warnings(body: Any) -> list[str]:
    """What Prometheus says about errors that did not stop the query: some of the data is missing."""
    found: list[Any] = cast("dict[str, Any]", body).get("warnings") or []
    return [f"Prometheus warns: {str(one)[:_LONGEST_ERROR]}" for one in found[:_MOST_WARNINGS]]


def _sample(key: str, labels: Labels, value: float | None, state: State) -> Sample:
    """A sample; without a value if the source has none, or no number."""
    return Sample(key=key, labels=labels, value=value, state=state if value is not None else "unsupported")


def _labels(series: Mapping[str, Any]) -> Labels:
    return tuple(sorted((str(name), str(value)) for name, value in series["metric"].items()))


def _number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _as_tree(series: Sequence[tuple[Labels, float | None]]) -> Any:
    if not series:
        return None
    if len(series) == 1 and not series[0][0]:
        return series[0][1]
    return [{"labels": dict(labels), "value": value} for labels, value in series]


def collectors(source: CollectorContext) -> Sequence[Collector]:
    url = source.settings.prometheus_url
    queries = source.settings.prometheus_queries or USUAL
    if not all(isinstance(query, str) for query in queries.values()):
        raise Misconfigured("rooms.metrics.prometheus_queries has a query that is not text.", hint="Write PromQL.")
    return (Prometheus(source.trust(url) if url else None, queries, source.settings.prometheus_token),)
