"""What a collector is. A plan is asked for again as facts arrive, until it names nothing new; `reduce` is pure.

A collector is made by a factory behind an entry point of the group `pentad.collectors`, which is given a `Source` and
returns the collectors it makes of the settings: often one, for a platform with many parts several.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from pentad.kernel.clock import Clock
from pentad.platform import Platform
from pentad.rooms.metrics.model import Fact, Facts, Info, Plan, Snapshot, Wanted
from pentad.rooms.metrics.settings import MetricsSettings


class Login(Protocol):
    """Credentials towards a source. `key` tells two logins apart without telling what they are."""

    @property
    def key(self) -> str: ...

    async def headers(self, upstream: "Upstream") -> Mapping[str, str]:
        """What a request has to carry; logs in when there is no valid token."""
        ...

    def refused(self, headers: Mapping[str, str]) -> None:
        """These headers were answered with 401: forget what made them."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with status 200 to 299."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Upstream(Protocol):
    """The way out, for the facts of one question: pooled, limited, retried, within the question's deadline.

    Every method raises `Failed` with a `Problem` when there is no answer with a status of 200 to 299. `call` names
    the request in that problem (by default method and path); `scope` says whose it was.
    """

    @property
    def clock(self) -> Clock: ...

    @property
    def credentials(self) -> Mapping[str, str] | None:
        """Those that came with the question, if any did."""
        ...

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str | int] | None = None,
        login: Login | None = None,
        scope: str = "",
        call: str = "",
        affects: tuple[str, ...] = (),
    ) -> Any:
        """The JSON of the answer."""
        ...

    async def post(
        self,
        url: str,
        *,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str | int] | None = None,
        login: Login | None = None,
        scope: str = "",
        call: str = "",
        affects: tuple[str, ...] = (),
    ) -> Any:
        """The JSON of the answer; only for requests that change nothing, as it may be sent again."""
        ...

    async def send(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        login: Login | None = None,
        scope: str = "",
        call: str = "",
        affects: tuple[str, ...] = (),
    ) -> Reply:
        """The answer as bytes."""
        ...


class Collector(Protocol):
    """Where figures of one kind come from."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    def info(self) -> Info:
        """Its catalogue, settings and habits."""
        ...

    def plan(self, wanted: Wanted, known: Facts) -> Plan:
        """What is still to be fetched, given what is known; an empty plan means that nothing more is needed."""
        ...

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        """One fact. What it raises is `Failed`, for this fact alone."""
        ...

    def reduce(self, wanted: Wanted, facts: Facts) -> Snapshot:
        """The answer from the facts, and from nothing else."""
        ...


@runtime_checkable
class Remembering(Collector, Protocol):
    """A collector whose source keeps the past of its figures itself."""

    async def past(
        self, key: str, begin: float, end: float, step: float, upstream: Upstream
    ) -> Mapping[str, Sequence[tuple[float, float | None]]]:
        """Points by the text of their labels, one every `step` seconds."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """What the factory of a collector is given."""

    platform: Platform
    settings: MetricsSettings
    """The room's settings; `get` has those of collectors of other packages, which begin with the collector's name."""
    trusted: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    closing: list[Callable[[], Awaitable[None]]] = field(default_factory=list[Callable[[], Awaitable[None]]])
    """What is to be called when the room closes."""

    def trust(self, url: str) -> str:
        """The operator wrote this address, so its origin is open wherever it is; without the slash at its end."""
        parts = urlsplit(url)
        self.trusted.add((parts.scheme, parts.netloc))
        return url.rstrip("/")


Factory = Callable[[Source], Sequence[Collector]]
