from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListChangesRequest(_message.Message):
    __slots__ = ("position", "limit")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    position: str
    limit: int
    def __init__(self, position: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("cid", "name", "deleted")
    CID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    cid: str
    name: str
    deleted: bool
    def __init__(self, cid: _Optional[str] = ..., name: _Optional[str] = ..., deleted: _Optional[bool] = ...) -> None: ...

class ListChangesResponse(_message.Message):
    __slots__ = ("changes", "position", "more", "reset")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[Change]
    position: str
    more: bool
    reset: bool
    def __init__(self, changes: _Optional[_Iterable[_Union[Change, _Mapping]]] = ..., position: _Optional[str] = ..., more: _Optional[bool] = ..., reset: _Optional[bool] = ...) -> None: ...
