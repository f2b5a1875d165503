"""A2A agent cards. The card travels whole, as the module's data and as its artifact, so nothing is lost either way."""

from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.translate.envelope import (
    NOTHING_GIVEN,
    UNNAMED_CARD,
    UNWRITTEN_CARD,
    Given,
    carried,
    carried_json,
    dated,
    framed,
    json_descriptor,
    module_named,
    module_path,
    unexported,
)
from pentad.rooms.directory.translate.losses import Loss, Translated
from pentad.rooms.directory.translate.shapes import mapping_of, required_object, text_of

MODULES: Final = ("integration/a2a", "runtime/a2a")
CARD_SCHEMA: Final = "v1.0.0"


def to_record(source: dict[str, Any], given: Given = NOTHING_GIVEN) -> Translated[dict[str, Any]]:
    """The record of a card, given bare or as `a2aCard`."""
    wrapped = "a2aCard" in source
    card = required_object(source["a2aCard"], "a2aCard") if wrapped else source
    artifact, losses = json_descriptor(card)
    losses += [Loss(key, "only a2aCard is imported") for key in source if wrapped and key != "a2aCard"]
    provider = mapping_of(card.get("provider"))
    module = {
        "name": MODULES[0],
        "data": {"card_data": card, "card_schema_version": CARD_SCHEMA},
        "artifact": artifact,
    }
    record = framed(
        name=text_of(card.get("name")) or UNNAMED_CARD,
        description=text_of(card.get("description")) or UNWRITTEN_CARD,
        version=text_of(card.get("version")),
        authors=[text_of(provider.get("organization")) or ""],
        created_at=dated((card.get("created_at"), card.get("createdAt"), card.get("updatedAt"))),
        module=module,
        given=given,
    )
    return Translated(record, losses)


def from_record(record: dict[str, Any]) -> Translated[dict[str, Any]]:
    """The bare card: the one that was imported if the record still has it, else the module's card data."""
    module = module_named(record, MODULES)
    if module is None:
        raise InvalidInput("A2A module not found in record", hint=f"The record needs a module {MODULES[0]}.")
    losses = unexported(record, module, "a card")
    found = carried(module)
    card = carried_json(found)
    if card is None:
        card = mapping_of(mapping_of(module.get("data")).get("card_data")) or None
        if found.why:
            losses.append(Loss(f"{module_path(record, module)}.artifact", found.why))
    if card is None:
        raise InvalidInput("A2A card data not found in module", hint="Give the module card_data or an artifact.")
    return Translated(card, losses)
