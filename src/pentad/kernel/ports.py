"""The protocols of the store, outgoing HTTP and the embedder; `storage/`, `net/` and `search/` implement them."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

Value = str | int | float | bytes | bool | None
Row = tuple[Any, ...]
Dialect = Literal["sqlite", "postgres"]

T = TypeVar("T")

COMMITS = "commits"
"""The channel on which SQLite signals, at most every 50 ms, that something was committed."""


class Rows(Protocol):
    """Read statements inside one consistent snapshot. Parameters are `?`, in order, in both dialects."""

    def one(self, sql: str, *params: Value) -> Row | None:
        """The first row, or None."""
        ...

    def all(self, sql: str, *params: Value) -> list[Row]:
        """Every row."""
        ...

    def value(self, sql: str, *params: Value) -> Any:
        """The first column of the first row, or None."""
        ...


class Transaction(Rows, Protocol):
    """Read and write statements; either all of them take effect or none."""

    def run(self, sql: str, *params: Value) -> int:
        """Run one statement; returns the number of rows it changed."""
        ...

    def run_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Run one statement for each row of parameters, the fastest way the store has."""
        ...

    def signal(self, channel: str, payload: str = "", *, has_row: bool = False) -> None:
        """Notify the listeners of `channel`, in every process on this store, once the transaction is committed.

        A payload is at most 7,000 bytes: send the id of what changed, not the content. `has_row` means that
        listeners can see it in a table. SQLite then signals nothing: listeners watch `COMMITS` and query the table.
        """
        ...


class Database(Protocol):
    """One store. A unit of work is a function of a transaction. It must be safe to run again after a conflict."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def session(self) -> str:
        """Identifies this open store among those of all processes, until it is closed or its process dies."""
        ...

    def ended_sessions(self, rows: Rows, sessions: Iterable[str]) -> set[str]:
        """The sessions that have ended, on any machine. A lost connection briefly looks the same, so check again before
        acting."""
        ...

    async def read(self, work: Callable[[Rows], T]) -> T:
        """Run a reading unit of work off the event loop."""
        ...

    async def write(self, work: Callable[[Transaction], T], *, brief: bool = False, locking: bool = False) -> T:
        """Run a writing unit of work; returns only when it is durable.

        `brief` promises a few small statements by key; the store may then run them on the event loop. A `locking` unit
        takes PostgreSQL's locks itself: it waits for others instead of conflicting with them, and each statement sees
        what was committed before it.
        """
        ...

    def write_at_once(self, work: Callable[[Transaction], T]) -> tuple[T] | None:
        """Run a brief unit of work on the event loop; None, with nothing done, if the store would have to wait."""
        ...

    async def define(self, plan: Callable[[Rows], Sequence[str]]) -> None:
        """Run the statements that `plan` asks for, e.g. to build indexes, one plan at a time in the whole store.

        PostgreSQL runs each outside a transaction, for as long as it takes: only that way can an index be built while
        others write. A failed statement leaves the earlier ones in place.
        """
        ...

    def write_blocking(self, work: Callable[[Transaction], T]) -> T:
        """Run a small writing unit of work on the calling thread, which may block; needs no event loop and no pool."""
        ...

    async def lookup(self, sql: str, *params: Value) -> Row | None:
        """One row by a unique key, the cheapest way the store has."""
        ...

    def listen(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call `callback(payload)` on the event loop for every signal; the returned function stops that."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Fetched:
    """A complete response, limited in size, with its final URL."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    redirected: bool = False
    """Whether the final URL differs from the requested one."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """A response whose body is still arriving in `chunks`."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
    url: str

    async def beginning(self, most: int) -> bytes:
        """The first bytes of the body, to read an error."""
        body = b""
        async for chunk in self.chunks:
            body += chunk
            if len(body) >= most:
                break
        return body[:most]


class Fetcher(Protocol):
    """Outgoing HTTP, within the operator's rules."""

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  a budget over redirects and body, not only an await
        trusted: bool = False,
        follow_redirects: bool = True,
    ) -> Fetched:
        """`trusted`: the URL comes from the settings, so its host may also be private."""
        ...

    async def check(self, url: str, *, trusted: bool = False) -> None:
        """Raise an error for a URL that `fetch` would refuse; an unknown host passes."""
        ...

    def stream(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
        idle: float | None = None,
        trusted: bool = False,
    ) -> AbstractAsyncContextManager[Streamed]:
        """A response of unknown length. `timeout` limits the wait for its start, `idle` the longest pause within it.

        The caller must limit how much of the body it keeps.
        """
        ...


class Embedder(Protocol):
    """Turns texts into vectors of one model."""

    @property
    def model(self) -> str:
        """The model and its variant; vectors of different models are never compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> bytes:
        """A unit vector of little-endian float32 for each text, in order."""
        ...
