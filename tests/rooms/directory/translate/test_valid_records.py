"""A valid record is imported unchanged unless the caller asks for another version."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.cid import canonical_json, cid_of
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.oasf.schema_source import EmbeddedSchemas
from pentad.rooms.directory.oasf.versions import EMBEDDED
from pentad.rooms.directory.translate.envelope import NO_OVERRIDES
from pentad.rooms.directory.translate.import_pipeline import Importer, ImportOptions
from pentad.rooms.directory.translate.migration import migrate
from pentad.rooms.directory.translate.sources import read_source
from tests.rooms.directory.oasf.generated import valid_records
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.translate.conftest import Here

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("dir:import:valid-record")
@pytest.mark.parametrize("version", EMBEDDED)
async def test_a_valid_record_keeps_its_bytes_and_its_cid(importer: Importer, here: Here, version: str):
    record = sample(version)
    imported = await importer.import_one(LOCAL, json.dumps(record, indent=4))
    assert (imported.status, imported.cid) == ("imported", cid_of(canonical_json(record)))
    assert (imported.losses, imported.suggested, imported.repairs) == ([], [], [])
    stored = await here.pull(imported.cid)
    assert canonical_json(stored.data) == canonical_json(record)
    assert (await here.push(LOCAL, record)).new is False, "a push gives the same CID"


@pytest.mark.requirement("dir:import:valid-record")
@given(record=valid_records(), form=st.sampled_from([None, "oasf"]))
async def test_no_valid_record_is_changed(record: dict[str, Any], form: str | None):
    importer = Importer(EmbeddedSchemas(), target=None)  # type: ignore[arg-type]  nothing is stored
    read = read_source(json.dumps(record), form, NO_OVERRIDES)
    made = await importer.prepared(read, None, ImportOptions())
    assert (made.cid, made.losses, made.repairs) == (cid_of(canonical_json(record)), [], [])


@pytest.mark.requirement("dir:import:valid-record")
async def test_a_valid_record_with_a_member_named_like_a_secret_is_refused_unless_it_is_kept(importer: Importer):
    record = sample("1.0.0") | {"annotations": {"Otp": "0"}}
    refused = await importer.import_one(LOCAL, record)
    assert (refused.status, [one.path for one in refused.suspicious]) == ("suspicious", ["annotations.Otp"])
    kept = await importer.import_one(LOCAL, record, options=ImportOptions(doubt="keep"))
    assert (kept.status, kept.cid) == ("imported", cid_of(canonical_json(record)))


@pytest.mark.requirement("dir:import:valid-record")
async def test_what_the_caller_says_of_other_sources_changes_no_valid_record(importer: Importer):
    record = sample("0.8.0")
    options = ImportOptions(
        record_version="v9.0.0", authors=("Ada",), skills=("602",), domains=("technology/data_science",)
    )
    imported = await importer.import_one(LOCAL, record, options=options)
    assert imported.cid == cid_of(canonical_json(record))
    (warning,) = [line for line in imported.warnings if "valid record" in line]
    assert all(word in warning for word in ("record_version", "authors", "skills", "domains"))


@pytest.mark.requirement("dir:import:conversion")
async def test_a_conversion_happens_when_asked_for_and_is_reported(importer: Importer):
    record = sample("1.0.0")
    same = await importer.import_one(LOCAL, record, options=ImportOptions(schema_version="1.0.0"))
    assert (same.cid, same.losses) == (cid_of(canonical_json(record)), [])
    moved = await importer.import_one(LOCAL, record, options=ImportOptions(schema_version="1.1.0"))
    assert (moved.status, moved.record["schema_version"]) == ("imported", "1.1.0")
    (loss,) = [loss for loss in moved.losses if loss.path == "schema_version"]
    assert "1.0.0" in loss.reason
    assert "1.1.0" in loss.reason
    assert {one["before"] for one in moved.as_json()["mappings"]} >= {one["name"] for one in record["skills"]}


ONLY_IN_1_0_0 = {
    "skill": ("natural_language_processing/natural_language_understanding", 101),
    "domain": ("technology/software_engineering/software_development", 10201),
}
"""Classes 1.1.0 has no counterpart for; the domain has a wider one there."""


@pytest.mark.requirement("dir:import:unmapped")
@pytest.mark.parametrize("family", ["skill", "domain"])
async def test_a_class_without_a_counterpart_is_an_error_and_never_a_guess(importer: Importer, here: Here, family: str):
    name, number = ONLY_IN_1_0_0[family]
    record = sample("1.0.0")
    record[f"{family}s"] = [{"name": name, "id": number}, *record[f"{family}s"]]
    options = ImportOptions(schema_version="1.1.0")
    refused = await importer.import_one(LOCAL, record, options=options)
    assert refused.status == "invalid"
    assert any(name in line and "allow_unmapped" in line for line in refused.errors)
    assert await here.parts.records.count() == 0
    allowed = await importer.import_one(
        LOCAL, record, options=ImportOptions(schema_version="1.1.0", allow_unmapped=True)
    )
    assert (allowed.status, allowed.suggested) == ("imported", [])
    told = allowed.as_json()
    assert told["unmapped"] == [{"family": family, "name": name}]
    wanted = {one["after"] for one in told["mappings"] if one["family"] == family and one["after"]}
    assert {one["name"] for one in allowed.record[f"{family}s"]} == wanted


@pytest.mark.requirement("dir:import:unmapped")
async def test_a_record_whose_only_skill_has_no_counterpart_gets_no_other(importer: Importer):
    name, number = ONLY_IN_1_0_0["skill"]
    record = sample("1.0.0") | {"skills": [{"name": name, "id": number}]}
    options = ImportOptions(schema_version="1.1.0", allow_unmapped=True)
    made = await importer.import_one(LOCAL, record, options=options)
    assert (made.status, made.suggested, made.record["skills"]) == ("invalid", [], [])
    named = ImportOptions(schema_version="1.1.0", skills=("summarization",))
    made = await importer.import_one(LOCAL, record, options=named)
    assert made.status == "imported"
    assert [one["name"].rsplit("/")[-1] for one in made.record["skills"]] == ["summarization"]
    assert any(loss.path == "skills" for loss in made.losses), "the caller's skills took the place of the record's"


@pytest.mark.requirement("dir:import:unmapped")
async def test_an_unknown_skill_of_a_record_is_not_replaced(importer: Importer):
    record = sample("1.0.0") | {"skills": [{"name": "juggling/knives", "id": 987654}]}
    made = await importer.import_one(LOCAL, record)
    assert (made.status, made.suggested, made.record["skills"]) == ("invalid", [], record["skills"])


@pytest.mark.requirement("dir:import:unmapped")
def test_a_migration_with_unmapped_classes_is_not_valid_unless_they_are_allowed():
    name, number = ONLY_IN_1_0_0["domain"]
    record = sample("1.0.0") | {"domains": [{"name": name, "id": number}]}
    strict = migrate(record, "1.1.0")
    assert not strict.valid
    assert name in " ".join(strict.problems)
    loose = migrate(record, "1.1.0", allow_unmapped=True)
    assert loose.valid
    assert loose.record == strict.record
    assert [mapping.before for mapping in loose.unmapped] == [name]
