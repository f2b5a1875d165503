"""The OASF record of something this server lists, such as an agent that runs here."""

from collections.abc import Mapping
from typing import Any, Final

from pentad.kernel.clock import iso
from pentad.listings.listing import Listing
from pentad.rooms.directory.translate.a2a_cards import MODULES
from pentad.rooms.directory.translate.enrichment import enrich
from pentad.rooms.directory.translate.envelope import SCHEMA_VERSION
from pentad.rooms.directory.translate.secret_redaction import redact_secrets
from pentad.rooms.directory.translate.untrusted_json import mapping_of

LISTED_BY: Final = "listed_by"
"""The annotation that marks a record the server made; its value is `SERVER`."""
SERVER: Final = "pentad"
SUGGESTED: Final = "suggested_classes"
"""The annotation with the skills and domains that were suggested from the listing's words, not declared."""


def listing_record(listing: Listing, created_at: float) -> dict[str, Any]:
    """The record. The same listing and date always give the same one."""
    modules = {name: _without_secrets(name, data) for name, data in listing.modules.items()}
    record: dict[str, Any] = {
        "name": listing.name,
        "version": listing.version,
        "schema_version": SCHEMA_VERSION,
        "description": _described(listing, modules),
        "authors": [listing.provider],
        "created_at": iso(created_at),
        "skills": [],
        "domains": [],
        "modules": [{"name": name, "data": data} for name, data in modules.items()],
        "annotations": {**listing.annotations, LISTED_BY: SERVER, "listing": listing.key},
    }
    if listing.url:
        record["locators"] = [{"type": "url", "urls": [listing.url]}]
    if suggested := enrich(record, SCHEMA_VERSION, listing.skills, listing.domains):
        record["annotations"][SUGGESTED] = ", ".join(one.name for one in suggested)
    return record


def _without_secrets(module: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a module. Records are public, and a card may come from anyone."""
    if module != MODULES[0]:
        return dict(data)
    card = redact_secrets("a2a", mapping_of(data.get("card_data")), "withhold").result
    return {**data, "card_data": card}


def _described(listing: Listing, modules: Mapping[str, Mapping[str, Any]]) -> str:
    """The listing's description, or the card's without secrets if the two are the same."""
    given = mapping_of(listing.modules.get(MODULES[0], {}).get("card_data")).get("description")
    card = mapping_of(modules.get(MODULES[0], {}).get("card_data"))
    return str(card["description"]) if given == listing.description else listing.description
