"""`pentad agents keys`: the keys that agent cards are signed with."""

from typing import TYPE_CHECKING, Final

from pentad.terminal.signing_keys import signing_keys

if TYPE_CHECKING:
    from pentad.access.signing_keys import KeyRing
    from pentad.kernel.ports import Database
    from pentad.settings.model import Settings


async def _card_ring(database: "Database", settings: "Settings") -> "KeyRing":
    from pentad.kernel.clock import SystemClock
    from pentad.rooms.agents.signing_keys import open_card_ring

    return await open_card_ring(database, settings.secret_box(), SystemClock())


def _key_id(public: str) -> str:
    from pentad.rooms.agents.card_signing import key_id

    return key_id(public)


CARD_KEYS: Final = signing_keys("cards", _card_ring, _key_id)
