"""NamingService and SignService: records by name, and their signers."""

import base64
import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from grpc import StatusCode

from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.trust.jwks import Domain
from pentad.rooms.directory.trust.service import Trust
from pentad.rooms.directory.wire.protos import naming_pb2, sign_pb2
from tests.rooms.directory.interface.grpc.site import Site, Wire, ref
from tests.rooms.directory.records.parts import agent

pytestmark = pytest.mark.anyio


async def test_a_name_resolves_to_its_versions_newest_first(wire: Wire) -> None:
    name = f"example.org/{uuid.uuid4()}"
    old, new = await wire.push(agent(name=name, version="v1"), agent(name=f"https://{name}", version="v2"))
    answer = await wire.one("NamingService/Resolve", naming_pb2.ResolveRequest(name=name))
    assert [(one.cid, one.version) for one in answer.records] == [(new, "v2"), (old, "v1")]
    answer = await wire.one("NamingService/Resolve", naming_pb2.ResolveRequest(name=name, version="v1"))
    assert [(one.cid, one.name) for one in answer.records] == [(old, name)]


async def test_a_name_that_is_missing_or_unknown_is_told(wire: Wire) -> None:
    empty = await wire.refused("NamingService/Resolve", naming_pb2.ResolveRequest())
    assert (empty.code, empty.text) == (StatusCode.INVALID_ARGUMENT, "name is required")
    unknown = await wire.refused("NamingService/Resolve", naming_pb2.ResolveRequest(name="nobody", version="v1"))
    assert unknown.code is StatusCode.NOT_FOUND
    assert 'no record found with name "nobody" and version "v1"' in unknown.text


async def test_an_unsigned_record_is_not_verified_and_that_is_no_error(wire: Wire) -> None:
    name = f"example.org/{uuid.uuid4()}"
    (cid,) = await wire.push(agent(name=name))
    for request in (naming_pb2.GetVerificationInfoRequest(cid=cid), naming_pb2.GetVerificationInfoRequest(name=name)):
        answer = await wire.one("NamingService/GetVerificationInfo", request)
        assert (answer.verified, answer.error_message) == (False, "no verification found")
    refusal = await wire.refused("NamingService/GetVerificationInfo", naming_pb2.GetVerificationInfoRequest())
    assert (refusal.code, refusal.text) == (StatusCode.INVALID_ARGUMENT, "either cid or name is required")


async def test_nobody_verified_is_an_answer(wire: Wire) -> None:
    (cid,) = await wire.push(agent())
    answer = await wire.one("SignService/Verify", sign_pb2.VerifyRequest(record_ref=ref(cid)))
    assert (answer.success, answer.error_message) == (False, "no verified signatures found")
    refusal = await wire.refused("SignService/Verify", sign_pb2.VerifyRequest())
    assert (refusal.code, refusal.text) == (StatusCode.INVALID_ARGUMENT, "record CID is required")


async def test_signing_is_left_to_the_client(wire: Wire) -> None:
    refusal = await wire.refused("SignService/Sign", sign_pb2.SignRequest(record_ref=ref("x")))
    assert refusal.code is StatusCode.UNIMPLEMENTED
    assert refusal.text == "server-side signing not implemented - use client SDK"


async def test_a_signed_record_is_verified_for_those_who_ask_for_its_signer(site: Site, wire: Wire) -> None:
    (cid,) = await wire.push(agent())
    key = Ed25519PrivateKey.generate()
    await site.directory.trust.sign(LOCAL, cid, pem_of(key))
    answer = await wire.one("SignService/Verify", sign_pb2.VerifyRequest(record_ref=ref(cid)))
    assert answer.success
    (signer,) = answer.signers
    assert signer.key.algorithm == "Ed25519"

    async def asked(**provider: Any) -> Any:
        wanted = sign_pb2.VerifyRequestProvider(**provider)
        return await wire.one("SignService/Verify", sign_pb2.VerifyRequest(record_ref=ref(cid), provider=wanted))

    for provider in (
        {"any": sign_pb2.VerifyWithAny()},
        {"key": sign_pb2.VerifyWithKey(public_key=f"\n{signer.key.public_key}  ")},
    ):
        assert list((await asked(**provider)).signers) == [signer]
    for provider in (
        {"key": sign_pb2.VerifyWithKey(public_key="another")},
        {"oidc": sign_pb2.VerifyWithOIDC(issuer="https://issuer.example.org")},
        {"oidc": sign_pb2.VerifyWithOIDC()},
    ):
        refused = await asked(**provider)
        assert (refused.success, refused.error_message) == (False, "no verified signers match the requested provider")


async def test_a_name_its_domain_vouches_for_is_verified(site: Site, wire: Wire) -> None:
    directory, app = site.directory, site.app
    host = f"{uuid.uuid4()}.example.org"
    (cid,) = await wire.push(agent(name=f"https://{host}/agent"))
    key = Ed25519PrivateKey.generate()
    await directory.trust.sign(LOCAL, cid, pem_of(key))
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    public = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    published = KeySets({host: {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": public, "kid": "k1"}]}})
    parts = directory.referrers, directory.naming, directory.events
    asking = Trust(app.database, app.clock, app.fetcher, *parts, resolver=published)
    assert (await asking.verify_name(cid, None)).verified
    request = naming_pb2.GetVerificationInfoRequest(name=f"{host}/agent")
    answer = await wire.one("NamingService/GetVerificationInfo", request)
    assert answer.verified
    domain = answer.verification.domain
    assert (domain.domain, domain.method, domain.key_id) == (host, "wellknown", "k1")
    assert domain.verified_at.seconds > 1_700_000_000


class KeySets:
    """The keys domains publish."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = known

    async def key_set(self, domain: Domain) -> Mapping[str, Any]:
        return self._known[domain.authority]


def pem_of(key: Ed25519PrivateKey) -> str:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()
