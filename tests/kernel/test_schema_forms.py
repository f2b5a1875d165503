"""Forms from schemas: what is shown can be read back, nothing is lost, and each message is at its field."""

import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.kernel.pages import CheckBox, Choice, Field, FileField, Group, Hidden, Repeated, TextField, Visit
from pentad.kernel.principal import LOCAL
from pentad.kernel.schema import compile_json_schema
from pentad.kernel.schema_forms import (
    MISSING,
    Suggestions,
    edited,
    field_problems,
    form_fields,
    read_form,
    schema_form,
)

PERSON = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "title": "Full name", "description": "As in the passport", "minLength": 2},
        "age": {"type": ["integer", "null"], "minimum": 0, "maximum": 150},
        "role": {"enum": ["reader", "writer", 7], "default": "reader"},
        "born": {"type": "string", "format": "date"},
        "active": {"type": "boolean"},
        "notify": {"type": "boolean", "default": False},
        "about": {"type": "string", "maxLength": 5000},
        "secret": {"type": "string", "format": "password"},
        "photo": {"type": "string", "contentEncoding": "base64"},
        "address": {"$ref": "#/$defs/address"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "days": {"type": "array", "items": {"enum": ["mon", "tue", "wed"]}},
        "phones": {"type": "array", "items": {"$ref": "#/$defs/phone"}},
        "extra": {"type": "object"},
        "id": {"type": "string", "readOnly": True},
    },
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
        },
        "phone": {"type": "object", "properties": {"kind": {"enum": ["home", "work"]}, "number": {"type": "string"}}},
    },
}


def flat(fields: Iterable[Field]) -> list[Field]:
    found: list[Field] = []
    for one in fields:
        found.append(one)
        inner = one.fields if isinstance(one, Group) else one.items if isinstance(one, Repeated) else ()
        found += flat(inner)
    return found


def named(fields: Iterable[Field], name: str) -> Any:
    return next(one for one in flat(fields) if not isinstance(one, Group) and one.name == name)


def sent(fields: Iterable[Field]) -> dict[str, str]:
    """What a browser sends of a form that nobody touched."""
    found: dict[str, str] = {}
    for one in flat(fields):
        if isinstance(one, CheckBox):
            found |= {one.name: one.value} if one.checked else {}
        elif isinstance(one, TextField | Choice | Hidden):
            found[one.name] = re.sub(r"\r?\n", "\r\n", one.value)
    return found


@pytest.mark.requirement("console:forms")
def test_each_kind_of_value_has_its_kind_of_field() -> None:
    fields = form_fields(PERSON)
    name = named(fields, "/name")
    assert (name.label, name.hint, name.required, name.lines) == ("Full name", "As in the passport.", True, 1)
    age = named(fields, "/age")
    assert (age.keyboard, age.hint, age.required) == ("numeric", "0 to 150.", False)
    assert named(fields, "/role").options == [
        ("", "default: reader"),
        ("reader", "reader"),
        ("writer", "writer"),
        ("7", "7"),
    ]
    assert named(fields, "/born").kind == "date"
    assert [text for _, text in named(fields, "/active").options] == ["—", "yes", "no"]
    assert isinstance(named(fields, "/notify"), CheckBox)
    assert named(fields, "/about").lines > 1
    assert named(fields, "/secret").kind == "password"
    assert isinstance(named(fields, "/photo"), FileField)
    assert named(fields, "/address/city").label == "city"
    assert named(fields, "/tags").items == []
    assert [one.value for one in flat(fields) if isinstance(one, CheckBox) and one.name.startswith("/days")] == [
        "mon",
        "tue",
        "wed",
    ]
    assert named(fields, "/extra").code
    assert "/id" not in [one.name for one in flat(fields) if not isinstance(one, Group)], "nobody may change it"
    assert isinstance(fields[0], TextField)
    assert isinstance(fields[-1], Group), "there are many optional fields"
    assert fields[-1].folded


@pytest.mark.requirement("console:forms")
def test_texts_become_the_values_the_schema_asks_for() -> None:
    fields = {
        "/name": "Ada",
        "/age": "36",
        "/role": "7",
        "/active": "false",
        "/notify": "true",
        "/address/city": "London",
        "/address/zip": "1234",
        "/tags/0": "one",
        "/tags/1": "",
        "/tags/2": "two",
        "/days/0": "mon",
        "/days/2": "wed",
        "/phones/0/kind": "work",
        "/phones/0/number": "1",
        "/extra": '{"a": [1]}',
        "/born": "",
        "csrf": "token",
    }
    assert read_form(PERSON, fields) == {
        "name": "Ada",
        "age": 36,
        "role": 7,
        "active": False,
        "notify": True,
        "address": {"city": "London", "zip": 1234},
        "tags": ["one", "two"],
        "days": ["mon", "wed"],
        "phones": [{"kind": "work", "number": "1"}],
        "extra": {"a": [1]},
    }


@pytest.mark.requirement("console:forms")
@pytest.mark.parametrize(
    ("name", "text"),
    [("/age", "old"), ("/age", "1,5"), ("/role", "king"), ("/extra", "{not json"), ("/active", "perhaps")],
)
def test_what_does_not_fit_stays_as_typed_for_the_validator_to_judge(name: str, text: str) -> None:
    value = read_form(PERSON, {"/name": "Ada", name: text})
    assert value[name[1:]] == text
    assert compile_json_schema(PERSON).failures(value)
    assert named(form_fields(PERSON, value), name).value == text


@pytest.mark.requirement("console:forms")
def test_messages_are_at_their_fields_and_open_what_is_folded() -> None:
    error = InvalidInput(
        "Wrong.",
        details={
            "problems": [
                {"path": "/address/zip", "message": "is no zip"},
                {"path": "/tags/0", "message": "too short"},
                {"path": "/tags/0", "message": "rude"},
                {"path": "", "message": "all wrong"},
            ]
        },
    )
    problems = field_problems(error)
    assert problems == {"/address/zip": "Is no zip", "/tags/0": "Too short; rude", "": "All wrong"}
    fields = form_fields(PERSON, {"tags": ["x"]}, problems)
    assert named(fields, "/address/zip").error == "Is no zip"
    assert named(fields, "/tags/0").error == "Too short; rude"
    address = next(one for one in fields if isinstance(one, Group) and one.label == "address")
    assert not address.folded


@pytest.mark.requirement("console:forms")
def test_items_are_added_and_removed_without_losing_what_was_typed() -> None:
    visit = Visit(LOCAL, fields={"/name": "A", "/age": "old", "/tags/0": "one", "add": "/tags"}, posted="/here")
    form = schema_form(PERSON, visit, [], "/here")
    assert [one.value for one in named(form.fields, "/tags").items] == ["one", ""]
    assert named(form.fields, "/age").value == "old"
    assert form.focus == "/tags/"
    fields = {"/name": "A", "/tags/0": "one", "/tags/1": "two", "/tags/2": "three", "remove": "/tags/1"}
    form = schema_form(PERSON, Visit(LOCAL, fields=fields, posted="/here"), [], "/here")
    assert [one.value for one in named(form.fields, "/tags").items] == ["one", "three"]
    form = schema_form(PERSON, Visit(LOCAL, fields={"add": "/phones"}, posted="/here"), [], "/here")
    assert named(form.fields, "/phones/0/number").value == ""
    full = form_fields(PERSON, {"tags": ["a", "b", "c"]})
    assert not named(full, "/tags").can_add


@pytest.mark.requirement("console:forms")
def test_an_empty_item_is_open_and_its_lists_are_lists() -> None:
    inner = {"type": "object", "properties": {"colours": {"type": "array", "items": {"type": "string"}}}}
    item = {"type": "object", "properties": {"name": {"type": "string"}, "look": inner}}
    schema = {"type": "object", "properties": {"parts": {"type": "array", "minItems": 1, "items": item}}}
    (part,) = named(form_fields(schema), "/parts").items
    assert not part.folded
    assert isinstance(named([part], "/parts/0/look/colours"), Repeated)


@pytest.mark.parametrize("place", ["", "/", "/nowhere/0", "/tags/9", "/tags/x", "/name/0", "/tags/-1", "tags"])
def test_an_edit_of_a_place_that_is_not_there_changes_nothing_else(place: str) -> None:
    value = {"name": "Ada", "tags": ["a"]}
    assert edited({"name": "Ada", "tags": ["a"]}, "", place) == value
    changed = edited({"name": "Ada", "tags": ["a"]}, place, "")
    assert (changed["name"], changed["tags"]) == ("Ada", ["a"])


@pytest.mark.requirement("console:forms")
def test_what_nobody_touched_keeps_its_exact_value() -> None:
    before = {
        "name": "", "age": None, "born": None, "active": False, "tags": [], "unknown": {"kept": [1.0, "x"]},
        "address": {"zip": "0012", "more": 1}, "phones": [{"number": "1", "hidden": True}], "id": "7", "photo": "QUJD",
        "secret": "s3cret", "extra": {}, "about": "a\nb\r\nc",
    }  # fmt: skip
    fields = form_fields(PERSON, before)
    assert read_form(PERSON, sent(fields), before) == before
    changed = {**sent(fields), "/address/city": "Paris", "/active": ""}
    after = {name: value for name, value in before.items() if name != "active"}
    assert read_form(PERSON, changed, before) == {**after, "address": {"zip": "0012", "more": 1, "city": "Paris"}}


@pytest.mark.requirement("console:forms")
def test_a_schema_that_contains_itself_ends() -> None:
    tree = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "left": {"$ref": "#"}, "next": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    assert len(flat(form_fields(tree))) < 20
    deep: dict[str, Any] = {}
    for _ in range(30):
        deep = {"next": deep}
    assert read_form(tree, sent(form_fields(tree, deep)), deep) == deep


def test_fields_offer_what_was_suggested() -> None:
    fields = form_fields(PERSON, suggest=lambda at, _: Suggestions([("a", "A")], "/x") if at == "/name" else None)
    assert (named(fields, "/name").options, named(fields, "/name").suggest) == ([("a", "A")], "/x")
    assert named(fields, "/address/city").suggest == ""


scalars = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=8),
    st.integers(-(10**9), 10**9),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)
TYPES = {str: "string", int: "integer", bool: "boolean", float: "number"}


def described(value: Any) -> dict[str, Any]:
    """A schema that fits a value."""
    if isinstance(value, dict):
        return {"type": "object", "properties": {name: described(one) for name, one in value.items()}}
    if isinstance(value, list):
        return {"type": "array", "items": described(value[0]) if value else {"type": "string"}}
    return {"type": TYPES[type(value)]}


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        inner.map(lambda one: [one]), st.lists(st.text("ab/~ ", min_size=1)), st.dictionaries(names, inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(names, values, max_size=4))
@pytest.mark.requirement("console:forms")
def test_a_value_that_is_shown_and_sent_back_is_the_same(value: dict[str, Any]) -> None:
    schema = described(value)
    for problems in ({}, {"/a/0": "wrong"}):
        again = sent(form_fields(schema, value, problems))
        assert read_form(schema, again, value) == value


@pytest.mark.parametrize("value", [[[[[]]]], [[], ["x"]], [{"on": False}], [{"on": True}], [{"tags": []}], [{}]])
@pytest.mark.requirement("console:forms")
def test_items_of_which_browsers_send_nothing_are_kept(value: Any) -> None:
    flags = {"on": {"type": "boolean", "default": False}, "tags": {"type": "array", "items": {"type": "string"}}}
    schema = described({"a": value})
    if isinstance(value[0], dict):
        schema = {"properties": {"a": {"type": "array", "items": {"type": "object", "properties": flags}}}}
    again = sent(form_fields(schema, {"a": value}))
    assert read_form(schema, again, {"a": value}) == {"a": value}


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.text(max_size=5), st.integers()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(["type", "properties", "items", "enum", "anyOf", "allOf", "$ref", "required", "a"]),
                inner,
            ),
        ),
    ),
    st.dictionaries(st.sampled_from(["/a", "/a/0", "/a/x/1", "/", "//", "a", "/b~1"]), st.text(max_size=5)),
)
def test_no_schema_and_no_form_breaks_it(schema: Any, fields: dict[str, str]) -> None:
    whole = {"type": "object", "properties": {"a": schema, "b/": schema}}
    value = read_form(whole, fields)
    form_fields(whole, value)
    form_fields(whole, read_form(whole, fields, draft=True))
    form_fields(whole, MISSING)


@pytest.mark.requirement("console:forms")
def test_a_list_of_files_is_one_field_and_none_chosen_keeps_them() -> None:
    files = {
        "type": "object",
        "properties": {"files": {"type": "array", "items": {"type": "string", "contentEncoding": "base64"}}},
    }
    (field,) = form_fields(files, {"files": ["QQ=="]})
    assert isinstance(field, FileField)
    assert field.name == "/files/-"
    assert "keep the present one" in field.hint
    assert read_form(files, {}, {"files": ["QQ=="]}) == {"files": ["QQ=="]}
    assert read_form(files, {"/files/0": "Qg==", "/files/1": "Qw=="}, {"files": ["QQ=="]}) == {
        "files": ["Qg==", "Qw=="]
    }
    assert read_form(files, {}) == {}


@pytest.mark.requirement("console:forms")
def test_a_form_without_anything_required_shows_its_first_fields() -> None:
    many = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(20)}}
    *shown, more = form_fields(many)
    assert [one.name for one in shown if isinstance(one, TextField)] == [f"/p{number}" for number in range(6)]
    assert isinstance(more, Group)
    assert len(more.fields) == 14


@pytest.mark.requirement("console:forms")
def test_an_item_that_asks_for_suggestions_is_on_the_page_that_answers() -> None:
    before = {"tags": ["one"]}
    visit = Visit(LOCAL, query={"/tags/2": "th", "/name": "x", "/tags/nine": "x", "/tags/999": "x", "q": "3"})
    form = schema_form(PERSON, visit, [], "/here", before, suggest=lambda at, _node: Suggestions([(at, "")], "/here"))
    assert [one.name for one in named(form.fields, "/tags").items] == ["/tags/0", "/tags/1", "/tags/2"]
    assert before == {"tags": ["one"]}
