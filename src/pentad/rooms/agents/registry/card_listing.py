"""Entries of this room in the directory: hosted agents and registered cards."""

from collections.abc import Mapping, Sequence
from typing import Final

from pentad.kernel.json_values import as_object, text_or_empty
from pentad.listings.listing import Listing
from pentad.rooms.agents.models import Json
from pentad.rooms.agents.registry.card_metadata import metadata_of

A2A_MODULE: Final = "integration/a2a"
_CARD_SCHEMA: Final = "v1.0.0"
_VERSION: Final = "1.0.0"


def card_key(card_id: str) -> str:
    """The key of a registered card. Not the URL, which may change, and which anyone may register."""
    return f"agents://cards/{card_id}"


def card_listing(key: str, card: Json, skills: Sequence[str] = (), domains: Sequence[str] = ()) -> Listing:
    """The directory listing of a card. Its name is the readable id, which stays when the title changes."""
    metadata = metadata_of(card)
    provider = as_object(card.get("provider"))
    return Listing(
        key=key,
        name=metadata.readable_id,
        version=metadata.version or _VERSION,
        description=metadata.description or f"The agent {metadata.name}.",
        provider=text_or_empty(provider.get("organization")) or text_or_empty(provider.get("name")) or "Unknown",
        url=metadata.url,
        skills=tuple(skills),
        domains=tuple(domains),
        modules=card_modules(card),
    )


def card_modules(card: Json) -> Mapping[str, Json]:
    """The OASF module of a card, without the card's signatures: the record has one of its own."""
    unsigned = {name: value for name, value in card.items() if name != "signatures"}
    return {A2A_MODULE: {"card_data": unsigned, "card_schema_version": _CARD_SCHEMA}}
