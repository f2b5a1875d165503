"""What searches and lists need to know about a card of any dialect.

A card is stored as it came. It may belong to AgentVault, A2A 0.3, A2A 1.0, or all of them. This module reads what they
have in common; it validates nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

Json = Mapping[str, Any]
Mark = Literal["tag", "skill", "auth", "dialect", "extension", "tee", "feature"]

MCP: Final = "mcp"
TEE: Final = "tee"
_SCHEMES: Final = {
    "apiKeySecurityScheme": "apiKey",
    "httpAuthSecurityScheme": "http",
    "oauth2SecurityScheme": "oauth2",
    "openIdConnectSecurityScheme": "openIdConnect",
    "mtlsSecurityScheme": "mutualTLS",
}
_SPELT: Final = {name.lower(): name for name in _SCHEMES.values()}
"""Schemes match in any case and are shown as written."""
_NOT_IN_A_NAME: Final = re.compile(r"[^a-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class CardMetadata:
    """What a card says about itself."""

    readable_id: str
    name: str
    description: str
    version: str
    url: str
    marks: frozenset[tuple[Mark, str]]

    @property
    def words(self) -> str:
        """The text that a word search covers."""
        return f"{self.name}\n{self.description}\n{self.readable_id}".casefold()

    def all(self, kind: Mark) -> list[str]:
        return sorted(_SPELT.get(value, value) for mark, value in self.marks if mark == kind)


def metadata_of(card: Json) -> CardMetadata:
    """The metadata of a valid card. Missing values are empty."""
    interfaces = _objects(card.get("supportedInterfaces"))
    url = _text(card, "url") or next((_text(one, "url") for one in interfaces), "")
    return CardMetadata(
        readable_id=_text(card, "humanReadableId") or _made_id(card),
        name=_text(card, "name"),
        description=_text(card, "description"),
        version=_text(card, "agentVersion") or _text(card, "version"),
        url=url,
        marks=frozenset(_marks(card, interfaces)),
    )


def _made_id(card: Json) -> str:
    """A readable id for a card whose dialect has none: the names of provider and agent."""
    provider = _object(card.get("provider"))
    organisation = _text(provider, "organization") or _text(provider, "name") or "agents"
    return f"{_plain(organisation)}/{_plain(_text(card, 'name'))}"


def _plain(text: str) -> str:
    return _NOT_IN_A_NAME.sub("-", text.lower()).strip("-") or "unnamed"


def _marks(card: Json, interfaces: list[Json]) -> Iterator[tuple[Mark, str]]:
    capabilities = _object(card.get("capabilities"))
    skills = _objects(card.get("skills"))
    for labelled in (card, *skills):
        for tag in _texts(labelled.get("tags")):
            yield "tag", tag
    for skill in skills:
        for key in ("id", "name"):
            if text := _text(skill, key):
                yield "skill", text.casefold()
    for scheme in _schemes(card):
        yield "auth", scheme.lower()
    for dialect in _dialects(card, interfaces):
        yield "dialect", dialect
    extensions = [_text(one, "uri") for one in _objects(capabilities.get("extensions"))]
    for uri in extensions:
        if uri:
            yield "extension", uri
    if _text(capabilities, "mcpVersion") or any("mcp-context" in uri for uri in extensions):
        yield "feature", MCP
    if details := _object(capabilities.get("teeDetails")):
        yield "feature", TEE
        yield "tee", _text(details, "type").casefold()


def _schemes(card: Json) -> Iterator[str]:
    """The authentication schemes, with AgentVault's names if they have one."""
    own = _objects(card.get("authSchemes"))
    yield from (_text(one, "scheme") for one in own if _text(one, "scheme"))
    declared = _object(card.get("securitySchemes"))
    for value in declared.values():
        one = _object(value)
        kind = next((name for key, name in _SCHEMES.items() if key in one), _text(one, "type"))
        if kind == "http":
            kind = _text(_object(one.get("httpAuthSecurityScheme")) or one, "scheme") or "http"
        if kind:
            yield kind
    if not own and not declared:
        yield "none"


def _dialects(card: Json, interfaces: list[Json]) -> Iterator[str]:
    if "humanReadableId" in card and "authSchemes" in card:
        yield "agentvault"
    if _text(card, "protocolVersion").startswith("0.3") or (_text(card, "url") and "preferredTransport" in card):
        yield "0.3"
    versions = {_text(one, "protocolVersion") for one in interfaces}
    if any(version.startswith("1.") or not version for version in versions):
        yield "1.0"
    if "0.3" in {version[:3] for version in versions}:
        yield "0.3"


def _object(value: Any) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Json]:
    return (
        [cast("Json", one) for one in cast("list[Any]", value) if isinstance(one, dict)]
        if isinstance(value, list)
        else []
    )


def _texts(value: Any) -> list[str]:
    return [one for one in cast("list[Any]", value) if isinstance(one, str)] if isinstance(value, list) else []


def _text(card: Json, key: str) -> str:
    value = card.get(key)
    return value if isinstance(value, str) else ""
