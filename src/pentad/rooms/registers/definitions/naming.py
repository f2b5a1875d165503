"""How an object is called: its name, slug and other headings, by what the schema's configuration says."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final, Literal

from pentad.rooms.registers.definitions.evaluation import evaluate
from pentad.rooms.registers.definitions.expressions import (
    Expression,
    ExpressionError,
    Lookup,
    Template,
    is_template,
    parse_template,
)
from pentad.rooms.registers.definitions.shapes import mapping, text

Heading = Literal["name", "description", "summary", "image", "slug"]
_FIELDS: Final[dict[Heading, str]] = {
    "name": "objectNameField",
    "description": "objectDescriptionField",
    "summary": "objectSummaryField",
    "image": "objectImageField",
    "slug": "objectSlugField",
}
_USUAL_NAMES: Final = ("name", "title", "label")
_LONGEST: Final = 255


class Naming:
    """The headings of one schema: each a property, a path with dots, or a template."""

    __slots__ = ("_rules",)

    def __init__(self, body: Mapping[str, Any], properties: Mapping[str, Any]) -> None:
        configuration = mapping(body.get("configuration"))
        self._rules: dict[Heading, Expression | Template] = {
            heading: _rule(field, properties)
            for heading, name in _FIELDS.items()
            if (field := text(configuration.get(name))) is not None
        }

    def heading(self, which: Heading, data: Mapping[str, Any]) -> str | None:
        """The text of a heading, or None. A heading never fails: what cannot be made is not there."""
        rule = self._rules.get(which)
        if rule is not None:
            try:
                value = evaluate(rule, data, now=0.0)
            except ExpressionError:
                return None
            return _heading(value)
        if which == "name":
            return next((found for name in _USUAL_NAMES if (found := _heading(data.get(name))) is not None), None)
        return None

    def slug(self, data: Mapping[str, Any]) -> str | None:
        found = self.heading("slug", data)
        return slugified(found) if found is not None else None


def slugified(value: str) -> str | None:
    """Lower-case words joined by hyphens, without accents; None when nothing is left."""
    plain = "".join(
        letter for letter in unicodedata.normalize("NFKD", value[:_LONGEST]) if not unicodedata.combining(letter)
    )
    return re.sub(r"[\W_]+", "-", plain.casefold()).strip("-")[:_LONGEST] or None


def _rule(field: str, properties: Mapping[str, Any]) -> Expression | Template:
    if is_template(field):
        return parse_template(field)
    path = (field,) if field in properties else tuple(field.split("."))
    return Expression(field, Lookup(path))


def _heading(value: Any) -> str | None:
    if isinstance(value, str):
        return value.strip()[:_LONGEST] or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
