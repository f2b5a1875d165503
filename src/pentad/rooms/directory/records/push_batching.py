"""Batches concurrent pushes of one caller into one transaction.

A full-text index costs time per transaction, not only per record, so pushes that arrive while a transaction runs share
the next one. A single push never waits for others. If a batch is rejected, its pushes are tried one by one, so that a
bad record does not fail the others.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from pentad.kernel.errors import Conflict, InvalidInput, Overloaded, PentadError
from pentad.kernel.principal import Principal
from pentad.rooms.directory.models import Pushed
from pentad.rooms.directory.store import Draft

MOST_TOGETHER: Final = 200
MOST_WAITING: Final = 10_000
_MOST_CHARACTERS: Final = 8_000_000

Push = Callable[[Principal, Sequence[Draft]], Awaitable[list[Pushed]]]


class _Waiting(NamedTuple):
    who: Principal
    draft: Draft
    done: "asyncio.Future[Pushed]"


class PushBatcher:
    """Pushes drafts through `push`, several at a time."""

    def __init__(self, push: Push) -> None:
        self._push = push
        self._waiting: deque[_Waiting] = deque()
        self._pushing: asyncio.Task[None] | None = None

    async def push(self, who: Principal, draft: Draft) -> Pushed:
        """Push one draft. Returns when it is durable."""
        if len(self._waiting) >= MOST_WAITING:
            raise Overloaded("Too many pushes are waiting.", hint="Try again in a moment.")
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(who, draft, done))
        if self._pushing is None or self._pushing.done():
            self._pushing = asyncio.create_task(self._work_off(), name="directory-pushes")
        return await done

    async def finish(self) -> None:
        """Wait until all pushes are done."""
        if self._pushing is not None:
            await self._pushing

    async def _work_off(self) -> None:
        while self._waiting:
            company = self._next_batch()
            if not company:
                continue
            try:
                pushed = await self._push(company[0].who, [one.draft for one in company])
            except PentadError as error:
                await self._one_by_one(company, error)
            except BaseException as error:
                for one in company:
                    _fail(one, error)
                if not isinstance(error, Exception):
                    raise
            else:
                for one, result in zip(company, pushed, strict=True):
                    if not one.done.done():
                        one.done.set_result(result)

    def _next_batch(self) -> list[_Waiting]:
        """The next pushes of one caller, up to the limits. Empty if all their callers have given up."""
        company: list[_Waiting] = []
        size = 0
        while self._waiting and len(company) < MOST_TOGETHER:
            one = self._waiting[0]
            size += len(one.draft.text)
            if company and (size > _MOST_CHARACTERS or one.who != company[0].who):
                break
            self._waiting.popleft()
            if not one.done.done():  # otherwise its caller has given up
                company.append(one)
        return company

    async def _one_by_one(self, company: Sequence[_Waiting], error: PentadError) -> None:
        if len(company) == 1 or not isinstance(error, InvalidInput | Conflict):
            for one in company:  # the store failed, and would fail for each of them
                _fail(one, error)
            return
        for one in company:
            try:
                (result,) = await self._push(one.who, [one.draft])
            except PentadError as own:
                _fail(one, own)
            else:
                if not one.done.done():
                    one.done.set_result(result)


def _fail(one: _Waiting, error: BaseException) -> None:
    if one.done.done():
        return
    if isinstance(error, Exception):
        one.done.set_exception(error)
    else:
        one.done.cancel()
