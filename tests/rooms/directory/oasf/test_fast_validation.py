"""The fast path accepts only valid records and modules, and accepts the common ones."""

from copy import deepcopy
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pentad.rooms.directory.oasf.fast_validation import fast_test
from pentad.rooms.directory.oasf.json_schema import json_schema
from pentad.rooms.directory.oasf.objects import Shape, objects
from pentad.rooms.directory.oasf.validator import validate
from tests.rooms.directory.oasf.generated import anything, shaped
from tests.rooms.directory.oasf.samples import sample

VERSIONS = ("0.7.0", "0.8.0", "1.0.0", "1.1.0")
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def data_objects(version: str) -> list[str]:
    """The objects that modules of a version have for their data."""
    facts = objects(version)
    types = {shape.attributes["data"].type for shape in facts.shapes.values() if shape.family == "module"}
    return sorted(types - facts.types.keys())


@cache
def by_schema(version: str, name: str) -> Any:
    schema = {"$ref": f"#/$defs/objects/{name}", "$defs": json_schema(version)["$defs"]}
    return jsonschema_rs.validator_for(schema)


@cache
def quick(version: str, name: str) -> Any:
    return fast_test(objects(version), objects(version).object(name))


def without_recommended(shape: Shape, value: dict[str, Any]) -> bool:
    return not value.keys() >= set(shape.recommended())


def keys_of(place: list[Any] | dict[str, Any]) -> list[Any]:
    return list(range(len(place))) if isinstance(place, list) else list(place)


@st.composite
def values(draw: Any) -> tuple[str, str, Any]:
    """An object made from the tables, perhaps with one value changed, removed or doubled."""
    version = draw(st.sampled_from(VERSIONS))
    name = draw(st.sampled_from(data_objects(version)))
    value = deepcopy(draw(shaped(objects(version), objects(version).object(name))))
    places: list[Any] = [value]
    for place in places:
        places += [place[key] for key in keys_of(place) if isinstance(place[key], dict | list)]
    place: Any = draw(st.sampled_from(places))
    change = draw(st.sampled_from(["leave", "change", "remove", "add"]))
    if change == "add" and isinstance(place, dict):
        place["other"] = draw(anything)
    elif place and change == "add":
        place.append(deepcopy(place[0]))
    elif place and change == "change":
        place[draw(st.sampled_from(keys_of(place)))] = draw(anything)
    elif place and change == "remove":
        del place[draw(st.sampled_from(keys_of(place)))]
    return version, name, value


@settings(max_examples=300, deadline=None, suppress_health_check=SLOW)
@given(values())
def test_what_it_takes_is_right_by_the_schema_and_lacks_nothing_recommended(case: tuple[str, str, Any]):
    version, name, value = case
    if quick(version, name)(value):
        assert by_schema(version, name).is_valid(value)
        assert not without_recommended(objects(version).object(name), value)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_takes_the_modules_of_a_usual_record(version: str):
    facts = objects(version)
    for module in sample(version)["modules"]:
        shape = facts.shapes["module", module["name"].rsplit("/", 1)[-1]]
        assert fast_test(facts, shape)(module)


def _server(**changes: Any) -> dict[str, Any]:
    (server,) = sample("0.7.0")["modules"][0]["data"]["servers"]
    return {"servers": [{**server, **changes}]}


@pytest.mark.parametrize(
    "value",
    [
        [],
        None,
        {"servers": []},
        _server(args=["--stdio", "--stdio"]),
        _server(tools=[{"name": "a"}, {"name": "b"}, {"name": "a"}]),
        _server(type="remote"),
        _server(name="n" * 2001),
        _server(resources=[{"name": "p", "audience": ["user"], "uri": "p://a", "mime_type": "no type"}]),
        _server(colour="green"),
        _server(command=None),
        _server(resources=[{"name": "papers", "audience": ["user"]}]),
        _server(resources=[{"name": "p", "audience": ["user"], "uri": "p://a", "uri_template": "p://{a}"}]),
        _server(resources=[{"name": "p", "audience": ["user"], "uri": "p://a", "priority": float("nan")}]),
        _server(resources=[{"name": "p", "audience": ["user"], "uri": "p://a", "priority": 2}]),
    ],
)  # fmt: skip
def test_it_takes_nothing_the_rules_would_remark_upon(value: Any):
    assert not quick("0.7.0", "mcp_data")(value)
    record = sample("0.7.0")
    record["modules"][0]["data"] = value
    assert validate(record).lines()


def test_a_missing_recommendation_is_still_told():
    record = sample("0.7.0")
    del record["modules"][0]["data"]["servers"][0]["tools"]
    assert [finding.path for finding in validate(record).warnings] == ["modules[0].data.servers[0].tools"]


@pytest.mark.parametrize("version", ["0.3.1", *VERSIONS])
def test_it_takes_a_usual_record_whatever_the_attributes_left_to_the_rules_are(version: str):
    root = objects(version).root
    left = [name for name, attribute in root.attributes.items() if attribute.is_class()]
    test = fast_test(objects(version), root, left)
    record = sample(version)
    assert test(record)
    assert test({**record, "skills": "none"})
    assert test({name: value for name, value in record.items() if name != "skills"})
    assert not test({name: value for name, value in record.items() if name != "authors"})
    assert not test({**record, "authors": ["A", "A"]})
    assert not test({**record, "colour": "green"})


def descriptor(**changes: Any) -> dict[str, Any]:
    return {"media_type": "text/plain", "size": 1, "digest": "sha256:00", **changes}


@pytest.mark.parametrize(
    ("value", "right"),
    [
        (descriptor(urls=["https://example.org/a"]), False),
        (descriptor(urls=["https://example.org/a"], data="YQ=="), True),
        (descriptor(data="YQ=="), True),
        (descriptor(json=None), True),
        (descriptor(data="YQ==", json={}), False),
        (descriptor(), False),
    ],
)
def test_attributes_that_go_together_are_counted_whether_texts_or_lists(value: dict[str, Any], right: bool):
    assert quick("1.1.0", "descriptor")(value) is right
    assert by_schema("1.1.0", "descriptor").is_valid(value) is right


def test_findings_come_in_the_order_of_the_record_with_and_without_the_quick_yes():
    record = sample("0.7.0")
    record["signature"] = {"signature": "c2ln", "signed_at": "yesterday"}
    record["skills"] = [{"name": "retrieval_augmented_generation/document_or_database_question_answering"}]
    del record["domains"]
    usual = [finding.path for finding in validate(record).warnings]
    assert usual == ["skills[0].id", "signature.signed_at", "domains"]
    record["name"] = 5
    assert [finding.path for finding in validate(record).warnings] == usual
