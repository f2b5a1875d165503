"""A cache of recently verified credentials, so that a busy client is not verified again on every request.

Entries are found by a hash of the header, keyed with a random key of this process: no password or token stays in
memory. An entry lives for seconds, never longer than the credential, and ends at once when its user or key changes.
Every request calls `known`, which does no more than one hash and one lookup.

Keys and tokens cannot be guessed, so they are cached for any address. A password is cached only for the address that
proved it. From any other address it counts as a guess; otherwise a guesser who has used up their attempts could go on.
"""

from hashlib import blake2b
from typing import Final, Generic, NamedTuple, TypeVar

from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness

V = TypeVar("V")

MOST: Final = 4096
_BEARER: Final = b"Bearer "


class _Entry(NamedTuple, Generic[V]):
    value: V
    until: float
    subjects: tuple[str, ...]


class CredentialCache(Generic[V]):
    """A bounded map from credentials to the principal or browser login they proved."""

    def __init__(self, *, most: int = MOST, clock: Clock | None = None, randomness: Randomness | None = None) -> None:
        clock = clock or SystemClock()
        self._now = clock.now
        self._monotonic = clock.monotonic
        self._most = most
        self._keyed = blake2b(key=(randomness or SystemRandomness()).token_bytes(32), digest_size=16)
        self._entries: dict[bytes, _Entry[V]] = {}
        self.generation = 0
        """Grows with every change of a user or key; see `add`."""

    def __repr__(self) -> str:
        return f"<{len(self._entries)} cached credentials>"

    def fingerprint(self, header: bytes, address: str | None) -> bytes:
        """The cache key of credentials; worthless outside this process."""
        keyed = self._keyed.copy()
        keyed.update(header)
        if header[:7] != _BEARER:
            keyed.update(f"\n{address}".encode())
        return keyed.digest()

    def known(self, header: bytes, address: str | None) -> V | None:
        """The cached result, if exactly these bytes were verified recently."""
        entry = self._entries.get(self.fingerprint(header, address))
        if entry is None or self._monotonic() >= entry[1]:
            return None
        return entry[0]

    def was_known(self, header: bytes, address: str | None) -> bool:
        """Whether these bytes were valid before and nothing has changed since. They may have to be verified again."""
        return self.fingerprint(header, address) in self._entries

    def add(
        self,
        fingerprint: bytes,
        value: V,
        *,
        seconds: float,
        expires_at: float | None,
        subjects: tuple[str, ...],
        generation: int,
    ) -> None:
        """Keep the credentials for `seconds`, at most until `expires_at`, and until one of `subjects` changes.

        `generation` is the one read before verification began. If anything changed since, the result may already be
        void, and nothing is kept.
        """
        if generation != self.generation:
            return
        now = self._now()
        if expires_at is not None and expires_at < now + seconds:
            seconds = float(expires_at) - now
        entries = self._entries
        entries.pop(fingerprint, None)
        while len(entries) >= self._most:
            del entries[next(iter(entries))]
        entries[fingerprint] = _Entry(value, self._monotonic() + seconds, subjects)

    def forget(self, subject: str) -> None:
        """Drop every entry that depends on a user or key, because it has changed."""
        self.generation += 1
        void = [fingerprint for fingerprint, entry in self._entries.items() if subject in entry.subjects]
        for fingerprint in void:
            del self._entries[fingerprint]
