"""Webhooks: addresses that are told of changes.

Who registers one is told of every object it names, so it takes an admin. Only registering, changing and looking happen
here; `sending.py` does the sending.
"""

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.access.secret_box import PLAIN, SecretBox
from pentad.kernel.clock import Clock, Randomness, SystemRandomness
from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers.deliveries import Delivery, again, log_of
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects.chronicle import newest
from pentad.rooms.registers.webhook_targets import (
    SECRET_PREFIX,
    SELECT,
    Target,
    Webhook,
    check_target,
    kind_of,
    one_webhook,
    read_target,
    store_target,
    stored_target,
    webhook_from,
)

if TYPE_CHECKING:
    from pentad.rooms.registers.catalogue import Catalogue

CHANNEL: Final = "registers.webhooks"
"""Signalled when a webhook was registered, changed or told to try again."""

MOST_WEBHOOKS: Final = 100
_RANDOMNESS: Final = SystemRandomness()
_INSERT: Final = (
    "INSERT INTO webhooks (id, principal, body, position, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)"
)
_OUTCOME: Final = frozenset({"failures", "problem"})


class Webhooks:
    """Registering, changing and listing; every method is for admins of the room."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        catalogue: "Catalogue",
        randomness: Randomness = _RANDOMNESS,
        box: SecretBox = PLAIN,
    ) -> None:
        self._database = database
        self._box = box
        self._clock = clock
        self._catalogue = catalogue
        self._randomness = randomness

    async def create(self, caller: Caller, data: Mapping[str, Any]) -> Webhook:
        """Register an address; from now on it is told of changes. The answer holds the secret, for the only time."""
        _admin(caller)
        target = await self._checked(caller, data, None)
        if not target.secret:
            target.secret = SECRET_PREFIX + base64.b64encode(self._randomness.token_bytes(32)).decode("ascii")
        now = self._clock.now()
        made = opaque_id(self._randomness, 12)

        def work(transaction: Transaction) -> Webhook:
            if int(transaction.value("SELECT count(*) FROM webhooks")) >= MOST_WEBHOOKS:
                raise LimitExceeded(f"There are {MOST_WEBHOOKS} webhooks already.", hint="Delete one first.")
            webhook = Webhook(made, caller.principal.id, target, newest(transaction, self._database.dialect), now, now)
            transaction.run(
                _INSERT,
                made, webhook.principal, stored_target(made, target, self._box), webhook.position, now, now,
            )  # fmt: skip
            transaction.signal(CHANNEL)
            return webhook

        return await self._database.write(work)

    async def get(self, caller: Caller, webhook_id: str) -> Webhook:
        _admin(caller)
        return await self._database.read(lambda rows: one_webhook(rows, webhook_id, self._box))

    async def update(self, caller: Caller, webhook_id: str, data: Mapping[str, Any]) -> Webhook:
        """Change what is given and keep the rest. Enabling it again forgets its failures and what it missed."""
        _admin(caller)
        known = await self.get(caller, webhook_id)
        target = await self._checked(caller, data, known.target)
        revived = target.enabled and not known.target.enabled
        if not revived:
            target.failures, target.problem = known.target.failures, known.target.problem

        def work(transaction: Transaction) -> Webhook:
            one_webhook(transaction, webhook_id, self._box)
            store_target(transaction, webhook_id, target, self._clock.now(), self._box)
            if revived:
                position = newest(transaction, self._database.dialect)
                transaction.run("UPDATE webhooks SET position = ? WHERE id = ?", position, webhook_id)
            transaction.signal(CHANNEL)
            return one_webhook(transaction, webhook_id, self._box)

        return await self._database.write(work)

    async def delete(self, caller: Caller, webhook_id: str) -> None:
        """Forget an address, its deliveries and their log."""
        _admin(caller)

        def work(transaction: Transaction) -> None:
            one_webhook(transaction, webhook_id, self._box)
            transaction.run("DELETE FROM webhooks WHERE id = ?", webhook_id)
            transaction.signal(CHANNEL)

        await self._database.write(work)

    async def deliveries(
        self, caller: Caller, webhook_id: str, limit: int = 50, before: int | None = None
    ) -> list[Delivery]:
        """The log of one webhook, newest first."""
        _admin(caller)

        def work(rows: Rows) -> list[Delivery]:
            one_webhook(rows, webhook_id, self._box)
            return log_of(rows, webhook_id, min(max(limit, 1), 1000), before)

        return await self._database.read(work)

    async def retry(self, caller: Caller, webhook_id: str, delivery_id: int) -> Delivery:
        """Send a delivery once more, now, whatever became of it; receivers know it by the same message id."""
        _admin(caller)

        def work(transaction: Transaction) -> Delivery:
            one_webhook(transaction, webhook_id, self._box)
            delivery = again(transaction, webhook_id, delivery_id, self._clock.now())
            transaction.signal(CHANNEL)
            return delivery

        return await self._database.write(work)

    async def list(self, caller: Caller) -> list[Webhook]:
        """All webhooks, oldest first."""
        _admin(caller)
        sql = f"{SELECT} ORDER BY created_at, id"
        return await self._database.read(lambda rows: [webhook_from(row, self._box) for row in rows.all(sql)])

    async def _checked(self, caller: Caller, data: Mapping[str, Any], known: Target | None) -> Target:
        """What is asked for on top of what is known, without what became of it so far."""
        if owned := _OUTCOME & set(data):
            raise InvalidInput(f"{min(owned)!r} cannot be set.", hint="Leave it out.")
        given = dict(data)
        for name, get in (("register", self._catalogue.get_register), ("schema", self._catalogue.get_schema)):
            if (ref := given.get(name)) is not None:
                if isinstance(ref, bool) or not isinstance(ref, int | str):
                    raise InvalidInput(f"The webhook's {name} is {kind_of(ref)}.", hint="Give its id, uuid or slug.")
                given[name] = (await get(caller, ref)).id
        kept: dict[str, Any] = {} if known is None else msgspec.to_builtins(known)
        wanted = {name: value for name, value in {**kept, **given}.items() if name not in _OUTCOME}
        target = read_target(wanted)
        check_target(target)
        return target


def _admin(caller: Caller) -> None:
    if not caller.principal.may("registers", "admin"):
        raise Forbidden("Webhooks are for admins of the registers room.", hint="Ask for the scope registers:admin.")
