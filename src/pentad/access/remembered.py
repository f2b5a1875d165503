"""Credentials verified a moment ago, so that a busy client is not verified anew on every request.

An entry is found by a keyed hash of the header, under a key made at start: no password or token stays in memory.
Trust is short, never outlives the credential, and ends at once when its user or key changes. `known` is on the way of
every request and does no more than one hash and one look-up.

Keys and tokens cannot be guessed, so they are remembered wherever they come from. Passwords can: one is remembered for
the address that proved it. Elsewhere it counts as a guess like any other, or a guesser whose attempts are used up could
go on, and tell the right password by being let in.
"""

from hashlib import blake2b
from typing import Final, NamedTuple

from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness
from pentad.kernel.principal import Principal

MOST: Final = 4096
_UNGUESSABLE: Final = b"Bearer "


class _Entry(NamedTuple):
    principal: Principal
    until: float
    subjects: tuple[str, ...]


class RememberedCredentials:
    """A bounded map from credentials to the principal they proved."""

    def __init__(self, *, most: int = MOST, clock: Clock | None = None, randomness: Randomness | None = None) -> None:
        clock = clock or SystemClock()
        self._now = clock.now
        self._monotonic = clock.monotonic
        self._most = most
        self._keyed = blake2b(key=(randomness or SystemRandomness()).token_bytes(32), digest_size=16)
        self._entries: dict[bytes, _Entry] = {}
        self.generation = 0
        """Grows with every change of a user or key; see `remember`."""

    def __repr__(self) -> str:
        return f"<{len(self._entries)} remembered credentials>"

    def fingerprint(self, header: bytes, address: str | None) -> bytes:
        """What an entry is filed under; worthless outside this process."""
        keyed = self._keyed.copy()
        keyed.update(header)
        if header[:7] != _UNGUESSABLE:
            keyed.update(f"\n{address}".encode())
        return keyed.digest()

    def known(self, header: bytes, address: str | None) -> Principal | None:
        """The principal, if these very bytes were verified a moment ago."""
        entry = self._entries.get(self.fingerprint(header, address))
        if entry is None or self._monotonic() >= entry[1]:
            return None
        return entry[0]

    def was_known(self, header: bytes, address: str | None) -> bool:
        """Whether these very bytes were right before, and nothing has changed since that would make them wrong.

        Trust may have ended meanwhile: this says only that they are no guess.
        """
        return self.fingerprint(header, address) in self._entries

    def remember(
        self,
        fingerprint: bytes,
        principal: Principal,
        *,
        seconds: float,
        expires_at: float | None,
        subjects: tuple[str, ...],
        generation: int,
    ) -> None:
        """Trust the credentials for `seconds`, at most until `expires_at`, and until one of `subjects` changes.

        `generation` is the one read before verification began: if anything changed since, what was verified may
        already be void, and nothing is remembered.
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
        entries[fingerprint] = _Entry(principal, self._monotonic() + seconds, subjects)

    def forget(self, subject: str) -> None:
        """A user or key has changed: drop all that was trusted because of it."""
        self.generation += 1
        void = [fingerprint for fingerprint, entry in self._entries.items() if subject in entry.subjects]
        for fingerprint in void:
            del self._entries[fingerprint]
