"""What searches and lists need to know about a card of any dialect.

Cards are stored as received. A card may be for AgentVault, A2A 0.3, A2A 1.0, or all of them. This module reads what
they have in common; it validates nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pentad.kernel.json_values import as_object, as_objects, as_texts, text_or_empty
from pentad.rooms.agents.models import Json

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
    interfaces = as_objects(card.get("supportedInterfaces"))
    url = text_or_empty(card.get("url")) or next((text_or_empty(one.get("url")) for one in interfaces), "")
    return CardMetadata(
        readable_id=text_or_empty(card.get("humanReadableId")) or _made_id(card),
        name=text_or_empty(card.get("name")),
        description=text_or_empty(card.get("description")),
        version=text_or_empty(card.get("agentVersion")) or text_or_empty(card.get("version")),
        url=url,
        marks=frozenset(_marks(card, interfaces)),
    )


def _made_id(card: Json) -> str:
    """A readable id for a card whose dialect has none: the names of provider and agent."""
    provider = as_object(card.get("provider"))
    organisation = text_or_empty(provider.get("organization")) or text_or_empty(provider.get("name")) or "agents"
    return f"{_plain(organisation)}/{_plain(text_or_empty(card.get('name')))}"


def _plain(text: str) -> str:
    return _NOT_IN_A_NAME.sub("-", text.lower()).strip("-") or "unnamed"


def _marks(card: Json, interfaces: list[Json]) -> Iterator[tuple[Mark, str]]:
    capabilities = as_object(card.get("capabilities"))
    skills = as_objects(card.get("skills"))
    for labelled in (card, *skills):
        for tag in as_texts(labelled.get("tags")):
            yield "tag", tag
    for skill in skills:
        for key in ("id", "name"):
            if text := text_or_empty(skill.get(key)):
                yield "skill", text.casefold()
    for scheme in _schemes(card):
        yield "auth", scheme.lower()
    for dialect in _dialects(card, interfaces):
        yield "dialect", dialect
    extensions = [text_or_empty(one.get("uri")) for one in as_objects(capabilities.get("extensions"))]
    for uri in extensions:
        if uri:
            yield "extension", uri
    if text_or_empty(capabilities.get("mcpVersion")) or any("mcp-context" in uri for uri in extensions):
        yield "feature", MCP
    if details := as_object(capabilities.get("teeDetails")):
        yield "feature", TEE
        yield "tee", text_or_empty(details.get("type")).casefold()


def _schemes(card: Json) -> Iterator[str]:
    """The authentication schemes, with AgentVault's names if they have one."""
    own = as_objects(card.get("authSchemes"))
    yield from (text_or_empty(one.get("scheme")) for one in own if text_or_empty(one.get("scheme")))
    declared = as_object(card.get("securitySchemes"))
    for value in declared.values():
        one = as_object(value)
        kind = next((name for key, name in _SCHEMES.items() if key in one), text_or_empty(one.get("type")))
        if kind == "http":
            kind = text_or_empty((as_object(one.get("httpAuthSecurityScheme")) or one).get("scheme")) or "http"
        if kind:
            yield kind
    if not own and not declared:
        yield "none"


def _dialects(card: Json, interfaces: list[Json]) -> Iterator[str]:
    if "humanReadableId" in card and "authSchemes" in card:
        yield "agentvault"
    if text_or_empty(card.get("protocolVersion")).startswith("0.3") or (
        text_or_empty(card.get("url")) and "preferredTransport" in card
    ):
        yield "0.3"
    versions = {text_or_empty(one.get("protocolVersion")) for one in interfaces}
    if any(version.startswith("1.") or not version for version in versions):
        yield "1.0"
    if "0.3" in {version[:3] for version in versions}:
        yield "0.3"
