"""Questions of the legacy wire: the server sends a request on a stream and waits for the client's answer.

The answer may arrive at another process than the one that asked. It is then left in the store with a signal, and the
process that waits picks it up. The same goes for a client's wish to cancel a call.
"""

import asyncio
import logging
from typing import Any, Final

import msgspec

from pentad.kernel.background import start_task
from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Database, Transaction
from pentad.mcp.messages import RequestId

log = logging.getLogger("pentad.mcp")

_REPLIES: Final = "mcp.reply"
_CANCELS: Final = "mcp.cancel"


class _Reply(msgspec.Struct):
    result: Any = None
    error: dict[str, Any] | None = None


class Conversations:
    """Who waits for which answer, and which calls can be cancelled, in this process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: dict[tuple[str, str], asyncio.Future[Any]] = {}
        self._calls: dict[tuple[str, RequestId], asyncio.Task[Any]] = {}
        self._chores: set[asyncio.Task[None]] = set()
        self._stop = [database.listen(_REPLIES, self._reply_left), database.listen(_CANCELS, self._cancel_heard)]

    def expect(self, session: str) -> tuple[str, asyncio.Future[Any]]:
        """A fresh question id and the future its answer will fill."""
        question = f"pentad-{opaque_id(size=9)}"
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[(session, question)] = future
        return question, future

    def give_up(self, session: str, question: str) -> None:
        self._waiting.pop((session, question), None)

    async def deliver(self, session: str, question: RequestId, body: bytes) -> bool:
        """A client's answer has come in here; False when nobody anywhere asked that."""
        key = (session, str(question))
        if key in self._waiting:
            self._settle(key, body)
            return True

        def leave(transaction: Transaction) -> None:
            transaction.run(
                "INSERT INTO mcp_replies (session, question, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", *key, body
            )
            transaction.signal(_REPLIES, msgspec.json.encode(key).decode("utf-8"))

        if not key[1].startswith("pentad-") or len(key[1]) > 64:
            return False
        await self._database.write(leave)
        return True

    def _reply_left(self, payload: str) -> None:
        session, question = msgspec.json.decode(payload)
        if (session, question) in self._waiting:
            chore = start_task(self._pick_up(session, question), "picking up an answer")
            self._chores.add(chore)
            chore.add_done_callback(self._chores.discard)

    async def _pick_up(self, session: str, question: str) -> None:
        def take(transaction: Transaction) -> bytes | None:
            body = transaction.value(
                "SELECT body FROM mcp_replies WHERE session = ? AND question = ?", session, question
            )
            transaction.run("DELETE FROM mcp_replies WHERE session = ? AND question = ?", session, question)
            return body

        body = await self._database.write(take)
        if body is not None:
            self._settle((session, question), body)

    def _settle(self, key: tuple[str, str], body: bytes) -> None:
        future = self._waiting.pop(key, None)
        if future is None or future.done():
            return
        try:
            reply = msgspec.json.decode(body, type=_Reply)
        except msgspec.MsgspecError:
            future.set_exception(InvalidInput("The client's answer was not a JSON-RPC response."))
            return
        if reply.error is not None:
            said = str(reply.error.get("message", "no reason given"))[:200]
            future.set_exception(Unavailable(f"The client refused to answer: {said}"))
        else:
            future.set_result(reply.result)

    def running(self, session: str, request_id: RequestId, task: asyncio.Task[Any]) -> None:
        """From now on this call can be cancelled."""
        self._calls[(session, request_id)] = task

    def finished(self, session: str, request_id: RequestId) -> None:
        self._calls.pop((session, request_id), None)

    async def cancel(self, session: str, request_id: RequestId) -> None:
        """Cancel a call, wherever it runs; an unknown or finished one is silently left alone, as the protocol wants."""
        if (task := self._calls.pop((session, request_id), None)) is not None:
            task.cancel()
            return
        payload = msgspec.json.encode([session, request_id]).decode("utf-8")
        await self._database.write(lambda transaction: transaction.signal(_CANCELS, payload))

    def _cancel_heard(self, payload: str) -> None:
        session, request_id = msgspec.json.decode(payload)
        if (task := self._calls.pop((session, request_id), None)) is not None:
            task.cancel()

    async def close(self) -> None:
        for stop in self._stop:
            stop()
        for chore in list(self._chores):
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
