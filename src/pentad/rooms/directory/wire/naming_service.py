"""NamingService: records by name, and whether the domain in a name stands behind a record."""

from google.protobuf.timestamp_pb2 import Timestamp

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.wire.calls import Caller, Method, Service
from pentad.rooms.directory.wire.parts import Parts
from pentad.rooms.directory.wire.protos import core_pb2, naming_pb2


def naming_service(directory: Parts) -> Service:
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
