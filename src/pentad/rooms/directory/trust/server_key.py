"""The server's own signing keys, as a key ring in the store.

Earlier versions kept the key in a file in the data folder. Pentad moves such a file into the store at start. If the
process dies in between, the next start finds the key in the store and only removes the file.
"""

import asyncio
import logging
from pathlib import Path
from typing import Any, Final

from pentad.access.secret_box import SecretBox
from pentad.access.signing_keys import KeyRing, SigningKey
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Database

RING: Final = "directory-records"
FILE: Final = "directory-signing-key.pem"

_log = logging.getLogger(__name__)


def record_ring(database: Database, box: SecretBox, clock: Clock) -> KeyRing:
    return KeyRing(database, RING, _make, box=box, clock=clock)


async def adopt_key_file(ring: KeyRing, folder: Path) -> None:
    """Move the key file of an earlier version into the ring. An unreadable file stays, with a warning."""
    path = folder / FILE
    if not path.exists():
        return
    try:
        await ring.adopt(await asyncio.to_thread(path.read_text, encoding="ascii"))
        path.unlink(missing_ok=True)
    except (OSError, UnicodeDecodeError, InvalidInput):
        _log.warning(
            "%s in the data folder cannot be moved into the store. Make it readable and the folder writable, or delete"
            " the file to sign with a new key.",
            FILE,
        )


def published_keys(keys: list[SigningKey]) -> list[dict[str, Any]]:
    """The public keys, the current one first."""
    from pentad.rooms.directory.trust.keys import read_public_key

    found: list[dict[str, Any]] = []
    for one in keys:
        public = read_public_key(one.public)
        about = {"fingerprint": public.fingerprint, "algorithm": public.algorithm, "publicKey": public.pem}
        retired = None if one.retired_at is None else iso(one.retired_at)
        found.append({**about, "created": iso(one.created_at), "retired": retired})
    return found


def _make() -> str:
    from pentad.rooms.directory.trust.keys import new_private_key

    return new_private_key()
