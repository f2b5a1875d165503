"""Any Authorization header becomes a principal or one of our refusals, and trust ends when it must."""

import asyncio
import base64
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pentad.access.api_keys import ApiKeys
from pentad.access.credential_cache import CredentialCache
from pentad.access.credentials import LONGEST_HEADER, Authenticator
from pentad.access.failed_logins import PAIR_ALLOWED as ALLOWED
from pentad.access.issuer import TrustedIssuer
from pentad.access.passwords import Passwords
from pentad.access.tokens import TokenVerifier
from pentad.access.users import User, Users
from pentad.kernel.errors import PentadError, RateLimited, Unauthenticated, Unavailable
from pentad.kernel.ports import Database
from pentad.kernel.principal import Principal
from tests.access.clocks import TurnedClock
from tests.access.issuing import AUDIENCE, ISSUER, JWKS_URL, RSA, ServedKeys, claims, key_set, signed

PASSWORD = "canary:correct horse"
Gate = tuple[Authenticator, Users, ApiKeys, TurnedClock]


def basic(name: str, password: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{name}:{password}".encode())


def bearer(token: str) -> bytes:
    return f"Bearer {token}".encode()


def gate_on(db: Database, passwords: Passwords) -> Gate:
    clock = TurnedClock()
    remembered = CredentialCache(clock=clock)
    users = Users(db, passwords, on_change=remembered.forget, clock=clock)
    keys = ApiKeys(db, on_change=remembered.forget, clock=clock)
    issuer = TrustedIssuer(ISSUER, (AUDIENCE,), jwks_url=JWKS_URL)
    tokens = TokenVerifier([issuer], ServedKeys(key_set(RSA)), clock=clock)
    return Authenticator(users, keys, remembered, tokens=tokens, clock=clock), users, keys, clock


@pytest.fixture
async def gate(db: Database, passwords: Passwords) -> AsyncIterator[Gate]:
    made = gate_on(db, passwords)
    end = made[0].follow(db)
    yield made
    end()


async def refused(check: Callable[[bytes | None], Awaitable[Principal]], header: bytes | None) -> Unauthenticated:
    with pytest.raises(Unauthenticated) as caught:
        await check(header)
    return caught.value


@pytest.mark.anyio
@pytest.mark.requirement("access:basic")
async def test_basic_credentials_become_the_user(gate: Gate) -> None:
    authenticator, users, _, _ = gate
    await users.add("ada", PASSWORD, role="writer")
    for header in (
        basic("ada", PASSWORD),
        basic("ADA", PASSWORD),
        b"  basic   " + basic("ada", PASSWORD)[6:] + b"\t ",
        b"BASIC " + basic("ada", PASSWORD)[6:],
    ):
        assert (await authenticator.authenticate(header)).id == "user:ada"


@pytest.mark.anyio
async def test_a_password_outside_ascii_is_read_as_utf8(gate: Gate) -> None:
    authenticator, users, _, _ = gate
    await users.add("ada", "pässwörd€")
    assert (await authenticator.authenticate(basic("ada", "pässwörd€"))).id == "user:ada"
    await refused(authenticator.authenticate, b"Basic " + base64.b64encode("ada:pässwörd".encode("latin-1")))


@pytest.mark.anyio
async def test_bearer_takes_keys_and_tokens(gate: Gate) -> None:
    authenticator, _, keys, clock = gate
    made = await keys.create("laptop")
    assert (await authenticator.authenticate(bearer(made.token))).id == made.key.credential
    assert (await authenticator.authenticate(bearer(signed(claims(clock.now()))))).id == f"jwt:{ISSUER}|ada"


@pytest.mark.anyio
async def test_without_an_issuer_no_token_is_accepted(db: Database, passwords: Passwords) -> None:
    authenticator = Authenticator(Users(db, passwords), ApiKeys(db), CredentialCache())
    await refused(authenticator.authenticate, bearer(signed(claims(TurnedClock().now()))))


@pytest.mark.anyio
async def test_no_credentials_are_answered_with_what_to_send(gate: Gate) -> None:
    for header in (None, b"", b"  "):
        assert "Basic" in ((await refused(gate[0].authenticate, header)).hint or "")


@pytest.mark.anyio
@pytest.mark.requirement("access:401:same-words")
async def test_every_wrong_credential_gets_the_same_words(gate: Gate) -> None:
    authenticator, users, keys, _ = gate
    await users.add("ada", PASSWORD)
    made = await keys.create("laptop")
    wrong = [
        basic("ada", "wrong"), basic("eve", "wrong"), basic("a b", "wrong"), b"Basic " + base64.b64encode(b"ada"),
        b"Basic !!!", b"Basic", b"Bearer", b"Bearer pentad_x", bearer(made.token[:-1] + "_"), b"Digest x",
        b"\xff\xfe x", b"Basic " + b"A" * LONGEST_HEADER, b"Bearer " + bytes(range(128, 256)),
    ]  # fmt: skip
    errors = [await refused(authenticator.authenticate, header) for header in wrong]
    assert len({(error.message, error.hint) for error in errors}) == 1, "but for the number of the report"


@pytest.mark.anyio
async def test_verified_credentials_are_known_for_their_short_while(gate: Gate) -> None:
    authenticator, users, keys, clock = gate
    await users.add("ada", PASSWORD)
    made = await keys.create("laptop")
    headers = basic("ada", PASSWORD), bearer(made.token), bearer(signed(claims(clock.now())))

    def known() -> list[bool]:
        return [authenticator.known(header, None) is not None for header in headers]

    assert known() == [False, False, False]
    for header in headers:
        await authenticator.authenticate(header)
    assert known() == [True, True, True]
    clock.advance(4.9)
    assert known() == [True, True, True]
    clock.advance(0.2)
    assert known() == [True, False, False]
    clock.advance(55)
    assert known() == [False, False, False]


@pytest.mark.anyio
async def test_nothing_is_known_past_its_own_expiry(gate: Gate) -> None:
    authenticator, _, keys, clock = gate
    made = await keys.create("short", lifetime=2)
    token = signed(claims(clock.now(), exp=int(clock.now()) + 2))
    headers = bearer(made.token), bearer(token)
    for header in headers:
        await authenticator.authenticate(header)
    clock.advance(1.9)
    assert all(authenticator.known(header, None) for header in headers)
    clock.advance(0.2)
    assert not any(authenticator.known(header, None) for header in headers)
    await refused(authenticator.authenticate, headers[0])


@pytest.mark.anyio
@pytest.mark.requirement("access:trust:ends")
async def test_a_change_ends_trust_at_once_in_this_process(gate: Gate) -> None:
    authenticator, users, keys, _ = gate
    await users.add("ada", PASSWORD)
    await users.add("bob", PASSWORD)
    one, two = await keys.create("one", owner="ada"), await keys.create("two", owner="ada")
    ada, bob = basic("ada", PASSWORD), basic("bob", PASSWORD)
    for header in (ada, bob, bearer(one.token), bearer(two.token)):
        await authenticator.authenticate(header)
    await keys.revoke(one.key.id)
    assert authenticator.known(bearer(one.token), None) is None
    assert authenticator.known(bearer(two.token), None) is not None
    await refused(authenticator.authenticate, bearer(one.token))
    await users.set_password("ada", "a new password")
    headers = ada, bearer(two.token), bob
    assert [authenticator.known(header, None) is None for header in headers] == [True, True, False]
    await refused(authenticator.authenticate, ada)


@pytest.mark.anyio
@pytest.mark.requirement("access:trust:ends")
async def test_a_change_in_another_process_ends_trust_here(gate: Gate, other: Database, passwords: Passwords) -> None:
    authenticator, _, keys, _ = gate
    made = await keys.create("laptop")
    header = bearer(made.token)
    heard = asyncio.Event()
    forget = authenticator._cache.forget

    def forget_and_tell(subject: str) -> None:
        forget(subject)
        heard.set()

    authenticator._cache.forget = forget_and_tell
    end = authenticator.follow(keys._db)
    await authenticator.authenticate(header)
    assert authenticator.known(header, None) is not None
    await ApiKeys(other).revoke(made.key.id)
    with anyio.fail_after(60):
        await heard.wait()
    end()
    assert authenticator.known(header, None) is None


@pytest.mark.anyio
async def test_a_login_verified_while_the_password_changed_is_not_trusted(gate: Gate) -> None:
    authenticator, users, _, _ = gate
    await users.add("ada", PASSWORD)
    verify = users.verify

    async def verify_then_change(name: str, password: str) -> User | None:
        user = await verify(name, password)
        await users.set_password("ada", "a new password")
        return user

    users.verify = verify_then_change  # the change falls between check and trust
    await authenticator.authenticate(basic("ada", PASSWORD))
    assert authenticator.known(basic("ada", PASSWORD), None) is None


@pytest.mark.anyio
async def test_requests_at_once_hash_the_password_once(gate: Gate, passwords: Passwords) -> None:
    authenticator, users, _, _ = gate
    await users.add("ada", PASSWORD)
    checks = 0
    fits = passwords._matches

    def counted(encoded: str, password: str) -> bool:
        nonlocal checks
        checks += 1
        return fits(encoded, password)

    passwords._matches = counted
    principals = await asyncio.gather(*(authenticator.authenticate(basic("ada", PASSWORD)) for _ in range(20)))
    assert {principal.id for principal in principals} == {"user:ada"}
    assert checks == 1


@pytest.mark.anyio
@pytest.mark.requirement("access:passwords:guessing")
async def test_guessing_closes_the_name_even_to_guesses_sent_at_once(gate: Gate) -> None:
    authenticator, users, _, clock = gate
    await users.add("ada", PASSWORD)
    await users.add("bob", PASSWORD)
    guesses = [basic("Ada" if number % 2 else "ada", f"guess {number}") for number in range(ALLOWED + 5)]
    outcomes = await asyncio.gather(*map(authenticator.authenticate, guesses), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["RateLimited"] * 5 + ["Unauthenticated"] * ALLOWED
    with pytest.raises(RateLimited):
        await authenticator.authenticate(basic("ada", PASSWORD))
    assert (await authenticator.authenticate(basic("bob", PASSWORD))).id == "user:bob"
    clock.advance(60)
    assert (await authenticator.authenticate(basic("ada", PASSWORD))).id == "user:ada"


@pytest.mark.anyio
async def test_an_outage_of_the_store_is_not_held_against_the_user(gate: Gate) -> None:
    authenticator, users, _, _ = gate
    await users.add("ada", PASSWORD)
    verify = users.verify

    async def away(name: str, password: str) -> User | None:
        raise Unavailable("The store is away.")

    users.verify = away
    for _ in range(ALLOWED + 1):
        with pytest.raises(Unavailable):
            await authenticator.authenticate(basic("ada", PASSWORD))
    users.verify = verify
    assert (await authenticator.authenticate(basic("ada", PASSWORD))).id == "user:ada"


@pytest.mark.anyio
@pytest.mark.requirement("access:secrets:logs")
async def test_no_secret_reaches_a_log_or_a_repr(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    authenticator, users, keys, clock = gate
    await users.add("ada", PASSWORD)
    made = await keys.create("laptop")
    token = signed(claims(clock.now()))
    shown = ""
    for header in (basic("ada", PASSWORD), basic("ada", "canary wrong"), bearer(made.token), bearer(token + "x")):
        try:
            shown += repr(await authenticator.authenticate(header))
        except PentadError as error:
            shown += repr(error) + error.sentence() + repr(error.as_json())
    shown += caplog.text + repr(users) + repr(keys) + repr(authenticator) + repr(authenticator._cache)
    for secret in ("canary", made.token.split("_")[2], token, basic("ada", PASSWORD)[6:].decode()):
        assert secret not in shown


HEADERS = st.one_of(
    st.binary(max_size=120),
    st.binary(max_size=60).map(lambda noise: b"Basic " + base64.b64encode(noise)),
    st.binary(max_size=60).map(lambda noise: b"Bearer " + noise),
    st.text(alphabet="abcdefghijklmnopqrstuvwxyz234567_", max_size=90).map(lambda text: bearer(f"pentad_{text}")),
    st.text(max_size=90).map(lambda text: bearer(f"eyJhbGciOiJSUzI1NiJ9.{text}.x")),
)


@pytest.mark.anyio
async def test_any_bytes_are_refused_in_our_own_words(gate: Gate) -> None:
    authenticator = gate[0]
    loop = asyncio.get_running_loop()

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(HEADERS)
    def search(header: bytes) -> None:
        check = asyncio.run_coroutine_threadsafe(authenticator.authenticate(header), loop)
        with pytest.raises(PentadError):
            check.result(timeout=60)

    await anyio.to_thread.run_sync(search)


@pytest.mark.anyio
async def test_credentials_of_one_never_yield_another(gate: Gate) -> None:
    """Whatever is spliced together from two users' credentials, it is one of them in whole or nobody."""
    authenticator, users, keys, _ = gate
    await users.add("ada", "password of ada")
    await users.add("bob", "password of bob")
    ada, bob = await keys.create("a", owner="ada"), await keys.create("b", owner="bob")
    whole = {
        basic("ada", "password of ada"): "user:ada",
        basic("bob", "password of bob"): "user:bob",
        bearer(ada.token): "user:ada",
        bearer(bob.token): "user:bob",
    }
    loop = asyncio.get_running_loop()

    @settings(max_examples=100, deadline=None)
    @given(st.sampled_from(sorted(whole)), st.sampled_from(sorted(whole)), st.integers(0, 100))
    def search(one: bytes, other: bytes, cut: int) -> None:
        header = one[:cut] + other[cut:]
        check = asyncio.run_coroutine_threadsafe(authenticator.authenticate(header), loop)
        try:
            assert check.result(timeout=60).id == whole[header]
        except (Unauthenticated, RateLimited):
            assert header not in whole or header.startswith(b"Basic")

    await anyio.to_thread.run_sync(search)
