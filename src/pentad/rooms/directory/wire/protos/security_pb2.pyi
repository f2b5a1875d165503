from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ScannerType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCANNER_TYPE_UNSPECIFIED: _ClassVar[ScannerType]
    SCANNER_TYPE_MCP: _ClassVar[ScannerType]
    SCANNER_TYPE_SKILL: _ClassVar[ScannerType]
    SCANNER_TYPE_A2A: _ClassVar[ScannerType]

class Severity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEVERITY_UNSPECIFIED: _ClassVar[Severity]
    SEVERITY_NONE: _ClassVar[Severity]
    SEVERITY_INFO: _ClassVar[Severity]
    SEVERITY_LOW: _ClassVar[Severity]
    SEVERITY_MEDIUM: _ClassVar[Severity]
    SEVERITY_HIGH: _ClassVar[Severity]
    SEVERITY_CRITICAL: _ClassVar[Severity]
SCANNER_TYPE_UNSPECIFIED: ScannerType
SCANNER_TYPE_MCP: ScannerType
SCANNER_TYPE_SKILL: ScannerType
SCANNER_TYPE_A2A: ScannerType
SEVERITY_UNSPECIFIED: Severity
SEVERITY_NONE: Severity
SEVERITY_INFO: Severity
SEVERITY_LOW: Severity
SEVERITY_MEDIUM: Severity
SEVERITY_HIGH: Severity
SEVERITY_CRITICAL: Severity

class Finding(_message.Message):
    __slots__ = ("rule_id", "severity", "message", "location", "category", "remediation")
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    REMEDIATION_FIELD_NUMBER: _ClassVar[int]
    rule_id: str
    severity: Severity
    message: str
    location: str
    category: str
    remediation: str
    def __init__(self, rule_id: _Optional[str] = ..., severity: _Optional[_Union[Severity, str]] = ..., message: _Optional[str] = ..., location: _Optional[str] = ..., category: _Optional[str] = ..., remediation: _Optional[str] = ...) -> None: ...

class ScanReport(_message.Message):
    __slots__ = ("scanner_type", "scanner_version", "scanned_at", "is_safe", "max_severity", "findings", "analyzers", "annotations")
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SCANNER_TYPE_FIELD_NUMBER: _ClassVar[int]
    SCANNER_VERSION_FIELD_NUMBER: _ClassVar[int]
    SCANNED_AT_FIELD_NUMBER: _ClassVar[int]
    IS_SAFE_FIELD_NUMBER: _ClassVar[int]
    MAX_SEVERITY_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    ANALYZERS_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    scanner_type: ScannerType
    scanner_version: str
    scanned_at: str
    is_safe: bool
    max_severity: Severity
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    analyzers: _containers.RepeatedScalarFieldContainer[str]
    annotations: _containers.ScalarMap[str, str]
    def __init__(self, scanner_type: _Optional[_Union[ScannerType, str]] = ..., scanner_version: _Optional[str] = ..., scanned_at: _Optional[str] = ..., is_safe: _Optional[bool] = ..., max_severity: _Optional[_Union[Severity, str]] = ..., findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., analyzers: _Optional[_Iterable[str]] = ..., annotations: _Optional[_Mapping[str, str]] = ...) -> None: ...
