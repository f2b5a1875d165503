"""Conditions follow a renamed property: an object fits after the rename exactly if it fitted before."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pentad.kernel.json_patch import copied
from pentad.rooms.registers.definitions.migration import migrate
from pentad.rooms.registers.definitions.schema_patch import apply_operations
from tests.rooms.registers.definitions.making import compiled

PROPERTIES: dict[str, Any] = {
    "a": {"type": "integer"},
    "b": {"type": "integer"},
    "o": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
}
RENAMES = (("a", "z"), ("o", "z"), ("/o/a", "z"), ("/o/b", "a2"))
names = st.sampled_from(["a", "b", "o", "extra"])
inner_names = st.sampled_from(["a", "b"])


def rules(name: st.SearchStrategy[str], deeper: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """What a schema may say about the properties of an object; `deeper` is the same for a smaller one."""
    return st.fixed_dictionaries(
        {},
        optional={
            "required": st.lists(name, min_size=1, max_size=2, unique=True),
            "dependentRequired": st.dictionaries(name, st.lists(name, max_size=2, unique=True), max_size=2),
            "dependentSchemas": st.dictionaries(name, deeper, max_size=2),
            "properties": st.dictionaries(name.filter(lambda one: one != "o"), st.just({"maximum": 1}), max_size=2),
            "not": deeper,
            "if": deeper,
            "then": deeper,
            "else": deeper,
            "anyOf": st.lists(deeper, min_size=1, max_size=2),
        },
    )


nested = rules(inner_names, st.just({})) | rules(inner_names, rules(inner_names, st.just({})))
about_o = nested.map(lambda rule: {"properties": {"o": rule}})
conditions = rules(names, rules(names, st.just({})) | about_o) | about_o
CONDITIONAL = ("dependentRequired", "dependentSchemas", "not", "if", "then", "else", "anyOf")
inner = st.dictionaries(inner_names, st.integers(0, 2))
objects = st.fixed_dictionaries(
    {}, optional={"a": st.integers(0, 2), "b": st.integers(0, 2), "o": inner, "extra": st.integers(0, 2)}
)


@pytest.mark.requirement("registers:schema-change:rename-conditions")
@given(conditions, nested, st.lists(objects, min_size=1, max_size=6))
@example(
    {"dependentRequired": {"a": ["b"]}, "if": {"required": ["o"]}, "then": {"properties": {"a": {"maximum": 1}}}},
    {"not": {"required": ["a", "b"]}},
    [{"a": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 1, "o": {}}, {"o": {"a": 1, "b": 1}}, {"o": {"a": 1}}],
)
@settings(max_examples=400)
def test_an_object_fits_after_a_rename_exactly_if_it_fitted_before(
    rule: dict[str, Any], of_o: dict[str, Any], data: list[dict[str, Any]]
) -> None:
    body: dict[str, Any] = {"properties": copied(PROPERTIES)}
    body |= {keyword: rule[keyword] for keyword in CONDITIONAL if keyword in rule}
    body["properties"]["o"] |= {keyword: of_o[keyword] for keyword in CONDITIONAL if keyword in of_o}
    old = compiled(**body)
    for name, to in RENAMES:
        patch = apply_operations(body, [{"op": "rename", "property": name, "to": to}])
        new = compiled(**patch.body)
        for one in data:
            assert old.is_valid(one) == new.is_valid(migrate(one, patch.steps)), (body, patch.body, one)
        place, slash, last = name.rpartition("/")
        back = apply_operations(patch.body, [{"op": "rename", "property": f"{place}{slash}{to}", "to": last}])
        assert back.body == body


@pytest.mark.requirement("registers:schema-change:rename-conditions")
def test_a_rule_about_an_undeclared_property_of_the_new_name_stays() -> None:
    body = {
        "properties": {"a": {"type": "integer"}, "b": {}},
        "dependentRequired": {"a": ["b"], "z": ["b", "a"]},
        "then": {"properties": {"a": {"minimum": 1}, "z": {"maximum": 5}}},
    }
    patch = apply_operations(body, [{"op": "rename", "property": "a", "to": "z"}])
    assert patch.body["dependentRequired"] == {"z": ["b", "z"]}
    assert patch.body["then"] == {"properties": {"z": {"allOf": [{"minimum": 1}, {"maximum": 5}]}}}
