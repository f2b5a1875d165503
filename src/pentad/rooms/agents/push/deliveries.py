"""Sends push notifications: every event of a task, in order and at least once, to each address that wants them.

Each address is one job. Its requests are signed like webhooks (`pentad.jobs.deliveries`) with the token of the
configuration, or with the server's own push key if it has none. They also carry the token, the credentials and

    x-a2a-notification-signature: <a detached JWS over the same bytes, by the key that signs the cards>

for receivers that set no token, or do not trust what travels with the request: its header says where the public key is.
Each request needs the right to read that the owner of the task has by then; without it the address is told nothing
more.
"""

import base64
import logging
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from pentad.access.owners import require_owner
from pentad.jobs.deliveries import Attempt, Message, deliver
from pentad.jobs.job import GiveUp, JobRun, Retries, RetryLater
from pentad.kernel.errors import Forbidden
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Fetcher, Transaction
from pentad.rooms.agents.models import Dialect, Event, PushConfig, Task, applied, folded
from pentad.rooms.agents.push.store import JOB, Pushing, config_of, ids_of, note_told
from pentad.rooms.agents.tasks import store
from pentad.rooms.agents.tasks.task_log import TaskLog

Codec = Callable[[Task, Event], bytes | None]
"""The body to post for an event, given the task after it; None if the dialect does not report such events."""

JWS_HEADER: Final = "x-a2a-notification-signature"
RETRIES: Final = Retries(attempts=12, first=1.0, longest=1_800.0)
"""An address is given up after about an hour of failures."""

_SECONDS: Final = 10.0
_PAGE: Final = 50

_logger = logging.getLogger(__name__)


class Deliveries:
    """Tells addresses. For tasks of the agents in `private` an address may be on this machine or its network; that is
    for tests."""

    def __init__(self, log: TaskLog, fetcher: Fetcher, key: bytes, *, private: AbstractSet[str] = frozenset()) -> None:
        self._log = log
        self._fetcher = fetcher
        self._key = key
        self._private = private
        self.sign: Callable[[bytes], str] | None = None
        """Signs with a key whose public half anybody can read, if there is one."""
        self._codecs: dict[Dialect, Codec] = {}

    def register(self, dialect: Dialect, codec: Codec) -> None:
        """Say how events look in a dialect."""
        self._codecs[dialect] = codec

    async def run(self, run: JobRun) -> None:
        """The job: tell one address of all events that it has not been told of."""
        task_id, config_id = ids_of(run.key or "")
        box = self._log.secret_box
        has_told = False
        while True:
            one = await self._log.database.read(lambda rows: config_of(rows, box, task_id, config_id))
            if one is None or one.state == "stopped":
                return
            task, events = await self._events(one)
            if not events:
                return
            told = await self._tell(run, one, task, events, has_told)
            if told is None:
                return
            has_told = True

    async def _tell(
        self, run: JobRun, one: Pushing, task: Task, events: list[Event], has_told: bool
    ) -> int | None:  # fmt: skip
        """Tell an address of some events; the last one told, or None if it is to be told no more."""
        told = one.told
        for event in events:
            task = applied(task, event)
            try:
                await self._check_owner(task.owner)
            except Forbidden as error:
                log_failure(error, f"Telling an address of the task {one.task}")
                await self._note(run, one, told, stopped=error.message)
                return None
            attempt = await self._post(one.config, task, event)
            if attempt.problem is not None:
                await self._note(run, one, told)
                if attempt.is_gone:
                    raise GiveUp(attempt.problem)
                progressed = has_told or told > one.told
                raise RetryLater(attempt.problem, after=attempt.retry_after, progressed=progressed)
            told = event.seq
        await self._note(run, one, told)
        return told

    async def _note(self, run: JobRun, one: Pushing, told: int, stopped: str | None = None) -> None:
        def work(transaction: Transaction) -> None:
            run.check(transaction)
            note_told(transaction, one, told, stopped)
            if stopped is not None:  # events that came meanwhile are not told either
                self._log.jobs.cancel(transaction, JOB, run.key or "")

        await self._log.database.write(work)

    async def _check_owner(self, owner: str) -> None:
        """Forbidden once the owner of a task may not read it."""
        log = self._log
        await log.database.read(lambda rows: require_owner(log.owner_now, rows, owner, "agents", "read"))

    async def _events(self, one: Pushing) -> tuple[Task, list[Event]]:
        """The task as the address last heard of it, and the next events."""
        log = self._log
        head = await log.head(one.task)
        if head is None:
            return Task(id=one.task, context_id="", agent="", owner="", dialect=one.config.dialect), []
        events = await log.database.read(lambda rows: store.events_after(rows, one.task, 0, one.told + _PAGE))
        return folded(head.blank(), events[: one.told]), events[one.told :]

    async def _post(self, config: PushConfig, task: Task, event: Event) -> Attempt:
        codec = self._codecs.get(config.dialect)
        if codec is None:
            return Attempt(None, f"Nothing is known of how the dialect {config.dialect} says it.")
        try:
            body = codec(task, event)
        except Exception:
            _logger.exception(
                "Event %d of task %s cannot be said in the dialect %s.", event.seq, task.id, config.dialect
            )
            return Attempt(None, "The event cannot be said in the dialect asked for.")
        if body is None:
            return Attempt(None, None)
        message = Message(
            config.url,
            f"{task.id}.{event.seq}",
            body,
            config.token.encode() if config.token else self._key,
            _headers(config),
            timeout=_SECONDS,
            trusted=task.agent in self._private,
            countersign=self.countersign,
        )
        return await deliver(self._fetcher, self._log.clock, message)

    def countersign(self, signed: bytes) -> Mapping[str, str]:
        """The header that receivers without a token verify."""
        return {} if self.sign is None else {JWS_HEADER: self.sign(signed)}


def _headers(config: PushConfig) -> dict[str, str]:
    headers: dict[str, str] = {}
    if config.token:
        headers["x-a2a-notification-token"] = config.token
    if config.scheme and config.credentials:
        headers["authorization"] = authorization(config.scheme, config.credentials)
    return headers


def authorization(scheme: str, credentials: str) -> str:
    """The value of `authorization`: `user:password` is encoded for Basic, anything else is sent as it is."""
    if scheme.lower() == "basic" and ":" in credentials:
        credentials = base64.b64encode(credentials.encode()).decode("ascii")
    return f"{scheme[0].upper()}{scheme[1:]} {credentials}"
