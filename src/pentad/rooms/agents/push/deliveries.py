"""Sends push notifications: every event of a task, in order and at least once, to each address that wants them.

How far an address has been told is in the store, so a delivery survives the process; a lease sees to it that one
process tells it at a time. Each request carries the token of the configuration, its credentials, and a signature:

    webhook-id: <task>.<seq>          the same for every try, so a receiver can drop what it has
    webhook-timestamp: <seconds>
    webhook-signature: v1,<base64 of HMAC-SHA256 over "id.timestamp.body">

    x-a2a-notification-signature: <a detached JWS over the same, by the key that signs the cards>

(the convention of Standard Webhooks). The key of the first is the configuration's token; without one, the server's own
push key. The second is for who set no token, or does not trust what travels with the request: its header says where the
public key is.
Requests leave through the platform's fetcher, which decides which addresses may be reached. Each one
takes the right to read that the owner of the task has by then; without it the address is told nothing more.
"""

import asyncio
import base64
import hashlib
import hmac
import logging
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final

from pentad.access.owners import require_owner
from pentad.kernel.background import Background
from pentad.kernel.clock import Randomness, SystemRandomness
from pentad.kernel.errors import Forbidden, PentadError, Unavailable
from pentad.kernel.incidents import put_off
from pentad.kernel.ports import Fetcher
from pentad.net.urls import parse as parse_url
from pentad.rooms.agents.models import Dialect, Event, PushConfig, Task, applied, folded
from pentad.rooms.agents.push.store import NEVER, Pushing, lease_due, next_due, settle
from pentad.rooms.agents.tasks import store
from pentad.rooms.agents.tasks.task_log import TaskLog

Codec = Callable[[Task, Event], bytes | None]
"""What is posted about an event, given the task as that event left it; None where the dialect says nothing of it."""

JWS_HEADER: Final = "x-a2a-notification-signature"
MOST_ATTEMPTS: Final = 12
"""Failed tries in a row after which an address is given up; about two hours."""

_AT_ONCE: Final = 16
_SECONDS: Final = 10.0
_LEASE_SECONDS: Final = 60.0
_PAGE: Final = 50
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 1800.0
_IDLE_SECONDS: Final = 30.0
_GONE: Final = 410
_RANDOMNESS: Final = SystemRandomness()

_log = logging.getLogger(__name__)


class Deliveries:
    """One process's share of the telling. About tasks of the agents in `private` it may tell this machine and its
    network; that is for tests."""

    def __init__(
        self,
        keeping: TaskLog,
        fetcher: Fetcher,
        key: bytes,
        *,
        private: AbstractSet[str] = frozenset(),
        randomness: Randomness = _RANDOMNESS,
    ) -> None:
        self._keeping = keeping
        self._fetcher = fetcher
        self._key = key
        self._private = private
        self._randomness = randomness
        self.sign: Callable[[bytes], str] | None = None
        """Signs with a key whose public half anybody can read, where there is one."""
        self._codecs: dict[Dialect, Codec] = {}
        self._wake = asyncio.Event()
        self._background = Background()

    def register(self, dialect: Dialect, codec: Codec) -> None:
        """How events look to who asked in that dialect."""
        self._codecs[dialect] = codec

    def start(self) -> None:
        self._keeping.push_due = self._wake.set
        self._wake.set()
        self._background.start(self._serve(), "agents-push")

    async def stop(self) -> None:
        await self._background.stop()

    async def _serve(self) -> None:
        pause = 0.0
        while True:
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            try:
                pause = await self._turn()
            except PentadError as error:
                put_off(error, "Sending push notifications")
                pause = _FIRST_PAUSE
            except Exception:  # noqa: BLE001  the last line of defence: a sender that ended would be missed by nobody
                _log.exception("Sending push notifications failed.")
                pause = _IDLE_SECONDS

    async def _turn(self) -> float:
        """Send what is due; how long nothing will need another look."""
        while await self.send_due():
            continue
        due = await self._keeping.database.read(next_due)
        return _IDLE_SECONDS if due is None else min(max(due - self._keeping.clock.now(), 0.01), _IDLE_SECONDS)

    async def send_due(self) -> bool:
        """Tell a batch of addresses what is due; whether there was one."""
        now = self._keeping.clock.now()
        if (due := await self._keeping.database.read(next_due)) is None or due > now:
            return False
        taken = await self._keeping.database.write(
            lambda transaction: lease_due(transaction, self._keeping.secret_box, now, now + _LEASE_SECONDS, _AT_ONCE)
        )
        await asyncio.gather(*(self._tell(one) for one in taken))
        return bool(taken)

    async def _tell(self, one: Pushing) -> None:
        """Tell one address of the next events, until all is told, one fails, or the lease runs low."""
        started = self._keeping.clock.monotonic()
        told, problem, status = one.told, None, None
        task, events = await self._events(one)
        for event in events:
            task = applied(task, event)
            try:
                await self._check_owner(task.owner)
            except Forbidden as stopped:
                await self._stop(one, told, stopped)
                return
            status, problem = await self._post(one.config, task, event)
            if problem is not None or self._keeping.clock.monotonic() - started > _LEASE_SECONDS / 2:
                break
            told = event.seq
        attempt = one.attempt + 1 if problem is not None else 0
        due_at: float | None = None
        if problem is not None and attempt < MOST_ATTEMPTS and status != _GONE:
            due_at = self._keeping.clock.now() + self._pause(attempt)
        elif problem is not None:
            put_off(Unavailable(problem), f"Telling an address of the task {one.task}")
        await self._keeping.database.write(
            lambda transaction: settle(transaction, one, told=told, attempt=attempt, problem=problem, due_at=due_at)
        )

    async def _check_owner(self, owner: str) -> None:
        """Forbidden once the owner of a task may not read it."""
        keeping = self._keeping
        await keeping.database.read(lambda rows: require_owner(keeping.owner_now, rows, owner, "agents", "read"))

    async def _stop(self, one: Pushing, told: int, error: Forbidden) -> None:
        """Tell an address nothing more, until its configuration is set again."""
        put_off(error, f"Telling an address of the task {one.task}")
        await self._keeping.database.write(
            lambda transaction: settle(transaction, one, told=told, attempt=0, problem=error.message, due_at=NEVER)
        )

    async def _events(self, one: Pushing) -> tuple[Task, list[Event]]:
        """The task as the address last heard of it, and what it has to hear next."""
        keeping = self._keeping
        head = await keeping.head(one.task)
        if head is None:
            return Task(id=one.task, context_id="", agent="", owner="", dialect=one.config.dialect), []
        events = await keeping.database.read(lambda rows: store.events_after(rows, one.task, 0, one.told + _PAGE))
        return folded(head.blank(), events[: one.told]), events[one.told :]

    async def _post(self, config: PushConfig, task: Task, event: Event) -> tuple[int | None, str | None]:
        codec = self._codecs.get(config.dialect)
        if codec is None:
            return None, f"Nothing is known of how the dialect {config.dialect} says it."
        try:
            body = codec(task, event)
        except Exception:  # noqa: BLE001  a mistake in one dialect holds up nobody else's notifications
            _log.exception("Event %d of task %s cannot be said in the dialect %s.", event.seq, task.id, config.dialect)
            return None, "The event cannot be said in the dialect asked for."
        if body is None:
            return None, None
        message_id, stamp = f"{task.id}.{event.seq}", int(self._keeping.clock.now())
        try:
            answer = await self._fetcher.fetch(
                config.url, method="POST", headers=self._headers(config, message_id, stamp, body), body=body,
                max_bytes=65_536, timeout=_SECONDS, trusted=task.agent in self._private,
            )  # fmt: skip
        except PentadError as error:
            return None, error.message
        if answer.url != parse_url(config.url).url:
            return answer.status, "The address redirects; a notification is not sent elsewhere."
        return answer.status, None if 200 <= answer.status < 300 else f"The address answered {answer.status}."

    def _headers(self, config: PushConfig, message_id: str, stamp: int, body: bytes) -> dict[str, str]:
        key = config.token.encode() if config.token else self._key
        headers = {
            "content-type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(stamp),
            "webhook-signature": signature(key, message_id, stamp, body),
        }
        if self.sign is not None:
            headers[JWS_HEADER] = self.sign(signed_bytes(message_id, stamp, body))
        if config.token:
            headers["x-a2a-notification-token"] = config.token
        if config.scheme and config.credentials:
            headers["authorization"] = authorization(config.scheme, config.credentials)
        return headers

    def _pause(self, attempt: int) -> float:
        """Twice as long after every try, and never the same for all: half of it is chance."""
        whole = min(_FIRST_PAUSE * 2.0 ** (attempt - 1), _LONGEST_PAUSE)
        return whole * (0.5 + int.from_bytes(self._randomness.token_bytes(4), "big") / 2**33)


def signed_bytes(message_id: str, stamp: int, body: bytes) -> bytes:
    """What is signed of a notification."""
    return f"{message_id}.{stamp}.".encode() + body


def signature(key: bytes, message_id: str, stamp: int, body: bytes) -> str:
    """The value of `webhook-signature`."""
    signed = hmac.new(key, signed_bytes(message_id, stamp, body), hashlib.sha256)
    return "v1," + base64.b64encode(signed.digest()).decode("ascii")


def authorization(scheme: str, credentials: str) -> str:
    """The value of `authorization`: `user:password` is encoded for Basic, anything else is sent as it is."""
    if scheme.lower() == "basic" and ":" in credentials:
        credentials = base64.b64encode(credentials.encode()).decode("ascii")
    return f"{scheme[0].upper()}{scheme[1:]} {credentials}"
