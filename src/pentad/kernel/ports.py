"""The few Protocols at true edges. Services speak to these; `storage/`, `search/` and `net/` implement them."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

Value = str | int | float | bytes | bool | None
Row = tuple[Any, ...]
Dialect = Literal["sqlite", "postgres"]

T = TypeVar("T")


class Rows(Protocol):
    """Statements that read, inside one consistent snapshot. Parameters are `?`, in order, in both dialects."""

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
    """Statements that also write; all of them happen, or none."""

    def run(self, sql: str, *params: Value) -> int:
        """Run one statement; the number of rows it changed."""
        ...

    def run_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Run one statement for each row of parameters, the fastest way the store has."""
        ...

    def signal(self, channel: str, payload: str = "") -> None:
        """Tell the listeners of `channel`, in every process on this store, once the transaction is committed.

        A payload is at most 7,000 bytes: it names what changed, it does not carry it.
        """
        ...


class Database(Protocol):
    """One store. Work is a plain function of a transaction and must be re-runnable: a conflict runs it again."""

    @property
    def dialect(self) -> Dialect: ...

    async def read(self, work: Callable[[Rows], T]) -> T:
        """Run a reading unit of work, away from the event loop."""
        ...

    async def write(self, work: Callable[[Transaction], T], *, brief: bool = False) -> T:
        """Run a writing unit of work; returns only when it is durable.

        `brief` promises a few small statements by key: a store may run those where it stands, on the event loop.
        """
        ...

    def write_blocking(self, work: Callable[[Transaction], T]) -> T:
        """Run a small writing unit of work from a thread that may block. It waits for no event loop and no pool."""
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
    """An answer from outside: already bounded in size, with the address it finally came from."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    redirected: bool = False
    """Whether it came from another address than the one asked."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer from outside that is still coming: `chunks` are its bytes as they arrive."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
    url: str

    async def beginning(self, most: int) -> bytes:
        """No more of it than that, to read an error in."""
        body = b""
        async for chunk in self.chunks:
            body += chunk
            if len(body) >= most:
                break
        return body[:most]


class Fetcher(Protocol):
    """Outgoing HTTP, with the operator's rules."""

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
    ) -> Fetched:
        """`trusted`: the operator wrote this URL into the settings, so its origin is open wherever it is."""
        ...

    async def check(self, url: str, *, trusted: bool = False) -> None:
        """Refuse an address that would not be fetched now; one whose host is not found now is let pass."""
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
        """An answer of no known length. `timeout` is until it begins, `idle` the longest silence within it.

        Who reads the chunks bounds what is kept of them.
        """
        ...


class Embedder(Protocol):
    """Turns texts into vectors of one model."""

    @property
    def model(self) -> str:
        """Names the model and the form it is in; vectors of two names are never compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> bytes:
        """A row of float32 numbers, little-endian, of length 1, for each text, in their order."""
        ...
