"""Password hashing with argon2id, in threads and at most two at a time.

Each hash takes 32 MiB and some 50 ms on purpose; without the limit of two, a login storm would use up all memory. An
unknown name costs the same work as a known one. Passwords are never stored, logged or included in an error.
"""

import asyncio
import base64
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from pentad.kernel.clock import Randomness, SystemRandomness
from pentad.kernel.errors import InvalidInput, Overloaded

SHORTEST: Final = 8
LONGEST: Final = 1024
AT_ONCE: Final = 2
WAITING_MOST: Final = 64
_HASH_BYTES: Final = 32
_SALT_BYTES: Final = 16

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HashCost:
    """How expensive one guess is. After a change, each password is rehashed at its next login."""

    memory_kib: int = 32 * 1024
    passes: int = 2
    lanes: int = 1


class Passwords:
    """Hashes and verifies; owns two threads until closed."""

    def __init__(self, cost: HashCost | None = None, randomness: Randomness | None = None) -> None:
        cost = cost or HashCost()
        self._hasher = PasswordHasher(
            time_cost=cost.passes,
            memory_cost=cost.memory_kib,
            parallelism=cost.lanes,
            hash_len=_HASH_BYTES,
            salt_len=_SALT_BYTES,
            type=Type.ID,
        )
        self._decoy = _decoy(cost, randomness or SystemRandomness())
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="pentad-passwords")
        self._running = 0

    async def hash(self, password: str) -> str:
        """The encoded hash, which includes its salt and parameters."""
        text = _normalized(password)
        return await self._in_thread(lambda: self._hasher.hash(text))

    async def verify(self, encoded: str | None, password: str) -> bool:
        """Whether the password matches. `None` means an unknown user: the same work, always False."""
        if len(password) > LONGEST:
            return False
        text = _normalized(password)
        return await self._in_thread(lambda: self._matches(encoded or self._decoy, text))

    def is_outdated(self, encoded: str) -> bool:
        """Whether a hash was made at a different cost."""
        return self._hasher.check_needs_rehash(encoded)

    def close(self) -> None:
        """Stop the threads: running hashes finish, waiting ones are cancelled."""
        self._threads.shutdown(cancel_futures=True)

    def _matches(self, encoded: str, password: str) -> bool:
        try:
            return self._hasher.verify(encoded, password)
        except (VerificationError, InvalidHashError, UnicodeEncodeError):
            return False

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._running >= AT_ONCE + WAITING_MOST:
            raise Overloaded("Too many logins are being checked right now.", hint="Try again in a second.")
        self._running += 1
        future = self._threads.submit(work)
        future.add_done_callback(self._when_done(asyncio.get_running_loop()))
        return await asyncio.wrap_future(future)

    def _when_done(self, loop: asyncio.AbstractEventLoop) -> Callable[[object], None]:
        """A callback that frees the slot when the thread is done. A caller that gives up earlier does not free it."""

        def discount() -> None:
            self._running -= 1

        def done(_: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(discount)

        return done


def checked_password(password: str) -> str:
    """The password; InvalidInput if it breaks a length rule."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidInput(
            f"A password has {SHORTEST} to {LONGEST} characters; this one has {len(password)}.",
            hint="Choose another one.",
            details={"field": "password"},
        )
    if any("\ud800" <= character <= "\udfff" for character in password):
        raise InvalidInput("The password is not valid Unicode text.", hint="Type it as UTF-8.")
    return password


def _normalized(password: str) -> str:
    """NFC, so that é matches however it was typed (RFC 7617 section 2.1)."""
    return unicodedata.normalize("NFC", password)


def _decoy(cost: HashCost, randomness: Randomness) -> str:
    """A well-formed hash that no password matches; checking it costs the full work."""

    def text(count: int) -> str:
        return base64.b64encode(randomness.token_bytes(count)).rstrip(b"=").decode("ascii")

    parameters = f"m={cost.memory_kib},t={cost.passes},p={cost.lanes}"
    return f"$argon2id$v=19${parameters}${text(_SALT_BYTES)}${text(_HASH_BYTES)}"
