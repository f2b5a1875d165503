"""The five tools for records (push, search, pull, and two for trust), over every connection."""

import json
from typing import Any

import pytest

from pentad.kernel.cid import canonical_json, cid_of
from tests.behaviour.directory.directory_client import DirectoryClient, record, unique

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("dir:push:stores", "dir:push:output", "dir:push:validates", "dir:push:input")
async def test_a_pushed_record_has_the_hash_of_its_content_and_comes_back_unchanged(directory: DirectoryClient) -> None:
    data = record("1.1.0")
    answer = await directory.ask("agntcy_dir_push_record", record_json=json.dumps(data, indent=4))
    assert answer == {"cid": cid_of(canonical_json(data)), "server_address": "embedded", "new": True}
    again = await directory.ask("agntcy_dir_push_record", record_json=json.dumps(data))
    assert (again["cid"], again["new"]) == (answer["cid"], False), "the same record has the same CID"
    pulled = await directory.ask("agntcy_dir_pull_record", cid=answer["cid"])
    assert pulled == {"record_data": canonical_json(data).decode()}
    assert cid_of(pulled["record_data"].encode()) == answer["cid"], "anybody can check the hash"


@pytest.mark.requirement("dir:push:validates")
async def test_an_invalid_record_is_not_stored(directory: DirectoryClient) -> None:
    broken = record("0.7.0")
    del broken["skills"]
    answer = await directory.ask("agntcy_dir_push_record", record_json=json.dumps(broken))
    assert answer == {
        "error_message": ('Record validation failed: [Required attribute "skills" is missing. Attribute path: skills.]')
    }
    found = await directory.ask("agntcy_dir_search_local", names=[broken["name"]])
    assert found["count"] == 0


@pytest.mark.requirement("dir:pull:output", "dir:pull:input", "dir:pull:example")
async def test_a_pull_that_finds_nothing_says_why(directory: DirectoryClient) -> None:
    assert await directory.ask("agntcy_dir_pull_record", cid="") == {"error_message": "CID is required"}
    answer = await directory.ask("agntcy_dir_pull_record", cid="bafkreiabcd1234567890")
    assert answer.keys() == {"error_message"}
    assert answer["error_message"].startswith("Failed to pull record: record not found: bafkreiabcd1234567890")
    assert "cid" in await directory.refused("agntcy_dir_pull_record")


@pytest.mark.requirement("dir:search:output", "dir:search:all-optional", "dir:search:more")
async def test_a_search_tells_cids_their_number_and_whether_there_are_more(directory: DirectoryClient) -> None:
    name = unique("paged")
    cids = [await directory.push(record(name=name, version=f"v1.{number}.0")) for number in range(3)]
    all_of_them = await directory.ask("agntcy_dir_search_local", names=[name])
    assert all_of_them == {"record_cids": cids[::-1], "count": 3, "has_more": False, "total_count": 3}
    first = await directory.ask("agntcy_dir_search_local", names=[name], limit=2)
    assert (first["record_cids"], first["count"], first["has_more"]) == (cids[:0:-1], 2, True)
    exactly = await directory.ask("agntcy_dir_search_local", names=[name], limit=3)
    assert exactly["has_more"] is False, "there are exactly as many as asked for"
    rest = await directory.ask("agntcy_dir_search_local", names=[name], limit=2, offset=2)
    assert (rest["record_cids"], rest["has_more"], rest["total_count"]) == (cids[:1], False, 3)
    following = await directory.ask("agntcy_dir_search_local", names=[name], limit=2, cursor=first["cursor"])
    assert following["record_cids"] == cids[:1]
    nothing = await directory.ask("agntcy_dir_search_local", names=[unique("nobody")])
    assert nothing == {"count": 0, "has_more": False, "total_count": 0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": ["*"], "limit": 1001}, "limit cannot exceed 1000"),
        ({"names": ["*"], "limit": -1}, "limit must be positive"),
        ({"names": ["*"], "offset": -1}, "offset cannot be negative"),
        ({}, "at least one query filter must be provided"),
        ({"limit": 5, "names": []}, "at least one query filter must be provided"),
    ],
)
@pytest.mark.requirement("dir:search:limits")
async def test_a_search_beyond_its_limits_is_refused_in_the_known_words(
    directory: DirectoryClient, arguments: dict[str, Any], message: str
) -> None:
    answer = await directory.ask("agntcy_dir_search_local", **arguments)
    assert answer == {"count": 0, "has_more": False, "error_message": message}


@pytest.mark.parametrize("key", ["skill_ids", "domain_ids", "module_ids"])
@pytest.mark.requirement("dir:search:ids-exact")
async def test_an_id_is_a_number_and_matches_exactly(in_memory: DirectoryClient, key: str) -> None:
    answer = await in_memory.ask("agntcy_dir_search_local", **{key: ["10*"]})
    assert answer["error_message"].startswith("Search failed: ")
    name = unique("ids")
    cid = await in_memory.push(record("1.0.0", name=name, skills=[{"id": 10201}]))
    for given, found in (("10201", 1), ("1020", 0), ("102", 0)):
        answer = await in_memory.ask("agntcy_dir_search_local", names=[name], skill_ids=[given])
        assert answer.get("record_cids", []) == [cid][:found]


@pytest.mark.requirement("dir:search:hosts")
async def test_the_search_schema_is_plain_enough_for_every_host(directory: DirectoryClient) -> None:
    tools = {tool["name"]: tool for tool in await directory.client.everything("tools/list", "tools")}
    schema = tools["agntcy_dir_search_local"]["inputSchema"]
    assert "required" not in schema
    assert "additionalProperties" not in schema
    filters = {name: one for name, one in schema["properties"].items() if one["type"] == "array"}
    assert filters.keys() >= {
        "names", "versions", "skill_ids", "skill_names", "locators", "modules", "module_names", "module_ids",
        "domain_ids", "domain_names", "created_ats", "authors", "schema_versions",
    }  # fmt: skip
    assert all(one["items"] == {"type": "string"} for one in filters.values())
    assert "anyOf" not in json.dumps(schema)


@pytest.mark.requirement("dir:search:nulls")
async def test_a_null_is_an_argument_nobody_gave(in_memory: DirectoryClient) -> None:
    name = unique("nulls")
    cid = await in_memory.push(record(name=name))
    answer = await in_memory.ask("agntcy_dir_search_local", names=[name], versions=None, limit=None, query=None)
    assert answer["record_cids"] == [cid]


@pytest.mark.requirement("dir:search:words")
async def test_words_rank_and_say_why(directory: DirectoryClient) -> None:
    word = f"zeppelin{unique('w').rpartition('-')[2]}"
    named = await directory.push(record(name=unique(word)))
    described = await directory.push(record(description=f"Repairs every {word} in the north."))
    answer = await directory.ask("agntcy_dir_search_local", query=word)
    assert answer["record_cids"] == [named, described]
    assert [[why["field"] for why in hit["why"]] for hit in answer["hits"]] == [["name"], ["description"]]
    assert answer["hits"][0]["score"] > answer["hits"][1]["score"] >= 0
    whole = await directory.ask("agntcy_dir_search_local", query=word, **{"return": "records"})
    assert [one["cid"] for one in whole["records"]] == [named, described]
    assert whole["records"][1]["record"]["description"].startswith("Repairs every")
    without = await directory.ask("agntcy_dir_search_local", query=word, exclude={"descriptions": ["*north*"]})
    assert without["record_cids"] == [named]


@pytest.mark.requirement("dir:verify:record", "dir:trust:sign")
async def test_a_record_is_trusted_once_a_signature_of_it_holds(directory: DirectoryClient) -> None:
    assert await directory.ask("agntcy_dir_verify_record", cid="") == {
        "success": False, "message": "not trusted", "error": "CID is required",
    }  # fmt: skip
    cid = await directory.push(record())
    unsigned = await directory.ask("agntcy_dir_verify_record", cid=cid)
    assert unsigned == {"success": False, "message": "not trusted: no signatures found"}
    signed = await directory.ask("directory_sign", reference=cid)
    assert signed["cid"] == cid
    assert signed["public_key"].startswith("-----BEGIN PUBLIC KEY-----")
    assert "PRIVATE" not in json.dumps(signed)
    trusted = await directory.ask("agntcy_dir_verify_record", cid=cid)
    assert (trusted["success"], trusted["message"]) == (True, "trusted")
    (signer,) = trusted["signers"]
    assert signer["identity"].strip() == signed["public_key"].strip()
    assert signer["issuer"] == "key:Ed25519"
    nobody = await directory.ask("agntcy_dir_verify_record", cid="fail-test")
    assert nobody == {"success": False, "message": "not trusted: record not found"}


@pytest.mark.requirement("dir:verify:name")
async def test_a_name_is_checked_by_cid_by_name_or_by_name_and_version(directory: DirectoryClient) -> None:
    nothing = await directory.ask("agntcy_dir_verify_name")
    assert nothing == {"verified": False, "error_message": "Either 'cid' or 'name' is required"}
    data = record()
    cid = await directory.push(data)
    for asked in ({"cid": cid}, {"name": data["name"]}, {"name": data["name"], "version": data["version"]}):
        answer = await directory.ask("agntcy_dir_verify_name", **asked)
        assert answer["verified"] is False
        assert answer["error_message"].startswith("no verification found")


@pytest.mark.requirement("dir:arguments:refused")
async def test_arguments_that_do_not_fit_are_refused_before_anything_happens(directory: DirectoryClient) -> None:
    assert "record_json" in await directory.refused("agntcy_dir_push_record")
    assert "record_jsn" in await directory.refused("agntcy_dir_push_record", record_json="{}", record_jsn="{}")
    assert "cid" in await directory.refused("agntcy_dir_pull_record", cid={"a": 1})
