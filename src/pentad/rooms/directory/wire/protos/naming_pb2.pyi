import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from pentad.rooms.directory.wire.protos import core_pb2 as _core_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Verification(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: DomainVerification
    def __init__(self, domain: _Optional[_Union[DomainVerification, _Mapping]] = ...) -> None: ...

class DomainVerification(_message.Message):
    __slots__ = ("domain", "method", "key_id", "verified_at")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_AT_FIELD_NUMBER: _ClassVar[int]
    domain: str
    method: str
    key_id: str
    verified_at: _timestamp_pb2.Timestamp
    def __init__(self, domain: _Optional[str] = ..., method: _Optional[str] = ..., key_id: _Optional[str] = ..., verified_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetVerificationInfoRequest(_message.Message):
    __slots__ = ("cid", "name", "version")
    CID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    cid: str
    name: str
    version: str
    def __init__(self, cid: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class GetVerificationInfoResponse(_message.Message):
    __slots__ = ("verified", "verification", "error_message")
    VERIFIED_FIELD_NUMBER: _ClassVar[int]
    VERIFICATION_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    verified: bool
    verification: Verification
    error_message: str
    def __init__(self, verified: _Optional[bool] = ..., verification: _Optional[_Union[Verification, _Mapping]] = ..., error_message: _Optional[str] = ...) -> None: ...

class ResolveRequest(_message.Message):
    __slots__ = ("name", "version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class ResolveResponse(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[_core_pb2.NamedRecordRef]
    def __init__(self, records: _Optional[_Iterable[_Union[_core_pb2.NamedRecordRef, _Mapping]]] = ...) -> None: ...
