"""Sends webhook deliveries in the background: makes them out from the feed, leases what is due, tries, writes down.

Every process that has the room open runs one sender; leases in the store see to it that each delivery is sent by one.
A sender sleeps until a change is heard or a delivery is due, and does nothing at all while nobody has a webhook. Every
request goes out through the platform's fetcher, which decides which addresses may be reached. What a webhook is told is
decided by what its owner may read at that moment; one whose owner is gone is switched off.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from pentad.access.owners import OwnerNow, owner_is_gone
from pentad.access.secret_box import PLAIN, SecretBox
from pentad.kernel.background import Background
from pentad.kernel.clock import Clock, Randomness, SystemRandomness
from pentad.kernel.errors import Forbidden, PentadError, Unavailable
from pentad.kernel.incidents import put_off
from pentad.kernel.ports import Database, Dialect, Fetcher, Rows, Transaction
from pentad.mcp.changes import CHANNEL as CHANGES
from pentad.net.urls import parse as parse_url
from pentad.rooms.registers.deliveries import (
    Delivery,
    forget_old,
    give_up,
    lease,
    make_out,
    next_due,
    settle,
    withdraw,
)
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects.chronicle import feed
from pentad.rooms.registers.webhook_messages import Messages
from pentad.rooms.registers.webhook_targets import Webhook, enabled_webhooks, signature, store_target
from pentad.rooms.registers.webhooks import CHANNEL

MOST_FAILURES: Final = 20
"""Failed tries in a row after which a webhook is switched off."""

_GONE: Final = 410
_AT_ONCE: Final = 16
_BATCH: Final = 500
_LEASE_MARGIN: Final = 30.0
_FIRST_PAUSE: Final = 5.0
_LONGEST_PAUSE: Final = 3600.0
_COALESCE_SECONDS: Final = 0.05
_IDLE_SECONDS: Final = 60.0
_SOON_SECONDS: Final = 0.2
_TIDY_SECONDS: Final = 3600.0
_HEARD: Final = "resource openregister://objects/"
_HELD_BACK: Final = (
    "SELECT 1 FROM object_changes WHERE xact >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint LIMIT 1"
)
_RANDOMNESS: Final = SystemRandomness()

_log = logging.getLogger(__name__)


class Sender:
    """One process's share of the sending. `start` and `stop` it with the room."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        fetcher: Fetcher,
        messages: Messages,
        owner_now: OwnerNow,
        randomness: Randomness = _RANDOMNESS,
        box: SecretBox = PLAIN,
    ) -> None:
        self._database = database
        self._messages = messages
        self._owner_now = owner_now
        self._box = box
        self._clock = clock
        self._fetcher = fetcher
        self._randomness = randomness
        self._wake = asyncio.Event()
        self._wanted = True
        self._tidied = 0.0
        self._background = Background()
        self._ends: list[Callable[[], None]] = []

    def start(self) -> None:
        self._ends = [
            self._database.listen(CHANGES, self._hear_change),
            self._database.listen(CHANNEL, self._hear_webhook),
        ]
        self._wake.set()
        self._background.start(self._serve(), "registers-webhooks")

    async def stop(self) -> None:
        for end in self._ends:
            end()
        await self._background.stop()

    def _hear_change(self, payload: str) -> None:
        if self._wanted and payload.startswith(_HEARD):
            self._wake.set()

    def _hear_webhook(self, _payload: str) -> None:
        self._wanted = True
        self._wake.set()

    async def _serve(self) -> None:
        pause: float | None = 0.0
        while True:
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                pass
            else:
                await asyncio.sleep(_COALESCE_SECONDS)  # a burst of changes is looked at once
            self._wake.clear()
            pause = await self._turn()

    async def _turn(self) -> float | None:
        """One look at the store; how long nothing will need another, None for "until something is heard"."""
        try:
            while await self.send_due():
                continue
            self._wanted, due, soon = await self._database.read(self._outlook)
        except PentadError as error:
            put_off(error, "Sending webhooks")
            return _FIRST_PAUSE
        except Exception:  # noqa: BLE001  the last line of defence: a sender that ended would be missed by nobody
            _log.exception("Sending webhooks failed.")
            return _IDLE_SECONDS
        if due is not None:
            return min(max(due - self._clock.now(), 0.0), _IDLE_SECONDS)
        return _SOON_SECONDS if soon else _IDLE_SECONDS if self._wanted else None

    def _outlook(self, rows: Rows) -> tuple[bool, float | None, bool]:
        """Whether anybody has a webhook, when a delivery is due, and whether the feed holds something back."""
        wanted = bool(enabled_webhooks(rows, self._box))
        return wanted, next_due(rows), wanted and _held_back(rows, self._database.dialect)

    async def send_due(self) -> bool:
        """Make out what the feed brought, then send one batch of what is due; whether there may be more to do."""
        if not await self._database.read(lambda rows: bool(enabled_webhooks(rows, self._box))):
            return False
        batch, more = await self._database.write(self._take)
        results = await asyncio.gather(*(self._try(webhook, delivery, body) for webhook, delivery, body in batch))
        if results:
            await self._database.write(lambda transaction: self._write_down(transaction, results))
        return more or bool(results)

    def _take(self, transaction: Transaction) -> tuple[list[tuple[Webhook, Delivery, bytes]], bool]:
        now = self._clock.now()
        served = self._served(transaction, now)
        more = [self._make_out(transaction, webhook, owner, now) for webhook, owner in served.values()]
        longest = max((webhook.target.timeout for webhook, _ in served.values()), default=0.0)
        taken: list[tuple[Webhook, Delivery, bytes]] = []
        for delivery in lease(transaction, now, now + longest + _LEASE_MARGIN, _AT_ONCE):
            if delivery.webhook not in served:
                give_up(transaction, delivery.webhook, "The webhook is switched off.", now)
                continue
            webhook, owner = served[delivery.webhook]
            if (body := self._messages.of(transaction, owner, delivery.seq)) is not None:
                taken.append((webhook, delivery, body))
            else:
                withdraw(transaction, delivery.id)
        return taken, any(more)

    def _served(self, transaction: Transaction, now: float) -> dict[str, tuple[Webhook, Caller]]:
        """The webhooks to serve, each with its owner as of now; one whose owner is gone is switched off."""
        served: dict[str, tuple[Webhook, Caller]] = {}
        for webhook in enabled_webhooks(transaction, self._box):
            owner = self._owner_now(transaction, webhook.saved_owner)
            if owner is not None:
                served[webhook.id] = (webhook, Caller(owner))
                continue
            problem = owner_is_gone(webhook.principal)
            webhook.target.enabled, webhook.target.problem = False, problem
            store_target(transaction, webhook.id, webhook.target, now, self._box)
            give_up(transaction, webhook.id, problem, now)
            put_off(Forbidden(problem), f"Serving the webhook {webhook.id}")
        return served

    def _make_out(self, transaction: Transaction, webhook: Webhook, owner: Caller, now: float) -> bool:
        """Queue what happened since; whether there is more. The position passes what the webhook does not want, too."""
        changes, position = feed(
            transaction, self._database.dialect, webhook.position, register=None, schema=None, limit=_BATCH
        )
        if changes:
            wanted = [
                change.seq
                for change in changes
                if webhook.wants(change.action, change.register, change.schema)
                and self._messages.is_for(transaction, owner, change.uuid, change.seq)
            ]
            make_out(transaction, webhook.id, wanted, now)
            transaction.run("UPDATE webhooks SET position = ? WHERE id = ?", position, webhook.id)
        return len(changes) == _BATCH

    async def _try(self, webhook: Webhook, delivery: Delivery, body: bytes) -> tuple[Webhook, Delivery]:
        status, problem = await self._post(webhook, delivery, body)
        now = self._clock.now()
        tried = replace(delivery, attempt=delivery.attempt + 1, status=status, problem=problem, at=now)
        if problem is None:
            return webhook, replace(tried, state="delivered")
        if tried.attempt >= webhook.target.max_attempts or status == _GONE:
            put_off(Unavailable(problem), f"Delivering to the webhook {webhook.id}")
            return webhook, replace(tried, state="failed")
        return webhook, replace(tried, due_at=now + self._pause(tried.attempt))

    async def _post(self, webhook: Webhook, delivery: Delivery, body: bytes) -> tuple[int | None, str | None]:
        target = webhook.target
        stamp = int(self._clock.now())
        headers = {
            **target.headers,
            "content-type": "application/json",
            "webhook-id": delivery.message_id,
            "webhook-timestamp": str(stamp),
            "webhook-signature": signature(target.secret, delivery.message_id, stamp, body),
        }
        try:
            answer = await self._fetcher.fetch(
                target.url, method="POST", headers=headers, body=body, max_bytes=65_536, timeout=target.timeout
            )
        except PentadError as error:
            return None, error.message
        if answer.url != parse_url(target.url).url:
            return answer.status, "The address redirects; a delivery is not sent elsewhere."
        return answer.status, None if 200 <= answer.status < 300 else f"The address answered {answer.status}."

    def _pause(self, attempt: int) -> float:
        """Twice as long after every try, and never the same for all: half of it is chance."""
        whole = min(_FIRST_PAUSE * 2.0 ** (attempt - 1), _LONGEST_PAUSE)
        return whole * (0.5 + int.from_bytes(self._randomness.token_bytes(4), "big") / 2**33)

    def _write_down(self, transaction: Transaction, results: "list[tuple[Webhook, Delivery]]") -> None:
        known = {webhook.id: webhook for webhook in enabled_webhooks(transaction, self._box)}
        now = self._clock.now()
        for webhook, delivery in results:
            settle(transaction, delivery)
            if (current := known.get(webhook.id)) is not None:
                _count(transaction, current, delivery, now, self._box)
        if now - self._tidied > _TIDY_SECONDS:
            self._tidied = now
            forget_old(transaction, now)


def _count(transaction: Transaction, webhook: Webhook, delivery: Delivery, now: float, box: SecretBox) -> None:
    """Keep the count of failures in a row; too many, or a receiver that says it is gone, switch the webhook off."""
    target = webhook.target
    if delivery.problem is None:
        if target.failures:
            target.failures, target.problem = 0, None
            store_target(transaction, webhook.id, target, now, box)
        return
    target.failures += 1
    target.problem = delivery.problem
    if target.failures >= MOST_FAILURES or delivery.status == _GONE:
        target.enabled = False
        give_up(transaction, webhook.id, "The webhook was switched off after too many failures.", now)
    store_target(transaction, webhook.id, target, now, box)


def _held_back(rows: Rows, dialect: Dialect) -> bool:
    """Whether PostgreSQL has changes the feed will show only when an older transaction has ended."""
    if dialect == "sqlite":
        return False
    return rows.value(_HELD_BACK) is not None
