"""Trust in credentials is short, bounded, and ends at once when something changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.access.credential_cache import CredentialCache
from pentad.kernel.principal import Principal
from tests.access.clocks import TurnedClock

HERE = "192.0.2.1"
ADA = Principal("user:ada", "ada", frozenset({"*:read"}))


def add(
    cache: CredentialCache[Principal],
    header: bytes,
    *,
    seconds: float = 5,
    expires_at: float | None = None,
    subjects: tuple[str, ...] = ("user:ada",),
    generation: int | None = None,
) -> None:
    cache.add(
        cache.fingerprint(header, HERE),
        ADA,
        seconds=seconds,
        expires_at=expires_at,
        subjects=subjects,
        generation=cache.generation if generation is None else generation,
    )


def test_the_same_bytes_are_known_until_the_trust_ends() -> None:
    clock = TurnedClock()
    cache = CredentialCache(clock=clock)
    add(cache, b"Bearer x")
    clock.advance(4.999)
    assert cache.known(b"Bearer x", HERE) is ADA
    assert cache.known(b"Bearer y", HERE) is None
    clock.advance(0.001)
    assert cache.known(b"Bearer x", HERE) is None


def test_trust_never_outlives_the_credential() -> None:
    clock = TurnedClock()
    cache = CredentialCache(clock=clock)
    add(cache, b"Bearer x", expires_at=clock.now() + 2)
    clock.advance(1.999)
    assert cache.known(b"Bearer x", HERE) is ADA
    clock.advance(0.002)
    assert cache.known(b"Bearer x", HERE) is None


def test_an_absurdly_late_expiry_is_no_obstacle() -> None:
    cache = CredentialCache(clock=TurnedClock())
    add(cache, b"Bearer x", expires_at=10**400)
    assert cache.known(b"Bearer x", HERE) is ADA


def test_a_change_drops_every_credential_that_rests_on_it_and_no_other() -> None:
    cache = CredentialCache(clock=TurnedClock())
    add(cache, b"Basic a", subjects=("user:ada",))
    add(cache, b"Bearer k", subjects=("key:k", "user:ada"))
    add(cache, b"Bearer o", subjects=("key:o",))
    cache.forget("user:ada")
    assert [cache.known(header, HERE) for header in (b"Basic a", b"Bearer k", b"Bearer o")] == [None, None, ADA]


def test_what_was_verified_before_a_change_is_not_remembered_after_it() -> None:
    cache = CredentialCache(clock=TurnedClock())
    before = cache.generation
    cache.forget("key:k")
    add(cache, b"Bearer k", generation=before)
    assert cache.known(b"Bearer k", HERE) is None


def test_the_oldest_entry_makes_room() -> None:
    cache = CredentialCache(most=3, clock=TurnedClock())
    for number in range(4):
        add(cache, b"Bearer %d" % number)
    assert [cache.known(b"Bearer %d" % number, HERE) is ADA for number in range(4)] == [False, True, True, True]


def test_no_credential_is_kept_in_memory() -> None:
    cache = CredentialCache(clock=TurnedClock())
    add(cache, b"Basic canary-password")
    held = repr(cache) + repr(cache._entries)
    assert "canary" not in held


@pytest.mark.requirement("access:failed-logins:guesses")
@pytest.mark.parametrize("scheme", [b"Basic", b"basic", b" Basic", b"Digest", b"bearer"])
def test_what_can_be_guessed_is_known_at_its_own_address_alone(scheme: bytes) -> None:
    cache = CredentialCache(clock=TurnedClock())
    add(cache, scheme + b" word")
    assert cache.known(scheme + b" word", HERE) is ADA
    for elsewhere in ("192.0.2.2", "", None):
        assert cache.known(scheme + b" word", elsewhere) is None
        assert not cache.was_known(scheme + b" word", elsewhere)


def test_a_key_or_token_is_known_wherever_it_comes_from() -> None:
    cache = CredentialCache(clock=TurnedClock())
    add(cache, b"Bearer x")
    assert cache.known(b"Bearer x", "192.0.2.2") is ADA


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_other_bytes_are_never_known(header: bytes, other: bytes) -> None:
    cache = CredentialCache(clock=TurnedClock())
    add(cache, header)
    assert (cache.known(other, HERE) is ADA) == (header == other)
