"""Which property each heading of an object (name, description, summary, image, slug) is taken from.

For those who ask about headings rather than show them: a filter on `@self.name` is one on the property the name comes
from, and what comes from a hidden property is as hidden as the property.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal

from pentad.rooms.registers.definitions.expressions import is_template, parse_template
from pentad.rooms.registers.definitions.shapes import mapping, text

Heading = Literal["name", "description", "summary", "image", "slug"]
FIELDS: Final[dict[Heading, str]] = {
    "name": "objectNameField",
    "description": "objectDescriptionField",
    "summary": "objectSummaryField",
    "image": "objectImageField",
    "slug": "objectSlugField",
}
_USUAL_NAMES: Final = ("name", "title", "label")


def heading_sources(body: Mapping[str, Any], properties: Collection[str]) -> dict[str, str | None]:
    """The property, or dotted path, of each heading there is; None for one that is made from a template."""
    configuration = mapping(body.get("configuration"))
    found: dict[str, str | None] = {
        heading: None if is_template(field) else field
        for heading, name in FIELDS.items()
        if (field := text(configuration.get(name))) is not None
    }
    if "name" not in found and (usual := next((name for name in _USUAL_NAMES if name in properties), None)):
        found["name"] = usual
    return found


def slug_sources(body: Mapping[str, Any], properties: Collection[str]) -> frozenset[str]:
    """The top-level properties that slugs are made from."""
    field = text(mapping(body.get("configuration")).get(FIELDS["slug"]))
    if field is None:
        return frozenset()
    if is_template(field):
        return parse_template(field).properties()
    return frozenset({field if field in properties else field.partition(".")[0]})


def concealed(sources: Mapping[str, str | None], hidden: Collection[str]) -> frozenset[str]:
    """The headings that would tell something of hidden properties."""
    return frozenset(
        heading
        for heading, source in sources.items()
        if hidden and (source is None or source in hidden or source.partition(".")[0] in hidden)
    )
