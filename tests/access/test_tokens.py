"""A token counts only if the issuer signed it, for us, for now. The table of forgeries is the point of this file."""

import asyncio
import base64
import hmac
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc.errors import SecurityWarning
from joserfc.jwk import OctKey, RSAKey

from pentad.access.issuer import TrustedIssuer
from pentad.access.tokens import RefusedToken, TokenVerifier, VerifiedToken
from pentad.kernel.errors import Misconfigured, Unavailable
from tests.access.clocks import TurnedClock
from tests.access.issuing import (
    AUDIENCE,
    EC,
    ISSUER,
    JWKS_URL,
    RSA,
    SECRET,
    ServedKeys,
    claims,
    key_set,
    segment,
    signed,
)  # fmt: skip

CLOCK = TurnedClock()
NOW = CLOCK.now()
STRANGER = RSAKey.generate_key(2048, {"kid": "rsa-1"})
TRUSTED = TrustedIssuer(ISSUER, (AUDIENCE,), jwks_url=JWKS_URL)


def verifier(clock: TurnedClock = CLOCK, served: ServedKeys | None = None) -> TokenVerifier:
    return TokenVerifier([TRUSTED], served or ServedKeys(key_set(RSA, EC)), clock=clock)


async def accepted(checks: TokenVerifier, token: str) -> VerifiedToken:
    verified = await checks.verify(token)
    assert isinstance(verified, VerifiedToken)
    return verified


async def refused(checks: TokenVerifier, token: str) -> RefusedToken:
    verdict = await checks.verify(token)
    assert isinstance(verdict, RefusedToken)
    return verdict


@pytest.mark.anyio
@pytest.mark.parametrize(("key", "alg"), [(RSA, "RS256"), (RSA, "PS256"), (EC, "ES256")])
@pytest.mark.requirement("access:jwt:accepted")
async def test_a_good_token_yields_the_issuers_subject(key: Any, alg: str) -> None:
    verified = await accepted(verifier(), signed(claims(NOW), key, alg))
    assert verified.principal.id == "jwt:https://login.example|ada"
    assert verified.principal.kind == "token"
    assert verified.principal.scopes == {"*:read"}
    assert verified.expires_at == int(NOW) + 300


def _hs_with_the_public_key() -> str:
    content = f"{segment({'alg': 'HS256', 'kid': 'rsa-1'})}.{segment(claims(NOW))}"
    mac = hmac.digest(RSA.as_pem(private=False), content.encode(), "sha256")
    return f"{content}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def _deep_header() -> str:
    return f"{base64.urlsafe_b64encode(b'[' * 350).rstrip(b'=').decode()}.e30.AAAA"


def _with_other_payload() -> str:
    header, _, signature = signed(claims(NOW)).split(".")
    return f"{header}.{segment(claims(NOW, sub='eve'))}.{signature}"


FORGED: dict[str, Callable[[], str]] = {
    "algorithm none": lambda: f"{segment({'alg': 'none'})}.{segment(claims(NOW))}.",
    "algorithm None in capitals": lambda: f"{segment({'alg': 'NONE', 'kid': 'rsa-1'})}.{segment(claims(NOW))}.",
    "HMAC with the public key": _hs_with_the_public_key,
    "HMAC with a stranger's secret": lambda: signed(claims(NOW), SECRET, "HS256", kid="rsa-1"),
    "a stranger's key under our id": lambda: signed(claims(NOW), STRANGER),
    "an unknown key id": lambda: signed(claims(NOW), kid="rsa-2"),
    "no key id where two could fit none": lambda: signed(claims(NOW), STRANGER, kid=None),
    "an id of another key type": lambda: signed(claims(NOW), kid="ec-1"),
    "an embedded key": lambda: signed(claims(NOW), STRANGER, kid="x", jwk=STRANGER.as_dict(private=False)),
    "a changed payload": _with_other_payload,
    "another audience": lambda: signed(claims(NOW, aud="https://other.example")),
    "other audiences": lambda: signed(claims(NOW, aud=["https://a.example", "https://b.example"])),
    "no audience": lambda: signed(claims(NOW, aud=None)),
    "an audience that only begins alike": lambda: signed(claims(NOW, aud=AUDIENCE + "/evil")),
    "another issuer": lambda: signed(claims(NOW, iss="https://evil.example")),
    "an issuer with a slash more": lambda: signed(claims(NOW, iss=ISSUER + "/")),
    "a list with the issuer in it": lambda: signed(claims(NOW, iss=["https://evil.example", ISSUER])),
    "no issuer": lambda: signed(claims(NOW, iss=None)),
    "expired": lambda: signed(claims(NOW, exp=int(NOW) - 31)),
    "no expiry": lambda: signed(claims(NOW, exp=None)),
    "an expiry that is text": lambda: signed(claims(NOW, exp="never")),
    "an expiry that is true": lambda: signed(claims(NOW, exp=True)),
    "an expiry that is no number": lambda: signed(claims(NOW, exp=float("nan"))),
    "an expiry without end": lambda: signed(claims(NOW, exp=float("inf"))),
    "not valid yet": lambda: signed(claims(NOW, nbf=int(NOW) + 60)),
    "issued in the future": lambda: signed(claims(NOW, iat=int(NOW) + 60)),
    "no subject": lambda: signed(claims(NOW, sub=None)),
    "an empty subject": lambda: signed(claims(NOW, sub="")),
    "a subject that is a number": lambda: signed(claims(NOW, sub=7)),
    "a subject with a line break": lambda: signed(claims(NOW, sub="ada\nadmin")),
    "an endless subject": lambda: signed(claims(NOW, sub="a" * 256)),
    "an id token's type": lambda: signed(claims(NOW), typ="dpop+jwt"),
    "a critical extension": lambda: signed(claims(NOW), crit=["b64"], b64=True),
    "a payload that is a list": lambda: f"{segment({'alg': 'RS256', 'kid': 'rsa-1'})}.{segment([1])}.AAAA",
    "a header that is a list": lambda: f"{segment(['alg'])}.{segment(claims(NOW))}.AAAA",
    "a header without algorithm": lambda: f"{segment({'kid': 'rsa-1'})}.{segment(claims(NOW))}.AAAA",
    "a header with a number for a key id": lambda: f"{segment({'alg': 'RS256', 'kid': 1})}.{segment({})}.AAAA",
    "five parts": lambda: "a.b.c.d.e",
    "garbage": lambda: "not a token",
    "nothing": lambda: "",
    "a deep header": _deep_header,
}  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("forgery", FORGED)
@pytest.mark.requirement("access:jwt:forged")
async def test_a_forged_token_is_refused(forgery: str) -> None:
    await refused(verifier(), FORGED[forgery]())


@pytest.mark.anyio
@pytest.mark.requirement("access:jwt:forged")
async def test_times_are_met_within_the_leeway() -> None:
    await accepted(verifier(), signed(claims(NOW, exp=int(NOW) - 29, nbf=int(NOW) + 29)))


@pytest.mark.anyio
async def test_one_of_several_audiences_suffices() -> None:
    await accepted(verifier(), signed(claims(NOW, aud=["https://other.example", AUDIENCE])))


@pytest.mark.anyio
async def test_only_scopes_of_ours_and_mapped_roles_are_taken_over() -> None:
    issuer = TrustedIssuer(
        ISSUER, (AUDIENCE,), jwks_url=JWKS_URL, roles_claim="realm_access.roles", roles={"pentad-writer": "writer"}
    )
    token = signed(
        claims(
            NOW,
            scope="openid directory:admin profile",
            scp=["metrics:read", 7, "email"],
            realm_access={"roles": ["pentad-writer", "admin", None]},
        )
    )
    verified = await accepted(TokenVerifier([issuer], ServedKeys(key_set(RSA)), clock=CLOCK), token)
    assert verified.principal.scopes == {"directory:admin", "metrics:read", "*:read", "*:write"}


@pytest.mark.anyio
@pytest.mark.requirement("access:jwt:keys")
async def test_a_rotated_key_is_found_but_the_issuer_is_asked_at_most_every_half_minute() -> None:
    clock = TurnedClock()
    served = ServedKeys(key_set(EC))
    checks = verifier(clock, served)
    for _ in range(5):
        await refused(checks, signed(claims(NOW)))
    assert served.asked == 1
    served.body = key_set(EC, RSA)
    clock.advance(30)
    await accepted(checks, signed(claims(NOW)))
    assert served.asked == 2


@pytest.mark.anyio
async def test_callers_at_once_ask_the_issuer_once() -> None:
    served = ServedKeys(key_set(RSA))
    checks = verifier(served=served)
    await asyncio.gather(*(accepted(checks, signed(claims(NOW))) for _ in range(5)))
    assert served.asked == 1


@pytest.mark.anyio
async def test_a_withdrawn_key_is_forgotten_within_the_hour() -> None:
    clock = TurnedClock()
    served = ServedKeys(key_set(RSA))
    checks = verifier(clock, served)
    await accepted(checks, signed(claims(NOW)))
    served.body = key_set(EC)
    clock.advance(3600)
    await refused(checks, signed(claims(clock.now())))


@pytest.mark.anyio
async def test_an_issuer_that_is_away_is_a_passing_failure_and_known_keys_go_on_working() -> None:
    clock = TurnedClock()
    served = ServedKeys(key_set(RSA))
    served.is_down = True
    checks = verifier(clock, served)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await checks.verify(signed(claims(NOW)))
    assert served.asked == 1
    served.is_down = False
    clock.advance(30)
    await accepted(checks, signed(claims(clock.now())))
    served.status = 500
    clock.advance(7200)
    await accepted(checks, signed(claims(clock.now())))


@pytest.mark.anyio
@pytest.mark.parametrize("body", [b"", b"[]", b'{"keys": 1}', b'{"keys": [1]}'])
async def test_a_broken_key_set_counts_as_none_at_all(body: bytes) -> None:
    with pytest.raises(Unavailable):
        await verifier(served=ServedKeys(body)).verify(signed(claims(NOW)))


@pytest.mark.anyio
async def test_keys_that_are_weak_or_unknown_are_passed_over() -> None:
    with pytest.warns(SecurityWarning):
        weak = RSAKey.generate_key(1024, {"kid": "rsa-1"})
    keys = [{"kty": "RSA"}, {"kty": "future", "kid": "f"}, weak.as_dict(private=False), EC.as_dict(private=False)]
    checks = verifier(served=ServedKeys(json.dumps({"keys": keys}).encode()))
    await refused(checks, signed(claims(NOW), weak))
    await accepted(checks, signed(claims(NOW), EC, "ES256"))


@pytest.mark.anyio
async def test_a_secret_in_the_public_key_set_is_never_used() -> None:
    shared = OctKey.generate_key(256, {"kid": "shared"})
    body = b'{"keys": [' + json.dumps(shared.as_dict(private=True)).encode() + b"]}"
    await refused(verifier(served=ServedKeys(body)), signed(claims(NOW), shared, "HS256"))


@pytest.mark.anyio
@pytest.mark.requirement("access:jwt:keys")
async def test_keys_may_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(key_set(RSA))
    checks = TokenVerifier([TrustedIssuer(ISSUER, (AUDIENCE,), jwks_file=file)], clock=CLOCK)
    assert (await accepted(checks, signed(claims(NOW)))).principal.name == "ada"


@pytest.mark.anyio
async def test_a_shared_secret_takes_its_own_tokens_and_no_others() -> None:
    secret = SECRET.raw_value
    issuer = TrustedIssuer(ISSUER, (AUDIENCE,), secret=secret, algorithms=("HS256",))
    checks = TokenVerifier([issuer], clock=CLOCK)
    assert (await accepted(checks, signed(claims(NOW), SECRET, "HS256", kid=None))).principal.name == "ada"
    for token in (signed(claims(NOW)), signed(claims(NOW), OctKey.generate_key(256), "HS256", kid=None)):
        await refused(checks, token)
    assert repr(secret) not in repr(issuer)


def test_a_public_key_is_no_shared_secret() -> None:
    issuer = TrustedIssuer(ISSUER, (AUDIENCE,), secret=RSA.as_pem(private=False), algorithms=("HS256",))
    with pytest.raises(Misconfigured):
        TokenVerifier([issuer])


@pytest.mark.parametrize(
    "settings",
    [
        {"audiences": ()},
        {"issuer": ""},
        {"jwks_url": None, "issuer": "login"},
        {"jwks_url": None, "issuer": "http://login.example"},
        {"secret": b"x" * 32},
        {"algorithms": ("none",)},
        {"algorithms": ("HS256",)},
        {"algorithms": ()},
        {"jwks_url": "http://login.example/jwks"},
        {"leeway": 3600},
        {"roles": {"staff": "boss"}},
        {"roles": {"staff": ""}},
        {"scopes": {"staff": "directory:fly"}},
        {"jwks_url": None, "secret": b"short", "algorithms": ("HS256",)},
        {"jwks_url": None, "secret": b"x" * 32},
    ],
)
def test_unsafe_settings_are_refused_when_they_are_read(settings: dict[str, Any]) -> None:
    given: dict[str, Any] = {"issuer": ISSUER, "audiences": (AUDIENCE,), "jwks_url": JWKS_URL, **settings}
    with pytest.raises(Misconfigured):
        TrustedIssuer(**given)


@given(st.text(max_size=300) | st.binary(max_size=60).map(lambda noise: f"{segment({'alg': 'RS256'})}.{noise.hex()}.x"))
def test_any_text_is_refused_in_the_one_way(text: str) -> None:
    asyncio.run(refused(verifier(), text))
