"""Idempotent sends: a repeated message gets the first result instead of starting another turn.

A send has up to two keys: the id its sender gave the message, and the header `Idempotency-Key`. They are stored in the
transaction that stores the message, so neither exists without the other. A key belongs to one owner and one agent, and
lasts for `repeat_seconds`.

An idempotency key, and the id of a message to an existing task, identify one message: with a different one they are
refused. Senders are less careful with the ids of messages that start tasks; A2A's own test kit uses one id for many
messages. So such a message counts as repeated only if the whole request is the same, and only until its sender shows
that it has the answer: once the task was continued or canceled, the message starts a new one.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.errors import Conflict, InvalidInput
from pentad.kernel.ports import Database, Transaction
from pentad.rooms.agents.models import Message

_LONGEST: Final = 255
_DIGEST_BYTES: Final = 20
_FIND: Final = "SELECT request, task, seq, reply FROM agent_sends WHERE key = ? AND at >= ?"
_STORE: Final = (
    "INSERT INTO agent_sends (key, request, task, seq, reply, at) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET request = excluded.request, task = excluded.task, seq = excluded.seq,"
    " reply = excluded.reply, at = excluded.at WHERE agent_sends.at < ? OR agent_sends.task = ?"
)
_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode
_decode_message: Final = msgspec.json.Decoder(Message).decode


class SendKey(msgspec.Struct, frozen=True):
    """A key of a send: an idempotency key, or the id of the message in one binding of the protocol."""

    kind: Literal["id", "key"]
    value: str
    binding: str = ""


class FirstSend(msgspec.Struct, frozen=True):
    """The result of the first send: an event of a task, or a message without a task."""

    task: str
    seq: int
    reply: Message | None = None


class AlreadySent(Conflict):
    """Another process stored the same send first."""


def send_keys(message_id: str | None, idempotency_key: str | None, binding: str = "") -> tuple[SendKey, ...]:
    """The keys of a send, from the ids its sender chose."""
    keys = [] if message_id is None else [SendKey("id", message_id, binding)]
    if idempotency_key is not None:
        if not idempotency_key or len(idempotency_key) > _LONGEST or not idempotency_key.isprintable():
            raise InvalidInput(
                f"An idempotency key is 1 to {_LONGEST} printable characters.",
                hint="A UUID is a good one.",
                details={"reason": "idempotency-key"},
            )
        keys.append(SendKey("key", idempotency_key))
    return tuple(keys)


class PendingSend:
    """A send whose keys are not stored yet. Others with the same keys wait for it in this process."""

    __slots__ = ("_all", "_keys", "_now", "_over", "_request", "_since", "replaced")

    def __init__(
        self, all_pending: "dict[bytes, PendingSend]", keys: Sequence[bytes], request: bytes, now: float, since: float
    ) -> None:
        self._over: asyncio.Future[None] | None = None
        self.replaced = ""
        """The task of an earlier send whose keys this one takes over."""
        self._all = all_pending
        self._keys = keys
        self._request = request
        self._now = now
        self._since = since
        for key in keys:
            all_pending[key] = self

    def store(self, tx: Transaction, task_id: str | None, seq: int, reply: Message | None = None) -> None:
        """Store the keys with the message; AlreadySent if another process was faster."""
        answer = None if reply is None else _encode(reply)
        for key in self._keys:
            if not tx.run(_STORE, key, self._request, task_id, seq, answer, self._now, self._since, self.replaced):
                raise AlreadySent("The message was sent twice at the same time.", hint="Send it again.")

    def end(self) -> None:
        """Mark the send as stored or failed. Calling this twice does no harm."""
        keys, self._keys = self._keys, ()
        for key in keys:
            del self._all[key]
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    async def wait(self) -> None:
        """Wait for this unfinished send to end."""
        if self._over is None:
            self._over = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._over)


class Sends:
    """The sends of one store that can be repeated."""

    def __init__(self, database: Database, clock: Clock, seconds: float) -> None:
        self._database = database
        self._clock = clock
        self._seconds = seconds
        self._pending: dict[bytes, PendingSend] = {}

    async def begin(
        self,
        owner: str,
        agent: str,
        keys: Sequence[SendKey],
        message: Message,
        *,
        mode: Sequence[object],
        has_gone_on: Callable[[str], Awaitable[bool]],
    ) -> FirstSend | PendingSend:
        """The first send with one of these keys, if any; otherwise this is the first, and the caller ends it. `mode` is
        the rest of the request, such as how to wait. `has_gone_on` says whether a task's owner has used it since.
        Conflict if a key was used for another message.
        """
        request = _digest(_encode_sorted(msgspec.structs.replace(message, id="")))
        hashed = [_digest(_encode((owner, agent, *_scope(key, message, request, mode)))) for key in keys]
        while self._pending and (others := [self._pending[key] for key in hashed if key in self._pending]):
            await others[0].wait()
        now = self._clock.now()
        since = now - self._seconds
        pending = PendingSend(self._pending, hashed, request, now, since)
        try:
            for digest, key in zip(hashed, keys, strict=True):
                if (found := await self._database.lookup(_FIND, digest, since)) is None:
                    continue
                first = _first(found, request, key)
                if key.kind == "id" and message.task_id is None and first.task and await has_gone_on(first.task):
                    pending.replaced = first.task
                else:
                    pending.end()
                    return first
        except BaseException:
            pending.end()
            raise
        return pending


def _scope(key: SendKey, message: Message, request: bytes, mode: Sequence[object]) -> tuple[object, ...]:
    """The scope in which a key is unique, and its value."""
    if key.kind == "key":
        return "key", key.value
    if message.task_id is not None:
        return "answer", key.binding, message.task_id, key.value
    return "start", key.binding, key.value, request.hex(), *mode


def _first(found: tuple[bytes, str | None, int, bytes | None], request: bytes, key: SendKey) -> FirstSend:
    stored, task, seq, reply = found
    if bytes(stored) != request:
        what = "message id" if key.kind == "id" else "idempotency key"
        raise Conflict(
            f"The {what} {key.value[:100]!r} was used for another message.",
            hint="Give each message a new id, and repeat one only to send the same message again.",
            details={"reason": "message-id-reused"},
        )
    return FirstSend(task or "", seq, None if reply is None else _decode_message(bytes(reply)))


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()


def forget_old_sends(tx: Transaction, until: float, most: int, after: bytes) -> bytes | None:
    """Check some keys after this one, and delete expired ones; returns the last one, None at the end.

    There is no index by time, because every send would have to maintain it; only this needs one, and it can scan all
    keys instead.
    """
    found = tx.all("SELECT key, at FROM agent_sends WHERE key > ? ORDER BY key LIMIT ?", after, most)
    tx.run_many("DELETE FROM agent_sends WHERE key = ?", [(key,) for key, at in found if at < until])
    return bytes(found[-1][0]) if len(found) == most else None
