from pentad.rooms.directory.wire.protos import core_pb2 as _core_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RecordQueryType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECORD_QUERY_TYPE_UNSPECIFIED: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_NAME: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_VERSION: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_SKILL_ID: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_SKILL_NAME: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_LOCATOR: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_MODULE_NAME: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_DOMAIN_ID: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_DOMAIN_NAME: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_CREATED_AT: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_AUTHOR: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_SCHEMA_VERSION: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_MODULE_ID: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_VERIFIED: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_TRUSTED: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_ANNOTATION: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_SCAN_SEVERITY: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_SCAN_SAFE: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_DESCRIPTION: _ClassVar[RecordQueryType]

class SortMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SORT_MODE_UNSPECIFIED: _ClassVar[SortMode]
    SORT_MODE_RECENCY: _ClassVar[SortMode]
    SORT_MODE_POPULARITY: _ClassVar[SortMode]
    SORT_MODE_PROVIDER_COUNT: _ClassVar[SortMode]
    SORT_MODE_RELEVANCE: _ClassVar[SortMode]
RECORD_QUERY_TYPE_UNSPECIFIED: RecordQueryType
RECORD_QUERY_TYPE_NAME: RecordQueryType
RECORD_QUERY_TYPE_VERSION: RecordQueryType
RECORD_QUERY_TYPE_SKILL_ID: RecordQueryType
RECORD_QUERY_TYPE_SKILL_NAME: RecordQueryType
RECORD_QUERY_TYPE_LOCATOR: RecordQueryType
RECORD_QUERY_TYPE_MODULE_NAME: RecordQueryType
RECORD_QUERY_TYPE_DOMAIN_ID: RecordQueryType
RECORD_QUERY_TYPE_DOMAIN_NAME: RecordQueryType
RECORD_QUERY_TYPE_CREATED_AT: RecordQueryType
RECORD_QUERY_TYPE_AUTHOR: RecordQueryType
RECORD_QUERY_TYPE_SCHEMA_VERSION: RecordQueryType
RECORD_QUERY_TYPE_MODULE_ID: RecordQueryType
RECORD_QUERY_TYPE_VERIFIED: RecordQueryType
RECORD_QUERY_TYPE_TRUSTED: RecordQueryType
RECORD_QUERY_TYPE_ANNOTATION: RecordQueryType
RECORD_QUERY_TYPE_SCAN_SEVERITY: RecordQueryType
RECORD_QUERY_TYPE_SCAN_SAFE: RecordQueryType
RECORD_QUERY_TYPE_DESCRIPTION: RecordQueryType
SORT_MODE_UNSPECIFIED: SortMode
SORT_MODE_RECENCY: SortMode
SORT_MODE_POPULARITY: SortMode
SORT_MODE_PROVIDER_COUNT: SortMode
SORT_MODE_RELEVANCE: SortMode

class RecordQuery(_message.Message):
    __slots__ = ("type", "value", "negate")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    NEGATE_FIELD_NUMBER: _ClassVar[int]
    type: RecordQueryType
    value: str
    negate: bool
    def __init__(self, type: _Optional[_Union[RecordQueryType, str]] = ..., value: _Optional[str] = ..., negate: _Optional[bool] = ...) -> None: ...

class SearchCIDsRequest(_message.Message):
    __slots__ = ("queries", "limit", "offset", "sort_mode")
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    SORT_MODE_FIELD_NUMBER: _ClassVar[int]
    queries: _containers.RepeatedCompositeFieldContainer[RecordQuery]
    limit: int
    offset: int
    sort_mode: SortMode
    def __init__(self, queries: _Optional[_Iterable[_Union[RecordQuery, _Mapping]]] = ..., limit: _Optional[int] = ..., offset: _Optional[int] = ..., sort_mode: _Optional[_Union[SortMode, str]] = ...) -> None: ...

class SearchRecordsRequest(_message.Message):
    __slots__ = ("queries", "limit", "offset", "sort_mode")
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    SORT_MODE_FIELD_NUMBER: _ClassVar[int]
    queries: _containers.RepeatedCompositeFieldContainer[RecordQuery]
    limit: int
    offset: int
    sort_mode: SortMode
    def __init__(self, queries: _Optional[_Iterable[_Union[RecordQuery, _Mapping]]] = ..., limit: _Optional[int] = ..., offset: _Optional[int] = ..., sort_mode: _Optional[_Union[SortMode, str]] = ...) -> None: ...

class CountRecordsRequest(_message.Message):
    __slots__ = ("queries",)
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    queries: _containers.RepeatedCompositeFieldContainer[RecordQuery]
    def __init__(self, queries: _Optional[_Iterable[_Union[RecordQuery, _Mapping]]] = ...) -> None: ...

class SearchCIDsResponse(_message.Message):
    __slots__ = ("record_cid",)
    RECORD_CID_FIELD_NUMBER: _ClassVar[int]
    record_cid: str
    def __init__(self, record_cid: _Optional[str] = ...) -> None: ...

class SearchRecordsResponse(_message.Message):
    __slots__ = ("record",)
    RECORD_FIELD_NUMBER: _ClassVar[int]
    record: _core_pb2.Record
    def __init__(self, record: _Optional[_Union[_core_pb2.Record, _Mapping]] = ...) -> None: ...

class CountRecordsResponse(_message.Message):
    __slots__ = ("total_count",)
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    total_count: int
    def __init__(self, total_count: _Optional[int] = ...) -> None: ...
