"""A compiled schema: the facts it gives, and what preparing an object does to it."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_pointer import split_pointer
from pentad.rooms.registers.definitions.compiled_schema import Unique, compile_schema
from pentad.rooms.registers.definitions.properties import Indexed
from pentad.rooms.registers.definitions.references import Reference
from tests.rooms.registers.definitions.making import compiled, nobody

NOW = 1_700_000_000.0


def test_the_facts_of_a_property_are_read() -> None:
    schema = compiled(
        {
            "age": {"type": "integer", "title": "Age", "facetable": {"type": "range"}, "immutable": True},
            "secret": {"type": ["string", "null"], "visible": False, "authorization": {"read": ["admin"]}},
        },
        required=["age"],
    )
    age, secret = schema.properties["age"], schema.properties["secret"]
    assert (age.types, age.kind, age.title, age.required, age.facetable) == (("integer",), "number", "Age", True, True)
    assert age.immutable
    assert (secret.types, secret.visible, secret.authorization) == (("string", "null"), False, {"read": ["admin"]})


@pytest.mark.parametrize(
    ("definition", "kind"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": ["null", "string"], "format": "date-time"}, "moment"),
        ({"type": ["integer", "number"]}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "array"}, None),
        ({"type": "object"}, None),
        ({"type": ["string", "integer"]}, None),
        ({"enum": ["a", "b", None]}, "text"),
        ({"const": 5}, "number"),
        ({"enum": ["a", 1]}, None),
        ({"$ref": "person"}, "text"),
        ({"type": "array", "items": {"$ref": "person"}}, None),
    ],
)
def test_a_property_compares_by_its_kind(definition: dict[str, Any], kind: str | None) -> None:
    assert compiled({"a": definition}).properties["a"].kind == kind


def test_nested_properties_are_found_by_path() -> None:
    schema = compiled({"a": {"type": "object", "properties": {"b": {"type": "integer", "x-index": True}}}})
    assert schema.properties["a"].children["b"].path == ("a", "b")
    assert schema.indexed == (Indexed(("a", "b"), "number"),)


def test_what_is_declared_is_indexed() -> None:
    schema = compiled(
        {
            "code": {"type": "string", "unique": True},
            "status": {"type": "string", "facetable": True},
            "owner": {"$ref": 7},
            "due": {"type": "string", "format": "date", "x-index": True},
            "plain": {"type": "string"},
            "tags": {"type": "array", "facetable": True},
        },
        configuration={"unique": ["status", "due"]},
    )
    assert schema.indexed == (
        Indexed(("code",), "text", unique=True),
        Indexed(("status",), "text"),
        Indexed(("owner",), "text"),
        Indexed(("due",), "date"),
    )
    assert schema.unique == (Unique((("code",),), ("text",)), Unique((("status",), ("due",)), ("text", "date")))


@pytest.mark.parametrize(
    ("declared", "sets"),
    [("a", [("a",)]), (["a", "b"], [("a", "b")]), ([["a"], ["a", "b"]], [("a",), ("a", "b")]), ([], []), (None, [])],
)
def test_uniqueness_is_written_in_several_ways(declared: Any, sets: list[tuple[str, ...]]) -> None:
    schema = compiled({"a": {"type": "string"}, "b": {"type": "string"}}, configuration={"unique": declared})
    assert [tuple(path[0] for path in one.paths) for one in schema.unique] == sets


def test_relations_are_found_wherever_they_are() -> None:
    schema = compiled(
        {
            "owner": {"$ref": "#/components/schemas/person", "onDelete": "CASCADE", "inversedBy": "owns"},
            "tags": {"type": "array", "items": {"$ref": "tag"}, "onDelete": "RESTRICT"},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"product": {"$ref": "12"}}}},
            "deep": {"type": "object", "properties": {"of": {"type": "string", "$ref": "place"}}},
            "either": {"anyOf": [{"$ref": "person"}, {"$ref": "company"}]},
            "own": {"$ref": "#/$defs/x"},
        },
        **{"$defs": {"x": {"type": "string"}}},
    )
    assert [(one.path, one.target) for one in schema.references] == [
        (("owner",), "person"),
        (("tags", "*"), "tag"),
        (("lines", "*", "product"), 12),
        (("deep", "of"), "place"),
        (("either",), "person"),
        (("either",), "company"),
    ]
    assert schema.references[0] == Reference(("owner",), "person", on_delete="CASCADE", inversed_by="owns")
    assert (schema.references[1].many, schema.references[1].on_delete) == (True, "RESTRICT")


def test_an_object_tells_whom_it_points_at() -> None:
    schema = compiled(
        {
            "owner": {"$ref": "person"},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"product": {"$ref": "product"}}}},
        }
    )
    data = {"owner": "u1", "lines": [{"product": "p1"}, {"product": None}, {}, {"product": "p2"}, 5]}
    assert [value for _, value in schema.targets(data)] == ["u1", "p1", "p2"]


@pytest.mark.parametrize(
    ("definition", "value", "valid"),
    [
        ({"$ref": "person"}, "u1", True),
        ({"$ref": "person"}, 5, False),
        ({"$ref": "person"}, None, False),
        ({"$ref": "person", "onDelete": "SET_NULL"}, None, True),
        ({"type": "string", "$ref": "person", "onDelete": "SET_NULL"}, None, True),
        ({"type": "object", "$ref": "person"}, "u1", True),
        ({"type": "object", "$ref": "person"}, {"name": "Ada"}, True),
        ({"type": "string", "format": "uuid", "$ref": "person"}, "u1", False),
        ({"type": "array", "items": {"$ref": "person"}}, ["u1"], True),
        ({"type": "array", "items": {"$ref": "person"}}, [1], False),
    ],
)
def test_a_relation_holds_the_id_of_the_other(definition: dict[str, Any], value: Any, valid: bool) -> None:
    assert compiled({"a": definition}).is_valid({"a": value}) is valid


@pytest.mark.parametrize("kind", ["file", "NcFile", "NcMail", "NcDeck"])
@pytest.mark.parametrize("value", ["x", 5, {"any": ["thing"]}])
def test_linked_things_are_kept_as_they_come(kind: str, value: Any) -> None:
    schema = compiled({"a": {"type": kind}, "many": {"type": "array", "items": {"type": kind}}})
    assert schema.prepare({"a": value, "many": [value]}).problems == []


@pytest.mark.parametrize(
    ("behaviour", "given", "stored"),
    [
        (None, {}, "d"),
        (None, {"a": None}, "d"),
        (None, {"a": ""}, ""),
        (False, {}, "d"),
        ("absent", {"a": "x"}, "x"),
        ("falsy", {"a": ""}, "d"),
        ("falsy", {"a": []}, "d"),
        ("falsy", {"a": 0}, 0),
        ("falsy", {"a": "x"}, "x"),
        ("always", {"a": "x"}, "d"),
    ],
)
@pytest.mark.requirement("registers:schemas:defaults")
def test_a_default_follows_its_behaviour(behaviour: Any, given: dict[str, Any], stored: Any) -> None:
    definition = {"type": ["string", "array", "integer"], "default": "d", "defaultBehavior": behaviour}
    assert compiled({"a": definition}).prepare(given).data["a"] == stored


def test_defaults_may_be_templates_over_the_object_and_the_call() -> None:
    schema = compiled(
        {
            "name": {"type": "string"},
            "greeting": {"type": "string", "default": "Hello {{ name }}"},
            "by": {"type": "string", "default": "{{ @user }}"},
            "on": {"type": "string", "format": "date", "default": "{{ today() }}"},
        }
    )
    prepared = schema.prepare({"name": "Ada"}, now=NOW, caller_facts={"user": "bob"})
    assert prepared.data == {"name": "Ada", "greeting": "Hello Ada", "by": "bob", "on": "2023-11-14"}


def test_defaults_reach_into_objects_and_lists_that_are_there() -> None:
    inner = {"type": "object", "properties": {"unit": {"type": "string", "default": "kg"}}}
    schema = compiled({"one": inner, "many": {"type": "array", "items": inner}})
    given: dict[str, Any] = {"one": {}, "many": [{}, {"unit": "g"}]}
    assert schema.prepare(given).data == {"one": {"unit": "kg"}, "many": [{"unit": "kg"}, {"unit": "g"}]}
    assert given == {"one": {}, "many": [{}, {"unit": "g"}]}
    assert schema.prepare({}).data == {}


def test_a_default_is_fresh_for_every_object() -> None:
    schema = compiled({"a": {"type": "array", "default": []}})
    schema.prepare({}).data["a"].append(1)
    assert schema.prepare({}).data == {"a": []}


def test_a_constant_fills_itself_in() -> None:
    assert compiled({"kind": {"const": "invoice"}}).prepare({}).data == {"kind": "invoice"}


@pytest.mark.requirement("registers:schemas:computed")
def test_computed_properties_are_computed_in_order_and_overwrite() -> None:
    schema = compiled(
        {
            "gross": {"type": "number", "computed": "net + vat"},
            "vat": {"type": "number", "computed": {"expression": "net * 0.5", "on": "save"}},
            "net": {"type": "number"},
            "label": {"type": "string", "computed": "{{ net }} EUR"},
        }
    )
    assert schema.prepare({"net": 2, "gross": 99}).data == {"net": 2, "gross": 3.0, "vat": 1.0, "label": "2 EUR"}


def test_a_computed_null_is_no_value() -> None:
    assert compiled({"a": {"type": "number", "computed": "b * 2"}}).prepare({"a": 5}).data == {}


def test_a_computation_that_fails_is_a_problem() -> None:
    problems = compiled({"a": {"type": "number", "computed": "b / 0"}}).prepare({"b": 1}).problems
    assert [(problem.pointer, problem.code) for problem in problems] == [("/a", "computed")]
    assert "Division by zero" in problems[0].message


def test_a_property_computed_on_reading_is_not_stored() -> None:
    schema = compiled(
        {"age": {"type": "integer", "computed": {"expression": "year(now()) - born", "evaluateOn": "read"}}}
    )
    assert schema.prepare({"born": 2000}).data == {"born": 2000}
    assert schema.with_computed({"born": 2000}, now=NOW) == {"born": 2000, "age": 23}


def test_date_times_are_cut_to_dates_where_a_date_is_wanted() -> None:
    date = {"type": "string", "format": "date"}
    schema = compiled(
        {"a": date, "b": {"type": "array", "items": date}, "c": {"type": "object", "properties": {"d": date}}}
    )
    moment = "2024-05-06T07:08:09Z"
    prepared = schema.prepare({"a": moment, "b": [moment, "2024-01-01"], "c": {"d": moment}})
    assert prepared.data == {"a": "2024-05-06", "b": ["2024-05-06", "2024-01-01"], "c": {"d": "2024-05-06"}}
    assert prepared.problems == []


@pytest.mark.requirement("registers:schemas:immutable")
def test_what_is_immutable_may_be_set_once() -> None:
    schema = compiled({"code": {"type": "string", "immutable": True}, "name": {"type": "string"}})
    assert schema.prepare({"code": "A"}, previous={"name": "x"}).problems == []
    assert schema.prepare({"code": "A", "name": "y"}, previous={"code": "A"}).problems == []
    (changed,) = schema.prepare({"code": "B"}, previous={"code": "A"}).problems
    assert (changed.pointer, changed.code, changed.value, changed.constraint) == ("/code", "immutable", "B", "A")
    assert changed.patch == ({"op": "replace", "path": "/code", "value": "A"},)
    (gone,) = schema.prepare({}, previous={"code": "A"}).problems
    assert gone.patch == ({"op": "add", "path": "/code", "value": "A"},)


def test_an_immutable_schema_lets_nothing_change() -> None:
    schema = compiled({"a": {"type": "integer"}}, immutable=True)
    assert [problem.code for problem in schema.prepare({"a": 2}, previous={"a": 1}).problems] == ["immutable"]
    assert schema.prepare({"a": 1}, previous={"a": 1}).problems == []


@pytest.mark.requirement("registers:schemas:soft")
def test_a_soft_schema_warns_and_still_keeps_what_is_immutable() -> None:
    schema = compiled({"a": {"type": "integer"}, "b": {"type": "string", "immutable": True}}, hardValidation=False)
    prepared = schema.prepare({"a": "x", "b": "2"}, previous={"b": "1"})
    assert schema.soft
    assert [problem.code for problem in prepared.problems] == ["immutable"]
    assert [problem.code for problem in prepared.warnings] == ["type"]


@pytest.mark.parametrize("hard", [True, None])
def test_validation_is_on_unless_switched_off(hard: bool | None) -> None:
    assert compiled({"a": {"type": "integer"}}, hardValidation=hard).prepare({"a": "x"}).problems


def test_undeclared_properties_are_allowed_unless_the_schema_is_closed() -> None:
    assert compiled({"a": {"type": "integer"}}).prepare({"b": 1}).problems == []
    closed = compiled({"a": {"type": "integer"}}, additionalProperties=False)
    assert [problem.pointer for problem in closed.prepare({"b": 1}).problems] == ["/b"]


def test_required_true_on_a_property_makes_it_required() -> None:
    schema = compiled(
        {
            "a": {"type": "string", "required": True},
            "b": {"type": "object", "properties": {"c": {"type": "string", "required": True}}},
        },
        required=["b"],
    )
    assert schema.required == {"a", "b"}
    assert {problem.pointer for problem in schema.prepare({"b": {}}).problems} == {"/a", "/b/c"}


def test_older_exclusive_limits_are_understood() -> None:
    schema = compiled({"a": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "exclusiveMaximum": False}})
    assert [schema.is_valid({"a": value}) for value in (0, 1)] == [False, True]


def test_nulls_left_by_forms_mean_nothing() -> None:
    blank = dict.fromkeys(("format", "pattern", "enum", "minLength", "items", "$ref", "description", "oneOf"))
    schema = compile_schema(
        {"properties": {"a": {"type": "string", **blank}}, "required": None, "allOf": None, "configuration": None},
        parents=nobody,
    )
    assert schema.is_valid({"a": "x"})


def test_empty_properties_may_be_written_as_a_list() -> None:
    assert compile_schema({"properties": [], "required": []}, parents=nobody).properties == {}


def test_an_object_is_called_by_what_the_configuration_says() -> None:
    schema = compiled(
        {"first": {"type": "string"}, "a.b": {"type": "string"}, "in": {"type": "object"}},
        configuration={
            "objectNameField": "{{ first }} {{ `a.b` }}",
            "objectSlugField": "a.b",
            "objectDescriptionField": "in.side",
        },
    )
    data = {"first": "Zoé", "a.b": "Ünder Score_x", "in": {"side": "text"}}
    assert schema.name_of(data) == "Zoé Ünder Score_x"
    assert schema.slug_of(data) == "under-score-x"
    assert schema.heading_of("description", data) == "text"
    assert schema.heading_of("summary", data) is None
    assert schema.slug_of({}) is None


@pytest.mark.parametrize(("data", "name"), [({"title": "T"}, "T"), ({"name": "", "label": 5}, "5"), ({"x": 1}, None)])
def test_without_configuration_the_usual_names_are_tried(data: dict[str, Any], name: str | None) -> None:
    assert compiled().name_of(data) == name


def test_all_texts_are_collected_for_search() -> None:
    schema = compiled()
    assert schema.texts({"a": "x", "b": {"c": ["y", 5, {"d": "z"}]}}) == "x\ny\nz"
    assert compiled(searchable=False).texts({"a": "x"}) == ""


@pytest.mark.parametrize(
    "name", ["register", "schema", "uuid", "id", "@type", "naam ü", "0", "__proto__", "$ref", "a/b"]
)
def test_a_property_may_have_any_name(name: str) -> None:
    schema = compiled({name: {"type": "integer", "minimum": 3}})
    assert schema.prepare({name: 3}).problems == []
    (problem,) = schema.prepare({name: 1}).problems
    assert split_pointer(problem.pointer) == (name,)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_preparing_never_changes_what_was_given_and_is_done_once(data: dict[str, Any]) -> None:
    schema = compiled(
        {
            "a": {"type": "string", "default": "x"},
            "b": {"type": "integer"},
            "c": {"type": "string", "computed": "coalesce(d, 'none')"},
        },
        hardValidation=False,
    )
    before = repr(data)
    once = schema.prepare(data, now=NOW)
    assert repr(data) == before
    assert schema.prepare(once.data, now=NOW).data == once.data


@pytest.mark.parametrize(
    "facts", [{"type": "strng"}, {"type": "string", "computed": "b +"}, {"type": "string", "enum": []}]
)
def test_a_refusal_of_a_schema_ends_like_a_sentence(facts: dict[str, Any]):
    with pytest.raises(InvalidInput) as refused:
        compile_schema({"properties": {"a": facts}}, parents=nobody)
    assert re.search(r"[^.?][.?]$", refused.value.message), refused.value.message
