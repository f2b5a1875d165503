"""Describes an agent from its remote card, with the types and sizes our own cards allow.

A foreign card may contain anything anywhere. Values that do not fit are left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from pentad.kernel.json_values import as_list, as_object, as_objects, text_or_empty
from pentad.rooms.agents.models import Json

_MAX_ENTRIES: Final = 100
_MAX_TEXT: Final = 4_000
_TEXTS: Final = ("id", "name", "description")
_LISTS: Final = ("tags", "examples", "inputModes", "outputModes")


class CardDescription(Struct, frozen=True):
    """The agent behind a card."""

    title: str = ""
    description: str = ""
    version: str = ""
    skills: Sequence[Json] = ()
    tags: Sequence[str] = ()
    input_modes: Sequence[str] = ()
    output_modes: Sequence[str] = ()
    extensions: Sequence[Json] = ()


def describe(card: Mapping[str, Any]) -> CardDescription:
    """The agent behind a card."""
    return CardDescription(
        title=_text(card.get("name")),
        description=_text(card.get("description")),
        version=_text(card.get("version")) or _text(card.get("agentVersion")),
        skills=[_skill(one) for one in _objects(card.get("skills"))],
        tags=_list(card.get("tags")),
        input_modes=_list(card.get("defaultInputModes")),
        output_modes=_list(card.get("defaultOutputModes")),
        extensions=[
            _extension(one)
            for one in _objects(as_object(card.get("capabilities")).get("extensions"))
            if _text(one.get("uri"))
        ],
    )


def _skill(given: Json) -> Json:
    texts = {name: text for name in _TEXTS if (text := _text(given.get(name)))}
    return {**texts, **{name: found for name in _LISTS if (found := _list(given.get(name)))}}


def _extension(given: Json) -> Json:
    params = as_object(given.get("params"))
    return {
        "uri": _text(given.get("uri")),
        "description": _text(given.get("description")),
        "required": given.get("required") is True,
        **({"params": params} if params else {}),
    }


def _objects(value: Any) -> list[Json]:
    return as_objects(value)[:_MAX_ENTRIES]


def _text(value: Any) -> str:
    return text_or_empty(value)[:_MAX_TEXT]


def _list(value: Any) -> list[str]:
    return [text for one in as_list(value)[:_MAX_ENTRIES] if (text := _text(one))]
