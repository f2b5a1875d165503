"""Validity against the reference implementation of JSON Schema: generated schemas, generated instances, one verdict."""

from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from tests.rooms.registers.definitions.making import compiled

# Formats both sides assert alike; the oracle only knows those its optional packages are installed for.
FORMATS = ["date", "ipv4", "ipv6", "uuid"]
UUIDS = ["2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380"]
TEXTS = st.sampled_from(
    [
        "",
        "a",
        "ab",
        "abc",
        "5",
        "2024-02-29",
        "2023-02-29",
        "1.2.3.4",
        "1.2.3.400",
        "::1",
        "é",
        "👩\u200d🚀",
        "A",
        *UUIDS,
    ]
)
NAMES = st.sampled_from(["a", "b", "c", "register", "uuid"])
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, 1.0, -2.5, 1e20]) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
COUNT = st.integers(0, 3)
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "array", "object", "null"])


def subschemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    some = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=3)
    return st.fixed_dictionaries(
        {"type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True)},
        optional={
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "properties": named,
            "additionalProperties": st.booleans() | inner,
            "unevaluatedProperties": st.just(False),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "."]), inner, max_size=2),
            "propertyNames": inner,
            "required": st.lists(NAMES, max_size=2, unique=True),
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
            "prefixItems": some,
            "items": inner,
            "contains": inner,
            "minContains": COUNT,
            "maxItems": COUNT,
            "uniqueItems": st.booleans(),
            "maxProperties": COUNT,
        },
    )


LEAVES = st.fixed_dictionaries(
    {"type": TYPES},
    optional={
        "enum": st.lists(SCALARS, min_size=1, max_size=3),
        "const": SCALARS,
        "minimum": st.integers(-3, 3),
        "exclusiveMaximum": st.integers(-3, 3),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minLength": COUNT,
        "maxLength": COUNT,
        "pattern": st.sampled_from(["^a", "b$", "^[0-9]+$", "a|5"]),
        "format": st.sampled_from(FORMATS),
        "minItems": COUNT,
        "minProperties": COUNT,
    },
)
SCHEMAS = st.recursive(LEAVES, subschemas, max_leaves=8)


def plain(schema: Any) -> Any:
    """A null keyword says nothing in a stored schema, so the oracle must not see one."""
    if isinstance(schema, dict):
        return {
            name: plain(value) for name, value in schema.items() if value is not None or name in ("const", "default")
        }
    return schema


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.dictionaries(NAMES, SCHEMAS, max_size=3), st.lists(NAMES, max_size=2, unique=True), OBJECTS)
@pytest.mark.requirement("registers:schemas:json-schema")
def test_the_reference_implementation_agrees_on_validity(
    properties: dict[str, Any], required: list[str], data: dict[str, Any]
) -> None:
    body = {"properties": properties, "required": required, "$defs": {"node": {"items": {"$ref": "#/$defs/node"}}}}
    try:
        schema = compiled(**body)
    except InvalidInput:
        assume(False)
        return
    oracle = jsonschema.Draft202012Validator(
        {"type": "object", **plain(body)}, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    assert schema.is_valid(data) == oracle.is_valid(data)
    assert bool(schema.problems(data)) != schema.is_valid(data)


@given(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2)))
def test_recursive_definitions_agree_too(value: Any) -> None:
    definitions = {
        "tree": {
            "type": ["object", "array", "string"],
            "properties": {"a": {"$ref": "#/$defs/tree"}},
            "additionalProperties": {"type": "integer"},
            "items": {"$ref": "#/$defs/tree"},
        }
    }
    body = {"properties": {"root": {"$ref": "#/$defs/tree"}}, "$defs": definitions}
    oracle = jsonschema.Draft202012Validator({"type": "object", **body})
    assert compiled(**body).is_valid({"root": value}) == oracle.is_valid({"root": value})
