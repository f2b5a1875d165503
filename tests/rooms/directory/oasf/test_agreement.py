"""The validator and the generated JSON Schema agree, with the exceptions in `oasf/json_schema.py`."""

from functools import cache
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings

from pentad.rooms.directory.oasf.findings import Report
from pentad.rooms.directory.oasf.json_schema import json_schema
from pentad.rooms.directory.oasf.validator import validate
from pentad.rooms.directory.oasf.versions import EMBEDDED
from tests.rooms.directory.oasf.generated import changed_records, valid_records
from tests.rooms.directory.oasf.samples import sample

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@cache
def compiled(version: str) -> Any:
    return jsonschema_rs.validator_for(json_schema(version))


def verdict_as_a_schema_gives_it(report: Report) -> bool:
    errors = [finding for finding in report.errors if finding.code != "attribute_locators_duplicate_type"]
    patterns = [f for f in report.warnings if f.code == "attribute_value_regex_not_matched"]
    return not errors and not patterns


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(valid_records())
def test_a_record_made_from_the_tables_is_valid_for_both(record: dict[str, Any]):
    assert validate(record).lines() == [line for line in validate(record).lines() if line.startswith("WARNING")]
    assert [error.message for error in compiled(record["schema_version"]).iter_errors(record)] == []


@settings(max_examples=120, deadline=None, suppress_health_check=SLOW)
@given(changed_records())
def test_a_changed_record_gets_the_same_verdict_from_both(record: dict[str, Any]):
    version = record["schema_version"]
    if version not in EMBEDDED:
        return
    report = validate(record)
    assert compiled(version).is_valid(record) == verdict_as_a_schema_gives_it(report), report.lines()


@pytest.mark.parametrize("version", EMBEDDED)
def test_the_schema_is_a_draft_07_schema_that_takes_the_sample(version: str):
    schema = json_schema(version)
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert schema["$id"].endswith(f"/schema/{version}/objects/{'agent' if version == '0.3.1' else 'record'}")
    assert schema["additionalProperties"] is False
    assert schema["required"] == sorted(schema["required"])
    assert all(schema["$defs"].values())
    jsonschema.Draft7Validator(schema).validate(sample(version))


def test_every_class_but_the_grouping_ones_has_a_definition():
    definitions = json_schema("1.1.0")["$defs"]
    assert {name: len(group) for name, group in definitions.items() if name != "objects"} == {
        "skills": 495,
        "domains": 177,
        "modules": 9,
    }
    assert definitions["skills"]["summarization"]["properties"]["id"] == {"const": 10302}


def test_a_resource_with_one_of_its_two_addresses_can_be_valid():
    resource = json_schema("1.0.0")["$defs"]["objects"]["mcp_server_resource"]
    assert resource["required"] == ["audience", "name"]
    validator = jsonschema.Draft7Validator({**resource, "$defs": json_schema("1.0.0")["$defs"]})
    told = {"name": "papers", "audience": ["user"], "uri": "papers://all"}
    assert validator.is_valid(told)
    assert not validator.is_valid(told | {"uri_template": "papers://{id}"})
