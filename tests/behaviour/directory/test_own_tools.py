"""Pentad's own directory tools: names and history, comparison, migration, deletion."""

import json

import pytest

from tests.behaviour.directory.directory_client import DirectoryClient, record, unique
from tests.rooms.directory.oasf.samples import sample

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("dir:beyond:resolve")
async def test_a_reference_means_one_record(directory: DirectoryClient) -> None:
    name = unique("resolved")
    one = await directory.push(record(name=name, version="v1.0.0"))
    two = await directory.push(record(name=name, version="v2.0.0"))
    for reference, version, cid in (
        (name, "v2.0.0", two),
        (f"{name}:v1.0.0", "v1.0.0", one),
        (f"{name}:v1.0.0@{one}", "v1.0.0", one),
        (f"{name}@{one}", "v1.0.0", one),
        (one, "v1.0.0", one),
    ):
        answer = await directory.ask("directory_resolve", reference=reference)
        assert (answer["name"], answer["version"], answer["cid"]) == (name, version, cid), reference
        assert [entry["version"] for entry in answer["versions"]] == ["v2.0.0", "v1.0.0"]
    assert "no record found" in await directory.refused("directory_resolve", reference=unique("nobody"))
    assert "not version" in await directory.refused("directory_resolve", reference=f"{name}:v1.0.0@{two}")


@pytest.mark.requirement("dir:beyond:lineage")
async def test_the_lineage_goes_from_the_oldest_to_the_newest(directory: DirectoryClient) -> None:
    name = unique("lineage")
    one = await directory.push(record("0.8.0", name=name, version="v1.0.0"))
    two = await directory.push(record("0.8.0", name=name, version="v1.1.0", previous_record_cid=one))
    answer = await directory.ask("directory_lineage", reference=name)
    assert [(step["version"], step["cid"]) for step in answer["records"]] == [("v1.0.0", one), ("v1.1.0", two)]
    assert answer["records"][1]["previous"] == one
    assert answer["records"][1]["previous_is_here"] is True


@pytest.mark.requirement("dir:beyond:diff")
async def test_two_records_are_compared_by_meaning(directory: DirectoryClient) -> None:
    old = record(version="v1.0.0")
    new = {**old, "version": "v1.1.0", "skills": old["skills"][:1], "description": "Reads papers aloud."}
    before, after = await directory.push(old), await directory.push(new)
    answer = await directory.ask("directory_diff", before=before, after=after)
    assert (answer["same"], answer["version_bump"], answer["breaking"]) == (False, "minor", True)
    told = {(change["kind"], change["what"]) for change in answer["changes"]}
    assert ("removed", "skill") in told
    assert ("changed", "field") in told
    assert (await directory.ask("directory_diff", before=before, after=before))["same"] is True


@pytest.mark.requirement("dir:beyond:migrate")
async def test_a_record_moves_to_another_version_with_an_account(directory: DirectoryClient) -> None:
    cid = await directory.push(record("0.7.0"))
    answer = await directory.ask("directory_migrate", reference=cid, to_version="1.1.0")
    assert answer["record"]["schema_version"] == "1.1.0"
    assert answer["valid"] is True
    assert answer["mappings"]
    checked = await directory.ask("agntcy_oasf_validate_record", record_json=json.dumps(answer["record"]))
    assert checked["valid"] is True
    assert "9.9.9" in await directory.refused("directory_migrate", reference=cid, to_version="9.9.9")


@pytest.mark.requirement("dir:beyond:delete")
async def test_a_deleted_record_is_gone_and_its_other_versions_stay(directory: DirectoryClient) -> None:
    name = unique("deleted")
    one = await directory.push(record(name=name, version="v1.0.0"))
    two = await directory.push(record(name=name, version="v2.0.0"))
    assert await directory.ask("directory_delete", reference=two) == {"cid": two, "deleted": True}
    assert "record not found" in (await directory.ask("agntcy_dir_pull_record", cid=two))["error_message"]
    assert (await directory.ask("directory_resolve", reference=name))["cid"] == one
    assert "record not found" in await directory.refused("directory_delete", reference=two)


@pytest.mark.requirement("dir:search:id-version")
async def test_an_id_is_looked_for_by_what_it_means_in_its_own_version(in_memory: DirectoryClient) -> None:
    name = unique("ids")
    old = await in_memory.push({**sample("1.0.0"), "name": name, "skills": [{"id": 10201}]})
    entry = (await in_memory.ask("directory_migrate", reference=old, to_version="1.1.0"))["record"]["skills"][0]
    new = await in_memory.push({**sample("1.1.0"), "name": name, "skills": [entry]})
    plain = await in_memory.ask("agntcy_dir_search_local", names=[name], skill_ids=["10201"])
    assert await in_memory.ask("agntcy_dir_search_local", names=[name], skill_ids=[10201]) == plain
    assert plain["record_cids"] == [old]
    meant = await in_memory.ask("agntcy_dir_search_local", names=[name], skill_ids=["10201"], id_version="1.0.0")
    assert set(meant["record_cids"]) == {old, new}


@pytest.mark.requirement("dir:search:any")
async def test_kinds_of_filters_are_met_together_or_one_of_them(directory: DirectoryClient) -> None:
    one = await directory.push(record(name=(first := unique("any")), version="v1.0.0"))
    two = await directory.push(record(name=unique("any"), version=(odd := f"v9.{unique().rpartition('-')[2]}.77")))
    both = await directory.ask("agntcy_dir_search_local", names=[first], versions=[odd])
    assert both["count"] == 0
    either = await directory.ask("agntcy_dir_search_local", names=[first], versions=[odd], match="any")
    assert either["record_cids"] == [two, one]
    within = await directory.ask("agntcy_dir_search_local", names=[first, "nobody"], versions=["v1.*"])
    assert within["record_cids"] == [one]


@pytest.mark.requirement("dir:beyond:trust-filter")
async def test_signed_records_are_found_by_the_trust_in_them(in_memory: DirectoryClient) -> None:
    name = unique("trusted")
    one = await in_memory.push(record(name=name, version="v1.0.0"))
    two = await in_memory.push(record(name=name, version="v2.0.0"))
    await in_memory.ask("directory_sign", reference=two)
    assert (await in_memory.ask("agntcy_dir_verify_record", cid=two))["success"] is True
    for trusted, cid in ((True, two), (False, one)):
        assert (await in_memory.ask("agntcy_dir_search_local", names=[name], trusted=trusted))["record_cids"] == [cid]
