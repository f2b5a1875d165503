"""SignService and NamingService: check signatures, resolve names, and check the domain in a name.

Signing needs a private key, which stays with the client.
"""

from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.interface.grpc.calls import Caller, Method, Service
from pentad.rooms.directory.node import Signer
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.wire.protos import core_pb2, naming_pb2, sign_pb2
from pentad.rooms.directory.wire.statuses import NotOffered

_KEY = "key:"


def sign_service(directory: Directory) -> Service:
    async def sign(call: Caller, request: sign_pb2.SignRequest) -> sign_pb2.SignResponse:
        raise NotOffered("server-side signing not implemented - use client SDK")

    async def verify(call: Caller, request: sign_pb2.VerifyRequest) -> sign_pb2.VerifyResponse:
        cid = request.record_ref.cid
        if not cid:
            raise InvalidInput("record CID is required")
        verdict = await directory.trust.verify(cid)
        if not verdict.success or not verdict.signers:
            return sign_pb2.VerifyResponse(success=False, error_message="no verified signatures found")
        signers = _wanted(verdict.signers, request.provider)
        if not signers:
            reason = "no verified signers match the requested provider"
            return sign_pb2.VerifyResponse(success=False, error_message=reason)
        return sign_pb2.VerifyResponse(success=True, signers=[_info(one) for one in signers])

    return {
        "Sign": Method("one-one", "write", sign, sign_pb2.SignRequest),
        "Verify": Method("one-one", "read", verify, sign_pb2.VerifyRequest),
    }


def _wanted(signers: Sequence[Signer], provider: sign_pb2.VerifyRequestProvider) -> list[Signer]:
    """The signers that the caller asked for, or all of them."""
    if provider.HasField("key"):
        key = provider.key.public_key.strip()
        return [one for one in signers if one.issuer.startswith(_KEY) and (not key or one.identity.strip() == key)]
    if provider.HasField("oidc"):
        issuer, subject = provider.oidc.issuer, provider.oidc.subject
        return [
            one
            for one in signers
            if not one.issuer.startswith(_KEY) and issuer in ("", one.issuer) and subject in ("", one.identity)
        ]
    return list(signers)


def _info(signer: Signer) -> sign_pb2.SignerInfo:
    if signer.issuer.startswith(_KEY):
        algorithm = signer.issuer.removeprefix(_KEY)
        return sign_pb2.SignerInfo(key=sign_pb2.SignerInfoKey(public_key=signer.identity, algorithm=algorithm))
    return sign_pb2.SignerInfo(oidc=sign_pb2.SignerInfoOIDC(issuer=signer.issuer, subject=signer.identity))


def naming_service(directory: Directory) -> Service:
    async def resolve(call: Caller, request: naming_pb2.ResolveRequest) -> naming_pb2.ResolveResponse:
        found = await directory.naming.resolve(request.name, request.version or None)
        records = [core_pb2.NamedRecordRef(name=one.name, version=one.version, cid=one.cid) for one in found]
        return naming_pb2.ResolveResponse(records=records)

    async def verification(
        call: Caller, request: naming_pb2.GetVerificationInfoRequest
    ) -> naming_pb2.GetVerificationInfoResponse:
        if not request.cid and not request.name:
            raise InvalidInput("either cid or name is required")
        verdict = await directory.trust.verification_info(
            request.cid or None, request.name or None, request.version or None
        )
        if not verdict.verified:
            reason = verdict.error_message or "no verification found"
            return naming_pb2.GetVerificationInfoResponse(verified=False, error_message=reason)
        at = Timestamp()
        at.FromJsonString(verdict.verified_at)
        domain = naming_pb2.DomainVerification(
            domain=verdict.domain, method=verdict.method, key_id=verdict.key_id, verified_at=at
        )
        return naming_pb2.GetVerificationInfoResponse(
            verified=True, verification=naming_pb2.Verification(domain=domain)
        )

    return {
        "GetVerificationInfo": Method("one-one", "read", verification, naming_pb2.GetVerificationInfoRequest),
        "Resolve": Method("one-one", "read", resolve, naming_pb2.ResolveRequest),
    }
