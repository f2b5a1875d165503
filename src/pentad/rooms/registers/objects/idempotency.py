"""Idempotency keys: a request repeated with the same key within a day gets the same answer.

The answer is stored in the write's transaction, so neither exists without the other.
"""

import hashlib
from typing import Any, Final

import msgspec

from pentad.kernel.errors import Conflict, InvalidInput
from pentad.kernel.ports import Transaction

KEPT_SECONDS: Final = 24 * 3600.0
_LONGEST: Final = 255


def fingerprint(*request: Any) -> bytes:
    """The hash that decides whether two requests are the same."""
    return hashlib.sha256(msgspec.json.encode(request, enc_hook=str)).digest()


def recall(tx: Transaction, principal: str, key: str, request: bytes, now: float) -> Any:
    """The earlier answer, as plain JSON; None for a new key. Conflict if the key was used for something else."""
    if not key or len(key) > _LONGEST or not key.isprintable():
        raise InvalidInput(f"An idempotency key is 1 to {_LONGEST} printable characters.", hint="A uuid is a good one.")
    tx.run("DELETE FROM idempotency_keys WHERE at < ?", now - KEPT_SECONDS)
    row = tx.one("SELECT request, answer FROM idempotency_keys WHERE principal = ? AND key = ?", principal, key)
    if row is None:
        return None
    if bytes(row[0]) != request:
        raise Conflict(
            f"The idempotency key {key!r} was used for another request.",
            hint="Use a fresh key for each request, and the same one only to repeat it.",
        )
    return msgspec.json.decode(row[1])


def store(tx: Transaction, principal: str, key: str, request: bytes, answer: Any, now: float) -> None:
    tx.run(
        "INSERT INTO idempotency_keys (principal, key, request, answer, at) VALUES (?, ?, ?, ?, ?)",
        principal, key, request, msgspec.json.encode(answer).decode(), now,
    )  # fmt: skip
