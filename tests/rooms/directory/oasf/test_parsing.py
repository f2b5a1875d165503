"""Texts that are not records are refused with the reason."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.rooms.directory.oasf.parsing import MOST_BYTES, check_record, parse_record
from tests.rooms.directory.oasf.samples import SAMPLES, sample

HEAD = '{"schema_version": "1.0.0", '


@pytest.mark.parametrize("version", SAMPLES)
def test_a_record_is_read_from_text_and_from_bytes(version: str):
    text = json.dumps(sample(version), ensure_ascii=False)
    assert parse_record(text) == parse_record(text.encode()) == sample(version)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("not valid json", "not valid JSON"),
        ("{}", "schema_version field is missing"),
        ('{"invalid":"structure"}', "schema_version field is missing"),
        ('{"schema_version": ""}', "schema_version field is missing"),
        ('{"schema_version": null}', "schema_version field is missing"),
        ('{"schema_version": 1}', "not a string"),
        ('{"schema_version": "v1.0.0"}', "must not begin with 'v'"),
        ('{"schema_version": "1.0"}', "three parts"),
        ('{"schema_version": "1.0.0.0"}', "three parts"),
        ('{"schema_version": "0.5.0"}', "unsupported OASF version"),
        ('{"schema_version": "2.0.0"}', "unsupported OASF version"),
        ('{"schema_version": "a.b.c"}', "unsupported OASF version"),
        ("[]", "not a JSON object"),
        ('"text"', "not a JSON object"),
        (HEAD + '"skills": {}}', "the field skills is not an array"),
        (HEAD + '"name": 5}', "the field name is not a string"),
        (HEAD + '"annotations": []}', "the field annotations is not an object"),
        (HEAD + '"name": "a", "name": "b"}', "the key 'name' is there twice"),
        (HEAD + '"x": {"y": [{"k": 1, "k": 1}]}}', "the key 'k' is there twice"),
        (HEAD + '"x": NaN}', "NaN is not JSON"),
        (HEAD + '"x": -Infinity}', "-Infinity is not JSON"),
        (HEAD + '"x": 1e999}', "too large"),
        (HEAD + f'"x": 1{"0" * 400}}}', "too large"),
        (HEAD + '"x": "\\ud800"}', "surrogate"),
        (HEAD + '"x": "\ud800"}', "not UTF-8"),
        (b"\xff\xfe{}", "not UTF-8"),
    ],
)
def test_what_is_no_record_is_refused_with_the_reason(text: str | bytes, message: str):
    with pytest.raises(InvalidInput) as refused:
        parse_record(text)
    assert message in refused.value.message


@pytest.mark.parametrize("version", ["0.3.1", "0.7.5", "0.8.2", "1.0.4", "1.2.0-dev"])
def test_every_version_of_a_known_line_is_read(version: str):
    assert parse_record(json.dumps({"schema_version": version}))["schema_version"] == version


def test_fields_nobody_knows_and_nulls_do_not_stop_the_reading():
    assert parse_record(HEAD + '"odd": 1, "skills": null}')["odd"] == 1


def test_a_record_of_more_than_4_mib_is_refused_naming_both_sizes():
    text = HEAD + '"description": "' + "x" * MOST_BYTES + '"}'
    with pytest.raises(LimitExceeded) as refused:
        parse_record(text)
    assert str(len(text)) in refused.value.message
    assert str(MOST_BYTES) in refused.value.message


def test_deep_nesting_is_refused_and_not_walked_into():
    with pytest.raises(LimitExceeded, match="nested deeper"):
        parse_record(HEAD + '"x": ' + "[" * 100_000 + "]" * 100_000 + "}")


def test_a_surrogate_pair_is_one_character():
    assert parse_record(HEAD + '"name": "\\ud83d\\ude00"}')["name"] == "\U0001f600"


def test_a_parsed_record_is_checked_the_same_way():
    assert check_record({"schema_version": "1.0.0"}) == {"schema_version": "1.0.0"}
    with pytest.raises(InvalidInput, match="the field authors is not an array"):
        check_record({"schema_version": "1.0.0", "authors": "Ada"})


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=60), st.text(max_size=60)))
def test_no_text_at_all_makes_the_reader_fail_in_another_way(text: Any):
    with suppress(InvalidInput):
        assert isinstance(parse_record(text), dict)
