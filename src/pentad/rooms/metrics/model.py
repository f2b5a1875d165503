"""The words the whole room speaks: metrics, facts, samples, and what went wrong on the way to them.

A metric is computed from facts; a fact is one answer of a source, the unit of fetching, of caching and of failing. A
value that could not be had is never a zero: it has no value, and a state that says why. Nothing here fetches, stores
or shows anything.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

State = Literal["ok", "partial", "no-permission", "not-entitled", "unsupported", "stale"]
Kind = Literal["gauge", "counter", "text", "list"]
ProblemKind = Literal["permission", "rate", "timeout", "server", "parse", "unsupported", "network"]
Better = Literal["higher", "lower"]
Number = int | float
Scalar = int | float | str | list[str] | None
Labels = tuple[tuple[str, str], ...]
"""Names with their values, sorted by name."""

NO_LABELS: Final[Labels] = ()


class Metric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of a catalogue. `key` is dotted, from the collector's root; `facts` are the names of what it needs."""

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
    """The key of the metric this one runs up against, such as a licensed amount."""
    kept: bool = True
    """Whether the history keeps it; what has other labels at each look is not worth keeping."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One value of one metric. An `as_of` of 0 stands for the moment of the snapshot."""

    key: str
    value: Scalar
    labels: Labels = NO_LABELS
    unit: str | None = None
    state: State = "ok"
    as_of: float = 0.0
    cached: bool = False


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something a source did not give, where, and which metrics suffer. Never holds a secret or a body."""

    scope: str
    call: str
    kind: ProblemKind
    message: str
    http: int | None = None
    affects: tuple[str, ...] = ()


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """How much of what was planned is in the answer."""

    planned: int = 0
    ok: int = 0
    failed: int = 0
    skipped: int = 0
    cached: int = 0


class Fact(msgspec.Struct, frozen=True):
    """One answer of a source, by name: `Fact("ch.applications", (org, env))`."""

    name: str
    scope: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """The fact as people read it."""
        inner = ", ".join((*self.scope, *(f"{name}={value}" for name, value in self.params)))
        return f"{self.name}({inner})" if inner else self.name


class Plan(msgspec.Struct, frozen=True):
    """What is to be fetched next. `calls` estimates how many requests all of it takes, where that can be known;
    `skipped` are facts that need not be asked for, with the reason."""

    facts: tuple[Fact, ...] = ()
    calls: int | None = None
    skipped: tuple[tuple[Fact, str], ...] = ()


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a collector. `keys` are keys of its catalogue, or None for all. `credentials` are those of this
    one request, else the collector uses its settings. `deadline` is in seconds of the monotonic clock."""

    keys: tuple[str, ...] | None = None
    bg: str | None = None
    recursive: bool = True
    environments: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    raw: bool = False
    compat: Literal["legacy"] | None = None
    credentials: Mapping[str, str] | None = None
    deadline: float | None = None
    now: float = 0.0
    """The wall-clock moment the question is about; formulas that say "the last 30 days" count from it."""

    def wants(self, key: str) -> bool:
        """Whether a key of the catalogue is asked for."""
        return self.keys is None or key in self.keys


class Failed(Exception):
    """A fact that could not be had: what `fetch` raises, and what `Facts` then holds in its place."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Facts(Mapping[Fact, Any]):
    """What is known so far: by fact its value, or the `Problem` that stands in its place."""

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
        """Learn one more fact, or the problem with it. `stale` is why an older value stands for the present one."""
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
        return fact in self._values  # said outright: a plan asks this for thousands of facts, again and again

    def value(self, fact: Fact, default: Any = None) -> Any:
        """The value, or the default where there is none, for whatever reason."""
        found = self._values.get(fact, default)
        return default if isinstance(found, Problem) else found

    def problem(self, fact: Fact) -> Problem | None:
        """What is wrong with the fact, if anything."""
        return self._problems.get(fact)

    def problems(self) -> dict[Fact, Problem]:
        """Everything that is wrong, by fact."""
        return dict(self._problems)

    def stale(self) -> dict[Fact, Problem]:
        """The facts whose value is an older one, and why."""
        return dict(self._stale)

    def at(self, fact: Fact) -> float:
        """When the fact was fetched."""
        return self._times.get(fact, self.now)

    def was_cached(self, fact: Fact) -> bool:
        """Whether the fact was there already when this question was asked."""
        return fact in self._cached


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that another product gives otherwise, what it gives, and why."""

    key: str
    right: Any
    legacy: Any
    why: str
    labels: Labels = NO_LABELS


class Snapshot(msgspec.Struct, kw_only=True):
    """One answer of a collector: the tree as the wire shows it, and the same as flat samples."""

    collector: str
    scope: str
    as_of: float
    tree: Any
    samples: list[Sample] = msgspec.field(default_factory=list[Sample])
    coverage: Coverage = Coverage()
    problems: list[Problem] = msgspec.field(default_factory=list[Problem])
    differences: list[Difference] = msgspec.field(default_factory=list[Difference])
    """Where figures that were asked for as another product gives them differ from the right ones."""


class Info(msgspec.Struct, frozen=True, kw_only=True):
    """What a collector says about itself. `root` is where its figures stand in the tree, outermost first; collectors
    of one `family` share their facts. `ttl` is for how many seconds a fact stays good, `ttls` the same by fact name."""

    id: str
    title: str
    description: str
    catalogue: tuple[Metric, ...]
    version: str = "1"
    settings: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """A JSON Schema of what the operator may set."""
    secrets: tuple[str, ...] = ()
    """Which of these settings are secret."""
    root: tuple[str, ...] = ()
    family: str = ""
    ttl: float = 60.0
    ttls: Mapping[str, float] = msgspec.field(default_factory=dict[str, float])
    structure: tuple[str, ...] = ()
    """The names of the facts a plan cannot do without; a dry run fetches these and no others."""
    leads: tuple[str, ...] | None = None
    """The names of the facts that a plan may say more after; None stands for all. Others need no new plan."""
    takes: frozenset[str] | None = None
    """Which of `bg`, `environment`, `region`, `raw` and `compat` mean something to it; others are refused. None leaves
    that to the collector."""
    needs_bg: bool = False
    ready: bool = True
    """Whether it can answer with the settings there are; `missing` says what is to be set otherwise."""
    missing: str = ""
    poll_seconds: float | None = None
    """How often it is worth polling by default; None is never, until the operator says so."""


_STATES: Final[dict[ProblemKind, State]] = {"permission": "no-permission", "unsupported": "unsupported"}


def state_of(problems: Iterable[Problem], *, some_ok: bool = False) -> State:
    """The state of a value some of whose facts are missing: `partial` as soon as one of them is there."""
    found = list(problems)
    if not found:
        return "ok"
    states: set[State] = {_STATES.get(problem.kind, "partial") for problem in found}
    return "partial" if some_ok or len(states) > 1 else states.pop()


def without_value(catalogue: Iterable[Metric], wanted: Wanted, facts: Facts) -> list[Sample]:
    """A sample that says why for each wanted metric whose facts, which have no scope, could not be had."""
    found: list[Sample] = []
    for metric in catalogue:
        troubles = [problem for name in metric.facts if (problem := facts.problem(Fact(name))) is not None]
        if troubles and wanted.wants(metric.key):
            found.append(Sample(key=metric.key, value=None, unit=metric.unit, state=state_of(troubles)))
    return found


def labels(**values: str) -> Labels:
    """Labels in their one order."""
    return tuple(sorted(values.items()))
