"""Registers, changes and lists webhooks: URLs that get a request for each change. `delivery_job.py` delivers.

A webhook on a register or schema needs the right to define it; only administrators may have one on everything. Only the
owner and administrators can see a webhook, and it receives what its owner may read.
"""

import base64
import secrets
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.jobs.signed_webhooks import SECRET_PREFIX
from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Rows, Transaction
from pentad.platform import Platform
from pentad.rooms.registers.access.rules import AccessRules, is_admin
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects.change_log import newest
from pentad.rooms.registers.store import all_registers
from pentad.rooms.registers.webhooks.deliveries import Delivery, delivery_log, restart_delivery
from pentad.rooms.registers.webhooks.targets import (
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
    from pentad.rooms.registers.catalogue.catalogue import Catalogue
    from pentad.rooms.registers.catalogue.schema_change import SchemaChange
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

CHANNEL: Final = "registers.webhooks"
"""Signalled when a webhook was registered or changed."""

JOB: Final = "registers.webhooks"
"""The job that delivers to one webhook; the webhook's id is the key."""

MOST_WEBHOOKS: Final = 100
"""The limit for the whole store, including administrators."""

MOST_OF_ONE: Final = 10
"""The limit for an owner who is not an administrator."""

_INSERT: Final = (
    "INSERT INTO webhooks (id, principal, body, position, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)"
)
_SET_BY_SERVER: Final = frozenset({"failures", "problem", "scopes", "user"})


class Webhooks:
    """For administrators of the room and callers who may define a register or schema."""

    def __init__(self, platform: Platform, catalogue: "Catalogue", access: AccessRules) -> None:
        self._database = platform.database
        self._box = platform.secret_box
        self._clock = platform.clock
        self._jobs = platform.jobs
        self._catalogue = catalogue
        self._access = access
        catalogue.schemas.users.breaks.append(self._broken)

    def _broken(
        self, rows: Rows, caller: Caller, change: "SchemaChange", old: "CompiledSchema", new: "CompiledSchema"
    ) -> Iterator[dict[str, Any]]:
        """The webhooks whose messages would lose properties that receivers may rely on."""
        schema = change.current
        gone = sorted(old.properties.keys() - new.properties.keys())
        registers = {one.id for one in all_registers(rows) if schema.id in one.schemas}
        for webhook in webhooks_of(rows, self._box, self._own(caller)) if gone else ():
            target = webhook.target
            if target.schema in (None, schema.id) and (target.register is None or target.register in registers):
                because = f"its messages would no longer have {', '.join(map(repr, gone[:5]))}"
                yield {"kind": "webhook", "id": webhook.id, "title": target.url, "because": because}

    async def create(self, caller: Caller, data: Mapping[str, Any]) -> Webhook:
        """Register a URL; it gets changes from now on. Only this answer contains the secret."""
        refuse_strangers(caller)
        target = await self._target(caller, data, None)
        _record_owner(caller, target)
        if not target.secret:
            target.secret = SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode("ascii")
        now = self._clock.now()
        made = opaque_id(size=12)

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
        """Change the given fields. Enabling a webhook again resets its failures and skips what it missed."""
        known = await self.get(caller, webhook_id)
        target = await self._target(caller, data, known.target)
        if caller.principal.id == known.principal:
            _record_owner(caller, target)
        reenabled = target.enabled and not known.target.enabled
        if not reenabled:
            target.failures, target.problem = known.target.failures, known.target.problem

        def work(transaction: Transaction) -> Webhook:
            one_webhook(transaction, webhook_id, self._box, self._own(caller))
            store_target(transaction, webhook_id, target, self._clock.now(), self._box)
            if reenabled:
                position = newest(transaction, self._database.dialect)
                transaction.run("UPDATE webhooks SET position = ? WHERE id = ?", position, webhook_id)
            transaction.signal(CHANNEL)
            self._jobs.enqueue(transaction, JOB, key=webhook_id)
            return one_webhook(transaction, webhook_id, self._box)

        return await self._database.write(work)

    async def delete(self, caller: Caller, webhook_id: str) -> None:
        """Delete a webhook with its log. The owner may always do this, even after losing rights."""

        def work(transaction: Transaction) -> None:
            if not _owns(transaction, caller, webhook_id):
                refuse_strangers(caller)
                one_webhook(transaction, webhook_id, self._box, self._own(caller))
            transaction.run("DELETE FROM webhooks WHERE id = ?", webhook_id)
            self._jobs.cancel(transaction, JOB, webhook_id)
            transaction.signal(CHANNEL)

        await self._database.write(work)

    async def deliveries(self, caller: Caller, webhook_id: str, limit: int = 50) -> list[Delivery]:
        """The log of one webhook, newest first."""
        refuse_strangers(caller)

        def work(rows: Rows) -> list[Delivery]:
            one_webhook(rows, webhook_id, self._box, self._own(caller))
            return delivery_log(rows, webhook_id, min(max(limit, 1), 1000))

        return await self._database.read(work)

    async def retry(self, caller: Caller, webhook_id: str, delivery_id: int) -> Delivery:
        """Send a delivery again now, with the same message id."""
        refuse_strangers(caller)

        def work(transaction: Transaction) -> Delivery:
            one_webhook(transaction, webhook_id, self._box, self._own(caller))
            delivery = restart_delivery(transaction, webhook_id, delivery_id, self._clock.now())
            self._jobs.enqueue(transaction, JOB, key=webhook_id)
            return delivery

        return await self._database.write(work)

    async def list(self, caller: Caller) -> list[Webhook]:
        """All webhooks for an administrator, otherwise the caller's own; oldest first."""
        refuse_strangers(caller)
        owner = self._own(caller)
        return await self._database.read(lambda rows: webhooks_of(rows, self._box, owner))

    async def _target(self, caller: Caller, data: Mapping[str, Any], known: Target | None) -> Target:
        """The known target with the given fields changed, without its delivery state."""
        if owned := _SET_BY_SERVER & set(data):
            raise InvalidInput(f"{min(owned)!r} cannot be set.", hint="Leave it out.")
        given = dict(data)
        for name, get in (("register", self._catalogue.registers.get), ("schema", self._catalogue.schemas.get)):
            if (ref := given.get(name)) is not None:
                if isinstance(ref, bool) or not isinstance(ref, int | str):
                    raise InvalidInput(f"The webhook's {name} is {kind_of(ref)}.", hint="Give its id, uuid or slug.")
                given[name] = (await get(caller, ref)).id
        kept: dict[str, Any] = {} if known is None else msgspec.to_builtins(known)
        target = read_target({name: value for name, value in {**kept, **given}.items() if name not in _SET_BY_SERVER})
        check_target(target)
        if known is not None:
            target.scopes, target.user = known.scopes, known.user
        await self._refuse_undefined(caller, target)
        return target

    async def _refuse_undefined(self, caller: Caller, target: Target) -> None:
        """Raise Forbidden if the caller may not define what the webhook is on."""
        if self._access.is_unrestricted(caller):
            return
        if target.register is None and target.schema is None:
            raise Forbidden(
                "A webhook on everything is for administrators of the registers room.",
                hint="Name a register or a schema that you may define.",
            )
        if target.register is not None:
            self._access.check_define(caller, await self._catalogue.registers.get(caller, target.register))
        if target.schema is not None:
            self._access.check_define(caller, await self._catalogue.schemas.get(caller, target.schema))

    def _refuse_more(self, rows: Rows, caller: Caller) -> None:
        """Enforce the limits of the store and of one owner."""
        owner = self._own(caller)
        most = MOST_WEBHOOKS if owner is None else MOST_OF_ONE
        if len(webhooks_of(rows, self._box, owner)) >= most:
            raise LimitExceeded(f"There are {most} webhooks already.", hint="Delete one first.")

    def _own(self, caller: Caller) -> str | None:
        """The owner whose webhooks the caller may see; None for all owners."""
        return None if self._access.is_unrestricted(caller) else caller.principal.id


def _owns(rows: Rows, caller: Caller, webhook_id: str) -> bool:
    return rows.value("SELECT principal FROM webhooks WHERE id = ?", webhook_id) == caller.principal.id


def _record_owner(caller: Caller, target: Target) -> None:
    """Record the owner's rights: the webhook never gets what the owner cannot read now."""
    target.scopes = None if is_admin(caller.principal) else sorted(caller.principal.scopes)
    target.user = caller.principal.user


def refuse_strangers(caller: Caller) -> None:
    """Refuse callers who cannot define anything, before revealing anything about the webhook."""
    if not caller.principal.may("registers", "write"):
        raise Forbidden(
            "Webhooks are for those who may define a register or schema.", hint="Ask for the scope registers:write."
        )
