"""Push notifications: configs that the owners of tasks set, and the job that delivers events to a receiver.

A receiver gets every event in order, at least once, in the dialect of its config. Each config is one job. Requests are
signed like webhooks (`pentad.jobs.signed_webhooks`) with the token of the config, or with the server's push key if it
has none. They also carry the token, the credentials and

    x-a2a-notification-signature: <a detached JWS over the same bytes, by the key that signs the cards>

for receivers that set no token, or do not trust a secret sent with the request. Its header says where the public key
is. Before each request, the task's owner must still have the right to read it; otherwise deliveries stop.

The fetcher decides which URLs are allowed, when a config is set and again at every delivery, because a host name may
resolve differently by then. Tokens and credentials are returned only to the caller that sets them.
"""

import base64
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final
from urllib.parse import quote

import msgspec

from pentad.access.owners import require_owner
from pentad.jobs.job import GiveUp, JobRun, Retries, RetryLater
from pentad.jobs.signed_webhooks import Attempt, Message, deliver
from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded, NotFound
from pentad.kernel.ids import opaque_id
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Fetcher, Transaction
from pentad.kernel.principal import Principal
from pentad.net.urls import parse as parse_url
from pentad.rooms.agents import store
from pentad.rooms.agents.codecs.a2a_v03 import V03
from pentad.rooms.agents.codecs.a2a_v10 import V10
from pentad.rooms.agents.codecs.agentvault import AgentVaultCodec
from pentad.rooms.agents.codecs.base import Codec
from pentad.rooms.agents.models import Dialect, Event, PushConfig, Task, apply_event, apply_events
from pentad.rooms.agents.tasks.push_store import (
    PUSH_JOB,
    PushStatus,
    configs_of,
    delete_config,
    get_config,
    ids_in,
    insert_config,
    save_progress,
    update_count,
)
from pentad.rooms.agents.tasks.task_log import TaskLog

MAX_CONFIGS: Final = 10
"""Per task."""
DEFAULT_ID: Final = "default"
JWS_HEADER: Final = "x-a2a-notification-signature"
RETRIES: Final = Retries(attempts=12, first=1.0, longest=1_800.0)
"""Deliveries to a receiver end after about an hour of failures."""

_TIMEOUT_SECONDS: Final = 10.0
_PAGE: Final = 50
_FIELD: Final = re.compile(r"[\x20-\x7e]{1,4000}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_ID: Final = re.compile(r"[\x21-\x7e]{1,200}")
_encode: Final = msgspec.json.Encoder().encode
_logger = logging.getLogger(__name__)


class PushConfigs:
    """The configs of tasks, for their owners. Configs of the agents in `private` may name private addresses; that is
    for tests.
    """

    def __init__(self, log: TaskLog, fetcher: Fetcher | None = None, private: AbstractSet[str] = frozenset()) -> None:
        self._log = log
        self._fetcher = fetcher
        self._private = private

    async def check(self, config: PushConfig, agent: str) -> PushConfig:
        """The config for a task of that agent, with an id; InvalidInput if it could never be delivered."""
        config = _with_id(config)
        if self._fetcher is not None:
            try:
                await self._fetcher.check(config.url, trusted=agent in self._private)
            except Forbidden as error:
                problem = {"path": "/url", "rule": "bad-push-config", "message": error.sentence()}
                raise InvalidInput(
                    f"Push notifications cannot be sent to this URL: {error.message}",
                    hint=error.hint,
                    details={"reason": "bad-push-config", "problems": [problem]},
                ) from None
        return config

    async def set(self, caller: Principal, task_id: str, config: PushConfig, *, agent: str | None = None) -> PushConfig:
        """Send the later events of the task to a receiver. Returns the config with its secrets."""
        task = await self._log.owned(caller, task_id, agent)
        config = await self.check(config, task.agent)
        now, box, jobs = self._log.now(), self._log.secret_box, self._log.jobs

        def work(transaction: Transaction) -> None:
            known = configs_of(transaction, box, task_id)
            if len(known) >= MAX_CONFIGS and all(one.config.id != config.id for one in known):
                raise LimitExceeded(
                    f"The task has {MAX_CONFIGS} push configurations, which is the maximum.",
                    hint="Delete one first.",
                    details={"reason": "too-many-push-configs"},
                )
            seq = int(transaction.value("SELECT seq FROM agent_tasks WHERE id = ?", task_id))
            insert_config(transaction, box, jobs, task_id, config, delivered=seq, now=now)
            update_count(transaction, task_id)

        await self._log.database.write(work)
        return config

    async def get(
        self, caller: Principal, task_id: str, config_id: str | None = None, *, agent: str | None = None
    ) -> PushConfig:
        """One config without its secrets. Without an id, or if the id `default` is unknown, the first one: clients that
        assume one config per task use that id.
        """
        configs = {one.id: one for one in await self.list(caller, task_id, agent=agent)}
        if config_id in configs:
            return configs[config_id]
        if configs and config_id in (None, DEFAULT_ID):
            return next(iter(configs.values()))
        raise _not_found(config_id)

    async def list(self, caller: Principal, task_id: str, *, agent: str | None = None) -> list[PushConfig]:
        """All configs of a task, without their secrets."""
        await self._log.owned(caller, task_id, agent)
        found = await self.statuses(task_id)
        return [msgspec.structs.replace(one.config, token=None, credentials=None) for one in found]

    async def statuses(self, task_id: str) -> Sequence[PushStatus]:
        """The delivery status of each config, for callers that may see the task."""
        return await self._log.database.read(lambda rows: configs_of(rows, self._log.secret_box, task_id))

    async def delete(self, caller: Principal, task_id: str, config_id: str, *, agent: str | None = None) -> None:
        """Delete one config. `default` also means the only config, whatever its id."""
        configs = await self.list(caller, task_id, agent=agent)
        if config_id == DEFAULT_ID and len(configs) == 1:
            config_id = configs[0].id
        jobs = self._log.jobs
        if not await self._log.database.write(lambda tx: delete_config(tx, jobs, task_id, config_id)):
            raise _not_found(config_id)


class PushDeliveries:
    """Delivers events. Receivers of tasks of the agents in `private` may have private addresses; that is for tests.

    `site` is the URL of this server in notifications. `sign` signs with a key whose public half everyone can read.
    """

    def __init__(
        self,
        log: TaskLog,
        fetcher: Fetcher,
        key: bytes,
        *,
        site: str = "",
        sign: Callable[[bytes], str] | None = None,
        private: AbstractSet[str] = frozenset(),
    ) -> None:
        self._log = log
        self._fetcher = fetcher
        self._key = key
        self._sign = sign
        self._private = private
        self.encode: Callable[[Dialect, Task, Event], bytes | None] = partial(encode_notification, site)

    async def run(self, run: JobRun) -> None:
        """The job: deliver all new events to one receiver."""
        task_id, config_id = ids_in(run.key or "")
        box = self._log.secret_box
        progressed = False
        while True:
            one = await self._log.database.read(lambda rows: get_config(rows, box, task_id, config_id))
            if one is None or one.state == "stopped":
                return
            task, events = await self._next_events(one)
            if not events or not await self._deliver_all(run, one, task, events, progressed):
                return
            progressed = True

    async def _deliver_all(
        self, run: JobRun, one: PushStatus, task: Task, events: list[Event], progressed: bool
    ) -> bool:  # fmt: skip
        """Deliver these events; False if the owner of the task has lost the right to read it."""
        delivered = one.delivered
        for event in events:
            task = apply_event(task, event)
            try:
                await self._check_owner(task.owner)
            except Forbidden as error:
                log_failure(error, f"Push notifications of the task {one.task}")
                await self._save(run, one, delivered, stopped=error.message)
                return False
            attempt = await self._post(one.config, task, event)
            if attempt.problem is not None:
                await self._save(run, one, delivered)
                if attempt.is_gone:
                    raise GiveUp(attempt.problem)
                progressed = progressed or delivered > one.delivered
                raise RetryLater(attempt.problem, after=attempt.retry_after, progressed=progressed)
            delivered = event.seq
        await self._save(run, one, delivered)
        return True

    async def _save(self, run: JobRun, one: PushStatus, delivered: int, stopped: str | None = None) -> None:
        def work(transaction: Transaction) -> None:
            run.check(transaction)
            save_progress(transaction, one, delivered, stopped)
            if stopped is not None:  # events appended meanwhile are not delivered either
                self._log.jobs.cancel(transaction, PUSH_JOB, run.key or "")

        await self._log.database.write(work)

    async def _check_owner(self, owner: str) -> None:
        """Forbidden if the owner of a task may no longer read it."""
        log = self._log
        await log.database.read(lambda rows: require_owner(log.owner_now, rows, owner, "agents", "read"))

    async def _next_events(self, one: PushStatus) -> tuple[Task, list[Event]]:
        """The task after the last delivered event, and the next events."""
        log = self._log
        head = await log.head(one.task)
        if head is None:
            return Task(id=one.task, context_id="", agent="", owner="", dialect=one.config.dialect), []
        events = await log.database.read(lambda rows: store.events_after(rows, one.task, 0, one.delivered + _PAGE))
        return apply_events(head.blank(), events[: one.delivered]), events[one.delivered :]

    async def _post(self, config: PushConfig, task: Task, event: Event) -> Attempt:
        try:
            body = self.encode(config.dialect, task, event)
        except Exception:
            _logger.exception("Event %d of task %s cannot be encoded for %s.", event.seq, task.id, config.dialect)
            return Attempt(None, "The event cannot be encoded in the dialect of the configuration.")
        if body is None:
            return Attempt(None, None)
        message = Message(
            config.url,
            f"{task.id}.{event.seq}",
            body,
            config.token.encode() if config.token else self._key,
            _headers(config),
            timeout=_TIMEOUT_SECONDS,
            trusted=task.agent in self._private,
            countersign=self.countersign,
        )
        return await deliver(self._fetcher, self._log.clock, message)

    def countersign(self, signed: bytes) -> Mapping[str, str]:
        """The header that receivers without a token verify."""
        return {} if self._sign is None else {JWS_HEADER: self._sign(signed)}


def encode_notification(site: str, dialect: Dialect, task: Task, event: Event) -> bytes | None:
    """The body of a notification, given the task after the event; None if the dialect does not report this event.

    A2A 1.0 gets the same objects as in streams, 0.3 the whole task, AgentVault the event as its streams name it.
    """
    codec: Codec
    if dialect == "agentvault":
        files = f"{site}/agents/{task.agent}/tasks"
        codec = AgentVaultCodec(lambda one, holder, number: f"{files}/{one}/files/{quote(holder, safe='')}/{number}")
    else:
        codec = {"1.0": V10, "0.3": V03}[dialect]
    body = codec.encode_notification(task, event)
    return None if body is None else _encode(body)


def authorization(scheme: str, credentials: str) -> str:
    """The value of `authorization`: `user:password` is encoded for Basic, anything else is sent as it is."""
    if scheme.lower() == "basic" and ":" in credentials:
        credentials = base64.b64encode(credentials.encode()).decode("ascii")
    return f"{scheme[0].upper()}{scheme[1:]} {credentials}"


def _headers(config: PushConfig) -> dict[str, str]:
    headers: dict[str, str] = {}
    if config.token:
        headers["x-a2a-notification-token"] = config.token
    if config.scheme and config.credentials:
        headers["authorization"] = authorization(config.scheme, config.credentials)
    return headers


def _with_id(config: PushConfig) -> PushConfig:
    """The config with an id, if every value can be sent in a header."""
    parse_url(config.url)
    for name, value, pattern in (
        ("id", config.id or None, _ID),
        ("token", config.token, _FIELD),
        ("authentication scheme", config.scheme, _SCHEME),
        ("credentials", config.credentials, _FIELD),
    ):
        if value is not None and not pattern.fullmatch(value):
            raise InvalidInput(
                f"The {name} of the push configuration cannot be sent in a header.",
                hint="Use visible ASCII characters.",
                details={"reason": "bad-push-config"},
            )
    return config if config.id else msgspec.structs.replace(config, id=opaque_id(size=12))


def _not_found(config_id: str | None) -> NotFound:
    name = "no push configuration" if config_id is None else f"no push configuration {config_id[:100]!r}"
    return NotFound(f"The task has {name}.", details={"reason": "push-config-not-found"})
