"""The encrypted `requestState` of modern calls with questions: the answers so far, which the client sends back.

Encrypted with AES-256-GCM and a key that all processes share. Bound to the caller, the request and an expiry time: a
state that was modified, copied to another request or has expired is refused.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from pentad.kernel.clock import Clock, Randomness, SystemRandomness
from pentad.mcp.wire_errors import INVALID_PARAMS, ProtocolError

_NONCE: Final = 12
_LIFE_SECONDS: Final = 3600
_MOST_BYTES: Final = 64 * 1024


class Sealed(msgspec.Struct):
    """The content of a state."""

    answers: dict[str, Any]
    state: dict[str, Any]
    expires: float


class StateSealer:
    """Encrypts and decrypts states. The first key encrypts and all keys decrypt, so that keys can be rotated."""

    def __init__(self, keys: Sequence[bytes], clock: Clock, randomness: Randomness | None = None) -> None:
        self._keys = keys
        self._clock = clock
        self._randomness = randomness or SystemRandomness()

    def seal(self, answers: dict[str, Any], state: dict[str, Any], bound_to: bytes) -> str:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        plain = msgspec.json.encode(Sealed(answers, state, self._clock.now() + _LIFE_SECONDS))
        nonce = self._randomness.token_bytes(_NONCE)
        sealed = nonce + AESGCM(self._keys[0]).encrypt(nonce, plain, bound_to)
        return base64.urlsafe_b64encode(sealed).decode("ascii")

    def open(self, text: str, bound_to: bytes) -> Sealed:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        sealed = _decoded(text)
        for key in self._keys:
            try:
                plain = AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], bound_to)
            except InvalidTag:
                continue
            opened = msgspec.json.decode(plain, type=Sealed)
            if opened.expires < self._clock.now():
                raise _refused("is too old")
            return opened
        raise _refused("was changed, or belongs to another request or caller")


def binding(principal_id: str, method: str, label: str, arguments: bytes) -> bytes:
    """A digest of the caller and the request, so that a state works only for them."""
    digest = hashlib.sha256()
    for part in (principal_id.encode(), method.encode(), label.encode(), arguments):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def _decoded(text: str) -> bytes:
    try:
        raw = text.encode("ascii")
        sealed = base64.b64decode(raw, altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise _refused("is not one of this server's") from None
    if len(raw) > _MOST_BYTES or len(sealed) <= _NONCE or base64.urlsafe_b64encode(sealed) != raw:
        raise _refused("is not one of this server's")
    return sealed


def _refused(why: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"The requestState {why}. Repeat the call without it.")
