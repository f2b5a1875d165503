"""How an object is called: its name, slug and other headings, by what the schema's configuration says."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pentad.rooms.registers.definitions.evaluation import evaluate
from pentad.rooms.registers.definitions.expressions import (
    Expression,
    ExpressionError,
    Lookup,
    Template,
    is_template,
    parse_template,
)
from pentad.rooms.registers.definitions.headings import FIELDS, Heading
from pentad.rooms.registers.definitions.shapes import mapping, text

_LONGEST: Final = 255


class _Usual(msgspec.Struct):
    """What an object is called by where its schema does not say."""

    name: Any = None
    title: Any = None
    label: Any = None


_USUAL: Final = msgspec.json.Decoder(_Usual)


class Naming:
    """The headings of one schema: each a property, a path with dots, or a template."""

    __slots__ = ("_rules",)

    def __init__(self, body: Mapping[str, Any], properties: Mapping[str, Any]) -> None:
        configuration = mapping(body.get("configuration"))
        self._rules: dict[Heading, Expression | Template] = {
            heading: _rule(field, properties)
            for heading, name in FIELDS.items()
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
            return _usual_name(data.get("name"), data.get("title"), data.get("label"))
        return None

    def name_in(self, text: str) -> str | None:
        """The name of an object that is still JSON; no more of it is read than that takes."""
        if "name" in self._rules:
            return self.heading("name", msgspec.json.decode(text))
        found = _USUAL.decode(text)
        return _usual_name(found.name, found.title, found.label)

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


def _usual_name(*values: Any) -> str | None:
    for value in values:
        if value is not None and (found := _heading(value)) is not None:
            return found
    return None


def _heading(value: Any) -> str | None:
    if isinstance(value, str):
        return value.strip()[:_LONGEST] or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
