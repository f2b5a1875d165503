"""The room's keys: the ring that signs cards, and the public keys an operator trusts.

The trusted keys are in files named in the settings: by host for cards, one set for contexts.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.access.secret_box import SecretBox
from pentad.access.server_secrets import forget_secret, known_secrets
from pentad.access.signing_keys import KeyRing
from pentad.kernel.clock import Clock
from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Database

if TYPE_CHECKING:
    from pentad.rooms.agents.context.integrity import Key


RING: Final = "agent-cards"


async def open_card_ring(database: Database, box: SecretBox, clock: Clock) -> KeyRing:
    """The ring that signs cards. If an earlier version derived the key from a secret, that key is adopted."""
    ring = KeyRing(database, RING, _new_key, box=box, clock=clock)
    if secrets := await known_secrets(database, RING, box=box):
        from pentad.rooms.agents.card_signing import derived_key

        for secret in secrets:
            await ring.adopt(derived_key(secret))
        await forget_secret(database, RING)
    return ring


def _new_key() -> str:
    from pentad.rooms.agents.card_signing import new_key

    return new_key()


@lru_cache(maxsize=4)
def card_keys(file: str | None) -> Mapping[str, Mapping[str, Any]]:
    """The JSON Web Key Set of each host that signs its cards."""
    if file is None:
        return {}
    found = _read(file, "card_keys", '{"host": {"keys": [...]}}: by host a JSON Web Key Set')
    return {host.lower(): keys for host, keys in found.items()}


@lru_cache(maxsize=4)
def context_keys(file: str | None) -> "Sequence[Key]":
    """Every incoming context must be signed by one of these keys; none if signatures are not required."""
    if file is None:
        return ()
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    hint = '{"keys": [...]}, a JSON Web Key Set'
    found: Any = _read(file, "context_keys", hint)
    try:
        keys: Any = KeySet.import_key_set(found).keys
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise Misconfigured("The file of rooms.agents.context_keys has no keys.", hint=f"Write {hint}.") from error
    if not keys:
        raise Misconfigured("The file of rooms.agents.context_keys has no keys.", hint=f"Write {hint}.")
    return tuple(keys)


def _read(file: str, setting: str, form: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(Path(file).expanduser().read_bytes(), type=dict[str, Any])
    except OSError as error:  # its text names the path, and callers see this message
        why = error.strerror or "it cannot be opened"
    except msgspec.DecodeError as error:
        why = str(error)
    raise Misconfigured(f"The file of rooms.agents.{setting} cannot be read: {why}.", hint=f"Write {form}.")
