"""Migrations between OASF versions: the result is valid or says why not, and no loss goes unreported."""

import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.oasf.schema_source import UnknownVersion
from pentad.rooms.directory.oasf.taxonomy import taxonomy
from pentad.rooms.directory.oasf.validator import validate
from pentad.rooms.directory.oasf.versions import EMBEDDED
from pentad.rooms.directory.translate.migration import migrate
from tests.rooms.directory.oasf.generated import valid_records
from tests.rooms.directory.oasf.samples import sample

PAIRS = list(product(EMBEDDED, EMBEDDED))
UNSUPPLIED = re.compile(
    r'Required attribute "[a-z_]+" is (?:missing|empty)\. Attribute path: (?:signature.*|skills|locators'
    r"|(?:modules|extensions)\[\d+\]\.data\.(?:overall_.*|referred_evaluations.*"
    r"|deployment_options\[\d+\]\.protocol|runtime_framework))\."
)
"""What a version asks for and no migration can supply."""


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_samples_migrate_to_valid_records_unless_a_signature_is_asked_for(before: str, after: str):
    source = sample(before)
    migrated = migrate(source, after, allow_unmapped=True)
    assert source == sample(before)
    assert migrated.record["schema_version"] == after
    assert all("signature" in problem for problem in migrated.problems)
    assert migrated.valid or after == "0.3.1"
    assert migrated.valid == validate(migrated.record).valid


@pytest.mark.parametrize(("before", "after"), [pair for pair in PAIRS if "0.3.1" not in pair])
def test_there_and_back_again_a_sample_loses_only_what_was_told(before: str, after: str):
    source = sample(before)
    there = migrate(source, after)
    back = migrate(there.record, before)
    told = {loss.path.split(".")[0].split("[")[0] for loss in (*there.losses, *back.losses)}
    without_duplicates = {key for key in source.keys() | back.record.keys() if source.get(key) != back.record.get(key)}
    assert without_duplicates <= told


@settings(max_examples=150, deadline=None)
@given(record=valid_records(), after=st.sampled_from(EMBEDDED))
def test_every_valid_record_migrates_to_a_valid_one_or_it_is_said_why_not(record: dict[str, Any], after: str):
    migrated = migrate(record, after, allow_unmapped=True)
    assert migrated.valid == validate(migrated.record).valid
    for problem in migrated.problems:
        assert UNSUPPLIED.fullmatch(problem), problem
    if record["schema_version"] != after:
        before = {key for key in record if key not in ("schema_version", "extensions", "modules")}
        gone = before - migrated.record.keys()
        told = {loss.path.split("[")[0].split(".")[0] for loss in migrated.losses}
        noted = (
            {"previous_record_cid"} if "oasf.previous_record_cid" in migrated.record.get("annotations", {}) else set()
        )
        assert gone <= told | noted


@settings(max_examples=60, deadline=None)
@given(record=valid_records(), after=st.sampled_from(EMBEDDED))
def test_a_migration_is_the_same_every_time_and_done_twice_changes_nothing(record: dict[str, Any], after: str):
    once = migrate(record, after)
    assert once == migrate(record, after)
    again = migrate(once.record, after)
    assert again.record == once.record
    assert again.losses == []


@pytest.mark.parametrize("family", ["skill", "domain"])
def test_every_class_is_mapped_or_told_as_dropped(family: Any):
    for before, after in PAIRS:
        if "0.3.1" in (before, after) or before == after:
            continue
        entries = [entry for entry in taxonomy(before, family).all if not entry.grouping]
        record = sample(before) | {f"{family}s": [{"name": entry.name, "id": entry.id} for entry in entries]}
        migrated = migrate(record, after)
        mappings = [mapping for mapping in migrated.mappings if mapping.family == family]
        assert [mapping.before for mapping in mappings] == [entry.name for entry in entries]
        kept = {item["name"] for item in migrated.record[f"{family}s"]}
        assert kept == {mapping.after for mapping in mappings if mapping.after}
        known = [taxonomy(after, family).by_name(name) for name in kept]
        assert not any(entry is None or entry.grouping for entry in known)
        assert {mapping.how for mapping in mappings if mapping.after is None} <= {"dropped"}


def test_a_class_without_a_match_is_told_with_its_nearest_parent_and_not_replaced_by_it():
    names = [entry for entry in taxonomy("1.0.0", "domain").all if entry.name.count("/") == 2]
    record = sample("1.0.0") | {"domains": [{"name": entry.name, "id": entry.id} for entry in names]}
    migrated = migrate(record, "1.1.0")
    assert migrated.unmapped
    reasons = {loss.path: loss.reason for loss in migrated.losses}
    for mapping in migrated.unmapped:
        (index,) = [place for place, entry in enumerate(names) if entry.name == mapping.before]
        wider = reasons[f"domains[{index}]"].rpartition("only the wider ")[2]
        assert mapping.before.startswith(f"{wider}/")
        assert wider not in {item["name"] for item in migrated.record["domains"]}


def test_locators_keep_their_addresses_sizes_and_digests_through_a_newer_version():
    source = sample("0.7.0")
    source["locators"].append({"type": "python_package", "url": "https://pypi.org/project/reader"})
    up = migrate(source, "1.1.0").record
    assert [locator["type"] for locator in up["locators"]] == ["container_image", "source_code", "package"]
    assert migrate(up, "0.7.0").record["locators"] == source["locators"]


def test_several_locators_of_one_type_become_one_with_all_addresses():
    source = sample("0.3.1")
    source["locators"] = [{"type": "binary", "url": f"https://example.org/{part}"} for part in "ab"]
    up = migrate(source, "1.0.0")
    assert up.record["locators"] == [{"type": "binary", "urls": ["https://example.org/a", "https://example.org/b"]}]
    assert migrate(up.record, "0.3.1").record["locators"] == source["locators"]
    down = migrate(up.record, "0.8.0")
    assert down.record["locators"] == [{"type": "binary", "url": "https://example.org/a"}]
    assert "https://example.org/b" in " ".join(loss.line() for loss in down.losses)


def test_every_server_of_a_list_becomes_a_module_of_its_own():
    source = sample("0.8.0")
    server = {"name": "a", "type": "http", "url": "https://a.example.org", "capabilities": ["notify"]}
    source["modules"] = [{"name": "integration/mcp", "id": 202, "data": {"servers": [server, server | {"name": "b"}]}}]
    up = migrate(source, "1.0.0")
    assert [module["data"]["name"] for module in up.record["modules"]] == ["a", "b"]
    assert up.record["modules"][0]["data"]["connections"] == [
        {"type": "streamable-http", "url": "https://a.example.org"}
    ]
    assert up.valid


def test_the_previous_record_is_remembered_where_a_version_has_no_place_for_it():
    source = sample("0.8.0") | {"previous_record_cid": "baearei" + "a" * 52}
    up = migrate(source, "1.1.0").record
    assert up["annotations"]["oasf.previous_record_cid"] == source["previous_record_cid"]
    assert migrate(up, "0.8.0").record["previous_record_cid"] == source["previous_record_cid"]


def test_an_empty_address_stays_an_address():
    connection = {"type": "stdio", "url": ""}
    module = {"name": "integration/mcp", "data": {"name": "files", "connections": [connection]}}

    migrated = migrate(sample("1.0.0") | {"modules": [module]}, "0.7.0")

    (moved,) = migrated.record["modules"]
    assert moved["data"]["servers"][0]["url"] == ""
    assert not [line for line in migrated.problems if "url" in str(line)]


def test_null_is_a_value_like_any_other():
    acp = {"capabilities": {}, "config": None, "input": None, "output": None}
    options = [{"type": "docker", "image": "x"}]
    data = {"acp": acp, "deployment": {"deployment_options": options}}
    source = sample("0.7.0") | {"modules": [{"name": "runtime/manifest", "id": 301, "data": data}]}
    migrated = migrate(source, "1.0.0")
    assert migrated.record["modules"][0] == {"name": "integration/acp", "id": 201, "data": data}


def test_a_patch_version_is_read_by_its_line():
    assert migrate(sample("0.7.0") | {"schema_version": "0.7.5"}, "0.7.0").record["schema_version"] == "0.7.0"


def test_unknown_versions_are_refused():
    with pytest.raises(UnknownVersion):
        migrate(sample("1.0.0"), "2.0.0")
    with pytest.raises(InvalidInput):
        migrate({"schema_version": "9.9.9"}, "1.0.0")
