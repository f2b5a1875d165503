"""The data model: metrics, facts, samples, queries, snapshots and problems.

A metric is computed from facts; a fact is one answer of a source. A missing value is never a zero: it is None, with a
state that says why.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

State = Literal[
    "ok", "partial", "stale", "failed", "no_permission", "not_entitled", "unsupported", "not_selected", "not_collected"
]
"""The quality of a value, or why it is missing; docs/decisions/012-metrics.md explains each state."""
Kind = Literal["gauge", "counter", "text", "list"]
ProblemKind = Literal["permission", "rate", "timeout", "server", "parse", "unsupported", "network"]
Better = Literal["higher", "lower"]
Scalar = int | float | str | list[str] | None
Labels = tuple[tuple[str, str], ...]
"""Label names and values, sorted by name."""

NO_LABELS: Final[Labels] = ()


class Metric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry of a catalogue. `key` is dotted, from the collector's root; `facts` names the facts it needs."""

    key: str
    description: str
    kind: Kind = "gauge"
    unit: str | None = None
    formula: str = ""
    facts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    better: Better | None = None
    warn: float | None = None
    alarm: float | None = None
    limit: str | None = None
    """The key of the metric that limits this one, such as a licensed amount."""
    kept: bool = True
    """Whether the history records it. False if its labels differ each time."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A figure: one value of a metric, its state, and when its oldest fact was fetched.

    If `as_of` is 0, the time of the snapshot applies."""

    key: str
    value: Scalar
    labels: Labels = NO_LABELS
    unit: str | None = None
    state: State = "ok"
    as_of: float = 0.0
    cached: bool = False


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An item that a figure counts, such as an application, with the figure's key and the known details."""

    key: str
    kind: str
    name: str
    labels: Labels = NO_LABELS
    details: Mapping[str, Any]
    """Texts, numbers, truth values and lists of texts."""
    state: State = "ok"
    """Not ok if some of the details are missing or stale."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A failed request or a missing fact, and the affected metrics. Never contains a secret or a response body."""

    scope: str
    call: str
    kind: ProblemKind
    message: str
    http: int | None = None
    affects: tuple[str, ...] = ()
    needs: str | None = None
    """The missing permission, if known."""
    fact: str = ""
    """The name of the fact that is missing."""


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the planned facts are in the answer. `ok` and `stale` are, `failed` and `skipped` are not."""

    planned: int = 0
    ok: int = 0
    stale: int = 0
    failed: int = 0
    skipped: int = 0
    cached: int = 0


class Fact(msgspec.Struct, frozen=True):
    """One answer of a source, such as `Fact("ch.applications", (org, env))`. It is fetched, cached and fails as one."""

    name: str
    scope: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """The fact as readable text."""
        inner = ", ".join((*self.scope, *(f"{name}={value}" for name, value in self.params)))
        return f"{self.name}({inner})" if inner else self.name


class Plan(msgspec.Struct, frozen=True):
    """What to fetch next. `calls` estimates the number of requests for the whole query, if known; `skipped` are facts
    that are not fetched, with the reason."""

    facts: tuple[Fact, ...] = ()
    calls: int | None = None
    skipped: tuple[tuple[Fact, str], ...] = ()


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A query to a collector. `keys` are catalogue keys, or None for all. Without `credentials` of the request the
    collector uses its settings. `deadline` is a time of the monotonic clock."""

    keys: tuple[str, ...] | None = None
    bg: str | None = None
    recursive: bool = True
    environments: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    raw: bool = False
    compat: Literal["legacy"] | None = None
    items: bool = False
    """Whether the answer also lists the items behind its figures, which may need more facts."""
    credentials: Mapping[str, str] | None = None
    deadline: float | None = None
    fresh: bool = False
    """Whether every fact is requested from the source, even if one is cached: a poll measures the source."""
    now: float = 0.0
    """The wall-clock time of the query; formulas such as "the last 30 days" count from it."""

    def wants(self, key: str) -> bool:
        """Whether the query includes a catalogue key."""
        return self.keys is None or key in self.keys


class FetchError(Exception):
    """A fact could not be fetched. `Facts` then holds the problem in its place."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem

    @classmethod
    def of(cls, kind: ProblemKind, message: str, *, call: str, scope: str = "") -> "FetchError":
        """The error for a problem that no HTTP status describes."""
        return cls(Problem(scope=scope, call=call, kind=kind, message=message))


class Facts(Mapping[Fact, Any]):
    """The facts known so far: values, or problems in their place."""

    __slots__ = ("_cached", "_problems", "_stale", "_times", "_values", "now")

    def __init__(self, values: Mapping[Fact, Any] | None = None, *, now: float = 0.0) -> None:
        self.now = now
        self._values: dict[Fact, Any] = {}
        self._times: dict[Fact, float] = {}
        self._cached: set[Fact] = set()
        self._problems: dict[Fact, Problem] = {}
        self._stale: dict[Fact, Problem] = {}
        for fact, value in (values or {}).items():
            self.put(fact, value, at=now)

    def put(self, fact: Fact, value: Any, *, at: float, cached: bool = False, stale: Problem | None = None) -> None:
        """Add a fact, or the problem with it. `stale` is why this is an older value instead of the current one."""
        self._values[fact] = value
        self._times[fact] = at
        if isinstance(value, Problem):
            self._problems[fact] = value
        if cached:
            self._cached.add(fact)
        if stale is not None:
            self._stale[fact] = stale

    def __getitem__(self, fact: Fact) -> Any:
        return self._values[fact]

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, fact: object) -> bool:
        return fact in self._values  # faster than the default: plans check thousands of facts

    def value(self, fact: Fact, default: Any = None) -> Any:
        """The value, or the default if it is missing."""
        found = self._values.get(fact, default)
        return default if isinstance(found, Problem) else found

    def problem(self, fact: Fact) -> Problem | None:
        """The problem with a fact, if any."""
        return self._problems.get(fact)

    def problems(self) -> dict[Fact, Problem]:
        """All problems by fact."""
        return dict(self._problems)

    def stale(self) -> dict[Fact, Problem]:
        """The facts with an older value, each with the problem that prevented a fresh one."""
        return dict(self._stale)

    def is_stale(self, fact: Fact) -> bool:
        """Whether the value is an older one because the source failed."""
        return fact in self._stale

    def troubles(self) -> dict[Fact, Problem]:
        """Every fact that could not be fetched, including those with an older value."""
        return {**self._problems, **self._stale}

    def oldest(self, ageless: frozenset[str] = frozenset()) -> float:
        """When the oldest fact with a value was fetched. Ageless facts count only if stale, or alone."""
        known = [fact for fact in self._times if fact not in self._problems]
        aging = [fact for fact in known if fact.name not in ageless or fact in self._stale]
        return min((self._times[fact] for fact in aging or known), default=self.now)

    def at(self, fact: Fact) -> float:
        """When the fact was fetched."""
        return self._times.get(fact, self.now)

    def was_cached(self, fact: Fact) -> bool:
        """Whether the fact came from the cache."""
        return fact in self._cached


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A figure for which the Metrics Toolkit has another value, and why."""

    key: str
    right: Any
    legacy: Any
    why: str
    labels: Labels = NO_LABELS


class Snapshot(msgspec.Struct, kw_only=True):
    """A collector's figures: as the tree that callers see, and as flat samples.

    `as_of` is when the oldest of its facts was fetched, `computed_at` when the snapshot was made of them."""

    collector: str
    scope: str
    as_of: float
    tree: Any
    computed_at: float = 0.0
    samples: list[Sample] = msgspec.field(default_factory=list[Sample])
    coverage: Coverage = Coverage()
    problems: list[Problem] = msgspec.field(default_factory=list[Problem])
    differences: list[Difference] = msgspec.field(default_factory=list[Difference])
    """For legacy queries: where the toolkit's figures differ from the right ones."""
    names: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """Display names of the ids in the scopes of problems."""

    @property
    def taken_at(self) -> float:
        """The time under which the history records it."""
        return self.computed_at or self.as_of


class Info(msgspec.Struct, frozen=True, kw_only=True):
    """A collector's description. `root` is the path of its figures in the tree. Collectors of one `family` share facts.
    `ttl` is how many seconds a fact stays fresh, `ttls` the same by fact name."""

    id: str
    title: str
    description: str
    catalogue: tuple[Metric, ...]
    root: tuple[str, ...] = ()
    family: str = ""
    ttl: float = 60.0
    ttls: Mapping[str, float] = msgspec.field(default_factory=dict[str, float])
    structure: tuple[str, ...] = ()
    """The names of the facts that planning needs; a dry run fetches only these."""
    leads: tuple[str, ...] | None = None
    """The names of facts that other facts depend on; only these require a new plan. None means all."""
    takes: frozenset[str] | None = None
    """Which of `bg`, `environment`, `region`, `raw` and `compat` it supports; others are refused. With None, the
    collector decides."""
    permissions: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """By fact name: the permission a login needs."""
    ageless: frozenset[str] = frozenset()
    """The names of facts that only list names, such as regions. Their age does not count towards the age of a figure,
    unless the figure needs nothing else."""
    marks_stale: bool = False
    """Whether it marks stale samples itself. If not, every metric that needs a stale fact is marked stale."""
    ready: bool = True
    """Whether it is set up; if not, `missing` says what to set."""
    missing: str = ""
    poll_seconds: float | None = None
    """The default polling interval; None means that only the settings can turn polling on."""


_STATES: Final[dict[ProblemKind, State]] = {"permission": "no_permission", "unsupported": "unsupported"}


def state_of(problems: Iterable[Problem]) -> State:
    """The state of a value whose facts have these problems."""
    found = list(problems)
    if not found:
        return "ok"
    states: set[State] = {_STATES.get(problem.kind, "failed") for problem in found}
    return "failed" if len(states) > 1 else states.pop()


def missing_samples(catalogue: Iterable[Metric], query: Query, facts: Facts) -> list[Sample]:
    """For each wanted metric with missing facts, a sample whose state says why. Only for facts without scope."""
    found: list[Sample] = []
    for metric in catalogue:
        troubles = [problem for name in metric.facts if (problem := facts.problem(Fact(name))) is not None]
        if troubles and query.wants(metric.key):
            found.append(Sample(key=metric.key, value=None, unit=metric.unit, state=state_of(troubles)))
    return found
