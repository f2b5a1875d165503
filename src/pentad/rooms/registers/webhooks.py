"""Webhooks: addresses that are told of changes.

A webhook on a register or schema takes the right to define that; one on everything is for administrators. It belongs to
the user who registered it: only that user and administrators can see it, and it is told what its owner may read. This
module registers, changes and lists webhooks; `webhook_jobs.py` delivers.
"""

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.access.secret_box import PLAIN, SecretBox
from pentad.jobs.deliveries import SECRET_PREFIX
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import Clock, Randomness, SystemRandomness
from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers.access import AccessRules, is_admin
from pentad.rooms.registers.deliveries import Delivery, again, log_of
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects.change_log import newest
from pentad.rooms.registers.webhook_targets import (
    Target,
    Webhook,
    check_target,
    kind_of,
    one_webhook,
    read_target,
    store_target,
    stored_target,
    webhooks_of,
)

if TYPE_CHECKING:
    from pentad.rooms.registers.catalogue import Catalogue

CHANNEL: Final = "registers.webhooks"
"""Signalled when a webhook was registered or changed."""

JOB: Final = "registers.webhooks"
"""Delivers to one webhook, whose id is the key."""

MOST_WEBHOOKS: Final = 100
"""How many there are before an administrator may not make another."""

MOST_OF_ONE: Final = 10
"""How many somebody has who is no administrator."""

_RANDOMNESS: Final = SystemRandomness()
_INSERT: Final = (
    "INSERT INTO webhooks (id, principal, body, position, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)"
)
_OUTCOME: Final = frozenset({"failures", "problem", "scopes", "user"})


class Webhooks:
    """Registering, changing and listing, for administrators of the room and whoever may define."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        catalogue: "Catalogue",
        access: AccessRules,
        jobs: JobQueue,
        randomness: Randomness = _RANDOMNESS,
        box: SecretBox = PLAIN,
    ) -> None:
        self._database = database
        self._box = box
        self._clock = clock
        self._catalogue = catalogue
        self._access = access
        self._jobs = jobs
        self._randomness = randomness

    async def create(self, caller: Caller, data: Mapping[str, Any]) -> Webhook:
        """Register an address; from now on it is told of changes. The answer holds the secret, for the only time."""
        refuse_strangers(caller)
        target = await self._checked(caller, data, None)
        _write_down(caller, target)
        if not target.secret:
            target.secret = SECRET_PREFIX + base64.b64encode(self._randomness.token_bytes(32)).decode("ascii")
        now = self._clock.now()
        made = opaque_id(self._randomness, 12)

        def work(transaction: Transaction) -> Webhook:
            self._refuse_more(transaction, caller)
            webhook = Webhook(made, caller.principal.id, target, newest(transaction, self._database.dialect), now, now)
            transaction.run(
                _INSERT,
                made, webhook.principal, stored_target(made, target, self._box), webhook.position, now, now,
            )  # fmt: skip
            transaction.signal(CHANNEL)
            return webhook

        return await self._database.write(work)

    async def get(self, caller: Caller, webhook_id: str) -> Webhook:
        refuse_strangers(caller)
        return await self._database.read(lambda rows: one_webhook(rows, webhook_id, self._box, self._own(caller)))

    async def update(self, caller: Caller, webhook_id: str, data: Mapping[str, Any]) -> Webhook:
        """Change what is given and keep the rest. Enabling it again forgets its failures and what it missed."""
        known = await self.get(caller, webhook_id)
        target = await self._checked(caller, data, known.target)
        if caller.principal.id == known.principal:
            _write_down(caller, target)
        revived = target.enabled and not known.target.enabled
        if not revived:
            target.failures, target.problem = known.target.failures, known.target.problem

        def work(transaction: Transaction) -> Webhook:
            one_webhook(transaction, webhook_id, self._box, self._own(caller))
            store_target(transaction, webhook_id, target, self._clock.now(), self._box)
            if revived:
                position = newest(transaction, self._database.dialect)
                transaction.run("UPDATE webhooks SET position = ? WHERE id = ?", position, webhook_id)
            transaction.signal(CHANNEL)
            self._jobs.enqueue(transaction, JOB, key=webhook_id)
            return one_webhook(transaction, webhook_id, self._box)

        return await self._database.write(work)

    async def delete(self, caller: Caller, webhook_id: str) -> None:
        """Forget an address, its deliveries and their log. The owner may, whatever other rights it has lost."""

        def work(transaction: Transaction) -> None:
            if not _owns(transaction, caller, webhook_id):
                refuse_strangers(caller)
                one_webhook(transaction, webhook_id, self._box, self._own(caller))
            transaction.run("DELETE FROM webhooks WHERE id = ?", webhook_id)
            self._jobs.cancel(transaction, JOB, webhook_id)
            transaction.signal(CHANNEL)

        await self._database.write(work)

    async def deliveries(
        self, caller: Caller, webhook_id: str, limit: int = 50, before: int | None = None
    ) -> list[Delivery]:
        """The log of one webhook, newest first."""
        refuse_strangers(caller)

        def work(rows: Rows) -> list[Delivery]:
            one_webhook(rows, webhook_id, self._box, self._own(caller))
            return log_of(rows, webhook_id, min(max(limit, 1), 1000), before)

        return await self._database.read(work)

    async def retry(self, caller: Caller, webhook_id: str, delivery_id: int) -> Delivery:
        """Send a delivery once more, now, whatever became of it; receivers know it by the same message id."""
        refuse_strangers(caller)

        def work(transaction: Transaction) -> Delivery:
            one_webhook(transaction, webhook_id, self._box, self._own(caller))
            delivery = again(transaction, webhook_id, delivery_id, self._clock.now())
            self._jobs.enqueue(transaction, JOB, key=webhook_id)
            return delivery

        return await self._database.write(work)

    async def list(self, caller: Caller) -> list[Webhook]:
        """All webhooks for an administrator, the own ones for others; oldest first."""
        refuse_strangers(caller)
        owner = self._own(caller)
        return await self._database.read(lambda rows: webhooks_of(rows, self._box, owner))

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
        if known is not None:
            target.scopes, target.user = known.scopes, known.user
        await self._refuse_undefined(caller, target)
        return target

    async def _refuse_undefined(self, caller: Caller, target: Target) -> None:
        """Forbidden for a webhook on what the caller may not define."""
        if self._access.is_free(caller):
            return
        if target.register is None and target.schema is None:
            raise Forbidden(
                "A webhook on everything is for administrators of the registers room.",
                hint="Name a register or a schema that you may define.",
            )
        if target.register is not None:
            self._access.check_define(caller, await self._catalogue.get_register(caller, target.register))
        if target.schema is not None:
            self._access.check_define(caller, await self._catalogue.get_schema(caller, target.schema))

    def _refuse_more(self, rows: Rows, caller: Caller) -> None:
        """A store has so many webhooks, and somebody who is no administrator so many of them."""
        owner = self._own(caller)
        most = MOST_WEBHOOKS if owner is None else MOST_OF_ONE
        if len(webhooks_of(rows, self._box, owner)) >= most:
            raise LimitExceeded(f"There are {most} webhooks already.", hint="Delete one first.")

    def _own(self, caller: Caller) -> str | None:
        """Whose webhooks the caller may see; None for everybody's."""
        return None if self._access.is_free(caller) else caller.principal.id


def _owns(rows: Rows, caller: Caller, webhook_id: str) -> bool:
    return rows.value("SELECT principal FROM webhooks WHERE id = ?", webhook_id) == caller.principal.id


def _write_down(caller: Caller, target: Target) -> None:
    """Keep who decides a webhook, and with which rights: what it may not read now it is not told later."""
    target.scopes = None if is_admin(caller.principal) else sorted(caller.principal.scopes)
    target.user = caller.principal.user


def refuse_strangers(caller: Caller) -> None:
    """Refuse who can define nothing, before anything else is said about the webhook."""
    if not caller.principal.may("registers", "write"):
        raise Forbidden(
            "Webhooks are for those who may define a register or schema.", hint="Ask for the scope registers:write."
        )
