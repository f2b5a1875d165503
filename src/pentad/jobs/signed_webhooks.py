"""Signed HTTP deliveries of webhooks and push notifications.

Signatures follow Standard Webhooks, so receivers can verify them with existing libraries:

    webhook-id: <message id>          the same for every try, so a receiver can drop duplicates
    webhook-timestamp: <seconds>
    webhook-signature: v1,<base64 of HMAC-SHA256 over "id.timestamp.body">

The fetcher decides which addresses may be reached. Redirects are not followed. 410 means that the receiver is gone for
good, and Retry-After is obeyed.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.ports import Fetcher
from pentad.kernel.retry_after import retry_after

SECRET_PREFIX: Final = "whsec_"  # noqa: S105  how a secret begins, not one
MOST_RETRY_AFTER: Final = 86_400.0
"""The longest pause a receiver can ask for."""

_ANSWER_BYTES: Final = 65_536
_GONE: Final = 410


@dataclass(frozen=True, slots=True)
class Message:
    """A body to post to a URL, and the key that signs it; None for receivers that do not verify signatures."""

    url: str
    id: str
    body: bytes
    key: bytes | None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: float = 10.0
    trusted: bool = False
    countersign: Callable[[bytes], Mapping[str, str]] | None = None
    """Makes additional headers from the signed bytes."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one try. `problem` is None if it was delivered."""

    status: int | None
    problem: str | None
    retry_after: float = 0.0
    """The pause the receiver asked for, in seconds."""

    @property
    def is_gone(self) -> bool:
        return self.status == _GONE


async def deliver(fetcher: Fetcher, clock: Clock, message: Message) -> Attempt:
    """Try once; a failure is returned, not raised."""
    stamp = int(clock.now())
    headers = {
        **message.headers,
        "content-type": "application/json",
        "webhook-id": message.id,
        "webhook-timestamp": str(stamp),
    }
    if message.key is not None:
        headers["webhook-signature"] = signature(message.key, message.id, stamp, message.body)
    if message.countersign is not None:
        headers |= message.countersign(signed_bytes(message.id, stamp, message.body))
    try:
        answer = await fetcher.fetch(
            message.url, method="POST", headers=headers, body=message.body, max_bytes=_ANSWER_BYTES,
            timeout=message.timeout, trusted=message.trusted,
        )  # fmt: skip
    except PentadError as error:
        return Attempt(None, error.message)
    if answer.redirected:
        return Attempt(answer.status, "The address redirects, and deliveries do not follow redirects.")
    if 200 <= answer.status < 300:
        return Attempt(answer.status, None)
    pause = min(retry_after(answer.headers.get("retry-after"), clock) or 0.0, MOST_RETRY_AFTER)
    return Attempt(answer.status, f"The address answered {answer.status}.", pause)


def signed_bytes(message_id: str, stamp: int, body: bytes) -> bytes:
    return f"{message_id}.{stamp}.".encode() + body


def signature(key: bytes, message_id: str, stamp: int, body: bytes) -> str:
    """The value of `webhook-signature`."""
    digest = hmac.digest(key, signed_bytes(message_id, stamp, body), hashlib.sha256)
    return "v1," + base64.b64encode(digest).decode("ascii")


def signing_key(secret: str) -> bytes:
    """The key of a secret: `whsec_...` is base64, anything else is used as it is."""
    if not secret.startswith(SECRET_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        raise InvalidInput(
            "The secret begins with whsec_ but is not base64.", hint="Leave it out to get one."
        ) from None
