"""The ring of keys that cards, contexts and push notifications are signed with."""

from typing import Final

from pentad.access.secret_box import SecretBox
from pentad.access.secrets import forget_secret, known_secrets
from pentad.access.signing_keys import KeyRing
from pentad.kernel.clock import Clock
from pentad.kernel.ports import Database

RING: Final = "agent-cards"


async def open_card_ring(database: Database, box: SecretBox, clock: Clock) -> KeyRing:
    """The ring. A secret of earlier versions, from which the key was derived, becomes the key it stood for."""
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
