"""The card of an agent: its name, URL, skills and login.

A lenient reading accepts everything AgentVault accepts, and loopback addresses. A strict one (`context=STRICT`) allows
plain http only for this machine, requires a readable id like `org/name`, and reports members that AgentVault drops
silently (`supportContact` for `support_contact`).
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationInfo, field_validator, model_validator

STRICT: Final = {"strict": True}
"""The validation context of a strict reading."""

_NAMED: Final = ConfigDict(populate_by_name=True)
_READABLE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_LENIENT_PREFIXES: Final = ("https://", "http://localhost")
_MISSPELT: Final = {
    "provider": {"supportContact": "support_contact"},
    "authSchemes": {"serviceIdentifier": "service_identifier", "token_url": "tokenUrl"},
    "skills": {"inputSchema": "input_schema", "outputSchema": "output_schema"},
}


def _is_strict(info: ValidationInfo) -> bool:
    return info.context is STRICT


class AgentProvider(BaseModel):
    """The provider of the agent."""

    name: str
    url: HttpUrl | None = None
    support_contact: str | None = None


class AgentSkill(BaseModel):
    """One thing the agent can do."""

    id: str
    name: str
    description: str
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None


class TEEDetails(BaseModel):
    """The trusted execution environment the agent claims to run in. It is not verified."""

    model_config = _NAMED

    type: str
    attestation_endpoint: HttpUrl | None = Field(default=None, alias="attestationEndpoint")
    public_key: str | None = Field(default=None, alias="publicKey")
    description: str | None = None


class AgentCapabilities(BaseModel):
    """The protocols and features of the agent."""

    model_config = _NAMED

    a2a_version: str = Field(alias="a2aVersion")
    mcp_version: str | None = Field(default=None, alias="mcpVersion")
    supported_message_parts: list[str] | None = Field(default=None, alias="supportedMessageParts")
    tee_details: TEEDetails | None = Field(default=None, alias="teeDetails")
    supports_push_notifications: bool | None = Field(default=None, alias="supportsPushNotifications")


class AgentAuthentication(BaseModel):
    """One way to log in."""

    model_config = _NAMED

    scheme: Literal["apiKey", "bearer", "oauth2", "none"]
    description: str | None = None
    token_url: HttpUrl | None = Field(default=None, alias="tokenUrl")
    scopes: list[str] | None = None
    service_identifier: str | None = None

    @model_validator(mode="after")
    def _check_token_url(self) -> "AgentAuthentication":
        if self.scheme == "oauth2" and self.token_url is None:
            raise ValueError("tokenUrl is required for the scheme oauth2")
        return self


class AgentCard(BaseModel):
    """An agent's description of itself."""

    model_config = _NAMED

    schema_version: str = Field(alias="schemaVersion")
    human_readable_id: str = Field(alias="humanReadableId")
    agent_version: str = Field(alias="agentVersion")
    name: str
    description: str
    url: HttpUrl
    provider: AgentProvider
    capabilities: AgentCapabilities
    auth_schemes: list[AgentAuthentication] = Field(alias="authSchemes", min_length=1)
    skills: list[AgentSkill] | None = None
    tags: list[str] | None = None
    privacy_policy_url: HttpUrl | None = Field(default=None, alias="privacyPolicyUrl")
    terms_of_service_url: HttpUrl | None = Field(default=None, alias="termsOfServiceUrl")
    icon_url: HttpUrl | None = Field(default=None, alias="iconUrl")
    last_updated: str | None = Field(default=None, alias="lastUpdated")

    @model_validator(mode="before")
    @classmethod
    def _check_spelling(cls, data: Any, info: ValidationInfo) -> Any:
        if _is_strict(info) and isinstance(data, Mapping):
            for place, wrong, right in _misspelt(cast("Mapping[str, Any]", data)):
                raise ValueError(f"{place}.{wrong} is called {right}")
        return cast("Any", data)

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: HttpUrl, info: ValidationInfo) -> HttpUrl:
        text = str(url)
        if not (_is_safe(text) or (not _is_strict(info) and text.startswith(_LENIENT_PREFIXES))):
            raise ValueError("the url must be https, or http on localhost, 127.0.0.1 or [::1]")
        return url

    @field_validator("human_readable_id")
    @classmethod
    def _check_readable_id(cls, value: str, info: ValidationInfo) -> str:
        if _is_strict(info) and not _READABLE_ID.fullmatch(value):
            raise ValueError("humanReadableId is written org/name")
        return value

    @field_validator("last_updated")
    @classmethod
    def _check_date(cls, value: str | None, info: ValidationInfo) -> str | None:
        if _is_strict(info) and value is not None:
            try:
                datetime.fromisoformat(value)
            except ValueError:
                raise ValueError("lastUpdated is written as ISO 8601") from None
        return value

    @field_validator("skills")
    @classmethod
    def _check_skills(cls, value: list[AgentSkill] | None, info: ValidationInfo) -> list[AgentSkill] | None:
        if _is_strict(info) and value and len({skill.id for skill in value}) != len(value):
            raise ValueError("two skills have the same id")
        return value


def _is_safe(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


def _misspelt(card: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Members whose names are nearly right, with the place they are in."""
    for place, names in _MISSPELT.items():
        found: Any = card.get(place)
        for entry in cast("list[Any]", found) if isinstance(found, list) else [found]:
            if isinstance(entry, Mapping):
                members = cast("Mapping[str, Any]", entry)
                yield from ((place, wrong, right) for wrong, right in names.items() if wrong in members)
