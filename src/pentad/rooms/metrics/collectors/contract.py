"""The contract of collectors, for Pentad's own and for plug-ins.

The engine asks a collector for a plan again and again as facts arrive, until the plan names nothing new; then `reduce`
computes the answer from the facts alone. A factory behind an entry point of the group `pentad.collectors` creates the
collectors: it gets a `CollectorContext` and returns one collector or several.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypedDict, Unpack, runtime_checkable
from urllib.parse import urlsplit

import msgspec

from pentad.kernel.clock import Clock
from pentad.platform import Platform
from pentad.rooms.metrics.metric_keys import flatten
from pentad.rooms.metrics.models import (
    Fact,
    Facts,
    Info,
    Item,
    Labels,
    Metric,
    Plan,
    Query,
    Sample,
    Snapshot,
    missing_samples,
)
from pentad.rooms.metrics.settings import MetricsSettings


class Login(Protocol):
    """Credentials for a source. `key` identifies a login without revealing it."""

    @property
    def key(self) -> str: ...

    async def headers(self, upstream: "Upstream") -> Mapping[str, str]:
        """The headers a request has to carry; logs in if there is no valid token."""
        ...

    def refused(self, headers: Mapping[str, str]) -> None:
        """A request with these headers got 401: forget the token."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with status 200 to 299."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def decode_json(body: bytes, content_type: str) -> tuple[Any, str | None]:
    """The JSON value of a body, or a sentence about what is wrong with it."""
    if "html" in content_type or body[:256].lstrip()[:1] == b"<":
        return None, "The source sent a web page instead of data, perhaps a login page."
    try:
        return (msgspec.json.decode(body) if body.strip() else None), None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, "The answer is not valid JSON, or was cut off."


class RequestOptions(TypedDict, total=False):
    """Options of every request. In a problem, `call` names the request (by default method and path), `scope` the
    group or environment it was for, and `affects` the metrics that depend on it."""

    headers: Mapping[str, str] | None
    login: Login | None
    scope: str
    call: str
    affects: tuple[str, ...]
    explain: Callable[[bytes], str | None]
    """Extracts the reason from an error body, if it may be shown."""


class JsonRequestOptions(RequestOptions, total=False):
    params: Mapping[str, str | int] | None


class PostOptions(JsonRequestOptions, total=False):
    json: Any
    form: Mapping[str, str] | None


class SendOptions(RequestOptions, total=False):
    body: bytes | None


class Upstream(Protocol):
    """Sends the requests of one query: pooled, rate-limited, retried, within the query's deadline.

    Every method raises `FetchError` with a `Problem` unless there is an answer with status 200 to 299.
    """

    @property
    def clock(self) -> Clock: ...

    @property
    def credentials(self) -> Mapping[str, str] | None:
        """The credentials that came with the query, if any."""
        ...

    async def get(self, url: str, **options: Unpack[JsonRequestOptions]) -> Any:
        """The JSON of the answer."""
        ...

    async def post(self, url: str, **options: Unpack[PostOptions]) -> Any:
        """The JSON of the answer. Only for requests that change nothing, because they may be sent again."""
        ...

    async def send(self, method: str, url: str, **options: Unpack[SendOptions]) -> Reply:
        """The answer as bytes."""
        ...


class Collector(Protocol):
    """Reads the figures of one source."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    def info(self) -> Info:
        """Its catalogue, settings and defaults."""
        ...

    def plan(self, query: Query, known: Facts) -> Plan:
        """The facts still to fetch, given the known ones; an empty plan ends the planning."""
        ...

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        """Fetch one fact. A `FetchError` affects this fact only."""
        ...

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        """Compute the answer from the facts alone."""
        ...


class SourceHistory(NamedTuple):
    """The history of a key at its source. `notes` say what may be missing."""

    points: Mapping[Labels, Sequence[tuple[float, float | None]]]
    notes: Sequence[str] = ()


@runtime_checkable
class KeepsHistory(Collector, Protocol):
    """A collector whose source keeps its own history."""

    async def history(self, key: str, begin: float, end: float, step: float, upstream: Upstream) -> SourceHistory:
        """Points by labels, one per `step` seconds."""
        ...


@runtime_checkable
class ListsItems(Collector, Protocol):
    """A collector that can list the items its figures count."""

    def item_keys(self) -> Sequence[str]:
        """The keys of the figures whose items it can list."""
        ...

    def items(self, query: Query, facts: Facts) -> Sequence[Item]:
        """The items behind the figures of the query's keys, computed from the facts alone."""
        ...


@dataclass(frozen=True, slots=True)
class CollectorContext:
    """Passed to the factory of a collector."""

    platform: Platform
    settings: MetricsSettings
    """The room's settings. `get` returns settings of plug-in collectors; their names begin with the collector's."""
    trusted: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    closing: list[Callable[[], Awaitable[None]]] = field(default_factory=list[Callable[[], Awaitable[None]]])
    """Functions to call when the room closes."""

    def trust(self, url: str) -> str:
        """Allow requests to the origin of this URL from the settings; returns it without a trailing slash."""
        parts = urlsplit(url)
        self.trusted.add((parts.scheme, parts.netloc))
        return url.rstrip("/")


Factory = Callable[[CollectorContext], Sequence[Collector]]


def plan_facts(
    catalogue: Iterable[Metric], query: Query, known: Facts, *, everything: bool = False, is_local: bool = False
) -> Plan:
    """The facts of the wanted metrics that are not known yet. A local source costs no requests."""
    metrics = (metric for metric in catalogue if everything or query.wants(metric.key))
    facts = [Fact(name) for name in dict.fromkeys(name for metric in metrics for name in metric.facts)]
    return Plan(tuple(fact for fact in facts if fact not in known), calls=0 if is_local else len(facts))


def tree_snapshot(collector: str, catalogue: Iterable[Metric], query: Query, facts: Facts, tree: Any) -> Snapshot:
    """A snapshot with a sample for each figure of the tree that is in the catalogue, and for each missing one."""
    units = {metric.key: metric.unit for metric in catalogue}
    samples = [
        Sample(
            key=match.path,
            labels=match.labels,
            value=match.value,
            unit=units[match.path],
            state="not_collected" if match.value is None else "ok",
        )
        for match in flatten(tree)
        if match.path in units
    ]
    samples += missing_samples(catalogue, query, facts)
    return Snapshot(collector=collector, scope="", as_of=query.now, tree=tree, samples=samples)
