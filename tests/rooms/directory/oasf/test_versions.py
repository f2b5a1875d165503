"""A record is validated by the tables of its version line, and the report says if these are not its own."""

import pytest

from pentad.rooms.directory.oasf.validator import validate
from pentad.rooms.directory.oasf.versions import embedded_version
from tests.rooms.directory.oasf.samples import sample


@pytest.mark.parametrize(
    ("version", "table", "standing"),
    [
        ("0.7.0", "0.7.0", "same"),
        ("0.7.5", "0.7.0", "version_later"),
        ("1.0.3", "1.0.0", "version_later"),
        ("0.3.0", "0.3.1", "version_earlier"),
        ("1.2.0", "1.1.0", "version_incompatible_later"),
        ("1.2.0-dev", "1.1.0", "version_incompatible_prerelease"),
        ("0.8.0-rc1", "0.8.0", "version_incompatible_prerelease"),
    ],
)
def test_a_version_is_served_by_the_tables_of_its_line(version: str, table: str, standing: str):
    served = embedded_version(version)
    assert served is not None
    assert (served.version, served.standing) == (table, standing)


@pytest.mark.parametrize("version", ["0.5.0", "0.6.2", "2.0.0", "0.9.0", "1.0", "1", "", "one", "01.0.0", "1.0.0\n"])
def test_a_version_of_no_known_line_is_served_by_none(version: str):
    assert embedded_version(version) is None


@pytest.mark.parametrize(
    ("version", "code", "valid"),
    [
        ("0.7.5", "version_later", True),
        ("1.2.0-dev", "version_incompatible_prerelease", False),
        ("1.7.0", "version_incompatible_later", False),
        ("0.6.0", "version_incompatible_initial_development", False),
        ("3.0.0", "version_incompatible_later", False),
        ("latest", "version_invalid_format", False),
    ],
)
def test_the_report_says_how_the_version_stands(version: str, code: str, valid: bool):
    base = "0.7.0" if version.startswith("0.7") else "1.1.0"
    report = validate(sample(base) | {"schema_version": version})
    assert [finding.code for finding in (*report.errors, *report.warnings)] == [code]
    assert (report.valid, report.version) == (valid, version)
