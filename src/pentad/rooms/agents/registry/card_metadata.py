"""What searches and lists need to know about a card of any dialect.

Cards are stored as received. A card may be for AgentVault, A2A 0.3, A2A 1.0, or all of them. This module reads what
they have in common; it validates nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pentad.rooms.agents.models import Json, json_object, json_objects, json_text, json_texts

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
    """The metadata of a card."""

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
    interfaces = json_objects(card.get("supportedInterfaces"))
    url = json_text(card.get("url")) or next((json_text(one.get("url")) for one in interfaces), "")
    return CardMetadata(
        readable_id=json_text(card.get("humanReadableId")) or _made_id(card),
        name=json_text(card.get("name")),
        description=json_text(card.get("description")),
        version=json_text(card.get("agentVersion")) or json_text(card.get("version")),
        url=url,
        marks=frozenset(_marks(card, interfaces)),
    )


def _made_id(card: Json) -> str:
    """A readable id for a card whose dialect has none: the names of provider and agent."""
    provider = json_object(card.get("provider"))
    organisation = json_text(provider.get("organization")) or json_text(provider.get("name")) or "agents"
    return f"{_plain(organisation)}/{_plain(json_text(card.get('name')))}"


def _plain(text: str) -> str:
    return _NOT_IN_A_NAME.sub("-", text.lower()).strip("-") or "unnamed"


def _marks(card: Json, interfaces: list[Json]) -> Iterator[tuple[Mark, str]]:
    capabilities = json_object(card.get("capabilities"))
    skills = json_objects(card.get("skills"))
    for labelled in (card, *skills):
        for tag in json_texts(labelled.get("tags")):
            yield "tag", tag
    for skill in skills:
        for key in ("id", "name"):
            if text := json_text(skill.get(key)):
                yield "skill", text.casefold()
    for scheme in _schemes(card):
        yield "auth", scheme.lower()
    for dialect in _dialects(card, interfaces):
        yield "dialect", dialect
    extensions = [json_text(one.get("uri")) for one in json_objects(capabilities.get("extensions"))]
    for uri in extensions:
        if uri:
            yield "extension", uri
    if json_text(capabilities.get("mcpVersion")) or any("mcp-context" in uri for uri in extensions):
        yield "feature", MCP
    if details := json_object(capabilities.get("teeDetails")):
        yield "feature", TEE
        yield "tee", json_text(details.get("type")).casefold()


def _schemes(card: Json) -> Iterator[str]:
    """The authentication schemes, with AgentVault's names if they have one."""
    own = json_objects(card.get("authSchemes"))
    yield from (json_text(one.get("scheme")) for one in own if json_text(one.get("scheme")))
    declared = json_object(card.get("securitySchemes"))
    for value in declared.values():
        one = json_object(value)
        kind = next((name for key, name in _SCHEMES.items() if key in one), json_text(one.get("type")))
        if kind == "http":
            kind = json_text((json_object(one.get("httpAuthSecurityScheme")) or one).get("scheme")) or "http"
        if kind:
            yield kind
    if not own and not declared:
        yield "none"


def _dialects(card: Json, interfaces: list[Json]) -> Iterator[str]:
    if "humanReadableId" in card and "authSchemes" in card:
        yield "agentvault"
    if json_text(card.get("protocolVersion")).startswith("0.3") or (
        json_text(card.get("url")) and "preferredTransport" in card
    ):
        yield "0.3"
    versions = {json_text(one.get("protocolVersion")) for one in interfaces}
    if any(version.startswith("1.") or not version for version in versions):
        yield "1.0"
    if "0.3" in {version[:3] for version in versions}:
        yield "0.3"
