from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from pentad.rooms.directory.wire.protos import core_pb2 as _core_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SyncStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SYNC_STATUS_UNSPECIFIED: _ClassVar[SyncStatus]
    SYNC_STATUS_PENDING: _ClassVar[SyncStatus]
    SYNC_STATUS_IN_PROGRESS: _ClassVar[SyncStatus]
    SYNC_STATUS_FAILED: _ClassVar[SyncStatus]
    SYNC_STATUS_DELETE_PENDING: _ClassVar[SyncStatus]
    SYNC_STATUS_DELETED: _ClassVar[SyncStatus]
    SYNC_STATUS_COMPLETED: _ClassVar[SyncStatus]
SYNC_STATUS_UNSPECIFIED: SyncStatus
SYNC_STATUS_PENDING: SyncStatus
SYNC_STATUS_IN_PROGRESS: SyncStatus
SYNC_STATUS_FAILED: SyncStatus
SYNC_STATUS_DELETE_PENDING: SyncStatus
SYNC_STATUS_DELETED: SyncStatus
SYNC_STATUS_COMPLETED: SyncStatus

class PushReferrerRequest(_message.Message):
    __slots__ = ("record_ref", "type", "annotations", "created_at", "data")
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RECORD_REF_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    record_ref: _core_pb2.RecordRef
    type: bytes
    annotations: _containers.ScalarMap[str, str]
    created_at: str
    data: _struct_pb2.Struct
    def __init__(self, record_ref: _Optional[_Union[_core_pb2.RecordRef, _Mapping]] = ..., type: _Optional[bytes] = ..., annotations: _Optional[_Mapping[str, str]] = ..., created_at: _Optional[str] = ..., data: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class PushReferrerResponse(_message.Message):
    __slots__ = ("success", "error_message", "referrer_ref")
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REFERRER_REF_FIELD_NUMBER: _ClassVar[int]
    success: bool
    error_message: str
    referrer_ref: _core_pb2.ReferrerRef
    def __init__(self, success: _Optional[bool] = ..., error_message: _Optional[str] = ..., referrer_ref: _Optional[_Union[_core_pb2.ReferrerRef, _Mapping]] = ...) -> None: ...

class PullReferrerRequest(_message.Message):
    __slots__ = ("record_ref", "referrer_type", "referrer_ref")
    RECORD_REF_FIELD_NUMBER: _ClassVar[int]
    REFERRER_TYPE_FIELD_NUMBER: _ClassVar[int]
    REFERRER_REF_FIELD_NUMBER: _ClassVar[int]
    record_ref: _core_pb2.RecordRef
    referrer_type: str
    referrer_ref: _core_pb2.ReferrerRef
    def __init__(self, record_ref: _Optional[_Union[_core_pb2.RecordRef, _Mapping]] = ..., referrer_type: _Optional[str] = ..., referrer_ref: _Optional[_Union[_core_pb2.ReferrerRef, _Mapping]] = ...) -> None: ...

class PullReferrerResponse(_message.Message):
    __slots__ = ("referrer",)
    REFERRER_FIELD_NUMBER: _ClassVar[int]
    referrer: _core_pb2.RecordReferrer
    def __init__(self, referrer: _Optional[_Union[_core_pb2.RecordReferrer, _Mapping]] = ...) -> None: ...

class DeleteReferrerRequest(_message.Message):
    __slots__ = ("record", "referrer_ref", "referrer_type")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    REFERRER_REF_FIELD_NUMBER: _ClassVar[int]
    REFERRER_TYPE_FIELD_NUMBER: _ClassVar[int]
    record: _core_pb2.RecordRef
    referrer_ref: _core_pb2.ReferrerRef
    referrer_type: str
    def __init__(self, record: _Optional[_Union[_core_pb2.RecordRef, _Mapping]] = ..., referrer_ref: _Optional[_Union[_core_pb2.ReferrerRef, _Mapping]] = ..., referrer_type: _Optional[str] = ...) -> None: ...

class DeleteReferrerResponse(_message.Message):
    __slots__ = ("referrer_refs",)
    REFERRER_REFS_FIELD_NUMBER: _ClassVar[int]
    referrer_refs: _containers.RepeatedCompositeFieldContainer[_core_pb2.ReferrerRef]
    def __init__(self, referrer_refs: _Optional[_Iterable[_Union[_core_pb2.ReferrerRef, _Mapping]]] = ...) -> None: ...

class CreateSyncRequest(_message.Message):
    __slots__ = ("remote_directory_url", "cids", "remote_registry_url", "repository_name")
    REMOTE_DIRECTORY_URL_FIELD_NUMBER: _ClassVar[int]
    CIDS_FIELD_NUMBER: _ClassVar[int]
    REMOTE_REGISTRY_URL_FIELD_NUMBER: _ClassVar[int]
    REPOSITORY_NAME_FIELD_NUMBER: _ClassVar[int]
    remote_directory_url: str
    cids: _containers.RepeatedScalarFieldContainer[str]
    remote_registry_url: str
    repository_name: str
    def __init__(self, remote_directory_url: _Optional[str] = ..., cids: _Optional[_Iterable[str]] = ..., remote_registry_url: _Optional[str] = ..., repository_name: _Optional[str] = ...) -> None: ...

class CreateSyncResponse(_message.Message):
    __slots__ = ("sync_id",)
    SYNC_ID_FIELD_NUMBER: _ClassVar[int]
    sync_id: str
    def __init__(self, sync_id: _Optional[str] = ...) -> None: ...

class ListSyncsRequest(_message.Message):
    __slots__ = ("limit", "offset")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    limit: int
    offset: int
    def __init__(self, limit: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class ListSyncsItem(_message.Message):
    __slots__ = ("sync_id", "status", "remote_directory_url", "remote_registry_url", "repository_name")
    SYNC_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REMOTE_DIRECTORY_URL_FIELD_NUMBER: _ClassVar[int]
    REMOTE_REGISTRY_URL_FIELD_NUMBER: _ClassVar[int]
    REPOSITORY_NAME_FIELD_NUMBER: _ClassVar[int]
    sync_id: str
    status: SyncStatus
    remote_directory_url: str
    remote_registry_url: str
    repository_name: str
    def __init__(self, sync_id: _Optional[str] = ..., status: _Optional[_Union[SyncStatus, str]] = ..., remote_directory_url: _Optional[str] = ..., remote_registry_url: _Optional[str] = ..., repository_name: _Optional[str] = ...) -> None: ...

class GetSyncRequest(_message.Message):
    __slots__ = ("sync_id",)
    SYNC_ID_FIELD_NUMBER: _ClassVar[int]
    sync_id: str
    def __init__(self, sync_id: _Optional[str] = ...) -> None: ...

class GetSyncResponse(_message.Message):
    __slots__ = ("sync_id", "status", "remote_directory_url", "created_time", "last_update_time", "remote_registry_url", "repository_name")
    SYNC_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REMOTE_DIRECTORY_URL_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    REMOTE_REGISTRY_URL_FIELD_NUMBER: _ClassVar[int]
    REPOSITORY_NAME_FIELD_NUMBER: _ClassVar[int]
    sync_id: str
    status: SyncStatus
    remote_directory_url: str
    created_time: str
    last_update_time: str
    remote_registry_url: str
    repository_name: str
    def __init__(self, sync_id: _Optional[str] = ..., status: _Optional[_Union[SyncStatus, str]] = ..., remote_directory_url: _Optional[str] = ..., created_time: _Optional[str] = ..., last_update_time: _Optional[str] = ..., remote_registry_url: _Optional[str] = ..., repository_name: _Optional[str] = ...) -> None: ...

class DeleteSyncRequest(_message.Message):
    __slots__ = ("sync_id",)
    SYNC_ID_FIELD_NUMBER: _ClassVar[int]
    sync_id: str
    def __init__(self, sync_id: _Optional[str] = ...) -> None: ...

class DeleteSyncResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RequestRegistryCredentialsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RequestRegistryCredentialsResponse(_message.Message):
    __slots__ = ("success", "error_message", "registry_address", "basic_auth", "repository_name", "insecure")
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REGISTRY_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BASIC_AUTH_FIELD_NUMBER: _ClassVar[int]
    REPOSITORY_NAME_FIELD_NUMBER: _ClassVar[int]
    INSECURE_FIELD_NUMBER: _ClassVar[int]
    success: bool
    error_message: str
    registry_address: str
    basic_auth: BasicAuthCredentials
    repository_name: str
    insecure: bool
    def __init__(self, success: _Optional[bool] = ..., error_message: _Optional[str] = ..., registry_address: _Optional[str] = ..., basic_auth: _Optional[_Union[BasicAuthCredentials, _Mapping]] = ..., repository_name: _Optional[str] = ..., insecure: _Optional[bool] = ...) -> None: ...

class BasicAuthCredentials(_message.Message):
    __slots__ = ("username", "password")
    USERNAME_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    username: str
    password: str
    def __init__(self, username: _Optional[str] = ..., password: _Optional[str] = ...) -> None: ...
