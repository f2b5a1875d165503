"""`pentad directory keys`: the keys that the server signs records with."""

from typing import TYPE_CHECKING, Final

from pentad.terminal.signing_keys import signing_keys

if TYPE_CHECKING:
    from pentad.access.signing_keys import KeyRing
    from pentad.kernel.ports import Database
    from pentad.settings.model import Settings


async def _record_ring(database: "Database", settings: "Settings") -> "KeyRing":
    from pentad.kernel.clock import SystemClock
    from pentad.rooms.directory.trust.server_key import adopt_key_file, record_ring

    ring = record_ring(database, settings.secret_box(), SystemClock())
    await adopt_key_file(ring, settings.data)
    return ring


def _fingerprint(public: str) -> str:
    from pentad.rooms.directory.trust.keys import read_public_key

    return read_public_key(public).fingerprint


RECORD_KEYS: Final = signing_keys("records", _record_ring, _fingerprint)
