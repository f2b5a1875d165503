"""The directory's resources: reading and subscribing by URI."""

import json

import pytest

from pentad.kernel.cid import canonical_json
from tests.behaviour.directory.directory_client import DirectoryClient, record, unique

pytestmark = pytest.mark.anyio


async def read(directory: DirectoryClient, uri: str) -> str:
    (contents,) = (await directory.client.request("resources/read", {"uri": uri})).result["contents"]
    assert contents["uri"] == uri
    return contents["text"]


@pytest.mark.requirement("dir:resources:oasf")
async def test_the_taxonomies_are_read_by_address(directory: DirectoryClient) -> None:
    assert json.loads(await read(directory, "oasf://versions"))["default_version"] == "1.1.0"
    top = json.loads(await read(directory, "oasf://1.0.0/skills"))
    assert {"natural_language_processing"} <= {one["name"] for one in top}
    below = json.loads(await read(directory, "oasf://1.0.0/skills/natural_language_processing"))
    assert all(one["name"].startswith("natural_language_processing/") for one in below)
    deeper = "oasf://1.0.0/skills/natural_language_processing/natural_language_generation"
    assert json.loads(await read(directory, deeper))
    assert json.loads(await read(directory, "oasf://0.8.0/domains/technology"))
    assert json.loads(await read(directory, "oasf://1.1.0/schema"))["$defs"]
    refused = await directory.client.request("resources/read", {"uri": "oasf://1.0.0/skills/no_such_skill"})
    assert "not found" in refused.error["message"]


@pytest.mark.requirement("dir:resources:oasf")
async def test_classes_are_completed_level_by_level(directory: DirectoryClient) -> None:
    skills = {"type": "ref/resource", "uri": "oasf://{version}/skills/{+parent}"}
    domains = {"type": "ref/resource", "uri": "oasf://{version}/domains/{+parent}"}
    assert await directory.completed(skills, "parent", "natural", version="1.0.0") == ["natural_language_processing"]
    below = await directory.completed(skills, "parent", "natural_language_processing/natural", version="1.0.0")
    assert below == [
        "natural_language_processing/natural_language_generation",
        "natural_language_processing/natural_language_understanding",
    ]
    assert "technology" in await directory.completed(domains, "parent", "tech")
    for typed, version in (("nothing/here", "1.0.0"), ("natural", "9.9.9")):
        assert await directory.completed(skills, "parent", typed, version=version) == []


@pytest.mark.requirement("dir:resources:records")
async def test_records_are_read_by_cid_and_by_name(directory: DirectoryClient) -> None:
    name = unique("read")
    first = record(name=name, version="v1.0.0")
    old = await directory.push(first)
    new = await directory.push(record(name=name, version="v2.0.0"))
    assert await read(directory, f"directory://records/{old}") == canonical_json(first).decode()
    versions = json.loads(await read(directory, f"directory://names/{name}"))
    assert [(one["version"], one["cid"]) for one in versions] == [("v2.0.0", new), ("v1.0.0", old)]
    listed = await directory.client.everything("resources/list", "resources")
    assert any(one["uri"] == f"directory://records/{new}" for one in listed)
    completed = await directory.completed({"type": "ref/resource", "uri": "directory://records/{cid}"}, "cid", new[:30])
    assert completed == [new]


@pytest.mark.requirement("dir:resources:followed")
async def test_a_push_changes_the_list_and_whoever_follows_a_name_or_record_is_told(directory: DirectoryClient) -> None:
    if directory.client.wire.transport == "session" and directory.client.wire.revision == "2024-11-05":
        pytest.skip("that revision has no stream to be told on over HTTP")
    name = unique("followed")
    cid = await directory.push(record(name=name, version="v1.0.0"))
    uris = (f"directory://names/{name}", f"directory://records/{cid}")
    async with directory.client.following(("resources",), uris) as heard:
        await directory.push(record(name=name, version="v2.0.0"))
        told: set[str] = set()
        while len(told) < 2:
            said = await heard.next()
            told.add(said["params"]["uri"] if said["method"].endswith("/updated") else said["method"])
        assert told == {"notifications/resources/list_changed", uris[0]}
        await directory.ask("directory_delete", reference=cid)
        seen: set[str] = set()
        while seen != set(uris):
            seen.add((await heard.wait_for("notifications/resources/updated"))["params"]["uri"])
