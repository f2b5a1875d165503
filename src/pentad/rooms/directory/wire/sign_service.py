"""SignService: whether signatures of a record hold. Signing needs a private key, which stays with the client."""

from collections.abc import Sequence

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.node import Signer
from pentad.rooms.directory.wire.calls import Caller, Method, Service
from pentad.rooms.directory.wire.parts import Parts
from pentad.rooms.directory.wire.protos import sign_pb2
from pentad.rooms.directory.wire.statuses import NotOffered

_KEY = "key:"


def sign_service(directory: Parts) -> Service:
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
    """The signers a caller asked for; all of them if it named nobody."""
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
