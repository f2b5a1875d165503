"""Delivers webhooks: the job `registers.webhooks`, one per webhook, and the watcher that queues it after a change.

Writers know nothing about webhooks. Their change signal wakes the watcher in each process, which queues the job of
every webhook that is behind. The job records new changes as deliveries, sends those that are due, and runs again for
the next attempt. A message has what the owner may read at that moment; if the owner is gone, the webhook is disabled.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from pentad.access.owners import owner_is_gone
from pentad.jobs.job import Again, JobRun, Retries
from pentad.jobs.signed_webhooks import Attempt, Message, deliver, signing_key
from pentad.kernel.background import Background
from pentad.kernel.clock import SystemRandomness
from pentad.kernel.errors import Forbidden, PentadError, Unavailable
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.mcp.changes import CHANNEL as CHANGES
from pentad.platform import Platform
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects.change_log import feed
from pentad.rooms.registers.webhooks.deliveries import (
    Delivery,
    MessageBuilder,
    add_deliveries,
    delete_delivery,
    delete_old,
    due_deliveries,
    fail_waiting,
    next_due,
    update_delivery,
)
from pentad.rooms.registers.webhooks.service import CHANNEL, JOB
from pentad.rooms.registers.webhooks.targets import Webhook, enabled_webhooks, find_webhook, store_target

MOST_FAILURES: Final = 20
"""A webhook is disabled after this many failed attempts in a row."""

_BACKOFF: Final = Retries(first=5.0, longest=3_600.0)
_AT_ONCE: Final = 16
_BATCH: Final = 500
_COALESCE_SECONDS: Final = 0.05
_RETRY_SECONDS: Final = 5.0
_SOON_SECONDS: Final = 0.2
_CLEANUP_SECONDS: Final = 3_600.0
_OBJECT_CHANGED: Final = "resource openregister://objects/"
_HELD_BACK: Final = (
    "SELECT 1 FROM object_changes WHERE xact >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint LIMIT 1"
)
_RANDOMNESS: Final = SystemRandomness()


class WebhookWatcher:
    """Queues webhook jobs after changes. Listens for changes only while there are webhooks."""

    def __init__(self, platform: Platform) -> None:
        self._database = platform.database
        self._jobs = platform.jobs
        self._box = platform.secret_box
        self._wake = asyncio.Event()
        self._background = Background()
        self._stop_webhooks: Callable[[], None] | None = None
        self._stop_changes: Callable[[], None] | None = None

    def start(self) -> None:
        self._stop_webhooks = self._database.listen(CHANNEL, lambda _payload: self._wake.set())
        self._wake.set()  # a process may have died before queueing its changes
        self._background.start(self._serve(), "registers-webhooks")

    async def stop(self) -> None:
        if self._stop_webhooks is not None:
            self._stop_webhooks()
        self._stop_listening()
        await self._background.stop()

    def _on_change(self, payload: str) -> None:
        if payload.startswith(_OBJECT_CHANGED):
            self._wake.set()

    def _stop_listening(self) -> None:
        if self._stop_changes is not None:
            self._stop_changes()
            self._stop_changes = None

    async def _serve(self) -> None:
        pause: float | None = None
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
                await asyncio.sleep(_COALESCE_SECONDS)  # check once per burst of changes
            self._wake.clear()
            try:
                await self._queue()
                pause = None
            except PentadError as error:
                log_failure(error, "Queueing webhooks")
                pause = _RETRY_SECONDS

    async def _queue(self) -> None:
        # listen before reading: a change after the read wakes the watcher again
        if self._stop_changes is None:
            self._stop_changes = self._database.listen(CHANGES, self._on_change)
        has_webhooks, idle = await self._database.read(self._outlook)
        if not has_webhooks:
            self._stop_listening()
        if idle:
            await self._database.write(lambda tx: [self._jobs.enqueue(tx, JOB, key=one) for one in idle])

    def _outlook(self, rows: Rows) -> tuple[bool, list[str]]:
        """Whether there are webhooks, and the ids of those behind the feed and not queued yet."""
        webhooks = enabled_webhooks(rows, self._box)
        now = self._jobs.clock.now()
        queued = (
            "SELECT 1 FROM jobs WHERE name = ? AND key = ? AND (again_at <= ? OR (state = 'queued' AND run_at <= ?))"
        )
        behind = [
            one
            for one in webhooks
            if rows.value(queued, JOB, one.id, now, now) is None
            and (
                feed(rows, self._database.dialect, one.position, register=None, schema=None, limit=1)[0]
                or _is_held_back(rows, self._database.dialect)
            )
        ]
        return bool(webhooks), [one.id for one in behind]


@dataclass(frozen=True, slots=True)
class _Batch:
    webhook: Webhook
    deliveries: list[tuple[Delivery, bytes]]
    has_more: bool


class WebhookDeliveries:
    """The job's handler."""

    def __init__(self, platform: Platform, messages: MessageBuilder) -> None:
        self._platform = platform
        self._database = platform.database
        self._clock = platform.clock
        self._box = platform.secret_box
        self._messages = messages
        self._cleaned_at = 0.0

    async def run(self, run: JobRun) -> Again | None:
        """Serve one webhook until nothing is due."""
        webhook_id = run.key or ""
        while (batch := await self._database.write(lambda tx: self._next_batch(tx, run, webhook_id))) is not None:
            results = await asyncio.gather(*(self._attempt(batch.webhook, *one) for one in batch.deliveries))
            if results:
                await self._database.write(lambda tx: self._store_results(tx, run, webhook_id, results))  # noqa: B023  awaited at once
            if not results and not batch.has_more:
                at = await self._database.read(lambda rows: self._next(rows, webhook_id))
                return None if at is None else Again(at)
        return None

    def _next_batch(self, tx: Transaction, run: JobRun, webhook_id: str) -> _Batch | None:
        """What to send now; None if the webhook was deleted or disabled."""
        run.check(tx)
        now = self._clock.now()
        webhook = find_webhook(tx, webhook_id, self._box)
        if webhook is None:
            return None
        if not webhook.target.enabled:
            fail_waiting(tx, webhook_id, "The webhook is switched off.", now)
            return None
        owner = self._owner(tx, webhook, now)
        if owner is None:
            return None
        has_more = self._record(tx, webhook, owner, now)
        taken: list[tuple[Delivery, bytes]] = []
        withdrawn = 0
        for delivery in due_deliveries(tx, webhook_id, now, _AT_ONCE):
            if (body := self._messages.build(tx, owner, delivery.seq)) is not None:
                taken.append((delivery, body))
            else:
                delete_delivery(tx, delivery.id)
                withdrawn += 1
        return _Batch(webhook, taken, has_more or bool(withdrawn))

    def _owner(self, tx: Transaction, webhook: Webhook, now: float) -> Caller | None:
        """The owner with its current rights; if it is gone, the webhook is disabled."""
        owner = self._platform.owner_now(tx, webhook.saved_owner)
        if owner is not None:
            return Caller(owner)
        problem = owner_is_gone(webhook.principal)
        webhook.target.enabled, webhook.target.problem = False, problem
        store_target(tx, webhook.id, webhook.target, now, self._box)
        fail_waiting(tx, webhook.id, problem, now)
        log_failure(Forbidden(problem), f"Serving the webhook {webhook.id}")
        return None

    def _record(self, tx: Transaction, webhook: Webhook, owner: Caller, now: float) -> bool:
        """Record a delivery for each new matching change; returns whether there are more changes.

        The position also advances past changes that do not match.
        """
        changes, position = feed(tx, self._database.dialect, webhook.position, register=None, schema=None, limit=_BATCH)
        if changes:
            matching = [
                change.seq
                for change in changes
                if webhook.matches(change.action, change.register, change.schema)
                and self._messages.may_know(tx, owner, change.uuid, change.seq)
            ]
            add_deliveries(tx, webhook.id, matching, now)
            tx.run("UPDATE webhooks SET position = ? WHERE id = ?", position, webhook.id)
        return len(changes) == _BATCH

    def _next(self, rows: Rows, webhook_id: str) -> float | None:
        """When to run again: when a delivery is due, or soon if the feed holds changes back."""
        at = next_due(rows, webhook_id)
        if _is_held_back(rows, self._database.dialect):
            soon = self._clock.now() + _SOON_SECONDS
            return soon if at is None else min(at, soon)
        return at

    async def _attempt(self, webhook: Webhook, delivery: Delivery, body: bytes) -> tuple[Delivery, Attempt]:
        target = webhook.target
        message = Message(
            target.url, delivery.message_id, body, signing_key(target.secret), target.headers, timeout=target.timeout
        )
        attempt = await deliver(self._platform.fetcher, self._clock, message)
        now = self._clock.now()
        attempted = replace(
            delivery, attempt=delivery.attempt + 1, status=attempt.status, problem=attempt.problem, at=now
        )  # fmt: skip
        if attempt.problem is None:
            return replace(attempted, state="delivered"), attempt
        if attempted.attempt >= target.max_attempts or attempt.is_gone:
            log_failure(Unavailable(attempt.problem), f"Delivering to the webhook {webhook.id}")
            return replace(attempted, state="failed"), attempt
        pause = max(_BACKOFF.pause(attempted.attempt, _RANDOMNESS), attempt.retry_after)
        return replace(attempted, due_at=now + pause), attempt

    def _store_results(
        self, tx: Transaction, run: JobRun, webhook_id: str, results: list[tuple[Delivery, Attempt]]
    ) -> None:
        run.check(tx)
        webhook = find_webhook(tx, webhook_id, self._box)
        now = self._clock.now()
        for delivery, attempt in results:
            update_delivery(tx, delivery)
            if webhook is not None and webhook.target.enabled:
                self._count(tx, webhook, attempt, now)
        if now - self._cleaned_at > _CLEANUP_SECONDS:
            self._cleaned_at = now
            delete_old(tx, now)

    def _count(self, tx: Transaction, webhook: Webhook, attempt: Attempt, now: float) -> None:
        """Count consecutive failures. Too many, or a receiver that says it is gone, disable the webhook."""
        target = webhook.target
        if attempt.problem is None:
            if target.failures:
                target.failures, target.problem = 0, None
                store_target(tx, webhook.id, target, now, self._box)
            return
        target.failures += 1
        target.problem = attempt.problem
        if target.failures >= MOST_FAILURES or attempt.is_gone:
            target.enabled = False
            fail_waiting(tx, webhook.id, "The webhook was switched off after too many failures.", now)
        store_target(tx, webhook.id, target, now, self._box)


def _is_held_back(rows: Rows, dialect: Dialect) -> bool:
    """Whether PostgreSQL has changes the feed will show only after an older transaction ends."""
    return dialect == "postgres" and rows.value(_HELD_BACK) is not None
