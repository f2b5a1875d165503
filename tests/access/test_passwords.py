"""Passwords are hashed dearly, two at a time, and unknown users cost the same."""

import threading
from collections.abc import Iterator

import anyio
import pytest

from pentad.access.passwords import AT_ONCE, LONGEST, WAITING_MOST, HashCost, Passwords, checked_password
from pentad.kernel.errors import InvalidInput, Overloaded

CHEAP = HashCost(memory_kib=8, passes=1)


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    made = Passwords(CHEAP)
    yield made
    made.close()


@pytest.mark.anyio
@pytest.mark.requirement("access:passwords")
async def test_only_the_right_password_fits(passwords: Passwords) -> None:
    encoded = await passwords.hash("correct horse")
    assert encoded.startswith("$argon2id$")
    assert await passwords.verify(encoded, "correct horse")
    assert not await passwords.verify(encoded, "correct horses")
    assert not await passwords.verify(encoded, "")


@pytest.mark.anyio
async def test_the_same_password_never_has_the_same_hash(passwords: Passwords) -> None:
    assert await passwords.hash("correct horse") != await passwords.hash("correct horse")


@pytest.mark.anyio
async def test_composed_and_decomposed_letters_are_the_same_password(passwords: Passwords) -> None:
    assert await passwords.verify(await passwords.hash("caf\u00e9 au lait"), "cafe\u0301 au lait")


@pytest.mark.anyio
@pytest.mark.requirement("access:passwords")
async def test_an_unknown_user_costs_a_real_check_that_never_succeeds(passwords: Passwords) -> None:
    seen: list[str] = []
    fits = passwords._matches
    passwords._matches = lambda encoded, password: seen.append(encoded) or fits(encoded, password)
    assert not await passwords.verify(None, "anything")
    real = await passwords.hash("anything")
    assert [part.split("$")[1:4] for part in seen] == [real.split("$")[1:4]]


@pytest.mark.anyio
async def test_a_damaged_hash_fits_nothing(passwords: Passwords) -> None:
    assert not await passwords.verify("not a hash", "anything")


@pytest.mark.anyio
async def test_a_hash_of_another_cost_is_outdated(passwords: Passwords) -> None:
    dearer = Passwords(HashCost(memory_kib=16, passes=1))
    encoded = await dearer.hash("correct horse")
    dearer.close()
    assert passwords.is_outdated(encoded)
    assert not passwords.is_outdated(await passwords.hash("correct horse"))


@pytest.mark.anyio
async def test_a_storm_is_hashed_two_at_a_time_and_then_turned_away(passwords: Passwords) -> None:
    release = threading.Event()
    lock, inside, most = threading.Lock(), 0, 0

    def slow(encoded: str, password: str) -> bool:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        release.wait(60)
        with lock:
            inside -= 1
        return True

    passwords._matches = slow
    refused = 0

    async def login() -> None:
        nonlocal refused
        try:
            await passwords.verify("x", "y")
        except Overloaded:
            refused += 1

    with anyio.fail_after(60):
        async with anyio.create_task_group() as storm:
            for _ in range(AT_ONCE + WAITING_MOST + 7):
                storm.start_soon(login)
            await anyio.wait_all_tasks_blocked()
            release.set()
    assert (most, refused) == (AT_ONCE, 7)
    assert await passwords.verify("x", "y"), "the places are free again"


@pytest.mark.parametrize("password", ["", "short", "x" * (LONGEST + 1), "lone \ud800 surrogate"])
def test_a_password_of_a_bad_shape_is_refused_without_being_repeated(password: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        checked_password(password)
    assert not password or password not in caught.value.sentence()
