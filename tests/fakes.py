"""Fakes of the ports that refuse everything: a test overrides what its subject may use."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from pentad.kernel.ports import Database, Dialect, Fetched, Fetcher, Row, Rows, Streamed, Transaction, Value

T = TypeVar("T")


class UnusedFetcher(Fetcher):
    """Nothing may be fetched."""

    async def fetch(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None,
        max_bytes: int | None = None, timeout: float | None = None, trusted: bool = False,
        follow_redirects: bool = True,
    ) -> Fetched:  # fmt: skip
        raise AssertionError(url)

    async def check(self, url: str, *, trusted: bool = False) -> None:
        raise AssertionError(url)

    def stream(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None,
        timeout: float | None = None, idle: float | None = None, trusted: bool = False,
    ) -> AbstractAsyncContextManager[Streamed]:  # fmt: skip
        raise AssertionError(url)


class UnusedDatabase(Database):
    """Nothing may be read or written."""

    @property
    def dialect(self) -> Dialect:
        raise AssertionError("dialect")

    @property
    def session(self) -> str:
        raise AssertionError("session")

    def ended_sessions(self, rows: Rows, sessions: Iterable[str]) -> set[str]:
        raise AssertionError(sessions)

    async def read(self, work: Callable[[Rows], T]) -> T:
        raise AssertionError(work)

    async def write(self, work: Callable[[Transaction], T], *, brief: bool = False, locking: bool = False) -> T:
        raise AssertionError(work)

    def write_at_once(self, work: Callable[[Transaction], T]) -> tuple[T] | None:
        raise AssertionError(work)

    async def define(self, plan: Callable[[Rows], Sequence[str]]) -> None:
        raise AssertionError(plan)

    def write_blocking(self, work: Callable[[Transaction], T]) -> T:
        raise AssertionError(work)

    async def lookup(self, sql: str, *params: Value) -> Row | None:
        raise AssertionError(sql)

    def listen(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        raise AssertionError(channel)

    async def close(self) -> None:
        raise AssertionError("close")
