"""The key ring that signs cards, contexts and push notifications."""

from typing import Final

from pentad.access.secret_box import SecretBox
from pentad.access.server_secrets import forget_secret, known_secrets
from pentad.access.signing_keys import KeyRing
from pentad.kernel.clock import Clock
from pentad.kernel.ports import Database

RING: Final = "agent-cards"


async def open_card_ring(database: Database, box: SecretBox, clock: Clock) -> KeyRing:
    """The key ring. If an earlier version derived the key from a secret, that key is adopted."""
    ring = KeyRing(database, RING, _make, box=box, clock=clock)
    if secrets := await known_secrets(database, RING, box=box):
        from pentad.rooms.agents.card_signing import derived_key

        for secret in secrets:
            await ring.adopt(derived_key(secret))
        await forget_secret(database, RING)
    return ring


def _make() -> str:
    from pentad.rooms.agents.card_signing import new_key

    return new_key()
