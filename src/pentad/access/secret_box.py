"""Encrypts the secrets in the store, if the operator sets `secret_key`.

AES-256-GCM under a key derived from the setting. A value is authenticated together with its table and row key, so that
someone who can write to the store cannot swap secrets. An encrypted value is ASCII and names its key. A plain value is
used as it is, and encrypted at the next start (`sealed_columns.py`).

To rotate the key, list old keys in `secret_key_previous`: they decrypt, and the newest encrypts. Without `secret_key`,
values encrypted with a previous key are decrypted and stored as plain values again.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pentad.kernel.clock import Randomness, SystemRandomness
from pentad.kernel.errors import Misconfigured

MARK: Final = b"sealed1:"
SHORTEST: Final = 32
"""Characters of a key. The derivation is fast, so the key must be random."""
_NONCE: Final = 12
_ID_DIGITS: Final = 16
_SET_IT: Final = "Set secret_key (PENTAD_SECRET_KEY) to the key they were encrypted with"


@dataclass(frozen=True, slots=True)
class _Key:
    id: bytes
    key: bytes = field(repr=False)


class SecretBox:
    """Encrypts with the newest key and decrypts with all; without keys it leaves values as they are."""

    def __init__(
        self, key: str | None = None, previous: Sequence[str] = (), *, randomness: Randomness | None = None
    ) -> None:
        self._newest = None if key is None else _derived(key, "secret_key")
        older = [_derived(one, "secret_key_previous") for one in previous]
        self._keys = {one.id: one for one in (*older, self._newest) if one is not None}
        self._randomness = randomness or SystemRandomness()

    @property
    def is_on(self) -> bool:
        return self._newest is not None

    @property
    def prefix(self) -> bytes | None:
        """The first bytes of every value encrypted with the newest key; None without a key."""
        return None if self._newest is None else MARK + self._newest.id + b":"

    def seal(self, plain: bytes, place: str) -> bytes:
        if self._newest is None:
            return plain
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = self._randomness.token_bytes(_NONCE)
        sealed = nonce + AESGCM(self._newest.key).encrypt(nonce, plain, place.encode())
        return MARK + self._newest.id + b":" + base64.b64encode(sealed)

    def open(self, kept: bytes, place: str) -> bytes:
        """The plain value; Misconfigured if its key is missing."""
        if not kept.startswith(MARK):
            return kept
        key_id, _, text = kept.removeprefix(MARK).partition(b":")
        key = self._keys.get(key_id)
        if key is None:
            raise self._no_key()
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            sealed = base64.b64decode(text, validate=True)
            return AESGCM(key.key).decrypt(sealed[:_NONCE], sealed[_NONCE:], place.encode())
        except (InvalidTag, binascii.Error, ValueError):
            raise Misconfigured(
                f"The encrypted secret {place!r} was changed or moved in the store.", hint="Restore a backup."
            ) from None

    def _no_key(self) -> Misconfigured:
        if not self._keys:
            return Misconfigured(
                "The secrets in the store are encrypted, and secret_key is not set.", hint=f"{_SET_IT}."
            )
        return Misconfigured(
            "The secrets in the store are encrypted with a different secret_key.",
            hint=f"{_SET_IT}; to change the key, name the old one as secret_key_previous.",
        )


PLAIN: Final = SecretBox()
"""Encrypts nothing."""


def _derived(given: str, name: str) -> _Key:
    secret = given.strip()
    if len(secret) < SHORTEST:
        raise Misconfigured(
            f"{name} has {len(secret)} characters; at least {SHORTEST} random ones are needed.",
            hint="Make one with `openssl rand -base64 32`.",
        )
    # HKDF (RFC 5869), one block for each purpose, by hand: importing `cryptography` would slow down every start.
    extracted = hmac.digest(b"pentad secret_key", secret.encode(), hashlib.sha256)
    key = hmac.digest(extracted, b"encryption\x01", hashlib.sha256)
    key_id = hmac.digest(extracted, b"name\x01", hashlib.sha256)
    return _Key(key_id.hex()[:_ID_DIGITS].encode(), key)
