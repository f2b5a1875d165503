"""Signing keys, kept in the store so that all processes share them and a backup includes them.

A ring holds the keys of one purpose, and the newest signs. A replaced key loses its private half; its public half stays
published, so that old signatures can still be verified. Rings are read from the store when needed; code that keeps one
in memory listens for rotations.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from pentad.access.sealed_columns import PRIVATE_KEY
from pentad.access.secret_box import PLAIN, SecretBox
from pentad.kernel.background import Background
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.ports import Database, Rows, Transaction

CHANNEL: Final = "signing-keys"
_CLOCK: Final = SystemClock()
_LOOK_AGAIN_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One key, as PEM text; `private` is None for a replaced one."""

    generation: int
    created_at: float
    retired_at: float | None
    public: str
    private: str | None = field(repr=False)


class KeyRing:
    """The keys of one purpose; `make` gives the PEM text of a new private key."""

    def __init__(
        self,
        database: Database,
        name: str,
        make: Callable[[], str],
        *,
        box: SecretBox = PLAIN,
        clock: Clock = _CLOCK,
    ) -> None:
        self.name = name
        self._database = database
        self._make = make
        self._box = box
        self._clock = clock

    async def keys(self) -> list[SigningKey]:
        """All keys, the signing one first; makes one if there is none."""
        if found := await self.known():
            return found
        fresh = self._make()
        public, now = _public(fresh), self._clock.now()

        def work(tx: Transaction) -> list[SigningKey]:
            if not self._read(tx):
                self._insert(tx, 1, now, None, public, fresh)
                tx.signal(CHANNEL, self.name)
            return self._read(tx)

        return await self._database.write(work)

    async def known(self) -> list[SigningKey]:
        """All keys; empty before the first use."""
        return await self._database.read(self._read)

    async def private_key(self) -> str:
        """The PEM text of the key that signs now."""
        newest = (await self.keys())[0]
        if newest.private is None:
            raise RuntimeError(f"the newest signing key of {self.name!r} has no private half")
        return newest.private

    async def adopt(self, private: str) -> None:
        """Import a key that was stored elsewhere. It signs if the ring is empty; otherwise it only verifies."""
        public, now = _public(private), self._clock.now()

        def work(tx: Transaction) -> None:
            # Another process may take the generation first, so repeat until the key is in the ring.
            while True:
                found = self._read(tx)
                if public in [one.public for one in found]:
                    return
                if found:
                    self._insert(tx, min(one.generation for one in found) - 1, now, now, public, None)
                else:
                    self._insert(tx, 1, now, None, public, private)
                tx.signal(CHANNEL, self.name)

        await self._database.write(work)

    async def rotate(self, *, forget: bool = False) -> list[SigningKey]:
        """Sign with a new key from now on, in every process; `forget` stops publishing the replaced ones."""
        fresh = self._make()
        public, now = _public(fresh), self._clock.now()

        def work(tx: Transaction) -> list[SigningKey]:
            # Reading fails without the right `secret_key`, so no plain key is stored beside encrypted ones.
            newest = max((one.generation for one in self._read(tx)), default=0)
            self._insert(tx, newest + 1, now, None, public, fresh)
            tx.run(
                "UPDATE signing_keys SET private = NULL, retired_at = ?"
                " WHERE name = ? AND generation <= ? AND private IS NOT NULL",
                now, self.name, newest,
            )  # fmt: skip
            if forget:
                tx.run("DELETE FROM signing_keys WHERE name = ? AND generation <= ?", self.name, newest)
            tx.signal(CHANNEL, self.name)
            return self._read(tx)

        return await self._database.write(work)

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after every change of the ring, in any process; the returned function stops that."""
        return self._database.listen(CHANNEL, lambda name: changed() if name == self.name else None)

    def _insert(
        self, tx: Transaction, generation: int, now: float, retired: float | None, public: str, private: str | None
    ) -> None:
        """Insert a key. The generation decides a race: the second process uses the first one's key."""
        sealed = None if private is None else PRIVATE_KEY.seal(self._box, private.encode(), self.name, generation)
        tx.run(
            "INSERT INTO signing_keys (name, generation, created_at, retired_at, public, private)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name, generation) DO NOTHING",
            self.name, generation, now, retired, public, sealed,
        )  # fmt: skip

    def _read(self, rows: Rows) -> list[SigningKey]:
        found = rows.all(
            "SELECT generation, created_at, retired_at, public, private FROM signing_keys WHERE name = ?"
            " ORDER BY generation DESC",
            self.name,
        )
        return [
            SigningKey(generation, made, retired, public, self._opened(private, generation))
            for generation, made, retired, public, private in found
        ]

    def _opened(self, kept: str | None, generation: int) -> str | None:
        return None if kept is None else PRIVATE_KEY.open(self._box, kept, self.name, generation).decode()


@asynccontextmanager
async def following(ring: KeyRing, use: Callable[[Sequence[SigningKey]], None]) -> AsyncGenerator[None]:
    """Call `use` with the keys after every change, in any process, while the context is open."""
    changed = asyncio.Event()
    background = Background()
    end = ring.listen(changed.set)
    changed.set()  # it may have changed since the caller read the keys
    background.start(_follow(ring, use, changed), f"signing-keys-{ring.name}")
    try:
        yield
    finally:
        end()
        await background.stop()


async def _follow(ring: KeyRing, use: Callable[[Sequence[SigningKey]], None], changed: asyncio.Event) -> None:
    while True:
        # A signal may be lost with its connection, so poll from time to time as well.
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_AGAIN_SECONDS):
                await changed.wait()
        changed.clear()
        try:
            if keys := await ring.known():
                use(keys)
        except PentadError as error:
            _log.warning("The signing keys %s cannot be read: %s", ring.name, error.sentence())
            await asyncio.sleep(_RETRY_SECONDS)
            changed.set()
        except Exception:  # noqa: BLE001  nobody would notice if this task ended
            _log.exception("Applying the signing keys %s failed.", ring.name)


def _public(private: str) -> str:
    """The public half of a private key."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    try:
        key = serialization.load_pem_private_key(private.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InvalidInput("The signing key is not a private key in PEM text.") from None
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()
