"""Batches pushes: those that one caller sends while a transaction runs share the next one, because every transaction
pays for the full-text index.
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
    """Pushes drafts of one caller together. A single push never waits for others.

    If a batch is rejected, its drafts are pushed one by one, so that a bad record does not fail the others.
    """

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
            self._pushing = asyncio.create_task(self._push_batches(), name="directory-pushes")
        return await done

    async def finish(self) -> None:
        """Wait until all pushes are done."""
        if self._pushing is not None:
            await self._pushing

    async def _push_batches(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            if not batch:
                continue
            try:
                pushed = await self._push(batch[0].who, [one.draft for one in batch])
            except PentadError as error:
                await self._one_by_one(batch, error)
            except BaseException as error:
                for one in batch:
                    _fail(one, error)
                if not isinstance(error, Exception):
                    raise
            else:
                for one, result in zip(batch, pushed, strict=True):
                    if not one.done.done():
                        one.done.set_result(result)

    def _next_batch(self) -> list[_Waiting]:
        """The next pushes of one caller, up to the limits. Empty if every waiting caller has given up."""
        batch: list[_Waiting] = []
        size = 0
        while self._waiting and len(batch) < MOST_TOGETHER:
            one = self._waiting[0]
            size += len(one.draft.text)
            if batch and (size > _MOST_CHARACTERS or one.who != batch[0].who):
                break
            self._waiting.popleft()
            if not one.done.done():  # otherwise its caller has given up
                batch.append(one)
        return batch

    async def _one_by_one(self, batch: Sequence[_Waiting], error: PentadError) -> None:
        if len(batch) == 1 or not isinstance(error, InvalidInput | Conflict):
            for one in batch:  # the store failed, and would fail for each of them
                _fail(one, error)
            return
        for one in batch:
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
