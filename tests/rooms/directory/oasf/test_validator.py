"""The validator finds every kind of error at its place, with the messages of the reference."""

from collections.abc import Callable
from typing import Any

import pytest

from pentad.kernel.problems import Finding
from pentad.rooms.directory.oasf.findings import MOST_FINDINGS
from pentad.rooms.directory.oasf.validator import validate
from tests.rooms.directory.oasf.samples import SAMPLES, sample

Change = Callable[[dict[str, Any]], Any]


def findings(version: str, change: Change) -> list[Finding]:
    record = sample(version)
    change(record)
    report = validate(record)
    return [*report.errors, *report.warnings]


def put(*path: Any) -> Change:
    """Write the last of the arguments at the place the others name."""
    *keys, last, value = path

    def change(record: Any) -> None:
        for key in keys:
            record = record[key]
        record[last] = value

    return change


def drop(*path: Any) -> Change:
    *keys, last = path

    def change(record: Any) -> None:
        for key in keys:
            record = record[key]
        del record[last]

    return change


@pytest.mark.parametrize("version", SAMPLES)
def test_a_complete_record_has_neither_errors_nor_warnings(version: str):
    report = validate(sample(version))
    assert (report.version, report.valid, report.lines()) == (version, True, [])


LONG = "x" * 2001
MCP = ("modules", 0, "data", "servers", 0)

WRONG: list[tuple[str, Change, str, str, str]] = [
    ("0.7.0", drop("skills"), "attribute_required_missing", "skills", 'Required attribute "skills" is missing.'),
    ("0.7.0", drop("locators"), "attribute_required_missing", "locators", 'Required attribute "locators" is missing.'),
    ("0.3.1", drop("signature"), "attribute_required_missing", "signature", '"signature" is missing.'),
    ("1.0.0", put("skills", []), "attribute_required_empty", "skills", 'Required attribute "skills" is empty.'),
    ("1.0.0", put("locators", 0, "urls", []), "attribute_required_empty", "locators[0].urls", "is empty"),
    ("1.0.0", put("description", 5), "attribute_wrong_type", "description", "expected long_string_t, got integer_t"),
    ("1.0.0", put("authors", {}), "attribute_wrong_type", "authors", "expected array, got object"),
    ("1.0.0", put("authors", 0, True), "attribute_wrong_type", "authors[0]", "expected string_t, got boolean_t"),
    ("1.0.0", put("annotations", "tier", 1), "attribute_wrong_type", "annotations.tier", "expected string_t"),
    ("1.0.0", put("locators", 0, "x"), "attribute_wrong_type", "locators[0]", "expected locator, got string_t"),
    ("1.0.0", put("skills", 0, 7), "attribute_wrong_type", "skills[0]", "got integer_t"),
    ("1.0.0", put("modules", 0, 7), "attribute_wrong_type", "modules[0]", "got integer_t"),
    ("1.0.0", put("signature", {}), "attribute_unknown", "signature", 'Unknown attribute "signature"'),
    ("1.0.0", put("locators", 0, "size", 1), "attribute_unknown", "locators[0].size", 'object "locator"'),
    ("1.0.0", put("skills", 0, "colour", 1), "attribute_unknown", "skills[0].colour", "a skill"),
    ("1.0.0", put("locators", 0, "type", "tarball"), "attribute_enum_value_unknown", "locators[0].type", "tarball"),
    ("0.7.0", put(*MCP, "capabilities", ["fly"]), "attribute_enum_array_value_unknown",
     "modules[0].data.servers[0].capabilities[0]", "fly"),
    ("1.0.0", put("name", LONG), "attribute_value_exceeds_max_len", "name", "length of 2001 exceeds max length of 20"),
    ("1.0.0", put("locators", 0, "urls", [LONG]), "attribute_value_exceeds_super_type_max_len", "locators[0].urls[0]",
     "type url_t"),
    ("0.7.0", put(*MCP, "resources", 0, "priority", 1.5), "attribute_value_exceeds_range",
     "modules[0].data.servers[0].resources[0].priority", "range of 0 to 1"),
    ("1.0.0", put("skills", 0, {"id": 99999}), "id_unknown", "skills[0].id", "no class is defined for 99999."),
    ("1.0.0", put("domains", 0, {"name": "no/where"}), "name_unknown", "domains[0].name",
     "no class is defined for no/where."),
    ("1.0.0", put("skills", 0, "id", 602), "id_name_mismatch", "skills[0].id", "must be the same class"),
    ("1.0.0", put("skills", 0, {"id": 1, "name": "natural_language_processing"}), "base_class_used", "skills[0].name",
     "only groups"),
    ("1.0.0", put("skills", 0, {"annotations": {}}), "constraint_failed", "skills[0]", "at least one of id, name"),
    ("1.1.0", put("modules", 0, "artifact", "json", {}), "constraint_failed", "modules[0].artifact",
     "exactly one of data, json"),
    ("0.7.0", put(*MCP, "resources", 0, "uri_template", "x"), "constraint_failed",
     "modules[0].data.servers[0].resources[0]", "exactly one of uri, uri_template"),
    ("1.0.0", put("authors", ["Ada", "Ada"]), "attribute_array_duplicate", "authors[1]", "authors[0] and authors[1]"),
    ("1.0.0", put("locators", 1, "type", "container_image"), "attribute_locators_duplicate_type", "locators[1].type",
     "used twice"),
    ("1.1.0", put("modules", 0, "name", "my/own"), "name_unknown", "modules[0].name", "is defined for my/own."),
    ("1.1.0", put("modules", 0, "id", 202), "id_name_mismatch", "modules[0].id", "integration/mcp"),
    ("1.1.0", drop("modules", 0, "data"), "attribute_required_missing", "modules[0].data", '"data" is missing'),
    ("0.8.0", put("modules", 0, {"name": "core", "data": {}}), "base_class_used", "modules[0].name", "only groups"),
    ("0.3.1", put("skills", 0, "class_uid", 5), "base_class_used", "skills[0].class_uid", "only groups"),
    ("0.3.1", put("skills", 1, "class_uid", 4711), "id_unknown", "skills[1].class_uid", "4711"),
    ("0.3.1", put("skills", 1, "category_uid", 5), "id_name_mismatch", "skills[1].category_uid", "category 6, not 5"),
    ("0.3.1", drop("skills", 1, "category_uid"), "attribute_required_missing", "skills[1].category_uid", "missing"),
    ("0.3.1", put("extensions", 0, "data", "export_format", "yaml"), "attribute_enum_value_unknown",
     "extensions[0].data.export_format", "yaml"),
    ("0.3.1", drop("extensions", 1, "name"), "attribute_required_missing", "extensions[1].name", "missing"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "change", "code", "path", "words"), WRONG)
def test_what_is_wrong_is_an_error_with_code_path_and_words(
    version: str, change: Change, code: str, path: str, words: str
):
    record = sample(version)
    change(record)
    found = [finding for finding in validate(record).errors if finding.path == path]
    assert [finding.code for finding in found] == [code], validate(record).lines()
    assert words in found[0].message
    assert found[0].line().startswith(f"{found[0].message} Attribute path: {path}.")


WARNED: list[tuple[str, Change, str, str]] = [
    ("1.0.0", drop("modules"), "attribute_recommended_missing", "modules"),
    ("0.7.0", drop("signature"), "attribute_recommended_missing", "signature"),
    ("1.0.0", drop("skills", 0, "id"), "attribute_recommended_missing", "skills[0].id"),
    ("1.0.0", put("created_at", "yesterday"), "attribute_value_regex_not_matched", "created_at"),
    ("1.0.0", put("created_at", "2026-03-02T09:30:00Z\n"), "attribute_value_regex_not_matched", "created_at"),
    ("0.7.0", put("previous_record_cid", "nope"), "attribute_value_regex_not_matched", "previous_record_cid"),
    ("0.3.1", put("skills", 0, "class_name", "Poetry"), "attribute_enum_sibling_incorrect", "skills[0].class_name"),
]


@pytest.mark.parametrize(("version", "change", "code", "path"), WARNED)
def test_what_is_only_doubtful_is_a_warning_and_the_record_stays_valid(
    version: str, change: Change, code: str, path: str
):
    record = sample(version)
    change(record)
    report = validate(record)
    assert report.valid
    assert [(finding.code, finding.path) for finding in report.warnings] == [(code, path)]
    assert all(line.startswith("WARNING: ") for line in report.lines())


def test_a_deprecated_module_is_a_warning():
    manifest = {"acp": {"capabilities": {}, "config": {}, "input": {}, "output": {}}, "deployment": {
        "deployment_options": [{"type": "docker", "image": "reader:1"}]}}  # fmt: skip
    module = {"name": "integration/acp", "id": 201, "data": manifest}
    assert [f.code for f in findings("1.0.0", put("modules", [module]))] == ["class_deprecated"]
    manifest["deployment"]["deployment_options"][0]["type"] = "balloon"
    assert "enum_object_not_matched" in [f.code for f in findings("1.0.0", put("modules", [module]))]


@pytest.mark.parametrize("version", ["0.7.0", "0.8.0"])
def test_before_1_0_a_module_of_any_other_name_may_hold_anything(version: str):
    assert findings(version, put("modules", [{"name": "my/own", "whatever": [1, {}]}])) == []


@pytest.mark.parametrize("name", ["observability", "observability/observability_observability"])
def test_both_names_of_the_renamed_modules_of_0_7_are_known(name: str):
    data = sample("0.3.1")["extensions"][0]["data"]
    assert findings("0.7.0", put("modules", [{"name": name, "id": 101, "data": data}])) == []
    wrong = findings("0.7.0", put("modules", [{"name": name, "id": 101, "data": data | {"export_format": "yaml"}}]))
    assert [finding.code for finding in wrong] == ["attribute_enum_value_unknown"]


@pytest.mark.parametrize("version", ["0.7.0", "0.8.0", "1.0.0", "1.1.0"])
def test_empty_lists_that_nobody_requires_are_valid(version: str):
    assert findings(version, lambda record: record.update(modules=[], domains=[])) == []


def test_a_number_without_fraction_is_an_integer_however_it_is_written():
    assert findings("1.1.0", put("skills", 0, "id", 10302.0)) == []
    assert [f.code for f in findings("1.1.0", put("skills", 0, "id", 10302.5))] == ["attribute_wrong_type"]


def test_one_and_true_are_different_items():
    module: dict[str, Any] = {"name": "integration/agentspec", "id": 204, "data": {
        "config": {"type": "url", "urls": ["https://example.org"]},
        "deployment_options": [{"runtime_framework": "langgraph", "protocol": {
            "type": "A2A", "url": "https://example.org", "protocol_version": "1"}}],
        "runtime_deps": [1, True, {"a": 1}, {"a": True}]}}  # fmt: skip
    assert findings("1.0.0", put("modules", [module])) == []
    module["data"]["runtime_deps"] = [1, 1.0, {"a": 1}, {"a": 1.0}]
    codes = [f.code for f in findings("1.0.0", put("modules", [module]))]
    assert codes == ["attribute_array_duplicate", "attribute_array_duplicate"]


def test_a_constraint_is_shown_as_json_behind_its_line():
    (found,) = findings("1.0.0", put("skills", 0, {"annotations": {}}))
    assert found.line().endswith('Attribute path: skills[0]. Constraint: {"at_least_one":["id","name"]}')


def test_errors_come_before_warnings_each_with_its_prefix():
    record = sample("1.0.0")
    del record["modules"], record["name"]
    assert validate(record).lines() == [
        'ERROR: Required attribute "name" is missing. Attribute path: name.',
        'WARNING: Recommended attribute "modules" is missing. Attribute path: modules.',
    ]


def test_a_record_without_version_is_read_by_the_newest_tables():
    record = sample("1.1.0")
    del record["schema_version"]
    assert [f.path for f in validate(record).errors] == ["schema_version"]


def test_a_hostile_number_of_errors_is_counted_but_not_listed():
    report = validate(sample("1.0.0") | {"skills": [{"name": f"skill {number}"} for number in range(5000)]})
    assert len(report.errors) == MOST_FINDINGS
    assert report.more_errors == 5000 - MOST_FINDINGS
    assert report.lines()[MOST_FINDINGS].startswith(f"ERROR: Validation Error: {report.more_errors} further errors")


def test_pointers_escape_what_json_pointer_escapes():
    (found,) = findings("1.0.0", put("annotations", "a/b~c", 1))
    assert (found.path, found.pointer) == ("annotations.a/b~c", "/annotations/a~1b~0c")


@pytest.mark.parametrize(
    "hostile",
    [
        {"x" * 1_000_000: 1},
        {"annotations": {"x" * 1_000_000: 1}},
        {"skills": [{"name": "a_" * 500_000}]},
        {"locators": [{"type": "x" * 1_000_000, "urls": ["u"]}]},
        {"modules": [{"name": "x/" * 500_000, "data": {}}]},
        {"schema_version": "9" * 1_000_000},
    ],
)
def test_what_is_said_about_something_huge_is_short(hostile: dict[str, Any]):
    report = validate(sample("1.1.0") | hostile)
    assert report.errors
    assert all(len(line) < 1500 for line in report.lines())
    assert all(len(repr(finding)) < 3000 for finding in report.errors)


@pytest.mark.parametrize(
    "hostile",
    [
        {"authors": ["a"] * 100_000},
        {"locators": [{"type": "binary", "urls": [f"u{number}"]} for number in range(20_000)]},
        {f"key {number}": 1 for number in range(50_000)},
    ],
)
def test_errors_without_number_are_counted_and_not_put_into_words(hostile: dict[str, Any]):
    report = validate(sample("1.1.0") | hostile)
    assert len(report.errors) == MOST_FINDINGS
    assert report.more_errors > 10_000


@pytest.mark.requirement("dir:validate:impossible")
@pytest.mark.parametrize("version", SAMPLES)
@pytest.mark.parametrize("wrong", ["2025-13-45T10:00:00Z", "2025-02-30T10:00:00Z", "2025-01-01T25:00:00Z"])
def test_a_date_that_does_not_exist_is_an_error(version: str, wrong: str):
    (found,) = validate(sample(version) | {"created_at": wrong}).errors
    assert (found.code, found.pointer) == ("attribute_value_not_a_time", "/created_at")


@pytest.mark.requirement("dir:validate:impossible")
@pytest.mark.parametrize("version", SAMPLES)
@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_an_error(version: str, name: str):
    (found,) = validate(sample(version) | {"name": name}).errors
    assert (found.code, found.pointer) == ("attribute_required_empty", "/name")


@pytest.mark.parametrize(
    "fine", ["2024-02-29T23:59:60Z", "2026-03-02t09:30:00.123456789z", "2026-03-02T09:30:00+05:30"]
)
def test_dates_that_exist_are_fine(fine: str):
    assert not validate(sample("1.0.0") | {"created_at": fine}).lines()
