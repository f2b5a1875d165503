"""Translates A2A agent cards to records and back. The record keeps the whole card, as module data and as artifact."""

from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_list, as_object, text_or_none
from pentad.rooms.directory.translate.envelope import (
    DEFAULT_CARD_DESCRIPTION,
    DEFAULT_CARD_NAME,
    NO_OVERRIDES,
    Overrides,
    artifact_json,
    find_module,
    first_date,
    json_artifact,
    module_artifact,
    module_path,
    new_record,
    unexported_parts,
)
from pentad.rooms.directory.translate.json_objects import required_object
from pentad.rooms.directory.translate.losses import Loss, Translated

MODULES: Final = ("integration/a2a", "runtime/a2a")
CARD_SCHEMA: Final = "v1.0.0"
_NAMES: Final = ("organization", "organisation", "name")


def to_record(source: dict[str, Any], given: Overrides = NO_OVERRIDES) -> Translated[dict[str, Any]]:
    """The record of a card, given bare or as `a2aCard`."""
    wrapped = "a2aCard" in source
    card = required_object(source["a2aCard"], "a2aCard") if wrapped else source
    artifact, losses = json_artifact(card)
    losses += [Loss(key, "only a2aCard is imported") for key in source if wrapped and key != "a2aCard"]
    module = {
        "name": MODULES[0],
        "data": {"card_data": card, "card_schema_version": CARD_SCHEMA},
        "artifact": artifact,
    }
    record = new_record(
        name=text_or_none(card.get("name")) or DEFAULT_CARD_NAME,
        description=text_or_none(card.get("description")) or DEFAULT_CARD_DESCRIPTION,
        version=text_or_none(card.get("version")) or text_or_none(card.get("agentVersion")),
        authors=_authors(card),
        created_at=first_date((card.get("created_at"), card.get("createdAt"), card.get("updatedAt"))),
        module=module,
        given=given,
    )
    return Translated(record, losses)


def _authors(card: dict[str, Any]) -> list[str]:
    """The provider of the agent, in any dialect of cards."""
    found: list[str] = []
    for key in ("provider", "developer", "author", "authors"):
        for one in as_list(card.get(key)) or [card.get(key)]:
            fields = as_object(one)
            name = text_or_none(one) or next(
                (text for part in _NAMES if (text := text_or_none(fields.get(part)))), None
            )
            found += [name] if name else []
        if found:
            return found
    return []


def from_record(record: dict[str, Any]) -> Translated[dict[str, Any]]:
    """The bare card: the imported one if the record still has it, otherwise the module's card data."""
    module = find_module(record, MODULES)
    if module is None:
        raise InvalidInput("A2A module not found in record", hint=f"The record needs a module {MODULES[0]}.")
    losses = unexported_parts(record, module, "a card")
    found = module_artifact(module)
    card = artifact_json(found)
    if card is None:
        card = as_object(as_object(module.get("data")).get("card_data")) or None
        if found.why:
            losses.append(Loss(f"{module_path(record, module)}.artifact", found.why))
    if card is None:
        raise InvalidInput("A2A card data not found in module", hint="Give the module card_data or an artifact.")
    return Translated(card, losses)
