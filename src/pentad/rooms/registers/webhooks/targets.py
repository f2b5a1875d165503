"""Webhooks: a URL, the events it gets, and the secret that signs deliveries. Includes the SQL for webhooks.

Only the answer that sets a secret contains it, and no answer contains header values; the store encrypts both.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

from pentad.access.sealed_columns import SealedColumn
from pentad.access.secret_box import SecretBox
from pentad.jobs.signed_webhooks import signing_key
from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.net.urls import parse as parse_url

EVENTS: Final[Mapping[str, str]] = {
    "create": "object.created",
    "update": "object.updated",
    "delete": "object.deleted",
    "restore": "object.restored",
    "revert": "object.reverted",
    "migrate": "object.migrated",
    "lock": "object.locked",
    "unlock": "object.unlocked",
    "purge": "object.purged",
}
"""Actions of the history and their event names."""

_MOST_HEADERS: Final = 20
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_FIELD: Final = re.compile(r"[\t\x20-\x7e]{0,4000}")
_OURS: Final = frozenset({"content-type", "content-length", "host", "connection", "transfer-encoding"})
BODY: Final = SealedColumn("webhooks", "body", ("id",), is_text=True)
SELECT: Final = "SELECT id, principal, body, position, created_at, updated_at FROM webhooks"


class Target(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """The stored settings of a webhook; `failures` and `problem` are its delivery state.

    `scopes` and `user` are those of the owner when it last changed the webhook; `scopes` is None for an administrator.
    """

    url: str
    events: list[str] = msgspec.field(default_factory=lambda: ["*"])
    register: int | None = None
    schema: int | None = None
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    secret: str = ""
    max_attempts: int = 8
    timeout: float = 10.0
    enabled: bool = True
    failures: int = 0
    problem: str | None = None
    scopes: list[str] | None = None
    user: str | None = None


class _Type(NamedTuple):
    """The type of a field, for msgspec and in words."""

    form: Any
    words: str

    def fits(self, value: Any) -> bool:
        try:
            msgspec.convert(value, type=self.form)
        except msgspec.ValidationError:
            return False
        return True


_TYPES: Final[Mapping[str, _Type]] = {
    "url": _Type(str, "a text, an address that begins with https://"),
    "events": _Type(list[str], 'a list of events such as "object.created", or ["*"] for all'),
    "register": _Type(int | None, "the id, uuid or slug of a register, or null for all"),
    "schema": _Type(int | None, "the id, uuid or slug of a schema, or null for all"),
    "headers": _Type(dict[str, str], "an object of texts"),
    "secret": _Type(str, "a text; leave it out to get one"),
    "maxAttempts": _Type(int, "a whole number from 1 to 20"),
    "timeout": _Type(float, "a number of seconds from 0.1 to 30"),
    "enabled": _Type(bool, "true or false"),
}


@dataclass(frozen=True, slots=True)
class Webhook:
    """A registered URL. `position` is the point in the feed up to which deliveries are recorded."""

    id: str
    principal: str
    target: Target
    position: str
    created_at: float
    updated_at: float

    @property
    def saved_owner(self) -> Principal:
        """The owner with the rights it had when it last changed the webhook. It never gets more."""
        scopes = ("registers:*",) if self.target.scopes is None else self.target.scopes
        return Principal(self.principal, self.principal, frozenset(scopes), user=self.target.user)

    def matches(self, action: str, register: int, schema: int) -> bool:
        """Whether a change matches this webhook."""
        return (
            self.target.register in (None, register)
            and self.target.schema in (None, schema)
            and ("*" in self.target.events or EVENTS.get(action) in self.target.events)
        )

    def wire(self, *, with_secret: bool = False) -> dict[str, Any]:
        """The webhook as JSON, without the secret, and with only the names of headers."""
        target = self.target
        wire: dict[str, Any] = {
            "id": self.id, "url": target.url, "events": target.events, "register": target.register,
            "schema": target.schema, "headers": sorted(target.headers), "maxAttempts": target.max_attempts,
            "timeout": target.timeout, "enabled": target.enabled, "failures": target.failures,
            "problem": target.problem, "owner": self.principal, "created": iso(self.created_at),
            "updated": iso(self.updated_at),
        }  # fmt: skip
        return {**wire, "secret": target.secret} if with_secret else wire


def webhook_from(row: Row, box: SecretBox) -> Webhook:
    """The webhook from a row of `SELECT`."""
    number, principal, kept, position, created, updated = row
    target = msgspec.json.decode(BODY.open(box, kept, number), type=Target)
    return Webhook(number, principal, target, position, created, updated)


def enabled_webhooks(rows: Rows, box: SecretBox) -> list[Webhook]:
    """All enabled webhooks; there are never many."""
    return [webhook for webhook in webhooks_of(rows, box) if webhook.target.enabled]


def find_webhook(rows: Rows, webhook_id: str, box: SecretBox) -> Webhook | None:
    row = rows.one(f"{SELECT} WHERE id = ?", webhook_id)
    return None if row is None else webhook_from(row, box)


def one_webhook(rows: Rows, webhook_id: str, box: SecretBox, owner: str | None = None) -> Webhook:
    """A webhook; NotFound if an `owner` is given and the webhook is another's."""
    found = find_webhook(rows, webhook_id, box)
    if found is None or owner not in (None, found.principal):
        raise NotFound(f"There is no webhook {webhook_id[:60]!r}.", hint="List the webhooks to see their ids.")
    return found


def webhooks_of(rows: Rows, box: SecretBox, owner: str | None = None) -> list[Webhook]:
    """All webhooks, or those of an owner, oldest first."""
    where, whose = ("", ()) if owner is None else (" WHERE principal = ?", (owner,))
    return [webhook_from(row, box) for row in rows.all(f"{SELECT}{where} ORDER BY created_at, id", *whose)]


def stored_target(webhook_id: str, target: Target, box: SecretBox) -> str | bytes:
    """The webhook's `body`."""
    return BODY.seal(box, msgspec.json.encode(target), webhook_id)


def store_target(transaction: Transaction, webhook_id: str, target: Target, at: float, box: SecretBox) -> None:
    body = stored_target(webhook_id, target, box)
    transaction.run("UPDATE webhooks SET body = ?, updated_at = ? WHERE id = ?", body, at, webhook_id)


def read_target(given: Mapping[str, Any]) -> Target:
    """A target from JSON; InvalidInput names the first field of a wrong type."""
    for name, value in given.items():
        expected = _TYPES.get(name)
        if expected is None:
            guess = did_you_mean(name, _TYPES) or f"The fields are {', '.join(_TYPES)}."
            raise InvalidInput(f"A webhook has no field {name[:60]!r}.", hint=guess)
        if not expected.fits(value):
            raise InvalidInput(f"The webhook's {name} is {kind_of(value)}.", hint=f"It must be {expected.words}.")
    if "url" not in given:
        raise InvalidInput("The webhook has no url.", hint='Give at least {"url": "https://..."}.')
    return msgspec.convert(dict(given), type=Target)


def kind_of(value: Any) -> str:
    """The type of a value in words. The value may be a secret, so it is not quoted."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true or false"
    kinds = ((str, "a text"), ((int, float), "a number"), (list, "a list"), (dict, "an object"))
    return next((words for kind, words in kinds if isinstance(value, kind)), "something else")


def check_target(target: Target) -> None:
    """Refuse a target that could never receive a delivery."""
    parse_url(target.url)
    known = [*EVENTS.values(), "*"]
    for event in target.events:
        if event not in known:
            raise InvalidInput(
                f"There is no event {event[:60]!r}.",
                hint=did_you_mean(event, known) or f"The events are {', '.join(known)}.",
            )
    if not target.events:
        raise InvalidInput("The webhook has no events.", hint='Leave out `events`, or write ["*"], for all of them.')
    if not 1 <= target.max_attempts <= 20:
        raise InvalidInput("maxAttempts is from 1 to 20.")
    if not 0.1 <= target.timeout <= 30:
        raise InvalidInput("timeout is from 0.1 to 30 seconds.")
    if len(target.headers) > _MOST_HEADERS:
        raise LimitExceeded(f"A webhook has at most {_MOST_HEADERS} headers.")
    for name, value in target.headers.items():
        if not _TOKEN.fullmatch(name) or not _FIELD.fullmatch(value):
            raise InvalidInput(
                f"The header {name[:40]!r} cannot be sent.", hint="Printable ASCII on one line; no blanks in the name."
            )
        if name.lower() in _OURS or name.lower().startswith("webhook-"):
            raise InvalidInput(f"The header {name[:40]!r} is set by Pentad.", hint="Leave it out.")
    if target.secret:
        signing_key(target.secret)
