"""The results of the directory's tools, with the field names clients expect and Pentad's additions at the end.

An expected failure is a field of the result, not a tool error. Clients depend on which fields appear, so a result
contains exactly the fields that were set, including nulls.
"""

from typing import Any, Literal

from pydantic import BaseModel, Field

from pentad.kernel.errors import PentadError
from pentad.mcp.declarations import ToolResult


class Versions(BaseModel):
    available_versions: list[str] | None = None
    default_version: str | None = None
    count: int = 0
    error_message: str | None = None


class SchemaText(BaseModel):
    version: str
    schema_: str = Field(serialization_alias="schema")
    error_message: str = ""
    available_versions: list[str] | None = None


class ClassInfo(BaseModel):
    name: str
    caption: str | None = None
    id: int | None = None


class Skills(BaseModel):
    version: str
    skills: list[ClassInfo] | None
    parent_skill: str | None = None
    error_message: str | None = None
    available_versions: list[str] | None = None


class Domains(BaseModel):
    version: str
    domains: list[ClassInfo] | None
    parent_domain: str | None = None
    error_message: str | None = None
    available_versions: list[str] | None = None


class Validated(BaseModel):
    """`patch` is a JSON Patch of the certain fixes. `left` lists the findings that remain; `questions` asks for the
    answers."""

    valid: bool
    schema_version: str | None = None
    validation_errors: list[str] | None = None
    error_message: str | None = None
    findings: list[dict[str, Any]] | None = None
    fixed_record_json: str | None = None
    patch: list[dict[str, Any]] | None = None
    left: list[str] | None = None
    questions: list[dict[str, Any]] | None = None


class PushedRecord(BaseModel):
    cid: str | None = None
    server_address: str | None = None
    error_message: str | None = None
    new: bool | None = None


class FoundRecords(BaseModel):
    record_cids: list[str] | None = None
    count: int
    has_more: bool
    error_message: str | None = None
    total_count: int | None = None
    cursor: str | None = None
    retrieval: Literal["hybrid", "lexical"] | None = None
    waiting: int | None = None
    no_good_match: bool | None = None
    hits: list[dict[str, Any]] | None = None
    records: list[dict[str, Any]] | None = None


class PulledRecord(BaseModel):
    """`quarantined` is the reason if the record is in quarantine, where searches do not find it. `state` is its state
    unless it is approved."""

    record_data: str | None = None
    error_message: str | None = None
    quarantined: str | None = None
    state: str | None = None


class Signer(BaseModel):
    identity: str
    issuer: str | None = None


class VerifiedRecord(BaseModel):
    success: bool
    message: str
    error: str | None = None
    signers: list[Signer] | None = None
    trusted_by: list[str] | None = None


class DomainVerification(BaseModel):
    domain: str
    method: str
    matched_key_id: str | None = None
    verified_at: str | None = None


class VerifiedName(BaseModel):
    verified: bool
    domain_verification: DomainVerification | None = None
    error_message: str | None = None


class ImportedRecord(BaseModel):
    """`status` is imported, already there, would be imported, invalid, or suspicious.

    `withheld` and `suspicious` give the places and kinds of secrets, and of values that may be secrets.
    """

    record_json: str | None = None
    error_message: str | None = None
    cid: str | None = None
    status: str | None = None
    losses: list[dict[str, str]] | None = None
    withheld: list[dict[str, str]] | None = None
    suspicious: list[dict[str, str]] | None = None
    suggested: list[dict[str, Any]] | None = None
    validation_errors: list[str] | None = None


class ExportedRecord(BaseModel):
    exported_data: str | None = None
    error_message: str | None = None
    losses: list[dict[str, str]] | None = None


def tool_result(answer: BaseModel) -> ToolResult:
    """A tool result with the fields that were set, in the order of their declaration."""
    return ToolResult(structured=answer.model_dump(exclude_unset=True, by_alias=True))


def error_text(error: PentadError) -> str:
    """The message and hint of an error. The message may lack its full stop."""
    return f"{error.message.rstrip('.')}. {error.hint}" if error.hint else error.message


def failure_text(what: str, error: PentadError) -> str:
    """What was attempted, then why it failed, in the form clients of the original know."""
    return f"{what}: {error_text(error)}"
