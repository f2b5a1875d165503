from google.protobuf import empty_pb2 as _empty_pb2
from pentad.rooms.directory.wire.protos import core_pb2 as _core_pb2
from pentad.rooms.directory.wire.protos import search_pb2 as _search_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PeerConnectionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PEER_CONNECTION_TYPE_NOT_CONNECTED: _ClassVar[PeerConnectionType]
    PEER_CONNECTION_TYPE_CONNECTED: _ClassVar[PeerConnectionType]
    PEER_CONNECTION_TYPE_CAN_CONNECT: _ClassVar[PeerConnectionType]
    PEER_CONNECTION_TYPE_CANNOT_CONNECT: _ClassVar[PeerConnectionType]

class PublicationStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PUBLICATION_STATUS_UNSPECIFIED: _ClassVar[PublicationStatus]
    PUBLICATION_STATUS_PENDING: _ClassVar[PublicationStatus]
    PUBLICATION_STATUS_IN_PROGRESS: _ClassVar[PublicationStatus]
    PUBLICATION_STATUS_COMPLETED: _ClassVar[PublicationStatus]
    PUBLICATION_STATUS_FAILED: _ClassVar[PublicationStatus]

class RecordQueryType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECORD_QUERY_TYPE_UNSPECIFIED: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_SKILL: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_LOCATOR: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_DOMAIN: _ClassVar[RecordQueryType]
    RECORD_QUERY_TYPE_MODULE: _ClassVar[RecordQueryType]
PEER_CONNECTION_TYPE_NOT_CONNECTED: PeerConnectionType
PEER_CONNECTION_TYPE_CONNECTED: PeerConnectionType
PEER_CONNECTION_TYPE_CAN_CONNECT: PeerConnectionType
PEER_CONNECTION_TYPE_CANNOT_CONNECT: PeerConnectionType
PUBLICATION_STATUS_UNSPECIFIED: PublicationStatus
PUBLICATION_STATUS_PENDING: PublicationStatus
PUBLICATION_STATUS_IN_PROGRESS: PublicationStatus
PUBLICATION_STATUS_COMPLETED: PublicationStatus
PUBLICATION_STATUS_FAILED: PublicationStatus
RECORD_QUERY_TYPE_UNSPECIFIED: RecordQueryType
RECORD_QUERY_TYPE_SKILL: RecordQueryType
RECORD_QUERY_TYPE_LOCATOR: RecordQueryType
RECORD_QUERY_TYPE_DOMAIN: RecordQueryType
RECORD_QUERY_TYPE_MODULE: RecordQueryType

class Peer(_message.Message):
    __slots__ = ("id", "addrs", "annotations", "connection")
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    ADDRS_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    id: str
    addrs: _containers.RepeatedScalarFieldContainer[str]
    annotations: _containers.ScalarMap[str, str]
    connection: PeerConnectionType
    def __init__(self, id: _Optional[str] = ..., addrs: _Optional[_Iterable[str]] = ..., annotations: _Optional[_Mapping[str, str]] = ..., connection: _Optional[_Union[PeerConnectionType, str]] = ...) -> None: ...

class CreatePublicationResponse(_message.Message):
    __slots__ = ("publication_id",)
    PUBLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    publication_id: str
    def __init__(self, publication_id: _Optional[str] = ...) -> None: ...

class ListPublicationsRequest(_message.Message):
    __slots__ = ("limit", "offset")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    limit: int
    offset: int
    def __init__(self, limit: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class ListPublicationsItem(_message.Message):
    __slots__ = ("publication_id", "status", "created_time", "last_update_time")
    PUBLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    publication_id: str
    status: PublicationStatus
    created_time: str
    last_update_time: str
    def __init__(self, publication_id: _Optional[str] = ..., status: _Optional[_Union[PublicationStatus, str]] = ..., created_time: _Optional[str] = ..., last_update_time: _Optional[str] = ...) -> None: ...

class GetPublicationRequest(_message.Message):
    __slots__ = ("publication_id",)
    PUBLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    publication_id: str
    def __init__(self, publication_id: _Optional[str] = ...) -> None: ...

class GetPublicationResponse(_message.Message):
    __slots__ = ("publication_id", "status", "created_time", "last_update_time")
    PUBLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    publication_id: str
    status: PublicationStatus
    created_time: str
    last_update_time: str
    def __init__(self, publication_id: _Optional[str] = ..., status: _Optional[_Union[PublicationStatus, str]] = ..., created_time: _Optional[str] = ..., last_update_time: _Optional[str] = ...) -> None: ...

class RecordQuery(_message.Message):
    __slots__ = ("type", "value")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    type: RecordQueryType
    value: str
    def __init__(self, type: _Optional[_Union[RecordQueryType, str]] = ..., value: _Optional[str] = ...) -> None: ...

class PublishRequest(_message.Message):
    __slots__ = ("record_refs", "queries", "all_records")
    RECORD_REFS_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    ALL_RECORDS_FIELD_NUMBER: _ClassVar[int]
    record_refs: RecordRefs
    queries: RecordQueries
    all_records: bool
    def __init__(self, record_refs: _Optional[_Union[RecordRefs, _Mapping]] = ..., queries: _Optional[_Union[RecordQueries, _Mapping]] = ..., all_records: _Optional[bool] = ...) -> None: ...

class UnpublishRequest(_message.Message):
    __slots__ = ("record_refs", "queries")
    RECORD_REFS_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    record_refs: RecordRefs
    queries: RecordQueries
    def __init__(self, record_refs: _Optional[_Union[RecordRefs, _Mapping]] = ..., queries: _Optional[_Union[RecordQueries, _Mapping]] = ...) -> None: ...

class RecordRefs(_message.Message):
    __slots__ = ("refs",)
    REFS_FIELD_NUMBER: _ClassVar[int]
    refs: _containers.RepeatedCompositeFieldContainer[_core_pb2.RecordRef]
    def __init__(self, refs: _Optional[_Iterable[_Union[_core_pb2.RecordRef, _Mapping]]] = ...) -> None: ...

class RecordQueries(_message.Message):
    __slots__ = ("queries",)
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    queries: _containers.RepeatedCompositeFieldContainer[_search_pb2.RecordQuery]
    def __init__(self, queries: _Optional[_Iterable[_Union[_search_pb2.RecordQuery, _Mapping]]] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("queries", "min_match_score", "limit")
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    MIN_MATCH_SCORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    queries: _containers.RepeatedCompositeFieldContainer[RecordQuery]
    min_match_score: int
    limit: int
    def __init__(self, queries: _Optional[_Iterable[_Union[RecordQuery, _Mapping]]] = ..., min_match_score: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("record_ref", "peer", "match_queries", "match_score")
    RECORD_REF_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    MATCH_QUERIES_FIELD_NUMBER: _ClassVar[int]
    MATCH_SCORE_FIELD_NUMBER: _ClassVar[int]
    record_ref: _core_pb2.RecordRef
    peer: Peer
    match_queries: _containers.RepeatedCompositeFieldContainer[RecordQuery]
    match_score: int
    def __init__(self, record_ref: _Optional[_Union[_core_pb2.RecordRef, _Mapping]] = ..., peer: _Optional[_Union[Peer, _Mapping]] = ..., match_queries: _Optional[_Iterable[_Union[RecordQuery, _Mapping]]] = ..., match_score: _Optional[int] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("queries", "limit")
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    queries: _containers.RepeatedCompositeFieldContainer[RecordQuery]
    limit: int
    def __init__(self, queries: _Optional[_Iterable[_Union[RecordQuery, _Mapping]]] = ..., limit: _Optional[int] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("record_ref", "labels")
    RECORD_REF_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    record_ref: _core_pb2.RecordRef
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, record_ref: _Optional[_Union[_core_pb2.RecordRef, _Mapping]] = ..., labels: _Optional[_Iterable[str]] = ...) -> None: ...

class GetProviderCountRequest(_message.Message):
    __slots__ = ("cid",)
    CID_FIELD_NUMBER: _ClassVar[int]
    cid: str
    def __init__(self, cid: _Optional[str] = ...) -> None: ...

class GetProviderCountResponse(_message.Message):
    __slots__ = ("count",)
    COUNT_FIELD_NUMBER: _ClassVar[int]
    count: int
    def __init__(self, count: _Optional[int] = ...) -> None: ...
